package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// shells are those that there is a completion script for, and where each looks
// for it.
var shells = map[string]string{
	"bash":       "~/.local/share/bash-completion/completions/cmux",
	"fish":       "~/.config/fish/completions/cmux.fish",
	"zsh":        `"${fpath[1]}/_cmux"`,
	"powershell": "$PROFILE",
}

// addHelp adds the commands that come with every command line: help, and
// completion with a command for each shell.
func addHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for c := range commands(root) {
		switch {
		case !isHelp(c):
		case c.Name() == "help":
			c.Short, c.Long = "Explain a command", ""
			c.Example = "  cmux help agents start"
		case c.Name() == "completion":
			c.Short, c.Long = "Print the completion script of a shell", ""
			c.Example = "  cmux completion bash > " + shells["bash"]
		case shells[c.Name()] != "":
			to := shells[c.Name()]
			c.Short = "Print the completion script of " + c.Name()
			c.Long = fmt.Sprintf("Print the completion script of %s, which belongs in\n%s. A new shell reads it.", c.Name(), to)
			c.Example = "  cmux completion " + c.Name() + " > " + to
			c.DisableFlagsInUseLine = true
		}
	}
}
