package run

import "path/filepath"

// Paths is where the folder of a run is, and what stands in it that an attempt
// writes or runs.
type Paths struct {
	Dir string // absolute
}

// Binary is the run's own copy of cmux, first in every agent's PATH.
func (p Paths) Binary() string { return filepath.Join(p.Dir, binDir, "cmux") }

// NodeDir is the folder of one node: lock, log, prompt, attempt files.
func (p Paths) NodeDir(node string) string { return filepath.Join(p.Dir, node) }

// Log is the output of a command node, newest attempt last.
func (p Paths) Log(node string) string { return filepath.Join(p.Dir, node, "log") }

// Events is what happened in an agent's node, newest attempt last: see package
// event.
func (p Paths) Events(node string) string { return filepath.Join(p.Dir, node, "events.jsonl") }
