// Package project is the project that a caller stands in, as all commands need it:
// its root, who calls, from which process, the organization and its monitor.
//
// It knows no command. What the packages above it do to a project begins with a
// Project of here and ends in an error that a person can act on: see Hint and
// ErrUsage. Nothing here prints or reads the environment of this process: what a
// caller has of these stands in Caller.
package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/say"
	"cmux/agents/records/ledger"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/hint"
)

// Caller is who asks and orders.
type Caller struct {
	Dir   string   // where they stand: paths are read, and shown, as seen from there
	Env   []string // theirs: for git, for checks, and what a start freezes
	Now   func() time.Time
	Kinds agent.Kinds // kinds of agents that this build can launch

	// Session has orders and questions mean the newest run of this session; empty:
	// see Latest.
	Session string
	Command string // as it was given, for who is told what to add to it; empty: none

	// Choose returns which of several runs is meant. Nil: nobody can be asked.
	Choose func(context.Context, []Choice) (int, error)

	// Start has an order give a run its runner where it has none. Without it such
	// an order waits for Resumable.
	Start bool

	// Person says that orders are a person's, who has proven it, whatever process
	// gives them. Without it who gives them is found out (see package origin).
	Person bool

	// Program returns the absolute path of this cmux, for runs that are started in its
	// process; nil: none can be.
	Program func() (string, error)

	InHealth bool // a health command gives the orders: see HealthVar

	Memory *Memory // what is kept between questions; nil: nothing is

	Note func(string) // is told, in a line, what was found or done beside what was asked for; may be nil
}

// Project is a project as a Caller sees it.
type Project struct {
	Caller
	Root string // absolute
}

// Open finds the project that c stands in: CMUX_HOME, or the main worktree of
// the repository.
//
// A .cmux that was not made here is refused: what stands in it would be
// believed and carried out.
func Open(ctx context.Context, c Caller) (*Project, error) {
	root, err := c.root(ctx, c.Dir)
	if err != nil {
		return nil, err
	}
	if err := run.Vouch(root); err != nil {
		return nil, err
	}
	p := &Project{Caller: c, Root: root}
	return p, p.untracked(ctx)
}

// Tell passes a line to Note, if there is one.
func (c Caller) Tell(line string) {
	if c.Note != nil {
		c.Note(line)
	}
}

// Getenv is the value of a variable of the caller's, the last one standing.
func (c Caller) Getenv(key string) string { return proc.Getenv(c.Env, key) }

// trackable is what of .cmux a person may keep in the repository: nothing in it
// is carried out.
var trackable = []string{".cmux/journal/", ".cmux/config.yml", ".cmux/.gitignore", dag.SchemaPath}

// untracked refuses a .cmux of which git tracks more than is trackable: whoever
// can commit to the repository could give orders with it.
func (p *Project) untracked(ctx context.Context) error {
	if _, err := os.Lstat(run.Folder(p.Root)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if git.TracksNothing(p.Root, signals.Folder) {
		return nil
	}
	out, err := p.Git(ctx, p.Root, "ls-files", "-z", "--", signals.Folder)
	if err != nil {
		if strings.Contains(err.Error(), "not a git repository") {
			return nil
		}
		return err
	}
	var tracked []string
	for name := range strings.SplitSeq(out, "\x00") {
		if name != "" && !slices.ContainsFunc(trackable, func(t string) bool {
			return name == t || strings.HasSuffix(t, "/") && strings.HasPrefix(name, t)
		}) {
			tracked = append(tracked, name)
		}
	}
	if len(tracked) == 0 {
		return nil
	}
	return hint.New(fmt.Errorf("%s is tracked by git (%s): it came with the repository, so cmux does not trust or use it", run.Folder(p.Root), say.List(tracked, 3)),
		"git rm -r -q --cached .cmux, look at what it holds, and commit")
}

// root is the project's folder as found from dir.
func (c Caller) root(ctx context.Context, dir string) (string, error) {
	if home := c.Getenv("CMUX_HOME"); home != "" {
		home = c.Abs(home)
		if info, err := os.Stat(home); err != nil || !info.IsDir() {
			return "", hint.New(fmt.Errorf("CMUX_HOME is %s, which is not a folder", home), "unset CMUX_HOME")
		}
		return filepath.EvalSymlinks(home)
	}
	if root := git.PlainRoot(dir, c.Env); root != "" {
		return root, nil
	}
	ask := []string{"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--is-bare-repository", "--is-inside-work-tree"}
	out, err := c.Git(ctx, dir, append(ask, "--show-toplevel")...)
	if err != nil && strings.Contains(err.Error(), "must be run in a work tree") {
		out, err = c.Git(ctx, dir, ask...)
	}
	if err != nil {
		var missing *exec.Error
		if errors.As(err, &missing) {
			return "", hint.New(fmt.Errorf("git is not installed: %w", err), "install git 2.38 or newer")
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if strings.Contains(err.Error(), "not a git repository") {
			return "", hint.New(fmt.Errorf("%s is not in a git repository", c.Dir), "git init")
		}
		return "", err
	}
	facts := strings.SplitN(strings.TrimSuffix(out, "\n"), "\n", 5) // the last one may hold anything
	if len(facts) < 4 {
		return "", fmt.Errorf("git rev-parse in %s said %q", c.Dir, out)
	}
	gitDir, common, bare, inside := facts[0], gitfile.Shared(facts[1]), facts[2] == "true", facts[3] == "true"
	if gitDir == common && inside && len(facts) == 5 {
		top := facts[4]
		if IsGuard(top) {
			return c.root(ctx, filepath.Dir(top)) // called from inside .cmux
		}
		return top, nil
	}
	if !bare && gitDir != common { // in a linked worktree git calls no repository bare
		is, err := c.Git(ctx, common, "config", "--type=bool", "--default=false", "core.bare")
		if err != nil {
			return "", err
		}
		bare = strings.TrimSpace(is) == "true"
	}
	if !bare && filepath.Base(common) == ".git" {
		return filepath.Dir(common), nil
	}
	if bare {
		return c.bareRoot(ctx, common, facts)
	}
	// A submodule's repository lies elsewhere and names its working tree.
	if tree, err := c.Git(ctx, common, "config", "core.worktree"); err == nil {
		tree = strings.TrimSuffix(tree, "\n")
		if !filepath.IsAbs(tree) {
			tree = filepath.Join(common, tree)
		}
		return filepath.EvalSymlinks(tree)
	}
	return "", hint.New(fmt.Errorf("the main worktree of %s is not known here", common), "cd into the main worktree")
}

// bareRoot returns the worktree of a bare repository that keeps .cmux: the one that
// the repository remembers, else the one that the caller stands in, whose root is the
// fifth of facts.
func (c Caller) bareRoot(ctx context.Context, common string, facts []string) (string, error) {
	if kept := worktree.KeptRoot(common); kept != "" {
		return kept, nil
	}
	if len(facts) == 5 && facts[3] == "true" && !IsGuard(facts[4]) {
		return facts[4], nil
	}
	branch, err := c.Git(ctx, common, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		return "", err
	}
	way := worktree.AddTree(common, strings.TrimSpace(branch))
	out, err := c.Git(ctx, common, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", err
	}
	for entry := range strings.SplitSeq(out, "\x00\x00") {
		path, _, _ := strings.Cut(strings.TrimPrefix(entry, "worktree "), "\x00")
		if !strings.Contains(entry, "\x00bare") && path != "" {
			way = "cd " + say.Word(path)
			break
		}
	}
	return "", hint.New(fmt.Errorf("%s is a bare repository, and you stand in none of its worktrees", common), way)
}

// IsGuard reports whether top is no project but the empty repository that
// keeps git clean out of .cmux (see signals.Init).
func IsGuard(top string) bool {
	if filepath.Base(top) != signals.Folder && filepath.Base(filepath.Dir(top)) != signals.Folder {
		return false
	}
	head, err := os.ReadFile(filepath.Join(top, ".git", "HEAD"))
	return err == nil && string(head) == "ref: refs/heads/none\n"
}

// CleanEnv is the environment for a program that looks at the project: without
// what points git elsewhere.
func (c Caller) CleanEnv() []string { return git.CleanEnv(c.Env) }

// Abs is the path as seen from where the caller stands.
func (c Caller) Abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(c.Dir, path)
}

// Short is path relative to where the caller stands, when it lies below.
func (c Caller) Short(path string) string {
	if rel, err := filepath.Rel(c.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// Git runs git in dir and returns its stdout. The error holds what git said.
func (c Caller) Git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := git.Exec(ctx, dir, c.Env, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := git.Wait(ctx, cmd); err != nil {
		if said := strings.TrimSpace(stderr.String()); said != "" {
			return "", fmt.Errorf("git %s: %s: %w", args[0], said, err)
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return stdout.String(), nil
}

// Choice is one of several runs that a command may mean.
type Choice struct {
	ID      string
	Session string
	Stands  string // how it stands, for people
}

// Moment is t for JSON: null for none.
func Moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Skipped tells of lines that do not count.
func (p *Project) Skipped(all []ledger.Bad) {
	for i := range all {
		p.Tell("skipped a line of " + all[i].String())
	}
}

// Patience is how long an order waits for a live runner to take it up. It
// stands whatever happens to whoever gave it.
const Patience = 10 * time.Second
