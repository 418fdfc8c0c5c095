package attempt

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/audit"
	"cmux/agents/records/event"
	"cmux/agents/runs/run"
)

// auditor writes the tool calls of a standing agent into the audit log, with their input
// and result.
type auditor struct {
	log    audit.Log
	line   audit.Line // the agent
	env    []string   // environment with the secrets to mask
	out    io.Writer
	calls  map[string]event.Event // that have no result yet, by id
	failed bool                   // the log could not be written
}

func newAuditor(s *run.Spec, stage *agent.Stage) *auditor {
	return &auditor{
		log: audit.Log{Root: s.Frame.Root, Now: time.Now}, line: audit.Line{Agent: s.Node, Session: s.Def.Env["CMUX_SESSION"]},
		env: append(slices.Clip(stage.Env), "CMUX_TOKEN="+s.Token), out: stage.Out, calls: map[string]event.Event{},
	}
}

// hear processes an event of the agent.
func (a *auditor) hear(e event.Event) {
	var call event.Event
	switch e.Kind {
	case event.ToolUse:
		if e.ToolID != "" {
			a.calls[e.ToolID] = e
			return
		}
		call, e = e, event.Event{}
	case event.ToolResult:
		call = a.calls[e.ToolID]
		delete(a.calls, e.ToolID)
	case event.Denied:
		call = e
		delete(a.calls, e.ToolID) // its result is only the refusal
	default:
		return
	}
	if call.Tool == "" {
		return // the result of a refused call, or of another life
	}
	line := a.line
	line.Tool, line.Input = call.Tool, run.Masked(a.env, event.About(call.Input))
	if e.Kind == event.Denied {
		line.Denied = run.Masked(a.env, e.Text)
	} else {
		line.Result, line.Failed = run.Masked(a.env, e.Text), e.Failed
	}
	if err := a.log.Append(context.Background(), line); err != nil && !a.failed {
		a.failed = true
		fmt.Fprintf(a.out, "── cmux: %v\n", err) // an event would come back here
	} else if err == nil {
		a.failed = false
	}
}
