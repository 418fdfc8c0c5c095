package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/fence"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/git"
	"cmux/worktree/gitfile"
	"cmux/worktree/lookout"
	"cmux/worktree/separate"
)

// A fencing is a fence around the programs of one node. A node with a worktree works in a
// git directory of its own meanwhile: it may write nothing of the one that all share.
type fencing struct {
	places   []string // what the node's programs may write
	hide     []string // what they find empty
	copies   []string // what the agent's program finds as copies of its own
	show     []string // what stays of it
	env      []string
	tmp      string             // a temporary folder of its own
	worktree *separate.Worktree // nil: without one
	publish  func()             // ends what brings commits to the node's branch as they appear
	usual    func(more ...string) ([]string, error)
	home     string
	told     bool     // the agent knows what a refusal means
	outside  []string // of a standing agent: the environment outside of the fence
	made     []string // files that were made, empty, so that they may be written
}

// up makes the kernel restrict the stage's programs, with setup, and returns ctx in which
// it restricts cmux's own git as much. ear hears what these programs print. Without a fence
// it returns ctx.
func (f *fencing) up(ctx context.Context, spec *run.Spec, paths run.Paths, stage *agent.Stage, ear *fence.Ear, note func(string, ...any)) (context.Context, error) {
	if !spec.Def.Fence.On() {
		return ctx, nil
	}
	if _, err := fence.Support(); err != nil {
		if spec.Def.Fence.Mode == dag.FenceRequire {
			return nil, fmt.Errorf("fence: require: %w. To run it without: fence: off", err)
		}
		note("%v: what its programs write elsewhere is found out afterwards", err)
		return ctx, nil
	}
	built, err := newFencing(spec, paths, stage.Env, note)
	if err == nil && built.worktree != nil {
		if err = built.begin(ctx); err != nil {
			err = errors.Join(err, built.drop())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("fence: %w", err)
	}
	ctx = git.WithConfine(ctx, built.within)
	begin := func() (*fence.Fence, error) {
		around := built.around(ctx, spec)
		ear.Begin(around, stage.Dir)
		return around, save(paths.Fence(spec.Node), spec.Attempt, around)
	}
	if _, err := begin(); err != nil {
		note("fence: %v", err) // cmux agents fence shows less
	}
	*f, stage.Env, stage.Steps, stage.Ours = *built, built.env, built.confine, (&fence.Fence{Write: built.places}).Confine
	stage.Confine = func(cmd *exec.Cmd) error {
		around, _ := begin() // setup may have made what git ignores
		return around.Confine(cmd)
	}
	if stage.Events == nil {
		stage.Out = ear.Writer(stage.Out)
	}
	return ctx, nil
}

// around returns the fence around the node's program. Where the scope is made of folders, it
// may write less than checks and cmux's own git.
func (f *fencing) around(ctx context.Context, spec *run.Spec) *fence.Fence {
	places := f.places
	if within, is := scoped(ctx, spec); is {
		tree, _ := filepath.EvalSymlinks(spec.Place.Tree)
		places = slices.DeleteFunc(slices.Clone(places), func(p string) bool { return p == tree })
		places = append(places, within...)
	}
	return &fence.Fence{Write: places, Hide: f.hide, Show: f.show, Copies: f.copies}
}

// confine restricts a program to what the node may write, and hides what it must not see.
func (f *fencing) confine(cmd *exec.Cmd) error { return f.within(cmd, nil) }

// within is confine for cmux's own git, which may write also.
func (f *fencing) within(cmd *exec.Cmd, also []string) error {
	return (&fence.Fence{Write: slices.Concat(f.places, also), Hide: f.hide, Show: f.show}).Confine(cmd)
}

// save writes down what may be written, for whoever asks.
func save(file string, attempt int, f *fence.Fence) error {
	b, err := json.Marshal(run.Fence{Attempt: attempt, Write: f.Write})
	if err != nil {
		return err
	}
	return signals.PutFile(file, b, 0o600)
}

// opens returns the place that a configuration must name for path to be written: in the
// worktree, behind "scope:", one of the scope. empty: no configuration opens it.
func (f *fencing) opens(path, tree string) string {
	if rel, err := filepath.Rel(tree, path); tree != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
		return run.OpenScope + filepath.ToSlash(rel)
	}
	place := path
	if st, err := os.Stat(path); err != nil || !st.IsDir() {
		place = filepath.Dir(path)
	}
	if place == "/" || place == f.home {
		place = path
	}
	all, err := f.usual(place)
	if err != nil || (&fence.Fence{Write: all}).Refuses(path) {
		return ""
	}
	if rest, ok := strings.CutPrefix(place, f.home+"/"); ok && f.home != "" {
		place = "~/" + rest
	}
	return place
}

// begin gives the worktree its own git directory.
func (f *fencing) begin(ctx context.Context) error {
	w := f.worktree
	if err := w.Begin(ctx); err != nil {
		return err
	}
	f.places = append(f.places, w.Dir(), w.Modules())
	f.watch(ctx)
	return nil
}

// watch brings the commits of the worktree to its branch as they appear.
func (f *fencing) watch(ctx context.Context) {
	f.publish = func() {}
	w := *f.worktree
	look, err := lookout.New()
	if err == nil {
		err = look.Watch(w.Tree)
	}
	if err != nil {
		return // no file events: then its commits appear when it ends
	}
	ctx, cancel := context.WithCancel(git.WithConfine(ctx, nil))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range look.C {
			_ = w.Publish(ctx) // rejoin does all of it again, and tells
		}
	}()
	f.publish = func() {
		cancel()
		look.Close()
		<-done
	}
}

// rejoin makes the worktree one of the shared repository again, after everything that runs
// there has ended. On an error the work is where it was.
func (f *fencing) rejoin(ctx context.Context, note func(string, ...any)) error {
	if f.worktree == nil {
		return nil
	}
	f.publish()
	w := f.worktree
	if w.Works() {
		if err := w.Lead(); err != nil { // git worktree repair leads it to the other
			note("fence: %v", err)
		}
	}
	left, err := w.End(git.WithConfine(context.WithoutCancel(ctx), nil))
	for _, l := range left {
		note("%s", l)
	}
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	f.worktree = nil
	return nil
}

// down ends what the marked programs left running, and takes over what they committed. It
// does nothing without a fence. alone: all orphans of this process are the attempt's.
func (f *fencing) down(ctx context.Context, s *proc.Spawner, mark proc.Mark, grace time.Duration, alone bool, note func(string, ...any)) error {
	if f.tmp == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	_, err := proc.End(ctx, grace, mark)
	if alone {
		_, e := s.EndOrphans(ctx, grace)
		err = errors.Join(err, e)
	}
	if err := errors.Join(err, f.drop()); err != nil {
		note("fence: %v", err)
	}
	err = f.rejoin(ctx, note)
	*f = fencing{}
	return err
}

// drop removes the temporary folder, and what was made to be written and was not.
func (f *fencing) drop() error {
	err := os.RemoveAll(f.tmp)
	for _, path := range f.made {
		if info, lerr := os.Lstat(path); lerr == nil && info.Mode().IsRegular() && info.Size() == 0 {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// newFencing builds the fence of a node. env is the environment of its programs.
func newFencing(spec *run.Spec, paths run.Paths, env []string, note func(string, ...any)) (*fencing, error) {
	f := &fencing{}
	get := func(name string) string { return proc.Getenv(env, name) }
	if err := f.conceal(spec, paths, get, note); err != nil {
		return nil, err
	}
	var own []string
	kept := []string{spec.Frame.Root, paths.Dir}
	if common, err := commonOf(spec.Frame.Root); err == nil {
		kept = append(kept, common)
		trees, err := registered(common)
		if err != nil {
			return nil, err
		}
		kept = append(kept, trees...)
		if tree := spec.Place.Tree; tree != "" {
			w, err := separate.Find(common, tree)
			if err != nil {
				return nil, err
			}
			for _, p := range spec.Frame.Peers {
				if p.Branch != "" && p.Branch != spec.Place.Branch {
					w.Others = append(w.Others, "refs/heads/"+p.Branch)
				}
			}
			f.worktree, own = &w, append(own, tree)
		}
	} else if spec.Place.Tree != "" {
		return nil, err
	}
	f.home = get("HOME")
	f.usual = func(also ...string) ([]string, error) {
		return fence.Usual(get, slices.Clone(kept), slices.Concat(fence.Named(spec.Def.Fence.Write, get), also))
	}
	usual, err := f.usual()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{workspace.TraceVar, verdict.OutputVar} {
		if file := get(name); filepath.IsAbs(file) {
			w, err := signals.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return nil, err
			}
			w.Close()
			own = append(own, file)
		}
	}
	// Where the project lies in a temporary folder, nothing new can be made in that.
	if f.tmp, err = os.MkdirTemp("", "cmux-"); err != nil {
		return nil, err
	}
	f.env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TMPDIR=") || strings.HasPrefix(kv, "TMUX_TMPDIR=")
	})
	f.env = append(f.env, "TMPDIR="+f.tmp, "TMUX_TMPDIR="+f.tmp)
	if f.tmp, err = filepath.EvalSymlinks(f.tmp); err != nil {
		return nil, err
	}
	for _, place := range own {
		if to, err := filepath.EvalSymlinks(place); err == nil {
			usual = append(usual, to)
		}
	}
	f.places = append(usual, f.tmp)
	return f, nil
}

// commonOf returns the git directory that the worktrees of a project share.
func commonOf(root string) (string, error) {
	dir := filepath.Join(root, ".git")
	if private, err := gitfile.Private(root); err == nil {
		dir = gitfile.Common(private)
	}
	return filepath.EvalSymlinks(dir)
}

// registered returns the working trees that are registered in a common git directory.
func registered(common string) (trees []string, err error) {
	files, err := filepath.Glob(filepath.Join(common, "worktrees", "*", "gitdir"))
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil {
			trees = append(trees, filepath.Dir(strings.TrimRight(string(b), "\r\n")))
		}
	}
	return trees, err
}
