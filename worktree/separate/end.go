package separate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
)

// Left is a ref of a separate directory that could not be taken over under its name: the
// shared repository has another commit there, or the name means something else already.
type Left struct {
	Ref  string // such as refs/heads/main
	Kept string // where the shared repository has it now; empty: it lacks objects, and is not kept
}

// String says it to a person.
func (l Left) String() string {
	if l.Kept == "" {
		return l.Ref + " lacks objects: it is not kept"
	}
	return fmt.Sprintf("%s was changed in its worktree, not in the repository: kept as %s", l.Ref, l.Kept)
}

// leftRefs is where refs are kept that cannot be taken over under their names.
const leftRefs = "refs/cmux/left/"

// maxRefs bounds the refs that are taken over under names of their own.
const maxRefs = 100

// End takes over what was done in the separate git directory, if there is one, and makes
// the worktree one of the shared repository again: the worktree's branch, its HEAD, what is
// staged, an unended merge or rebase, the reflog of its HEAD, new branches and tags, and
// entries of the stash. Interrupted, it is called again. On an error the separate directory
// stays, and with it the work.
func (w Worktree) End(ctx context.Context) (left []Left, err error) {
	err = w.locked(ctx, func(ctx context.Context) error {
		left, err = w.end(ctx, false)
		return err
	})
	return left, err
}

// Pause is End for a worktree in which programs still run: the folder of the separate
// directory stays, empty, for the next Begin.
func (w Worktree) Pause(ctx context.Context) (left []Left, err error) {
	err = w.locked(ctx, func(ctx context.Context) error {
		left, err = w.end(ctx, true)
		return err
	})
	return left, err
}

// end takes over what is in the separate directory. It first moves it out of the reach of
// what may still run in the worktree. keep: the folder of the directory stays.
func (w Worktree) end(ctx context.Context, keep bool) ([]Left, error) {
	taken := w.taken()
	info, serr := os.Lstat(w.Dir())
	if serr == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", w.Dir())
	}
	to, gerr := gitfile.Private(w.Tree)
	elsewhere := gerr != nil || to != w.Private
	var left []Left
	switch {
	case !w.Works(): // it was never worked in
		if err := os.RemoveAll(taken.dir); err != nil {
			return nil, err
		}
	case serr == nil || git.There(taken.dir):
		// Where .git leads elsewhere already, Begin or End was interrupted there: the
		// state of the worktree is in its own directory.
		err := w.moveOut(taken.dir)
		if err == nil {
			err = errors.Join(taken.sanitize(), taken.takeLFS(ctx))
		}
		if err == nil {
			left, err = taken.takeOver(ctx, elsewhere)
		}
		if err != nil { // it goes on as it was
			err = errors.Join(err, moveAll(taken.dir, w.Dir()))
			return nil, fmt.Errorf("the commits in %s: %w", w.Dir(), err)
		}
	}
	if (serr == nil || git.There(taken.dir)) && elsewhere || to == w.Dir() {
		if err := git.WriteFile(filepath.Join(w.Tree, ".git"), []byte("gitdir: "+w.Private+"\n")); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(os.RemoveAll(w.refsFile()), os.RemoveAll(taken.dir)); err != nil {
		return nil, err
	}
	if keep {
		return left, empty(w.Dir())
	}
	return left, os.RemoveAll(w.Dir())
}

// moveOut moves what is in the separate directory to dir. What is there already, an
// interrupted call moved.
func (w Worktree) moveOut(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(w.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if git.There(to) {
			continue
		}
		if merr := os.Rename(filepath.Join(w.Dir(), e.Name()), to); !errors.Is(merr, fs.ErrNotExist) {
			err = errors.Join(err, merr)
		}
	}
	return err
}

// taking is one taking over.
type taking struct {
	Worktree
	atWork bool
	in     git.Command       // git in the shared repository, which sees the separate objects
	was    map[string]string // refs at the beginning
	is     map[string]string // refs now
	head   string            // ref: NAME, or an object
	whole  map[string]bool   // commits and tags that lack nothing in the shared repository
	left   []Left
}

// takeOver takes over what is in the separate directory. Not at work: only what would be
// lost with it.
func (w Worktree) takeOver(ctx context.Context, atWork bool) ([]Left, error) {
	t, err := w.taking()
	if err != nil {
		return nil, err
	}
	t.atWork = atWork
	head, err := read(filepath.Join(w.Dir(), "HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	t.head = strings.TrimSpace(string(head))
	log, stashed, err := t.objects(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.branches(ctx), t.stash(ctx, stashed)); err != nil {
		return nil, err
	}
	if !atWork {
		return t.left, nil
	}
	return t.left, t.state(ctx, log)
}

func (w Worktree) objects() string { return filepath.Join(w.Dir(), "objects") }

// sanitize leaves nothing but objects in their folder: a link leads elsewhere, git waits for
// ever at a pipe, and believes what describes objects.
func (w Worktree) sanitize() error {
	err := filepath.WalkDir(w.objects(), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && !d.Type().IsRegular(), strings.HasPrefix(d.Name(), "multi-pack-index"):
			return os.RemoveAll(name)
		}
		return nil
	})
	return errors.Join(err, remove(filepath.Join(w.objects(), "info")), w.borrow())
}

// taking begins to take over.
func (w Worktree) taking() (*taking, error) {
	entries, err := read(w.refsFile())
	if err != nil {
		return nil, err
	}
	t := &taking{Worktree: w, was: parsePacked(entries)}
	t.in = git.Command{Dir: w.Common, Env: []string{
		"GIT_DIR=" + w.Common, "GIT_INDEX_FILE=" + filepath.Join(w.Dir(), "index"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(w.objects()),
	}}
	t.is, err = readRefs(w.Dir(), w.maxPacked())
	return t, err
}

// Publish gives the worktree's branch in the shared repository the commits that it has in
// the separate directory now, so that others see them while it is at work. It does nothing
// without a separate directory.
func (w Worktree) Publish(ctx context.Context) error {
	if !w.Begun() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience) // what is at work there can hold git up
	defer cancel()
	return w.locked(ctx, func(ctx context.Context) error {
		t, err := w.taking()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it ended, or is not there yet
		}
		if err != nil {
			return err
		}
		own, err := t.own(ctx)
		id := t.is[own]
		if err != nil || id == t.was[own] {
			return err
		}
		there, err := t.existing(ctx, []string{id})
		if err != nil || there[id] != "commit" {
			return err
		}
		t.in.Env = append(t.in.Env, "GIT_INDEX_FILE="+filepath.Join(t.Private, "index"))
		if err := t.pack(ctx, []string{id}); err != nil {
			return err
		}
		if err := t.connected(ctx, []string{id}); err != nil || !t.whole[id] {
			return err
		}
		if err := t.update(ctx, own, id, t.was[own]); err != nil {
			return err
		}
		b, err := read(w.refsFile())
		if err != nil {
			return err
		}
		return git.WriteFile(w.refsFile(), fmt.Appendf(b, "%s %s\n", id, own))
	})
}
