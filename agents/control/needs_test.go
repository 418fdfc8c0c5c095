package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/letters"
	"cmux/agents/control/overview"
	"cmux/agents/control/runs"
	"cmux/agents/control/tasks"
	"cmux/agents/kinds/question"
	"cmux/agents/org/standing"
	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// waiting lists what waits for the person, each with its run.
func (s *scratch) waiting() (all []string, needs []overview.Need) {
	s.t.Helper()
	l, err := s.Overview().Needs(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if l.Total != len(l.Items) {
		s.t.Errorf("%d wait, %d are listed", l.Total, len(l.Items))
	}
	for _, n := range l.Items {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s of %s", n.Kind, n.Name, n.Session), " of "))
	}
	slices.Sort(all)
	return all, l.Items
}

// Work can be reviewed as soon as its node is done. What a gate waits for, a failure stops
// and a person reviews is in their cases. Nothing waits in a stopped run.
func TestNeedsOfARun(t *testing.T) {
	s := newScratch(t, `session: scratch
agents:
  - {name: a, agent: command, task: 'echo 1 > a; git add a; git commit -qm A', verify: [test -e a]}
  - {name: b, agent: command, task: 'echo before; echo broken; exit 3'}
  - {name: look, role: gate, depends_on: [a]}
  - {name: ship, agent: command, role: review, depends_on: [look, b], task: 'true'}
`)
	s.begin(runner.StartOptions{Headless: true})
	stop := s.goes(func(v *run.View) bool {
		return v.Nodes[0].Status.Label.State == dag.NodeDone && v.Nodes[1].Status.Label.State == dag.NodeFailed
	})
	want := []string{"failure b of scratch", "node look of scratch", "review a of scratch"}
	got, needs := s.waiting()
	if !slices.Equal(got, want) {
		t.Fatalf("%q wait, want %q", got, want)
	}
	for _, n := range needs {
		c, err := s.Overview().Case(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		var blocks []string
		for _, b := range c.Blocks {
			blocks = append(blocks, b.Name)
		}
		switch n.Kind {
		case overview.NeedFailure:
			if !slices.Equal(blocks, []string{"ship"}) || c.Tail != "before\nbroken\n" || len(c.Node.Tries) != 1 {
				t.Errorf("%s blocks %q, its last lines are %q", n.Name, blocks, c.Tail)
			}
		case overview.NeedNode:
			if len(c.Below) != 1 || c.Below[0].Name != "a" || len(c.Below[0].Files) != 1 || !c.Below[0].Checks[0].Passed || !slices.Equal(blocks, []string{"ship"}) {
				t.Errorf("below %s: %+v, which blocks %q", n.Name, c.Below, blocks)
			}
		case overview.NeedReview:
			if c.Review == nil || c.Review.State != runs.ReviewOpen || len(c.Review.Files) != 1 {
				t.Errorf("%s: %+v", n.Name, c.Review)
			}
			if _, err := s.Commands().Judge(t.Context(), commands.Judgement{Node: "a", Verdict: run.VerdictApproved}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, _ := s.waiting(); slices.Contains(got, "review a of scratch") {
		t.Errorf("%q wait: a is approved", got)
	}
	stop()
	if got, _ := s.waiting(); len(got) > 0 {
		t.Errorf("%q wait in a stopped run", got)
	}
}

// A question that was put by a message waits once, and its answer settles both. So does a
// reply to the message.
func TestAnswerSettlesTheMessage(t *testing.T) {
	for _, how := range []string{"answer", "reply"} {
		s := begun(t, "  - {name: api, task: x}\n")
		post, err := mail.Open(s.Root, s.Now)
		if err != nil {
			t.Fatal(err)
		}
		m, err := post.Send(t.Context(), mailbox.Message{From: "api", To: "user", Subject: "[QUESTION] Which one?"}, false)
		if err != nil {
			t.Fatal(err)
		}
		q := question.New("Which one?")
		q.Message = m.ID
		r := asking("api", q.String())
		r.Question = &q
		s.record(started("api"), r)
		if got, _ := s.waiting(); !slices.Equal(got, []string{"node api of scratch"}) {
			t.Fatalf("%q wait", got)
		}
		if how == "reply" {
			_, err = s.Letters().Send(t.Context(), letters.Letter{To: "user", Subject: "Blue", Re: m.ID})
		} else {
			_, err = s.Commands().Answer(t.Context(), commands.Answer{Node: "api", Text: "Blue"})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.record(run.Record{Type: run.Active, Node: "api", Attempt: 1, Activity: dag.Working})
		l, err := s.Letters().List(t.Context(), letters.MailQuery{Inbox: true, Waiting: true})
		if err != nil || slices.ContainsFunc(l.Messages, func(one letters.Mail) bool { return one.ID == m.ID }) {
			t.Errorf("after the %s the message still waits: %+v, %v", how, l, err)
		}
	}
}

// goes carries the run, headless, and returns when it stands so. stop stops it.
func (s *scratch) goes(enough func(*run.View) bool) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() {
		_, err := runner.Run(ctx, runner.Options{Run: s.run, How: runner.HowStart, Kinds: s.Kinds})
		ended <- err
	}()
	for look := true; look; {
		v, err := s.run.View(ctx, time.Now())
		if err != nil {
			s.t.Error(err)
		}
		look = err == nil && !enough(v)
	}
	s.clock(time.Since(s.clock(0)))
	return func() {
		cancel()
		<-ended
	}
}

// A finished task waits for its merge. So does a run whose runner was killed, for its resume.
func TestNeedsOfATaskAndOfARunner(t *testing.T) {
	s := organized(t, standing.Settings{}, "ada")
	id := s.did("ada", "Sell bread", "main", nil, "bread", "b")
	if got, needs := s.waiting(); !slices.Equal(got, []string{"merge " + id}) || needs[0].Try != "cmux tasks merge "+id {
		t.Fatalf("%q wait: %+v", got, needs)
	}
	s.merged(tasks.MergeTasks{IDs: []string{id}})
	if got, _ := s.waiting(); len(got) > 0 {
		t.Errorf("%q wait: the task is merged", got)
	}
	s = begun(t, "  - {name: api, task: x}\n")
	s.record(run.Record{Type: run.RunnerUp})
	if got, needs := s.waiting(); !slices.Equal(got, []string{"run scratch of scratch"}) || needs[0].Try != "cmux agents resume" {
		t.Fatalf("%q wait: %+v", got, needs)
	}
	s.hold()
	if got, _ := s.waiting(); len(got) > 0 {
		t.Errorf("%q wait: the run has a runner", got)
	}
}

// A task and cmux's message about it are one thing that waits. What somebody else says of
// a task is another.
func TestMessageOfATask(t *testing.T) {
	s := organized(t, standing.Settings{}, "ada")
	id := s.did("ada", "Sell bread", "main", nil, "bread", "b")
	post, err := mail.Open(s.Root, s.Now)
	if err != nil {
		t.Fatal(err)
	}
	send := func(subject string, verified bool) string {
		m, err := post.Send(t.Context(), mailbox.Message{From: "ada", To: "user", Subject: subject, Task: id}, verified)
		if err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	told, said := send("[DONE] Sell bread", true), send("About the bread", false)
	got, needs := s.waiting()
	if want := []string{"merge " + id, "message " + said}; !slices.Equal(got, want) {
		t.Fatalf("%q wait, want %q", got, want)
	}
	for _, n := range needs {
		if n.Kind == overview.NeedMerge && !slices.Equal(n.Messages, []string{told}) {
			t.Errorf("messages of the merge: %q, want %q", n.Messages, told)
		}
	}
	s.merged(tasks.MergeTasks{IDs: []string{id}})
	if got, _ := s.waiting(); !slices.Contains(got, "message "+told) {
		t.Errorf("%q wait: the message was not read", got)
	}
}
