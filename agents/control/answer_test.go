package control

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/graphs"
	"cmux/agents/control/overview"
	"cmux/agents/control/runs"
	"cmux/agents/kinds/question"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// An answer to a question about a tool call that may be a yes or a no is not sent, and the
// ways out are.
func TestUnclearAnswer(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"))
	q := question.Permit("use Bash? make", "", question.Permission{Tool: "Bash", Command: "make"})
	r := asking("api", q.String())
	r.Question = &q
	s.record(r)
	for _, text := range []string{"ok go", "3"} {
		_, err := s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: text})
		refused(t, err, strconv.Quote(text)+" is neither a yes nor a no: nothing was sent", "cmux agents answer api yes, or cmux agents answer api 'no, and why'")
	}
	for _, text := range []string{"yes", "no, and why"} {
		if got, err := s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: text}); err != nil || !got.Asked {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, c := range []struct{ outcome, word string }{
		{"answered: refused, with your words: may it use Bash? make", "refused, with your words: may it use Bash? make"},
		{"answered", "answered"},
		{"waits: a slot", "not read yet: a slot"},
	} {
		var a commands.Answered
		a.Outcome, a.Why = attempt.ParseOutcome(c.outcome)
		if got := a.Word(); got != c.word {
			t.Errorf("%q is told as %q", c.outcome, got)
		}
	}
}

func TestQuestionAndAnswer(t *testing.T) {
	s := begun(t, chain)
	_, err := s.Commands().Question(t.Context(), "look")
	refused(t, err, "look is a gate", "cmux agents approve look")
	_, err = s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "x"})
	refused(t, err, "api is not running (ready)", "")

	s.record(started("api"))
	_, err = s.Commands().Question(t.Context(), "api")
	refused(t, err, "api asks nothing (running)", "cmux agents answer api TEXT, which tells it something all the same")
	if got, err := s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "mind the gap"}); err != nil || got.Asked {
		t.Errorf("%+v, %v", got, err)
	}

	q1 := question.New("Which one?", "Red", "Blue")
	r := asking("api", q1.String())
	r.Question = &q1
	s.record(r)
	s.clock(4 * time.Second)
	if v, err := s.Runs().View(t.Context()); err != nil || !reflect.DeepEqual(withoutID(t, runs.NewReport(v).Nodes[0].Question), &q1) {
		t.Errorf("status tells of %+v, %v", runs.NewReport(v).Nodes[0].Question, err)
	}
	q, err := s.Commands().Question(t.Context(), "api")
	if want := (&commands.Question{Node: "api", Text: "Which one?\n  1. Red\n  2. Blue", Question: question.New("Which one?", "Red", "Blue"), Age: 4 * time.Second}); err != nil || q.ID == "" || !reflect.DeepEqual(withoutID(t, &q.Question), &want.Question) || q.Node != want.Node || q.Text != want.Text || q.Age != want.Age {
		t.Errorf("%+v, %v; want %+v", q, err, want)
	}
	none, first := "", q.ID
	_, err = s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "2", Question: &none})
	refused(t, err, "api asks something else by now: nothing was sent to it, read what it asks first", "")
	_, err = s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "3"})
	refused(t, err, "there is no option 3: the question has 2 options", "")
	_, err = s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: " "})
	refused(t, err, "the answer is empty", "")
	if got, err := s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "2"}); err != nil || !got.Asked {
		t.Errorf("%+v, %v", got, err)
	}

	before := needIDs(t, s)
	s.clock(time.Second)
	s.record(r) // the same words once more
	_, err = s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "2", Question: &first})
	refused(t, err, "api asks something else by now: nothing was sent to it, read what it asks first", "")
	if after := needIDs(t, s); len(after) != 1 || slices.Equal(before, after) {
		t.Errorf("the need of another question is the same one: %q, %q", before, after)
	}
	q, err = s.Commands().Question(t.Context(), "api")
	if err != nil || q.ID == first {
		t.Fatalf("another question has the same id: %+v, %v", q, err)
	}
	if got, err := s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "2", Question: &q.ID}); err != nil || !got.Asked {
		t.Errorf("%+v, %v", got, err)
	}
	if got := s.pending(); got != "answer api, answer api, answer api" {
		t.Errorf("left for the runner: %s", got)
	}
}

// A gate waits since the last of its dependencies ended, or since the run began. Every
// view says the same time.
func TestGateAge(t *testing.T) {
	s := begun(t, chain+"  - {name: first, role: gate}\n")
	for _, n := range s.gates("first") {
		if !n.Since.IsZero() {
			t.Errorf("before the run began, %s waits since %s", n.Name, n.Since)
		}
	}
	s.record(run.Record{Type: run.RunnerUp})
	began := s.clock(0)
	s.record(started("api"), ended("api", dag.Done, ""), started("web"), ended("web", dag.Done, ""))
	open := s.clock(0)
	s.clock(time.Minute)
	since := map[string]time.Time{"first": began, "look": open}
	for _, n := range s.gates("first", "look") {
		if !n.Since.Equal(since[n.Name]) {
			t.Errorf("%s waits since %s, want %s", n.Name, n.Since, since[n.Name])
		}
	}
	v, err := s.Runs().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range graphs.GraphOf(v, s.Now()).Nodes {
		want, is := since[n.Name]
		if !is {
			continue
		}
		if age := s.Now().Sub(want); n.Since == nil || !n.Since.Equal(want) || n.Age != age.Seconds() {
			t.Errorf("the graph: %s waits since %v for %g s, want %s", n.Name, n.Since, n.Age, want)
		}
		if in := runs.Inspect(v, v.Run.Plan.Graph.Index(n.Name)); !in.Since.Equal(want) {
			t.Errorf("the inspection: %s waits since %s, want %s", n.Name, in.Since, want)
		}
	}
}

// gates are the gates that wait, which have to be these.
func (s *scratch) gates(names ...string) (gates []overview.Need) {
	s.t.Helper()
	v, err := s.Runs().View(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, n := range overview.ViewNeeds(v) {
		if n.Kind == overview.NeedNode {
			gates, got = append(gates, n), append(got, n.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		s.t.Fatalf("%v wait, want %v", got, names)
	}
	return gates
}

// withoutID is a question as it is recorded.
func withoutID(t *testing.T, q *question.Question) *question.Question {
	t.Helper()
	if q == nil || q.ID == "" {
		t.Fatalf("no id: %+v", q)
	}
	w := *q
	w.ID = ""
	return &w
}

// needIDs are the ids of what waits in nodes of the run.
func needIDs(t *testing.T, s *scratch) (ids []string) {
	t.Helper()
	v, err := s.Runs().View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range overview.ViewNeeds(v) {
		ids = append(ids, n.ID)
	}
	return ids
}
