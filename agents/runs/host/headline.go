package host

import (
	"fmt"
	"strings"
	"time"

	"cmux/agents/platform/say"
	"cmux/agents/platform/tmux"
	"cmux/dag"
)

// Summary is the status of a run in a few figures.
type Summary struct {
	Need    int // nodes that need a person
	Gates   int // how many of them have no agent: they wait to be approved
	Done    int
	Failed  int // failed themselves, not because of a dependency
	Nodes   int
	Tokens  int64
	Limited bool
	Until   time.Time    // end of the first limit; zero: unknown
	State   dag.RunState // once the run has ended or its runner leaves; empty before
}

// headline returns a summary for tmux's status line.
func headline(s Summary) tmux.Headline {
	var full, brief []string
	if n := s.Need; n > 0 {
		text := fmt.Sprintf("%d need you", n)
		if n == 1 {
			text = "1 needs you"
		}
		loud := "#[fg=white bg=magenta bold] " + text + ": " + tmux.KeyNext + " #[default]"
		full, brief = append(full, loud), append(brief, loud)
	}
	if s.State != "" {
		full, brief = append(full, string(s.State)), append(brief, string(s.State))
	}
	if s.Failed > 0 {
		failed := fmt.Sprintf("#[fg=red]%d failed#[default]", s.Failed)
		full, brief = append(full, failed), append(brief, failed)
	}
	done := fmt.Sprintf("%d/%d", s.Done, s.Nodes)
	full, brief = append(full, done+" done"), append(brief, done)
	if s.Tokens > 0 {
		full = append(full, say.Short(s.Tokens)+" tokens")
	}
	if s.Limited {
		text := "limited"
		if !s.Until.IsZero() {
			text += " until " + s.Until.Format("15:04")
		}
		full, brief = append(full, text), append(brief, text)
	}
	return tmux.Headline{Full: strings.Join(full, " · "), Brief: strings.Join(brief, " · "), Gate: s.Gates > 0}
}

// looks are the styles of states, as in the table of `status`.
var looks = map[dag.NodeState]string{
	dag.NodeRunning: "fg=cyan", dag.NodeChecking: "fg=cyan",
	dag.NodeNeedsInput: "fg=magenta,bold", dag.NodeTakenOver: "fg=magenta,bold",
	dag.NodeLimited: "fg=magenta", dag.NodeDone: "fg=green", dag.NodeFailed: "fg=red",
	dag.NodeBlocked: "fg=yellow", dag.NodeLost: "fg=yellow", dag.NodeSkipped: "fg=green,dim",
}

// border returns the label in the border of a node's pane.
func border(l dag.Label) tmux.Label {
	return tmux.Label{State: l.String(), Why: l.Detail, Style: looks[l.State], Needs: l.State == dag.NodeNeedsInput}
}
