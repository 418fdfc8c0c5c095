package top

import (
	"slices"
	"strings"
	"time"

	"cmux/agents/platform/say"
)

// order is a command of cmux that a person gives here.
type order struct {
	words   []string   // of the command line, without cmux
	does    string     // what the order does, for the confirmation
	refused time.Time  // when an agent was refused it; zero: it is the person's own
	read    bool       // a page showed what it does before it was given
	own     bool       // it takes the terminal: it shows and asks itself
	then    effectKind // that carries it out, where it is no command; leave: none
}

// String is the command as a person would type it, in a line.
func (o order) String() string {
	words := make([]string, len(o.words))
	for i, w := range o.words {
		words[i] = say.Word(w)
	}
	return say.Line("cmux " + strings.ReplaceAll(strings.Join(words, " "), "\n", "⏎"))
}

// key is a key, what it does and the command that it equals.
type key struct {
	keys  []string
	shown string
	verb  string   // in the line of keys; empty: it stands in ? alone
	name  string   // of the order that it gives to a node, as control names those that fit
	words []string // the command line for a node; NAME is it. Empty: no command
	run   []string // likewise for the run
	does  string
}

// bindings are all keys, as ? shows them.
var bindings = []key{
	{keys: []string{"enter"}, shown: "enter", verb: "attach", name: "attach", words: []string{"agents", "attach", "NAME"}, run: []string{"agents", "attach"}, does: "look at its pane, or at its conversation when it has ended"},
	{keys: []string{"i"}, shown: "i", verb: "answer", name: "answer", words: []string{"agents", "answer", "NAME", "TEXT"}, does: "answer its question, or tell it something; 1 to 9 choose an option"},
	{keys: []string{"a"}, shown: "a", verb: "approve", name: "approve", words: []string{"agents", "approve", "NAME"}, does: "open the gate"},
	{keys: []string{"r"}, shown: "r", verb: "retry", name: "retry", words: []string{"agents", "retry", "NAME"}, does: "run it again, and what it blocked"},
	{keys: []string{"o"}, shown: "o", verb: "override", name: "override", words: []string{"agents", "override", "NAME"}, does: "call it done, whatever it says itself"},
	{keys: []string{"e"}, shown: "e", verb: "release", name: "release", words: []string{"agents", "release", "NAME"}, does: "give the agent back that you took over"},
	{keys: []string{"s"}, shown: "s", verb: "stop", name: "stop", words: []string{"agents", "stop", "NAME"}, run: []string{"agents", "stop"}, does: "cancel the node; on the run: end the agents, until it is resumed"},
	{keys: []string{"l"}, shown: "l", verb: "log", name: "logs", words: []string{"agents", "logs", "NAME"}, does: "read its log from the end"},
	{keys: []string{"d"}, shown: "d", verb: "diff", name: "diff", words: []string{"agents", "diff", "NAME"}, does: "read what it changed, file by file"},
	{keys: []string{"u"}, shown: "u", verb: "update", words: []string{"agents", "update"}, run: []string{"agents", "update"}, does: "take the edited configuration in"},
	{keys: []string{"c"}, shown: "c", does: "confirm what an agent was refused: give its order as yours"},
	{keys: []string{"/"}, shown: "/", verb: "filter", does: "show the nodes whose name, state, role, kind or branch has these words"},
	{keys: []string{"n"}, shown: "n", verb: "next", does: "select the next node that needs you"},
	{keys: []string{"g"}, shown: "g", does: "order the nodes as the graph, or by what needs you first"},
	{keys: []string{"up", "k"}, shown: "↑ k", does: "the node above"},
	{keys: []string{"down", "j"}, shown: "↓ j", does: "the node below"},
	{keys: []string{"pgup", "ctrl+b"}, shown: "pgup", does: "a page of nodes up"},
	{keys: []string{"pgdown", "ctrl+f"}, shown: "pgdn", does: "a page of nodes down"},
	{keys: []string{"home"}, shown: "home", does: "the run itself"},
	{keys: []string{"end"}, shown: "end", does: "the last node"},
	{keys: []string{"J", "shift+down", " "}, shown: "space J", does: "scroll the details down"},
	{keys: []string{"K", "shift+up"}, shown: "K", does: "scroll the details up"},
	{keys: []string{"?"}, shown: "?", verb: "keys", does: "these keys"},
	{keys: []string{"esc"}, shown: "esc", does: "leave what is open; drop the filter"},
	{keys: []string{"q", "ctrl+c"}, shown: "q", verb: "quit", does: "quit the monitor; the run continues"},
}

// binding is what a key means; nil: nothing.
func binding(pressed string) *key {
	if i := slices.IndexFunc(bindings, func(b key) bool { return slices.Contains(b.keys, pressed) }); i >= 0 {
		return &bindings[i]
	}
	return nil
}

// command is the order that a key gives to a node; empty: to the run. ok is
// false where it gives none.
func (b *key) command(node string) (o order, ok bool) {
	words := b.words
	if node == "" {
		words = b.run
	}
	if len(words) == 0 {
		return o, false
	}
	o.words = slices.Clone(words)
	for i, w := range o.words {
		if w == "NAME" {
			o.words[i] = node
		}
	}
	return o, true
}
