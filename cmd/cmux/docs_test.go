package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cmux/agents/testkit/agenttest/golden"
	"cmux/cmd/cmux/cli"
)

const commandsPage = "../../docs/commands.md"

// TestDocsCommands keeps docs/commands.md what the commands say of themselves.
func TestDocsCommands(t *testing.T) {
	got := commandsDoc(newRoot(&cli.Deps{}))
	if golden.Updates() {
		if err := os.WriteFile(commandsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is stale: go test ./cmd/cmux -run TestDocsCommands -update", commandsPage)
	}
}

// TestCommandsAreExplained holds every command to a short text, and every
// visible one to an example that begins with the command itself.
func TestCommandsAreExplained(t *testing.T) {
	each(newRoot(&cli.Deps{}), func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s says nothing of itself", c.CommandPath())
		}
		if !c.Hidden && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example", c.CommandPath())
		}
	})
}

// each calls f for c and every command below it.
func each(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, sub := range c.Commands() {
		each(sub, f)
	}
}

// commandsDoc is the reference of the command tree in Markdown.
func commandsDoc(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# Commands

Generated from the commands' own help texts: ` + "`make docs`" + ` rewrites it.

Results go to stdout, everything else to stderr. The exit codes:

| code | meaning |
|---|---|
| 0 | fine |
| 1 | any other error |
`)
	byCode := slices.Clone(exits)
	slices.SortFunc(byCode, func(a, b exit) int { return a.code - b.code })
	for _, e := range byCode {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.means)
	}
	each(root, func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		b.WriteString(text + "\n")
		if c.Runnable() && !c.HasSubCommands() {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", c.UseLine())
		}
		if flags := c.NonInheritedFlags().FlagUsages(); flags != "" {
			fmt.Fprintf(&b, "\n```\n%s```\n", flags)
		}
		if c.Example != "" {
			lines := strings.Split(c.Example, "\n")
			for i := range lines {
				lines[i] = strings.TrimPrefix(lines[i], "  ")
			}
			fmt.Fprintf(&b, "\nFor example:\n\n```sh\n%s\n```\n", strings.Join(lines, "\n"))
		}
	})
	return b.String()
}
