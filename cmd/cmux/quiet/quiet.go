// Package quiet keeps a terminal from being asked for its colors when a
// process starts.
//
// bubbletea asks in its init function, in every process that links it: a
// command would wait for a terminal's answer that it has no use for, or read
// it as typed input. This package imports only lipgloss and its path sorts
// before bubbletea's, so Go runs its init first (packages whose imports are
// ready are initialised in order of their paths).
package quiet

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
