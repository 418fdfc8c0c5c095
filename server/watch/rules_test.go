package watch

import (
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/watchconfig"
)

// bench is a watch whose agents do only what a test has them do.
type bench struct {
	*testing.T
	state State
	facts Facts
	now   time.Time
	fail  bool // nothing can be done
	all   []Action
}

func newBench(t *testing.T, agents ...Agent) *bench {
	b := &bench{T: t, now: time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC), facts: Facts{Config: watchconfig.Default(), Agents: agents}}
	for i := range agents {
		a := &agents[i]
		a.Life, a.Sign, a.Began = 1, b.now, b.now
	}
	return b
}

// pass lets time go by, and returns the rules that acted, each with its agent.
func (b *bench) pass(d time.Duration) string {
	var rules []string
	for ; d > 0; d -= MaxGap {
		b.now = b.now.Add(MaxGap)
		var acts []Action
		b.state, acts = Step(b.state, b.facts, b.now)
		for _, a := range acts {
			rules = append(rules, a.Agent+": "+a.Rule)
			if b.fail {
				b.state = b.state.Failed(&a)
			}
		}
		b.all = append(b.all, acts...)
	}
	return strings.Join(rules, ", ")
}

func (b *bench) sign(i int) { b.facts.Agents[i].Sign = b.now }

// A supervisor that answered a nudge and reads none of the next ones is frozen, though
// nothing new waits for it.
func TestFrozenAfterAnAnswer(t *testing.T) {
	b := newBench(t, Agent{Name: "a", Leads: true, Stand: Idle, Looked: true, Todo: []Item{{Key: "k", Text: "t1 is blocked"}}})
	c := &b.facts.Config
	if got := b.pass(c.IdleAfter + 2*MaxGap); !strings.HasPrefix(got, "a: nudge") {
		t.Fatal(got)
	}
	b.sign(0) // a turn, in which it does nothing about that
	if got := b.pass(c.NudgeEvery + c.FrozenAfter + 2*MaxGap); !strings.HasPrefix(got, "a: nudge, a: frozen") {
		t.Error(got)
	}
}

// However long a relaunched agent takes to start, what it does then is no proof that
// it gets on again.
func TestSlowStart(t *testing.T) {
	b := newBench(t, Agent{Name: "w1", Supervisor: "user", Stand: Busy})
	c := &b.facts.Config
	c.Observation = false
	if got := b.pass(c.FrozenAfter + MaxGap); got != "w1: frozen" {
		t.Fatal(got)
	}
	b.pass(c.FrozenAfter * 3 / 4)
	b.facts.Agents[0].Life++
	b.pass(MaxGap)
	b.sign(0)
	if got := b.pass(c.FrozenAfter + 2*MaxGap); got != "w1: new start" {
		t.Error(got)
	}
}

// An agent that is started often, as one that is reset after a few tasks, gets on for
// all that.
func TestStartsOften(t *testing.T) {
	b := newBench(t, Agent{Name: "w1", Supervisor: "user", Stand: Busy})
	c := &b.facts.Config
	c.Observation = false
	if got := b.pass(c.FrozenAfter + MaxGap); got != "w1: frozen" {
		t.Fatal(got)
	}
	for range 10 {
		b.facts.Agents[0].Life++
		b.pass(c.FrozenAfter / 4)
		b.sign(0)
	}
	if got := b.pass(c.FrozenAfter + 2*MaxGap); got != "w1: frozen" {
		t.Error(got)
	}
}

// A new conversation has been told nothing.
func TestNudgedAnew(t *testing.T) {
	b := newBench(t, Agent{Name: "a", Leads: true, Stand: Idle, Looked: true, Todo: []Item{{Key: "k", Text: "t1 is blocked"}}})
	b.facts.Config.FrozenAfter = 24 * time.Hour
	b.pass(3 * time.Hour)
	if got := b.pass(time.Hour); got != "" {
		t.Fatal(got)
	}
	b.facts.Agents[0].Began = b.now
	b.sign(0)
	if got := b.pass(time.Hour); !strings.HasPrefix(got, "a: nudge") {
		t.Error(got)
	}
}

// However often an agent was observed, one that freezes is found.
func TestFrozenAfterManyObservations(t *testing.T) {
	b := newBench(t, Agent{Name: "w1", Supervisor: "user", Stand: Busy})
	b.facts.Config.FrozenAfter = time.Hour
	for range 20 { // calls that take long
		b.pass(15 * time.Minute)
		b.sign(0)
	}
	bound := Rules()[slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == ruleObserve })].Most
	if n := len(b.all); n != bound {
		t.Errorf("%d actions about an agent that gets on, %d are the bound", n, bound)
	}
	if got := b.pass(150 * time.Minute); got != "w1: frozen, w1: new start" {
		t.Error(got)
	}
}

// A person who is in the way of a remedy is informed once, and again when the agent freezes
// again; nothing else is done.
func TestTellsWhoIsInTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		agent Agent
		want  string
	}{
		"a draft in a turn":   {Agent{Name: "a", Stand: Busy, Person: true}, "a: observation, a: person in the way"},
		"a crashed leader":    {Agent{Name: "a", Leads: true, Stand: Crashed, Person: true}, "a: person in the way"},
		"taken over":          {Agent{Name: "a", Stand: Taken}, "a: person in the way"},
		"a draft at rest":     {Agent{Name: "a", Stand: Idle, Person: true}, ""},
		"a question, a draft": {Agent{Name: "a", Stand: Waits, Person: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.agent)
			b.facts.Config.Stale = false
			if got := b.pass(10 * time.Hour); got != c.want {
				t.Errorf("%q", got)
			}
			for _, a := range b.all {
				if a.Kind == Tell && a.To != "user" {
					t.Errorf("%q is told", a.To)
				}
			}
			b.sign(0)
			if got := b.pass(10 * time.Hour); got != c.want {
				t.Errorf("a second time: %q", got)
			}
		})
	}
}

// A supervisor keeps its conversation while the sentry is there for another one,
// and has the sentry after that; a sentry that cannot be removed is not waited for
// for ever.
func TestWaitsForTheSentry(t *testing.T) {
	for _, stays := range []bool{false, true} {
		b := newBench(t, Agent{Name: "a", Leads: true, Stand: Busy}, Agent{Name: "b", Leads: true, Stand: Busy})
		for {
			b.pass(MaxGap)
			if n := len(b.all); n > 0 && b.all[n-1].Kind == Spawn {
				break
			}
			if b.now.Hour() > 18 {
				t.Fatalf("no sentry: %+v", b.all)
			}
		}
		first := b.all[len(b.all)-1].Agent
		other := map[string]string{"a": "b", "b": "a"}[first]
		b.facts.Agents = append(slices.Clone(b.facts.Agents), Agent{Name: "sentry", Sentry: true, Stand: Busy, Life: 1, Sign: b.now, Began: b.now, Person: stays})
		b.all = nil
		for range 60 {
			b.pass(MaxGap)
			if !stays && slices.ContainsFunc(b.all, func(a Action) bool { return a.Kind == End }) {
				b.facts.Agents = b.facts.Agents[:2]
			}
		}
		var did []string
		for _, a := range b.all {
			if a.Agent == other && a.Kind != Observe {
				did = append(did, a.Rule)
			}
		}
		want := "sentry, new start, given up"
		if stays {
			want = "new start, given up"
		}
		if got := strings.Join(did, ", "); got != want {
			t.Errorf("stays %v: %s", stays, got)
		}
	}
}

// What could not be done is tried again, not at once and not for ever, and the
// next rung does not come before that.
func TestFailedIsTriedAgain(t *testing.T) {
	b := newBench(t, Agent{Name: "w1", Supervisor: "user", Stand: Busy})
	b.pass(b.facts.Config.IdleAfter + 2*MaxGap)
	b.fail = true
	if got := b.pass(40 * time.Minute); got != strings.Repeat("w1: frozen, ", mostFailures+1)+strings.Repeat("w1: new start, ", mostFailures)+"w1: new start" {
		t.Error(got)
	}
	b = newBench(t, Agent{Name: "w1", Supervisor: "user", Stand: Busy})
	b.pass(b.facts.Config.IdleAfter + 2*MaxGap)
	b.fail = true
	for b.pass(MaxGap) == "" {
	}
	if seen := b.state.Agents["w1"]; seen.Rung != 0 || seen.Failures != 1 || seen.Open == 0 {
		t.Errorf("%+v", seen)
	}
	b.fail = false
	b.pass(2 * MaxGap)
	if seen := b.state.Agents["w1"]; seen.Rung != relaunched || seen.Failures != 0 || seen.Open == 0 {
		t.Errorf("%+v", seen)
	}
}

// Open says from the first action to the first proof of it that an agent does not
// get on by itself.
func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		agent Agent
		again func(*Agent)
	}{
		"crashed":    {Agent{Name: "a", Stand: Crashed}, func(a *Agent) { a.Stand, a.Life = Idle, 2 }},
		"in the way": {Agent{Name: "a", Stand: Busy, Person: true}, func(*Agent) {}},
		"taken over": {Agent{Name: "a", Stand: Taken}, func(a *Agent) { a.Stand = Idle }},
		"given up":   {Agent{Name: "a", Stand: Busy}, func(*Agent) {}},
	} {
		b := newBench(t, c.agent)
		b.pass(3 * time.Hour)
		if b.state.Agents["a"].Open == 0 {
			t.Errorf("%s: it is not open: %+v", name, b.all)
		}
		b.sign(0)
		c.again(&b.facts.Agents[0])
		b.pass(2 * MaxGap)
		if seen := b.state.Agents["a"]; seen.Open > 0 {
			t.Errorf("%s: it gets on, and is open: %+v", name, seen)
		}
	}
}

// The first look of all has a time, like every other one: what it does counts.
func TestFirstLookCounts(t *testing.T) {
	b := newBench(t, Agent{Name: "a", Stand: Idle, Compacts: true, Context: 90})
	b.now = b.now.Add(time.Hour)
	b.facts.Config.NudgeEvery = time.Minute
	if got := b.pass(MaxGap); got != "a: compaction" {
		t.Fatal(got)
	}
	b.facts.Agents[0].Compactions = 1
	if got := b.pass(time.Hour); got != "" {
		t.Error(got)
	}
}

// The sentry goes when it has used what it may, whatever its time says, and once.
func TestSentryBudget(t *testing.T) {
	b := newBench(t, Agent{Name: "supervisor", Leads: true, Stand: Crashed})
	b.facts.Config.SentryWithin = 24 * time.Hour
	if got := b.pass(time.Hour); !strings.HasSuffix(got, "supervisor: "+ruleSentry) {
		t.Fatal(got)
	}
	most := int64(b.facts.Config.SentryTokens)
	b.facts.Agents = append(b.facts.Agents, Agent{Name: "sentry", Sentry: true, Stand: Busy, Life: 1, Sign: b.now, Began: b.now, Used: most - 1})
	if got := b.pass(10 * time.Minute); got != "" {
		t.Fatal(got)
	}
	b.facts.Agents[1].Used = most
	if got := b.pass(10 * time.Minute); got != "sentry: "+ruleSentryOver {
		t.Errorf("%q", got)
	}
}
