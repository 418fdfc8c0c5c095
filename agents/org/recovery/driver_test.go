package recovery

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/records/incident"
	"cmux/worktree"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a project with a repository whose health stands in a file.
type world struct {
	*Driver
	t        *testing.T
	now      time.Time
	state    *State
	ran      []string             // commands, and what was told
	restarts bool                 // the restart helps
	sick     bool                 // whatever is checked out
	leaves   func(command string) // what a command leaves in the tree, or a person meanwhile
	cut      int                  // the so-manieth effect from now is cut off; 0: none
	written  map[string]string
	commits  int
	person   string // who a commit is not an agent's of
}

var errCut = errors.New("killed")

// git runs git in the project.
func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
		"GIT_COMMITTER_DATE="+w.now.Format(time.RFC3339), "GIT_AUTHOR_DATE="+w.now.Format(time.RFC3339))
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit on main in which the health is as said.
func (w *world) commit(health string) string {
	w.t.Helper()
	n := strconv.Itoa(w.commits)
	must(w.t, os.WriteFile(filepath.Join(w.Root, "health"), []byte(health+"\n"), 0o644))
	must(w.t, os.WriteFile(filepath.Join(w.Root, "n"), []byte(n), 0o644))
	if w.commits++; n == "0" {
		w.git(w.Root, "add", "health", "n")
	}
	w.git(w.Root, "commit", "-q", "-m", "commit "+n+" "+health, "--", "health", "n")
	return w.git(w.Root, "rev-parse", "HEAD")
}

func newWorld(t *testing.T, own bool) *world {
	w := &world{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), state: new(State), written: map[string]string{}}
	root := t.TempDir()
	root, err := filepath.EvalSymlinks(root)
	must(t, err)
	now := func() time.Time { return w.now }
	w.Driver = &Driver{Root: root, Tree: root, Target: "main", Now: now}
	w.git(root, "init", "-q", "-b", "main")
	w.commit("ok")
	book, err := incident.OpenBook(root, now, true)
	must(t, err)
	repo, err := worktree.Open(t.Context(), root)
	must(t, err)
	d := w.Driver
	d.Config = Config{Every: 30 * time.Second, Rollback: true, Own: own}
	d.Commands, d.Repo, d.Incidents = Commands{Check: "check", Rebuild: "rebuild"}, repo, book
	if own {
		d.Tree = filepath.Join(root, ".cmux", TreeName)
	}
	d.Run = func(_ context.Context, dir, command string) (Result, error) {
		w.ran = append(w.ran, command)
		w.now = w.now.Add(time.Second)
		if w.leaves != nil {
			w.leaves(command)
		}
		if command == "rebuild" {
			err := os.WriteFile(filepath.Join(dir, "built"), []byte("junk"), 0o644)
			return Result{OK: err == nil}, w.cuts(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "health"))
		return Result{OK: strings.TrimSpace(string(b)) == "ok" && !w.sick, Output: string(b)}, w.cuts(err)
	}
	d.Restart = func(context.Context, string, string) (Result, error) {
		w.ran = append(w.ran, "restart")
		if w.restarts {
			w.sick = false
		}
		return Result{OK: true}, w.cuts(nil)
	}
	d.Busy = func(context.Context) (string, error) { return "", nil }
	d.Ours = func(commit string) bool { return commit != w.person }
	d.Author = func(string) string { return "w1, for task t1: break it" }
	d.Journal = func(at time.Time, text string) (string, error) {
		path := at.Format("rollback-150405.md")
		w.written[path] = text
		return path, w.cuts(nil)
	}
	d.Tell = func(_ context.Context, id, subject, body string) error {
		w.written["told "+id] = subject + "\n" + body
		return w.cuts(nil)
	}
	d.Diff = func(ctx context.Context, commit string) (string, string, error) { return repo.Patch(ctx, commit, 4000) }
	d.Note = func(text string) { t.Log(text) }
	return w
}

// cuts is the error of an effect at which the process is killed: the effect itself
// was had.
func (w *world) cuts(err error) error {
	if w.cut--; w.cut == 0 {
		panic(errCut)
	}
	return err
}

// step does what is due, when it is due. It reports whether it was killed; then
// the next one begins at what was written down.
func (w *world) step() (killed bool) {
	w.t.Helper()
	defer func() {
		if r := recover(); r != nil {
			if r != errCut {
				panic(r)
			}
			killed = true
			var err error
			w.state, err = Store{w.Root}.Load()
			must(w.t, err)
		}
	}()
	if at := w.state.Next(w.Config).At; at.After(w.now) {
		w.now = at
	}
	_, err := w.Step(w.t.Context(), w.state)
	must(w.t, err)
	if w.cut > 0 {
		if w.cut--; w.cut == 0 { // between two actions
			w.state, err = Store{w.Root}.Load()
			must(w.t, err)
			return true
		}
	}
	return false
}

func (w *world) steps(n int) {
	w.t.Helper()
	for range n {
		w.step()
	}
}

// settle steps until a recovery that has begun is over.
func (w *world) settle() {
	w.t.Helper()
	for n := 0; !w.state.Run.Over(); n++ {
		if n > 60 {
			w.t.Fatalf("it does not end: %+v", w.state.Run)
		}
		w.step()
	}
}

// incident is the one of the project's health, the newest.
func (w *world) incident() *incident.Incident {
	w.t.Helper()
	l, err := w.Incidents.List()
	must(w.t, err)
	all := l.All()
	if len(all) == 0 {
		w.t.Fatal("there is no incident")
	}
	return all[len(all)-1]
}

// A commit breaks the project: it is rolled back to the newest healthy one, on a
// branch of its own, in a tree of cmux's own or in a person's, and the culprit is
// named. New commits bring it forward again.
func TestRollback(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(fmt.Sprint("own=", own), func(t *testing.T) {
			w := newWorld(t, own)
			w.step()
			last := w.commit("ok")
			w.steps(1)
			good := w.commit("ok")
			culprit := w.commit("broken")
			for range 4 {
				w.commit("broken")
			}
			broken := w.git(w.Root, "rev-parse", "main")
			w.now = w.now.Add(time.Hour)
			must(t, os.WriteFile(filepath.Join(w.Root, "notes"), []byte("mine"), 0o644))
			must(t, os.Chtimes(filepath.Join(w.Root, "notes"), w.now.Add(-time.Hour), w.now.Add(-time.Hour)))
			if w.state.Healthy != last {
				t.Fatalf("%+v", w.state)
			}
			w.steps(3)
			w.settle()
			r := w.state.Run
			if r.End != RolledBack || r.Best != good || r.Blamed != culprit || r.Broken != broken {
				t.Fatalf("%+v", r)
			}
			if on := w.git(w.Tree, "rev-parse", "--abbrev-ref", "HEAD"); !strings.HasPrefix(on, "cmux/rollback-"+r.ID) || on != r.On || w.git(w.Tree, "rev-parse", "HEAD") != good {
				t.Errorf("on %s", on)
			}
			if tip := w.git(w.Root, "rev-parse", "main"); tip != broken {
				t.Error("main moved")
			}
			if all := w.git(w.Root, "branch", "--list", "cmux/*", "--format=%(refname:short)"); all != r.On {
				t.Errorf("branches: %s", all)
			}
			if b, err := os.ReadFile(filepath.Join(w.Root, "notes")); string(b) != "mine" {
				t.Errorf("%q, %v", b, err)
			}
			told := w.written["told rollback-"+r.ID]
			for _, want := range []string{culprit, "w1, for task t1", "-ok\n+broken"} {
				if !strings.Contains(told, want) {
					t.Errorf("the supervisor was not told %q:\n%s", want, told)
				}
			}
			i := w.incident()
			if !i.Waits() || i.Advice.Command != "cmux recover undo" || len(i.Deeds) < 5 || i.ID != r.Incident {
				t.Errorf("%+v", i)
			}
			if own {
				mended := w.commit("broken") // not mended yet
				w.steps(3)
				if r := w.state.Run; r.End != RolledBack || r.Ahead != mended || w.git(w.Tree, "rev-parse", "HEAD") != good {
					t.Fatalf("%+v", r)
				}
				mended = w.commit("ok")
				w.steps(2)
				if w.state.Run.End != Recovered || w.git(w.Tree, "rev-parse", "HEAD") != mended {
					t.Errorf("%+v", w.state.Run)
				}
			} else {
				if !w.state.Undo(w.now) {
					t.Fatal("there is nothing to undo")
				}
				w.settle()
				if on := w.git(w.Tree, "rev-parse", "--abbrev-ref", "HEAD"); on != "main" || w.state.Run.End != Undone {
					t.Errorf("%s, %+v", on, w.state.Run)
				}
				w.steps(5) // it fails still, and is left alone
				if w.state.Run.ID != r.ID || w.state.Run.End != Undone {
					t.Errorf("%+v", w.state.Run)
				}
				w.git(w.Root, "reset", "-q", "--hard", good)
				w.steps(1)
			}
			if i := w.incident(); i.State != incident.Closed {
				t.Errorf("%+v", i)
			}
		})
	}
}

var allCuts = flag.Bool("cuts", false, "kill a recovery at each of its effects, and not at a sample")

// A recovery that is killed at any effect, or between two actions, comes to the same
// end, with nothing done twice that counts. Every second place is tried, so that of
// the commits that are tried each sort of place has its turn; all of them with -cuts.
func TestKilledAnywhere(t *testing.T) {
	stride := 2
	if *allCuts {
		stride = 1
	}
	for cut := 1; ; cut += stride {
		w := newWorld(t, true)
		w.step()
		good := w.git(w.Root, "rev-parse", "main")
		culprit := w.commit("broken")
		w.commit("broken")
		w.steps(3)
		w.cut = cut
		w.settle()
		done := w.cut > 0
		w.cut = 0
		w.settle()
		r := w.state.Run
		if r.End != RolledBack || r.Best != good || r.Blamed != culprit {
			t.Fatalf("cut %d: %+v", cut, r)
		}
		if n := len(w.written); n != 2 {
			t.Fatalf("cut %d: %v", cut, w.written)
		}
		if all := w.git(w.Root, "branch", "--list", "cmux/*", "--format=%(refname:short)"); all != r.On {
			t.Errorf("cut %d: branches: %s", cut, all)
		}
		seen := map[string]bool{}
		for _, d := range w.incident().Deeds {
			key := d.At.String() + d.What
			if seen[key] {
				t.Errorf("cut %d: %s twice", cut, d.What)
			}
			seen[key] = true
		}
		if done {
			if cut < 10 {
				t.Errorf("it had only %d effects", cut)
			}
			return
		}
	}
}

// Where somebody is at work nothing is touched, and the incident says who.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*world)
		says string
	}{
		"uncommitted": {func(w *world) { must(w.t, os.WriteFile(filepath.Join(w.Root, "n"), []byte("edited"), 0o644)) }, "uncommitted changes: n"},
		"new file":    {func(w *world) { must(w.t, os.WriteFile(filepath.Join(w.Root, "new.go"), nil, 0o644)) }, "new files that nobody committed: new.go"},
		"merge": {func(w *world) {
			w.git(w.Root, "checkout", "-q", "-b", "other", "HEAD~1")
			w.commit("ok")
			w.git(w.Root, "checkout", "-q", "main")
			w.git(w.Root, "merge", "-q", "--no-commit", "-s", "ours", "other")
		}, "a merge is in progress"},
		"rebase": {func(w *world) {
			w.git(w.Root, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
		}, "a rebase is in progress"},
		"submodule": {func(w *world) {
			must(w.t, os.WriteFile(filepath.Join(w.Root, ".gitmodules"), []byte("[submodule \"x\"]\n\tpath = lib/x\n\turl = ./x\n"), 0o644))
			w.git(w.Root, "add", ".gitmodules")
			w.git(w.Root, "commit", "-q", "-m", "x")
		}, "submodules, which a rollback does not bring along: lib/x"},
		"a person's commit": {func(w *world) { w.person = w.git(w.Root, "rev-parse", "HEAD") }, "committed"},
		"an agent": {func(w *world) {
			w.Busy = func(context.Context) (string, error) { return "w1 works in it", nil }
		}, "w1 works in it"},
		"never healthy": {func(w *world) { w.state.Healthy = "" }, "no commit is known"},
		"another history": {func(w *world) {
			w.git(w.Root, "checkout", "-q", "--orphan", "lone")
			w.commit("broken")
		}, "is not in the history"},
		"not allowed": {func(w *world) { w.Rollback, w.Config.Restart = false, true }, "health.rollback is not on"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.step()
			w.commit("broken")
			c.do(w)
			head, status := w.git(w.Root, "rev-parse", "HEAD"), w.git(w.Root, "status", "--porcelain")
			w.steps(3)
			w.settle()
			if r := w.state.Run; r.End != Refused && r.End != Failed || !strings.Contains(r.Detail, c.says) {
				t.Errorf("%+v", r)
			}
			w.steps(5)
			if w.git(w.Root, "rev-parse", "HEAD") != head || w.git(w.Root, "status", "--porcelain") != status || w.git(w.Root, "branch", "--list", "cmux/*") != "" {
				t.Error("something was touched")
			}
			i := w.incident()
			if i.Advice == nil || !strings.Contains(i.Advice.Text, c.says) {
				t.Errorf("%+v", i.Advice)
			}
			l, err := w.Incidents.List()
			must(t, err)
			if len(l.All()) != 1 {
				t.Errorf("%d incidents", len(l.All()))
			}
		})
	}
}

// What a restart mends is not rolled back, nor what is sick whatever is checked out:
// then the tree is put back.
func TestRestartAndNothingHelps(t *testing.T) {
	w := newWorld(t, false)
	w.Config.Restart = true
	w.step()
	w.sick, w.restarts = true, true
	w.steps(3)
	w.settle()
	if r := w.state.Run; r.End != Restarted || w.incident().State != incident.Closed {
		t.Errorf("%+v", r)
	}
	for range 12 {
		w.commit("ok")
	}
	w.now = w.now.Add(2 * time.Hour)
	w.step()
	head := w.git(w.Root, "rev-parse", "HEAD")
	w.sick, w.restarts = true, false
	w.steps(3)
	w.settle()
	r := w.state.Run
	if r.End != Failed || len(r.Tries) != MaxOlder+1 || w.git(w.Root, "rev-parse", "--abbrev-ref", "HEAD") != "main" || w.git(w.Root, "rev-parse", "HEAD") != head {
		t.Errorf("%s, %d tries", r.Line(), len(r.Tries))
	}
	id := r.ID
	w.steps(20)
	if w.state.Run.ID != id {
		t.Error("it was tried again, though nothing had changed")
	}
}

// Who begins to work in the tree while a recovery runs keeps every byte: it ends at
// an incident, and can be undone when they are done.
func TestPersonComesInBetween(t *testing.T) {
	for name, busy := range map[string]bool{"a person": false, "an agent": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			w.step()
			w.commit("broken")
			broken := w.commit("broken")
			w.steps(3)
			for len(w.state.Run.Tries) == 0 {
				w.step()
			}
			run, on := w.state.Run.ID, w.state.Run.On
			if busy {
				w.Busy = func(context.Context) (string, error) { return "w1 works in it", nil }
			}
			must(t, os.WriteFile(filepath.Join(w.Root, "n"), []byte("half typed"), 0o644))
			w.settle()
			w.steps(5)
			r := w.state.Run
			if b, err := os.ReadFile(filepath.Join(w.Root, "n")); string(b) != "half typed" || r.End != Refused || r.ID != run || r.On != on {
				t.Fatalf("%q, %v, %+v", b, err, r)
			}
			if i := w.incident(); i.State != incident.Open || i.Advice.Command != "cmux recover undo" {
				t.Errorf("%+v", i.Advice)
			}
			if !w.state.Undo(w.now) {
				t.Fatal("there is nothing to undo")
			}
			w.settle()
			if b, _ := os.ReadFile(filepath.Join(w.Root, "n")); string(b) != "half typed" || r.End == Undone {
				t.Fatalf("undone over a person's edits: %q", b)
			}
			w.git(w.Root, "checkout", "-q", "--", "n")
			w.Busy = func(context.Context) (string, error) { return "", nil }
			if !w.state.Undo(w.now) {
				t.Fatal("there is nothing to undo")
			}
			w.settle()
			if head := w.git(w.Root, "rev-parse", "main", "HEAD"); head != broken+"\n"+broken || w.state.Run.End != Undone {
				t.Errorf("%s, %+v", head, w.state.Run)
			}
		})
	}
}

// A merge is looked at at once, and not when the next check is due.
func TestMergeIsLookedAt(t *testing.T) {
	w := newWorld(t, true)
	w.step()
	looks := len(w.ran)
	_, err := w.Step(t.Context(), w.state)
	must(t, err)
	if len(w.ran) != looks {
		t.Error("it was looked at without cause")
	}
	merged := w.commit("broken")
	_, err = w.Step(t.Context(), w.state)
	must(t, err)
	if w.state.Head != merged || w.state.Fails != 1 {
		t.Errorf("%+v", w.state)
	}
}

// A tree that is detached is rolled back as another, and undone to where it was.
func TestDetached(t *testing.T) {
	w := newWorld(t, false)
	w.step()
	good := w.git(w.Root, "rev-parse", "HEAD")
	broken := w.commit("broken")
	w.git(w.Root, "checkout", "-q", "--detach")
	w.now = w.now.Add(time.Hour)
	w.steps(3)
	w.settle()
	if r := w.state.Run; r.End != RolledBack || r.Best != good || r.Branch != "" {
		t.Fatalf("%+v", r)
	}
	if !w.state.Undo(w.now) {
		t.Fatal("there is nothing to undo")
	}
	w.settle()
	if on := w.git(w.Root, "rev-parse", "HEAD", "--abbrev-ref", "HEAD"); on != broken+"\nHEAD" || w.state.Run.End != Undone {
		t.Errorf("%s, %+v", on, w.state.Run)
	}
}

// What cannot be carried out in the middle puts the tree back.
func TestErrorsOnTheWay(t *testing.T) {
	w := newWorld(t, false)
	w.step()
	w.commit("broken")
	broken := w.commit("broken")
	w.steps(3)
	run := w.Run
	w.Run = func(ctx context.Context, dir, command string) (Result, error) {
		if command == "rebuild" {
			return Result{}, errors.New("no space left on device")
		}
		return run(ctx, dir, command)
	}
	w.settle()
	r := w.state.Run
	if head := w.git(w.Root, "rev-parse", "--abbrev-ref", "HEAD"); head != "main" || r.End != Failed || !strings.Contains(r.Detail, "no space") || w.state.Spared != broken {
		t.Fatalf("on %s, %+v", head, r)
	}
	id := r.ID
	w.steps(10)
	if w.state.Run.ID != id {
		t.Error("it was begun again, though nothing had changed")
	}
}
