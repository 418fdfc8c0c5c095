package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cmux/agents/kinds"
)

func TestIsOption(t *testing.T) {
	const two = "Which one?\n  1. Red: like fire\n  2. Blue"
	for _, c := range []struct {
		question, answer string
		ok               bool
	}{
		{two, "1", true},
		{two, " 2\n", true},
		{two, "3", false},
		{two, "0", false},
		{two, "-1", false},
		{two, "Blue", true},
		{two, "3 of them", true},
		{"blocked: how many pages?", "20", true},
		{"(1 of 2) Which one?\n  1. Red\n(2 of 2) How many?", "7", true},
	} {
		if err := isOption(c.question, c.answer); (err == nil) != c.ok {
			t.Errorf("%q to %q: %v", c.answer, c.question, err)
		}
	}
}

// Every command is either a person's or one that an agent may call in its own
// project; a new one has to say which.
func TestEveryCommandSaysWhoseItIs(t *testing.T) {
	everybodys := strings.Fields("init status wait logs diff verify schema graph list exec done blocked output hook doctor version help completion bash zsh fish powershell mcp")
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.HasSubCommands() {
			return
		}
		is, may := cmd.Annotations[persons] != "", slices.Contains(everybodys, cmd.Name()) || cmd.CommandPath() == "cmux snapshots list"
		if is == may {
			t.Errorf("%s: a person's: %v, anybody's: %v", cmd.CommandPath(), is, may)
		}
	}
	walk(newRoot(&Deps{Kinds: kinds.All()}))
}
