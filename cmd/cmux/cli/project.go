package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
)

// Caller is the person at this command line, as control knows them.
func (d *Deps) Caller() project.Caller {
	c := project.Caller{Program: os.Executable, InHealth: d.InHealth, Dir: d.Dir, Env: d.Env, Now: d.Now, Kinds: d.Kinds, Session: d.Session, Command: d.command,
		Note: func(line string) { fmt.Fprintf(d.Err, "cmux: %s\n", line) }}
	if IsTerminal(d.In) && !d.inside {
		c.Choose = d.chooseRun
	}
	return c
}

// Project is the project that the command was called in.
func (d *Deps) Project(ctx context.Context) (*control.Project, error) {
	if d.found != nil && d.found.Dir == d.Dir { // a moment ago, by allow
		return &control.Project{Project: project.Project{Caller: d.Caller(), Root: d.found.Root}}, nil
	}
	return control.Open(ctx, d.Caller())
}

// WithoutNotes is the project of who has nobody to tell: something else has the terminal.
func WithoutNotes(p *control.Project) *control.Project {
	own := *p
	own.Note = nil
	return &own
}

// SessionFlags gives each command that means a run the flag that says which.
func (d *Deps) SessionFlags(agents *cobra.Command) {
	for _, cmd := range agents.Commands() {
		if runs.MeansRun(cmd.Name()) {
			cmd.Flags().StringVar(&d.Session, "session", d.Session, "the run of this session, `NAME` (default: the one in whose worktree you are, or that has not ended)")
			cmd.RegisterFlagCompletionFunc("session", d.completeSession)
		}
	}
}

// given is the command line as a person would repeat it.
func given(cmd *cobra.Command, args []string) string {
	o, ok := OrderOf(cmd, args)
	if !ok {
		return ""
	}
	words := []string{"cmux"}
	for _, w := range o.Words {
		if name, value, ok := strings.Cut(w, "="); ok && strings.HasPrefix(w, "--") {
			if w = name; value != "true" {
				w += "=" + say.Word(value)
			}
			words = append(words, w)
			continue
		}
		words = append(words, say.Word(w))
	}
	return strings.Join(words, " ")
}

// chooseRun asks a person which of several runs is meant.
func (d *Deps) chooseRun(ctx context.Context, runs []project.Choice) (int, error) {
	fmt.Fprintln(d.Err, "Several runs have not ended:")
	for i, r := range runs {
		fmt.Fprintf(d.Err, "  %d  %s  (%s)\n", i+1, r.Session, r.Stands)
	}
	text, ok, err := d.AskLine(ctx, "Which one? Its number or session: ")
	if err != nil {
		return 0, err
	}
	text = strings.TrimSpace(text)
	for i, r := range runs {
		if text == strconv.Itoa(i+1) || text == r.Session {
			d.Session = r.Session
			return i, nil
		}
	}
	if !ok || text == "" {
		fmt.Fprintln(d.Err, "Nothing was done.")
		return 0, Silent(ErrDeclined)
	}
	return 0, project.Usage("the same with --session NAME", "%q is none of them", text)
}

// Call is a command about some part of a project, as it was given.
type Call[Part any] struct {
	*IO
	Part  Part
	Args  []string
	JSON  bool                     // print JSON
	Given func(option string) bool // whether an option was given
}

// About makes cmd, which can print JSON, a command about the part of the project that open opens.
func About[Part any](d *Deps, cmd *cobra.Command, open func(*control.Project) Part, run func(context.Context, *Call[Part]) error) *cobra.Command {
	c := &Call[Part]{IO: &d.IO}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p, err := d.Project(cmd.Context())
		if err != nil {
			return err
		}
		c.Part, c.Args, c.Given = open(p), args, cmd.Flags().Changed
		return run(cmd.Context(), c)
	}
	JSONFlag(cmd, &c.JSON)
	return cmd
}
