package main

import (
	"fmt"
	"strconv"
	"strings"
)

// style is how a cell looks. A color is a value of SVG; empty is the default.
type style struct {
	fg, bg                         string
	bold, dim, italic, line, swaps bool
}

type cell struct {
	char rune
	style
}

// screen is the cells of a text with escape sequences of color. The characters
// that cmux draws are one cell wide, so a character is a cell.
func screen(text string) [][]cell {
	var (
		rows [][]cell
		now  style
	)
	for line := range strings.SplitSeq(text, "\n") {
		row := []cell{}
		for len(line) > 0 {
			if codes, rest, ok := sequence(line); ok {
				now, line = now.with(codes), rest
				continue
			}
			char := []rune(line)[0]
			line = line[len(string(char)):]
			if char >= ' ' {
				row = append(row, cell{char, now})
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// sequence takes an escape sequence off the beginning of s. Its codes are empty
// when it is not one of color.
func sequence(s string) (codes []int, rest string, ok bool) {
	if !strings.HasPrefix(s, "\x1b") {
		return nil, s, false
	}
	if !strings.HasPrefix(s, "\x1b[") { // the choice of a character set: ESC ( B
		return nil, s[min(3, len(s)):], true
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return nil, "", true
	}
	body, last := s[2:2+end], s[2+end]
	rest = s[3+end:]
	if last != 'm' {
		return nil, rest, true
	}
	for part := range strings.FieldsFuncSeq(body+";", func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, rest, true
		}
		codes = append(codes, n)
	}
	if len(codes) == 0 {
		codes = []int{0}
	}
	return codes, rest, true
}

// with is the style after the codes of one sequence.
func (s style) with(codes []int) style {
	for len(codes) > 0 {
		n := codes[0]
		codes = codes[1:]
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.line = true
		case n == 7:
			s.swaps = true
		case n == 22:
			s.bold, s.dim = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.line = false
		case n == 27:
			s.swaps = false
		case n >= 30 && n <= 37:
			s.fg = palette[n-30]
		case n == 38:
			s.fg, codes = extended(codes)
		case n == 39:
			s.fg = ""
		case n >= 40 && n <= 47:
			s.bg = grounds[n-40]
		case n == 48:
			s.bg, codes = extended(codes)
		case n == 49:
			s.bg = ""
		case n >= 90 && n <= 97:
			s.fg = palette[n-90+8]
		case n >= 100 && n <= 107:
			s.bg = palette[n-100+8]
		}
	}
	return s
}

// extended is a color of 256, or of red, green and blue.
func extended(codes []int) (color string, rest []int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		return indexed(codes[1]), codes[2:]
	case len(codes) >= 4 && codes[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", codes[1]&255, codes[2]&255, codes[3]&255), codes[4:]
	}
	return "", nil
}

func indexed(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return palette[n]
	case n >= 232:
		return fmt.Sprintf("#%02[1]x%02[1]x%02[1]x", 8+10*(n-232))
	}
	n -= 16
	level := func(k int) int {
		if k == 0 {
			return 0
		}
		return 55 + 40*k
	}
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// palette is the sixteen colors of the pictures' terminal.
var palette = [16]string{
	"#21252b", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0",
	"#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#ffffff",
}

// grounds are the first eight as backgrounds: dark enough for light text.
var grounds = [8]string{
	"#21252b", "#a3404a", "#4f7a35", "#8a6a28", "#2f6fae", "#8b3fa3", "#2b7884", "#d7dae0",
}
