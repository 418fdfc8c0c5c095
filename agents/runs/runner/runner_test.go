package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// project is a scratch repository with a configuration.
type project struct {
	t    testing.TB
	root string
}

func newProject(t testing.TB, config string) *project {
	t.Helper()
	dir := t.TempDir()
	p := &project{t, filepath.Join(dir, "repo")}
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_SYSTEM", "/dev/null")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@localhost")
	}
	if err := os.MkdirAll(p.root, 0o755); err != nil {
		t.Fatal(err)
	}
	p.git("init", "-q", "-b", "main")
	p.write("README", "hello\n")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "first")
	p.write(DefaultConfig, config)
	return p
}

func (p *project) write(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) options() StartOptions {
	return StartOptions{
		Root: p.root, Headless: true, Binary: "/bin/true", Env: os.Environ(),
		Kinds: agent.NewKinds(command.Kind()),
	}
}

// create makes a run of the project's configuration.
func (p *project) create(change ...func(*StartOptions)) *run.Run {
	p.t.Helper()
	o := p.options()
	for _, c := range change {
		c(&o)
	}
	l, err := Plan(p.t.Context(), o)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := l.Create(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// carry runs r to its end, headless.
func (p *project) carry(r *run.Run) dag.RunState {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	state, err := Run(ctx, Options{Run: r, How: HowStart, Kinds: p.options().Kinds})
	if err != nil {
		p.t.Fatal(err)
	}
	return state
}

// labels is "name: label" for every node, sorted as configured.
func (p *project) labels(r *run.Run) string {
	p.t.Helper()
	v, err := r.View(p.t.Context(), time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	var b strings.Builder
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "%s: %s\n", n.Spec.Name, n.Status.Label)
	}
	return b.String()
}

func (p *project) marker(name string) string {
	b, err := os.ReadFile(filepath.Join(p.root, ".cmux/signals", name+".done"))
	if errors.Is(err, os.ErrNotExist) {
		return "none"
	}
	return strings.TrimSpace(string(b))
}

func (p *project) want(r *run.Run, want string) {
	p.t.Helper()
	want = strings.TrimSpace(want) + "\n"
	if got := p.labels(r); got != want {
		records, _ := os.ReadFile(r.Records())
		p.t.Errorf("labels:\n%swant:\n%srecords:\n%s", got, want, records)
	}
}

func TestChainOfTwo(t *testing.T) {
	p := newProject(t, `
session: two
defaults: {agent: command}
agents:
  - {name: a, task: "echo one > a.txt"}
  - {name: b, task: "test -f a.txt && echo two > b.txt", depends_on: a}
`)
	r := p.create()
	if s := p.carry(r); s != dag.RunDone {
		t.Errorf("state %s", s)
	}
	p.want(r, "a: done\nb: done")
	if got := p.git("show", "two/b:a.txt", "two/b:b.txt"); got != "one\ntwo" {
		t.Errorf("branch of b holds %q", got)
	}
	if p.marker("a") != "0" || p.marker("b") != "0" {
		t.Errorf("markers %s %s", p.marker("a"), p.marker("b"))
	}
}

func TestFailureBlocksExactlyWhatDependsOnIt(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: bad, task: "exit 7"}
  - {name: good, task: "true"}
  - {name: behind, task: "true", depends_on: [bad, good]}
  - {name: far, task: "true", depends_on: behind}
  - {name: anyway, task: "true", depends_on: [bad, good], when: all_done}
  - {name: one, task: "true", depends_on: [bad, good], when: one_success}
`)
	r := p.create()
	if s := p.carry(r); s != dag.RunFailed {
		t.Errorf("state %s", s)
	}
	p.want(r, `
bad: failed (exit 7)
good: done
behind: blocked (bad failed)
far: blocked (behind blocked)
anyway: done
one: done`)
	for name, want := range map[string]string{"bad": "7", "behind": "99", "far": "99", "good": "0"} {
		if got := p.marker(name); got != want {
			t.Errorf("%s.done holds %s, want %s", name, got, want)
		}
	}
}

func TestRetriesThenSucceeds(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: flaky, task: 'n=$(cat "$CMUX_RUN_DIR/n" 2>/dev/null || echo 0); echo $((n+1)) > "$CMUX_RUN_DIR/n"; test $n -ge 2', retries: 2}
  - {name: after, task: "true", depends_on: flaky}
`)
	r := p.create()
	if s := p.carry(r); s != dag.RunDone {
		t.Errorf("state %s", s)
	}
	p.want(r, "flaky: done\nafter: done")
	v, _ := r.View(t.Context(), time.Now())
	if got := len(v.Nodes[0].Attempts); got != 3 {
		t.Errorf("%d attempts, want 3", got)
	}
}

func TestDiamondGivesOneMergeCommit(t *testing.T) {
	p := newProject(t, `
session: d
defaults: {agent: command}
agents:
  - {name: base, task: "echo b > base.txt"}
  - {name: left, task: "echo l > left.txt", depends_on: base}
  - {name: right, task: "echo r > right.txt", depends_on: base}
  - {name: join, task: "cat base.txt left.txt right.txt > all.txt", depends_on: [left, right]}
  - {name: look, role: review, task: 'git show "$CMUX_HEAD:left.txt" "$CMUX_HEAD:right.txt"', depends_on: [left, right]}
`)
	r := p.create()
	p.carry(r)
	p.want(r, "base: done\nleft: done\nright: done\njoin: done\nlook: done")
	if got := p.git("show", "d/join:all.txt"); got != "b\nl\nr" {
		t.Errorf("join holds %q", got)
	}
	if got := p.git("rev-list", "--count", "--merges", "main..d/join"); got != "1" {
		t.Errorf("%s merge commits, want 1", got)
	}
}

func TestConflictNamesFilesBeforeAnyAgentStarts(t *testing.T) {
	p := newProject(t, `
session: c
defaults: {agent: command}
agents:
  - {name: x, task: "echo x > README"}
  - {name: y, task: "echo y > README"}
  - {name: z, task: "echo started > started.txt", depends_on: [x, y], retries: 3}
`)
	r := p.create()
	p.carry(r)
	p.want(r, "x: done\ny: done\nz: failed (conflict)")
	v, _ := r.View(t.Context(), time.Now())
	if d := v.Nodes[2].Fact.Detail; !strings.Contains(d, "README") {
		t.Errorf("detail %q names no file", d)
	}
	if p.marker("z") != "1" {
		t.Errorf("z.done holds %s", p.marker("z"))
	}
}

func TestStartAgainBeginsAnew(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "test -f go"}
  - {name: b, task: "true", depends_on: a}
`)
	r := p.create()
	p.carry(r)
	p.want(r, "a: failed (exit 1)\nb: blocked (a failed)")
	p.write("go", "")
	again := p.create()
	if again.Plan.ID == r.Plan.ID {
		t.Fatal("a finished run was taken up again")
	}
	p.carry(again)
	p.want(again, "a: done\nb: done")
}

func TestPresetMarkerIsAnOverride(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "exit 1"}
  - {name: b, task: "true", depends_on: a}
`)
	if err := os.MkdirAll(filepath.Join(p.root, ".cmux/signals"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write(".cmux/signals/a.done", "")
	l, err := Plan(t.Context(), p.options())
	if err != nil {
		t.Fatal(err)
	}
	if l.Rows[0].Preset.String() != "done (override)" {
		t.Errorf("row says %q", l.Rows[0].Preset)
	}
	r := p.create()
	p.carry(r)
	p.want(r, "a: done (override)\nb: done")
}

// A marker of an ended run that a person touches counts at the next start as
// any other marker of theirs; what the run left, or was touched while it went,
// does not.
func TestTouchAfterTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		during bool // touched while the run went
		node   string
		preset string
		then   string
	}{
		{"a gate that a touch opened", false, "ok", "done (override)", "ok: done (override)\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: needs input"},
		{"a gate that was approved", false, "hold", "done (override)", "ok: needs input\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: done (override)"},
		{"a done node", false, "a", "done (override)", "ok: needs input\na: done (override)\nb: failed (exit 1)\nc: blocked (b failed)\nhold: needs input"},
		{"a failed node", false, "b", "done (override)", "ok: needs input\na: done\nb: done (override)\nc: done\nhold: needs input"},
		{"a blocked node", false, "c", "done (override)", "ok: needs input\na: done\nb: failed (exit 1)\nc: done (override)\nhold: needs input"},
		{"a gate while the run went", true, "ok", "", "ok: needs input\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: needs input"},
		{"a done node while the run went", true, "a", "", "ok: needs input\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: needs input"},
		{"nothing", false, "", "", "ok: needs input\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: needs input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: ok, role: gate}
  - {name: a, task: "true"}
  - {name: b, task: "exit 1"}
  - {name: c, task: "true", depends_on: b}
  - {name: hold, role: gate}
`)
			r := p.create()
			c := p.live(r, HowStart)
			p.becomes(r, "ok: needs input\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: needs input")
			p.touch("ok")
			p.until("it counts", func() bool {
				return p.count(r, func(rec *run.Record) bool { return rec.Type == run.Overridden && rec.Node == "ok" }) == 1
			})
			if tt.during {
				published := func() int {
					return p.count(r, func(rec *run.Record) bool { return rec.Type == run.Published && rec.Node == tt.node })
				}
				was := published()
				p.touch(tt.node)
				p.until("it is seen", func() bool { return published() > was })
			}
			p.ask(r, run.Request{Op: run.OpApprove, Node: "hold"})
			c.wait()
			const ended = "ok: done (override)\na: done\nb: failed (exit 1)\nc: blocked (b failed)\nhold: done"
			p.want(r, ended)
			if tt.node != "" && !tt.during {
				p.touch(tt.node)
			}
			l, err := Plan(t.Context(), p.options())
			if err != nil {
				t.Fatal(err)
			}
			for i := range l.Rows {
				if want := map[bool]string{true: tt.preset}[l.Graph.Nodes[i].Name == tt.node]; l.Rows[i].Preset.String() != want {
					t.Errorf("row of %s says %q, want %q", l.Graph.Nodes[i].Name, l.Rows[i].Preset, want)
				}
			}
			again := p.create()
			p.live(again, HowStart)
			p.becomes(again, tt.then)
		})
	}
}

func TestTaskArrivesByteForByte(t *testing.T) {
	var b bytes.Buffer
	for b.Len() < 200_000 {
		b.WriteString("'\"`$(false) \\ \n\t*~ 🙂 é #{x} ;\n")
	}
	p := newProject(t, "session: s\nagents:\n  - {name: a, agent: command, role: review, task_file: task.sh}\n")
	text := "cat > \"$CMUX_RUN_DIR/got\" <<'EOF_TASK'\n" + b.String() + "EOF_TASK\n"
	p.write("task.sh", text)
	r := p.create()
	p.carry(r)
	p.want(r, "a: done")
	got, err := os.ReadFile(filepath.Join(r.Dir, "got"))
	if err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("the task was changed on its way: %d bytes, want %d (%v)", len(got), b.Len(), err)
	}
}
