package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/platform/fence"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/git"
	"cmux/worktree/separate"
)

// The fence of a standing agent is around its program for a whole life, through many tasks.
// Its worktree has a git directory of its own while it works on one: between tasks the keeper
// checks branches out there.

// FencedVar is set where the commands of a standing agent run in a fence.
const FencedVar = "CMUX_FENCED"

// NoFence returns why the fence that spec, of a standing agent, wants cannot be put up; nil:
// it can, or none is wanted.
func NoFence(spec *run.Spec) error {
	if !spec.Def.Fence.On() {
		return nil
	}
	if _, err := fence.Support(); err != nil {
		return err
	}
	if spec.Place.Tree == "" && !leads(spec) && !reads(spec) {
		return errors.New("it shares a folder, and there can be no fence around one who commits there: git writes beside its settings and hooks. A worktree of its own can have one")
	}
	return nil
}

// leads reports whether a standing agent changes no files but its notes.
func leads(spec *run.Spec) bool { return spec.Terms.Rights.Leads || spec.Terms.Rights.Sentry }

// reads reports whether it changes no file at all: a member of a room.
func reads(spec *run.Spec) bool { return spec.Def.Role == dag.RoleReview }

// lifelong puts the fence up around all that the stage of a standing agent starts. What an
// earlier life left in its worktree is taken over in any case. ear hears what these programs
// print. It returns ctx for cmux's own git there.
func (f *fencing) lifelong(ctx context.Context, spec *run.Spec, paths run.Paths, stage *agent.Stage, ear *fence.Ear, note func(string, ...any)) (context.Context, error) {
	why := NoFence(spec)
	if why != nil && spec.Def.Fence.Mode == dag.FenceRequire {
		return ctx, fmt.Errorf("fence: require: %w. To start it without: fence: auto in .cmux/config.yml", why)
	}
	if why != nil || !spec.Def.Fence.On() {
		if spec.Place.Tree != "" {
			common, err := commonOf(spec.Frame.Root)
			if err == nil {
				err = separate.Rejoin(git.WithNotes(ctx, func(s string) { note("%s", s) }), common, spec.Place.Tree)
			}
			if err != nil {
				return ctx, err
			}
		}
		if why != nil {
			note("no fence: %v", why)
		}
		return ctx, nil
	}
	built, err := newFencing(spec, paths, stage.Env, note)
	if err != nil {
		return ctx, fmt.Errorf("fence: %w", err)
	}
	if w := built.worktree; w != nil {
		left, err := w.Reserve(ctx)
		for _, l := range left {
			note("%s", l)
		}
		if err != nil {
			return ctx, errors.Join(fmt.Errorf("fence: %w", err), built.drop())
		}
		built.places, built.publish = append(built.places, w.Dir(), w.Modules()), func() {}
	} else if leads(spec) {
		if err := built.notes(spec); err != nil {
			return ctx, errors.Join(fmt.Errorf("fence: %w", err), built.drop())
		}
	}
	*f, f.outside = *built, stage.Env
	stage.Env, stage.Confine, stage.Steps = append(built.env, FencedVar+"=1"), built.confine, built.confine
	around := &fence.Fence{Write: built.places}
	ear.Begin(around, stage.Dir)
	if err := save(paths.Fence(spec.Node), spec.Attempt, around); err != nil {
		note("fence: %v", err) // cmux agents fence shows less
	}
	return f.atRest(ctx), nil
}

// notes lets an agent that leads write its notes, and makes what is not there of them: a
// rule of the kernel is for a file that exists. Links are passed over: they lead elsewhere.
func (f *fencing) notes(spec *run.Spec) (err error) {
	for _, root := range slices.Compact([]string{spec.Frame.Root, spec.Place.Dir}) {
		own := root == spec.Frame.Root
		for _, l := range places.Ledgers() {
			path := filepath.Join(root, l.Path)
			switch in := strings.HasPrefix(l.Path, signals.Folder+"/"); {
			case in && !own:
				continue // of another organization
			case own && l.Folder:
				err = errors.Join(err, signals.MkdirAll(path, 0o755))
			case own:
				if _, lerr := os.Lstat(path); errors.Is(lerr, fs.ErrNotExist) {
					err = errors.Join(err, signals.WriteFile(path, nil, 0o644))
					f.made = append(f.made, path)
				}
			}
			info, serr := os.Lstat(path)
			if serr == nil && (l.Folder && info.IsDir() || !l.Folder && info.Mode().IsRegular()) {
				f.places = append(f.places, path)
			}
		}
	}
	return err
}

// atRest returns ctx for cmux's own git while the worktree is one of the shared repository.
// The agent's program lives, and can have changed where .git leads.
func (f *fencing) atRest(ctx context.Context) context.Context {
	if f.worktree == nil {
		return git.WithConfine(ctx, nil)
	}
	ctx = git.Looking(git.WithConfine(ctx, f.within))
	return git.WithTree(ctx, f.worktree.Tree, f.worktree.Private)
}

// workBegins gives the worktree of a standing agent its own git directory for a task. It
// returns ctx for cmux's own git there.
func (f *fencing) workBegins(ctx context.Context) (context.Context, error) {
	if f.worktree == nil {
		return ctx, nil
	}
	f.publish()
	f.publish = func() {}
	if err := f.worktree.Begin(f.atRest(ctx)); err != nil {
		return ctx, fmt.Errorf("fence: %w", err)
	}
	f.watch(ctx)
	return git.WithTree(git.WithConfine(ctx, f.within), f.worktree.Tree, ""), nil
}

// workEnds takes over what was committed, while the program still runs.
func (f *fencing) workEnds(ctx context.Context, note func(string, ...any)) error {
	f.publish()
	f.publish = func() {}
	left, err := f.worktree.Pause(f.atRest(context.WithoutCancel(ctx)))
	for _, l := range left {
		note("%s", l)
	}
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	return nil
}
