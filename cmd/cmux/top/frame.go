package top

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
	"cmux/dag"
)

// Widths from which there is room for more.
const (
	leastWidth = 40
	mostLabel  = 30  // of a state in the list
	wideWidth  = 150 // the log stands beside the details, not below them
)

// bodyHeight is how many lines there are between the head and the keys.
func (m model) bodyHeight() int { return max(1, m.height-4) }

// listHeight is how many rows the list has.
func (m model) listHeight() int { return m.bodyHeight() }

// columns are the widths of the list, of the details and of the log beside
// them; 0: it has no column of its own.
func (m model) columns() (list, details, log int) {
	list = 0
	for _, r := range m.rows {
		if r.node >= 0 {
			label := m.view.Nodes[r.node].Status.Label.String()
			list = max(list, ansi.StringWidth(m.lead(r)+m.name(r))+min(ansi.StringWidth(label), mostLabel)+10)
		}
	}
	list = max(min(list, m.width*45/100, 64), min(34, m.width/2))
	details = m.width - list - 3
	if m.width >= wideWidth && m.selected != "" {
		log = (details - 3) / 2
		details -= log + 3
	}
	return list, details, log
}

// frame is the whole screen, a line each.
func (m model) frame() []string {
	if m.width < leastWidth || m.height < 8 {
		return []string{cut("Too small: 40x8 is the least.", m.width)}
	}
	if m.view == nil {
		return []string{"Reading the run."}
	}
	if m.doing == reading {
		return m.drawPage()
	}
	lines := m.head()
	list, details, log := m.columns()
	rows, about := m.drawRows(list), m.details(details, log == 0)
	m.scroll = max(0, min(m.scroll, len(about)-m.bodyHeight()))
	about = about[m.scroll:]
	if height := m.bodyHeight(); len(about) > height {
		about[height-1] = m.looks.faint.Render(fmt.Sprintf("… %d lines more: space", len(about)-height+1))
	}
	var tail []string
	if log > 0 {
		tail = m.logLines(log, m.bodyHeight())
	}
	bar := m.looks.faint.Render("│")
	at := func(lines []string, i int) string {
		if i < len(lines) {
			return lines[i]
		}
		return ""
	}
	for i := range m.bodyHeight() {
		line := fit(at(rows, i), list) + " " + bar + " " + fit(at(about, i), details)
		if log > 0 {
			line += " " + bar + " " + cut(at(tail, i), log)
		}
		lines = append(lines, line)
	}
	foot := m.foot()
	return append(lines[:m.height-len(foot)], foot...)
}

// head is two lines about the run.
func (m model) head() []string {
	v := m.view
	t := runs.Count(v)
	left := m.looks.head.Render(v.Run.Plan.Graph.Session) + " " + m.runStyle(string(v.RunState))
	if !v.StartedAt.IsZero() {
		if v.EndedAt.IsZero() {
			left += "  " + age(m.now().Sub(v.StartedAt))
		} else {
			left += "  took " + age(v.EndedAt.Sub(v.StartedAt))
		}
	}
	if need := runs.NeedPerson(v); len(need) > 0 {
		text := fmt.Sprintf("%d need you", len(need))
		if len(need) == 1 {
			text = v.Nodes[need[0]].Spec.Name + " needs you"
		}
		left += "  " + m.looks.node[dag.NodeNeedsInput].Render(text)
	}
	right := fmt.Sprintf("%d/%d done", t.Done, len(v.Nodes))
	if t.Failed > 0 {
		right += ", " + m.looks.bad.Render(fmt.Sprintf("%d failed", t.Failed))
	}
	if t.Blocked > 0 {
		right += fmt.Sprintf(", %d blocked", t.Blocked)
	}
	if t.Skipped > 0 {
		right += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	if runs.Known(v.Used) != nil {
		right += ", " + say.Short(v.Used.Counted()) + " tokens"
	}
	return []string{ends(left, right, m.width), m.progress(t)}
}

// runStyle is a run's state in its color.
func (m model) runStyle(state string) string {
	return m.looks.run[m.view.RunState].Render(state)
}

// progress is how much of the run is done, as a line.
func (m model) progress(t runs.Tally) string {
	all := max(1, len(m.view.Nodes))
	share := func(n int) int { return n * m.width / all }
	done := share(t.Done + t.Skipped)
	ended := share(t.Done+t.Skipped+t.Failed+t.Blocked) - done
	return m.looks.good.Render(strings.Repeat("━", done)) + m.looks.bad.Render(strings.Repeat("╍", ended)) +
		m.looks.faint.Render(strings.Repeat("─", max(0, m.width-done-ended)))
}

// drawRows draws the list.
func (m model) drawRows(width int) (lines []string) {
	last := min(len(m.rows), m.top+m.listHeight())
	for _, r := range m.rows[min(m.top, last):last] {
		lines = append(lines, m.drawRow(r, width))
	}
	if len(m.rows) == 0 {
		lines = append(lines, "No node matches: esc drops the filter")
	}
	return lines
}

func (m model) drawRow(r row, width int) string {
	chosen := m.name(r) == m.selected
	cursor := " "
	if chosen {
		cursor = "▸"
	}
	if r.node < 0 {
		text := cursor + "run"
		if n := len(runs.Notices(m.view)); n > 0 {
			text = ends(text, say.Count(n, "notice"), width)
		}
		return m.mark(chosen, fit(text, width))
	}
	n := &m.view.Nodes[r.node]
	state := n.Status.Label.State
	right := ""
	if d, ok := took(n, m.now()); ok {
		right = age(d)
	}
	right = fmt.Sprintf("%5s", right)
	label, name := say.Line(n.Status.Label.String()), m.lead(r)+n.Spec.Name
	room := width - 3 - 6
	if most := min(max(room-ansi.StringWidth(name)-1, room/2), mostLabel); ansi.StringWidth(label) > most {
		label = cut(string(state), most)
	}
	left := room - ansi.StringWidth(label) - 1
	if chosen {
		return m.looks.cursor.Render(cursor + marks[state] + " " + fit(name, left) + " " + label + " " + right)
	}
	look := m.looks.node[state]
	return cursor + look.Render(marks[state]) + " " + fit(name, left) + " " + look.Render(label) + " " + m.looks.faint.Render(right)
}

// mark shows that a line is chosen.
func (m model) mark(chosen bool, line string) string {
	if chosen {
		return m.looks.cursor.Render(line)
	}
	return line
}

// lead is the part of the drawing that stands before a node's name. Deep in a
// graph it begins in the middle: names are worth more.
func (m model) lead(r row) string {
	if r.twig < 0 || m.twigs[r.twig].Under < 0 {
		return ""
	}
	lead := "├ "
	if m.twigs[r.twig].Last {
		lead = "└ "
	}
	width := 2
	for at := m.twigs[r.twig].Under; m.twigs[at].Under >= 0; at = m.twigs[at].Under {
		if width += 2; width > m.width/10 {
			return "… " + lead
		}
		if m.twigs[at].Last {
			lead = "  " + lead
		} else {
			lead = "│ " + lead
		}
	}
	return lead
}

// foot is what is going on, and the keys.
func (m model) foot() []string {
	line := m.line()
	if m.doing == filtering || m.doing == answering {
		return []string{cut(line, m.width), cut(m.keys(), m.width)}
	}
	lines := wrap(line, m.width) // whoever is asked sees the whole of it
	return append(lines[:min(len(lines), m.height-3)], cut(m.keys(), m.width))
}

// line shows what the person is doing, or the result of the last order.
func (m model) line() string {
	switch {
	case m.doing == filtering:
		return "/" + m.typed()
	case m.doing == answering:
		of := ""
		if parts := m.parts(); parts > 1 {
			of = fmt.Sprintf(" (%d of %d)", len(m.answers)+1, parts)
		}
		return "answer " + m.selected + of + "> " + m.typed()
	case m.doing == confirming:
		return m.looks.head.Render(m.asked.String()) + ": " + m.asked.does + "? " + m.looks.key.Render("Enter") + " or " + m.looks.key.Render("y") + ": yes. Any other key: no."
	case m.busy != "":
		return m.busy + " …"
	case m.said != "" && m.bad:
		return m.looks.bad.Render(m.said)
	case m.said != "":
		return m.said
	case m.filter != "":
		return m.looks.faint.Render(fmt.Sprintf("/%s: %s", m.filter, say.Count(len(m.rows), "node")))
	}
	return ""
}

// typed is the text that is being typed, with a cursor, and as much of it as
// there is room for.
func (m model) typed() string {
	text := []rune(m.input.Value())
	at := min(m.input.Position(), len(text))
	under, rest := "▏", ""
	if at < len(text) {
		under, rest = string(text[at]), string(text[at+1:])
	}
	room := max(10, m.width-30-len(m.selected))
	before := string(text[:at])
	if over := ansi.StringWidth(before) - room; over > 0 {
		before = "…" + ansi.TruncateLeft(before, over, "")
	}
	return before + m.looks.cursor.Render(under) + rest
}

// keys is a line of the keys that fit what is selected.
func (m model) keys() string {
	switch m.doing {
	case filtering:
		return m.looks.faint.Render("enter keeps the filter  esc drops it")
	case answering:
		return m.looks.faint.Render("enter sends it (cmux agents answer " + m.selected + " TEXT)  esc leaves")
	}
	var fits []string
	if i := m.node(); i >= 0 {
		fits = runs.Inspect(m.view, i).Orders
	}
	var parts []string
	show := func(b *key) {
		if b.verb != "" {
			parts = append(parts, m.looks.key.Render(b.shown)+" "+b.verb)
		}
	}
	for _, name := range fits {
		for i := range bindings {
			if bindings[i].name == name {
				show(&bindings[i])
			}
		}
	}
	for i := range bindings {
		b := &bindings[i]
		switch {
		case b.name != "" && (m.selected != "" || len(b.run) == 0):
		case b.keys[0] == "u" && !m.view.ConfigChanged:
		case b.keys[0] == "n" && len(runs.NeedPerson(m.view)) == 0:
		case b.keys[0] == "q" && m.stays:
		default:
			show(b)
		}
	}
	if len(m.refusals()) > 0 {
		parts = append([]string{m.looks.key.Render("c") + " confirm"}, parts...)
	}
	keys := strings.Join(parts, "  ")
	for more := "  " + m.looks.key.Render("?") + " all keys"; ansi.StringWidth(keys) > m.width && len(parts) > 0; {
		parts = parts[:len(parts)-1]
		keys = strings.Join(parts, "  ") + more
	}
	return keys
}
