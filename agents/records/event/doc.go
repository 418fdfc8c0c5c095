// Package event defines what happens in an agent's node as typed events, one line of JSON
// each, in the node's events.jsonl.
//
// Only the node's wrapper writes, one attempt after the other. A line is appended by a
// single write and not synced: it survives the wrapper, but not a power cut. Lines are in
// the order in which cmux learned of the events, so At may go back a little.
//
// Sizes are bounded: of a long text, the beginning and the end are kept; of a tool's input,
// the beginning of each long string. Cut is the number of missing bytes.
//
// Readers skip what they do not know: a line torn by a power cut, a field, or a Kind of a
// newer version.
package event
