package stdio

import (
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
)

// Speech is a text or a thought that comes in pieces.
type Speech struct {
	kind event.Kind
	said strings.Builder
}

// Add takes a piece, and shows what was said before when it was of another
// kind, which it reports.
func (s *Speech) Add(to *agent.Stage, kind event.Kind, piece string) (shown bool) {
	if kind != s.kind {
		shown = s.Flush(to)
	}
	s.kind = kind
	s.said.WriteString(piece)
	if kind == event.Text {
		to.Unfinished.Say(piece)
	}
	return shown
}

// Flush shows what was said, and reports whether it was anything.
func (s *Speech) Flush(to *agent.Stage) bool {
	text := s.said.String()
	s.said.Reset()
	if strings.TrimSpace(text) == "" {
		return false
	}
	to.Show(event.Event{Kind: s.kind, Text: text})
	return true
}
