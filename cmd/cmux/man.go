package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newManCmd is for who packages cmux. The pages bear the date that
// SOURCE_DATE_EPOCH says.
func newManCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Hidden: true,
		Short:  "Write a man page of each command into a folder",
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true
			for c := range commands(root) {
				c.Long = preformatted(c.Long)
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "cmux " + built().Version, Manual: "cmux"}, args[0])
		},
	}
}

// preformatted marks the lines of a help text that begin with a space as what
// keeps its shape, as Markdown has it.
func preformatted(text string) string {
	var b strings.Builder
	was := false
	for line := range strings.Lines(text) {
		is := strings.HasPrefix(line, " ")
		if is != was {
			b.WriteByte('\n')
		}
		if was = is; is {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}
