package attempt_test

import (
	"fmt"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// What an agent sends is written by its attempt, which vouches for it: who it is
// from is not for the agent to say. What is not its to say, a secret, and a loop
// are refused.
func TestAgentSends(t *testing.T) {
	f := inTree(t, dag.Node{Agent: scripted.Name, Task: "sleep 1000 | echo here", VerifyAttempts: 2, Env: map[string]string{"SERVICE_TOKEN": "abcdefghijkl"}})
	f.job.Kinds = agent.NewKinds(scripted.Kind(true))
	if err := signals.Init(f.root); err != nil { // as every start does
		t.Fatal(err)
	}
	wait := f.start(t.Context())
	eventually(t, "it runs", func() bool { return f.log() != "" })
	send := func(token string, m *mailbox.Message) (id, why string) {
		r := f.say(attempt.Message{Op: attempt.OpSend, Token: token, Mail: m})
		return r.Text, r.Error
	}
	id, why := send("secret", &mailbox.Message{ID: "mine", From: "user", To: "supervisor", Subject: "[QUESTION] which price?", Body: "net or gross", Task: "t9", Urgency: mailbox.Urgent})
	if id == "" || id == "mine" || why != "" {
		t.Errorf("%q, %q", id, why)
	}
	for what, want := range map[string]string{"[DONE] x": "cmux done", "[TASK-CANCEL] x": "reserved for cmux", "it is abcdefghijkl": "$SERVICE_TOKEN", "": "subject is empty"} {
		if _, why := send("secret", &mailbox.Message{To: "supervisor", Subject: what}); !strings.Contains(why, want) {
			t.Errorf("%q: %q", what, why)
		}
	}
	if _, why := send("other", &mailbox.Message{To: "supervisor", Subject: "x"}); !strings.Contains(why, "token") {
		t.Errorf("%q", why)
	}
	if _, why := send("secret", nil); why == "" {
		t.Error("nothing was sent")
	}
	for i := range mail.Same + 1 {
		_, why := send("secret", &mailbox.Message{To: "w1", Subject: "again"})
		if refused := i >= mail.Same-1; (why != "") != refused {
			t.Errorf("%d: %q", i, why)
		}
	}
	first := ""
	for range 2 * mail.Same {
		id, why := send("secret", &mailbox.Message{Type: mailbox.StatusUpdate, Subject: "running the tests"})
		if first == "" {
			first = id
		}
		if why != "" || id != first {
			t.Errorf("what it does, again: %q (%q), %q", id, first, why)
		}
	}
	if id, why := send("secret", &mailbox.Message{Type: mailbox.StatusUpdate, Subject: "writing"}); id == first || why != "" {
		t.Errorf("after it has begun again: %q, %q", id, why)
	}
	f.done("nothing was needed: x")
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
	box, err := mail.Box(f.root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	said := 0
	_, err = box.Read(mailbox.Place{}, nil, func(l mailbox.Line) error {
		if l.Type == mailbox.StatusUpdate {
			said++
			return nil
		}
		got = append(got, fmt.Sprintf("%s>%s %v", l.From, l.To, l.Verified))
		if len(got) == 1 && (l.Body != "net or gross" || l.Task != "" || l.Urgency != mailbox.Urgent || l.ID != id) {
			t.Errorf("%+v", l)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if said != 2 {
		t.Errorf("it said %d times what it does", said)
	}
	// Of the loop the supervisor is told once.
	if len(got) != 1+mail.Same-1+1 || got[0] != "node:a>supervisor true" || got[len(got)-1] != "monitor>supervisor true" {
		t.Errorf("%q", got)
	}
	if !strings.Contains(f.log(), "sent message "+id+" to supervisor") {
		t.Errorf("the log: %s", f.log())
	}
}
