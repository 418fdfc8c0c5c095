//go:build linux

// Package storm_test drives the built cmux from outside, as a person and a bad
// day do: random graphs of shell commands are started, their processes killed,
// shut down in order or all at once, a full disk among it, with a person's
// orders in between; then cmux goes on, and what stands there is held against
// what must be. It knows nothing of cmux but its commands, its markers and
// what the nodes themselves wrote down.
//
// In a plain test run it is a few minutes of weather. More of it:
//
//	STORM_KILLS=500 STORM_SHUTDOWNS=100 go test ./examples/storm -run 'Headless|Panes|Disk' -v -timeout 3h
package storm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "storm")
	if err == nil {
		binary = filepath.Join(dir, "cmux")
		build := exec.Command("go", "build", "-o", binary, "cmux/cmd/cmux")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "building cmux:", err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// setting is a number of the environment, or its default.
func setting(t *testing.T, name string, usual int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, s, err)
	}
	return n
}

// tally is what a storm came to.
type tally struct{ runs, kills, shutdowns, orders int }

func TestHeadless(t *testing.T) {
	t.Parallel()
	storms(t, true, setting(t, "STORM_KILLS", 8), setting(t, "STORM_SHUTDOWNS", 4)/2)
}

func TestPanes(t *testing.T) {
	t.Parallel()
	storms(t, false, setting(t, "STORM_KILLS", 8), (setting(t, "STORM_SHUTDOWNS", 4)+1)/2)
}

// storms makes runs until there were so many kills and shutdowns.
func storms(t *testing.T, headless bool, kills, shutdowns int) {
	first := uint64(setting(t, "STORM_SEED", 1))
	var sum tally
	for seed := first; sum.kills < kills || sum.shutdowns < shutdowns; seed++ {
		if t.Failed() || seed-first > uint64(10*(kills+shutdowns)) {
			break
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			w := newWorld(t, seed, headless)
			w.strike(min(3, max(1, kills-sum.kills)), sum.shutdowns < shutdowns)
			w.judge()
			sum.runs++
			sum.kills += w.sum.kills
			sum.shutdowns += w.sum.shutdowns
			sum.orders += w.sum.orders
		})
	}
	t.Logf("%d runs, %d kills, %d orderly shutdowns, %d orders of a person", sum.runs, sum.kills, sum.shutdowns, sum.orders)
}

// job is a node as the storm knows it.
type job struct {
	name   string
	deps   []int
	exit   int
	all    bool // when: all_done
	verify bool
	forced bool // a person called it done
	free   bool // what a person ordered leaves its end open
}

// world is one project with one run in it.
type world struct {
	t        *testing.T
	r        *rand.Rand
	headless bool
	base     string
	root     string
	ledger   string
	id       string // in the environment of all that came of it
	env      []string
	jobs     []job
	sum      tally
	story    []string
	runner   *exec.Cmd // headless: who started or resumed it
	waited   chan struct{}
}

func newWorld(t *testing.T, seed uint64, headless bool) *world {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 77)), headless: headless, base: base, root: filepath.Join(base, "project"), ledger: filepath.Join(base, "ledger")}
	w.id = fmt.Sprintf("storm-%d-%d-%v", os.Getpid(), seed, headless)
	w.env = []string{
		"STORM=" + w.id, "STORM_LEDGER=" + w.ledger, "CMUX_TMUX_SOCKET=" + w.id, "HOME=" + filepath.Join(base, "home"),
		"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com",
	}
	for _, dir := range []string{w.root, w.ledger, filepath.Join(base, "home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		w.endAll()
		if t.Failed() {
			t.Logf("what happened:\n  %s", strings.Join(w.story, "\n  "))
			out, _ := w.run("agents", "status")
			t.Logf("status:\n%s", out)
			for _, name := range []string{"records.jsonl", "runner.log"} {
				found, _ := filepath.Glob(filepath.Join(w.root, ".cmux/runs/*", name))
				for _, path := range found {
					b, _ := os.ReadFile(path)
					t.Logf("%s:\n%s", name, b)
				}
			}
		}
	})
	w.git("init", "-q", "-b", "main")
	w.draw()
	w.write(".cmux-agents.yml", w.config())
	w.write("README", "hello\n")
	w.git("add", ".")
	w.git("commit", "-q", "-m", "base")
	return w
}

// draw makes the graph.
func (w *world) draw() {
	n := 3 + w.r.IntN(5)
	for i := range n {
		j := job{name: fmt.Sprintf("n%d", i), all: w.r.IntN(8) == 0, verify: w.r.IntN(3) == 0}
		for d := range i {
			if w.r.IntN(3) == 0 {
				j.deps = append(j.deps, d)
			}
		}
		if w.r.IntN(5) == 0 {
			j.exit = 7
		}
		w.jobs = append(w.jobs, j)
	}
}

func (w *world) config() string {
	var b strings.Builder
	fmt.Fprintf(&b, "session: %s\nmax_parallel: %d\ndefaults: {agent: command}\nagents:\n", w.id, 1+w.r.IntN(4))
	for i := range w.jobs {
		j := &w.jobs[i]
		fmt.Fprintf(&b, "  - name: %s\n    task: |\n      %s\n", j.name, strings.ReplaceAll(w.script(j), "\n", "\n      "))
		if len(j.deps) > 0 {
			var names []string
			for _, d := range j.deps {
				names = append(names, w.jobs[d].name)
			}
			fmt.Fprintf(&b, "    depends_on: [%s]\n", strings.Join(names, ", "))
			if j.all {
				b.WriteString("    when: all_done\n")
			}
		}
		if j.verify {
			fmt.Fprintf(&b, "    verify: [\"test -s %s.txt && sleep 0.0%d\"]\n", j.name, w.r.IntN(10))
		}
	}
	return b.String()
}

// script is a node's work: it writes down that it began and ended, and what it
// did not find of the nodes that it waited for.
func (w *world) script(j *job) string {
	var b strings.Builder
	fmt.Fprintf(&b, "me=$STORM_LEDGER/%s\necho began >> $me\n", j.name)
	if !j.all {
		for _, d := range j.deps {
			fmt.Fprintf(&b, "test -f %[1]s.txt || test -f $STORM_LEDGER/%[1]s.forced || echo missing %[1]s >> $me\n", w.jobs[d].name)
		}
	}
	fmt.Fprintf(&b, "sleep 0.%d%d\necho half > %s.txt\nsleep 0.0%d\necho whole > %[3]s.txt\necho ended >> $me\nexit %[5]d", w.r.IntN(3), w.r.IntN(10), j.name, w.r.IntN(10), j.exit)
	return b.String()
}

func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.root, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// command is one of cmux's. What it says must never be a panic.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = w.root, w.env
	return cmd
}

func (w *world) run(args ...string) (string, error) {
	out, err := w.command(args...).CombinedOutput()
	w.sane(args, string(out))
	return string(out), err
}

func (w *world) sane(args []string, out string) {
	for _, bad := range []string{"panic:", "goroutine ", "SIGSEGV", "nil pointer"} {
		if strings.Contains(out, bad) {
			w.t.Errorf("cmux %v said:\n%s", args, out)
		}
	}
}
