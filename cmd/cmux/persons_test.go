package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cmux/agents/kinds"
)

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
