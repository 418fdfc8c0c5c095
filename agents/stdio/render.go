package stdio

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"cmux/agents/transcript"
)

const (
	maxResult = 2000 // bytes shown of a tool's result
	maxInput  = 300  // of a tool's input
	maxPrompt = 4000
)

// Render is an event as the log and the pane show it; empty: it is not shown.
func Render(e transcript.Event) string {
	text := strings.TrimSpace(Printable(e.Text))
	switch e.Kind {
	case transcript.Prompt:
		return lines("> ", "  ", cut(text, maxPrompt))
	case transcript.Thought:
		return lines("~ ", "  ", text)
	case transcript.Text:
		return lines("", "", text)
	case transcript.ToolUse:
		return lines("* ", "  ", strings.TrimSpace(e.Tool+" "+Printable(about(e.Input))))
	case transcript.ToolResult:
		if e.Failed {
			return lines("  ! ", "  | ", cut(text, maxResult))
		}
		return lines("  | ", "  | ", cut(text, maxResult))
	case transcript.RequestFailed:
		return lines("! ", "  ", text)
	case transcript.Interrupted:
		return "! interrupted\n"
	case transcript.Compacted:
		return "! the conversation was compacted\n"
	}
	return ""
}

// about says in a line what a tool is used for.
func about(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return cut(string(input), maxInput)
	}
	for _, name := range []string{"command", "file_path", "path", "pattern", "url", "query", "prompt", "description"} {
		var s string
		if json.Unmarshal(fields[name], &s) == nil && s != "" {
			return cut(s, maxInput)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return cut(string(input), maxInput)
}

func lines(first, rest, text string) string {
	if text == "" {
		return ""
	}
	return first + strings.ReplaceAll(text, "\n", "\n"+rest) + "\n"
}

// cut is the beginning of a text, of at most n bytes, whole characters only.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + fmt.Sprintf("… (%d bytes more)", len(s)-end)
}

// Printable is a text without what a terminal would obey.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
