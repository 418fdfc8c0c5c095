// Package say formats text for people: counts, lists, commands.
package say

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"cmux/agents/platform/harmless"
)

// Count returns n and the noun, in the plural unless n is one.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ch") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// List returns the first n names, and how many more there are.
func List(names []string, n int) string {
	if more := len(names) - n; more > 0 {
		return strings.Join(names[:n], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// Word quotes s if a shell would change it.
func Word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Line returns foreign text, made safe and on a single line.
func Line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // its width is unknown
			return -1
		}
		return r
	}, harmless.Line(s)))
}

// Lines is Line for text that keeps its lines and their indent.
func Lines(s string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(s, "\n"), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		lines = append(lines, strings.TrimRight(indent+Line(line), " "))
	}
	return strings.Join(lines, "\n")
}

// Span returns a duration as 12s, 3m04s, 1h02m or 2d03h.
func Span(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	}
	return fmt.Sprintf("%dd%02dh", s/(24*3600), s%(24*3600)/3600)
}

// Short returns a count as 999, 12.3k, 4M or 1.2G.
func Short(n int64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	tenths, unit := n, ""
	for _, unit = range []string{"k", "M", "G"} {
		tenths = (n + 50) / 100 // in tenths of the unit
		if tenths < 10_000 {
			break
		}
		n /= 1000
	}
	if tenths%10 == 0 {
		return fmt.Sprintf("%d%s", tenths/10, unit)
	}
	return fmt.Sprintf("%d.%d%s", tenths/10, tenths%10, unit)
}
