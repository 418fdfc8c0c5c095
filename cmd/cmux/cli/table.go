package cli

import (
	"bytes"
	"slices"
	"strings"

	"cmux/agents/platform/say"

	"github.com/charmbracelet/x/ansi"
)

// Column is one column of a table.
type Column struct {
	Head string
	// give says what a narrow terminal may take: 0 nothing; otherwise the
	// column is shortened to least, and left out in the order of give, highest
	// first, when that is not enough.
	Give  int
	Least int
	Style func(row int) string // SGR parameters for the cell of a row; nil: none
}

// Table lays rows of cells out below the heads of their columns, two spaces
// apart, within width terminal cells (0: unbounded). Colors are only used
// when color is set.
func Table(columns []Column, rows [][]string, width int, color bool) string {
	widths := make([]int, len(columns))
	for c := range columns {
		widths[c] = cells(columns[c].Head)
		for _, r := range rows {
			widths[c] = max(widths[c], cells(r[c]))
		}
	}
	fit(columns, widths, width)
	var b strings.Builder
	var row []byte
	line := func(cell func(c int) (text, style string)) {
		row = row[:0]
		pad := 0
		for c := range columns {
			if widths[c] == 0 {
				continue
			}
			text, style := cell(c)
			wide := cells(text)
			if wide > widths[c] {
				text = ansi.Truncate(text, widths[c], "…")
				wide = cells(text)
			}
			for range pad {
				row = append(row, ' ')
			}
			pad = widths[c] - wide + 2
			if color && style != "" && text != "" {
				text = "\x1b[" + style + "m" + text + "\x1b[0m"
			}
			row = append(row, text...)
		}
		b.Write(bytes.TrimRight(row, " "))
		b.WriteByte('\n')
	}
	line(func(c int) (string, string) { return columns[c].Head, "2" })
	for i, r := range rows {
		line(func(c int) (string, string) {
			if s := columns[c].Style; s != nil {
				return r[c], s(i)
			}
			return r[c], ""
		})
	}
	return b.String()
}

// cells is how many cells of a terminal a text takes. Nearly all texts of a table
// are ASCII, of which a table of a thousand rows has tens of thousands.
func cells(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// fit shortens columns until the table is no wider than width. Where that is
// not enough it leaves columns out, which get width 0, and lets the others have
// their room.
func fit(columns []Column, widths []int, width int) {
	if width <= 0 {
		return
	}
	wanted := slices.Clone(widths)
	for {
		if shorten(columns, widths, width) {
			return
		}
		out := -1
		for c := range columns {
			if columns[c].Give > 0 && widths[c] > 0 && (out < 0 || columns[c].Give > columns[out].Give) {
				out = c
			}
		}
		if out < 0 {
			return
		}
		wanted[out] = 0
		copy(widths, wanted)
	}
}

// shorten takes from the widest columns that may be shortened until the table
// is no wider than width, and reports whether it got there.
func shorten(columns []Column, widths []int, width int) bool {
	over := -2 - width
	for _, w := range widths {
		if w > 0 {
			over += w + 2
		}
	}
	for ; over > 0; over-- {
		widest := -1
		for c := range columns {
			if columns[c].Give > 0 && widths[c] > columns[c].Least && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}

// Look is how a status is shown.
type Look struct {
	Width   int // 0: unbounded
	Color   bool
	Verbose bool // with the source and age of each status
	Past    bool // a newer run has taken its place
}

// Look is how output is shown where nothing else was asked for.
func (s *IO) Look() Look { return Look{Width: s.Width(), Color: s.Color()} }

// OrDash is a line as it stands in a table, a dash where it is empty.
func OrDash(s string) string {
	if s = say.Line(s); s == "" {
		return "-"
	}
	return s
}
