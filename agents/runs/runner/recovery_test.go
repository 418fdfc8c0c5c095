package runner

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
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/until"
	"cmux/dag"
	"cmux/worktree/hint"
)

// carrying is a runner at work beside the test.
type carrying struct {
	*project
	r      *run.Run
	cancel context.CancelFunc
	over   chan struct{}
	state  dag.RunState
	err    error
	said   speech // its log
}

// speech is a buffer that may be read while it is written.
type speech struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *speech) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *speech) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// live starts a runner of r. It is over at the end of the test at the latest.
func (p *project) live(r *run.Run, how string) *carrying {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &carrying{project: p, r: r, cancel: cancel, over: make(chan struct{})}
	go func() {
		defer close(c.over)
		c.state, c.err = Run(ctx, Options{Run: r, How: how, Kinds: p.options().Kinds, Log: log.New(&c.said)})
	}()
	p.t.Cleanup(func() { c.interrupt() })
	return c
}

// interrupt ends the runner as a signal does.
func (c *carrying) interrupt() {
	c.cancel()
	c.wait()
}

func (c *carrying) wait() dag.RunState {
	c.t.Helper()
	select {
	case <-c.over:
	case <-time.After(patience):
		c.t.Fatalf("the runner has not left; labels:\n%s", c.labels(c.r))
	}
	if strings.Contains(c.said.String(), diverged) {
		c.t.Errorf("%s:\n%s", diverged, c.said.String())
	}
	return c.state
}

// until waits for a fact.
func (p *project) until(what string, holds func() bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !until.True(ctx, holds) {
		p.t.Fatalf("waited for: %s", what)
	}
}

// becomes waits until the nodes have these labels, "name: label" by line.
func (p *project) becomes(r *run.Run, want string) {
	p.t.Helper()
	want = strings.TrimSpace(want) + "\n"
	got := ""
	defer func() {
		if p.t.Failed() {
			p.t.Logf("labels:\n%srecords:\n%s", got, p.records(r))
		}
	}()
	p.until("labels\n"+want, func() bool { got = p.labels(r); return got == want })
}

func (p *project) records(r *run.Run) string {
	b, _ := os.ReadFile(r.Records())
	return string(b)
}

func (p *project) markerPath(node string) string {
	return filepath.Join(p.root, ".cmux/signals", node+".done")
}

// touch does what touch(1) does, at once and at a later moment than the file's.
func (p *project) touch(node string) {
	p.t.Helper()
	f, err := os.OpenFile(p.markerPath(node), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := errors.Join(f.Close(), os.Chtimes(p.markerPath(node), time.Time{}, time.Now().Add(time.Millisecond))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) remove(path string) {
	p.t.Helper()
	// A live runner makes the folder again while it goes.
	p.until("the removal of "+path, func() bool { return os.RemoveAll(path) == nil })
}

// has waits until a marker holds text.
func (p *project) has(node, text string) {
	p.t.Helper()
	p.until(fmt.Sprintf("%s.done to hold %q, not %q", node, text, p.marker(node)), func() bool { return p.marker(node) == text })
}

// count is how many records satisfy is.
func (p *project) count(r *run.Run, is func(*run.Record) bool) int {
	p.t.Helper()
	n := 0
	if _, err := r.Replay(run.NewHistory(r.Plan.Graph), 0, func(rec *run.Record) {
		if is(rec) {
			n++
		}
	}); err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *project) starts(r *run.Run, node string) int {
	return p.count(r, func(rec *run.Record) bool { return rec.Type == run.Started && rec.Node == node })
}

func (p *project) ask(r *run.Run, q run.Request) run.Request {
	p.t.Helper()
	q, err := r.Ask(q)
	if err != nil {
		p.t.Fatal(err)
	}
	return q
}

// A gate that nobody opens keeps a run alive.
const failing = `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: hold, role: gate}
  - {name: a, task: "exit 1"}
  - {name: b, task: "true", depends_on: a}
  - {name: c, task: "true", depends_on: b}
  - {name: d, task: "true"}
`

const failed = `
hold: needs input
a: failed (exit 1)
b: blocked (a failed)
c: blocked (b blocked)
d: done`

func TestTouchOnAnExistingMarker(t *testing.T) {
	for _, tt := range []struct{ touch, want string }{
		{"a", "hold: needs input\na: done (override)\nb: done\nc: done\nd: done"},
		{"b", "hold: needs input\na: failed (exit 1)\nb: done (override)\nc: done\nd: done"},
		{"d", failed},
	} {
		for _, live := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s live=%v", tt.touch, live), func(t *testing.T) {
				p := newProject(t, failing)
				r := p.create()
				c := p.live(r, HowStart)
				p.becomes(r, failed)
				for node, marker := range map[string]string{"a": "1", "b": "99", "c": "99", "d": "0"} {
					p.has(node, marker) // it follows its record
				}
				if !live {
					c.interrupt()
				}
				p.touch(tt.touch)
				if !live {
					if tt.touch != "d" {
						v, err := r.View(t.Context(), time.Now())
						if err != nil {
							t.Fatal(err)
						}
						if l := v.Nodes[r.Plan.Graph.Index(tt.touch)].Status.Label.String(); l != "done (override)" {
							t.Errorf("without a runner status says %q", l)
						}
					}
					c = p.live(r, HowResume)
				}
				p.becomes(r, tt.want)
				if tt.touch != "d" {
					p.has(tt.touch, "")
				} else {
					p.has("d", "0")
				}
				if tt.touch == "a" { // the withdrawn 99s are in nobody's way
					p.has("b", "0")
					p.has("c", "0")
				}
				p.touch("hold")
				if s := c.wait(); s != dag.RunDone && s != dag.RunFailed {
					t.Errorf("state %s, %v", s, c.err)
				}
			})
		}
	}
}

func TestWithdrawn99sLeaveNoMarker(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "exit 1"}
  - {name: hold, role: gate}
  - {name: b, task: "true", depends_on: [a, hold]}
  - {name: c, task: "true", depends_on: b}
`)
	p.write(DefaultConfig, strings.Replace(`
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "exit 1"}
  - {name: b, task: "exec sleep 600", depends_on: a}
  - {name: c, task: "true", depends_on: b}
  - {name: hold, role: gate}
`, "\n", "", 1))
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "a: failed (exit 1)\nb: blocked (a failed)\nc: blocked (b blocked)\nhold: needs input")
	p.has("c", "99")
	p.ask(r, run.Request{Op: run.OpOverride, Node: "a"})
	p.becomes(r, "a: done (override)\nb: running\nc: waiting\nhold: needs input")
	p.has("b", "none")
	p.has("c", "none")
	c.interrupt()
}

func TestRemovedMarkers(t *testing.T) {
	for _, live := range []bool{true, false} {
		t.Run(fmt.Sprintf("live=%v", live), func(t *testing.T) {
			p := newProject(t, failing)
			r := p.create()
			c := p.live(r, HowStart)
			p.becomes(r, failed)
			p.has("c", "99")
			pause := func(f func()) {
				if !live {
					c.interrupt()
				}
				f()
				if !live {
					c = p.live(r, HowResume)
				}
			}
			// A failed one: retry.
			pause(func() { p.remove(p.markerPath("a")) })
			p.until("a second attempt of a", func() bool { return p.starts(r, "a") == 2 })
			p.becomes(r, failed)
			p.has("a", "1")
			// A done one and a derived one: put back.
			pause(func() { p.remove(p.markerPath("d")); p.remove(p.markerPath("c")) })
			p.has("d", "0")
			p.has("c", "99")
			// The whole directory: all put back, nothing rerun.
			pause(func() { p.remove(filepath.Join(p.root, ".cmux/signals")) })
			for node, text := range map[string]string{"a": "1", "b": "99", "c": "99", "d": "0"} {
				p.has(node, text)
			}
			// What git clean takes away.
			pause(func() { p.git("clean", "-fdxq") })
			for node, text := range map[string]string{"a": "1", "b": "99", "c": "99", "d": "0"} {
				p.has(node, text)
			}
			p.becomes(r, failed)
			if a, d := p.starts(r, "a"), p.starts(r, "d"); a != 2 || d != 1 {
				t.Errorf("a was started %d times, want 2, d %d times, want 1", a, d)
			}
			c.interrupt()
		})
	}
}

func TestForeignAndBadMarkers(t *testing.T) {
	p := newProject(t, failing)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, failed)
	p.write(".cmux/signals/stranger.done", "0\n")
	// Each in one go, and the next when the last one is recorded.
	says := 0
	write := func(text string) {
		says++
		p.write("word", text)
		if err := os.Rename(filepath.Join(p.root, "word"), p.markerPath("d")); err != nil {
			t.Fatal(err)
		}
		p.until("the record of "+text, func() bool {
			return p.count(r, func(rec *run.Record) bool { return rec.Type == run.Overridden && rec.Node == "d" }) >= says
		})
	}
	write("fine\n")
	p.becomes(r, strings.Replace(failed, "d: done", "d: failed (bad marker)", 1))
	write("7\n")
	p.becomes(r, strings.Replace(failed, "d: done", "d: failed (by hand)", 1))
	write(" 0\r\n")
	p.becomes(r, strings.Replace(failed, "d: done", "d: done (override)", 1))
	c.interrupt()
	if p.marker("stranger") != "0" {
		t.Error("a file of no node was taken away")
	}
}

func TestOverrideOfARunningNode(t *testing.T) {
	for _, exit := range []string{"0", "3"} {
		t.Run("exit "+exit, func(t *testing.T) {
			p := newProject(t, `
session: s
defaults: {agent: command}
agents:
  - {name: a, retries: 2, task: "echo one > f; git add f; git commit -qm one; echo two > g; while ! test -e $CMUX_RUN_DIR/go; do sleep 0.1; done; exit EXIT"}
  - {name: b, depends_on: a, task: "cat f; test ! -e g"}
  - {name: hold, role: gate}
`)
			p.write(DefaultConfig, strings.ReplaceAll(read(t, filepath.Join(p.root, DefaultConfig)), "EXIT", exit))
			r := p.create()
			c := p.live(r, HowStart)
			p.until("its first commit", func() bool {
				cmd := exec.Command("git", "log", "-1", "--format=%s", "s/a") // fails until the branch is made
				cmd.Dir = p.root
				out, _ := cmd.Output()
				return string(out) == "one\n"
			})
			p.touch("a")
			p.becomes(r, "a: done (override), still open\nb: done\nhold: needs input")
			if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			p.becomes(r, "a: done (override)\nb: done\nhold: needs input")
			if p.marker("a") != "" || p.starts(r, "a") != 1 {
				t.Errorf("the later end changed something: marker %q, %d attempts", p.marker("a"), p.starts(r, "a"))
			}
			if n := p.count(r, func(rec *run.Record) bool { return rec.Type == run.AttemptEnd && rec.Node == "a" }); n != 1 {
				t.Errorf("%d records of the end of a, want 1", n)
			}
			c.interrupt()
		})
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOverrideOfAWaitingNode(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, role: gate}
  - {name: b, task: "exit 9", depends_on: a}
  - {name: c, task: "true", depends_on: b}
`)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "a: needs input\nb: waiting\nc: waiting")
	p.touch("b")
	p.becomes(r, "a: needs input\nb: done (override)\nc: done")
	p.touch("a")
	if c.wait() != dag.RunDone || p.starts(r, "b") != 0 {
		t.Errorf("state %s, %d starts of b", c.state, p.starts(r, "b"))
	}
}

// An override and the node's own end come at the same moment, in either order:
// the node is a success, once, and what depends on it runs once.
func TestOverrideRacesTheEnd(t *testing.T) {
	for i := range 20 {
		p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: 'sleep 0.0`+fmt.Sprint(i%10)+`; exit `+fmt.Sprint(i%2)+`'}
  - {name: b, task: "true", depends_on: a}
`)
		r := p.create()
		c := p.live(r, HowStart)
		p.until("a to start", func() bool { return p.starts(r, "a") == 1 })
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // any moment will do
		p.touch("a")
		c.wait()
		if i%2 == 0 && c.state != dag.RunDone {
			t.Errorf("%d: state %s: %s", i, c.state, p.labels(r))
		}
		if p.count(r, func(rec *run.Record) bool { return rec.Type == run.RunEnded }) > 0 && c.state == dag.RunFailed {
			// Only a touch that found the node's own marker in place may have come
			// after the runner had left.
			if p.count(r, func(rec *run.Record) bool { return rec.Type == run.Published && rec.Node == "a" }) == 0 {
				t.Errorf("%d: the touch came before the end and is forgotten:\n%s", i, p.records(r))
			}
			continue
		}
		if l := p.labels(r); !strings.HasPrefix(l, "a: done") || !strings.HasSuffix(l, "b: done\n") || p.starts(r, "b") != 1 {
			t.Errorf("%d: %s\n%s", i, l, p.records(r))
		}
	}
}

// A power cut takes what was not synced: markers, and records after the end.
func TestRecordWithoutMarker(t *testing.T) {
	p := newProject(t, failing)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, failed)
	p.has("c", "99")
	c.interrupt()
	lines := strings.SplitAfter(p.records(r), "\n")
	last := 0
	for i, l := range lines {
		if strings.Contains(l, `"t":"ended"`) {
			last = i
		}
	}
	// The code of a line covers its place, so the remaining lines are rewritten.
	var kept []run.Record
	for _, l := range lines[:last+1] {
		if rec, err := run.ParseRecord([]byte(l)); err == nil && rec.Type != run.Published {
			kept = append(kept, *rec)
		}
	}
	if err := os.Truncate(r.Records(), 0); err != nil {
		t.Fatal(err)
	}
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(book.Append(t.Context(), kept...), book.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.Records(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"t":"published","at":"2026-01-0`); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for _, node := range []string{"a", "b", "c", "d"} {
		p.remove(p.markerPath(node))
	}
	c = p.live(r, HowResume)
	p.becomes(r, failed)
	for node, text := range map[string]string{"a": "1", "b": "99", "c": "99", "d": "0"} {
		p.has(node, text)
	}
	if a, d := p.starts(r, "a"), p.starts(r, "d"); a != 1 || d != 1 {
		t.Errorf("a was started %d times, d %d times, want 1 and 1", a, d)
	}
	c.interrupt()
}

func TestInterruptedIsStoppedUntilResume(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "echo x >> $CMUX_RUN_DIR/ran; while ! test -e $CMUX_RUN_DIR/go; do sleep 0.1; done"}
  - {name: b, task: "true", depends_on: a}
`)
	r := p.create()
	how := HowStart
	for range dag.MaxLosses + 2 { // a person who interrupts loses nothing, however often
		c := p.live(r, how)
		p.becomes(r, "a: running\nb: waiting")
		c.interrupt()
		if c.state != dag.RunStopped {
			t.Fatalf("state %s, %v", c.state, c.err)
		}
		p.want(r, "a: stopped\nb: waiting")
		if p.marker("a") != "none" {
			t.Errorf("an interruption left the marker %q", p.marker("a"))
		}
		how = HowResume
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.carry(r)
	p.want(r, "a: done\nb: done")
}

func TestStopAndRequestsWithoutARunner(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "exec sleep 600"}
  - {name: b, task: "true", depends_on: a}
  - {name: g, role: gate}
  - {name: after, task: "echo x >> $CMUX_RUN_DIR/times", depends_on: g}
`)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "a: running\nb: waiting\ng: needs input\nafter: waiting")
	if err := Stop(t.Context(), r); err == nil {
		t.Fatal("Stop took a run from its live runner")
	}
	p.ask(r, run.Request{Op: run.OpStop})
	if c.wait() != dag.RunStopped {
		t.Fatalf("state %s, %v", c.state, c.err)
	}
	v, err := r.View(t.Context(), time.Now())
	if err != nil || v.RunState != dag.RunStopped {
		t.Errorf("the run is %s, %v", v.RunState, err)
	}
	// Left without a runner, carried out at resume, once.
	p.ask(r, run.Request{Op: run.OpStop, Node: "b"})
	q := p.ask(r, run.Request{Op: run.OpApprove, Node: "g"})
	p.ask(r, run.Request{Op: run.OpApprove, Node: "nobody"})
	c = p.live(r, HowResume)
	p.becomes(r, "a: running\nb: failed (cancelled)\ng: done\nafter: done")
	p.has("b", "130")
	c.interrupt()
	c = p.live(r, HowResume)
	p.becomes(r, "a: running\nb: failed (cancelled)\ng: done\nafter: done")
	if n := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Requested && rec.Request == q.ID }); n != 1 {
		t.Errorf("the request was answered %d times", n)
	}
	p.ask(r, run.Request{Op: run.OpStop, Node: "a"})
	if c.wait() != dag.RunFailed {
		t.Errorf("state %s, %v", c.state, c.err)
	}
	p.want(r, "a: failed (cancelled)\nb: failed (cancelled)\ng: done\nafter: done")
	p.has("a", "130")
	if got := read(t, filepath.Join(r.Dir, "times")); got != "x\n" {
		t.Errorf("after ran %d times", len(got)/2)
	}
	// Retry after the end.
	p.ask(r, run.Request{Op: run.OpRetry, Node: "b"})
	if s := p.carry2(r); s != dag.RunFailed {
		t.Errorf("state %s", s)
	}
	p.want(r, "a: failed (cancelled)\nb: blocked (a cancelled)\ng: done\nafter: done")
	p.has("b", "99")
}

// carry2 resumes r, with the environment that resume freezes, to its end.
func (p *project) carry2(r *run.Run) dag.RunState {
	p.t.Helper()
	if err := r.WriteEnv(os.Environ()); err != nil {
		p.t.Fatal(err)
	}
	return p.live(r, HowResume).wait()
}

func TestStartBesideARun(t *testing.T) {
	p := newProject(t, failing)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, failed)
	_, err := Plan(t.Context(), p.options())
	var try *hint.Error
	if !errors.Is(err, ErrRunning) || !errors.As(err, &try) || !strings.Contains(try.Try, "attach") {
		t.Errorf("a second start: %v", err)
	}
	// The frozen plan stands.
	p.write(DefaultConfig, "session: s\nagents:\n  - {name: d, agent: command, role: review, task: 'false'}\n")
	p.touch("a")
	p.becomes(r, "hold: needs input\na: done (override)\nb: done\nc: done\nd: done")
	if v, err := r.View(t.Context(), time.Now()); err != nil || !v.ConfigChanged {
		t.Errorf("an edited configuration is not noticed: %v", err)
	}
	c.interrupt()
	l, err := Plan(t.Context(), p.options())
	if err != nil || l.Unfinished == nil || l.Unfinished.Plan.ID != r.Plan.ID {
		t.Fatalf("start on an unfinished run: %+v, %v", l, err)
	}
	again := p.create(func(o *StartOptions) { o.New = true })
	if again.Plan.ID == r.Plan.ID {
		t.Fatal("start --new took the old run up")
	}
	if over, err := r.Over(); err != nil || !over {
		t.Errorf("the old run is not over: %v", err)
	}
	p.carry(again)
	p.want(again, "d: failed (exit 1)")
	if p.marker("a") != "none" {
		t.Errorf("the old run's marker of a stands: %q", p.marker("a"))
	}
}

// A retry whose tree holds unfinished work goes on there, although by now more
// of its dependencies have ended.
func TestRetryGoesOnAlthoughMoreCameIn(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command}
agents:
  - {name: g, role: gate}
  - {name: x, task: "echo x > x.txt"}
  - {name: y, task: "echo y > y.txt", depends_on: g}
  - name: z
    depends_on: [x, y]
    when: one_success
    scope: [z.txt]
    retries: {max: 1, backoff: 1h}
    task: 'if test -e z.txt; then echo more >> z.txt; exit 0; fi; echo z > z.txt; exit 4'
`)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "g: needs input\nx: done\ny: waiting\nz: ready")
	p.touch("g")
	p.becomes(r, "g: done (override)\nx: done\ny: done\nz: ready")
	c.interrupt()
	// The backoff is over.
	records := p.records(r)
	if !strings.Contains(records, `"retry":true`) {
		t.Fatal(records)
	}
	r.Plan.Graph.Nodes[r.Plan.Graph.Index("z")].Retries.Backoff = 0
	if s := p.live(r, HowResume).wait(); s != dag.RunDone {
		t.Errorf("state %s:\n%s", s, p.labels(r))
	}
	if got := p.git("show", "s/z:z.txt"); got != "z\nmore" {
		t.Errorf("z holds %q", got)
	}
}

// The runner killed between the record of a stop and its leaving is respawned
// by tmux, and finishes the stop instead of taking it back.
func TestRespawnFinishesAStop(t *testing.T) {
	p := newProject(t, failing)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, failed)
	c.interrupt()
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(book.Append(t.Context(),
		run.Record{Type: run.RunnerUp, How: HowResume, Launch: "one"},
		run.Record{Type: run.Resumed},
		run.Record{Type: run.Stopped}), book.Close()); err != nil {
		t.Fatal(err)
	}
	carry := func(launch string) dag.RunState {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		state, err := Run(ctx, Options{Run: r, How: HowResume, Kinds: p.options().Kinds, Launch: launch})
		if err != nil {
			t.Fatal(err)
		}
		if ctx.Err() != nil && launch == "one" {
			t.Error("the respawned runner stayed")
		}
		return state
	}
	if s := carry("one"); s != dag.RunStopped {
		t.Errorf("respawned: %s", s)
	}
	resumed := func(rec *run.Record) bool { return rec.Type == run.Resumed }
	if n := p.count(r, resumed); n != 1 {
		t.Errorf("resumed %d times, want 1", n)
	}
	carry("two") // a person's resume
	if n := p.count(r, resumed); n != 2 {
		t.Errorf("resumed %d times, want 2", n)
	}
}

// What a runner knows step by step is what its records say, whatever happened.
func TestReplayEqualsTheRunner(t *testing.T) {
	p := newProject(t, failing)
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, failed)
	p.ask(r, run.Request{Op: run.OpRetry, Node: "a"})
	p.until("a second attempt", func() bool { return p.starts(r, "a") == 2 })
	p.touch("b")
	p.touch("hold")
	c.wait() // holds the two against each other
	p.want(r, "hold: done (override)\na: failed (exit 1)\nb: done (override)\nc: done\nd: done")
	if c.err != nil || slices.Contains([]dag.RunState{"", dag.RunStopped}, c.state) {
		t.Errorf("%s, %v", c.state, c.err)
	}
}
