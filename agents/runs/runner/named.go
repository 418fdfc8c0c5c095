package runner

import (
	"context"
	"fmt"
	"slices"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// Two clones of one repository have the same session name, and two projects may
// choose the same. Branches, locks and --session belong to a project, but a tmux
// session and the worktrees' folders are on the machine. Where another project has a
// name there, a run takes a name of its own.

// names returns the names that a run may take on the machine, in the order in which
// they are tried: last, which an earlier run of the session has, the session's, and
// those that tell the project.
func (l *Launch) names(last string) []string {
	all := run.MachineNames(l.Graph.Session, l.Options.Root)
	if last != "" {
		all = append([]string{last}, all...)
	}
	return all
}

// sameSession reports whether the newest run has the session that is started.
func (l *Launch) sameSession() bool {
	return l.last != nil && l.last.Plan.Graph.Session == l.Graph.Session
}

// nameTmux fills in l.Tmux.
func (l *Launch) nameTmux(ctx context.Context) error {
	all, err := run.Owners(l.Options.Root)
	if err != nil {
		return err
	}
	last := ""
	if l.sameSession() {
		last = l.last.Plan.Tmux
	}
	s := TmuxServer(l.Options.Root, l.Options.Socket)
	taken := ""
	for _, name := range l.names(last) {
		if name != l.Graph.Session && slices.ContainsFunc(all, func(o run.Owner) bool { return o.Session == name }) {
			continue // another session of this project
		}
		has, err := s.HasSession(ctx, name)
		if err != nil {
			return err
		}
		owner := l.Options.Root
		if has {
			if owner, err = s.Exec(ctx, "show-options", "-qv", "-t", "="+name+":", tmux.RootOption); err != nil {
				return err
			}
		}
		if owner == l.Options.Root { // free, or left by an earlier run of this project
			if name != l.Graph.Session {
				l.Tmux = name
			}
			return nil
		}
		if taken == "" {
			taken = owner
		}
	}
	if taken == "" {
		taken = "somebody else"
	}
	return hint.New(fmt.Errorf("the tmux session %q is taken by %s", l.Graph.Session, taken),
		"another session: in "+l.Options.Config+", or cmux agents cleanup there")
}

// nameFolders fills in the graph's Folders. It takes the first name with which no
// worktree stands where another repository has one. If there is none, it leaves the
// session's, and the worktree's own message says what is there.
func (l *Launch) nameFolders(ctx context.Context) error {
	last := ""
	if l.sameSession() {
		last = l.last.Plan.Graph.Folders
	}
	for _, name := range l.names(last) {
		l.Graph.Folders = ""
		if name != l.Graph.Session {
			l.Graph.Folders = name
		}
		if !l.occupied() {
			return ctx.Err()
		}
	}
	l.Graph.Folders = ""
	return ctx.Err()
}

// trees returns where the nodes' worktrees are.
func (l *Launch) trees() (all []string) {
	for i := range l.Graph.Nodes {
		if n := &l.Graph.Nodes[i]; n.HasTree() {
			all = append(all, l.Graph.TreePath(l.Options.Root, n))
		}
	}
	return all
}

// occupied reports whether a worktree of another repository stands where a node's
// would.
func (l *Launch) occupied() bool {
	return slices.ContainsFunc(l.trees(), l.repo.Foreign)
}
