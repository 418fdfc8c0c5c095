package top

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// page is a text that fills the screen.
type page struct {
	title   string
	lines   []string
	files   []file // of a diff
	top     int
	order   order  // that shows it
	offer   *order // that y gives; nil: none
	follows string // the node whose log it is, which grows; empty: it stays as it is
}

// file is one of a diff.
type file struct {
	name string
	at   int // its first line
}

// end is the first line shown when the last one is.
func (p *page) end(m model) int { return max(0, len(p.lines)-m.pageHeight()) }

func (p *page) clamp(m model) { p.top = max(0, min(p.top, p.end(m))) }

// grow takes a longer text in: who looked at its end goes on to.
func (p *page) grow(lines []string, m model) {
	last := p.top >= p.end(m)
	p.lines = lines
	if last {
		p.top = p.end(m)
	}
	p.clamp(m)
}

// file is which file stands at the top; -1: none.
func (p *page) file() int {
	at := -1
	for i, f := range p.files {
		if f.at <= p.top {
			at = i
		}
	}
	return at
}

// diffPage is a page of a patch, colored by what lines are.
func diffPage(title, patch string, looks *styles) page {
	p := page{title: title}
	in := false // a hunk
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "diff --git "):
			in = false
			name := line[len("diff --git "):]
			if i := strings.LastIndex(name, " b/"); i >= 0 {
				name = strings.Trim(name[i+len(" b/"):], `"`)
			}
			p.files = append(p.files, file{name, len(p.lines)})
			line = looks.head.Render(line)
		case strings.HasPrefix(line, "@@"):
			in = true
			line = looks.node["running"].Render(line)
		case !in:
			line = looks.faint.Render(line)
		case strings.HasPrefix(line, "+"):
			line = looks.add.Render(line)
		case strings.HasPrefix(line, "-"):
			line = looks.del.Render(line)
		}
		p.lines = append(p.lines, line)
	}
	if len(p.lines) == 0 {
		p.lines = []string{"Nothing has changed."}
	}
	return p
}

// readKey takes a key while a page is open.
func (m model) readKey(pressed string) (model, []effect) {
	p := &m.page
	height := max(1, m.pageHeight()-1)
	switch pressed {
	case "y":
		if o := p.offer; o != nil {
			m.doing, m.page = browsing, page{}
			return m.order(*o)
		}
	case "q", "esc", "ctrl+c", "left":
		m.doing, m.page = browsing, page{}
	case "up", "k":
		p.top--
	case "down", "j", "enter":
		p.top++
	case "pgup", "b", "ctrl+b":
		p.top -= height
	case "pgdown", " ", "f", "ctrl+f":
		p.top += height
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = p.end(m)
	case "n", "tab":
		if f := p.file() + 1; f < len(p.files) {
			p.top = p.files[f].at
		}
	case "p", "shift+tab":
		if f := p.file(); f >= 0 && p.top > p.files[f].at {
			p.top = p.files[f].at
		} else if f > 0 {
			p.top = p.files[f-1].at
		}
	}
	p.clamp(m)
	return m, nil
}

// pageHeight is how many lines of a page fit between its title and its keys.
func (m model) pageHeight() int { return max(1, m.height-2) }

// filesWidth is the width of the list of a diff's files; 0: there is no room.
func (m model) filesWidth() int {
	if len(m.page.files) < 2 || m.width < 110 {
		return 0
	}
	w := 0
	for _, f := range m.page.files {
		w = max(w, ansi.StringWidth(f.name))
	}
	return min(w+2, m.width/3)
}

// drawPage draws the open page.
func (m model) drawPage() []string {
	p, height := &m.page, m.pageHeight()
	last := min(len(p.lines), p.top+height)
	where := fmt.Sprintf("%d-%d of %d", min(p.top+1, last), last, len(p.lines))
	if at := p.file(); at >= 0 {
		where = fmt.Sprintf("file %d of %d · %s", at+1, len(p.files), where)
	}
	lines := []string{ends(m.looks.head.Render(p.title), where, m.width)}
	side := m.filesWidth()
	for i := range height {
		text := ""
		if p.top+i < last {
			text = p.lines[p.top+i]
		}
		if side > 0 {
			text = fit(m.fileLine(i, side), side) + m.looks.faint.Render("│") + " " + cut(text, m.width-side-2)
		}
		lines = append(lines, cut(text, m.width))
	}
	keys := "↑ ↓ scroll  space page  home end"
	if len(p.files) > 1 {
		keys += "  n p file"
	}
	keys = m.looks.faint.Render(keys + "  q back")
	if p.offer != nil {
		keys = m.looks.key.Render("y") + " " + p.offer.does + " (" + p.offer.String() + ")  " + keys
	}
	return append(lines, cut(keys, m.width))
}

// fileLine is line i of the list of files, which keeps the one that is read on
// the screen.
func (m model) fileLine(i, width int) string {
	files, at := m.page.files, m.page.file()
	first := max(0, min(at-m.pageHeight()/2, len(files)-m.pageHeight()))
	if first+i >= len(files) {
		return ""
	}
	name := cut(files[first+i].name, width-2)
	if first+i == at {
		return "▸" + m.looks.head.Render(name)
	}
	return " " + name
}

// help is the page of all keys, with the commands that they equal.
func (m model) help() page {
	p := page{title: "Keys, and the commands that they equal"}
	node := m.selected
	for i := range bindings {
		b := &bindings[i]
		o, ok := b.command(node)
		if !ok && len(b.words) > 0 {
			o, ok = b.command("NAME")
		}
		text := fmt.Sprintf("%-8s %s", b.shown, b.does)
		if !ok {
			p.lines = append(p.lines, text)
			continue
		}
		command := o.String()
		if room := m.width - ansi.StringWidth(text) - 2; ansi.StringWidth(command) > room {
			p.lines = append(p.lines, text)
			text = ""
		}
		p.lines = append(p.lines, ends(text, m.looks.faint.Render(command), m.width))
	}
	p.lines = append(p.lines, "", "Marks")
	for _, s := range urgency {
		p.lines = append(p.lines, fmt.Sprintf("%s        %s", m.looks.node[s].Render(marks[s]), s))
	}
	return p
}
