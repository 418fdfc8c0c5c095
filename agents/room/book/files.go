package book

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"cmux/agents/platform/harmless"
	"cmux/agents/room"
	"cmux/signals"
)

// A file that a message has attached is in the folder files of the room, under a name that
// begins with the beginning of its hash: so the same file is there once, and nothing is
// written over another one. It is there before the message that names it. One that no message
// names, because its sender was killed in between, is removed an hour later, when the next one
// is attached.

const (
	// Files is the folder of attached files, in a room's folder.
	Files = "files"
	// MaxFile bounds an attached file, in bytes.
	MaxFile = 10 << 20
	// MaxFiles bounds the files of a message.
	MaxFiles = 10
	// MaxAttached bounds the attached files of a room, in bytes.
	MaxAttached = 100 << 20

	maxFileName = 100       // bytes
	unnamed     = time.Hour // that a file stays which no message names
	hashed      = 16        // digits of the hash in the name
)

// ErrFile means that a file cannot be attached.
var ErrFile = errors.New("nothing was attached")

// fileID is the name of a file in the folder.
var fileID = regexp.MustCompile(fmt.Sprintf(`^[0-9a-f]{%d}-[^/\x00-\x1f]{1,%d}$`, hashed, maxFileName))

// FileName makes the name of a file safe: it is a single name of letters, digits, dots, - and
// _, which neither a shell, a pattern nor a path takes for anything else.
func FileName(given string) string {
	given = strings.ToValidUTF8(given[strings.LastIndexAny(given, `/\`)+1:], "_")
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-", r) || unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return r
		}
		return '_'
	}, given)
	end := filepath.Ext(safe) // tells a program what it is
	if len(end) < 2 || len(end) > 16 || len(end) == len(safe) {
		end = ""
	}
	safe = strings.TrimLeft(strings.TrimSuffix(safe, end), ".-")
	if most := maxFileName - len(end); len(safe) > most {
		safe = strings.ToValidUTF8(safe[:most], "")
	}
	if strings.Trim(safe, "._-") == "" {
		safe = "file"
	}
	return safe + end
}

// Attach keeps a file for a message. The same file again is the same one.
func (b *Book) Attach(ctx context.Context, name string, data []byte) (*room.File, error) {
	f := fileOf(FileName(name), data)
	switch {
	case len(data) == 0:
		return nil, fmt.Errorf("%w: %s is empty", ErrFile, f.Name)
	case len(data) > MaxFile:
		return nil, fmt.Errorf("%w: %s is larger than %s, which is the most: attach a part of it", ErrFile, f.Name, room.Size(MaxFile))
	}
	_, _, err := b.Append(ctx, func(so []room.Line) ([]room.Line, error) { // for the lock
		if _, err := b.open(so); err != nil {
			return nil, err
		}
		dir := filepath.Join(b.dir, Files)
		if err := makeFolder(dir); err != nil {
			return nil, err
		}
		size, err := b.tidy(dir, so, f.File)
		if err != nil {
			return nil, err
		}
		if size+f.Size > MaxAttached {
			return nil, fmt.Errorf("%w: the room %s has %s of attached files, and with %s it would have more than %s: start another room", ErrFile, b.Name, room.Size(size), f.Name, room.Size(MaxAttached))
		}
		return nil, signals.WriteFile(filepath.Join(dir, f.File), data, 0o600)
	})
	if err != nil {
		return nil, err
	}
	return &f, nil
}

func fileOf(name string, data []byte) room.File {
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	return room.File{Name: name, File: hash[:hashed] + "-" + name, Size: int64(len(data)), SHA256: hash}
}

// makeFolder makes a folder that is still there after a power cut.
func makeFolder(dir string) error {
	switch err := signals.Mkdir(dir, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return signals.Expect(dir, fs.ModeDir)
	case err != nil:
		return signals.Explain(err)
	}
	up, err := signals.OpenDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	return errors.Join(up.Sync(), up.Close())
}

// tidy removes the files that no message names and none will name any more. It returns the
// size of the others without the one that is called but.
func (b *Book) tidy(dir string, so []room.Line, but string) (size int64, err error) {
	entries, err := signals.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	named := map[string]bool{}
	for i := range so {
		for _, f := range so[i].Files {
			named[f.File] = true
		}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		switch {
		case e.Name() == but || e.IsDir():
		case named[e.Name()] || b.now().Sub(info.ModTime()) < unnamed:
			size += info.Size()
		default:
			if err := signals.RemoveFile(filepath.Join(dir, e.Name())); err != nil {
				return 0, err
			}
		}
	}
	return size, nil
}

// hold checks that files are there, of which a message is about to be written.
func (b *Book) hold(files []room.File) error {
	for i := range files {
		if err := signals.Expect(b.FilePath(&files[i]), 0); err != nil {
			return err
		}
		if _, err := signals.Type(b.FilePath(&files[i])); err != nil {
			return gone(files[i].Name, err)
		}
	}
	return nil
}

// FilesOf is the folder of a room's attached files, as it is called in the project.
func FilesOf(room string) string { return filepath.Join(signals.Folder, Folder, room, Files) }

// FilePath is the path of an attached file.
func (b *Book) FilePath(f *room.File) string { return filepath.Join(b.dir, Files, f.File) }

// File is an attached file by its name in the folder, with what is in it.
func (b *Book) File(id string) (*room.File, []byte, error) {
	if !fileID.MatchString(id) {
		return nil, nil, fmt.Errorf("%w: %.200q names no file", ErrFile, id)
	}
	data, err := signals.ReadFile(filepath.Join(b.dir, Files, id), MaxFile)
	if err != nil {
		return nil, nil, gone(id, err)
	}
	f := fileOf(id[hashed+1:], data)
	if f.File != id {
		return nil, nil, fmt.Errorf("%w: %s was changed since it was attached", ErrFile, id)
	}
	return &f, data, nil
}

// gone says of a file that it is missing, or why it cannot be read.
func gone(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is not there, or no longer: attach it again", ErrFile, name)
	}
	return err
}

// Whole says what is wrong with an attached file; nil: it is as it was attached.
func (b *Book) Whole(f *room.File) error {
	_, err := b.whole(f)
	return err
}

func (b *Book) whole(f *room.File) ([]byte, error) {
	data, err := signals.ReadFile(b.FilePath(f), MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is missing", filepath.Join(Files, f.File))
	case err != nil:
		return nil, err
	case fileOf(f.Name, data) != *f:
		return nil, fmt.Errorf("%s was changed since it was attached", filepath.Join(Files, f.File))
	}
	return data, nil
}

// Giving gives attached files to a member of the room.
type Giving struct {
	Book   *Book
	Member string
	Dir    string                                  // where it finds them; nobody else reads there
	Failed func(ctx context.Context, about string) // called for each file that cannot be given
}

// Give copies files to where the member finds them. It returns lines for the member about
// those that cannot be copied. What was given before is whole or given again.
func (g Giving) Give(ctx context.Context, files []room.File) (told string) {
	for i := range files {
		f := &files[i]
		if err := g.Book.give(f, g.Dir); err != nil {
			about := harmless.Line(fmt.Sprintf("%s could not be given to %s: %v", f.Name, g.Member, err))
			g.Failed(ctx, about)
			told += "The attached file " + about + "\n"
		}
	}
	return told
}

// give copies an attached file into a folder in which another program may write: nothing that
// is there is followed or written into. A copy that is whole stays.
func (b *Book) give(f *room.File, dir string) error {
	to := filepath.Join(dir, f.File)
	if data, err := signals.ReadFile(to, MaxFile); err == nil && fileOf(f.Name, data) == *f {
		return nil
	}
	data, err := b.whole(f)
	if err != nil {
		return err
	}
	if err := makeFolder(dir); err != nil {
		return err
	}
	return signals.WriteFile(to, data, 0o600)
}
