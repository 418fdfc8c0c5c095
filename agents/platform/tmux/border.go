package tmux

import (
	"fmt"
)

// Label is the text in the border of a node's pane.
type Label struct {
	State string // in words
	Why   string // one line; may be empty
	Style string // a tmux style for both border and label, such as fg=red; empty: the terminal's
	Needs bool   // a person is needed: highlight it
}

// Pane options that hold a Label.
const (
	optState = "@cmux_state"
	optWhy   = "@cmux_why"
	optStyle = "@cmux_style"
)

// commands returns the commands that set the label of p, or of the current pane.
func (l Label) commands(p PaneID) [][]string {
	return [][]string{
		setPane(p, optState, labelText(l.State)), setPane(p, optWhy, labelText(l.Why)),
		setPane(p, optStyle, l.Style), setPane(p, optNeed, needs(l.Needs)),
	}
}

// needs is the value of optNeed.
func needs(person bool) string {
	if person {
		return "1"
	}
	return ""
}

// borderFormat is what stands in the border of a pane: in that of a node its
// name, its state, and why, each cut where it does not fit, the last one first,
// and the state never. Below narrow cells the name alone is left, in the color
// of the state. A title belongs to the program.
func borderFormat() string {
	const narrow, frame = 30, 6 // cells; frame: tmux's own and the spaces around
	// Cells for the name, and those left for the reason.
	name := fmt.Sprintf("#{e|-:#{e|-:#{pane_width},%d},#{n:%s}}", frame+2, optState)
	why := fmt.Sprintf("#{e|-:#{e|-:%s,#{n:%s}},3}", name, optNode)
	short := fmt.Sprintf("#{=/#{e|-:#{pane_width},%d}/…:%s}", frame, optNode)
	full := "#{=/" + name + "/…:" + optNode + "}: #{" + optState + "}" +
		"#{?#{" + optWhy + "},#{?#{e|>:" + why + ",7}, · #{=/" + why + "/…:" + optWhy + "},},}"
	node := "#{?#{" + optStyle + "},#[#{" + optStyle + "}],}#{?#{" + optNeed + "},#[reverse],}" +
		fmt.Sprintf(" #{?#{e|<:#{pane_width},%d},%s,%s} #[default]", narrow, short, full)
	return "#{?#{" + optNode + "}," + node + ", #{?#{" + optLabel + "},#{" + optLabel + "},#{pane_title}} }"
}

// borderStyle is the style of the lines around a pane.
func borderStyle(otherwise string) string {
	return "#{?#{" + optStyle + "},#{" + optStyle + "}," + otherwise + "}"
}
