package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"cmux/agents/transcript"
)

const (
	maxShown  = 2000 // bytes of a tool's result in the log
	maxAbout  = 300  // bytes of a tool's input
	maxPrompt = 4000
)

// render is an event as the log shows it; empty: it is not shown.
func render(e transcript.Event) string {
	text := printable(e.Text)
	switch e.Kind {
	case transcript.Prompt:
		return indent("> ", "  ", cut(text, maxPrompt))
	case transcript.Thought:
		return indent("~ ", "  ", text)
	case transcript.Text:
		return indent("", "", text)
	case transcript.ToolUse:
		return indent("* ", "  ", strings.TrimSpace(e.Tool+" "+printable(about(e.Input))))
	case transcript.ToolResult:
		mark := "  | "
		if e.Failed {
			mark = "  ! "
		}
		if strings.TrimSpace(text) == "" {
			return ""
		}
		return indent(mark, "  | ", cut(text, maxShown))
	case transcript.RequestFailed:
		return indent("! ", "  ", text)
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
	if json.Unmarshal(input, &fields) == nil {
		for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt", "description", "skill"} {
			var s string
			if json.Unmarshal(fields[name], &s) == nil && s != "" {
				return cut(s, maxAbout)
			}
		}
		if len(fields) == 0 {
			return ""
		}
	}
	return cut(string(input), maxAbout)
}

func indent(first, rest, text string) string {
	text = strings.TrimRight(text, "\n ")
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

// printable is a text without what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
