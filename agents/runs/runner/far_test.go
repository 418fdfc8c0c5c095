package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/runs/host"
	"cmux/agents/runs/host/hosttest"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// away is a run whose attempts live elsewhere.
type away struct {
	*project
	r    *run.Run
	dir  string
	far  *hosttest.Far
	over chan outcome
	end  context.CancelFunc
}

type outcome struct {
	state dag.RunState
	err   error
}

// goAway starts the run of a configuration whose attempts are given up after
// lease without a sign of life.
func goAway(t *testing.T, config string, lease time.Duration) *away {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &away{project: newProject(t, config), dir: t.TempDir()}
	w.r = w.create(func(o *StartOptions) {
		o.Binary, o.Kinds, o.Env = self, aiKinds(), append(o.Env, "SECRET=not for command lines", "THERE="+w.root)
	})
	w.carryOn(HowStart, lease)
	t.Cleanup(func() { w.end(); <-w.over })
	return w
}

func (w *away) carryOn(how string, lease time.Duration) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	ready := make(chan struct{})
	over := make(chan outcome, 1)
	go func() {
		defer close(over)
		state, err := Run(ctx, Options{Run: w.r, How: how, Kinds: aiKinds(), Host: func(c host.Config) (host.Host, error) {
			defer close(ready)
			w.far = hosttest.New(c, w.dir, lease)
			return w.far, nil
		}})
		over <- outcome{state, err}
	}()
	<-ready
	w.over, w.end = over, cancel
}

func (w *away) ends(want dag.RunState) {
	w.t.Helper()
	if o := <-w.over; o.err != nil || o.state != want {
		records, _ := os.ReadFile(w.r.Records())
		w.t.Fatalf("the run ended %q, %v; want %q\n%s", o.state, o.err, want, records)
	}
}

// attempts are the recorded ones of a node.
func (w *away) attempts(node string) []run.Attempt {
	w.t.Helper()
	v, err := w.r.View(w.t.Context(), time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return v.Nodes[w.r.Plan.Graph.Index(node)].Attempts
}

// An attempt that shares neither memory nor tmux, folder or repository with its
// run brings it forward as any other: commits, checks, outputs, events, what is
// read of others, what needs a person.
func TestAttemptsElsewhere(t *testing.T) {
	w := goAway(t, `
session: s
setup: ["echo made > made"]
agents:
  - name: api
    agent: scripted
    verify: ["grep -q one api.txt", "test \"$CMUX_NODE\" = api"]
    task: |
      test "$SECRET" = 'not for command lines' || exit 3
      test -s made || exit 4
      echo one > api.txt
      git add api.txt && git commit -q -m 'the api'
      echo $CMUX_ROOT > $HOME/root; pwd > $HOME/dir
      cmux done "The api is there."
  - name: web
    agent: command
    depends_on: [api]
    task: |
      grep one api.txt && echo two > web.txt && git add web.txt && git commit -q -m web && echo $(git log --format=%s -2)
  - name: look
    agent: scripted
    role: review
    depends_on: [web]
    task: |
      cmux done "$(git show $CMUX_HEAD:web.txt; git log --format=%s $CMUX_BASE..$CMUX_HEAD | tr '\n' ' ')"
  - {name: bad, agent: command, task: "exit 7"}
  - {name: behind, agent: command, depends_on: [bad], task: "true"}
`, time.Minute)
	w.ends(dag.RunFailed)
	w.want(w.r, `
api: done
web: done
look: done
bad: failed (exit 7)
behind: blocked (bad failed)`)
	for node, marker := range map[string]string{"api": "0", "web": "0", "look": "0", "bad": "7", "behind": "99"} {
		if got := w.marker(node); got != marker {
			t.Errorf("the marker of %s is %q, want %q", node, got, marker)
		}
	}
	if got := w.git("log", "--format=%s", "s/web"); got != "web\nthe api\nfirst" {
		t.Errorf("the branch of web holds:\n%s", got)
	}
	if got := w.git("for-each-ref", "--format=%(refname)", "refs/cmux/far"); got != "" {
		t.Errorf("left behind: %s", got)
	}
	if trees := w.git("worktree", "list"); strings.Contains(trees, "\n") {
		t.Errorf("worktrees were lent here:\n%s", trees)
	}
	api, look := w.attempts("api")[0].End, w.attempts("look")[0].End
	if api.Summary != "The api is there." || api.Commits != 1 || len(api.Checks) != 2 || api.Tip != w.git("rev-parse", "s/api") {
		t.Errorf("the end of api: %+v", api)
	}
	if strings.Join(strings.Fields(look.Summary), " ") != "two web the api" {
		t.Errorf("the review saw %q", look.Summary)
	}
	for path, want := range map[string]string{w.r.Events("api"): "The api is there.", w.r.Log("web"): "web the api"} {
		if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s holds no %q: %v\n%s", path, want, err, b)
		}
	}
	for _, name := range []string{"root", "dir"} {
		if b, err := os.ReadFile(filepath.Join(w.dir, "api/home", name)); err != nil || !strings.HasPrefix(string(b), w.dir) {
			t.Errorf("%s of api was %q, %v", name, b, err)
		}
	}
}

// What is the project's cannot be seen from where the attempt lives.
func TestElsewhereSharesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("hiding a folder needs root")
	}
	w := goAway(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: looks, task: 'ls -A "$THERE"; test -d "$THERE" && test -z "$(ls -A "$THERE")"'}
  - {name: writes, task: 'touch "$THERE/x"'}
`, time.Minute)
	w.ends(dag.RunFailed)
	w.want(w.r, "looks: done\nwrites: failed (exit 1)")
}

// A machine that dies, or that is not heard of any more, loses its attempt: the
// next one goes on in what is there, and nothing is done twice.
func TestLostElsewhere(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "silent": syscall.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			w := goAway(t, `
session: s
agents:
  - name: api
    agent: scripted
    task: |
      cd "$PWD"
      if ! test -e half; then
        echo half > half; git add half; git commit -q -m half
        touch $CMUX_RUN_DIR/half
        cat > /dev/null
      fi
      echo whole > whole; git add whole; git commit -q -m whole
      cmux done "Twice as long."
`, 20*time.Second) // a busy machine is silent for some
			w.until("the half is done", func() bool {
				found, _ := filepath.Glob(filepath.Join(w.dir, "api/repo/.cmux/runs/*/half"))
				return len(found) > 0
			})
			if err := w.far.Processes()[0].Signal(signal); err != nil {
				t.Fatal(err)
			}
			w.ends(dag.RunDone)
			all := w.attempts("api")
			if len(all) != 2 || all[0].Vanished != run.HowLost || all[1].End == nil {
				t.Errorf("the attempts: %+v", all)
			}
			if got := w.git("log", "--format=%s", "s/api"); got != "whole\nhalf\nfirst" {
				t.Errorf("the branch holds:\n%s", got)
			}
		})
	}
}

// What a person says reaches an attempt elsewhere, and its answer comes back.
func TestSpokenToElsewhere(t *testing.T) {
	w := goAway(t, `
session: s
defaults: {agent: scripted, role: review, input_timeout: 1h}
agents:
  - name: asks
    task: |
      echo '{"text":"which way?","options":["left","right"]}' | cmux hook question
      read way
      cmux done "went $way"
  - {name: idle, task: "cat > /dev/null"}
`, time.Minute)
	w.until("it asks", func() bool { return strings.Contains(w.labels(w.r), "asks: needs input") })
	if _, err := w.r.Ask(run.Request{Op: run.OpAnswer, Node: "asks", Text: "left"}); err != nil {
		t.Fatal(err)
	}
	w.until("it is answered", func() bool { return strings.Contains(w.labels(w.r), "asks: done") })
	if got := w.attempts("asks")[0].End.Summary; got != "went left" {
		t.Errorf("it %s", got)
	}
	if _, err := w.r.Ask(run.Request{Op: run.OpStop, Node: "idle"}); err != nil {
		t.Fatal(err)
	}
	w.ends(dag.RunFailed)
	w.want(w.r, "asks: done\nidle: failed (cancelled)")
}

// A runner that is told to leave ends what lives elsewhere; the next runner
// continues the run.
func TestResumedElsewhere(t *testing.T) {
	w := goAway(t, `
session: s
agents:
  - name: api
    agent: scripted
    task: |
      test -e half && cmux done "All of it." && cat > /dev/null
      echo half > half; git add half; git commit -q -m half; touch $CMUX_RUN_DIR/half
      cat > /dev/null
`, time.Minute)
	w.until("the half is done", func() bool {
		found, _ := filepath.Glob(filepath.Join(w.dir, "api/repo/.cmux/runs/*/half"))
		return len(found) > 0
	})
	w.end()
	if o := <-w.over; o.state != dag.RunStopped {
		t.Fatalf("the run ended %q, %v", o.state, o.err)
	}
	if all := w.attempts("api"); len(all) != 1 || all[0].Vanished != run.HowInterrupted {
		t.Errorf("the attempts: %+v", all)
	}
	w.carryOn(HowResume, time.Minute)
	w.ends(dag.RunDone)
	if got := w.git("log", "--format=%s", "s/api"); got != "half\nfirst" {
		t.Errorf("the branch holds:\n%s", got)
	}
}

// What a new run on the same branches begins with is as for worktrees here: the new base and
// what dependencies contribute are merged into a branch that goes on; one that is fresh
// begins at the base, and what it held is saved.
func TestBegunElsewhere(t *testing.T) {
	const config = `
session: s
agents:
  - {name: api, agent: command, task: 'echo %[1]s > api-%[1]s && git add . && git commit -q -m api-%[1]s'}
  - {name: web, agent: command, depends_on: [api], task: 'git add . && git commit -q --allow-empty -m web-%[1]s'}
`
	w := goAway(t, strings.ReplaceAll(config, "%[1]s", "1"), time.Minute)
	w.ends(dag.RunDone)
	begin := func(n string, change func(*StartOptions)) {
		t.Helper()
		w.end()
		w.write(n, "moved on\n")
		w.git("add", n)
		w.git("commit", "-q", "-m", "base-"+n)
		w.write(DefaultConfig, strings.ReplaceAll(config, "%[1]s", n))
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		w.dir = t.TempDir() // other machines
		w.r = w.create(func(o *StartOptions) {
			o.Binary, o.Kinds = self, aiKinds()
			change(o)
		})
		w.carryOn(HowStart, time.Minute)
		w.ends(dag.RunDone)
	}
	begin("2", func(*StartOptions) {})
	if got := w.git("ls-tree", "--name-only", "s/web"); got != "2\nREADME\napi-1\napi-2" {
		t.Errorf("web continues from\n%s", got)
	}
	if got := w.git("log", "--format=%s", "s/web"); !strings.Contains(got, "web-1") || !strings.Contains(got, "web-2") {
		t.Errorf("web holds\n%s", got)
	}
	old := w.git("rev-parse", "s/api")
	begin("3", func(o *StartOptions) { o.Fresh = true })
	if got := w.git("ls-tree", "--name-only", "s/api"); got != "2\n3\nREADME\napi-3" {
		t.Errorf("a fresh api holds\n%s", got)
	}
	if got := w.git("ls-tree", "--name-only", "s/web"); got != "2\n3\nREADME\napi-3" {
		t.Errorf("a fresh web holds\n%s", got)
	}
	if got := w.git("for-each-ref", "--contains", old, "refs/cmux/snapshots"); got == "" {
		t.Error("what api held is not saved")
	}
	if trees := w.git("worktree", "list"); strings.Contains(trees, "\n") {
		t.Errorf("worktrees were lent here:\n%s", trees)
	}
}
