package help

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
)

// OwnUsage has every wrong command line below cmd answered in cmux's own words,
// as an error of usage that names what was meant. The libraries' words name
// their own notions and no way out.
func OwnUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(wrongOption)
	for c := range below(cmd) {
		if c.HasSubCommands() && c.Run == nil && c.RunE == nil {
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return nil
				}
				return unknownCommand(c, args)
			}
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			continue
		}
		check := c.Args
		c.Args = func(c *cobra.Command, args []string) error {
			if check != nil {
				if err := check(c, args); err != nil {
					return wrongArgs(c, args)
				}
			}
			return wrongTogether(c)
		}
	}
}

// below are cmd and all commands below it.
func below(cmd *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) { walk(cmd, yield) }
}

func walk(cmd *cobra.Command, yield func(*cobra.Command) bool) bool {
	if !yield(cmd) {
		return false
	}
	for _, sub := range cmd.Commands() {
		if !walk(sub, yield) {
			return false
		}
	}
	return true
}

// unknownCommand says that cmd has no command args[0], and which one was most
// likely meant: one of that name elsewhere, a name like it here or elsewhere.
func unknownCommand(cmd *cobra.Command, args []string) error {
	try := cmd.CommandPath() + " --help"
	if near := meant(cmd, args[0]); near != nil {
		paths := make([]string, len(near))
		for i, c := range near {
			if sub, rest, err := c.Find(args[1:]); err == nil && len(rest) < len(args)-1 {
				c = sub
			}
			paths[i] = c.CommandPath()
		}
		if len(paths) > maxMeant {
			paths = append(paths[:maxMeant-1:maxMeant-1], "others: "+cmd.CommandPath()+" --help")
		}
		try = strings.Join(paths, ", or ")
	}
	return project.Usage(try, "%s has no command %q", cmd.CommandPath(), args[0])
}

// maxMeant is how many commands are named that may be meant.
const maxMeant = 4

// usual are the names that other programs have for a command.
var usual = map[string]string{"reply": "send", "ls": "list", "runs": "list", "rm": "remove", "del": "remove", "delete": "remove"}

func meant(cmd *cobra.Command, word string) []*cobra.Command {
	here, elsewhere := named(cmd)
	near := runs.Nearest(word, slices.Sorted(maps.Keys(here)))
	if there := elsewhere[word]; there != nil && (near == "" || !cmd.HasParent()) {
		return there
	} else if there != nil { // agents log: more likely logs than the log of something else
		return append(slices.Clone(here[near]), there...)
	}
	if ours := usual[word]; ours != "" {
		if cmd.HasParent() {
			return here[ours]
		}
		return append(here[ours], elsewhere[ours]...)
	}
	if near != "" {
		return here[near]
	}
	return elsewhere[runs.Nearest(word, slices.Sorted(maps.Keys(elsewhere)))]
}

// named are the commands that a person sees, by name: those right below cmd, and
// all others.
func named(cmd *cobra.Command) (here, elsewhere map[string][]*cobra.Command) {
	here, elsewhere = make(map[string][]*cobra.Command), make(map[string][]*cobra.Command)
	for c := range below(cmd.Root()) {
		if c.Hidden || !c.HasParent() {
			continue
		}
		for _, name := range append([]string{c.Name()}, c.Aliases...) {
			switch {
			case c.Parent() == cmd:
				here[name] = append(here[name], c)
			case c.Parent().Name() != "completion": // bash is no command that one looks for
				elsewhere[name] = append(elsewhere[name], c)
			}
		}
	}
	return here, elsewhere
}

// wrongArgs says what cmd takes, when args are not it.
func wrongArgs(cmd *cobra.Command, args []string) error {
	help := cmd.CommandPath() + " --help"
	takes := strings.Fields(cmd.Use)[1:]
	var must []string
	for _, word := range takes {
		if !strings.HasPrefix(word, "[") {
			must = append(must, word)
		}
	}
	switch {
	case len(args) < len(must):
		return project.Usage(help, "%s needs %s", cmd.CommandPath(), strings.Join(must[len(args):], " and "))
	case len(takes) == 0:
		return project.Usage(help, "%s takes no arguments: unexpected %q", cmd.CommandPath(), args[0])
	case len(args) > len(takes):
		return project.Usage(help, "%s takes %s, and %q is one more", cmd.CommandPath(), strings.Join(takes, " "), args[len(takes)])
	}
	return project.Usage(help, "%s does not take %s", cmd.CommandPath(), say.List(args, 5))
}

// wrongTogether says which options of cmd were given that exclude each other.
func wrongTogether(cmd *cobra.Command) error {
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	help := cmd.CommandPath() + " --help"
	var given []*pflag.Flag
	cmd.Flags().Visit(func(f *pflag.Flag) { given = append(given, f) })
	for _, f := range given {
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			for _, g := range given {
				if g != f && slices.Contains(strings.Fields(group), g.Name) {
					return project.Usage(help, "--%s and --%s exclude each other", f.Name, g.Name)
				}
			}
		}
	}
	return project.Usage(help, "%w", err)
}

// wrongOption says what is wrong with an option of cmd.
func wrongOption(cmd *cobra.Command, err error) error {
	// A name that was mistyped before it explains an option that is not known.
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		return unknownCommand(cmd, args)
	}
	help := cmd.CommandPath() + " --help"
	var (
		none    *pflag.NotExistError
		valued  *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
		broken  *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &none) && none.GetSpecifiedShortnames() != "":
		return project.Usage(help, "%s has no option -%.1s", cmd.CommandPath(), none.GetSpecifiedName())
	case errors.As(err, &none):
		name, try := none.GetSpecifiedName(), help
		if near := runs.Nearest(name, options(cmd)); near != "" {
			try = "--" + near + " instead of --" + name
		}
		return project.Usage(try, "%s has no option --%s", cmd.CommandPath(), name)
	case errors.As(err, &valued):
		f := valued.GetFlag()
		return project.Usage(help, "--%s needs %s", f.Name, wanted(f))
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return project.Usage(help, "--%s %q: want %s", f.Name, invalid.GetValue(), wanted(f))
	case errors.As(err, &broken):
		return project.Usage(help, "%s is no option", broken.GetSpecifiedFlag())
	}
	return project.Usage(help, "%w", err)
}

// options are the names of the options that cmd shows.
func options(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}

// wanted is what an option takes.
func wanted(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false, or nothing after it"
	case "int", "int64", "uint":
		return "a whole number"
	case "duration":
		return "a time, such as 90s, 10m or 1h30m"
	}
	return "a value"
}
