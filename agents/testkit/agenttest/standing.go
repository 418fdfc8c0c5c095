package agenttest

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
)

// RunStanding takes a kind through the life of an agent that stays, without a
// terminal: messages and pieces of work one after the other, a limit, a person who
// takes it over, and the death of its program. It is one life, as the program of
// some takes seconds to begin.
func RunStanding(t *testing.T, subject Subject) {
	s := &stage{t: t, subject: subject}
	base := t.TempDir()
	s.player = subject.Play(t, base, Play{
		{Acts: []Act{Say("ready")}},
		{On: "MAIL", Acts: []Act{Say("thanks")}},
		{On: "WORK-ONE", Acts: []Act{work, Report("made it")}},
		{On: "WORK-TWO", Acts: []Act{Blocked("which one?"), Say("waiting")}},
		{On: "WORK-THREE", Acts: []Act{Do("echo three > c.txt && " + commit), Limit{}}},
		{On: "The limit is over", Acts: []Act{Report("three")}},
		{On: "WORK-FOUR", Acts: []Act{Hold("four"), Report("nothing was needed")}},
		{On: "LONG-TALK", Acts: []Act{Hold("for ever")}},
	})
	n := Node(s.kind().Name, s.player.Task("You are a worker."), func(n *dag.Node) {
		n.AutoAccept = s.kind().Can.AutoAccept != ""
	})
	s.Fixture = New(t, base, n, s.player.Env())
	s.Stay(s.player.Task("You are a worker."))
	s.Spec.Terms.Replies = true
	_, wait := s.Start()
	s.idles()

	s.tell("m1", "MAIL good morning", "")
	s.hears("good morning")
	s.reads("m1")
	s.idles()
	if r := s.replies(); len(r) == 0 || r[len(r)-1].Key != "m1" || r[len(r)-1].Detail != "thanks" {
		t.Errorf("the reply to m1 is recorded as %+v", r)
	}

	s.does("T1", "WORK-ONE")
	if end := s.over("T1"); end.Outcome != dag.Done || end.Commits != 1 || end.Summary != "made it" {
		t.Errorf("T1 ended as %+v", *end)
	}
	s.idles()
	s.does("T2", "WORK-TWO")
	if end := s.over("T2"); end.Outcome != dag.Failed || end.Reason != dag.ReasonReported || end.Detail != "which one?" {
		t.Errorf("T2 ended as %+v", *end)
	}
	s.idles()
	if s.kind().Can.Limits != "" {
		s.does("T3", "WORK-THREE")
		if end := s.over("T3"); end.Outcome != dag.Done || end.Summary != "three" {
			t.Errorf("T3 ended as %+v", *end)
		}
		if l := s.Last(run.Limited); l == nil {
			t.Error("no limit is recorded")
		}
		s.idles()
	}

	// Mail while it works: it keeps no report from being judged, and is read once.
	s.does("T4", "WORK-FOUR")
	s.at("four")
	s.holds("", false)
	s.tell("m2", "MAIL no hurry", "")
	s.tell("m3", "MAIL look at this", mailbox.Urgent)
	if s.kind().Can.TakeOver != "" && s.kind().Can.Urgent == "" && slices.Contains(s.told(), "m3") {
		t.Error("it takes nothing within a turn, and was told")
	}
	s.player.Release("four")
	if end := s.over("T4"); end.Outcome != dag.Done {
		t.Errorf("T4 ended as %+v", *end)
	}
	s.reads("m2")
	s.reads("m3")
	s.idles()

	// Told to compact at rest it does so once, and mail comes after that.
	if s.kind().Can.Compacts != "" && s.kind().Can.Compacts != agent.CompactsInPane {
		s.Eventually("its turn has ended, and it compacts", func() bool {
			c := s.Dial()
			defer c.Close()
			_, err := c.Send(s.t.Context(), attempt.Message{Op: attempt.OpCompact, Key: "c1"})
			return err == nil
		})
		s.tell("m8", "MAIL after that", "")
		s.reads("m8")
		s.idles()
		s.order(attempt.Message{Op: attempt.OpCompact, Key: "c1"})
		var said []string
		for _, r := range s.Records() {
			if r.Type == run.Compacting && r.Value != "" || r.Type == run.Compacted {
				said = append(said, string(r.Type)+" "+r.Key)
			}
		}
		if got := strings.Join(said, ", "); got != "compacts c1, compacted c1" {
			t.Errorf("told to compact: %q", got)
		}
	}

	// A person has it: mail waits.
	s.order(attempt.Message{Op: attempt.OpTake})
	s.tell("m4", "MAIL for later", "")
	if st := s.order(attempt.Message{Op: attempt.OpStand}).Standing; st == nil || !st.Taken || !slices.Contains(st.Waiting, "m4") {
		t.Errorf("taken over it stands as %+v", st)
	}
	s.order(attempt.Message{Op: attempt.OpRelease})
	s.reads("m4")
	s.idles()

	if s.kind().Can.Interrupt != "" {
		s.tell("m5", "LONG-TALK", "")
		s.at("for ever")
		s.tell("m6", "MAIL stop that", mailbox.Interrupt)
		s.hears("stop that")
		s.reads("m6")
		s.idles()

		// Interrupted without a word, it rests, and what comes next is answered by itself.
		s.tell("m9", "LONG-TALK", "")
		s.at("for ever")
		s.order(attempt.Message{Op: attempt.OpEndTurn, Key: "e1"})
		s.idles()
		s.order(attempt.Message{Op: attempt.OpEndTurn, Key: "e1"}) // said again
		s.tell("m10", "MAIL after that", "")
		s.reads("m10")
		s.idles()
	}

	// Its program dies: it goes on in its conversation, and what it has read it is
	// not told again.
	before := s.Last(run.Conversed)
	if s.subject.Later != nil {
		s.subject.Later(t, proc.Getenv(s.Env, "HOME"))
	}
	for _, pid := range s.program() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	s.Eventually("its program starts again", func() bool {
		return slices.ContainsFunc(s.Records(), func(r run.Record) bool { return strings.Contains(r.Detail, "starts again") })
	})
	s.idles()
	s.tell("m7", "MAIL welcome back", "")
	s.reads("m7")
	if after := s.Last(run.Conversed); s.kind().Can.Resume != "" && after.Conversation != before.Conversation {
		t.Errorf("it goes on in conversation %s, not in %s", after.Conversation, before.Conversation)
	}
	s.idles()
	for _, id := range s.told() {
		if c := count(s.told(), id); c != 1 {
			t.Errorf("%s is confirmed %d times", id, c)
		}
		n, said := 0, ""
		for _, r := range s.replies() {
			if c := count(mailbox.IDs(r.Key), id); c > 0 {
				n, said = n+c, r.Detail
				if r.How == run.HowBrokenOff {
					said = r.How
				}
			}
		}
		if id == "m5" || id == "m9" { // the answer to what came then is no answer to it
			if n != 1 || said != run.HowBrokenOff {
				t.Errorf("%s, whose turn was broken off, is answered %d times, with %q", id, n, said)
			}
			continue
		}
		// The urgent one, and what goes with it, may be answered by the turn of the work.
		if n != 1 || said != "thanks" && id != "m2" && id != "m3" {
			t.Errorf("%s is answered %d times, with %q", id, n, said)
		}
	}
	s.order(attempt.Message{Op: attempt.OpStop})
	wait()
	s.holds("thanks", true)
	if left := s.Processes(); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// holds waits until the program's file of the conversation has this last turn, if the kind
// can read that file.
func (s *stage) holds(said string, over bool) {
	s.t.Helper()
	if s.kind().LastTurn == nil {
		return
	}
	conversation := ""
	if c := s.Last(run.Conversed); c != nil {
		conversation = c.Conversation
	}
	s.Eventually("its conversation has the turn "+said, func() bool {
		_, got, is := s.kind().LastTurn(s.Env, conversation)
		return got == said && is == over
	})
}

// replies are what its turns said.
func (s *stage) replies() (all []run.Record) {
	for _, r := range s.Records() {
		if r.Type == run.Replied {
			all = append(all, r)
		}
	}
	return all
}

func count(all []string, id string) (n int) {
	for _, x := range all {
		if x == id {
			n++
		}
	}
	return n
}

func (s *stage) order(m attempt.Message) attempt.Reply {
	s.t.Helper()
	c := s.Dial()
	defer c.Close()
	r, err := c.Send(s.t.Context(), m)
	if err != nil {
		s.t.Fatalf("%s: %v", m.Op, err)
	}
	return r
}

func (s *stage) tell(id, text string, u mailbox.Urgency) {
	s.t.Helper()
	s.order(attempt.Message{Op: attempt.OpTell, Key: id, Text: Envelope(id, text), Urgency: u})
}

// does gives it a piece of work.
func (s *stage) does(id, text string) {
	s.t.Helper()
	w := s.Work(id, text)
	w.Place.Commit = s.Git(s.Tree, "rev-parse", "HEAD")
	s.order(attempt.Message{Op: attempt.OpGive, Work: w})
}

// over waits for the end of a piece of work.
func (s *stage) over(id string) (end *run.End) {
	s.t.Helper()
	s.Eventually(id+" is over", func() bool {
		for _, r := range s.Records() {
			if r.Type == run.WorkEnded && r.Key == id {
				end = r.End
			}
		}
		return end != nil
	})
	return end
}

// told are the ids of the messages that it has read, as often as that is recorded.
func (s *stage) told() (ids []string) {
	for _, r := range s.Records() {
		if r.Type == run.Confirmed {
			ids = append(ids, mailbox.IDs(r.Key)...)
		}
	}
	return ids
}

// reads waits until it has read a message.
func (s *stage) reads(id string) {
	s.t.Helper()
	s.Eventually(id+" is read", func() bool { return slices.Contains(s.told(), id) })
}

// idles waits until it rests, with nothing on its way.
func (s *stage) idles() {
	s.t.Helper()
	s.Eventually("it rests", func() bool {
		c := s.Dial()
		defer c.Close()
		r, err := c.Send(s.t.Context(), attempt.Message{Op: attempt.OpStand})
		return err == nil && r.Standing != nil && r.Standing.Activity == dag.Resting && r.Standing.Work == "" && len(r.Standing.Waiting) == 0
	})
}
