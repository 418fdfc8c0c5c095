// Package event is what happens in an agent's node, told as typed events: a
// line of JSON each, in the node's events.jsonl.
//
// The node's wrapper is the only writer, one attempt after the other. A line is
// appended by a single write and not synced: it outlives the wrapper, not a
// power cut. Lines stand in the order in which their facts were learnt, so that
// At may go back a little.
//
// Sizes are bounded: of a long text the beginning and the end are kept, of a
// tool's input the beginning of each long string; Cut says how much is missing.
//
// A reader passes over what it does not know: a line left torn by a power cut, a
// field, and a Kind that a newer version wrote.
package event
