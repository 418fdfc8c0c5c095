package top

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Only what differs is drawn, and nothing where nothing does.
func TestChanges(t *testing.T) {
	at := func(row int) string { return ansi.CursorPosition(1, row) }
	for _, c := range []struct {
		name       string
		was, lines []string
		redraw     bool
		want       string
	}{
		{"the first", nil, []string{"ab", "", "cde"}, true, ansi.EraseEntireScreen + at(1) + "ab" + ansi.EraseLineRight + at(3) + "cde"},
		{"nothing", []string{"ab", "c"}, []string{"ab", "c"}, false, ""},
		{"a line", []string{"ab", "c"}, []string{"ab", "d"}, false, at(2) + "d" + ansi.EraseLineRight},
		{"a full line", []string{"ab", "c"}, []string{"abc", "c"}, false, at(1) + "abc"},
		{"fewer", []string{"ab", "c"}, []string{"ab"}, false, at(2) + ansi.EraseLineRight},
		{"all redrawn", []string{"ab"}, []string{"ab"}, true, ansi.EraseEntireScreen + at(1) + "ab" + ansi.EraseLineRight},
	} {
		if got := string(changes(c.was, c.lines, 3, c.redraw)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
