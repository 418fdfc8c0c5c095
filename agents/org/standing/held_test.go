package standing

import (
	"maps"
	"os"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/run"
)

// If an agent's conversation belongs to another account, the agent neither resumes it
// nor begins a new one until a person decides.
func TestHeldForItsAccount(t *testing.T) {
	w := newWorld(t)
	kinds := agent.NewKinds(agent.Kind{Name: "scripted", Judge: true, Home: agent.HomeIn("SCRIPTED_HOME", ".scripted")})
	o := w.org()
	for name, account := range map[string]string{"same": "scripted", "other": "scripted /elsewhere", "named": "scripted work"} {
		m := run.Member{Name: name, Role: Worker, ID: "ag_" + name, Dir: w.root, Kind: "scripted", Account: account}
		if err := o.Join(t.Context(), m, ""); err != nil {
			t.Fatal(err)
		}
	}
	o = w.org()
	if got := o.Accounts(kinds); !maps.Equal(got, map[string]string{"other": "scripted"}) {
		t.Fatalf("accounts that are others by now: %v", got)
	}
	if err := o.RecordOf(t.Context(), "other", run.Record{Type: run.Started, Attempt: 1}, run.Record{Type: run.Conversed, Attempt: 1, Conversation: "c1"},
		run.Record{Type: run.Vanished, Attempt: 1, How: run.HowStopped}); err != nil {
		t.Fatal(err)
	}
	if err := o.Hold(t.Context(), "other", "its conversation is another account's"); err != nil {
		t.Fatal(err)
	}
	w.kinds = kinds
	w.keep()
	w.until("the lives of the others", func(o *Org) bool { return w.lives1("same", 1)(o) && w.lives1("named", 1)(o) })
	a := w.org().Agents["other"]
	if word, detail := a.Stands(noon, false); a.Life.N != 1 || word != NeedsInput || detail != "its conversation is another account's" {
		t.Errorf("held: life %d, %s: %s", a.Life.N, word, detail)
	}
	w.answered(w.ask(OpReset, "other", Ask{}))
	o = w.until("its next life", w.lives1("other", 2))
	if a := o.Agents["other"]; a.Member.Account != "scripted" || a.Conversation != "" || a.Held != "" {
		t.Errorf("after a reset: %+v", a.State)
	}
}

// What cannot be read of one agent is no matter of the others'.
func TestOneBrokenAgent(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(w.r.NodeDir("bad"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", w.r.AgentRecords("bad")); err != nil {
		t.Fatal(err)
	}
	w.keep()
	if a := w.answered(w.spawn("api")); a.Refused != "" {
		t.Fatal(a.Refused)
	}
	o := w.until("a life", w.lives1("api", 1))
	if o.Broken["bad"] == nil || o.Agents["bad"] != nil {
		t.Errorf("broken: %v", o.Broken)
	}
}
