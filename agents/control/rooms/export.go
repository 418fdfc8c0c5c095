package rooms

import (
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/records/ledger"
	"cmux/agents/room"
	"cmux/agents/room/book"
)

// Format is a form in which a room is exported.
type Format string

// The formats.
const (
	Markdown Format = "md"   // with what each said
	JSON     Format = "json" // the facts, a line each
)

// Formats are all formats.
func Formats() []Format { return []Format{Markdown, JSON} }

// Export is a room as text. An agent gets no text that is not for it, as of Lines. In Markdown
// what somebody said is a quotation, so that it cannot pass for a heading of the room, and its
// HTML is text.
func (p *Rooms) Export(name string, as Format) (string, error) {
	if !slices.Contains(Formats(), as) {
		return "", project.Usage("", "the format %q: md and json are formats", as)
	}
	lines, _, err := p.Lines(name)
	if err != nil {
		return "", err
	}
	if as == Markdown {
		return markdown(name, lines), nil
	}
	var b strings.Builder
	for i := range lines {
		line, err := ledger.Encode(&lines[i])
		if err != nil {
			return "", err
		}
		b.Write(append(line, '\n'))
	}
	return b.String(), nil
}

func markdown(name string, lines []room.Line) string {
	s := room.Fold(name, lines)
	var b strings.Builder
	fmt.Fprintf(&b, "# Room %s\n\n", name)
	if s.Settings.Topic != "" {
		fmt.Fprintf(&b, "%s\n", quoted(s.Settings.Topic))
	}
	for _, m := range s.Members {
		kind := m.Agent
		if m.Guest {
			kind = "guest"
		}
		fmt.Fprintf(&b, "- %s: %s\n", m.Name, strings.TrimSpace(kind+" "+m.Role))
	}
	for i := range lines {
		exportLine(&b, name, &lines[i])
	}
	return b.String()
}

func exportLine(b *strings.Builder, name string, l *room.Line) {
	switch {
	case l.Kind == room.KindRound && l.State == room.Began:
		fmt.Fprintf(b, "\n## Round %d\n", l.Round)
	case l.Kind == room.KindRound:
		fmt.Fprintf(b, "\n*%s*\n", plain(fmt.Sprintf("Round %d: %s, %d tokens. %s", l.Round, l.State, l.Used, l.Why)))
	case l.Kind == room.KindSaid:
		to := ""
		if l.To != "" {
			to = ", to " + l.To + " alone"
		}
		fmt.Fprintf(b, "\n### %s (%s#%d%s)\n", l.By, name, l.N, to)
		if l.Text != "" {
			fmt.Fprintf(b, "\n%s", quoted(l.Text))
		}
		for i := range l.Files {
			fmt.Fprintf(b, "\n%s\n", l.Files[i].Shown(book.Files))
		}
		if l.Aside != "" {
			fmt.Fprintf(b, "\n*For the person alone:*\n\n%s", quoted(l.Aside))
		}
	case l.Kind == room.KindOver && l.How != room.HowReplied:
		fmt.Fprintf(b, "\n*%s*\n", plain(fmt.Sprintf("%s: %s. %s", l.Member, l.How, l.Why)))
	}
}

// plain is a text as one line without any markup.
func plain(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("*", `\*`, "`", "\\`", "<", "&lt;", "[", `\[`, `\`, `\\`).Replace(text)
}

// quoted is a text as a quotation in Markdown, with its HTML as text. A block of code that is
// not closed ends with the quotation.
func quoted(text string) string {
	var b strings.Builder
	var q quoter
	for line := range strings.Lines(strings.TrimSpace(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")) + "\n") {
		b.WriteString(strings.TrimRight("> "+q.line(strings.TrimRight(line, "\n")), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// A quoter makes the lines of one text harmless, in their order. It leaves code as it is where
// every reader of Markdown sees code: in a block whose fence begins its line, and in a span that
// ends on its line. Where readers could differ, it takes the text for none.
type quoter struct {
	fence  string // of the block of code that is open; empty: none is
	unsure bool   // a fence stood elsewhere, as in a list
	open   bool   // a span of code may go on from a line before
}

func (q *quoter) line(line string) string {
	if q.fence != "" {
		rest := strings.TrimLeft(line, " ")
		if marks := len(rest) - len(strings.TrimLeft(rest, q.fence[:1])); len(line)-len(rest) < 4 && marks >= len(q.fence) && strings.TrimSpace(rest[marks:]) == "" {
			q.fence = ""
		}
		return line
	}
	if mark := fenceOf(line); mark != "" && !q.unsure {
		q.fence, q.open = mark, false
		return line
	}
	if strings.Contains(line, "```") || strings.Contains(line, "~~~") {
		q.unsure = true
	}
	if strings.TrimSpace(line) == "" {
		q.open = false
	}
	return q.text(line)
}

// fenceOf is the fence that a line begins with; empty: it begins no block of code.
func fenceOf(line string) string {
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(line[n:], mark)) {
			return line[:n]
		}
	}
	return ""
}

// text is a line outside of blocks of code: HTML in it becomes text, but for spans of code.
func (q *quoter) text(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		switch {
		case n > 0 && !q.open && !q.unsure:
			end := spanEnd(line[i+n:], n)
			if end < 0 || i > 0 && line[i-1] == '\\' {
				q.open, end = true, 0
			}
			b.WriteString(line[i : i+n+end])
			i += n + end
			continue
		case line[i] == '<' && i+1 < len(line) && tags(line[i+1]):
			b.WriteString("&lt;")
		default:
			b.WriteByte(line[i])
		}
		i++
	}
	return b.String()
}

// tags reports whether c behind < may begin a tag, a comment or a link.
func tags(c byte) bool { return c|' ' >= 'a' && c|' ' <= 'z' || strings.IndexByte("/!?", c) >= 0 }

// spanEnd is where a span of code ends that n backticks began; -1: not on this line.
func spanEnd(s string, n int) int {
	for i := 0; i < len(s); {
		m := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if m == 0 {
			i++
			continue
		}
		if i += m; m == n {
			return i
		}
	}
	return -1
}
