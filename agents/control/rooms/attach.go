package rooms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"cmux/agents/control/project"
	"cmux/agents/room"
	"cmux/agents/room/book"
)

// MaxFile bounds an attached file, in bytes.
const MaxFile = book.MaxFile

// mayAttach refuses files of who is no person: an agent could hand on what is hidden from
// others.
func (s *Say) mayAttach(by string) error {
	if by != room.User && len(s.Files)+len(s.Attach) > 0 {
		return errors.New("only a person attaches files: nothing was said")
	}
	return nil
}

// attaches reports whether these are the files that it has attached.
func (s *Say) attaches(files []room.File) bool {
	said := map[string]bool{}
	for _, f := range files {
		said[f.Name], said[f.File] = true, true
	}
	for _, id := range s.Files {
		if !said[id] {
			return false
		}
	}
	for _, path := range s.Attach {
		if !said[book.FileName(path)] {
			return false
		}
	}
	return len(s.Files)+len(s.Attach) > 0 || len(files) == 0
}

// attach keeps the files of what is about to be said: each is in the room's folder first.
func (p *Rooms) attach(ctx context.Context, b *book.Book, say *Say) (all []room.File, err error) {
	if n := len(say.Files) + len(say.Attach); n > book.MaxFiles {
		return nil, fmt.Errorf("%w: %d files, and a message may have %d: say it in several messages", book.ErrFile, n, book.MaxFiles)
	}
	add := func(f *room.File, err error) error {
		if err == nil && !has(all, f.File) {
			all = append(all, *f)
		}
		return err
	}
	for _, id := range say.Files {
		f, _, err := b.File(id)
		if err := add(f, err); err != nil {
			return nil, err
		}
	}
	for _, path := range say.Attach {
		data, err := readFile(p.Abs(path))
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", book.ErrFile, path, err)
		}
		f, err := b.Attach(ctx, path, data)
		if err := add(f, err); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func has(all []room.File, id string) bool {
	for i := range all {
		if all[i].File == id {
			return true
		}
	}
	return false
}

// readFile reads a file that the person has named, of at most one byte more than may be
// attached. Links are followed.
func readFile(path string) ([]byte, error) { return readOpen(path, io.ReadAll) }

func readOpen(path string, all func(io.Reader) ([]byte, error)) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its other end
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return nil, bare(err)
	case before.IsDir():
		return nil, errors.New("it is a folder: attach the files in it, or an archive")
	case !before.Mode().IsRegular():
		return nil, errors.New("it is no regular file")
	}
	data, err := all(io.LimitReader(f, book.MaxFile+1))
	if err != nil {
		return nil, bare(err)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, errors.New("it changed while it was read: attach it when it is complete")
	}
	return data, nil
}

// bare is an error of a file without the path, which the caller names.
func bare(err error) error {
	var of *os.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Upload keeps a file for a message that is said within an hour, with its name in Say.Files.
func (p *Rooms) Upload(ctx context.Context, name, file string, data []byte) (*room.File, error) {
	b, lines, err := p.writing(ctx, name, true)
	if err != nil {
		return nil, err
	}
	by, err := p.author(name, lines)
	if err != nil {
		return nil, err
	}
	if err := (&Say{Files: []string{file}}).mayAttach(by); err != nil {
		return nil, err
	}
	f, err := b.Attach(ctx, file, data)
	return f, usage(err)
}

// File is an attached file of a room, by its name in the room's folder, with what is in it.
func (p *Rooms) File(name, id string) (*room.File, []byte, error) {
	b, lines, _, err := p.Open(name)
	if err != nil {
		return nil, nil, err
	}
	for i := range lines {
		if has(lines[i].Files, id) {
			f, data, err := b.File(id)
			if err != nil {
				return nil, nil, project.Tag(err, project.ErrMissing)
			}
			return f, data, nil
		}
	}
	return nil, nil, project.Tag(fmt.Errorf("no message of the room %s has attached %.200q", name, id), project.ErrMissing)
}

// changed are the messages whose text, or an attached file, is not as it was said.
func changed(b *book.Book, lines []room.Line) (all []room.Broken) {
	for i := range lines {
		if lost := lines[i].Lost; lost != "" {
			all = append(all, room.Broken{Line: lines[i].N, What: "its text cannot be read: " + lost})
		}
		for j := range lines[i].Files {
			f := &lines[i].Files[j]
			if err := b.Whole(f); err != nil {
				all = append(all, room.Broken{Line: lines[i].N, What: fmt.Sprintf("of what it attached, %v", err)})
			}
		}
	}
	return all
}
