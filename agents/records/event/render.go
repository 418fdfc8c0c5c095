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
	wholeInput  = 8000 // of the input of a call that a person decides about
	shownPrompt = 4000
	briefText   = 160 // of a text on a line of its own

	// ThoughtMark begins each line of a thought.
	ThoughtMark = "~ "
	// QuoteMark begins each line of a prompt.
	QuoteMark = "> "
)

// Quote is the beginning of a prompt, as the log of an attempt shows it.
type Quote struct {
	Text  string
	More  bool // Text ends within a line
	Lines int  // of the whole prompt
}

// Quoted returns the quote of a prompt.
func Quoted(e Event) Quote {
	whole := strings.TrimSpace(Printable(e.Text))
	kept, cut := beginning(whole, shownPrompt)
	text := Indented(QuoteMark, "  ", kept)
	if cut > 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return Quote{Text: text, More: cut > 0, Lines: strings.Count(whole, "\n") + 1}
}

// Printer formats events as the lines that the log of an attempt and its pane show. It is
// safe for concurrent use.
type Printer struct {
	mu     sync.Mutex
	handed string // the last text sent to the agent, which may come back as its prompt
}

// Lines returns an event as text; empty: it is not shown here.
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
	case Fenced:
		return Indented("── outside the fence: ", "   ", text)
	}
	return ""
}

func (p *Printer) hand(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handed = plain(text)
}

// repeated reports whether a prompt is the text that was just sent; programs may wrap it
// differently.
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

// Brief returns an event as one short line, for a view of many nodes; empty: it is not
// shown there.
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
	case Fenced:
		return "! outside the fence: " + text
	case End:
		return with("── " + e.State)
	}
	return ""
}

func call(e Event) string { return strings.TrimSpace(Printable(e.Tool + " " + About(e.Input))) }

// About returns in one line what a tool call is about, from its input.
func About(input json.RawMessage) string { return about(input, shownInput) }

// Whole is About with far more of a long input, for a person who must allow the call.
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

// Indented returns a text with first before its first line and rest before the others; an
// empty text stays empty.
func Indented(first, rest, text string) string {
	if text = strings.TrimRight(text, "\n "); text == "" {
		return ""
	}
	return first + strings.ReplaceAll(text, "\n", "\n"+rest) + "\n"
}

// Cut returns the first n bytes of a text at most, in whole characters, and says how much
// is missing.
func Cut(s string, n int) string {
	kept, cut := beginning(s, n)
	if cut == 0 {
		return s
	}
	return fmt.Sprintf("%s (%d bytes more)", kept, cut)
}

// Printable returns a text without terminal control sequences.
func Printable(s string) string {
	return harmless.Text(s)
}
