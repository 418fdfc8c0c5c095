package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"cmux/agents/control/say"
	"cmux/agents/run"
	"cmux/agents/runner"
)

// Linked is the linked worktree that a caller stands in, and what of it a start
// does not use: a run is its project's, and the project is the main worktree.
type Linked struct {
	Dir    string `json:"dir"`              // its root
	Commit string `json:"commit,omitempty"` // its HEAD; empty: the run starts from it, or from what was asked for
	Branch string `json:"branch,omitempty"` // that its HEAD is on; may be empty
	Config string `json:"config,omitempty"` // its configuration; empty: it says what is used, or there is none

	main   string // the main worktree
	used   string // what the run starts from
	caller Caller
}

// linkedTo compares what a start takes with what stands in the worktree that it
// was called in; nil: nothing differs that was not asked for.
func (p *Project) linkedTo(ctx context.Context, asked runner.StartOptions, l *runner.Launch) (*Linked, error) {
	dir, err := p.linked(ctx)
	if dir == "" || err != nil {
		return nil, err
	}
	w := &Linked{Dir: dir, main: p.Root, used: named(l.Base.Branch, l.Base.Commit), caller: p.Caller}
	if asked.Base == "" && l.Graph.Base == "" {
		if err := w.head(ctx, l.Base.Commit); err != nil {
			return nil, err
		}
	}
	if asked.Config == "" {
		if w.Config, err = p.linkedConfig(dir); err != nil {
			return nil, err
		}
	}
	if w.Commit == "" && w.Config == "" {
		return nil, nil
	}
	return w, nil
}

// linked is the root of the linked worktree that the caller stands in; empty:
// in none, or they have named another project.
func (p *Project) linked(ctx context.Context) (string, error) {
	if p.Getenv("CMUX_HOME") != "" || p.Dir == p.Root {
		return "", nil
	}
	top, err := p.git(ctx, p.Dir, "rev-parse", "--path-format=absolute", "--show-toplevel")
	if err != nil { // in no worktree at all, such as .git
		return "", ctx.Err()
	}
	if top = strings.TrimSuffix(top, "\n"); top == p.Root || isGuard(top) {
		return "", nil
	}
	return top, nil
}

// head fills in the worktree's HEAD where it is another commit than base.
func (w *Linked) head(ctx context.Context, base string) error {
	head, err := w.caller.git(ctx, w.Dir, "rev-parse", "--verify", "--quiet", "HEAD")
	if err != nil { // a branch without a commit
		return ctx.Err()
	}
	if head = strings.TrimSpace(head); head == base {
		return nil
	}
	w.Commit = head
	branch, err := w.caller.git(ctx, w.Dir, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err == nil {
		w.Branch = strings.TrimSpace(branch)
	}
	return ctx.Err()
}

// linkedConfig is the configuration in the worktree at dir where it says
// something else than the project's own.
func (p *Project) linkedConfig(dir string) (string, error) {
	path := filepath.Join(dir, runner.DefaultConfig)
	there, err := run.ReadConfig(path)
	if err != nil {
		return "", nil // nothing that could be meant
	}
	used, err := run.ReadConfig(p.Config(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err == nil && bytes.Equal(there, used) {
		return "", nil
	}
	return path, nil
}

// named is a commit as people know it.
func named(branch, commit string) string {
	if branch == "" {
		return fmt.Sprintf("%.12s", commit)
	}
	return fmt.Sprintf("%s (%.12s)", branch, commit)
}

// String is a line for whoever starts.
func (w *Linked) String() string {
	var uses, others, ways []string
	if w.Commit != "" {
		ref := w.Branch
		if ref == "" {
			ref = fmt.Sprintf("%.12s", w.Commit)
		}
		way := "--base " + say.Word(ref)
		uses, others, ways = append(uses, "HEAD "+w.used), append(others, named(w.Branch, w.Commit)), append(ways, way)
	}
	if w.Config != "" {
		way := "--config " + say.Word(w.caller.Short(w.Config))
		uses, others, ways = append(uses, runner.DefaultConfig), append(others, "its "+runner.DefaultConfig), append(ways, way)
	}
	return fmt.Sprintf("%s is a linked worktree; used of %s: %s. To use %s: %s",
		w.Dir, w.main, strings.Join(uses, ", "), strings.Join(others, " and "), strings.Join(ways, " "))
}
