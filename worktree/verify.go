package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// maxBroken is how many broken objects are looked for; each costs a git.
const maxBroken = 50

// verify makes sure that what is to hold a worktree's work when the worktree is
// gone can be read: every object that the commit names beyond the start, and
// those of its tree that no pack has, the content of each. A file's object that is broken is written again from the file
// while that is there.
func (r *Repo) verify(ctx context.Context, path, commit, start string) error {
	args := []string{"rev-list", "--objects", "--missing=print", "--end-of-options", commit}
	if start != "" {
		args = append(args, "^"+start)
	}
	out, err := git.Run(ctx, r.Root, args...)
	if err != nil {
		return r.brokenError(ctx, path, err)
	}
	var ids, broken []string
	for l := range strings.Lines(out) {
		id, _, _ := strings.Cut(git.Line(l), " ")
		if missing, ok := strings.CutPrefix(id, "?"); ok {
			broken = append(broken, missing)
		} else if id != "" {
			ids = append(ids, id)
		}
	}
	loose, err := r.looseOf(ctx, commit)
	if err != nil {
		return r.brokenError(ctx, path, err)
	}
	ids = append(ids, loose...)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for len(ids) > 0 && len(broken) < maxBroken {
		read := 0
		err := r.blobs(ctx, ids, func(_ int, size int64, content io.Reader) error {
			n, err := io.Copy(io.Discard, content)
			if err == nil && n != size {
				err = io.ErrUnexpectedEOF
			}
			if err == nil {
				read++
			}
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || read == len(ids) {
			break
		}
		broken, ids = append(broken, ids[read]), ids[read+1:]
	}
	if len(broken) == 0 {
		return nil
	}
	var lost []string
	for _, id := range broken {
		if err := r.rewrite(ctx, path, commit, id); errors.Is(err, errNoFile) {
			lost = append(lost, id)
		} else if err != nil {
			return err
		} else {
			git.Note(ctx, "wrote object %.12s of %s again, which was broken", id, path)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return r.brokenError(ctx, path, fmt.Errorf("objects of its work: %s", git.Shown(lost)))
}

// looseOf are the objects of a commit's tree that are files of their own, which
// a power cut empties.
func (r *Repo) looseOf(ctx context.Context, commit string) (ids []string, err error) {
	base := filepath.Join(r.GitDir, "objects")
	dirs, err := os.ReadDir(base)
	if err != nil {
		return nil, err
	}
	loose := map[string]bool{}
	for _, d := range dirs {
		if len(d.Name()) != 2 {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(base, d.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			loose[d.Name()+e.Name()] = true
		}
	}
	if len(loose) == 0 {
		return nil, nil
	}
	out, err := git.Run(ctx, r.Root, "ls-tree", "-r", "-t", "-z", "--full-tree", commit)
	for _, l := range git.Fields(out) {
		meta, _, _ := strings.Cut(l, "\t")
		if f := strings.Fields(meta); len(f) == 3 && loose[f[2]] {
			ids = append(ids, f[2])
		}
	}
	return ids, err
}

// brokenError says what cannot be read, and how the files are kept.
func (r *Repo) brokenError(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return hint.Errorf("cp -a "+git.ShellWord(path)+" "+git.ShellWord(path+".found")+" && git -C "+git.ShellWord(r.Root)+" worktree remove --force --force "+git.ShellWord(path),
		"%w: the repository cannot be read where %s needs it: %w", ErrUnsavable, path, err)
}

var errNoFile = errors.New("no file has this content")

// rewrite writes the object of a file again, from the worktree at root.
func (r *Repo) rewrite(ctx context.Context, root, commit, id string) error {
	names, err := r.namesOf(ctx, root, commit, id)
	if err != nil {
		return err
	}
	for _, name := range names {
		full := filepath.Join(root, name)
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, how := range []string{"--no-filters", "--path=" + name} {
			got, err := git.Run(ctx, root, "hash-object", how, "--", full)
			if err != nil {
				return err
			}
			if git.Line(got) != id {
				continue
			}
			// git writes no object where a file of its name is.
			object := filepath.Join(r.GitDir, "objects", id[:2], id[2:])
			aside := object + ".broken"
			if err := os.Rename(object, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if _, err := (git.Command{Dir: root, Args: []string{"hash-object", "-w", how, "--", full}, Config: []string{"core.fsync=objects"}}).Run(ctx); err != nil {
				return errors.Join(err, os.Rename(aside, object))
			}
			if err := os.Remove(aside); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
	}
	return errNoFile
}

// namesOf are the paths at which the index of the tree, the commit or the
// working files of the snapshot have the object.
func (r *Repo) namesOf(ctx context.Context, root, commit, id string) (names []string, err error) {
	add := func(out string) {
		for _, l := range git.Fields(out) { // MODE ... ID ...\tPATH
			meta, name, _ := strings.Cut(l, "\t")
			if strings.Contains(meta, id) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	out, err := git.Run(ctx, root, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	add(out)
	for _, of := range []string{commit, commit + "^3"} {
		// A commit has no third parent unless it is a snapshot's.
		if out, err := git.Run(ctx, r.Root, "ls-tree", "-r", "-z", "--full-tree", of); err == nil {
			add(out)
		} else if git.ExitCode(err) <= 0 {
			return nil, err
		}
	}
	return names, nil
}
