package reviewing

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"cmux/agents/platform/say"
)

const (
	chrome       = 4 // lines of a screen that are not the page's
	commentLines = 3
)

// frame is the screen, a line each.
func (m *model) frame() []string {
	w := m.now()
	head := fmt.Sprintf("%s  %s", w.Node, w.State)
	if len(m.all) > 1 {
		head += fmt.Sprintf("  (%d of %d)", m.at+1, len(m.all))
	}
	page := "overview, " + say.Count(len(w.Files), "file")
	if m.page > 0 {
		page = fmt.Sprintf("file %d of %d: %s", m.page, len(w.Files), strings.Join(strings.Fields(w.Files[m.page-1].String()), " "))
	}
	out := []string{m.styled("1", head), m.styled("2", page)}
	body := max(1, m.height-chrome)
	if m.comment != nil {
		body = max(1, body-commentLines+1)
	}
	lines := m.lines()
	if m.help {
		lines = helpLines
	}
	top := min(m.top, max(0, len(lines)-1))
	for k := range body {
		line := ""
		if top+k < len(lines) {
			line = m.line(lines[top+k])
		}
		out = append(out, line)
	}
	out = append(out, m.styled("1", m.note))
	if m.comment != nil {
		return append(out, strings.Split(m.comment.View(), "\n")...)
	}
	return append(out, m.styled("2", m.keys()))
}

// keys are the keys that matter, as many as there is room for.
func (m *model) keys() string {
	keys := "a approve  s send back  d drop"
	for _, more := range []string{"  ? keys", "  q end", "  ←→ files", "  ↑↓ scroll", "  n next"} {
		if ansi.StringWidth(keys+more) <= m.width {
			keys += more
		}
	}
	return keys
}

var helpLines = []string{
	"a            approve this commit",
	"s            send it back with a comment: Enter sends, Ctrl+J begins a line, Esc gives up",
	"d            drop it: no merge takes it",
	"→ Space Tab  the next file; ← Shift+Tab the one before",
	"↑ ↓ j k      scroll; PgUp PgDn by screens, g G to the ends",
	"n p          the next node, the one before",
	"? q          these keys; end",
	"",
	"The same from a command line: cmux agents review NAME --approve, --send-back TEXT, --drop",
}

// line is a line of the page, cut and colored by what it is.
func (m *model) line(text string) string {
	style := ""
	if m.page > 0 && !m.help && text != "" {
		switch text[0] {
		case '+':
			style = "32"
		case '-':
			style = "31"
		case '@':
			style = "36"
		}
	}
	return m.styled(style, text)
}

// styled is text, no wider than the screen.
func (m *model) styled(style, text string) string {
	text = ansi.Truncate(say.Lines(text), m.width, "…")
	if !m.color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
