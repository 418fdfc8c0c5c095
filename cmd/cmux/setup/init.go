// Package setup has the commands that a person begins with: init writes the
// configuration, doctor looks for what keeps cmux from working.
package setup

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/huh"
	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/checks"
	"cmux/agents/control/draft"
	"cmux/agents/control/project"
	"cmux/agents/kinds"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
	"cmux/worktree/hint"
)

type initOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	draft.Draft
	agents      []string // as --agent says them
	issues      string
	config      string
	force       bool
	verifyGiven bool // else what is found takes its place
	dirGiven    bool // else it is where the person stands, if that has checks
}

// NewInitCmd builds cmux agents init.
func NewInitCmd(d *cli.Deps, runF func(context.Context, *initOptions) error) *cobra.Command {
	o := &initOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a .cmux-agents.yml",
		Long: `Write a configuration to start from. On a terminal, init shows a form: it checks
each field as you leave it, proposes a name from the task, and shows the file
before it writes it. From a pipe, it reads one answer per line. With --agent or
--from-issues, it asks nothing. It proposes checks from the project's files
(go.mod, package.json, Makefile, Cargo.toml, pyproject.toml and others). Ports in
these files become a comment in the configuration.

In a monorepo, call init in the folder of a package. If that folder has checks of its
own, the agents work in it ("dir") and run them.

An agent without a kind gets the first kind whose program is installed: claude, codex,
kimi, qwen, opencode, gemini.
If none is, it is a shell command. --from-issues makes one agent of each open issue;
its task is the issue's title and text. It reads the issues with gh.

An agent is NAME[:after=A,B][:role=ROLE][:approve=code][:kind=KIND][:branch=BRANCH]
[:scope=P,Q][:task=TEXT]; task comes last and takes the rest, colons included.`,
		Example: `  cmux agents init --session shop --kind command --agent 'api:task=make build' \
    --agent 'web:after=api:task=npm run build' --agent 'look:role=review:after=api,web:task=git log --oneline -5'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.verifyGiven, o.dirGiven = cmd.Flags().Changed("verify"), cmd.Flags().Changed("dir")
			return cli.Either(runF, runInit)(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "session name (default: the project's folder)")
	f.StringVar(&o.WorktreeBase, "worktree-base", "..", "folder of the worktrees")
	f.StringVar(&o.Dir, "dir", "", "folder of the project in which the agents work (default: this one, if it has checks)")
	f.BoolVar(&o.MainPane, "main-pane", true, "a pane at the project root")
	f.StringVar(&o.Verify, "verify", "", "command that every build must pass (default: the project's tests, when they are found)")
	f.StringVar(&o.Kind, "kind", "", "kind of agents without one (default: the first one found)")
	f.StringVar(&o.issues, "from-issues", "", "an agent for each of these issues: 12,15")
	f.StringArrayVar(&o.agents, "agent", nil, "an agent; repeat for more")
	f.StringVar(&o.config, "config", "", "file to write (default: .cmux-agents.yml at the project's root)")
	f.BoolVar(&o.force, "force", false, "replace the file when it exists")
	return cmd
}

func runInit(ctx context.Context, o *initOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	path := p.Configurations().Config(o.config)
	switch there, err := os.Lstat(path); {
	case err != nil:
	case there.IsDir():
		return hint.New(fmt.Errorf("%s is a folder", p.Short(path)), "move it away, then cmux agents init")
	case !o.force:
		return hint.New(fmt.Errorf("%s exists", p.Short(path)), "cmux agents init --force, which replaces it")
	}
	if o.Session == "" {
		o.Session = draft.SessionName(p.Root, p.Configurations().Taken(ctx))
	}
	if err := o.workIn(p); err != nil {
		return err
	}
	if !o.verifyGiven && len(o.Checks) > 0 {
		o.Verify = o.Checks[0]
	}
	o.Found = kinds.Installed(o.Env)
	switch {
	case o.Kind == "" && len(o.Found) > 0:
		o.Kind = o.Found[0]
	case o.Kind != "" && !slices.Contains(draft.KindNames(), o.Kind):
		return project.Usage("--kind "+strings.Join(draft.KindNames(), ", "), "there is no kind %q", o.Kind)
	}
	if o.issues != "" {
		if o.Agents, err = o.fromIssues(ctx, p); err != nil {
			return err
		}
	}
	for _, s := range o.agents {
		one, err := parseAgent(s)
		if err != nil {
			return err
		}
		o.Agents = append(o.Agents, one)
	}
	switch {
	case len(o.Agents) > 0:
	case o.Interactive():
		err = o.askForm(ctx, p, path)
	default:
		err = o.askLines()
	}
	if err != nil {
		return err
	}
	if len(o.Agents) == 0 {
		return project.Usage("cmux agents init --agent NAME:task=COMMAND", "no agent was named")
	}
	return o.write(p, path)
}

// workIn fills in the folder in which the agents work, and the ports and checks of it. If
// no flag names the folder, it is the nearest one around the caller that has checks.
func (o *initOptions) workIn(p *control.Project) error {
	if o.dirGiven {
		o.Dir = path.Clean(filepath.ToSlash(o.Dir))
		if !p.Configurations().HasFolder(o.Dir) {
			return project.Usage("", "--dir: there is no folder %s in the project", o.Dir)
		}
	} else {
		for o.Dir = p.Configurations().Below(); o.Dir != "." && len(checks.All(filepath.Join(p.Root, o.Dir))) == 0; {
			o.Dir = path.Dir(o.Dir)
		}
	}
	dir := filepath.Join(p.Root, o.Dir)
	o.Ports, o.Checks = checks.Ports(dir), checks.All(dir)
	if o.Dir == "." {
		o.Dir = ""
	}
	return nil
}

// write writes what the answers say.
func (o *initOptions) write(p *control.Project, path string) error {
	rel, err := filepath.Rel(filepath.Dir(path), p.Configurations().Schema())
	if err != nil {
		return err
	}
	g, err := p.Configurations().WriteConfig(path, o.Compose(filepath.ToSlash(rel)))
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Out, "Wrote %s: session %s, %s.\n", p.Short(path), g.Session, say.Count(g.Len(), "agent"))
	if o.Dir != "" {
		fmt.Fprintf(o.Out, "The agents work in %s.\n", o.Dir)
	}
	fmt.Fprintln(o.Out, "Next: look it over, then")
	start := "cmux agents start"
	if path != p.Configurations().Config("") {
		start += " --config " + p.Short(path)
	}
	_, err = fmt.Fprintf(o.Out, "  %s --dry-run\n  %s\n", start, start)
	return err
}

// parseAgent reads the value of --agent.
func parseAgent(s string) (draft.Node, error) {
	name, rest, more := strings.Cut(s, ":")
	a := draft.Node{Name: strings.TrimSpace(name)}
	if a.Name == "" {
		return a, project.Usage("", "--agent %q names no agent", s)
	}
	for more {
		key, value, ok := strings.Cut(rest, "=")
		if !ok {
			return a, project.Usage("cmux agents init --help", "--agent %q: %q is not key=value", s, rest)
		}
		rest, more = "", false
		if key != "task" {
			value, rest, more = strings.Cut(value, ":")
		}
		switch key {
		case "after":
			a.After = value
		case "role":
			a.Role = value
		case "approve":
			a.Approve = value
		case "kind":
			a.Kind = value
		case "branch":
			a.Branch = value
		case "scope":
			a.Scope = value
		case "task":
			a.Task = value
		default:
			return a, project.Usage("cmux agents init --help", "--agent %q: unknown key %q (after, role, approve, kind, branch, scope, task)", s, key)
		}
	}
	return a, nil
}

// askLines asks on stderr and reads one answer a line. The end of the input
// takes what is offered for the rest.
func (o *initOptions) askLines() error {
	a := &o.Draft
	in := bufio.NewScanner(o.In)
	in.Buffer(nil, 1<<20)
	ended := false
	ask := func(question, offer string) string {
		if ended {
			return offer
		}
		if offer != "" {
			question += " [" + offer + "]"
		}
		fmt.Fprintf(o.Err, "%s: ", question)
		if !in.Scan() {
			ended = true
			fmt.Fprintln(o.Err)
			return offer
		}
		if s := strings.TrimSpace(in.Text()); s != "" {
			return s
		}
		return offer
	}
	a.Session = ask("Session name", a.Session)
	a.WorktreeBase = ask("Folder of the worktrees", a.WorktreeBase)
	switch answer := strings.ToLower(ask("A pane at the project root (y/n)", "y")); answer {
	case "y", "yes":
		a.MainPane = true
	case "n", "no":
		a.MainPane = false
	default:
		return project.Usage("", "%q is neither y nor n", answer)
	}
	if a.Verify = ask("Command that every build must pass (- for none)", a.Verify); a.Verify == "-" {
		a.Verify = ""
	}
	for !ended {
		name := ask("Agent name (empty: no more)", "")
		if name == "" {
			break
		}
		one := draft.Node{Name: name}
		one.Role = ask("  Role (build, review, merge, gate)", string(dag.RoleBuild))
		if one.Role != string(dag.RoleGate) {
			one.Kind = ask("  Kind ("+strings.Join(draft.KindNames(), ", ")+")", a.KindOf(&one))
			one.Task = ask("  Task ("+taskIs(one.Kind)+")", "")
		}
		if one.Role == string(dag.RoleBuild) || one.Role == string(dag.RoleMerge) {
			one.Branch = ask("  Branch (empty: session/name)", "")
		}
		if one.Role == string(dag.RoleBuild) {
			one.Scope = ask("  What it may write (paths, comma-separated; empty: anything)", "")
		}
		if len(a.Agents) > 0 {
			one.After = ask("  Depends on (names, comma-separated)", "")
		}
		a.Agents = append(a.Agents, one)
	}
	return in.Err()
}

// taskIs says what a kind takes for a task.
func taskIs(kind string) string {
	if kind == dag.KindCommand {
		return "a shell command"
	}
	return "what it is to do"
}

// kindOptions are the kinds to choose from, and which of them are not there.
func kindOptions(found []string) []huh.Option[string] {
	var all []huh.Option[string]
	for _, c := range kinds.Listed() {
		if c.Name == dag.KindACP {
			continue // it needs a command, which is asked of nobody here
		}
		label := c.Name
		if c.Can.Program != "" && !slices.Contains(found, c.Name) {
			label += " (not installed)"
		}
		all = append(all, huh.NewOption(label, c.Name))
	}
	return all
}
