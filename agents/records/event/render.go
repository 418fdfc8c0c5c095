package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"cmux/agents/platform/harmless"
)

const (
	shownResult = 2000 // bytes shown of a tool's result
	shownInput  = 300  // of a tool's input
	wholeInput  = 8000 // of one that a person decides about
	shownPrompt = 4000
	briefText   = 160 // of a text in a line of its own

	// ThoughtMark begins each line of a thought.
	ThoughtMark = "~ "
	// QuoteMark begins what an agent was told.
	QuoteMark = "> "
)

// Quote is how the log of an attempt begins to show a prompt.
type Quote struct {
	Text  string
	More  bool // the rest of Text's last line belongs to it
	Lines int  // of the whole prompt
}

// Quoted is the quote of a prompt.
func Quoted(e Event) Quote {
	whole := strings.TrimSpace(Printable(e.Text))
	kept, cut := beginning(whole, shownPrompt)
	text := Indented(QuoteMark, "  ", kept)
	if cut > 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return Quote{Text: text, More: cut > 0, Lines: strings.Count(whole, "\n") + 1}
}

// Printer makes the lines that the log of an attempt and its pane show of
// events. It may be used by several goroutines.
type Printer struct {
	mu     sync.Mutex
	handed string // what the agent was told last and may come back as its prompt
}

// Lines are an event as text; empty: it is not shown, or others show it.
func (p *Printer) Lines(e Event) string {
	text := strings.TrimSpace(Printable(e.Text))
	switch e.Kind {
	case Prompt:
		if p.repeated(text) {
			return ""
		}
		return Indented(QuoteMark, "  ", Cut(text, shownPrompt))
	case HandBack, Answer:
		p.hand(text)
		return Indented(QuoteMark, "  ", text)
	case Thought:
		return Indented(ThoughtMark, ThoughtMark, text)
	case Text:
		return Indented("", "", text)
	case ToolUse:
		return Indented("* ", "  ", call(e))
	case ToolResult:
		if e.Failed {
			return Indented("  ! ", "  | ", Cut(text, shownResult))
		}
		return Indented("  | ", "  | ", Cut(text, shownResult))
	case Subagent:
		return fmt.Sprintf("── sub-agent %s %s\n", strings.TrimSpace(text), e.State)
	case RequestFailed:
		return Indented("! ", "  ", text)
	case Interrupted:
		return "! interrupted\n"
	case Compacted:
		return "! the conversation was compacted\n"
	case Question:
		return Indented("? ", "  ", text)
	case Report:
		return Indented("── reported "+e.State+": ", "   ", text)
	case Note:
		return Indented("── ", "   ", text)
	}
	return ""
}

func (p *Printer) hand(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handed = plain(text)
}

// repeated reports whether a prompt is what was handed over just before, which
// programs wrap and break anew.
func (p *Printer) repeated(prompt string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.handed == "" || !strings.Contains(plain(prompt), p.handed) {
		return false
	}
	p.handed = ""
	return true
}

func plain(s string) string { return strings.Join(strings.Fields(s), " ") }

// Brief is an event in one short line, for whoever watches many nodes; empty:
// it is not worth one.
func Brief(e Event) string {
	text, _ := beginning(plain(Printable(e.Text)), briefText)
	with := func(label string) string {
		if text == "" {
			return label
		}
		return label + ": " + text
	}
	switch e.Kind {
	case Text:
		return text
	case ToolUse:
		about, _ := beginning(plain(call(e)), briefText)
		return "* " + about
	case Denied:
		return with("! refused " + Printable(e.Tool))
	case RequestFailed:
		return with("! the call of the model failed")
	case Interrupted:
		return "! interrupted"
	case Compacted:
		return "! the conversation was compacted"
	case Question:
		return "? " + text
	case Answer:
		return with("> answered")
	case HandBack:
		return with("> sent back")
	case Report:
		return with("reported " + e.State)
	case Check:
		command := plain(Printable(e.Command))
		switch {
		case e.TimedOut:
			return "check timed out: " + command
		case e.Failed && e.Exit != nil:
			return fmt.Sprintf("check failed (exit %d): %s", *e.Exit, command)
		case e.Failed:
			return "check failed: " + command
		}
		return "check passed: " + command
	case Limit:
		return with("! limit")
	case End:
		return with("── " + e.State)
	}
	return ""
}

func call(e Event) string { return strings.TrimSpace(Printable(e.Tool + " " + About(e.Input))) }

// About says in a line what a tool is used for, from its input.
func About(input json.RawMessage) string { return about(input, shownInput) }

// Whole is About with far more of a long input: what a person reads before they
// allow the call.
func Whole(input json.RawMessage) string { return about(input, wholeInput) }

func about(input json.RawMessage, most int) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) == nil {
		for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "prompt", "description", "skill"} {
			var s string
			if json.Unmarshal(fields[name], &s) == nil && s != "" {
				return Cut(s, most)
			}
		}
		if len(fields) == 0 {
			return ""
		}
	}
	return Cut(string(input), most)
}

// Indented is a text with first before its first line and rest before the
// others; empty for an empty text.
func Indented(first, rest, text string) string {
	if text = strings.TrimRight(text, "\n "); text == "" {
		return ""
	}
	return first + strings.ReplaceAll(text, "\n", "\n"+rest) + "\n"
}

// Cut is the beginning of a text, of at most n bytes, whole characters only,
// and says how much is missing.
func Cut(s string, n int) string {
	kept, cut := beginning(s, n)
	if cut == 0 {
		return s
	}
	return fmt.Sprintf("%s (%d bytes more)", kept, cut)
}

// Printable is a text without what a terminal would obey.
func Printable(s string) string {
	return harmless.Text(s)
}
