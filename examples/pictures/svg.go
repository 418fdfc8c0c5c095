package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes in pixels. A character is as wide as in common monospace fonts; each run
// of text is fitted to its cells, so that another font shifts nothing.
const (
	width  = 8.4
	height = 18
	margin = 14
	head   = 30

	foreground = "#d7dae0"
	background = "#1e2127"
)

// arms are the lines of a character that draws one: up, right, down, left.
// Fonts leave gaps between the rows of a picture, so they are drawn as lines.
var arms = map[rune]string{
	'─': "rl", '│': "ud", '┌': "rd", '┐': "dl", '└': "ur", '┘': "ul",
	'├': "urd", '┤': "udl", '┬': "rdl", '┴': "url", '┼': "urdl",
	'╭': "rd", '╮': "dl", '╰': "ur", '╯': "ul",
	'━': "RL", '┃': "UD", '╍': "RL", '═': "RL",
}

// draw is the picture of a screen with a title bar.
func draw(title string, rows [][]cell, cols int) string {
	for _, row := range rows {
		cols = max(cols, len(row))
	}
	var b strings.Builder
	w, h := float64(cols)*width+2*margin, len(rows)*height+2*margin+head
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	b.WriteString(`<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}.b{font-weight:700}.i{font-style:italic}.d{opacity:.6}.u{text-decoration:underline}</style>` + "\n")
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%.0f" height="%d" rx="9" fill="%s" stroke="#4b5263"/>`+"\n", w-1, h-1, background)
	for k, color := range []string{palette[1], palette[3], palette[2]} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="5.5" fill="%s"/>`, margin+8+19*k, head/2+4, color)
	}
	fmt.Fprintf(&b, "\n"+`<text x="50%%" y="%d" fill="#8b919c" text-anchor="middle">%s</text>`+"\n", head/2+9, html.EscapeString(title))
	for y, row := range rows {
		drawRow(&b, row, margin+head+y*height)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawRow draws the cells of a row whose upper edge is at top, one run of cells
// that look the same after the other.
func drawRow(b *strings.Builder, row []cell, top int) {
	for from := 0; from < len(row); {
		to := from + 1
		for to < len(row) && row[to].style == row[from].style {
			to++
		}
		drawRun(b, row[from:to], margin+float64(from)*width, top)
		from = to
	}
}

func drawRun(b *strings.Builder, cells []cell, x float64, top int) {
	s := cells[0].style
	fg, bg := s.fg, s.bg
	if fg == "" {
		fg = foreground
	}
	if s.swaps {
		if bg == "" {
			bg = background
		}
		fg, bg = bg, fg
	}
	if bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, top, float64(len(cells))*width, height, bg)
	}
	drawLines(b, cells, x, top, fg, s)
	// What is drawn as lines splits the text, and so do wide gaps: a picture
	// stays small, and a run never runs away from its cells.
	for from := 0; from < len(cells); {
		if arms[cells[from].char] != "" || cells[from].char == ' ' {
			from++
			continue
		}
		to := from
		for to < len(cells) && arms[cells[to].char] == "" && !gap(cells[to:]) {
			to++
		}
		drawText(b, cells[from:to], x+float64(from)*width, top, fg, s)
		from = to
	}
}

// gap reports whether a blank begins a gap: the end, another blank or a line
// follows it. Text that ended with a blank would be stretched over it.
func gap(cells []cell) bool {
	return cells[0].char == ' ' && (len(cells) == 1 || cells[1].char == ' ' || arms[cells[1].char] != "")
}

func drawText(b *strings.Builder, cells []cell, x float64, top int, fg string, s style) {
	var classes []string
	for _, c := range []struct {
		on   bool
		name string
	}{{s.bold, "b"}, {s.italic, "i"}, {s.dim, "d"}, {s.line, "u"}} {
		if c.on {
			classes = append(classes, c.name)
		}
	}
	class := ""
	if len(classes) > 0 {
		class = ` class="` + strings.Join(classes, " ") + `"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d"%s fill="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
		x, top+height-5, class, fg, float64(len(cells))*width, html.EscapeString(text(cells)))
}

// text is the characters of cells.
func text(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteRune(c.char)
	}
	return b.String()
}

// drawLines draws the cells that are lines as one path for each weight.
func drawLines(b *strings.Builder, cells []cell, x float64, top int, color string, s style) {
	var light, heavy strings.Builder
	for k := 0; k < len(cells); k++ {
		char := cells[k].char
		midX, midY := x+(float64(k)+.5)*width, float64(top)+height/2.
		if strings.ContainsRune("─━", char) {
			n := 1
			for k+n < len(cells) && cells[k+n].char == char {
				n++
			}
			to := &light
			if char == '━' {
				to = &heavy
			}
			fmt.Fprintf(to, "M%.1f %.1fh%.1f", midX-width/2, midY, float64(n)*width)
			k += n - 1
			continue
		}
		for _, arm := range arms[char] {
			to, endX, endY := &light, midX, midY
			if arm < 'a' {
				to = &heavy
			}
			switch arm {
			case 'u', 'U':
				endY -= height / 2.
			case 'd', 'D':
				endY += height / 2.
			case 'l', 'L':
				endX -= width / 2
			case 'r', 'R':
				endX += width / 2
			}
			if char == '╍' { // dashes
				endX = midX + (endX-midX)*.7
			}
			fmt.Fprintf(to, "M%.1f %.1fL%.1f %.1f", midX, midY, endX, endY)
		}
	}
	class := ""
	if s.dim {
		class = ` class="d"`
	}
	for _, p := range []struct {
		path *strings.Builder
		w    float64
	}{{&light, 1.2}, {&heavy, 3}} {
		if p.path.Len() > 0 {
			fmt.Fprintf(b, `<path d="%s" stroke="%s" stroke-width="%.1f"%s/>`+"\n", p.path, color, p.w, class)
		}
	}
}
