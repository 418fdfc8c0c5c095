package worktree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cmux/worktree/git"
	"cmux/worktree/hint"
	"cmux/worktree/submodule"
)

// importCommits feeds git fast-import: one process for any number of files,
// whose bytes go in unfiltered.
func (w *snapshotter) importCommits(ctx context.Context, ref string, holds []string) (commit string, err error) {
	// fast-import takes ids or names of commits, not tree expressions.
	out, err := git.Run(ctx, w.root, "rev-parse", "--verify", "--end-of-options", w.indexTree)
	if err != nil {
		return "", err
	}
	w.indexTree = git.Line(out)
	pr, pw := io.Pipe()
	written := make(chan error, 1)
	go func() {
		buf := bufio.NewWriterSize(pw, 64<<10)
		err := errors.Join(w.stream(&stream{w: buf}, ref, holds), buf.Flush())
		pw.CloseWithError(err)
		written <- err
	}()
	out, err = git.Command{Dir: w.root, Input: pr, Config: []string{"core.fsync=objects,reference"},
		Args: []string{"fast-import", "--done", "--quiet", "--date-format=raw"}}.Run(ctx)
	pr.CloseWithError(io.ErrClosedPipe) // git may have ended before it read everything
	if werr := <-written; werr != nil && !errors.Is(werr, io.ErrClosedPipe) {
		err = werr
	}
	if err != nil {
		crash, _ := filepath.Glob(filepath.Join(git.EscapeGlob(w.private), "fast_import_crash_*"))
		for _, name := range crash {
			os.Remove(name)
		}
		return "", fmt.Errorf("snapshot of %s: %w", w.root, err)
	}
	return git.Line(out), nil
}

// stream writes fast-import commands; the first error sticks in its writer.
type stream struct{ w *bufio.Writer }

func (s *stream) printf(format string, a ...any) { fmt.Fprintf(s.w, format, a...) }

func (s *stream) data(b []byte) {
	s.printf("data %d\n", len(b))
	s.w.Write(b)
	s.printf("\n")
}

func (s *stream) inline(mode, name string, b []byte) {
	s.printf("M %s inline %s\n", mode, quotePath(name))
	s.data(b)
}

func quotePath(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// files writes the working files and returns the modes git cannot say.
func (w *snapshotter) files(s *stream) (modes []byte, err error) {
	gone := slices.Concat(w.drop, w.absent)
	slices.Sort(gone)
	for _, name := range slices.Compact(gone) { // first: a file may have become a directory
		s.printf("D %s\n", quotePath(name))
	}
	for _, name := range slices.Sorted(maps.Keys(w.pointers)) {
		s.printf("M %s %s %s\n", submodule.Gitlink, w.pointers[name], quotePath(name))
	}
	slices.Sort(w.put)
	for _, name := range slices.Compact(w.put) {
		full := filepath.Join(w.root, name)
		info, err := os.Lstat(full)
		if err != nil {
			return nil, changing(full, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(full)
			if err != nil {
				return nil, changing(full, err)
			}
			s.inline("120000", name, []byte(target))
			continue
		}
		mode := "100644"
		if info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		if perm := info.Mode().Perm(); perm&0o077 == 0 || perm&0o200 == 0 {
			modes = append(modes, strconv.FormatUint(uint64(perm), 8)+" "+name+"\x00"...)
		}
		// It may have become a pipe or a link since it was looked at.
		f, err := os.OpenFile(full, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrPermission) {
			return nil, hint.Errorf("chmod u+r "+git.ShellWord(full), "%w: %w", ErrUnsavable, err)
		} else if err != nil {
			return nil, changing(full, err)
		}
		if now, err := f.Stat(); err != nil || !os.SameFile(now, info) || !now.Mode().IsRegular() {
			f.Close()
			return nil, changing(full, errors.Join(err, errors.New("it is another file")))
		}
		s.printf("M %s inline %s\ndata %d\n", mode, quotePath(name), info.Size())
		_, err = io.CopyN(s.w, f, info.Size())
		f.Close()
		if err != nil {
			return nil, changing(full, err)
		}
		s.printf("\n")
	}
	return modes, nil
}

func changing(name string, err error) error {
	return hint.Errorf("again, once nothing writes into the worktree", "%s changed while it was saved: %w", name, err)
}

// state writes the private files of the unended operation.
func (w *snapshotter) state(s *stream) error {
	for _, name := range stateFiles {
		err := filepath.WalkDir(filepath.Join(w.private, name), func(full string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(full)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(w.private, full)
			if err != nil {
				return err
			}
			s.inline("100644", path.Join(snapState, filepath.ToSlash(rel)), b)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *snapshotter) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cmux snapshot of %s: %s\n\n", w.rec.Name, w.rec.Reason)
	if w.rec.Path != "" {
		fmt.Fprintf(&b, "worktree %q\n", w.rec.Path)
	}
	if w.rec.Branch != "" {
		fmt.Fprintf(&b, "branch %s\n", w.rec.Branch)
	}
	if w.rec.Operation != "" {
		fmt.Fprintf(&b, "%s in progress\n", w.rec.Operation)
	}
	for _, k := range w.rec.Kept {
		fmt.Fprintf(&b, "kept %s, which only %s named\n", k.ID, k.From)
	}
	for _, name := range w.rec.Omitted {
		fmt.Fprintf(&b, "not saved: %q\n", name)
	}
	return b.String()
}
