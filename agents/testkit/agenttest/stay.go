package agenttest

import (
	"os"

	"cmux/agents/kinds/rights"
	"cmux/agents/records/mail"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// Stay makes the fixture's agent a standing one, which is told brief first.
func (f *Fixture) Stay(brief string) {
	f.T.Helper()
	self, err := os.Executable()
	if err != nil {
		f.T.Fatal(err)
	}
	frame, def := f.Run.Frame(), *f.Node
	if f.Run, err = run.CreateOrganization(f.Root, "s", "", f.Env, self); err != nil {
		f.T.Fatal(err)
	}
	frame.Run = f.Run.Mark()
	member := &run.Member{ID: "ag_00000000", Name: def.Name, Role: "worker", Kind: def.Agent, Dir: f.Spec.Place.Dir}
	f.Spec.Terms = owner.Terms{Stays: true, Keeps: true, Sits: true, Group: "workers", Asks: mailbox.Supervisor, Rights: rights.Holder{Stays: true}}
	f.Spec.Member, f.Spec.Brief, f.Spec.Def, f.Spec.Frame = member, brief, &def, frame
	f.began = 0
	f.Append(run.Record{Type: run.Joined, Node: def.Name, Member: member})
}

// Lives makes the next life of a standing agent, which goes on in a conversation
// with the work that it was at.
func (f *Fixture) Lives(conversation string, work *run.Work) {
	f.Spec.Attempt++
	f.Spec.Conversation, f.Spec.Work, f.Spec.Told, f.Spec.Answers = conversation, work, false, nil
	for _, r := range f.Records() {
		switch {
		case r.Type == run.Confirmed:
			f.Spec.Answers = append(f.Spec.Answers, mailbox.IDs(r.Key)...)
		case r.Type == run.Replied:
			f.Spec.Answers = nil
		case work == nil:
		case r.Type == run.Given:
			f.Spec.Told = false
		case r.Type == run.Told && r.Key == work.ID:
			f.Spec.Told = true
		}
	}
}

// Envelope is a message to an agent as it is handed over.
func Envelope(id, subject string) string {
	m := mailbox.Message{ID: id, From: "supervisor", Subject: subject}
	return mail.Text("", &mailbox.Line{Message: m, Verified: true})
}

// Work is a piece of work for a standing agent in the fixture's tree.
func (f *Fixture) Work(id, task string, verify ...string) *run.Work {
	def := *f.Spec.Def
	def.Task, def.Verify = task, verify
	return &run.Work{ID: id, Attempt: 1, Def: &def, Place: f.Spec.Place}
}
