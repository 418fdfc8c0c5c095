package standing

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/question"
	"cmux/agents/runs/run"
	"cmux/dag"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

// records of one agent, a second apart, numbered by attempt.
func joined() run.Record {
	return run.Record{Type: run.Joined, Member: &run.Member{Name: "api", Role: Worker, ID: "ag_00000000"}, Request: "q1"}
}
func rec(typ run.Type, n int) run.Record { return run.Record{Type: typ, Attempt: n} }
func given(id string) run.Record {
	return run.Record{Type: run.Given, Work: &run.Work{ID: id, Def: &dag.Node{Name: "api"}}}
}
func over(id string) run.Record {
	return run.Record{Type: run.WorkEnded, Key: id, End: &run.End{Outcome: dag.Done}}
}
func vanished(n int, how string) run.Record {
	return run.Record{Type: run.Vanished, Attempt: n, How: how, Detail: "gone"}
}
func conversed(n int, id string) run.Record {
	return run.Record{Type: run.Conversed, Attempt: n, Conversation: id}
}
func active(n int, a dag.Activity, detail string) run.Record {
	return run.Record{Type: run.Active, Attempt: n, Activity: a, Detail: detail}
}
func used(n int, tokens int64) run.Record {
	return run.Record{Type: run.Used, Attempt: n, Used: dag.Usage{Input: tokens}}
}
func noted(key string) run.Record {
	return run.Record{Type: run.Noted, Key: key, Request: "q2", Detail: "by a person"}
}

func fold(recs []run.Record) *State {
	s := new(State)
	for i := range recs {
		r := recs[i]
		r.At = at(i)
		s.Apply(&r)
	}
	return s
}

func TestStands(t *testing.T) {
	life := []run.Record{joined(), rec(run.Started, 1), rec(run.Began, 1)}
	loop := []run.Record{joined()}
	for n := 1; n <= 5; n++ {
		loop = append(loop, rec(run.Started, n), vanished(n, run.HowLost))
	}
	for _, c := range []struct {
		name   string
		recs   []run.Record
		org    bool // stopped as a whole
		after  int  // seconds after the last record
		word   Word
		detail string
		due    Due
	}{
		{"nothing", nil, false, 0, Down, "it was not started yet", Rest},
		{"made", []run.Record{joined()}, false, 0, Down, "it was not started yet", Begin},
		{"started", life[:2], false, 0, Starting, "", Rest},
		{"began", life, false, 0, Starting, "", Rest},
		{"at its prompt", append(slices.Clone(life), active(1, dag.Resting, "")), false, 0, Idle, "", Rest},
		{"at work", append(slices.Clone(life), active(1, dag.Working, "")), false, 0, Working, "", Rest},
		{"asks", append(slices.Clone(life), active(1, dag.NeedsInput, "which?")), false, 0, NeedsInput, "which?", Rest},
		{"what an earlier life did", append(slices.Clone(life), vanished(1, run.HowLost), rec(run.Started, 2), rec(run.Began, 2), active(1, dag.NeedsInput, "which?")), false, 0, Starting, "its program ended and starts again: gone", Rest},
		{"stopped and started", append(slices.Clone(life), vanished(1, run.HowStopped), rec(run.Started, 2)), false, 0, Starting, "", Rest},
		{"killed", append(slices.Clone(life), vanished(1, run.HowLost)), false, 0, Down, "gone", Begin},
		{"killed while all stop", append(slices.Clone(life), vanished(1, run.HowLost)), true, 0, Stopped, "", Begin},
		{"told to stop", append(slices.Clone(life), vanished(1, run.HowStopped)), false, 0, Down, "gone", Begin},
		{"its life is over twice", append(slices.Clone(life), vanished(1, run.HowStopped), rec(run.Began, 1)), false, 0, Down, "gone", Begin},
		{"four deaths", loop[:9], false, 0, Down, "gone", Wait},
		{"four deaths, and time", loop[:9], false, 5, Down, "gone", Begin},
		{"five deaths", loop, false, 3600, NeedsInput, "it ended five times in a row and is not started again: gone", Stuck},
		{"five deaths, and a person", append(slices.Clone(loop), rec(run.Resumed, 0)), false, 0, Down, "gone", Begin},
		{"stopped by a person", append(slices.Clone(life), rec(run.Stopped, 0), vanished(1, run.HowStopped)), false, 0, Stopped, "", Rest},
		{"ended, to be reset", append(slices.Clone(life), run.Record{Type: run.Noted, Key: keyResetting, Request: "q"}, vanished(1, run.HowStopped)), false, 0, Down, "gone", Wait},
		{"on its way out", append(slices.Clone(life), noted(keyLeaving)), false, 0, Going, "by a person", Rest},
	} {
		s := fold(c.recs)
		now := at(max(0, len(c.recs)-1) + c.after)
		word, detail := s.Stands(now, c.org)
		due, _ := s.Due(now)
		if word != c.word || detail != c.detail || due != c.due {
			t.Errorf("%s: %s (%s), due %d; want %s (%s), %d", c.name, word, detail, due, c.word, c.detail, c.due)
		}
	}
}

// Lives that end alike are bounded by their count, whatever the time between them. A
// life that did something is not one of them, unless it is one of many in minutes.
// The next life knows that the last one ended in a turn, until the agent has come to rest.
func TestMidway(t *testing.T) {
	work := func(n int) run.Record { return active(n, dag.Working, "") }
	rest := func(n int) run.Record { return active(n, dag.Resting, "") }
	starts := func(n int) run.Record { return rec(run.Started, n) }
	killed := func(n int) run.Record { return vanished(n, run.HowLost) }
	watched := run.Record{Type: run.Noted, Key: keyRelaunch, Attempt: 1, Request: "q3"}
	for _, c := range []struct {
		name string
		recs []run.Record
		want bool
		lost string
	}{
		{"never started", nil, false, ""},
		{"killed before it came", []run.Record{starts(1), killed(1)}, false, "gone"},
		{"killed at rest", []run.Record{starts(1), work(1), rest(1), killed(1)}, false, "gone"},
		{"killed in a turn", []run.Record{starts(1), rest(1), work(1), killed(1)}, true, "gone"},
		{"in a question", []run.Record{starts(1), work(1), active(1, dag.NeedsInput, "which?"), killed(1)}, true, "gone"},
		{"at a limit", []run.Record{starts(1), work(1), active(1, dag.AtLimit, ""), killed(1)}, true, "gone"},
		{"waiting for an answer to a message", []run.Record{starts(1), work(1), active(1, dag.NeedsInput, "asked api: which?"), killed(1)}, false, "gone"},
		{"in a person's hands", []run.Record{starts(1), work(1), active(1, dag.TakenOver, ""), killed(1)}, false, "gone"},
		{"stopped in a turn", []run.Record{starts(1), work(1), vanished(1, run.HowStopped)}, true, ""},
		{"killed again before it was told", []run.Record{starts(1), work(1), killed(1), starts(2), killed(2)}, true, "gone"},
		{"killed again when it was told", []run.Record{starts(1), work(1), killed(1), starts(2), work(2), killed(2)}, true, "gone"},
		{"killed again when it had gone on", []run.Record{starts(1), work(1), killed(1), starts(2), work(2), rest(2), killed(2)}, false, "gone"},
		{"its program ended and starts again", []run.Record{starts(1), work(1), active(1, dag.SettingUp, "its program ended"), killed(1)}, true, "gone"},
		{"its task was over", []run.Record{starts(1), given("t1"), work(1), over("t1"), killed(1)}, false, "gone"},
		{"reset since", []run.Record{starts(1), work(1), killed(1), rec(run.Reset, 0)}, false, "gone"},
		{"ended by the watch, which tells it itself", []run.Record{starts(1), work(1), watched, vanished(1, run.HowStopped)}, false, ""},
	} {
		s := fold(append([]run.Record{joined()}, c.recs...))
		if s.Midway != c.want || s.lost() != c.lost {
			t.Errorf("%s: midway %t, lost %q; want %t, %q", c.name, s.Midway, s.lost(), c.want, c.lost)
		}
	}
}

func TestCrashing(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // a life ends
		came  bool          // its wrapper lived
		uses  bool          // the model answered
		lives int           // until a person is asked; 0: never
	}{
		{"at once", time.Second, false, false, 5},
		{"each 22 s", 22 * time.Second, false, false, 5},
		{"each 22 s, begun", 22 * time.Second, true, false, 5},
		{"each 20 min, begun", 20 * time.Minute, true, false, 5},
		{"each 5 h, never begun", 5 * time.Hour, false, false, 5},
		{"each 2 h, begun", 2 * time.Hour, true, false, 0},
		{"each 22 s, at work", 22 * time.Second, true, true, 5},
		{"each 5 min, at work", 5 * time.Minute, true, true, 0},
	} {
		s, now, n := new(State), noon, 0
		put := func(r run.Record) { r.At = now; s.Apply(&r) }
		put(joined())
		for due, _ := s.Due(now.Add(time.Hour)); due == Begin && n < 50; due, _ = s.Due(now.Add(time.Hour)) {
			n++
			put(rec(run.Started, n))
			if c.came {
				put(rec(run.Began, n))
			}
			if c.uses {
				put(used(n, 10))
			}
			now = now.Add(c.every)
			put(vanished(n, run.HowLost))
		}
		if n != c.lives && (c.lives > 0 || n < 50) {
			t.Errorf("%s: a person is asked after %d lives, want %d", c.name, n, c.lives)
		}
		if c.lives == 0 {
			continue
		}
		if put(rec(run.Resumed, 0)); s.Crashing() {
			t.Errorf("%s: a person's order does not start it", c.name)
		}
	}
}

// An agent's conversation and work outlive each of its lives, and its work ends
// once.
func TestWorkAndConversation(t *testing.T) {
	s := fold([]run.Record{joined(), rec(run.Started, 1), rec(run.Began, 1), conversed(1, "c1"), given("t1"), used(1, 10),
		vanished(1, run.HowLost), rec(run.Started, 2), rec(run.Began, 2), used(2, 5), used(2, 7)})
	if s.Conversation != "c1" || s.Work == nil || s.Work.ID != "t1" || s.Used.Input != 17 || s.Life.N != 2 {
		t.Errorf("after a loss: %+v", s)
	}
	for _, r := range []run.Record{over("t0"), over("t1"), over("t1")} {
		s.Apply(&r)
	}
	if s.Work != nil || s.Tasks != 1 || s.Last == nil || s.Last.Work != "t1" {
		t.Errorf("after its end, told twice: %+v", s)
	}
	for _, r := range []run.Record{given("t2"), noted(keyResetting), vanished(2, run.HowStopped), rec(run.Reset, 0), conversed(2, "c1")} {
		s.Apply(&r)
	}
	if s.Conversation != "" || s.Work == nil || s.Tasks != 0 || s.Resets != 1 || s.Resetting != "" {
		t.Errorf("after a reset: %+v", s)
	}
	r := conversed(3, "c2")
	s.Apply(&r)
	if s.Conversation != "c2" {
		t.Errorf("the next conversation: %q", s.Conversation)
	}
}

// anything is a record of any type with values that may not go together.
func anything(r *rand.Rand) run.Record {
	types := []run.Type{run.Joined, run.Started, run.Began, run.Active, run.Conversed, run.Given, run.WorkEnded, run.Used, run.Vanished,
		run.AttemptEnd, run.Reset, run.Stopped, run.Resumed, run.Noted, run.Confirmed, run.Limited}
	id := string(rune('a' + r.IntN(3)))
	return run.Record{
		Type: types[r.IntN(len(types))], Attempt: r.IntN(4), At: at(r.IntN(100)), How: []string{run.HowLost, run.HowStopped}[r.IntN(2)],
		Key: []string{id, keyLeaving, keyResetting}[r.IntN(3)], Conversation: id, Activity: dag.Activity(r.IntN(7)), Detail: id,
		Work: &run.Work{ID: id, Def: &dag.Node{}}, End: &run.End{Outcome: dag.Done}, Member: &run.Member{Name: "api"}, Used: dag.Usage{Input: 3},
	}
}

// Whatever stands in the records, and wherever they are cut, they fold to a
// state that holds together.
func TestAnyPrefixFolds(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := new(State)
		for range 40 {
			was := s.Life.N
			rec := anything(r)
			s.Apply(&rec)
			holds(t, s)
			if s.Life.N < was {
				t.Fatalf("seed %d: life %d after %d", seed, s.Life.N, was)
			}
		}
	}
}

func holds(t *testing.T, s *State) {
	t.Helper()
	now := at(50)
	due, when := s.Due(now)
	word, _ := s.Stands(now, false)
	switch {
	case due == Wait && !when.After(now):
		t.Fatalf("to be started later, at %s", when)
	case due != Rest && (s.Life.On() || s.Leaving != ""):
		t.Fatalf("due %d of %+v", due, s)
	case word == "":
		t.Fatalf("no word for %+v", s)
	case len(s.Deaths) > keptDeaths, s.Resets < 0, s.Tasks < 0:
		t.Fatalf("%+v", s)
	}
}

func FuzzFold(f *testing.F) {
	for _, r := range []run.Record{joined(), rec(run.Started, 1), vanished(1, run.HowLost), over("t1"), given("t1"), noted(keyLeaving)} {
		b, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(b, '\n'))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		s := new(State)
		for line := range slices.Values(splitLines(lines)) {
			if rec, err := run.ParseRecord(line); err == nil {
				s.Apply(rec)
				holds(t, s)
			}
		}
	})
}

func splitLines(b []byte) (lines [][]byte) {
	begin := 0
	for i, c := range b {
		if c == '\n' {
			lines = append(lines, b[begin:i])
			begin = i + 1
		}
	}
	return append(lines, b[begin:])
}

func TestCheckName(t *testing.T) {
	for _, c := range []struct {
		name, role string
		ok         bool
	}{
		{"api", Worker, true}, {"a.b_c-1", Worker, true}, {"", Worker, false}, {"-x", Worker, false}, {"a b", Worker, false}, {"a/b", Worker, false},
		{"supervisor", Worker, false}, {"Supervisor", Worker, false}, {"supervisor", Supervisor, true}, {"boss", Supervisor, false},
		{"user", Worker, false}, {"ALL", Worker, false}, {"monitor", Worker, false}, {"node", Worker, false}, {"sentry", Worker, false}, {"sentry", Sentry, true},
		{"requests", Worker, false}, {"plan.json", Worker, false}, {"records.jsonl", Worker, false}, {"env", Worker, false}, {"tmux", Worker, false},
		{"sup-shop", Worker, false}, {"sup-shop", ProjectSupervisor, true}, {"perm-api", Worker, false}, {"perm-api", PermanentWorker, true}, {"api", PermanentWorker, true},
	} {
		if err := CheckName(c.name, c.role); (err == nil) != c.ok {
			t.Errorf("%q as %s: %v", c.name, c.role, err)
		}
	}
}

func TestNewID(t *testing.T) {
	asked := 0
	id := NewID(func(string) bool { asked++; return asked < 3 })
	if asked != 3 || len(id) != 11 || id[:3] != "ag_" {
		t.Errorf("%q after %d", id, asked)
	}
}

// The question that an agent put by a message is that of its next life, until it is
// answered or the agent is reset.
func TestPosedFold(t *testing.T) {
	asked := run.Record{Type: run.Posed, Attempt: 1, Posed: &question.Posed{Question: question.New("which?"), To: "user"}}
	starts, ended := run.Record{Type: run.Started, Attempt: 1}, run.Record{Type: run.Vanished, Attempt: 1, How: run.HowStopped}
	for _, c := range []struct {
		name string
		recs []run.Record
		asks bool
	}{
		{"it asks", []run.Record{asked}, true},
		{"at work, and then lost", []run.Record{asked, {Type: run.Active, Attempt: 1, Activity: dag.Working}, ended, {Type: run.Started, Attempt: 2}}, true},
		{"answered", []run.Record{asked, {Type: run.Posed, Attempt: 1}, ended}, false},
		{"reset", []run.Record{asked, {Type: run.Reset}, ended}, false},
		{"asked by a program that was reset", []run.Record{{Type: run.Reset}, asked}, false},
	} {
		s := State{}
		for _, rec := range append([]run.Record{starts}, c.recs...) {
			s.Apply(&rec)
		}
		if (s.posed != nil) != c.asks {
			t.Errorf("%s: %+v", c.name, s.posed)
		}
	}
}

// The messages that an agent read in a turn whose reply is not recorded are those of its
// next life.
func TestAnswersFold(t *testing.T) {
	reads := func(ids string) run.Record { return run.Record{Type: run.Confirmed, Attempt: 1, Key: ids} }
	working, rests := run.Record{Type: run.Active, Attempt: 1, Activity: dag.Working}, run.Record{Type: run.Active, Attempt: 1, Activity: dag.Resting}
	replied, ended := run.Record{Type: run.Replied, Attempt: 1, Key: "m1"}, run.Record{Type: run.Vanished, Attempt: 1, How: run.HowLost}
	for _, c := range []struct {
		name string
		recs []run.Record
		want string
	}{
		{"in the turn", []run.Record{reads("m1"), working, reads("m2,m3"), ended}, "m1 m2 m3"},
		{"after the turn", []run.Record{reads("m1"), working, replied, ended}, ""},
		{"in the next turn", []run.Record{reads("m1"), working, replied, rests, reads("m2"), working, ended}, "m2"},
		{"at rest, without replies", []run.Record{reads("m1"), working, rests, ended}, ""},
		{"reset", []run.Record{reads("m1"), working, ended, {Type: run.Reset}}, ""},
	} {
		s := State{}
		for _, rec := range append([]run.Record{{Type: run.Started, Attempt: 1}}, c.recs...) {
			s.Apply(&rec)
		}
		if got := strings.Join(s.answers, " "); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

func TestCompactionsFold(t *testing.T) {
	var s State
	at := time.Unix(1000, 0)
	take := func(r run.Record) *Compaction {
		at = at.Add(time.Second)
		r.At, r.Attempt = at, max(r.Attempt, 1)
		s.Apply(&r)
		return s.Compaction
	}
	take(run.Record{Type: run.Started})
	take(run.Record{Type: run.Filled, Context: &run.Context{Tokens: 150, Window: 200}})
	if got := s.Context.Share(1); got != 75 {
		t.Errorf("%d%%", got)
	}
	c := take(run.Record{Type: run.Compacting, Key: "o1", Value: "a.json", Detail: "ordered"})
	if c == nil || c.Order != "o1" || c.Artifact != "a.json" || !c.Done.IsZero() {
		t.Fatalf("%+v", c)
	}
	began := c.At
	if c = take(run.Record{Type: run.Compacted, Key: "o1", Value: "a.json"}); s.Compactions != 1 || c.Done.IsZero() || !c.At.Equal(began) {
		t.Errorf("%d, %+v", s.Compactions, c)
	}
	if c = take(run.Record{Type: run.Compacted, Detail: "auto"}); s.Compactions != 2 || c.Order != "" {
		t.Errorf("by itself: %d, %+v", s.Compactions, c)
	}
	// The wrapper that hears of it knows of no order, as one that began after a kill.
	for conversation, order := range map[string]string{"one": "o2", "": "o2", "other": ""} {
		take(run.Record{Type: run.Compacting, Key: "o2", Value: "b.json", Detail: "ordered", Conversation: "one"})
		n := s.Compactions
		if c = take(run.Record{Type: run.Compacted, Detail: "manual", Conversation: conversation, Attempt: 1}); s.Compactions != n+1 || c.Order != order || (c.Artifact == "b.json") != (order != "") || c.Done.IsZero() {
			t.Errorf("in %q: %d, %+v", conversation, s.Compactions-n, c)
		}
	}
	s.Compactions = 2
	if c = take(run.Record{Type: run.Reset}); c != nil || s.Context != (run.Context{}) || s.Compactions != 2 {
		t.Errorf("after a reset: %+v", s)
	}
	if c = take(run.Record{Type: run.Compacted, Key: "o1"}); c != nil {
		t.Errorf("of the conversation before: %+v", c)
	}
}

func TestWantsPerson(t *testing.T) {
	for detail, want := range map[string]bool{"": true, "may it use Bash?": true, "asked user: which": true, "asked user": true,
		"asked supervisor: which": false, "asked supervisor": false, "asked users: which": false} {
		if got := WantsPerson(NeedsInput, detail); got != want {
			t.Errorf("%q: %v", detail, got)
		}
	}
	if WantsPerson(Idle, "") {
		t.Error("an idle agent wants nothing")
	}
}
