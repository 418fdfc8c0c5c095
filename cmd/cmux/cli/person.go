package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cmux/agents/control"
	"cmux/agents/control/orders"
)

// allow refuses a command that is a person's to a process that comes from an
// attempt of this project.
func (d *Deps) allow(ctx context.Context, cmd *cobra.Command, args []string) error {
	o, ok := OrderOf(cmd, args)
	if !ok {
		return nil
	}
	p, err := control.Allow(ctx, d.Caller(), o)
	d.found = p
	return err
}

// OrderOf is the order that a call of cmd gives; none where it only helps.
func OrderOf(cmd *cobra.Command, args []string) (o orders.Order, ok bool) {
	_, name, ok := strings.Cut(cmd.CommandPath(), " ")
	if !ok || cmd.HasSubCommands() || IsHelp(cmd) {
		return o, false
	}
	words := strings.Fields(name)
	cmd.Flags().Visit(func(f *pflag.Flag) { words = append(words, "--"+f.Name+"="+f.Value.String()) })
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }) {
		words = append(words, "--")
	}
	return orders.Order{
		Name:  name,
		About: First(args),
		Words: append(words, args...),
		With: func(option string) bool {
			f := cmd.Flags().Lookup(option)
			return f != nil && f.Changed && f.Value.String() != "false"
		},
		Value: func(option string) string {
			f := cmd.Flags().Lookup(option)
			if f == nil {
				return ""
			}
			return f.Value.String()
		},
		Command: strings.Join(append([]string{cmd.CommandPath()}, args...), " "),
	}, true
}

// IsHelp reports whether cmd is one of those that come with every command line.
func IsHelp(cmd *cobra.Command) bool {
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		switch cmd.Name() {
		case "help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
			return !cmd.Parent().HasParent()
		}
	}
	return false
}
