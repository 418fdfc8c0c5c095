package top

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"cmux/dag"
)

// styles are the looks of things, in the terminal's own sixteen colors: those
// are the ones that a person has made to fit their background.
type styles struct {
	head, faint, cursor, key, good, bad, add, del lipgloss.Style

	node map[dag.NodeState]lipgloss.Style
	run  map[dag.RunState]lipgloss.Style
}

// newStyles makes styles that color, or that leave everything as it is.
func newStyles(color bool) *styles {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.Ascii)
	if color {
		r.SetColorProfile(termenv.ANSI)
	}
	fg := func(n string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(n)) }
	green, red, yellow, magenta, cyan := fg("2"), fg("1"), fg("3"), fg("5"), fg("6")
	return &styles{
		head: r.NewStyle().Bold(true), faint: r.NewStyle().Faint(true), cursor: r.NewStyle().Reverse(true), key: r.NewStyle().Bold(true),
		good: green, bad: red, add: green, del: red,
		node: map[dag.NodeState]lipgloss.Style{
			dag.NodeDone: green, dag.NodeFailed: red, dag.NodeBlocked: yellow, dag.NodeLost: yellow, dag.NodeSkipped: r.NewStyle().Faint(true),
			dag.NodeRunning: cyan, dag.NodeChecking: cyan, dag.NodeLimited: magenta,
			dag.NodeNeedsInput: magenta.Bold(true), dag.NodeTakenOver: magenta.Bold(true),
		},
		run: map[dag.RunState]lipgloss.Style{
			dag.RunDone: green, dag.RunFailed: red, dag.RunRunning: cyan, dag.RunLimited: magenta,
			dag.RunWaiting: magenta.Bold(true), dag.RunStopped: yellow, dag.RunNoRunner: yellow,
		},
	}
}

// marks tell states apart without colors and in one column.
var marks = map[dag.NodeState]string{
	dag.NodeWaiting: "·", dag.NodeReady: "○", dag.NodeRunning: "●", dag.NodeChecking: "◆", dag.NodeNeedsInput: "?",
	dag.NodeTakenOver: "!", dag.NodeLimited: "~", dag.NodeLost: "x", dag.NodeDone: "✓", dag.NodeFailed: "✗", dag.NodeBlocked: "-", dag.NodeSkipped: "∅",
}

// cut is s in at most width columns.
func cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, "…")
}

// fit is s in exactly width columns.
func fit(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// ends is left and right at the ends of width columns; left gives way.
func ends(left, right string, width int) string {
	room := width - ansi.StringWidth(right)
	if right != "" {
		room--
	}
	if room < 1 {
		return fit(left, width)
	}
	if right == "" {
		return fit(left, width)
	}
	return fit(left, room) + " " + right
}

// wrap is s in lines of at most width columns.
func wrap(s string, width int) []string {
	if width < 1 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}
