// Package preflight looks, before anything is made, for what would keep the agents of a
// run from working: programs, variables, folders, remotes.
//
// It changes nothing. Start refuses what it finds, and doctor tells it.
package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/finding"
	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/say"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// Launch looks for what would keep the agents of a launch from working. The error
// names all that must be put right first; the notes are for the table.
func Launch(ctx context.Context, l *runner.Launch) (notes []string, err error) {
	for i := range l.Graph.Nodes {
		if n := &l.Graph.Nodes[i]; hasAgent(n) {
			for _, m := range kinds.Missing(n) {
				notes = append(notes, n.Name+": "+m)
			}
		}
	}
	notes = append(notes, environment(l.Graph, l.Options.Env)...)
	lost, err := folders(ctx, l)
	if err != nil {
		return nil, err
	}
	told, errs := Steps(ctx, l.Repo(), l.Graph, l.Base.Branch, l.Options.Env)
	notes, errs = append(notes, told...), append(lost, errs...)
	here := atHome(l)
	if note, err := fenced(here); err != nil {
		errs = append(errs, err)
	} else if note != "" {
		notes = append(notes, note)
	}
	for _, u := range kindsOf(here) {
		s := u.setup
		s.Env, s.Root, s.Headless = l.Options.Env, l.Options.Root, l.Options.Headless
		for _, problem := range Kind(ctx, u.kind, s).Problems {
			text := fmt.Sprintf("%s: %s (%s)", u.kind, problem.What, problem.Try)
			if problem.Fatal {
				errs = append(errs, errors.New(text))
			} else {
				notes = append(notes, text)
			}
		}
	}
	return notes, errors.Join(errs...)
}

// atHome is the graph of a launch without the nodes that other machines carry out: those
// look for themselves.
func atHome(l *runner.Launch) *dag.Graph {
	if len(l.Options.On) == 0 {
		return l.Graph
	}
	g := *l.Graph
	g.Nodes = slices.DeleteFunc(slices.Clone(g.Nodes), func(n dag.Node) bool { return n.Away() })
	return &g
}

// environment says which variables in env: are not set or look like a command, and
// which nodes have a PATH without git.
func environment(g *dag.Graph, env []string) (notes []string) {
	lookup := func(name string) string { return proc.Getenv(env, name) }
	told := make(map[string]bool)
	note := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if !told[text] {
			told[text] = true
			notes = append(notes, text)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		for _, key := range slices.Sorted(maps.Keys(n.Env)) {
			if strings.Count(n.Env[key], "`") > 1 {
				note("env: %s of %s keeps its backquotes: cmux runs no command in a value", key, n.Name)
			}
			for _, name := range dag.Variables(n.Env[key]) {
				if lookup(name) == "" {
					note("env: %s of %s takes $%s, which is not set here, so it is empty", key, n.Name, name)
				}
			}
		}
		if path, ok := n.ExpandedEnv(lookup)["PATH"]; ok && n.HasTree() {
			if _, err := agent.LookPath("git", []string{"PATH=" + path}); err != nil {
				note(`env: the PATH of %s has no git; to add a folder, write PATH: "FOLDER:$PATH"`, n.Name)
			}
		}
	}
	return notes
}

// folders refuses folders that nodes are to work in and that nothing can make
// before they start: neither another node, nor setup, nor a branch from before.
func folders(ctx context.Context, l *runner.Launch) (errs []error, err error) {
	g := l.Graph
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Dir == "" || len(g.Deps(i)) > 0 || !n.HasTree() || len(g.Setup)+len(g.Copy)+len(g.Link) > 0 || l.Rows[i].Continues != "" || l.Rows[i].Preset.State != "" {
			continue
		}
		lacks, err := l.Repo().LacksFolder(ctx, l.Base.Commit, n.Dir)
		if err != nil {
			return nil, err
		}
		if lacks {
			errs = append(errs, hint.New(
				fmt.Errorf("%s:%d: dir of %s: %.12s, which the run starts from, has no folder %s", cmp.Or(n.File, filepath.Base(l.Options.Config)), n.Line, n.Name, l.Base.Commit, n.Dir),
				"git ls-tree -d --name-only -r "+l.Base.Ref,
			))
		}
	}
	return errs, nil
}

// reachTime bounds the wait for a remote before a start.
const reachTime = 10 * time.Second

// Steps looks at what on_complete needs: a remote to push to, and gh for
// pull requests. A remote that does not answer is a note: it may answer once the
// work is done. base is the branch that the run starts from.
func Steps(ctx context.Context, repo *worktree.Repo, g *dag.Graph, base string, env []string) (notes []string, errs []error) {
	var shared *common.State
	reached := make(map[string]bool)
	refused := make(map[string]bool)
	refuse := func(node string, err error) {
		if !refused[err.Error()] {
			refused[err.Error()] = true
			errs = append(errs, fmt.Errorf("on_complete of %s: %w", node, err))
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if len(n.OnComplete) == 0 {
			continue
		}
		if slices.Contains(n.OnComplete, "pr") {
			if _, err := agent.LookPath("gh", env); err != nil {
				refuse(n.Name, hint.New(errors.New("pr needs gh, which is not in the PATH"), "install gh, or take pr out of on_complete"))
			}
		}
		if shared == nil {
			var err error
			if shared, err = repo.Shared.Read(ctx, repo.Root, false); err != nil {
				return notes, append(errs, err)
			}
		}
		remote, err := shared.PushRemote(n.Branch, base)
		if err != nil {
			refuse(n.Name, err)
			continue
		}
		if reached[remote] {
			continue
		}
		reached[remote] = true
		limited, cancel := context.WithTimeout(ctx, reachTime)
		err = repo.Shared.Reach(limited, remote)
		cancel()
		if err != nil && ctx.Err() == nil {
			notes = append(notes, fmt.Sprintf("on_complete of %s: the remote %s cannot be read: %s", n.Name, remote, say.Line(err.Error())))
		}
	}
	return notes, errs
}

// hasAgent reports whether an agent works at the node.
func hasAgent(n *dag.Node) bool {
	return n.Role != dag.RoleGate && (n.Role != dag.RoleMerge || n.Task != "")
}

// use is a kind of agent and what a graph wants of it.
type use struct {
	kind  string
	setup agent.Setup
}

// kindsOf are the kinds that g uses, by name. g may be nil.
func kindsOf(g *dag.Graph) []use {
	var all []use
	if g == nil {
		return nil
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if !hasAgent(n) {
			continue
		}
		k := slices.IndexFunc(all, func(u use) bool { return u.kind == n.Agent })
		if k < 0 {
			k, all = len(all), append(all, use{kind: n.Agent})
		}
		s := &all[k].setup
		s.AutoAccept, s.Asks = s.AutoAccept || n.AutoAccept, s.Asks || !n.AutoAccept
		if len(n.Command) > 0 && !slices.Contains(s.Programs, n.Command[0]) {
			s.Programs = append(s.Programs, n.Command[0])
		}
	}
	slices.SortFunc(all, func(a, b use) int { return strings.Compare(a.kind, b.kind) })
	return all
}

// Kind looks at a kind, as kinds.Preflight does, and at what its agents commit with.
func Kind(ctx context.Context, kind string, s agent.Setup) agent.Fitness {
	fit := kinds.Preflight(ctx, kind, s)
	if s.Root != "" && kinds.All()[kind].Judge && git.Author(ctx, s.Root, s.Env) != nil {
		fit.Problems = append(fit.Problems, agent.Problem{
			What: "git does not know who you are, so its agents cannot commit",
			Try:  "git config --global user.name 'YOUR NAME' && git config --global user.email YOU@EXAMPLE.COM",
		})
	}
	return fit
}

// Kinds looks at every kind that has a program, as start would at those
// that g uses: what is in order, then a finding for each thing that is amiss.
// With a kind that g does not use nothing is wrong.
func Kinds(ctx context.Context, env []string, root string, g *dag.Graph) []finding.Finding {
	var all []finding.Finding
	used, installed := kindsOf(g), kinds.Installed(env)
	for _, c := range kinds.Listed() {
		if c.Can.Program == "" {
			continue
		}
		u := use{kind: c.Name}
		k := slices.IndexFunc(used, func(u use) bool { return u.kind == c.Name })
		if k >= 0 {
			u = used[k]
		} else if !slices.Contains(installed, c.Name) {
			all = append(all, finding.Finding{What: c.Name, OK: true, Detail: "not installed; no node uses it"})
			continue
		}
		u.setup.Env, u.setup.Root = env, root
		fit, unused := agent.Fitness{}, ""
		if k >= 0 {
			fit = Kind(ctx, u.kind, u.setup)
		} else {
			fit, unused = kinds.Preflight(ctx, u.kind, u.setup), "no node uses it"
		}
		if facts := join(", ", append(slices.Clone(fit.Facts), unused)...); facts != "" {
			all = append(all, finding.Finding{What: c.Name, OK: true, Detail: facts})
		}
		for _, p := range fit.Problems {
			all = append(all, finding.Finding{What: c.Name, OK: !p.Fatal || k < 0, Detail: join("; ", p.What, unused), Try: p.Try})
		}
	}
	return all
}

// join joins the texts that are not empty.
func join(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}
