package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
	"cmux/worktree/prepare"
	"cmux/worktree/submodule"
)

type snapshotter struct {
	repo          *Repo
	root, private string
	index         string // a private copy of the index
	rec           snapshotRecord

	raw       []byte   // the index file
	staged    int      // paths that differ between HEAD and index
	unmerged  []string // lines of ls-files --unmerged
	put, drop []string // working files to save; tracked ones that are gone
	absent    []string // tracked files that a sparse checkout leaves out
	indexTree string
	specials  int // pipes, sockets and devices
	kept      only
	gitlinks  map[string]bool   // paths of submodules in the index
	pointers  map[string]string // commits of submodules that are not at what the index says
	repos     []string          // folders with a .git of their own
}

func (w *snapshotter) git(ctx context.Context, args ...string) (string, error) {
	return git.Command{Dir: w.root, Args: args, Env: []string{"GIT_INDEX_FILE=" + w.index},
		Config: []string{"core.fsync=objects,reference"}}.Run(ctx)
}

// survey finds out what there is to save.
func (w *snapshotter) survey(ctx context.Context) error {
	var err error
	if w.raw, err = git.CopyIndex(filepath.Join(w.private, "index"), w.index); err != nil {
		return err
	}
	if w.raw != nil {
		if err := w.plainIndex(ctx); err != nil {
			return err
		}
	}
	out, err := w.git(ctx, "status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none",
		"--untracked-files=all", "--ignored=matching", "--branch", "--no-ahead-behind")
	if err != nil {
		return err
	}
	lines := git.Fields(out)
	if err := w.head(ctx, lines); err != nil {
		return err
	}
	entries, err := git.ParseStatus(lines)
	if err != nil {
		return err
	}
	entries, rest, err := prepare.Unwritten(ctx, w.root, entries)
	if err != nil {
		return err
	}
	for _, e := range rest {
		if e.Index != '.' {
			entries = append(entries, e)
		}
	}
	var ignored []string
	for _, e := range entries {
		if len(e.Sub) == 4 && e.Sub[0] == 'S' && e.Sub != "S..." && e.Sub != "SC.." {
			at := git.ShellWord(filepath.Join(w.root, e.Path))
			return hint.Errorf("git -C "+at+" add -A && git -C "+at+" commit -m work",
				"%w: submodule %s has changes of its own", ErrUnsavable, filepath.Join(w.root, e.Path))
		}
		if e.Sub == "SC.." {
			if err := w.pointer(ctx, e.Path); err != nil {
				return err
			}
			continue
		}
		switch e.Kind {
		case '?':
			if err := w.untracked(e.Path); err != nil {
				return err
			}
		case '!':
			ignored = append(ignored, e.Path)
		case 'u':
			w.staged++
			w.working(e.Path)
		default:
			if e.Index != '.' {
				w.staged++
			}
			// A file that agrees with what is staged may still have other
			// bytes: adding it went through the clean filter.
			if e.Tree != '.' || e.Index != 'D' {
				w.working(e.Path)
			}
		}
	}
	if err := w.hidden(ctx); err != nil {
		return err
	}
	if err := w.ignored(ignored); err != nil {
		return err
	}
	return w.special(ctx)
}

// head reads where HEAD is in the headers of status: a process less.
func (w *snapshotter) head(ctx context.Context, lines []string) error {
	for _, l := range lines {
		if id, ok := strings.CutPrefix(l, "# branch.oid "); ok && id != "(initial)" {
			w.rec.Head = id
		}
		if name, ok := strings.CutPrefix(l, "# branch.head "); ok {
			w.rec.Branch = name
		}
	}
	if w.rec.Branch != "(detached)" {
		return nil
	}
	branch, err := git.Run(ctx, w.root, "symbolic-ref", "--quiet", "HEAD") // a branch may be called so
	if err != nil && git.ExitCode(err) != 1 {
		return err
	}
	w.rec.Branch = strings.TrimPrefix(git.Line(branch), "refs/heads/")
	return nil
}

// special lists the pipes, sockets and devices, which git passes over and no
// commit holds, and refuses what cannot be read: git passes over that as well.
func (w *snapshotter) special(ctx context.Context) error {
	given, err := prepare.ReadRecord(w.private)
	if err != nil {
		return err
	}
	listed := make(map[string]bool, len(w.rec.Omitted))
	for _, name := range w.rec.Omitted {
		listed[strings.TrimSuffix(name, "/")] = true
	}
	return filepath.WalkDir(w.root, func(full string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return hint.Errorf("chmod -R u+rwX "+git.ShellWord(w.root), "%w: %w", ErrUnsavable, err)
		}
		rel, err := filepath.Rel(w.root, full)
		if err != nil {
			return err
		}
		if d.Name() == ".git" && rel != ".git" && holdsAnything(full, d) {
			w.repos = append(w.repos, filepath.Dir(rel))
		}
		switch {
		case d.IsDir() && (d.Name() == ".git" || rel == ".cmux" || given.Within(rel) || listed[rel]):
			return fs.SkipDir
		case d.IsDir() || savable(d.Type()) || listed[rel]:
			return nil
		}
		w.rec.Omitted = append(w.rec.Omitted, rel)
		w.specials++
		return nil
	})
}

// plainIndex takes out of the copy what holds only for the file it was: the
// untracked cache, the fsmonitor's state and the link to a shared index.
func (w *snapshotter) plainIndex(ctx context.Context) error {
	special := slices.ContainsFunc([]string{"UNTR", "FSMN", "link"}, func(ext string) bool {
		return bytes.Contains(w.raw, []byte(ext))
	})
	if !special {
		return nil
	}
	if _, err := w.git(ctx, "update-index", "--no-split-index", "--no-untracked-cache", "--no-fsmonitor", "--force-write-index"); err != nil {
		return err
	}
	var err error
	w.raw, err = gitfile.Read(w.index, 1<<32)
	return err
}

// pointer saves that a submodule is at another commit, which a ref of its own
// holds from now on.
func (w *snapshotter) pointer(ctx context.Context, name string) error {
	at := filepath.Join(w.root, name)
	out, err := git.Run(ctx, at, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return err
	}
	id := git.Line(out)
	if w.pointers == nil {
		w.pointers = map[string]string{}
	}
	w.pointers[name] = id
	_, err = git.Run(ctx, at, "update-ref", "refs/cmux/kept/"+id, id)
	return err
}

// working saves a tracked path as it is on disk, be it gone.
func (w *snapshotter) working(name string) {
	info, err := os.Lstat(filepath.Join(w.root, name))
	if err != nil || !savable(info.Mode()) {
		w.drop = append(w.drop, name)
		return
	}
	w.put = append(w.put, name)
}

func savable(m fs.FileMode) bool { return m.IsRegular() || m&fs.ModeSymlink != 0 }

func (w *snapshotter) untracked(name string) error {
	full := filepath.Join(w.root, name)
	if strings.HasSuffix(name, "/") {
		return nestedRepository(full)
	}
	info, err := os.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if info.Size() > maxUntracked {
		return hint.Errorf("move it out of the worktree, or commit it",
			"%w: untracked file %s has %d MB (up to %d are saved)", ErrUnsavable, full, info.Size()>>20, maxUntracked>>20)
	}
	w.put = append(w.put, name)
	return nil
}

func nestedRepository(dir string) error {
	return hint.Errorf("move it out of the worktree", "%w: %s is a repository of its own", ErrUnsavable, filepath.Clean(dir))
}

// hidden adds the files whose changes status does not report, because their
// index entry says assume-unchanged or skip-worktree.
func (w *snapshotter) hidden(ctx context.Context) error {
	out, err := w.git(ctx, "ls-files", "-v", "-s", "-z")
	if err != nil {
		return err
	}
	var names []string
	w.gitlinks = map[string]bool{}
	for _, l := range git.Fields(out) { // LETTER MODE ID STAGE\tPATH
		meta, name, _ := strings.Cut(l, "\t")
		if strings.HasPrefix(meta[1:], " "+submodule.Gitlink) {
			w.gitlinks[name] = true
		}
		if l[0] == 'H' || l[0] == 'M' {
			continue
		}
		info, err := os.Lstat(filepath.Join(w.root, name))
		switch {
		case err == nil && savable(info.Mode()):
			names = append(names, name)
		case l[0] == 'S' || l[0] == 's':
			w.absent = append(w.absent, name)
		default:
			w.drop = append(w.drop, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	// Of these only the changed ones: clear the bits in a further copy and ask again.
	probe := w.index + ".probe"
	if _, err := git.CopyIndex(w.index, probe); err != nil {
		return err
	}
	at := git.Command{Dir: w.root, Env: []string{"GIT_INDEX_FILE=" + probe}, Stdin: []byte(strings.Join(names, "\x00") + "\x00"),
		Args: []string{"update-index", "--no-assume-unchanged", "-z", "--stdin"}}
	if _, err := at.Run(ctx); err != nil {
		return err
	}
	at.Args = []string{"update-index", "--no-skip-worktree", "-z", "--stdin"}
	if _, err := at.Run(ctx); err != nil {
		return err
	}
	out, err = git.Command{Dir: w.root, Env: at.Env, Args: []string{"diff-files", "--name-only", "-z", "--ignore-submodules"}}.Run(ctx)
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, n := range git.Fields(out) {
		changed[n] = true
	}
	for _, n := range names {
		if changed[n] {
			w.put = append(w.put, n)
		}
	}
	return nil
}

// ignored adds what the removal of ignored files would lose and lists the rest.
func (w *snapshotter) ignored(names []string) error {
	given, err := prepare.ReadRecord(w.private)
	if err != nil {
		return err
	}
	lent := w.rec.Owner != ""
	for _, name := range names {
		// cmux's own files at the project's root, secrets among them. Git names the folder, or,
		// where a part of it can be tracked, what is in it.
		if name == ".cmux/" || !lent && strings.HasPrefix(name, ".cmux/") {
			continue
		}
		if given.Within(strings.TrimSuffix(name, "/")) {
			w.rec.Omitted = append(w.rec.Omitted, name)
			continue
		}
		top := filepath.Join(w.root, name)
		err := filepath.WalkDir(top, func(full string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%w: %w", ErrUnsavable, err)
			}
			rel, err := filepath.Rel(w.root, full)
			if err != nil {
				return err
			}
			if d.IsDir() {
				if given.Within(rel) {
					w.rec.Omitted = append(w.rec.Omitted, rel+"/")
					return fs.SkipDir
				}
				if _, err := os.Lstat(filepath.Join(full, ".git")); err == nil {
					return nestedRepository(full)
				}
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return err
			}
			if given.File(rel, info) || info.Size() >= maxIgnored || !savable(info.Mode()) {
				w.rec.Omitted = append(w.rec.Omitted, rel)
				return nil
			}
			w.put = append(w.put, rel)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
