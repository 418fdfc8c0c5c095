package control

import (
	"os/exec"
	"path/filepath"
	"testing"

	"cmux/agents/control/terminals"
	"cmux/agents/runs/run"
	"cmux/dag"
)

func TestAttach(t *testing.T) {
	s := begun(t, chain)
	_, err := s.Terminals().Attach(t.Context(), terminals.Attach{Node: "look"})
	refused(t, err, "look is a gate (waiting): nothing runs in it, so it has no pane", "cmux agents approve look")
	_, err = s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	refused(t, err, "api (ready): it has no pane, and no conversation to open again", "cmux agents logs api")
	s.record(started("api"))
	_, err = s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	refused(t, err, "api runs headless (running): it has no pane", "cmux agents logs api -f")

	s.record(run.Record{Type: run.Conversed, Node: "api", Attempt: 1, Conversation: "c-1"}, ended("api", dag.Done, ""))
	offer, err := s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	if err != nil || offer.Pane || offer.Conversation == nil || offer.Conversation.ID != "c-1" || offer.Conversation.Dir != s.Root {
		t.Fatalf("%+v, %v", offer, err)
	}
	_, err = s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api", Pane: true})
	refused(t, err, "api (done): it has no pane any more", "cmux agents attach api")
	_, err = s.Terminals().Reopen(offer)
	refused(t, err, "the conversation of api cannot be opened: command: its conversations cannot be opened again", "cmux agents logs api")

	offer, err = s.Terminals().Attach(t.Context(), terminals.Attach{})
	if err != nil || !offer.Pane {
		t.Fatalf("%+v, %v", offer, err)
	}
	_, err = s.Terminals().Show(t.Context(), offer, "", true)
	refused(t, err, "run "+s.run.Plan.ID+" is headless: there is no session", "cmux agents status --watch, or cmux agents logs NAME -f")
}

// What the run is about to continue is not opened beside it.
func TestAttachToWhatGoesOn(t *testing.T) {
	s := begun(t, "  - {name: api, task: 'true', retries: 2}\n")
	end := ended("api", dag.Failed, dag.ReasonExit)
	end.End.Retry, end.End.Conversation = true, "c-1"
	s.record(started("api"), end)
	s.hold()
	offer, err := s.Terminals().Attach(t.Context(), terminals.Attach{Node: "api"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Terminals().Reopen(offer)
	refused(t, err, "api has no agent now, and the run is about to start it (ready)", "cmux agents logs api")
}

func TestShellLine(t *testing.T) {
	cmd := &exec.Cmd{Dir: filepath.Join("/a b", "c"), Args: []string{"claude", "--resume", "it's"}}
	if got := terminals.ShellLine(cmd); got != `cd '/a b/c' && claude --resume 'it'\''s'` {
		t.Error(got)
	}
}
