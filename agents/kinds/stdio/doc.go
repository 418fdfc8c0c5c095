// Package stdio is what the kinds of agent have in common whose programs speak
// JSON-RPC, a message a line, on their standard input and output.
//
// A Session is one such program: it is started, its messages are taken apart,
// its answers matched to calls. What it does is shown as lines of text, in the
// log and in the pane; a line that a person types in the pane is a prompt of
// theirs. Such a program never has the terminal itself.
package stdio
