package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// HookReply is the answer to a hook of an agent's program.
type HookReply struct {
	Stdout string `json:"stdout,omitempty"` // that the hook command is to print
	Exit   int    `json:"exit,omitempty"`   // and to end with
}

// hookPayload is what comes with an event of cmux's own.
type hookPayload struct {
	Text       string    `json:"text"`
	Options    []string  `json:"options"`
	Until      time.Time `json:"until"`
	Used       dag.Usage `json:"used"`
	Background int       `json:"background"`
	Tokens     int64     `json:"tokens"`
	Window     int64     `json:"window"`
}

// hookEvents are the events that every kind may send with `cmux hook`.
var hookEvents = map[string]func(hookPayload) news.Event{
	"activity":    func(hookPayload) news.Event { return nil },
	"turn-ended":  func(p hookPayload) news.Event { return news.TurnEnded{Said: p.Text, Background: p.Background} },
	"prompt":      func(p hookPayload) news.Event { return news.Prompted{Text: p.Text} },
	"question":    func(p hookPayload) news.Event { return news.Asked{Question: question.New(p.Text, p.Options...)} },
	"limited":     func(p hookPayload) news.Event { return news.LimitMet{Text: p.Text, Until: p.Until} },
	"resumed":     func(hookPayload) news.Event { return news.WentOn{} },
	"usage":       func(p hookPayload) news.Event { return news.Used{Usage: p.Used} },
	"context":     func(p hookPayload) news.Event { return news.Filled{Tokens: max(0, p.Tokens), Window: max(0, p.Window)} },
	"compacted":   func(p hookPayload) news.Event { return news.Compacted{Trigger: p.Text} },
	"shell-began": func(p hookPayload) news.Event { return news.ShellBegan{ID: cmp.Or(p.Text, "shell")} },
	"shell-ended": func(p hookPayload) news.Event { return news.ShellEnded{ID: cmp.Or(p.Text, "shell")} },
}

// ParseEvent reads one of cmux's own events: activity, turn-ended, prompt,
// question, limited, resumed, usage, context, compacted, shell-began and
// shell-ended, with an optional JSON payload {"text", "options", "until", "used",
// "background", "tokens", "window"}; used is a dag.Usage. The text of turn-ended is what
// the turn said.
func ParseEvent(event string, payload json.RawMessage) ([]news.Event, error) {
	means, ok := hookEvents[event]
	if !ok {
		return nil, fmt.Errorf("unknown event %q", event)
	}
	var p hookPayload
	if len(payload) > 0 {
		if err := json.Unmarshal(payload, &p); err != nil {
			return nil, fmt.Errorf("event %s: %w", event, err)
		}
	}
	if e := means(p); e != nil {
		return []news.Event{e}, nil
	}
	return nil, nil
}
