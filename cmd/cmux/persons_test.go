package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cmux/agents/control/orders"
	"cmux/agents/kinds"
	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/rights"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

// Every command is either a person's or one that an agent may call in its own
// project; a new one is a person's until control says otherwise.
func TestEveryCommandSaysWhoseItIs(t *testing.T) {
	all := []string{"config"} // which has commands below it, and is one
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		o, ok := cli.OrderOf(cmd, nil)
		if !ok {
			return
		}
		all = append(all, o.Name)
		if !slices.Contains(rights.All(), o.Name) && o.Name != "help" && !strings.HasPrefix(o.Name, "completion") {
			t.Errorf("rights does not say whose cmux %s is", o.Name)
		}
		// The guard, which looks at a shell's text, says the same.
		inner := []string{"agents init", "agents exec", "serve", "mcp", "man"} // that only programs give
		for _, leads := range []bool{false, true} {
			may := !slices.Contains(inner, o.Name) && (!orders.IsPersons(o) || leads && orders.IsLeaders(o))
			input, err := json.Marshal(map[string]string{"command": "cmux " + o.Name})
			if err != nil {
				t.Fatal(err)
			}
			d := guard.Decide(places.Policy{Role: dag.RoleBuild, Root: "/p/shop", Tree: "/p/shop-api", Leads: leads}, guard.Call{Tool: "Bash", Input: input, Dir: "/p/shop-api"})
			if got := d.Verdict != guard.Deny; got != may && cmd.Runnable() && !cmd.HasSubCommands() {
				t.Errorf("cmux %s, leads %t: the guard says %t %s", o.Name, leads, got, d.Reason)
			}
		}
	}
	root := newRoot(&cli.Deps{Kinds: kinds.All()})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root)
	for _, name := range rights.All() {
		if !slices.Contains(all, name) {
			t.Errorf("rights names %s, which is no command", name)
		}
	}
	for line, want := range map[string]bool{
		"agents start": true, "agents start --dry-run": false, "agents start --dry-run=false": true, "agents start --yes": true,
		"agents shared": false, "maintenance": true, "maintenance --dry-run": false, "agents shared --restore": true, "agents shared --accept": true, "agents shared --json": false,
	} {
		cmd, rest, err := newRoot(&cli.Deps{Kinds: kinds.All()}).Find(strings.Fields(line))
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := cli.OrderOf(cmd, nil); !ok || orders.IsPersons(o) != want {
			t.Errorf("%s: a person's: %v", line, !want)
		}
	}
}

// What is granted without a question is a command with these options, and its
// holder may give it. An option that is not in the grant is one that asks.
func TestGrantedOrdersAreCommands(t *testing.T) {
	root := newRoot(&cli.Deps{Kinds: kinds.All()})
	root.InitDefaultHelpCmd()
	for order, options := range rights.Granted() {
		cmd, rest, err := root.Find(strings.Fields(order))
		if err != nil || len(rest) > 0 || cmd.HasSubCommands() {
			t.Errorf("cmux %s is granted, and is no command", order)
			continue
		}
		for _, o := range options {
			name := strings.TrimLeft(o, "-")
			if cmd.Flags().Lookup(name) == nil && cmd.Flags().ShorthandLookup(name[:1]) == nil {
				t.Errorf("cmux %s is granted with %s, which it does not have", order, o)
			}
		}
		o, ok := cli.OrderOf(cmd, nil)
		if ok && orders.IsPersons(o) && !orders.IsLeaders(o) && !rights.IsCoordinators(o.Name, o.With) {
			t.Errorf("cmux %s is granted, and is a person's", order)
		}
	}
}

// What is granted is read by cmux as the guard reads it: no word is another option
// than one of the grant, and `locks with` runs the words that were granted.
func TestGrantedWordsAreReadAlike(t *testing.T) {
	holder := rights.Holder{Stays: true, Leads: true, Sentry: true, TeamLead: true}
	granted := rights.Granted()
	parse := func(words []string) (*cobra.Command, error) {
		root := newRoot(&cli.Deps{Kinds: kinds.All()})
		root.InitDefaultHelpCmd()
		cmd, rest, err := root.Find(words)
		if err != nil {
			return nil, err
		}
		return cmd, cmd.ParseFlags(rest)
	}
	read := 0
	for order, options := range granted {
		cmd, err := parse(strings.Fields(order))
		if err != nil {
			t.Fatal(err)
		}
		all := []string{"--", "/x"}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { all = append(all, "--"+f.Name) })
		for _, one := range all {
			for _, two := range all {
				for _, more := range []string{one + " x " + two, one + " " + two + " x -- y", one + "=x " + two + "=/x a", "a " + one + " -- " + two + " b", one + " -- a " + two + " /x", one + " -- a -- b", "a -- " + one + " " + two} {
					words := append(strings.Fields(order), strings.Fields(more)...)
					inner, ok := rights.Grants(holder, words)
					if !ok {
						continue
					}
					cmd, err := parse(words)
					if err != nil {
						continue // cmux refuses it
					}
					read++
					cmd.Flags().Visit(func(f *pflag.Flag) {
						if f.Name != "help" && !slices.Contains(options, "--"+f.Name) {
							t.Errorf("%q is granted, and cmux reads --%s", words, f.Name)
						}
						if v := f.Value.String(); (f.Name == "role-template" || f.Name == "permanent") && strings.Contains(v, "/") {
							t.Errorf("%q is granted, and names the file %s", words, v)
						}
					})
					if args := cmd.Flags().Args(); order == "locks with" && cmd.ArgsLenAtDash() == 1 && len(args) > 1 && !slices.Equal(args[1:], inner) {
						t.Errorf("%q is granted for %q, and cmux runs %q", words, inner, args[1:])
					}
				}
			}
		}
	}
	if read < 500 {
		t.Errorf("only %d were read", read)
	}
}
