package dag

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The reference is a second scheduler, written from the design and without regard to speed:
// no counters, no queues; it answers every question by looking at all nodes. It shares no
// code with Step.

type refNode struct {
	state    string // idle, running, paused, queued, or an end: done, override, failed, cancelled
	doing    string // paused: input, limit, other; running: checking, taken over, other
	limitEnd time.Time
	attempts int
	tries    int
	losses   int
	retryAt  time.Time
	lost     bool
	stopped  bool // lost by a person's stop
	held     bool
	open     bool // an attempt goes on beside the slots
	trial    bool // running, to see whether its account works again
	failure  string
	doomed   bool   // to be cancelled
	outputs  string // as they were published, key by key
}

func (n *refNode) vanished() string {
	if n.stopped {
		return "stopped"
	}
	return "lost"
}

type refRun struct {
	g       *Graph
	nodes   []refNode
	limits  map[string]time.Time
	stopped bool
	now     time.Time
}

func newRef(g *Graph, now time.Time) *refRun {
	r := &refRun{g: g, limits: map[string]time.Time{}, now: now}
	for range g.Nodes {
		r.nodes = append(r.nodes, refNode{state: "idle"})
	}
	return r
}

func (r *refRun) deps(i int) (out []int) {
	for _, name := range r.g.Nodes[i].DependsOn {
		out = append(out, slices.IndexFunc(r.g.Nodes, func(n Node) bool { return n.Name == name }))
	}
	for j := range r.g.Nodes {
		if r.g.Nodes[i].Finally && !r.g.Nodes[j].Finally && !slices.Contains(out, j) {
			out = append(out, j)
		}
	}
	return out
}

func refEnd(state string) bool {
	return state == "done" || state == "override" || state == "failed" || state == "cancelled"
}

func refSuccess(state string) bool { return state == "done" || state == "override" }

// refIf are the forms of if: that drawGraph draws, split into parts.
var refIf = regexp.MustCompile(`^needs\.([a-z])\.(result|outputs\.a) (==|!=) '([a-z]*)'$`)

// refWants evaluates the if: of node i.
func (r *refRun) refWants(i int, v []string) bool {
	text := r.g.Nodes[i].If
	switch text {
	case "":
		return true
	case "false", "success()", "failure()":
		for _, d := range r.deps(i) {
			word := r.result(d, v)
			if text == "failure()" && (word == "failed" || word == "cancelled" || word == "blocked") {
				return true
			}
			if text == "success()" && word != "done" && word != "skipped" {
				return false
			}
		}
		return text == "success()"
	}
	m := refIf.FindStringSubmatch(text)
	d := slices.IndexFunc(r.g.Nodes, func(n Node) bool { return n.Name == m[1] })
	have := r.result(d, v)
	if m[2] != "result" {
		have = ""
		if r.result(d, v) == "done" {
			for line := range strings.Lines(r.nodes[d].outputs) {
				if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "a="); ok {
					have = value
				}
			}
		}
	}
	return (have == m[4]) == (m[3] == "==")
}

// result is how node i has ended, empty while it has not.
func (r *refRun) result(i int, v []string) string {
	switch state := r.nodes[i].state; {
	case refSuccess(state):
		return "done"
	case refEnd(state):
		return state
	case v[i] == "blocked", v[i] == "skipped":
		return v[i]
	}
	return ""
}

// verdicts returns for every node whether its join and its if: allow it ("go"), refuse it
// ("blocked" or "skipped"), or whether the join is open (""). It works in graph order,
// because each node depends only on earlier ones.
func (r *refRun) verdicts() []string {
	v := make([]string, len(r.nodes))
	for changed := true; changed; {
		changed = false
		for _, i := range r.g.Order() {
			n := &r.nodes[i]
			all, wins, ends, left := len(r.deps(i)), 0, 0, 0
			for _, d := range r.deps(i) {
				if refSuccess(r.nodes[d].state) {
					wins++
				}
				if r.result(d, v) != "" {
					ends++
				}
				if r.result(d, v) == "skipped" {
					left++
				}
			}
			begun := n.tries > 0 || n.losses > 0 || n.lost
			is := ""
			switch {
			case n.state != "idle", n.held, all == 0:
				is = "go"
			case r.g.Nodes[i].When == OneSuccess && wins > 0:
				is = "go"
			case ends < all:
			case r.g.Nodes[i].When == AllDone, r.g.Nodes[i].When == Always, begun:
				is = "go"
			case left == all:
				is = "skipped"
			case r.g.Nodes[i].When == OneSuccess:
				is = "blocked"
			case wins == all:
				is = "go"
			case wins+left == all:
				is = "skipped"
			default:
				is = "blocked"
			}
			if n.state == "idle" && n.doomed {
				is = "go"
			}
			if is == "go" && n.state == "idle" && !n.doomed && !begun && !r.refWants(i, v) {
				is = "skipped"
			}
			if v[i] != is {
				v[i], changed = is, true
			}
		}
	}
	return v
}

func (r *refRun) cause(i int, v []string) int {
	for _, d := range r.deps(i) {
		if word := r.result(d, v); word != "done" && word != "skipped" {
			return d
		}
	}
	return -1
}

func (r *refRun) eligible(i int, v []string) bool {
	n := &r.nodes[i]
	return !n.doomed && n.state == "idle" && v[i] == "go" && r.g.Nodes[i].Role != RoleGate &&
		!n.held && !n.open && !n.retryAt.After(r.now)
}

// limited returns whether the limit of node i's account lasts, and whether one is known
// that may have ended.
func (r *refRun) limited(i int) (lasts, known bool) {
	until, known := r.limits[r.g.Nodes[i].Account]
	return known && (until.IsZero() || until.After(r.now)), known
}

// accountFree returns whether node i's account lets it start or, with goOn, continue.
func (r *refRun) accountFree(i int, goOn bool) bool {
	lasts, known := r.limited(i)
	if !known {
		return true
	}
	for j := range r.nodes {
		if r.g.Nodes[j].Account != r.g.Nodes[i].Account {
			continue
		}
		n := &r.nodes[j]
		if n.trial || !goOn && (n.state == "queued" || n.state == "paused" && n.doing == "limit") {
			return false
		}
	}
	return !lasts
}

func (r *refRun) endTrial(account string) {
	for i := range r.nodes {
		if r.g.Nodes[i].Account == account {
			r.nodes[i].trial = false
		}
	}
}

func (r *refRun) hasRoom(i int) bool {
	total, inPool := 0, 0
	for j := range r.nodes {
		if r.nodes[j].state == "running" {
			total++
			if r.g.Nodes[j].Pool == r.g.Nodes[i].Pool {
				inPool++
			}
		}
	}
	pool := r.g.Nodes[i].Pool
	return total < r.g.MaxParallel && (pool == "" || inPool < r.g.Pools[pool])
}

// schedule starts and grants, one at a time, whatever may go next.
func (r *refRun) schedule() (out []Effect) {
next:
	for !r.stopped {
		v := r.verdicts()
		for _, i := range r.g.Order() {
			if r.nodes[i].state == "queued" && r.accountFree(i, true) && r.hasRoom(i) {
				_, trial := r.limited(i)
				r.nodes[i].state, r.nodes[i].doing, r.nodes[i].trial = "running", "", trial
				out = append(out, Effect{Kind: Grant, Node: i, Attempt: r.nodes[i].attempts, Trial: trial})
				continue next
			}
		}
		for _, i := range r.g.Order() {
			if r.eligible(i, v) && r.accountFree(i, false) && r.hasRoom(i) {
				_, trial := r.limited(i)
				r.begin(i, r.nodes[i].attempts+1)
				r.nodes[i].trial = trial
				out = append(out, Effect{Kind: Start, Node: i, Attempt: r.nodes[i].attempts, Trial: trial})
				continue next
			}
		}
		break
	}
	return out
}

func (r *refRun) begin(i, attempt int) {
	n := &r.nodes[i]
	*n = refNode{state: "running", attempts: attempt, tries: n.tries, losses: n.losses, outputs: n.outputs}
}

func (r *refRun) apply(c Change) {
	switch c.Kind {
	case Tick:
		if c.At.After(r.now) {
			r.now = c.At
		}
		return
	case Stop, Resume:
		r.stopped = c.Kind == Stop
		return
	case AccountFree:
		delete(r.limits, c.Account)
		r.endTrial(c.Account)
		return
	case AccountLimited:
		known := slices.ContainsFunc(r.g.Nodes, func(n Node) bool { return n.Account != "" && n.Account == c.Account })
		if known {
			if was := r.limits[c.Account]; c.Until.IsZero() || c.Until.After(was) {
				r.limits[c.Account] = c.Until
			}
			r.endTrial(c.Account)
		}
		return
	}
	n := &r.nodes[c.Node]
	if was := n.state; r.g.Nodes[c.Node].Matrix != nil {
		defer func() {
			if was == "failed" || n.state != "failed" {
				return
			}
			for j := range r.nodes {
				if j != c.Node && r.g.Nodes[j].Matrix != nil && !refEnd(r.nodes[j].state) {
					r.nodes[j].doomed = true
				}
			}
		}()
	}
	if c.Attempt > 0 && c.Attempt < n.attempts {
		return
	}
	ofAttempt := slices.Contains([]ChangeKind{Began, Active, Wants, Regained, Published, AttemptEnded, Vanished}, c.Kind)
	if ofAttempt && c.Attempt > n.attempts {
		if refEnd(n.state) {
			n.open = true
		} else if n.state == "idle" {
			r.begin(c.Node, c.Attempt)
		}
		n.attempts = c.Attempt
	}
	alive := n.state == "running" || n.state == "paused" || n.state == "queued"
	finish := func(state, failure string) {
		*n = refNode{state: state, failure: failure, attempts: n.attempts, tries: n.tries, losses: n.losses, open: n.open, outputs: n.outputs}
	}
	switch c.Kind {
	case Published:
		if !refEnd(n.state) && !n.open {
			n.outputs = refPublish(n.outputs, c.Output, c.Value)
		}
	case Active:
		if alive {
			n.doing = map[Activity]string{NeedsInput: "input", AtLimit: "limit", Checking: "checking", TakenOver: "taken over"}[c.Activity]
			n.limitEnd = c.Until
			if n.doing == "input" || n.doing == "limit" {
				n.state, n.trial = "paused", false
			}
		}
	case Wants:
		if n.state == "paused" {
			n.state = "queued"
		}
	case Regained:
		if n.state == "paused" || n.state == "queued" {
			n.state, n.doing, n.trial = "running", "", c.Trial
		}
	case AttemptEnded:
		switch {
		case n.open:
			n.open = false
		case c.Outcome == Cancelled && (alive || n.state == "idle"):
			finish("cancelled", "cancelled")
		case c.Outcome == Failed && c.Reason == "budget" && (alive || n.state == "idle"):
			finish("failed", "budget")
			n.tries++
		case c.Outcome == Failed && c.Reason == "lost" && (alive || n.held):
			finish("failed", "lost")
			n.tries++
		case !alive:
		case c.Outcome == Done:
			finish("done", "")
		case c.Reason != "conflict" && c.Reason != "lost" && n.tries < r.g.Nodes[c.Node].Retries.Max:
			tries := n.tries + 1
			doomed := n.doomed
			finish("idle", "")
			n.tries, n.doomed = tries, doomed
			n.retryAt = c.At.Add(time.Duration(r.g.Nodes[c.Node].Retries.Backoff))
		default:
			tries := n.tries + 1
			finish("failed", refFailure(c))
			n.tries = tries
		}
	case Vanished:
		switch {
		case n.open:
			n.open = false
		case alive:
			doomed := n.doomed
			finish("idle", "")
			n.lost, n.stopped, n.doomed = true, r.stopped, doomed
			if !r.stopped {
				n.losses++
				n.held = r.g.Nodes[c.Node].OnLost == Ask || n.losses > 3
			}
		}
	case Overridden:
		switch {
		case c.Outcome == Failed:
			n.open = n.open || alive
			if c.Reason == "" {
				c.Reason = "by hand"
			}
			finish("failed", refFailure(c))
		case refSuccess(n.state):
		case c.Outcome == Done:
			n.open = n.open || alive
			finish("done", "")
		default:
			n.open = n.open || alive
			finish("override", "")
		}
	case Reset:
		if !alive {
			*n = refNode{state: "idle", attempts: n.attempts, open: n.open}
		}
	}
}

// refPublish keeps outputs as lines in the order of their names.
func refPublish(outputs, name, value string) string {
	lines := slices.DeleteFunc(strings.Split(outputs, "\n"), func(l string) bool { return l == "" || strings.HasPrefix(l, name+"=") })
	lines = append(lines, name+"="+value)
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func refFailure(c Change) string {
	if c.Reason != "" {
		return string(c.Reason)
	}
	if c.Exit == 0 {
		c.Exit = 1
	}
	return fmt.Sprint("exit ", c.Exit)
}

func (r *refRun) label(i int, v []string) string {
	n := &r.nodes[i]
	until := func(t time.Time) string {
		if t.IsZero() {
			return "limited"
		}
		return fmt.Sprintf("limited until %02d:%02d", t.Hour(), t.Minute())
	}
	if n.doomed && n.state == "idle" {
		return "waiting"
	}
	switch n.state {
	case "done":
		return "done"
	case "override":
		if n.open {
			return "done (override), still open"
		}
		return "done (override)"
	case "failed", "cancelled":
		return "failed (" + n.failure + ")"
	case "queued":
		if lasts, _ := r.limited(i); lasts {
			return until(r.limits[r.g.Nodes[i].Account])
		}
		return "ready"
	case "running", "paused":
		switch n.doing {
		case "input":
			return "needs input"
		case "limit":
			if lasts, _ := r.limited(i); lasts {
				if at := r.limits[r.g.Nodes[i].Account]; !n.limitEnd.After(at) || at.IsZero() {
					return until(at)
				}
			}
			return until(n.limitEnd)
		case "checking", "taken over":
			return n.doing
		}
		return "running"
	}
	switch v[i] {
	case "blocked":
		c := r.cause(i, v)
		how := r.nodes[c].state
		if how == "idle" {
			how = "blocked"
		}
		return fmt.Sprintf("blocked (%s %s)", r.g.Nodes[c].Name, how)
	case "skipped":
		return "skipped"
	case "":
		if n.lost {
			return n.vanished()
		}
		return "waiting"
	}
	switch {
	case r.g.Nodes[i].Role == RoleGate:
		return "needs input"
	case n.lost:
		return n.vanished()
	}
	if lasts, _ := r.limited(i); lasts && r.eligible(i, v) {
		return until(r.limits[r.g.Nodes[i].Account])
	}
	return "ready"
}

func (r *refRun) run() RunState {
	v := r.verdicts()
	ended, won, moving, byLimit := 0, 0, 0, 0
	for i := range r.nodes {
		n := &r.nodes[i]
		switch {
		case refEnd(n.state):
			ended++
			won += int(btoi(refSuccess(n.state)))
		case n.doomed && n.state == "idle":
			moving++
		case v[i] == "blocked":
			ended++
		case v[i] == "skipped":
			ended++
			won++
		case n.state == "running", n.state == "queued" && r.accountFree(i, true):
			moving++
		case n.state == "queued":
			byLimit++
		case n.state == "paused" && n.doing == "limit":
			byLimit++
		case n.state == "paused" && n.doing != "input":
			moving++
		case n.state == "idle" && v[i] == "go" && (n.open || n.retryAt.After(r.now)):
			moving++
		case r.eligible(i, v) && r.accountFree(i, false):
			moving++
		case r.eligible(i, v):
			byLimit++
		}
	}
	switch {
	case won == len(r.nodes):
		return RunDone
	case ended == len(r.nodes):
		return RunFailed
	case r.stopped:
		return RunStopped
	case moving > 0:
		return RunRunning
	case byLimit > 0:
		return RunLimited
	}
	return RunWaiting
}

func (r *refRun) nextWake() (at time.Time, ok bool) {
	v := r.verdicts()
	see := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		if n.state == "idle" && !n.doomed && v[i] == "go" && !n.open && !n.held && n.retryAt.After(r.now) {
			see(n.retryAt)
		}
	}
	for _, until := range r.limits {
		if until.After(r.now) {
			see(until)
		}
	}
	return at, ok
}

// harness applies the same changes to a State and to the reference, and simulates the
// system: which attempts are alive.
type harness struct {
	t      *rapid.T
	g      *Graph
	s      *State
	ref    *refRun
	alive  map[int]int // node -> its live attempt
	known  []int       // node -> its newest attempt
	before []string    // the reference's verdicts when effects were last told
	causes []int
	newest []Effect // of the newest step
	folded *State   // replayed from what a runner records, which has no clock
}

func newHarness(t *rapid.T, g *Graph, now time.Time) *harness {
	h := &harness{t: t, g: g, ref: newRef(g, now), alive: map[int]int{}, known: make([]int, g.Len()), folded: Rebuild(g, Facts{})}
	h.forget()
	h.s = Rebuild(g, Facts{Nodes: make([]Fact, g.Len()), Now: now})
	h.due()
	return h
}

// forget makes the harness expect every Block and Open again, as after Rebuild.
func (h *harness) forget() {
	h.before = make([]string, h.g.Len())
	h.causes = make([]int, h.g.Len())
}

func (h *harness) step(changes ...Change) {
	h.take(changes...)
	h.due()
}

// take applies changes to the State and to the reference. It does not call due: more
// changes may follow first.
func (h *harness) take(changes ...Change) {
	for i := range changes {
		if changes[i].At.IsZero() {
			changes[i].At = h.ref.now
		}
	}
	h.newest = nil
	for _, c := range changes {
		if h.before[c.Node] == "cancel" && (c.Kind == AttemptEnded || c.Kind == Vanished) {
			h.before[c.Node] = "" // the next attempt of it must be cancelled as well
		}
		h.ref.apply(c)
		if n := &h.ref.nodes[c.Node]; c.Kind == Overridden || c.Kind == Reset && n.state == "idle" {
			h.before[c.Node] = "" // effects emitted before no longer count
		}
		if c.Kind != Tick {
			h.folded.Take(c)
		}
		if c.Kind > Vanished {
			continue
		}
		if c.Attempt > h.known[c.Node] {
			h.known[c.Node], h.alive[c.Node] = c.Attempt, c.Attempt
		}
		if (c.Kind == AttemptEnded || c.Kind == Vanished) && (c.Attempt == 0 || c.Attempt >= h.alive[c.Node]) {
			delete(h.alive, c.Node)
		}
	}
	h.s.Take(changes...)
	h.look()
}

// crash drops the State. Some of the newest Starts were never carried out. Each earlier
// effect either counts as recorded or is emitted again.
func (h *harness) crash(lost []bool, recorded bool) {
	f := h.s.Facts()
	for k, e := range h.newest {
		if e.Kind != Start || !lost[k%len(lost)] {
			continue
		}
		n := &f.Nodes[e.Node]
		*n = Fact{Attempts: n.Attempts - 1, Tries: n.Tries, Losses: n.Losses, Outputs: n.Outputs}
		was := &h.ref.nodes[e.Node]
		*was = refNode{state: "idle", attempts: was.attempts - 1, tries: was.tries, losses: was.losses, outputs: was.outputs}
		h.folded.facts[e.Node] = *n
		delete(h.alive, e.Node)
		h.known[e.Node]--
	}
	h.newest = nil
	h.s = Rebuild(h.g, f)
	h.folded = Rebuild(h.g, h.folded.Facts())
	if !recorded {
		h.forget()
	}
	for i, was := range h.before {
		switch was {
		case "blocked":
			h.s.Recorded(Effect{Kind: Block, Node: i, Cause: h.causes[i]})
		case "cancel":
			h.s.Recorded(Effect{Kind: Cancel, Node: i})
		case "skipped":
			h.s.Recorded(Effect{Kind: Skip, Node: i})
		case "open":
			h.s.Recorded(Effect{Kind: Open, Node: i})
		}
	}
	h.look()
}

// due calls Due and compares the effects with the reference, whatever changes came since
// the last call. It also compares the State with one rebuilt from its facts.
func (h *harness) due() {
	t, g, s, r := h.t, h.g, h.s, h.ref
	t.Helper()
	effects := s.Due()
	h.newest = effects

	// Starting does not change verdicts, so the order does not matter.
	v := r.verdicts()
	var told, want, tail []Effect
	for _, e := range effects {
		if e.Kind == Start || e.Kind == Grant {
			tail = append(tail, e)
		} else {
			told = append(told, e)
		}
		if e.Kind == Start {
			if at, ok := h.alive[e.Node]; ok {
				t.Fatalf("%s: start of attempt %d while attempt %d is alive", g.Nodes[e.Node].Name, e.Attempt, at)
			}
			if v[e.Node] != "go" {
				t.Fatalf("%s: started, but its join says %q", g.Nodes[e.Node].Name, v[e.Node])
			}
			h.alive[e.Node], h.known[e.Node] = e.Attempt, e.Attempt
		}
	}
	for i := range r.nodes {
		now := v[i]
		if now == "go" {
			now = ""
			if r.nodes[i].state == "idle" && g.Nodes[i].Role == RoleGate {
				now = "open"
			}
		}
		if r.nodes[i].doomed {
			now = "cancel"
		}
		cause := -1
		if now == "blocked" {
			cause = r.cause(i, v)
		}
		marked := func(s string) bool { return s == "blocked" || s == "skipped" }
		if marked(h.before[i]) && now != h.before[i] && !refEnd(r.nodes[i].state) && !(now == "blocked" && h.before[i] == "blocked") {
			want = append(want, Effect{Kind: Unblock, Node: i})
		}
		switch {
		case now == "blocked" && (h.before[i] != "blocked" || h.causes[i] != cause):
			want = append(want, Effect{Kind: Block, Node: i, Cause: cause})
		case now == "skipped" && h.before[i] != "skipped":
			want = append(want, Effect{Kind: Skip, Node: i})
		}
		if now == "cancel" && h.before[i] != "cancel" {
			want = append(want, Effect{Kind: Cancel, Node: i})
		}
		if now == "open" && h.before[i] != "open" {
			want = append(want, Effect{Kind: Open, Node: i})
		}
		h.before[i], h.causes[i] = now, cause
	}
	slices.SortStableFunc(told, func(a, b Effect) int { return a.Node - b.Node })
	if !slices.Equal(told, want) {
		t.Fatalf("told %v, want %v", told, want)
	}
	if want := r.schedule(); !slices.Equal(tail, want) {
		t.Fatalf("started %v, want %v", tail, want)
	}

	for _, e := range tail {
		c := Change{Kind: Began, Node: e.Node, Attempt: e.Attempt, At: r.now, Trial: e.Trial}
		if e.Kind == Grant {
			c.Kind = Regained
		}
		h.folded.Take(c)
	}
	// A State folded from records, which has no clock, must end equal after a Tick.
	folded := h.folded.Clone()
	folded.Take(Change{Kind: Tick, At: r.now})
	folded.told, folded.touched = slices.Clone(s.told), nil
	for i, got := range folded.facts {
		want := s.Fact(i) // but for where and when a start became known
		want.StartedAt, want.Source, want.At = got.StartedAt, got.Source, got.At
		if got != want {
			t.Fatalf("%s: folded %+v, want %+v", g.Nodes[i].Name, got, want)
		}
		folded.facts[i] = s.Fact(i)
	}
	if got, want := derived(folded), derived(s); !reflect.DeepEqual(got, want) {
		t.Fatalf("folded: %+v\nstepped: %+v", got, want)
	}

	h.look()
	again := Rebuild(g, s.Facts())
	for _, e := range again.Due() {
		if e.Kind == Start || e.Kind == Grant {
			t.Fatalf("rebuilt, it gives %v", e)
		}
	}
	if got, want := derived(again), derived(s); !reflect.DeepEqual(got, want) {
		t.Fatalf("rebuilt: %+v\nstepped: %+v", got, want)
	}
	if more := s.Due(); len(more) > 0 {
		t.Fatalf("asked again, it gives %v", more)
	}
}

// look compares everything visible with the reference. It holds at any moment, also while
// effects are due.
func (h *harness) look() {
	t, g, s, r := h.t, h.g, h.s, h.ref
	t.Helper()
	v := r.verdicts()
	used, inPool := 0, map[string]int{}
	looked := Rebuild(g, s.Facts())
	for i := range r.nodes {
		if got, want := looked.Status(i, r.now), s.Status(i, r.now); got != want {
			t.Fatalf("%s: observed %+v, want %+v", g.Nodes[i].Name, got, want)
		}
		if got, want := s.Status(i, r.now).Label.String(), r.label(i, v); got != want {
			t.Fatalf("%s: label %q, want %q", g.Nodes[i].Name, got, want)
		}
		f := s.Fact(i)
		if f.Phase == Running {
			used++
			inPool[g.Nodes[i].Pool]++
		}
		if n := &r.nodes[i]; f.Attempts != n.attempts || f.Tries != n.tries || f.Losses != n.losses || f.StillOpen != n.open {
			t.Fatalf("%s: fact %+v, want %+v", g.Nodes[i].Name, f, *n)
		}
		var published []string
		for name, value := range f.Outputs.Values() {
			published = append(published, name+"="+value)
		}
		slices.Sort(published)
		if got := strings.Join(published, "\n"); got != r.nodes[i].outputs {
			t.Fatalf("%s: outputs %q, want %q", g.Nodes[i].Name, got, r.nodes[i].outputs)
		}
		cause, ok := s.Blocked(i)
		if ok != (v[i] == "blocked") || ok && cause != r.cause(i, v) {
			t.Fatalf("%s: blocked %v by %d", g.Nodes[i].Name, ok, cause)
		}
		if got, want := s.BlockedBy(i), r.blockedBy(i, v); !slices.Equal(got, want) {
			t.Fatalf("%s blocks %v, want %v", g.Nodes[i].Name, got, want)
		}
	}
	if got, _ := s.Slots(); got != used {
		t.Fatalf("%d slots in use, want %d", got, used)
	}
	if got, want := s.Run(), r.run(); got != want {
		t.Fatalf("run is %s, want %s", got, want)
	}
	at, ok := s.NextWake()
	if wantAt, wantOK := r.nextWake(); ok != wantOK || !at.Equal(wantAt) {
		t.Fatalf("next wake %v %v, want %v %v", at, ok, wantAt, wantOK)
	}
}

// blockedBy follows the definition: it finds the nodes that are blocked now and would not
// be if i had not ended, by trying.
func (r *refRun) blockedBy(i int, v []string) (out []int) {
	if !(v[i] == "blocked" || v[i] == "skipped" || refEnd(r.nodes[i].state) && !refSuccess(r.nodes[i].state)) {
		return nil
	}
	trial := &refRun{g: r.g, nodes: slices.Clone(r.nodes)}
	trial.nodes[i] = refNode{state: "running"}
	after := trial.verdicts()
	for _, j := range r.g.Order() {
		if j != i && v[j] == "blocked" && after[j] != "blocked" {
			out = append(out, j)
		}
	}
	return out
}

// derived is everything in a State that follows from its facts, in a form that does not
// depend on the order of changes.
func derived(s *State) map[string]any {
	lanes := func(q *queue) (out []string) {
		for l := range q.lanes {
			ids := slices.Clone(q.lanes[l].nodes.ids)
			slices.Sort(ids)
			out = append(out, fmt.Sprint(q.lanes[l].pool, q.lanes[l].shut, ids))
		}
		return append(out, fmt.Sprint(q.full, q.first()))
	}
	at, ok := s.NextWake()
	return map[string]any{
		"facts": s.Facts(), "open": s.open, "wins": s.wins, "skips": s.skips, "stands": s.stands, "count": s.count, "told": s.told,
		"pools": s.pools, "limits": fmt.Sprint(s.limits), "ready": lanes(s.ready), "queued": lanes(s.queued),
		"wake": fmt.Sprint(at, ok), "dirty": len(s.dirty), "touched": len(s.touched),
	}
}

// drawGraph makes a random graph. Without people it has neither gates nor
// nodes that ask when lost.
func drawGraph(t *rapid.T, people bool) *Graph {
	g := &Graph{
		MaxParallel: rapid.IntRange(1, 4).Draw(t, "max_parallel"),
		Pools:       map[string]int{"p": rapid.IntRange(1, 2).Draw(t, "p"), "q": 1},
	}
	n := rapid.IntRange(1, 9).Draw(t, "nodes")
	// Configuration order is not graph order: dependencies follow a permutation.
	names := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}).Draw(t, "names")[:n]
	for i, name := range names {
		node := Node{
			Name: name, Role: RoleBuild, OnLost: Redo,
			When:    rapid.SampledFrom([]Join{AllSuccess, AllSuccess, AllDone, OneSuccess, Always}).Draw(t, "when"),
			Pool:    rapid.SampledFrom([]string{"", "", "p", "q"}).Draw(t, "pool"),
			Account: rapid.SampledFrom([]string{"", "work", "home"}).Draw(t, "account"),
			Retries: Retries{
				Max:     rapid.IntRange(0, 2).Draw(t, "retries"),
				Backoff: Duration(rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "backoff")),
			},
		}
		if people && rapid.IntRange(0, 5).Draw(t, "gate") == 0 {
			node.Role = RoleGate
		}
		if people && rapid.IntRange(0, 3).Draw(t, "ask") == 0 {
			node.OnLost = Ask
		}
		node.Finally = rapid.IntRange(0, 6).Draw(t, "finally") == 0
		if rapid.IntRange(0, 3).Draw(t, "matrix") == 0 {
			node.Matrix = &Matrix{Name: "m", FailFast: true}
		}
		for _, d := range names[:i] {
			if at := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == d }); g.Nodes[at].Finally && !node.Finally {
				continue
			}
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				node.DependsOn = append(node.DependsOn, d)
			}
		}
		g.Nodes = append(g.Nodes, node)
	}
	slices.SortFunc(g.Nodes, func(a, b Node) int { return int(a.Name[0]) - int(b.Name[0]) })
	if err := g.link(); err != nil {
		t.Fatal(err)
	}
	for i := range g.Nodes {
		form := rapid.SampledFrom([]string{"", "", "", "false", "success()", "failure()", "result", "outputs.a"}).Draw(t, "if")
		if deps := g.Deps(i); strings.ContainsAny(form, "r.") && !strings.Contains(form, "(") && len(deps) > 0 {
			form = fmt.Sprintf("needs.%s.%s %s '%s'", g.Nodes[rapid.SampledFrom(deps).Draw(t, "whose")].Name, form,
				rapid.SampledFrom([]string{"==", "!="}).Draw(t, "operator"), rapid.SampledFrom([]string{"done", "failed", "cancelled", "blocked", "skipped", "yes", ""}).Draw(t, "word"))
		} else if form == "result" || form == "outputs.a" {
			form = ""
		}
		g.Nodes[i].If = form
	}
	return g
}

var reasons = []Reason{ReasonExit, ReasonExit, ReasonTimeout, ReasonChecks, ReasonScope, ReasonConflict, ReasonSetup, ReasonBudget, ReasonLost}

// drawChange makes any change, likely or not.
func (h *harness) drawChange() Change {
	t := h.t
	c := Change{
		Node:    rapid.IntRange(0, h.g.Len()-1).Draw(t, "node"),
		Source:  "record",
		Account: rapid.SampledFrom([]string{"work", "home", "other"}).Draw(t, "account"),
		Exit:    rapid.IntRange(0, 3).Draw(t, "exit"),
	}
	c.Kind = rapid.SampledFrom([]ChangeKind{
		Began, Active, Active, Wants, Wants, Regained, Published, Published, AttemptEnded, AttemptEnded, AttemptEnded, AttemptEnded, Vanished,
		Overridden, Reset, Reset, AccountLimited, AccountFree, Stop, Resume, Resume, Tick, Tick,
	}).Draw(t, "kind")
	soon := func() time.Time {
		return h.ref.now.Add(time.Duration(rapid.IntRange(-1, 4).Draw(t, "half minutes")) * 30 * time.Second)
	}
	switch c.Kind {
	case Active:
		c.Activity = Activity(rapid.IntRange(int(Working), int(SettingUp)).Draw(t, "activity"))
		c.Until = rapid.SampledFrom([]time.Time{{}, soon()}).Draw(t, "until")
	case Published:
		c.Output = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "output")
		c.Value = rapid.SampledFrom([]string{"", "yes", "no"}).Draw(t, "value")
	case AttemptEnded:
		c.Outcome = rapid.SampledFrom([]Outcome{Done, Done, Failed, Failed, Failed, Cancelled}).Draw(t, "outcome")
	case Overridden:
		c.Outcome = rapid.SampledFrom([]Outcome{Override, Override, Done, Failed}).Draw(t, "outcome")
	case AccountLimited:
		c.Until = rapid.SampledFrom([]time.Time{{}, soon()}).Draw(t, "until")
	case Tick:
		c.At = soon()
	}
	if c.Outcome == Failed {
		c.Reason = rapid.SampledFrom(reasons).Draw(t, "reason")
	}
	// Half of the changes about an attempt go to a live one.
	if c.Kind <= Vanished && len(h.alive) > 0 && rapid.Bool().Draw(t, "alive") {
		live := make([]int, 0, len(h.alive))
		for i := range h.alive {
			live = append(live, i)
		}
		slices.Sort(live)
		c.Node = rapid.SampledFrom(live).Draw(t, "which")
	}
	if c.Kind <= Vanished && h.g.Nodes[c.Node].Role != RoleGate {
		switch have := h.ref.nodes[c.Node].attempts; rapid.IntRange(0, 9).Draw(t, "attempt") {
		case 0:
			c.Attempt = have + 1 // launched by an earlier runner
			if _, live := h.alive[c.Node]; live {
				c.Attempt = have
			}
		case 1:
			c.Attempt = max(0, have-1)
		case 2, 3, 4:
			c.Attempt = have
		}
	}
	return c
}

// Random graphs under random changes (a person's commands among them) and crashes: at every
// moment the State and the reference agree. The effects are those of the reference at the
// moment of the call, whatever changes came since the last one. A State rebuilt from its
// facts at that moment is equal.
func TestStepMatchesReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(t, drawGraph(t, true), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "crash") == 0 {
				h.crash(rapid.SliceOfN(rapid.Bool(), 1, 4).Draw(t, "lost"), rapid.Bool().Draw(t, "recorded"))
				continue
			}
			var batch []Change
			for range rapid.IntRange(1, 3).Draw(t, "batch") {
				batch = append(batch, h.drawChange())
			}
			h.take(batch...)
			if rapid.IntRange(0, 2).Draw(t, "due") > 0 {
				h.due()
			}
		}
		h.finish(true)
	})
}

// Without gates, questions and losses to ask about, every run ends by itself:
// by attempts that end and by the ticks that NextWake asks for.
func TestRunTerminates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHarness(t, drawGraph(t, false), time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
		h.finish(false)
	})
}

// finish simulates a run until its end: every live attempt ends sooner or later. With
// people, held nodes are answered, approved and retried; without people no node may be left
// waiting.
func (h *harness) finish(people bool) {
	t := h.t
	bound := 0
	for i := range h.g.Nodes {
		bound += 10 * (h.g.Nodes[i].Retries.Max + 8)
	}
	if people {
		h.step(Change{Kind: Resume}, Change{Kind: AccountFree, Account: "work"}, Change{Kind: AccountFree, Account: "home"})
	}
	for range bound {
		if st := h.s.Run(); st == RunDone || st == RunFailed {
			return
		}
		var moves []Change
		for i := range h.g.Nodes {
			switch f := h.s.Fact(i); {
			case f.Doomed && f.Phase != Ended:
				moves = append(moves, Change{Kind: AttemptEnded, Node: i, Outcome: Cancelled})
			case f.Phase == Running, f.StillOpen:
				moves = append(moves, Change{Kind: AttemptEnded, Node: i, Outcome: Done}, Change{Kind: AttemptEnded, Node: i, Outcome: Failed})
				if f.Losses < 2 && !f.StillOpen {
					moves = append(moves, Change{Kind: Vanished, Node: i})
				}
			case f.Phase == Paused && people:
				moves = append(moves, Change{Kind: Wants, Node: i})
			case f.Held && people:
				moves = append(moves, Change{Kind: Reset, Node: i})
			case people && h.s.Status(i, h.ref.now).Label.State == NodeNeedsInput:
				moves = append(moves, Change{Kind: Overridden, Node: i, Outcome: Done})
			}
		}
		if at, ok := h.s.NextWake(); ok {
			moves = append(moves, Change{Kind: Tick, At: at})
		}
		if len(moves) == 0 {
			t.Fatalf("run is %s and nothing can move it", h.s.Run())
		}
		h.step(rapid.SampledFrom(moves).Draw(t, "move"))
	}
	t.Fatalf("not over after %d moves: %s", bound, h.s.Run())
}
