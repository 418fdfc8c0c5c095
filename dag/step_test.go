package dag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var nine = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// graphOf reads a graph from words: "b<a,c" is a node and what it depends on,
// followed by options after slashes: a join, gate, ask, pool=P, account=A,
// retries=N or retries=N@BACKOFF. "max=N" and "P:N" bound the slots and a pool.
func graphOf(t testing.TB, spec string) *Graph {
	t.Helper()
	g := &Graph{Session: "t", MaxParallel: 8, Pools: map[string]int{}}
	for word := range strings.FieldsSeq(spec) {
		if n, ok := strings.CutPrefix(word, "max="); ok {
			g.MaxParallel, _ = strconv.Atoi(n)
			continue
		}
		if pool, n, ok := strings.Cut(word, ":"); ok {
			g.Pools[pool], _ = strconv.Atoi(n)
			continue
		}
		parts := strings.Split(word, "/")
		name, deps, _ := strings.Cut(parts[0], "<")
		n := Node{Name: name, Role: RoleBuild, When: AllSuccess, OnLost: Redo}
		if deps != "" {
			n.DependsOn = strings.Split(deps, ",")
		}
		for _, opt := range parts[1:] {
			key, value, _ := strings.Cut(opt, "=")
			switch key {
			case "gate":
				n.Role = RoleGate
			case "code":
				n.Approve = ApproveCode
			case "ask":
				n.OnLost = Ask
			case "pool":
				n.Pool = value
			case "account":
				n.Account = value
			case "retries":
				times, wait, _ := strings.Cut(value, "@")
				n.Retries.Max, _ = strconv.Atoi(times)
				d, _ := time.ParseDuration(wait)
				n.Retries.Backoff = Duration(d)
			default:
				n.When = Join(opt)
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	if err := g.link(); err != nil {
		t.Fatal(err)
	}
	return g
}

// changeOf reads a change: "exit a 0", "fail a timeout", "tick 30s", ...
func changeOf(t testing.TB, s *State, text string) Change {
	t.Helper()
	w := append(strings.Fields(text), "", "", "")
	c := Change{At: s.now, Source: "record", Node: s.g.Index(w[1])}
	c.Exit, _ = strconv.Atoi(w[2])
	later := func(d string) time.Time {
		if d == "" {
			return time.Time{}
		}
		dur, err := time.ParseDuration(d)
		if err != nil {
			t.Fatal(err)
		}
		return s.now.Add(dur)
	}
	activities := map[string]Activity{"works": Working, "checks": Checking, "asks": NeedsInput, "takenover": TakenOver, "hitslimit": AtLimit}
	switch w[0] {
	case "exit":
		c.Kind, c.Outcome = AttemptEnded, Failed
		if c.Exit == 0 {
			c.Outcome = Done
		}
	case "fail":
		c.Kind, c.Outcome, c.Reason = AttemptEnded, Failed, Reason(strings.Join(strings.Fields(text)[2:], " "))
	case "cancel":
		c.Kind, c.Outcome = AttemptEnded, Cancelled
	case "vanish":
		c.Kind = Vanished
	case "began":
		c.Kind, c.Attempt = Began, c.Exit
	case "works", "checks", "asks", "takenover", "hitslimit":
		c.Kind, c.Activity, c.Until = Active, activities[w[0]], later(w[2])
	case "wants":
		c.Kind = Wants
	case "regains":
		c.Kind = Regained
	case "override":
		c.Kind, c.Outcome = Overridden, Override
	case "approve":
		c.Kind, c.Outcome = Overridden, Done
	case "byhand":
		c.Kind, c.Outcome = Overridden, Failed
	case "reset":
		c.Kind = Reset
	case "limit":
		c.Kind, c.Account, c.Until = AccountLimited, w[1], later(w[2])
	case "free":
		c.Kind, c.Account = AccountFree, w[1]
	case "stop":
		c.Kind = Stop
	case "resume":
		c.Kind = Resume
	case "tick":
		c.Kind, c.At = Tick, later(w[1])
	default:
		t.Fatalf("no such change: %q", text)
	}
	return c
}

func labelsOf(s *State) string {
	var out []string
	for i := range s.g.Nodes {
		out = append(out, s.g.Nodes[i].Name+":"+s.Status(i, s.now).Label.String())
	}
	return strings.Join(out, "; ")
}

func effectsOf(s *State, effects []Effect) string {
	var out []string
	for _, e := range effects {
		text := e.Kind.String() + " " + s.g.Nodes[e.Node].Name
		if e.Trial {
			text = "trial " + text
		}
		switch {
		case e.Kind == Block:
			text += " by " + s.g.Nodes[e.Cause].Name
		case e.Attempt > 1:
			text += fmt.Sprintf("#%d", e.Attempt)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestStep(t *testing.T) {
	// do: changes of one Step, separated by commas; "rebuild" drops the State.
	type step struct{ do, labels, effects string }
	for _, tc := range []struct {
		name, graph string
		steps       []step
		run         RunState
	}{
		{"a stopped node waits for a dependency that is done again", "a b<a/all_done", []step{
			{"exit a 1", "a:failed (exit 1); b:running", "start b"},
			{"stop, vanish b", "a:failed (exit 1); b:stopped", ""},
			{"reset a, resume", "a:running; b:stopped", "start a#2"},
			{"rebuild", "a:running; b:stopped", ""},
			{"exit a 1", "a:failed (exit 1); b:running", "start b#2"},
		}, RunRunning},
		{"so does a node that will be retried", "a b<a/retries=1@10s", []step{
			{"exit a 0", "a:done; b:running", "start b"},
			{"exit b 1, reset a", "a:running; b:waiting", "start a#2"},
			{"tick 11s", "a:running; b:waiting", ""},
			{"exit a 1", "a:failed (exit 1); b:running", "start b#2"},
		}, RunRunning},
		{"success starts dependents", "a b<a", []step{
			{"exit a 0", "a:done; b:running", "start b"},
			{"exit b 0", "a:done; b:done", ""},
		}, RunDone},
		{"failure blocks what depends on it and nothing else", "a b<a c<b d", []step{
			{"exit a 1", "a:failed (exit 1); b:blocked (a failed); c:blocked (b blocked); d:running", "block b by a, block c by b"},
			{"exit d 0", "a:failed (exit 1); b:blocked (a failed); c:blocked (b blocked); d:done", ""},
		}, RunFailed},
		{"a join is judged when all have ended", "a b c<a,b", []step{
			{"exit a 1", "a:failed (exit 1); b:running; c:waiting", ""},
			{"exit b 0", "a:failed (exit 1); b:done; c:blocked (a failed)", "block c by a"},
		}, RunFailed},
		{"the first cause in depends_on order is named", "a b c<b,a", []step{
			{"exit a 1, fail b timeout", "a:failed (exit 1); b:failed (timeout); c:blocked (b failed)", "block c by b"},
			{"override b", "a:failed (exit 1); b:done (override); c:blocked (a failed)", "block c by a"},
			{"override a", "a:done (override); b:done (override); c:running", "unblock c, start c"},
		}, RunRunning},
		{"all_done takes any end", "a b<a c<b/all_done", []step{
			{"cancel a", "a:failed (cancelled); b:blocked (a cancelled); c:running", "block b by a, start c"},
		}, RunRunning},
		{"what all_done did is not undone", "a b<a/all_done c<b", []step{
			{"exit a 1", "a:failed (exit 1); b:running; c:waiting", "start b"},
			{"exit b 0", "a:failed (exit 1); b:done; c:running", "start c"},
			{"reset a", "a:running; b:done; c:running", "start a#2"},
		}, RunRunning},
		{"one_success starts at the first", "a b c<a,b/one_success", []step{
			{"exit b 0", "a:running; b:done; c:running", "start c"},
			{"exit a 1", "a:failed (exit 1); b:done; c:running", ""},
		}, RunRunning},
		{"one_success is blocked when none succeeded", "a b c<a,b/one_success", []step{
			{"exit b 2", "a:running; b:failed (exit 2); c:waiting", ""},
			{"cancel a", "a:failed (cancelled); b:failed (exit 2); c:blocked (a cancelled)", "block c by a"},
		}, RunFailed},
		{"override of a running node", "a b<a max=1", []step{
			{"override a", "a:done (override), still open; b:running", "start b"},
			{"exit a 1", "a:done (override); b:running", ""},
			{"exit b 0", "a:done (override); b:done", ""},
		}, RunDone},
		{"override of a waiting node is never started", "a b<a c<b", []step{
			{"override b", "a:running; b:done (override); c:running", "start c"},
			{"exit a 0", "a:done; b:done (override); c:running", ""},
		}, RunRunning},
		{"override of a blocked node", "a b<a c<b", []step{
			{"exit a 1", "a:failed (exit 1); b:blocked (a failed); c:blocked (b blocked)", "block b by a, block c by b"},
			{"override b", "a:failed (exit 1); b:done (override); c:running", "unblock c, start c"},
		}, RunRunning},
		{"override changes nothing on a done node, failure by hand does", "a b<a", []step{
			{"exit a 0", "a:done; b:running", "start b"},
			{"override a", "a:done; b:running", ""},
			{"byhand a 3", "a:failed (by hand); b:running", ""},
		}, RunRunning},
		{"failed by hand while it runs", "a b<a", []step{
			{"byhand a 3", "a:failed (by hand); b:blocked (a failed)", "block b by a"},
			{"reset a", "a:ready; b:waiting", "unblock b"},
			{"exit a 0", "a:running; b:waiting", "start a#2"},
		}, RunRunning},
		{"reset withdraws 99s through the graph", "a b<a c<b d<c/all_done", []step{
			{"exit a 1", "a:failed (exit 1); b:blocked (a failed); c:blocked (b blocked); d:running", "block b by a, block c by b, start d"},
			{"reset a", "a:running; b:waiting; c:waiting; d:running", "unblock b, unblock c, start a#2"},
			{"exit a 0", "a:done; b:running; c:waiting; d:running", "start b"},
		}, RunRunning},
		{"reset of a live node does nothing", "a", []step{
			{"reset a", "a:running", ""},
		}, RunRunning},
		{"retry after a backoff", "a/retries=1@12s b<a", []step{
			{"exit a 1", "a:ready; b:waiting", ""},
			{"tick 11s", "a:ready; b:waiting", ""},
			{"tick 1s", "a:running; b:waiting", "start a#2"},
			{"exit a 1", "a:failed (exit 1); b:blocked (a failed)", "block b by a"},
		}, RunFailed},
		{"a node between two tries does not ask its join again", "a b<a/retries=1@12s", []step{
			{"exit a 0", "a:done; b:running", "start b"},
			{"exit b 1", "a:done; b:ready", ""},
			{"byhand a 1", "a:failed (by hand); b:ready", ""},
			{"tick 12s", "a:failed (by hand); b:running", "start b#2"},
		}, RunRunning},
		{"a conflict is not retried", "a/retries=3", []step{
			{"fail a conflict", "a:failed (conflict)", ""},
		}, RunFailed},
		{"a node over its budget is not retried", "a/retries=3 b<a", []step{
			{"fail a budget", "a:failed (budget); b:blocked (a failed)", "block b by a"},
			{"reset a", "a:running; b:waiting", "unblock b, start a#2"},
		}, RunRunning},
		{"a run over its budget ends nodes that have not started", "max=1 a b c<b", []step{
			{"fail b budget", "a:running; b:failed (budget); c:blocked (b failed)", "block c by b"},
			{"fail a budget", "a:failed (budget); b:failed (budget); c:blocked (b failed)", ""},
		}, RunFailed},
		{"setup is retried", "a/retries=3", []step{
			{"fail a setup", "a:running", "start a#2"},
		}, RunRunning},
		{"a usage of all tries ends the node, a reset gives them back", "a/retries=1", []step{
			{"exit a 1", "a:running", "start a#2"},
			{"exit a 1", "a:failed (exit 1)", ""},
			{"reset a", "a:running", "start a#3"},
			{"exit a 1", "a:running", "start a#4"},
		}, RunRunning},
		{"a lost attempt is redone three times", "a b<a", []step{
			{"vanish a", "a:running; b:waiting", "start a#2"},
			{"vanish a", "a:running; b:waiting", "start a#3"},
			{"vanish a", "a:running; b:waiting", "start a#4"},
			{"vanish a", "a:lost; b:waiting", ""},
		}, RunWaiting},
		{"on_lost: ask", "a/ask", []step{
			{"vanish a", "a:lost", ""},
			{"reset a", "a:running", "start a#2"},
		}, RunRunning},
		{"a loss under stop is a person's doing", "a/ask", []step{
			{"stop, vanish a", "a:stopped", ""},
			{"resume", "a:running", "start a#2"},
		}, RunRunning},
		{"stop starts nothing", "a b<a", []step{
			{"stop, exit a 0", "a:done; b:ready", ""},
			{"resume", "a:done; b:running", "start b"},
			{"stop", "a:done; b:running", ""},
		}, RunStopped},
		{"cancel of a node that has not started", "a b<a c<b", []step{
			{"cancel b", "a:running; b:failed (cancelled); c:blocked (b cancelled)", "block c by b"},
			{"exit a 0", "a:done; b:failed (cancelled); c:blocked (b cancelled)", ""},
		}, RunFailed},
		{"max_parallel, in graph order", "max=2 c b a d<c", []step{
			{"rebuild", "c:running; b:running; a:ready; d:waiting", ""},
			{"exit c 0", "c:done; b:running; a:running; d:ready", "start a"},
		}, RunRunning},
		{"a full pool holds up nobody else", "p:1 a/pool=p b/pool=p c d/pool=p", []step{
			{"rebuild", "a:running; b:ready; c:running; d:ready", ""},
			{"exit a 0", "a:done; b:running; c:running; d:ready", "start b"},
		}, RunRunning},
		{"needs input gives slot and place back and queues before new starts", "max=1 p:1 a/pool=p b/pool=p c/pool=p", []step{
			{"asks a", "a:needs input; b:running; c:ready", "start b"},
			{"wants a", "a:ready; b:running; c:ready", ""},
			{"exit b 0", "a:running; b:done; c:ready", "grant a"},
			{"checks a", "a:checking; b:done; c:ready", ""},
			{"takenover a", "a:taken over; b:done; c:ready", ""},
		}, RunRunning},
		{"only a question is left", "a", []step{
			{"asks a", "a:needs input", ""},
		}, RunWaiting},
		{"a limited attempt and a limited account", "a/account=work b<a/account=work c<a", []step{
			{"hitslimit a 90m, limit work 90m", "a:limited until 10:30; b:waiting; c:waiting", ""},
			{"override a", "a:done (override), still open; b:limited until 10:30; c:running", "start c"},
			{"exit c 0", "a:done (override), still open; b:limited until 10:30; c:done", ""},
		}, RunLimited},
		{"a limit ends by itself", "a b<a/account=work", []step{
			{"limit work 1m, exit a 0", "a:done; b:limited until 09:01", ""},
			{"rebuild", "a:done; b:limited until 09:01", ""},
			{"tick 59s", "a:done; b:limited until 09:01", ""},
			{"tick 1s", "a:done; b:running", "trial start b"},
		}, RunRunning},
		{"after a limit one node finds out, those that met it first", "max=3 a/account=w b/account=w c/account=w d/account=w e", []step{
			{"limit w 1m, hitslimit a 1m, hitslimit b 1m", "a:limited until 09:01; b:limited until 09:01; c:running; d:limited until 09:01; e:running", "start e"},
			{"exit c 0, exit e 0", "a:limited until 09:01; b:limited until 09:01; c:done; d:limited until 09:01; e:done", ""},
			{"tick 1m", "a:limited until 09:01; b:limited until 09:01; c:done; d:ready; e:done", ""},
			{"wants b, wants a", "a:running; b:ready; c:done; d:ready; e:done", "trial grant a"},
			{"rebuild", "a:running; b:ready; c:done; d:ready; e:done", ""},
			{"limit w 2m, hitslimit a 2m", "a:limited until 09:03; b:limited until 09:03; c:done; d:limited until 09:03; e:done", ""},
			{"tick 2m", "a:limited until 09:03; b:running; c:done; d:ready; e:done", "trial grant b"},
			{"free w", "a:limited until 09:03; b:running; c:done; d:running; e:done", "start d"},
			{"wants a", "a:running; b:running; c:done; d:running; e:done", "grant a"},
		}, RunRunning},
		{"a trial that ends without a word is followed by another", "a/account=w b/account=w x", []step{
			{"limit w 1m, vanish a, vanish b", "a:lost; b:lost; x:running", ""},
			{"tick 1m", "a:running; b:lost; x:running", "trial start a#2"},
			{"asks a", "a:needs input; b:running; x:running", "trial start b#2"},
			{"exit b 0, wants a", "a:running; b:done; x:running", "trial grant a#2"},
			{"free w", "a:running; b:done; x:running", ""},
		}, RunRunning},
		{"of two ends of a limit the later counts", "a/account=w b<a/account=w", []step{
			{"limit w 10m, limit w 1m, exit a 0", "a:done; b:limited until 09:10", ""},
		}, RunLimited},
		{"lost for good, which is no try", "a/retries=2 b<a", []step{
			{"fail a lost, reset a", "a:running; b:waiting", "start a#2"},
			{"vanish a", "a:running; b:waiting", "start a#3"},
			{"vanish a", "a:running; b:waiting", "start a#4"},
			{"vanish a", "a:running; b:waiting", "start a#5"},
			{"vanish a", "a:lost; b:waiting", ""},
			{"fail a lost", "a:failed (lost); b:blocked (a failed)", "block b by a"},
		}, RunFailed},
		{"a limit without an end", "a b<a/account=work", []step{
			{"limit work, exit a 0", "a:done; b:limited", ""},
			{"tick 1000h", "a:done; b:limited", ""},
			{"free work", "a:done; b:running", "start b"},
		}, RunRunning},
		{"a gate takes no slot and waits", "max=1 a g<a/gate b<g c", []step{
			{"exit a 0", "a:done; g:needs input; b:waiting; c:running", "open g, start c"},
			{"exit c 0", "a:done; g:needs input; b:waiting; c:done", ""},
		}, RunWaiting},
		{"a gate is approved or touched", "g/gate h/gate b<g,h", []step{
			{"approve g", "g:done; h:needs input; b:waiting", ""},
			{"override h", "g:done; h:done (override); b:running", "start b"},
		}, RunRunning},
		{"changes come twice", "a b<a", []step{
			{"exit a 0, exit a 0", "a:done; b:running", "start b"},
			{"exit a 1, vanish a, asks a", "a:done; b:running", ""},
		}, RunRunning},
		{"an attempt of an earlier runner is taken in", "stop a b<a", []step{
			{"stop, exit stop 0", "stop:done; a:running; b:waiting", ""},
			{"vanish a", "stop:done; a:stopped; b:waiting", ""},
			{"began a 2", "stop:done; a:running; b:waiting", ""},
			{"exit a 0, began b 1", "stop:done; a:done; b:running", ""},
		}, RunStopped},
		{"an attempt that continued without a runner", "a", []step{
			{"asks a", "a:needs input", ""},
			{"regains a", "a:running", ""},
		}, RunRunning},
		{"what comes and goes within a step is not told", "a b<a", []step{
			{"exit a 1, override a", "a:done (override); b:running", "start b"},
		}, RunRunning},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := graphOf(t, tc.graph)
			s := Rebuild(g, Facts{Nodes: make([]Fact, g.Len()), Now: nine})
			s.Due()
			for _, st := range tc.steps {
				var effects []Effect
				if st.do == "rebuild" {
					s = Rebuild(g, s.Facts())
					effects = s.Due()
				} else {
					var changes []Change
					for text := range strings.SplitSeq(st.do, ", ") {
						changes = append(changes, changeOf(t, s, text))
					}
					effects = s.Step(changes...)
				}
				if got := labelsOf(s); got != st.labels {
					t.Errorf("after %q:\n got %s\nwant %s", st.do, got, st.labels)
				}
				if got := effectsOf(s, effects); got != st.effects {
					t.Errorf("after %q: effects %q, want %q", st.do, got, st.effects)
				}
			}
			if got := s.Run(); got != tc.run {
				t.Errorf("run is %s, want %s", got, tc.run)
			}
		})
	}
}

// A State rebuilt from facts emits Blocks and Opens, and starts every node that may start.
func TestRebuildTells(t *testing.T) {
	g := graphOf(t, "a b<a c<b g/gate d e")
	s := Rebuild(g, Facts{Now: nine, Nodes: []Fact{
		{Phase: Ended, Outcome: Failed, Exit: 1}, {}, {}, {}, {}, {Phase: Running, Attempts: 1},
	}})
	effects := s.Due()
	if got, want := effectsOf(s, effects), "open g, block b by a, block c by b, start d"; got != want {
		t.Errorf("effects %q, want %q", got, want)
	}
}

func TestStepIsDeterministic(t *testing.T) {
	run := func() (out []string) {
		g := graphOf(t, "max=3 p:1 a b/pool=p c/account=x d<a/pool=p e<b,c f<c/one_success g<a,b/all_done")
		s := Rebuild(g, Facts{Nodes: make([]Fact, g.Len()), Now: nine})
		out = append(out, effectsOf(s, s.Due()))
		for _, text := range []string{"limit x 1m", "limit y 1m", "exit b 1", "exit a 0", "tick 2m", "reset b", "exit c 0"} {
			out = append(out, effectsOf(s, s.Step(changeOf(t, s, text))))
		}
		return out
	}
	want := run()
	for range 20 {
		if got := run(); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestReach(t *testing.T) {
	g := graphOf(t, "a b<a c<b d<b/all_done e<c x")
	s := Rebuild(g, Facts{Nodes: make([]Fact, g.Len()), Now: nine})
	s.Due()
	names := func(ids []int) (out string) {
		for _, i := range ids {
			out += g.Nodes[i].Name
		}
		return out
	}
	if down, err := g.Downstream(g.Index("b")); err != nil || names(down) != "cde" {
		t.Errorf("downstream of b: %v, %v", down, err)
	}
	if got := names(s.BlockedBy(g.Index("a"))); got != "" {
		t.Errorf("blocked by a running node: %s", got)
	}
	s.Step(changeOf(t, s, "exit a 1"))
	if got := names(s.BlockedBy(g.Index("a"))); got != "bce" {
		t.Errorf("blocked by a: %s", got)
	}
}

// The time of a Change does not move the State's clock: only a Tick does, and never back.
func TestClock(t *testing.T) {
	g := graphOf(t, "a/retries=1@1m")
	s := Rebuild(g, Facts{Nodes: make([]Fact, 1), Now: nine})
	s.Due()
	s.Step(Change{Kind: AttemptEnded, Outcome: Failed, Exit: 1, At: nine})
	at, ok := s.NextWake()
	if !ok || !at.Equal(nine.Add(time.Minute)) {
		t.Fatalf("next wake %v %v", at, ok)
	}
	s.Step(Change{Kind: Tick, At: nine.Add(-time.Hour)}, Change{Kind: AccountFree, Account: "none", At: nine.Add(time.Hour)})
	if !s.Facts().Now.Equal(nine) || s.Ready(0) {
		t.Errorf("clock at %v, ready %v", s.Facts().Now, s.Ready(0))
	}
	s.Step(Change{Kind: Stop}, Change{Kind: Tick, At: at})
	if _, ok := s.NextWake(); ok || !s.Ready(0) {
		t.Errorf("a wake is left over, or the node is not ready")
	}
}

// The runner's Bound limits the nodes as max_parallel does.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		graph string
		bound int
		want  int
	}{{"a b c d", 0, 4}, {"a b c d", 3, 3}, {"a b c d", 9, 4}, {"max=2 a b c d", 3, 2}, {"max=2 a b c d", 1, 1}} {
		s := Rebuild(graphOf(t, c.graph), Facts{})
		s.Bound(c.bound)
		starts := 0
		for _, e := range s.Due() {
			if e.Kind == Start {
				starts++
			}
		}
		if starts != c.want || len(s.Due()) > 0 {
			t.Errorf("%q, at most %d: %d started", c.graph, c.bound, starts)
		}
		if st := s.Status(3, nine); c.want < 4 && !strings.Contains(st.Reason, "waits for a slot") {
			t.Errorf("%q, at most %d: %+v", c.graph, c.bound, st)
		}
	}
}
