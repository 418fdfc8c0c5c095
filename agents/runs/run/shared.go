package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/common"
)

// sharedFile holds what all worktrees of the project shared when the run
// began, or when a person last accepted it. Settings may hold secrets.
const sharedFile = "shared.json"

const sharedPlace = "shared"

// WriteShared freezes what all worktrees share.
func (r *Run) WriteShared(s *common.State) error {
	if err := r.writeSealed(filepath.Join(r.Dir, sharedFile), sharedPlace, s, 0o600); err != nil || r.Plan.Watched {
		return err
	}
	r.Plan.Watched = true
	return r.writePlan()
}

// ErrShared says that what was frozen of the shared state cannot be read.
var ErrShared = errors.New("the record of what the worktrees shared when the run began is gone or damaged")

// ReadShared is what WriteShared froze; nil when the run has none.
func (r *Run) ReadShared() (*common.State, error) {
	if !r.Plan.Watched {
		return nil, nil
	}
	name := filepath.Join(r.Dir, sharedFile)
	s := new(common.State)
	b, err := signals.ReadFile(name, signals.MaxFile)
	if err == nil {
		if err = r.unseal(sharedPlace, b, s); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; look at git config --list and the hooks, then cmux agents shared --accept", ErrShared, err)
	}
	return s, nil
}

// Drift is what has changed since WriteShared of the settings, hooks and other
// files that all worktrees share, and of replace objects.
func (r *Run) Drift(ctx context.Context, repo *worktree.Repo) (base *common.State, changes []common.Change, err error) {
	if base, err = r.ReadShared(); base == nil || err != nil {
		return nil, nil, err
	}
	now, err := repo.Shared.Read(ctx, repo.Root, false)
	if err != nil {
		return nil, nil, err
	}
	return base, slices.DeleteFunc(base.Compare(now), func(c common.Change) bool {
		switch {
		case c.Kind == common.ChangedFile && c.Name == "info/exclude":
			return r.onlyLinks(base.Files[c.Name].Data, now.Files[c.Name].Data)
		case c.Kind == common.ChangedFile:
			return c.Name == "HEAD" // the person's to switch
		case r.setUp(c):
			return true
		}
		// What pushes of the run's own and checkouts of submodules set.
		return strings.HasPrefix(c.Name, "branch.") && (strings.HasSuffix(c.Name, ".remote") || strings.HasSuffix(c.Name, ".merge")) ||
			strings.HasPrefix(c.Name, "submodule.") && c.Old == "" && !c.Sensitive()
	}), nil
}

// setUp reports whether the change is a setting that the configuration makes
// itself: a command of setup is git config with this key and this value.
func (r *Run) setUp(c common.Change) bool {
	if c.Kind != common.ChangedSetting || c.Scope != "local" || c.Old != "" || c.New == "" || r.Plan.Graph == nil {
		return false
	}
	return slices.ContainsFunc(r.Plan.Graph.Setup, func(command string) bool {
		args, ok := strings.CutPrefix(strings.TrimSpace(command), "git config ")
		args = strings.TrimPrefix(strings.TrimSpace(args), "--local ")
		key, value, _ := strings.Cut(strings.TrimSpace(args), " ")
		value = strings.TrimSpace(value)
		plain := !strings.ContainsAny(c.New, "'\"\\$`")
		return ok && strings.EqualFold(key, c.Name) && (value == c.New && !strings.ContainsAny(value, " ;&|<>()*?[]~#!\"'\\$`") ||
			plain && (value == "'"+c.New+"'" || value == `"`+c.New+`"`))
	})
}

// onlyLinks reports whether all that was added hides what the configuration
// links into worktrees: cmux writes that itself, and what hides its own folder
// as long as there is no journal.
func (r *Run) onlyLinks(before, now []byte) bool {
	rest, ok := strings.CutPrefix(string(signals.ExcludedByOthers(now)), string(signals.ExcludedByOthers(before)))
	if !ok || rest != "" && r.Plan.Graph == nil {
		return false
	}
	for line := range strings.Lines(rest) {
		name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(line), "/"), `\`, "")
		if r.isTree(name) {
			continue
		}
		if name != "" && !slices.ContainsFunc(r.Plan.Graph.Link, func(pattern string) bool {
			ok, err := doublestar.Match(strings.TrimSuffix(pattern, "/"), name)
			return err == nil && ok
		}) {
			return false
		}
	}
	return true
}

// isTree reports whether name, seen from the project's root, is the folder of a
// node's worktree, which cmux hides itself (see worktree.Repo.HideTrees).
func (r *Run) isTree(name string) bool {
	path, folder := strings.CutSuffix(name, "/")
	return folder && slices.ContainsFunc(r.Plan.Graph.Nodes, func(n dag.Node) bool {
		return n.HasTree() && r.Plan.Graph.TreePath(r.Plan.Root, &n) == filepath.Join(r.Plan.Root, filepath.FromSlash(path))
	})
}

// DriftError says that nothing is done over a changed state that a person has
// not seen.
type DriftError struct {
	What    string // that is not done
	Changes []common.Change
}

func (e *DriftError) Error() string {
	lines := make([]string, len(e.Changes))
	for i, c := range e.Changes {
		lines[i] = c.String()
	}
	return fmt.Sprintf("%s: since the run began this has changed: %s; cmux agents shared --restore puts it back, --accept takes it as it is",
		e.What, strings.Join(lines, "; "))
}

// Undrifted refuses what with a *DriftError when a change matters to it.
func (r *Run) Undrifted(ctx context.Context, repo *worktree.Repo, what string, matters func(common.Change) bool) (*common.State, error) {
	base, changes, err := r.Drift(ctx, repo)
	if err != nil {
		return nil, err
	}
	if changes = slices.DeleteFunc(changes, func(c common.Change) bool { return !matters(c) }); len(changes) > 0 {
		return nil, &DriftError{what, changes}
	}
	return base, nil
}
