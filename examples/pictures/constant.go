package main

import "regexp"

// differs is what differs from one run to the next, and what a picture shows
// instead. Both have the same width.
var differs = []struct {
	shown   *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b\d{8}-\d{6}\.\d{3}-[0-9a-f]{6}\b`), "20261101-120000.000-c0ffee"}, // a run
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`), "2026-11-01"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "12:00:00"},
	{regexp.MustCompile(`\b[0-2]\d:[0-5]\d\b`), "12:00"},
	{regexp.MustCompile(`( |\+)\ds\b`), "${1}3s"},
	{regexp.MustCompile(`( |\+)\d\ds\b`), "${1}24s"},
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "c0ffee123456"}, // a commit
	{regexp.MustCompile(`\b[0-9a-f]{7}\b`), "c0ffee1"},
}

// constant replaces what differs from run to run. Cells keep their style.
func constant(rows [][]cell) [][]cell {
	for _, row := range rows {
		for k, char := range []rune(constantText(text(row))) {
			row[k].char = char
		}
	}
	return rows
}

func constantText(s string) string {
	for _, d := range differs {
		s = d.shown.ReplaceAllString(s, d.instead)
	}
	return s
}
