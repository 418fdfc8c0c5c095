// Package memoryconfig is what a person decides about what rooms learn: when notes are made and
// by which program, and whether members get them. Config has all of it with its defaults,
// Keys the keys below memory: in .cmux/config.yml. Nothing here acts.
package memoryconfig

import "cmux/dag/keys"

// Learn is when a room is learned from.
type Learn string

// The values of Learn.
const (
	Ask       Learn = "ask"       // a person orders it
	Auto      Learn = "auto"      // by the program
	Heuristic Learn = "heuristic" // without a program: what can be counted
	Off       Learn = "off"       // not by itself
)

// Config is what memory goes by.
type Config struct {
	Learn  Learn
	Agent  string // kind of the program that learns
	Model  string // as that names it
	Inject bool   // members get notes
}

// Default is Config where a person says nothing.
func Default() Config { return New(nil) }

// New returns the configuration with the values that a person set, by key, and defaults for
// the rest. A value that is not valid counts as not set.
func New(set map[string]string) Config {
	var c Config
	for _, f := range fields() {
		if v, ok := set[f.Name]; ok && f.Set(&c, v) == nil {
			continue
		}
		if err := f.Set(&c, f.Def); err != nil {
			panic(err) // the table's own
		}
	}
	return c
}

func fields() []keys.Field[Config] {
	return []keys.Field[Config]{
		keys.Choice(keys.Key{Name: "learn", Allowed: []string{string(Ask), string(Auto), string(Heuristic), string(Off)}, Def: string(Ask),
			Doc: "When cmux makes [notes](memory.md) of what a room said. It is due when the room is closed, or settles after its first decision. With `ask` you order it, after you have seen how many tokens it uses; with `auto` the program does it by itself; with `heuristic` cmux writes down by itself what can be counted, without a program; with `off` nothing is due."},
			func(c *Config) *Learn { return &c.Learn }),
		keys.Choice(keys.Key{Name: "agent", Allowed: []string{"claude"}, Def: "claude", Doc: "The kind of the program that reads what was said. If it is not installed, cmux writes down what can be counted."},
			func(c *Config) *string { return &c.Agent }),
		keys.Text(keys.Key{Name: "model", Pattern: `^[^-\s]\S*$`, Hint: "write the name of a model", Def: "haiku", Doc: "Its model, as the program names it."},
			func(c *Config) *string { return &c.Model }),
		keys.Flag(keys.Key{Name: "inject", Def: "true", Doc: "A member of a room is told notes that fit, once in its conversation."},
			func(c *Config) *bool { return &c.Inject }),
	}
}

// Keys are the keys below memory of a configuration. What a person set is kept as text, by key,
// so that the rest has the defaults of the version that reads it.
func Keys[T any](set func(*T) *map[string]string) []keys.Field[T] { return keys.AsText(fields(), set) }
