package watch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/watchconfig"
)

// An organization that is played: agents that work, rest, freeze, loop, meet
// limits and die; people who type and leave; a clock that jumps, a machine that
// sleeps, and a watch that is killed in the middle of its actions.

// mood is what a played agent is really in.
type mood uint8

const (
	resting mood = iota
	working
	frozenBusy // in a turn, and nothing moves
	frozenIdle // at its prompt, and it reads nothing
	looping
	toolong // a long call without an event that still uses its processor
	limited
	asking
	crashing
	taken
)

type player struct {
	Agent
	mood  mood
	until int  // step at which the mood ends by itself; 0: never
	stuck int  // step since which it is frozen; 0: it is not
	seen  int  // steps of them in which nobody was in the way
	met   int  // steps of them in a row in which a draft was
	told  bool // of that
	react int  // step at which it does what it was nudged to
	lazy  bool
	moves int
	typed int // step at which a person typed last
}

type entry struct {
	act  Action
	seen Seen
	at   time.Time
	clk  time.Duration
}

type world struct {
	*testing.T
	rnd      *rand.Rand
	config   watchconfig.Config
	players  []*player
	state    State
	step     int
	wall     time.Time
	log      map[string]entry // the last action about each agent that took place
	ids      map[string]bool
	taken    map[string]map[string][]int // rule, agent: steps
	counts   map[string]int
	sentry   int // step at which it came; 0: none
	items    int
	asked    map[string][]string // keys an agent was nudged about, with how often
	nudged   map[string]int
	eventful bool
	buf      []Agent
}

const stepTime = MaxGap

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{T: t, rnd: rand.New(rand.NewPCG(seed, 7)), config: watchconfig.Default(), wall: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), step: 1,
		log: map[string]entry{}, ids: map[string]bool{}, taken: map[string]map[string][]int{}, counts: map[string]int{}, asked: map[string][]string{}, nudged: map[string]int{}}
	w.config.Quiet = watchconfig.Hours{From: 0, To: 4 * 60}
	add := func(name, sup string, leads, permanent bool) {
		w.players = append(w.players, &player{Agent: Agent{Name: name, Supervisor: sup, Leads: leads, Permanent: permanent, Stand: Idle, Life: 1, Sign: w.wall, Began: w.wall, Compacts: true}})
	}
	add("supervisor", "user", true, false)
	add("sup-shop", "supervisor", true, false)
	for _, n := range []string{"perm-frontend", "perm-backend", "perm-infra", "perm-docs"} {
		add(n, "supervisor", false, true)
	}
	for i := range 6 {
		add(fmt.Sprintf("w%d", i+1), "sup-shop", false, false)
	}
	return w
}

// chance is whether something happens in this step that happens so often a day.
// Only one step in rare asks, for all that can happen.
func (w *world) chance(perDay float64) bool {
	return w.eventful && w.rnd.Float64() < rare*perDay*stepTime.Seconds()/(24*3600)
}

const rare = 16

func (w *world) steps(d time.Duration) int { return int(d / stepTime) }

// live has a played agent go on by one step.
func (w *world) live(p *player) {
	w.eventful = w.rnd.Uint32()%rare == 0
	sign := func() { p.Sign = w.wall }
	if p.until > 0 && w.step >= p.until {
		p.until = 0
		switch p.mood {
		case working, looping, toolong:
			if p.Task != "" {
				p.Tasks++
				p.Task = ""
			}
			p.Calls, p.mood = 0, resting
			p.Context = min(95, p.Context+5+w.rnd.IntN(20))
			sign()
		case limited, asking, taken:
			p.mood = resting
			sign()
		case crashing: // a person woke it
			p.mood, p.Life = resting, p.Life+1
			sign()
		}
	}
	switch p.mood {
	case resting:
		switch {
		case p.Next && w.chance(80):
			p.mood, p.Next, p.Task, p.until = working, false, fmt.Sprintf("t%d", w.step), w.step+w.steps(time.Duration(5+w.rnd.IntN(90))*time.Minute)
			sign()
		case w.chance(0.05):
			p.mood, p.stuck = frozenIdle, w.step
		case w.chance(0.1):
			p.mood, p.until = asking, w.step+w.steps(time.Hour)
			sign()
		case w.chance(0.05):
			p.mood, p.until = crashing, w.step+w.steps(3*time.Hour)
		case w.chance(0.5):
			p.mood, p.until, p.typed, p.Typed = taken, w.step+w.steps(20*time.Minute), w.step, w.wall
			sign()
		case p.Leads && w.chance(20):
			p.mood, p.until = working, w.step+w.steps(40*time.Minute)
			sign()
		case p.Leads && p.react > 0 && w.step >= p.react:
			p.react = 0
			sign()
			if len(p.Todo) > 0 && !p.lazy {
				p.Todo = slices.Clone(p.Todo[1:])
			}
		}
	case working, looping:
		if w.step%3 > 0 {
			sign()
		}
		if p.mood == looping {
			p.Calls, p.Call = p.Calls+2, "Bash: make"
			sign()
		}
		switch {
		case w.chance(2):
			p.mood, p.stuck, p.until = frozenBusy, w.step, 0
		case p.mood == working && w.chance(0.8):
			p.mood = looping
		case p.mood == working && w.chance(0.8):
			p.mood = toolong
		case w.chance(1):
			p.mood, p.until = limited, w.step+w.steps(5*time.Hour)
			sign()
		}
	case toolong:
		p.moves++
	}
	if w.chance(1) { // a person says a word
		p.typed, p.Typed = w.step, w.wall
		if p.mood == resting || p.mood == working {
			sign()
		}
	}
	p.Person = p.Person && !w.chance(12) || w.chance(0.6)
	if !p.Leads && !p.Next && p.mood == resting && w.chance(5) {
		p.Next = true
	}
	if p.Leads && w.chance(4) {
		w.items++
		i := Item{Key: fmt.Sprintf("i%d", w.items), Text: fmt.Sprintf("task t%d is blocked", w.items)}
		p.Todo = append(slices.Clone(p.Todo), i)
	}
	p.Backlog = nil
	if p.Leads && w.step%3000 < 1500 {
		p.Backlog = &Item{Key: "b1", Text: "t1: write the docs"}
	}
	if p.Permanent && w.chance(0.2) {
		p.RoleMissing = "roles/" + p.Name + ".md"
	}
	p.Stand = [...]Stand{Idle, Busy, Busy, Idle, Busy, Busy, Limited, Waits, Crashed, Taken}[p.mood]
	p.Moved = ""
	if p.Stand == Busy {
		p.Moved = fmt.Sprint(p.Life, p.moves)
	}
}

// hands reports whether a person may be at work in it, for sure.
func (w *world) hands(p *player) bool {
	return p.Stand == Taken || p.Person || p.typed > 0 && (w.step-p.typed)*int(stepTime) < int(w.config.PersonWithin)
}

func (w *world) find(name string) *player {
	for _, p := range w.players {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// thaw lets a frozen agent continue, or freeze again.
func (w *world) thaw(p *player, chance float64) {
	p.Life++
	p.Sign = w.wall
	if w.rnd.Float64() < chance {
		p.stuck, p.seen, p.until, p.told = 0, 0, 0, false
		p.mood, p.Calls = resting, 0
		if p.Task != "" {
			p.mood, p.until = working, w.step+40
		}
	} else if p.mood != frozenIdle && p.mood != crashing {
		p.mood = frozenBusy
	}
}

// check says of an action what is wrong with it.
func (w *world) check(a *Action) {
	p := w.find(a.Agent)
	bad := func(format string, args ...any) {
		w.Errorf("step %d, %s of %s (%s; %v): %s", w.step, a.Rule, a.Agent, a.Reason, a.Evidence, fmt.Sprintf(format, args...))
	}
	if a.Reason == "" || len(a.Evidence) == 0 || slices.Contains(a.Evidence, "") {
		bad("it has no reason or no evidence")
	}
	if w.ids[a.ID] {
		bad("its id was there before")
	}
	w.ids[a.ID] = true
	quiet := a.Kind == Tell || a.Kind == Observe
	if !quiet && w.hands(p) {
		bad("a person is there")
	}
	if !quiet && (p.Stand == Limited || p.Stand == Waits || p.Stand == Taken || p.Stand == Stopped || p.Stand == Down) {
		bad("it is %s", p.Stand)
	}
	switch a.Rule {
	case ruleFrozen, ruleSentry, ruleRestart:
		if p.stuck == 0 && p.Stand != Crashed {
			bad("it is not stuck")
		}
	case ruleGiveUp:
		if p.stuck == 0 && p.Stand != Crashed || a.To != "user" {
			bad("it is not stuck, or %q is told", a.To)
		}
	case ruleHindered:
		if p.stuck == 0 && p.Stand != Crashed && p.Stand != Taken || !p.Person && p.Stand != Taken || a.To != "user" {
			bad("nothing is in the way, or %q is told", a.To)
		}
	case ruleNudge:
		if p.Stand != Idle || len(p.Todo) == 0 || !p.Leads {
			bad("nothing to nudge it about")
		}
		var keys []string
		for _, i := range p.Todo {
			keys = append(keys, i.Key)
		}
		w.nudged[a.Agent]++
		if !slices.Equal(keys, w.asked[a.Agent]) {
			w.nudged[a.Agent], w.asked[a.Agent] = 1, keys
		}
		if w.nudged[a.Agent] > w.config.Nudges {
			bad("%d nudges about the same", w.nudged[a.Agent])
		}
	case ruleReset:
		if p.Task != "" || !p.Next || p.Tasks < 1 || w.config.Quiet.Has(w.wall) {
			bad("task %q, next %v, %d tasks, at %s", p.Task, p.Next, p.Tasks, w.wall)
		}
	case ruleCompact:
		if p.Context < w.config.CompactShare || p.Stand != Idle || p.Permanent && w.config.Quiet.Has(w.wall) {
			bad("context %d", p.Context)
		}
	case ruleLoop:
		if p.Calls < w.config.LoopCalls {
			bad("it does not loop")
		}
	case ruleRole:
		if p.RoleMissing == "" {
			bad("it has its role")
		}
	case ruleSentryOver:
		if !p.Sentry {
			bad("it is no sentry")
		}
	}
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.Name == a.Rule })
	r := Rules()[i]
	if w.taken[a.Rule] == nil {
		w.taken[a.Rule] = map[string][]int{}
	}
	at := slices.DeleteFunc(w.taken[a.Rule][a.Agent], func(s int) bool { return w.step-s >= w.steps(r.Per)-60 })
	if at = append(at, w.step); len(at) > r.Most {
		bad("%d times in %s", len(at), r.Per)
	}
	w.taken[a.Rule][a.Agent] = at
	w.counts[a.Rule]++
}

// carry does what an action says.
func (w *world) carry(a *Action) {
	p := w.find(a.Agent)
	if a.Kind == Relaunch || a.Kind == Spawn || a.Kind == Reset {
		delete(w.asked, a.Agent) // what it was nudged about is new to it
	}
	switch a.Kind {
	case Nudge, Inject:
		if p.mood == resting {
			p.Sign, p.react, p.lazy = w.wall, w.step+1, w.rnd.IntN(2) == 0
		}
	case Relaunch:
		w.thaw(p, 0.5)
	case Reset:
		p.Began, p.Tasks, p.Context, p.Compactions = w.wall, 0, 10, 0
		if p.stuck > 0 || p.mood == crashing {
			w.thaw(p, 0.5)
		} else {
			p.Life, p.Sign = p.Life+1, w.wall
		}
	case Spawn:
		if w.find("sentry") != nil {
			w.Errorf("step %d: two sentries", w.step)
		}
		w.sentry = w.step
		w.players = append(w.players, &player{Agent: Agent{Name: "sentry", Supervisor: "user", Sentry: true, Stand: Busy, Life: 1, Sign: w.wall, Began: w.wall}, mood: working})
		if w.rnd.IntN(2) == 0 {
			w.thaw(p, 1)
		}
	case End:
		if d := w.step - w.sentry; d > w.steps(w.config.SentryWithin+w.config.PersonWithin)+2 {
			w.Errorf("step %d: the sentry was there for %d steps", w.step, d)
		}
		w.players = slices.DeleteFunc(w.players, func(p *player) bool { return p.Sentry })
	case Compact:
		if w.rnd.IntN(3) > 0 {
			p.Compactions, p.Context = p.Compactions+1, 15
		}
		p.Sign = w.wall
	case Tell:
		if a.Rule == ruleRole {
			p.RoleMissing = ""
		}
		if a.Rule == ruleHindered {
			p.told = true
		}
		if a.Rule == ruleGiveUp { // a person comes
			w.thaw(p, 1)
		}
	}
}

func (w *world) facts() Facts {
	w.buf = w.buf[:0]
	for _, p := range w.players {
		w.buf = append(w.buf, p.Agent)
		if a := &w.buf[len(w.buf)-1]; p.Leads {
			// What waits is looked at where that may come to something.
			if a.Looked = p.Stand == Idle && !w.chance(5); !a.Looked {
				a.Todo, a.Backlog = nil, nil
			}
		}
	}
	return Facts{Config: w.config, Agents: w.buf}
}

// restart is a watch that was killed: what it wrote down is all that is left.
func (w *world) restart() {
	w.state = State{}
	var all []entry
	for _, e := range w.log {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int { return int(a.clk - b.clk) })
	for _, e := range all {
		w.state = w.state.Restore(e.act.Agent, e.seen, e.clk, e.at)
	}
}

func (w *world) run(steps int) {
	for range steps {
		w.step++
		w.wall = w.wall.Add(stepTime)
		w.eventful = w.rnd.Uint32()%rare == 0
		switch {
		case w.chance(0.3): // the clock is set
			w.wall = w.wall.Add(time.Duration(w.rnd.IntN(12)-6) * time.Hour)
		case w.chance(0.3): // the machine sleeps
			w.wall = w.wall.Add(8 * time.Hour)
		}
		for _, p := range w.players {
			w.live(p)
		}
		var acts []Action
		w.state, acts = Step(w.state, w.facts(), w.wall)
		for _, a := range acts {
			killed := w.rnd.IntN(60) == 0
			if killed && w.rnd.IntN(2) == 0 { // before it did anything
				w.restart()
				break
			}
			if p := w.find(a.Agent); p != nil {
				w.check(&a)
				w.carry(&a)
			}
			w.log[a.Agent] = entry{a, w.state.Agents[a.Agent], w.wall, w.state.Clock}
			if killed {
				w.restart() // what took place is found out
				break
			}
		}
		w.stuckInTime()
		if w.Failed() {
			return
		}
	}
}

// stuckInTime fails where an agent stands still for longer than all that can be
// done about it takes, with nobody in the way.
func (w *world) stuckInTime() {
	c := &w.config
	most := w.steps(4*c.FrozenAfter+c.IdleAfter+c.SentryWithin+3*c.NudgeEvery) * 3
	for _, p := range w.players {
		if p.Sentry && w.hands(p) {
			w.sentry = w.step
		}
		if p.stuck == 0 || p.Stand != Busy || !p.Person {
			p.met = 0
		} else if p.met++; p.met > w.steps(c.IdleAfter+2*c.FrozenAfter)*2 && !p.told && w.state.Agents[p.Name].Rung < leftAlone {
			w.Errorf("step %d: %s is stuck since step %d, a draft is in the way, and nobody is told: %+v", w.step, p.Name, p.stuck, w.state.Agents[p.Name])
		}
		if p.stuck == 0 || w.hands(p) || p.Stand != Busy && (len(p.Todo) == 0 || !p.Leads) {
			continue
		}
		if p.seen++; p.seen > most {
			w.Errorf("step %d: %s is stuck since step %d, with nobody in the way for %d: %+v", w.step, p.Name, p.stuck, p.seen, w.state.Agents[p.Name])
		}
	}
}

// A month of twelve agents.
func TestMonth(t *testing.T) {
	w := newWorld(t, 6)
	w.run(w.steps(30 * 24 * time.Hour))
	for _, r := range Rules() {
		if w.counts[r.Name] == 0 {
			t.Errorf("the rule %q was never taken", r.Name)
		}
	}
	t.Log(w.counts)
}

// Other weeks.
func TestWeeks(t *testing.T) {
	for seed := range uint64(2) {
		w := newWorld(t, seed+100)
		w.run(w.steps(7 * 24 * time.Hour))
	}
}

// An organization that has nothing to do causes nothing, however long, whatever
// the clock does; one thing that nobody acts on costs what its bound says.
func TestIdleCostsNothing(t *testing.T) {
	w := newWorld(t, 6)
	w.config.Stale = false
	for i := range 60 * 24 * 7 {
		w.wall = w.wall.Add(time.Minute)
		if i%977 == 0 {
			w.wall = w.wall.Add(time.Duration(w.rnd.IntN(48)-24) * time.Hour)
		}
		var acts []Action
		if w.state, acts = Step(w.state, w.facts(), w.wall); len(acts) > 0 {
			t.Fatalf("%+v", acts)
		}
	}
	w.players[0].Todo = []Item{{Key: "x", Text: "task t1 is blocked"}}
	w.players[0].Backlog = &Item{Key: "b", Text: "t2"}
	var rules []string
	for i := range 60 * 24 * 2 {
		w.wall = w.wall.Add(time.Minute)
		var acts []Action
		w.state, acts = Step(w.state, w.facts(), w.wall)
		for _, a := range acts {
			rules = append(rules, a.Rule)
			if a.Kind == Nudge || a.Kind == Inject { // it reads it, and does nothing
				w.players[0].Sign = w.wall
			}
		}
		if i > 60 && len(acts) > 0 {
			t.Fatalf("after an hour: %+v", acts)
		}
	}
	if got := strings.Join(rules, ", "); got != "nudge, nudge, nudge, injection" {
		t.Error(got)
	}
}
