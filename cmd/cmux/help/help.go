// Package help explains commands and topics, answers wrong command lines, and
// writes the man pages. It reads the tree of commands and knows none of them.
package help

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/kinds/agent"
	"cmux/cmd/cmux/cli"
	"cmux/docs"
)

// shells are those that there is a completion script for, and where each looks
// for it.
var shells = map[string]string{
	"bash":       "~/.local/share/bash-completion/completions/cmux",
	"fish":       "~/.config/fish/completions/cmux.fish",
	"zsh":        `"${fpath[1]}/_cmux"`,
	"powershell": "$PROFILE",
}

// Add adds the commands that come with every command line: help, and
// completion with a command for each shell.
func Add(root *cobra.Command, s *cli.IO) {
	root.SetHelpCommand(newHelpCmd(s, nil))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for c := range below(root) {
		switch {
		case !cli.IsHelp(c):
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
	usual := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		usual(cmd, args)
		if cmd == root {
			io.WriteString(cmd.OutOrStdout(), "\n"+topicList(Topics()))
		}
	})
}

// Topic is a page of the docs as help shows it.
type Topic struct{ Name, About, Text string }

// renamed are the topics of pages that have the name of a command, under which
// nobody would find them.
var renamed = map[string]string{"agents": "kinds", "tasks": "about-tasks", "journal": "about-journal", "teams": "about-teams", "rooms": "about-rooms", "memory": "about-memory", "machines": "about-machines"}

func topicOf(page string) string { return cmp.Or(renamed[page], page) }

// Topics are the pages, by name.
func Topics() []Topic {
	names, err := fs.Glob(docs.Pages, "*.md")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	all := make([]Topic, 0, len(names))
	for _, file := range names {
		b, err := docs.Pages.ReadFile(file)
		if err != nil {
			panic(err) // it is part of this program
		}
		t := Topic{Name: topicOf(strings.TrimSuffix(file, path.Ext(file))), Text: string(b)}
		title, _, _ := strings.Cut(t.Text, "\n")
		t.About = strings.TrimPrefix(title, "# ")
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func topicList(all []Topic) string {
	var b strings.Builder
	b.WriteString("Topics (cmux help TOPIC, cmux help TOPIC SECTION):\n")
	for _, t := range all {
		fmt.Fprintf(&b, "  %-20s %s\n", t.Name, t.About)
	}
	return b.String()
}

type helpOptions struct {
	*cli.IO
	Root  *cobra.Command
	Words []string
}

func newHelpCmd(s *cli.IO, runF func(context.Context, *helpOptions) error) *cobra.Command {
	o := &helpOptions{IO: s}
	cmd := &cobra.Command{
		Use:     "help [COMMAND... | TOPIC [SECTION]]",
		GroupID: "main",
		Short:   "Explain a command or a topic",
		Long: `Explain a command, or show a page of the docs. Without arguments, help lists both.
SECTION is a heading of the page, such as a key of the configuration. On a terminal,
help uses the program in PAGER, or less.`,
		Example: "  cmux help agents start\n  cmux help configuration\n  cmux help configuration verify",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			at, _, err := cmd.Root().Find(args)
			if err == nil {
				for _, c := range at.Commands() {
					if !c.Hidden {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			if len(args) == 0 {
				for _, t := range Topics() {
					names = append(names, t.Name+"\t"+t.About)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Root, o.Words = cmd.Root(), args
			return cli.Either(runF, runHelp)(cmd.Context(), o)
		},
	}
	return cmd
}

func runHelp(ctx context.Context, o *helpOptions) error {
	if len(o.Words) == 0 {
		return o.Root.Help()
	}
	all := Topics()
	for _, t := range all {
		if t.Name != o.Words[0] {
			continue
		}
		text := t.Text
		if wanted := strings.Join(o.Words[1:], " "); wanted != "" {
			var near string
			if text, near = section(t.Text, wanted); text == "" {
				try := "cmux help " + t.Name
				if near != "" {
					try += " " + near
				}
				return project.Usage(try, "the page %s has no section %q", t.Name, wanted)
			}
		}
		return page(ctx, o.IO, readable(text, o.Color()))
	}
	cmd, rest, err := o.Root.Find(o.Words)
	if err == nil && len(rest) == 0 && cmd.HasParent() {
		cmd.InitDefaultHelpFlag()
		return cmd.Help()
	}
	if cmd != nil && cmd.HasParent() && len(rest) > 0 {
		return unknownCommand(cmd, rest)
	}
	here, elsewhere := named(o.Root)
	names := slices.Collect(maps.Keys(here))
	for _, t := range all {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	if near := runs.Nearest(o.Words[0], names); near != "" {
		return project.Usage("cmux help "+near, "there is no command and no topic %q", o.Words[0])
	}
	if elsewhere[o.Words[0]] != nil {
		return unknownCommand(o.Root, o.Words)
	}
	return project.Usage("cmux help", "there is no command and no topic %q", strings.Join(o.Words, " "))
}

// eachLine gives the lines of a page: inside says that a line is code, level is
// that of a heading, 0 for what is none.
func eachLine(page string, f func(line string, inside bool, level int)) {
	inside := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
			continue
		}
		level := 0
		if marks, _, is := strings.Cut(line, " "); is && !inside && strings.Trim(marks, "#") == "" {
			level = len(marks)
		}
		f(line, inside, level)
	}
}

// section is the part of a page below the heading of this name, and the heading
// that was most likely meant where there is none.
func section(page, name string) (text, near string) {
	plain := func(s string) string { return strings.ToLower(strings.Trim(s, "#` \n")) }
	var (
		names []string
		b     strings.Builder
		below int // level of the heading that was found
	)
	code := false
	eachLine(page, func(line string, inside bool, level int) {
		if level > 0 && below > 0 && level <= below {
			below = -1
		}
		if level > 0 {
			names = append(names, plain(line))
			if below == 0 && plain(line) == plain(name) {
				below = level
			}
		}
		if below > 0 {
			if inside != code {
				b.WriteString("```\n")
			}
			b.WriteString(line)
		}
		code = inside
	})
	if b.Len() > 0 {
		return b.String(), ""
	}
	return "", runs.Nearest(plain(name), names)
}

var (
	comment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<!--.*?-->\n*`) })
	link    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\n]+)\)`) })
)

// readable is a page in Markdown as it reads in a terminal.
func readable(page string, color bool) string {
	var b strings.Builder
	eachLine(comment().ReplaceAllString(page, ""), func(line string, inside bool, level int) {
		switch {
		case inside:
			line = "    " + line
		case level > 0:
			line = strings.TrimLeft(line, "# ")
			if color {
				line = "\x1b[1m" + strings.TrimSuffix(line, "\n") + "\x1b[0m\n"
			}
		default:
			line = link().ReplaceAllStringFunc(line, linked)
		}
		b.WriteString(line)
	})
	return b.String()
}

// linked is a link as it reads in a terminal: to another page by its topic.
func linked(s string) string {
	parts := link().FindStringSubmatch(s)
	file, _, _ := strings.Cut(parts[2], "#")
	if name, is := strings.CutSuffix(file, ".md"); is && !strings.Contains(name, "/") {
		return parts[1] + " (cmux help " + topicOf(name) + ")"
	}
	return parts[1]
}

// page shows a text, in a pager where a person sees it on a terminal.
func page(ctx context.Context, s *cli.IO, text string) error {
	pager := strings.Fields(s.Getenv("PAGER"))
	if len(pager) == 0 {
		pager = []string{"less", "-FRX"}
	}
	if s.Interactive() && pager[0] != "cat" {
		if program, err := agent.LookPath(pager[0], s.Env); err == nil {
			cmd := exec.CommandContext(ctx, program, pager[1:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = strings.NewReader(text), cli.Raw(s.Out), cli.Raw(s.Err), s.Env
			err := cmd.Run()
			var exit *exec.ExitError
			if err == nil || errors.As(err, &exit) { // it is for the pager to say
				return nil
			}
		}
	}
	_, err := io.WriteString(s.Out, text)
	return err
}
