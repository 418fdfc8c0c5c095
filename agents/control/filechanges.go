package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"cmux/agents/control/project"

	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/git"
)

// Changes are the files that a node or a task has changed since the commit that it
// started from.
type Changes struct {
	Start string                `json:"start"` // the commit
	Tip   string                `json:"tip"`   // the commit that its branch holds; empty: there is none
	Live  bool                  `json:"live"`  // what is not committed is among them
	Files []worktree.FileChange `json:"files"` // by path
	More  int                   `json:"more"`  // beside Files
}

// maxChanges bounds the files of Changes.
const maxChanges = 5000

// FilePair is a file as it was at the start commit and as it is now.
type FilePair struct {
	Path string    `json:"path"`
	Was  string    `json:"was"`
	Old  *FileSide `json:"old"` // null: there was none
	New  *FileSide `json:"new"` // null: there is none
}

// FileSide is one state of a file.
type FileSide struct {
	Kind   string `json:"kind"` // file, executable, link, submodule, other
	Size   int64  `json:"size"`
	Text   string `json:"text"`   // of a link what it points at; of a submodule its commit
	Binary bool   `json:"binary"` // it is no text, which is then empty
	Cut    bool   `json:"cut"`    // it goes on
}

// NodeChanges are the files that a node of a run has changed; committed leaves out
// what is not. Of a past run they are what the node left.
func (p *Project) NodeChanges(ctx context.Context, id, node string, committed bool) (*Changes, error) {
	ctx, w, err := p.namedWork(ctx, id, node, committed)
	if err != nil {
		return nil, err
	}
	return w.changes(ctx)
}

// NodeFile is a file of a node's changes; was is its path at the start, where that
// was another.
func (p *Project) NodeFile(ctx context.Context, id, node, path, was string, committed bool) (*FilePair, error) {
	ctx, w, err := p.namedWork(ctx, id, node, committed)
	if err != nil {
		return nil, err
	}
	return w.file(ctx, path, was)
}

func (p *Project) namedWork(ctx context.Context, id, node string, committed bool) (context.Context, *workSpan, error) {
	r, err := p.Named(ctx, id)
	if err != nil {
		return ctx, nil, err
	}
	past, err := p.past(ctx, r)
	if err != nil {
		return ctx, nil, err
	}
	v, i, err := p.nodeOf(ctx, r, node)
	if err != nil {
		return ctx, nil, err
	}
	end := workNow
	switch {
	case past:
		end = workPast
	case committed:
		end = workCommitted
	}
	return p.nodeWork(ctx, v, i, end)
}

// TaskChanges are the files that a task's worker has changed for it.
func (p *Project) TaskChanges(ctx context.Context, id string, committed bool) (*Changes, error) {
	w, err := p.taskWork(ctx, id, committed)
	if err != nil {
		return nil, err
	}
	return w.changes(ctx)
}

// TaskFile is a file of a task's changes.
func (p *Project) TaskFile(ctx context.Context, id, path, was string, committed bool) (*FilePair, error) {
	w, err := p.taskWork(ctx, id, committed)
	if err != nil {
		return nil, err
	}
	return w.file(ctx, path, was)
}

// taskWork is the work of a task: from the commit that it was first given at, or,
// where nobody knows that any more, that its branch has in common with the
// integration branch.
func (p *Project) taskWork(ctx context.Context, id string, committed bool) (*workSpan, error) {
	view, err := p.Task(id)
	if err != nil {
		return nil, err
	}
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	w := &workSpan{p: p, dir: p.Root, tip: view.Tip()}
	nothing := &project.Hint{Err: fmt.Errorf("task %s has no changes to show (%s)", id, view.Label), Try: "cmux tasks show " + id}
	var first time.Time
	for _, at := range view.Attempts {
		if org.Agents[at.Agent] == nil {
			continue
		}
		_, err := org.Run.EachAgentRecord(at.Agent, 0, func(r *run.Record) {
			if r.Type == run.Given && r.Work.ID == id && r.Work.Place.Commit != "" && (w.start == "" || r.At.Before(first)) {
				w.start, first = r.Work.Place.Commit, r.At
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if a := org.Agents[view.Agent]; a != nil && !committed && a.Work != nil && a.Work.ID == id && a.Work.Place.Tree != "" && w.start != "" && w.stands(a.Work.Place.Tree) {
		tip, err := p.Git(ctx, w.dir, "rev-parse", "HEAD")
		w.tip = strings.TrimSpace(tip)
		return w, err
	}
	if w.tip == "" {
		tip, err := p.Git(ctx, p.Root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+view.WorkBranch())
		if w.tip = strings.TrimSpace(tip); err != nil {
			return nil, nothing
		}
	}
	if w.start == "" {
		start, err := p.Git(ctx, p.Root, "merge-base", "--end-of-options", "refs/heads/"+org.Settings.Integration, w.tip)
		if w.start = strings.TrimSpace(start); err != nil {
			return nil, nothing
		}
	}
	return w, nil
}

// changes lists the files of the work.
func (w *workSpan) changes(ctx context.Context) (*Changes, error) {
	c := &Changes{Start: w.start, Tip: w.tip}
	err := w.diff(ctx, func(env []string, args ...string) error {
		cmd := git.Exec(ctx, w.dir, w.p.Env, slices.Concat([]string{"diff", "--no-ext-diff", "--no-textconv", "-z", "--raw", "--numstat", "--find-renames"}, args, []string{"--"})...)
		cmd.Env = append(cmd.Env, env...)
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("git diff in %s: %w", w.dir, err)
		}
		if c.Files, err = worktree.ReadChanges(string(out)); err != nil || !w.tree {
			return err
		}
		c.Live, err = w.uncommitted(ctx, env)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.Files, func(a, b worktree.FileChange) int { return strings.Compare(a.Path, b.Path) })
	if n := len(c.Files); n > maxChanges {
		c.Files, c.More = c.Files[:maxChanges], n-maxChanges
	}
	return c, nil
}

// uncommitted says whether something stands in the worktree that its commit does not
// have; env selects the index that has the untracked files.
func (w *workSpan) uncommitted(ctx context.Context, env []string) (bool, error) {
	cmd := git.Exec(ctx, w.dir, w.p.Env, "diff", "--no-ext-diff", "--no-textconv", "--quiet", "HEAD", "--")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true, nil
	} else if err != nil {
		return false, fmt.Errorf("git diff in %s: %s: %w", w.dir, strings.TrimSpace(string(out)), err)
	}
	return false, nil
}

// file is both sides of a file.
func (w *workSpan) file(ctx context.Context, path, was string) (*FilePair, error) {
	if was == "" {
		was = path
	}
	pair := &FilePair{Path: path, Was: was}
	for _, name := range []string{path, was} {
		if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) || !isShown(filepath.Clean(name)) {
			return nil, project.Tag(fmt.Errorf("there is no file %q, or it is not shown", name), project.ErrMissing)
		}
	}
	var err error
	if pair.Old, err = w.committed(ctx, w.start, was); err != nil {
		return nil, err
	}
	if w.tree {
		pair.New, err = standingFile(w.dir, path)
	} else {
		pair.New, err = w.committed(ctx, w.tip, path)
	}
	if err == nil && pair.Old == nil && pair.New == nil {
		err = project.Tag(fmt.Errorf("there is no file %q, before or after", path), project.ErrMissing)
	}
	return pair, err
}

// committed is a file as a commit has it; nil: it has none.
func (w *workSpan) committed(ctx context.Context, commit, path string) (*FileSide, error) {
	out, err := w.p.Git(ctx, w.dir, "ls-tree", "-z", "--long", "--full-tree", commit, "--", path)
	if err != nil {
		return nil, err
	}
	head, name, _ := strings.Cut(strings.TrimSuffix(out, "\x00"), "\t")
	f := strings.Fields(head) // MODE TYPE ID SIZE
	if len(f) != 4 || name != path {
		return nil, nil
	}
	side := &FileSide{Kind: "file"}
	side.Size, _ = strconv.ParseInt(f[3], 10, 64)
	switch f[0] {
	case "160000":
		side.Kind, side.Text = "submodule", f[2]
		return side, nil
	case "120000":
		side.Kind = "link"
	case "100755":
		side.Kind = "executable"
	}
	if f[1] != "blob" {
		return nil, nil
	}
	cmd := git.Exec(ctx, w.dir, w.p.Env, "cat-file", "blob", f[2])
	said := new(bytes.Buffer)
	cmd.Stderr = said
	r, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err = side.read(r)
	if side.Cut {
		_ = cmd.Process.Kill() // what it still has to say is not wanted
	}
	if end := cmd.Wait(); end != nil && !side.Cut {
		err = errors.Join(err, fmt.Errorf("git cat-file in %s: %s: %w", w.dir, strings.TrimSpace(said.String()), end))
	}
	return side, err
}

// standingFile is a file as it stands in a worktree; nil: there is none. No link
// leads out of the worktree.
func standingFile(tree, path string) (*FileSide, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	} else if err != nil {
		return nil, project.Tag(fmt.Errorf("%s cannot be shown: %w", path, err), project.ErrMissing)
	}
	side := &FileSide{Kind: "file", Size: info.Size()}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		side.Kind = "link"
		side.Text, err = root.Readlink(path)
		return side, err
	case mode.IsDir(): // a repository in the repository, or a folder in place of the file
		side.Kind, side.Size = "submodule", 0
		return side, nil
	case !mode.IsRegular():
		side.Kind, side.Size = "other", 0
		return side, nil
	case mode&0o111 != 0:
		side.Kind = "executable"
	}
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return side, side.read(f)
}

// read takes in what is shown of a file.
func (s *FileSide) read(r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, maxShown+1))
	if s.Cut = len(b) > maxShown; s.Cut {
		b = whole(b[:maxShown])
	}
	if s.Binary = !utf8.Valid(b) || slices.Contains(b, 0); !s.Binary {
		s.Text = string(b)
	}
	return err
}

// whole is text without a character at its end that was cut in two, which is no
// reason to call it binary.
func whole(b []byte) []byte {
	for range utf8.UTFMax {
		if utf8.Valid(b) {
			break
		}
		b = b[:len(b)-1]
	}
	return b
}
