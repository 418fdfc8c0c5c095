package run

import "path/filepath"

// Paths is where the folder of a run is, and what stands in it that an attempt
// writes or runs.
type Paths struct {
	Dir string // absolute
	Bin string // of the copy of cmux; empty: a folder in Dir, as of runs of an earlier cmux
}

// Binary is the copy of cmux that the run is carried out by. It is alone in its
// folder, which is first in every agent's PATH.
func (p Paths) Binary() string {
	dir := p.Bin
	if dir == "" {
		dir = filepath.Join(p.Dir, binDir)
	}
	return filepath.Join(dir, program)
}

// NodeDir is the folder of one node: lock, log, prompt, attempt files.
func (p Paths) NodeDir(node string) string { return filepath.Join(p.Dir, node) }

// Log is the output of a command node, newest attempt last.
func (p Paths) Log(node string) string { return filepath.Join(p.Dir, node, "log") }

// Fence is the file with the Fence around the node's newest attempt; it is not there where
// there was none.
func (p Paths) Fence(node string) string { return filepath.Join(p.Dir, node, "fence.json") }

// Fence is a fence around the programs of an attempt.
type Fence struct {
	Attempt int      `json:"attempt"`
	Write   []string `json:"write"` // what they may write: absolute paths of files and folders
}

// Events is what happened in an agent's node, newest attempt last: see package
// event.
func (p Paths) Events(node string) string { return filepath.Join(p.Dir, node, "events.jsonl") }
