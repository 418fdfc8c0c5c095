package control

import (
	"slices"
	"testing"

	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A word to an agent does not take up a task of it that is blocked: what does is named.
func TestNoteBlocked(t *testing.T) {
	s := organized(t, standing.Settings{}, "api", "web")
	for _, agent := range []string{"api", "web"} {
		v, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("of " + agent)})
		if err != nil {
			t.Fatal(err)
		}
		s.attempts(agent, v.ID, run.End{Outcome: dag.Failed, Reason: dag.ReasonReported, Detail: "which port?"})
	}
	var said []string
	s.Note = func(line string) { said = append(said, line) }
	s.Crew().NoteBlocked("web")
	s.Crew().NoteBlocked("nobody")
	if want := []string{"t2 stays blocked (which port?) until it is assigned again: cmux tasks assign t2 web"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}
