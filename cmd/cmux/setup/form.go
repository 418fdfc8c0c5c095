package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/huh"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/draft"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
)

// askForm asks in a form on the terminal, shows the file that the answers make
// and writes nothing that was not agreed to. Each field is held against what
// the parser says of it as soon as it is left; where all of them together are
// faulty the last agent is asked about again, with what was answered.
func (o *initOptions) askForm(ctx context.Context, p *control.Project, path string) error {
	a := &o.Draft
	if err := o.form(ctx, huh.NewGroup(
		huh.NewInput().Title("Session name").Value(&a.Session).Validate(func(s string) error {
			return faultOf(draft.Draft{Session: s, Agents: probes})
		}),
		huh.NewInput().Title("Folder of the worktrees").Value(&a.WorktreeBase).Validate(func(s string) error {
			return faultOf(draft.Draft{Session: "s", WorktreeBase: s, Agents: probes})
		}),
		huh.NewConfirm().Title("A pane at the project root?").Value(&a.MainPane),
		huh.NewInput().Title("Command that every build must pass (may be empty)").Value(&a.Verify).Suggestions(a.Checks).
			Description(choices(a.Checks)),
	)); err != nil {
		return err
	}
	one := draft.Node{Role: string(dag.RoleBuild)}
	for {
		more := false
		if err := o.askAgent(ctx, &one, &more); err != nil {
			return err
		}
		a.Agents = append(a.Agents, one)
		if more {
			one = draft.Node{Role: string(dag.RoleBuild)}
			continue
		}
		ok, err := o.agreed(ctx, p, path)
		if ok || err != nil {
			return err
		}
		a.Agents = a.Agents[:len(a.Agents)-1] // asked again, as it was answered
	}
}

func (o *initOptions) form(ctx context.Context, groups ...*huh.Group) error {
	err := huh.NewForm(groups...).WithInput(o.In).WithOutput(cli.Raw(o.Err)).RunWithContext(ctx)
	if errors.Is(err, huh.ErrUserAborted) {
		return commands.ErrInterrupted
	}
	return err
}

// probes stand in for the agents where none is asked about.
var probes = []draft.Node{{Name: "a", Task: "x", Kind: dag.KindCommand}}

// faultOf is what the parser says of what the answers make, of which all but one
// are known to be right.
func faultOf(a draft.Draft) error {
	_, _, err := dag.Parse("x.yml", []byte(a.Compose(dag.SchemaPath)), dag.ParseOptions{})
	var faults dag.Faults
	if !errors.As(err, &faults) || len(faults) == 0 {
		return err
	}
	if f := faults[0]; f.Hint != "" {
		return fmt.Errorf("%s (%s)", f.Message, f.Hint)
	}
	return errors.New(faults[0].Message)
}

// choices are commands to choose from, in a line.
func choices(commands []string) string {
	if len(commands) < 2 {
		return ""
	}
	return "found: " + strings.Join(commands, ", ")
}

// askAgent asks about one agent: what it is to do first, from which a name
// follows.
func (o *initOptions) askAgent(ctx context.Context, one *draft.Node, more *bool) error {
	a := &o.Draft
	if one.Kind == "" {
		one.Kind = a.KindOf(one)
	}
	if err := o.form(ctx, huh.NewGroup(
		huh.NewSelect[string]().Title("Role").Options(
			huh.NewOption("build: works in a worktree of its own", string(dag.RoleBuild)),
			huh.NewOption("review: reads at the project root", string(dag.RoleReview)),
			huh.NewOption("merge: brings its dependencies' branches together", string(dag.RoleMerge)),
			huh.NewOption("gate: waits for a person", string(dag.RoleGate))).Value(&one.Role),
		huh.NewSelect[string]().Title("Kind of agent (a gate has none)").Options(kindOptions(a.Found)...).Value(&one.Kind),
		huh.NewText().Title("Task: what it is to do; for a command, the shell command (empty for a gate and a merge)").Value(&one.Task).
			Validate(func(s string) error { return taskFault(dag.Role(one.Role), s) }),
	)); err != nil {
		return err
	}
	if one.Name == "" {
		one.Name = proposed(a, one.Task, one.Role)
	}
	after := draft.List(one.After)
	fields := []huh.Field{huh.NewInput().Title("Agent name").Value(&one.Name).Validate(func(s string) error { return nameFault(a, s) })}
	if len(a.Agents) > 0 {
		var names []huh.Option[string]
		for _, other := range a.Agents {
			names = append(names, huh.NewOption(other.Name, other.Name))
		}
		fields = append(fields, huh.NewMultiSelect[string]().Title("It depends on").Options(names...).Value(&after))
	}
	if one.Role == string(dag.RoleBuild) || one.Role == string(dag.RoleMerge) {
		fields = append(fields, huh.NewInput().Title("Branch (empty: "+a.Session+"/NAME)").Value(&one.Branch).Validate(func(s string) error {
			return faultOf(draft.Draft{Session: "s", Agents: []draft.Node{{Name: "a", Task: "x", Branch: s}}})
		}))
	}
	if one.Role == string(dag.RoleBuild) {
		fields = append(fields, huh.NewInput().Title("What it may write: paths, comma-separated (empty: anything)").Value(&one.Scope).Validate(func(s string) error {
			return faultOf(draft.Draft{Session: "s", Agents: []draft.Node{{Name: "a", Task: "x", Scope: s}}})
		}))
	}
	fields = append(fields, huh.NewConfirm().Title("Another agent?").Value(more))
	err := o.form(ctx, huh.NewGroup(fields...))
	one.After = strings.Join(after, ",")
	return err
}

// taskFault says whether a role wants a task that is not there.
func taskFault(role dag.Role, task string) error {
	if strings.TrimSpace(task) == "" && (role == dag.RoleBuild || role == dag.RoleReview) {
		return fmt.Errorf("a %s needs a task", role)
	}
	return nil
}

// nameFault is what is wrong with a name for one more agent.
func nameFault(a *draft.Draft, name string) error {
	for _, other := range a.Agents {
		if strings.EqualFold(other.Name, name) {
			return fmt.Errorf("there is an agent %s already", other.Name)
		}
	}
	return faultOf(draft.Draft{Session: "s", Agents: []draft.Node{{Name: name, Task: "x"}}})
}

// proposed is a name for an agent that has this task: its first words, or its
// role, and a number where that is taken.
func proposed(a *draft.Draft, task, role string) string {
	name := draft.Slug(task, 3)
	if name == "" {
		name = role
	}
	for n, free := 2, name; ; n++ {
		if nameFault(a, free) == nil || n > 1000 {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// agreed shows the file and asks whether it is written as it is. A fault is
// shown instead, and nothing asked.
func (o *initOptions) agreed(ctx context.Context, p *control.Project, path string) (bool, error) {
	rel, err := filepath.Rel(filepath.Dir(path), p.Configurations().Schema())
	if err != nil {
		return false, err
	}
	text := o.Compose(filepath.ToSlash(rel))
	fmt.Fprintf(o.Err, "%s:\n\n%s\n", p.Short(path), text)
	if _, _, err := dag.Parse(p.Short(path), []byte(text), dag.ParseOptions{}); err != nil {
		fmt.Fprintf(o.Err, "%v\n\nThe last agent once more:\n", err)
		return false, nil
	}
	write := true
	err = o.form(ctx, huh.NewGroup(huh.NewConfirm().Title("Write it?").Affirmative("Write it").Negative("Change the last agent").Value(&write)))
	return write, err
}
