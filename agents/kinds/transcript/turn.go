package transcript

import (
	"encoding/json"

	"cmux/agents/records/event"
)

// LastTurn reads the Claude Code transcript at path and returns what the agent was given
// in the last turn there, what that turn said last, and whether it is over. A turn that
// was broken off counts as none. Without a turn, or a file that can be read,
// there is nothing, and it is over.
func LastTurn(path string) (given []string, said string, over bool) {
	over = true
	anyLine(path, nil, func(b []byte) bool {
		var l line
		if json.Unmarshal(b, &l) != nil {
			return false
		}
		for _, s := range l.signs() {
			if s.What == Read && over {
				given = nil
			}
			if s.What == Read || s.What == Carried {
				given, said, over = append(given, s.Text), "", false
			}
		}
		for _, e := range l.events() {
			switch e.Kind {
			case event.Compacted:
			case event.Interrupted:
				given, said, over = nil, "", true
			case event.Text:
				said, over = e.Text, l.Message.v.Stop != "tool_use"
			default:
				over = false
			}
		}
		return false
	})
	return given, said, over
}

// LastCodexTurn is LastTurn for the Codex rollout at path.
func LastCodexTurn(path string) (given []string, said string, over bool) {
	over = true
	anyLine(path, []byte(`"event_msg"`), func(b []byte) bool {
		var l struct {
			Type    string `json:"type"`
			Payload struct {
				Type string `json:"type"`
				Text string `json:"message"`
				Said string `json:"last_agent_message"`
			} `json:"payload"`
		}
		if json.Unmarshal(b, &l) != nil || l.Type != "event_msg" {
			return false
		}
		switch l.Payload.Type {
		case "task_started":
			if over {
				given = nil
			}
			said, over = "", false
		case "user_message":
			given = append(given, l.Payload.Text)
		case "task_complete":
			said, over = l.Payload.Said, true
		case "turn_aborted":
			said, over = "", true
		}
		return false
	})
	return given, said, over
}
