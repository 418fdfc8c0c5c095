package runs

import (
	"fmt"
	"time"

	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
)

// parting says what a run that was stopped or interrupted still waits for.
func parting(h *run.History, rec *run.Record) string {
	var live []string
	for i := range h.Nodes {
		if h.Nodes[i].Fact.Live() {
			live = append(live, h.Graph.Nodes[i].Name)
		}
	}
	if len(live) == 0 {
		return ""
	}
	why := "stopped"
	if rec.Detail == run.HowInterrupted {
		why = "interrupted (again: leaves at once)"
	}
	return fmt.Sprintf("%s: ending %s, for at most %s", why, say.List(live, 10), runner.StopPatience)
}

// Story is a record in one line; empty for what goes without saying.
func Story(h *run.History, rec *run.Record) string {
	line := ""
	switch rec.Type {
	case run.Stopped:
		return parting(h, rec)
	case run.Requested:
		if rec.Detail == "" {
			return ""
		}
		line = rec.How + " was refused: " + say.Line(rec.Detail)
	case run.Moved:
		line = say.Line(rec.Detail)
	case run.Started:
		line = "started"
		if rec.Attempt > 1 {
			line = fmt.Sprintf("started, attempt %d", rec.Attempt)
		}
	case run.AttemptEnd:
		line = rec.End.Label().String()
		if i := h.Graph.Index(rec.Node); i >= 0 {
			if f := &h.Nodes[i].Fact; !f.StartedAt.IsZero() {
				line += " after " + say.Span(rec.At.Sub(f.StartedAt))
			}
		}
		if Known(rec.End.Used) != nil {
			line += ", " + UsageText(rec.End.Used, dag.Budget{})
		}
		if rec.End.Retry {
			line += ", to be tried again"
		}
		if rec.End.Detail != "" {
			line += ": " + say.Line(rec.End.Detail)
		}
	case run.Vanished:
		line = run.HowLost
		if rec.How == run.HowStopped || rec.How == run.HowInterrupted {
			line = rec.How
		}
	case run.Blocked:
		line = "blocked by " + rec.Cause
	case run.Overridden:
		line = "decided by hand (" + rec.How + ")"
		if rec.Coded {
			line = "decided by hand (" + rec.How + ", with a code)"
		}
	case run.Opened:
		line = "waits for approval: cmux agents approve " + rec.Node
	case run.Reset:
		line = "runs again"
		if rec.Comment != "" {
			line = "sent back: " + say.Line(rec.Comment)
		}
	case run.Reviewed:
		line = rec.How + " in a review"
	case run.Incident:
		line = "incident: " + say.Line(rec.Detail)
	case run.Active:
		switch rec.Activity {
		case dag.NeedsInput, dag.AtLimit, dag.Checking:
			line = dag.LiveLabel(rec.Activity, time.Time{}).String()
		}
		if rec.Activity == dag.NeedsInput {
			line += ": " + say.Line(rec.Detail)
		}
	}
	if c := rec.Collision; c != nil {
		if now := h.Collision(c.A, c.B); now != nil && now.Since.Equal(rec.At) {
			return "collision: " + say.Line(c.String())
		}
		return ""
	}
	if line == "" {
		return ""
	}
	if rec.Node == "" && rec.Type == run.Incident {
		return line
	}
	if rec.Node == "" {
		return ""
	}
	return rec.Node + ": " + line
}
