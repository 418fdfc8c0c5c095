package workspace

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/common"
	"cmux/worktree/git"
)

// Home answers questions about the other nodes of the run.
type Home interface {
	// AtWork returns the nodes, except the named one, that had a running attempt since a
	// time.
	AtWork(but string, since time.Time) ([]string, error)
	// Tell informs the person, once, of a change of something all worktrees share whose
	// author is unknown. grave: the change can make git run a program or use another place.
	Tell(ctx context.Context, detail string, grave bool) (first bool, err error)
}

// Shared is what a node's worktree shares with others.
type Shared struct {
	tree   *Tree
	before *common.State // when its agent began
	since  time.Time
	undone []string        // settings that hide files of cmux from cmux's own git
	told   map[string]bool // changes that were reported
}

// Watch records the current state of what the worktree shares.
func (t *Tree) Watch(ctx context.Context) error {
	// Take the time first: a node that ends during the reading may still have changed what
	// was read.
	s := &Shared{tree: t, since: time.Now(), told: map[string]bool{}}
	var err error
	if s.before, err = t.Repo.Shared.Read(ctx, t.Lent.Path, true); err == nil {
		t.Shared = s
	}
	return err
}

// Changes finds what the node has changed of what all worktrees share, according to the
// trace of its git commands. Changes of cmux, and on other agents' branches, are ignored.
// All others may be the person's, who works in the same repository: the person is informed
// once, and no node fails.
//
// Call it before any other git command: a setting may name a program.
func (s *Shared) Changes(ctx context.Context) (*conversation.Fault, error) {
	if s == nil {
		return nil, nil
	}
	now, err := s.tree.Repo.Shared.Read(ctx, s.tree.Lent.Path, true)
	if err != nil {
		return nil, err
	}
	changes := slices.DeleteFunc(s.before.Compare(now), s.expected)
	s.undone = common.As(changes)
	if to, other := strings.CutPrefix(now.Refs["refs/heads/"+s.tree.spec.Place.Branch], "ref: "); other {
		// A commit on this branch moves the other one.
		return &conversation.Fault{
			Reason: dag.ReasonScope,
			Detail: fmt.Sprintf("its branch %s is another name for %s. Make it a branch again (git update-ref --no-deref refs/heads/%[1]s COMMIT), check that %[2]s is correct, and retry", s.tree.spec.Place.Branch, to),
			Tell:   prompt.BranchAlias(s.tree.spec.Place.Branch, to),
		}, nil
	}
	if s.tree.Repo != s.tree.shared { // what it changes there is its own
		return nil, nil
	}
	k, err := s.know()
	if err != nil {
		return nil, err
	}
	if changes, err = s.putBackHooks(ctx, now, changes, k); err != nil {
		return nil, err
	}
	s.undone = common.As(changes)
	mine, others := s.attribute(ctx, now, changes, k)
	if err := s.tellOthers(ctx, others, k); err != nil {
		return nil, err
	}
	if len(mine) == 0 {
		return nil, nil
	}
	var detail, tell []string
	for _, c := range mine {
		detail = append(detail, c.String()+k.undo(c))
		tell = append(tell, c.String()+k.undo(c))
	}
	const most = 10
	if n := len(detail) - most; n > 0 {
		detail, tell = detail[:most], tell[:most]
		detail = append(detail, fmt.Sprintf("and %d more", n))
		tell = append(tell, detail[most])
	}
	return &conversation.Fault{
		Reason: dag.ReasonScope,
		Detail: "changed what all worktrees share: " + strings.Join(detail, "; ") + s.toolWay(mine),
		Tell:   prompt.SharedChanged(tell),
	}, nil
}

// toolWay returns how a person allows a setting that a tool of the project makes.
func (s *Shared) toolWay(mine []common.Change) string {
	i := slices.IndexFunc(mine, func(c common.Change) bool { return c.Kind == common.ChangedSetting })
	switch {
	case i < 0:
		return ""
	case s.tree.spec.Terms.Stays:
		return fmt.Sprintf("; if the project needs it, make the setting in %s yourself", s.tree.spec.Frame.Root)
	}
	return fmt.Sprintf("; if the project needs it, add git config %s VALUE to setup: in the configuration, or run that in %s before the run", mine[i].Name, s.tree.spec.Frame.Root)
}

// known is the data that identifies the authors of changes.
type known struct {
	trace []traced          // the attempt's own git commands
	owns  []git.Own         // what cmux did itself
	out   map[string]string // full refs of other nodes' branches
}

// know collects it. If the running nodes are unknown, no other node counts as an author.
func (s *Shared) know() (k known, err error) {
	k.trace = readTrace(TraceFile(s.tree.paths, s.tree.spec))
	if k.owns, err = s.tree.Repo.Owns(time.Time{}); err != nil {
		return k, err
	}
	if k.out, err = s.tree.Repo.CheckedOut(); err != nil {
		return k, err
	}
	for ref, path := range k.out {
		if path == s.tree.Lent.Path {
			delete(k.out, ref)
		}
	}
	nodes, _ := s.tree.home.AtWork(s.tree.spec.Def.Name, s.since)
	for _, n := range s.tree.spec.Frame.Peers {
		if n.Branch != "" && slices.Contains(nodes, n.Name) {
			k.out["refs/heads/"+n.Branch] = n.Tree
		}
	}
	return k, nil
}

// undo returns the command that undoes the change, in brackets. It removes nothing from
// another agent's branch.
func (k known) undo(c common.Change) string {
	if _, other := k.out[c.Name]; c.Undo == "" || other && c.Kind == common.ChangedRef && c.New != "" {
		return ""
	}
	return " (undo: " + c.Undo + ")"
}

// tellOthers reports the changes that are not the node's. A change by another node's git
// commands is reported by that node.
func (s *Shared) tellOthers(ctx context.Context, changes []common.Change, k known) error {
	if len(changes) == 0 {
		return nil
	}
	peers := s.peerTraces(s.since)
	for _, c := range changes {
		i := slices.IndexFunc(peers, func(p peerTrace) bool { return s.didPeer(p, c, k) })
		by := "none of this run's git commands"
		switch {
		case i >= 0 && !peers[i].untold:
			continue
		case i >= 0:
			by = "the git commands of " + peers[i].node
		}
		if err := s.tellOf(ctx, c, k, by); err != nil {
			return err
		}
	}
	return nil
}

// didPeer reports whether another node's trace shows that it made the change.
func (s *Shared) didPeer(p peerTrace, c common.Change, k known) bool {
	path, out := k.out[c.Name]
	other := out && path != p.tree || c.Name == "refs/heads/"+s.tree.spec.Place.Branch
	return slices.ContainsFunc(p.commands, func(t traced) bool { return t.did(c, p.tree, s.tree.spec.Frame.Root, other) })
}

// tellOf reports a change, and the commands that made it.
func (s *Shared) tellOf(ctx context.Context, c common.Change, k known, by string) error {
	line := c.String()
	if s.told[line] {
		return nil
	}
	s.told[line] = true
	detail := "changed in the repository, by " + by + ": " + line
	switch {
	case !c.Ordinary():
		detail += k.undo(c) + ". If that was not you, look at it: " + s.lookAt()
	case c.Old != "":
		detail += k.undo(c)
	}
	first, err := s.tree.home.Tell(ctx, detail, !c.Ordinary())
	if first {
		git.Note(ctx, "%s", detail)
	}
	return err
}

// lookAt returns how a person inspects what all worktrees share.
func (s *Shared) lookAt() string {
	if s.tree.spec.Terms.Stays {
		return "git config --list --local, and the hooks in " + filepath.Join(s.tree.Repo.GitDir, "hooks")
	}
	return "cmux agents shared"
}

// putBackHooks undoes what setup tools do for the node's own tree, such as husky from npm
// ci: they set core.hooksPath for all worktrees to hooks in their own tree. It returns the
// remaining changes.
func (s *Shared) putBackHooks(ctx context.Context, now *common.State, changes []common.Change, k known) ([]common.Change, error) {
	const key = "core.hookspath"
	is := func(c common.Change) bool {
		return c.Kind == common.ChangedSetting && c.Name == key && c.Scope == "local"
	}
	value, ok := now.Local(key)
	set := common.Change{Kind: common.ChangedSetting, Name: key, Scope: "local", New: value}
	if !ok || !s.inOwnTree(value) || !s.proven(set, k) {
		return changes, nil
	}
	i := slices.IndexFunc(changes, is)
	switch {
	case i >= 0:
		set = changes[i]
		changes = slices.Delete(slices.Clone(changes), i, i+1)
	case !slices.ContainsFunc(k.owns, func(o git.Own) bool { return o.Key == key && o.New == "" && o.At.After(s.since) }):
		return changes, nil // it was so before
	}
	// If another attempt set it before and cmux has undone that since, the correct value is
	// none.
	left, err := s.tree.Repo.Shared.Restore(ctx, s.before, []common.Change{set})
	if err != nil {
		return nil, err
	}
	if len(left) > 0 {
		return append(changes, left...), nil
	}
	git.Note(ctx, "restored core.hooksPath, which the node's own commands set to %s for all worktrees", value)
	return changes, nil
}

// inOwnTree reports whether a value of core.hooksPath names a folder in the node's own
// tree.
func (s *Shared) inOwnTree(value string) bool {
	if !filepath.IsAbs(value) {
		return filepath.IsLocal(value) && !strings.HasPrefix(value, "~")
	}
	rel, err := filepath.Rel(s.tree.Lent.Path, filepath.Clean(value))
	return err == nil && filepath.IsLocal(rel)
}

// expected reports whether cmux, or a node in its normal work, makes such changes.
func (s *Shared) expected(c common.Change) bool {
	switch c.Kind {
	case common.ChangedRef:
		if c.Name == "refs/heads/"+s.tree.spec.Place.Branch && s.tree.spec.Place.Branch != "" {
			return true
		}
		if c.Name == attribution && c.New != "" {
			return true
		}
		// Snapshots and refs for reviews may be added, but none may disappear.
		return strings.HasPrefix(c.Name, "refs/cmux/") && (c.Old == "" || strings.HasPrefix(c.Name, "refs/cmux/runs/") && c.New != "")
	case common.ChangedSetting:
		if strings.HasPrefix(c.Name, "submodule.") && c.Old == "" && !c.Sensitive() {
			return true // a new submodule
		}
		// Refs that the run's own push also sets.
		rest, ok := strings.CutPrefix(c.Name, "branch.")
		return ok && slices.ContainsFunc(s.tree.spec.Frame.Peers, func(n run.Peer) bool {
			return n.Branch != "" && (rest == n.Branch+".remote" || rest == n.Branch+".merge")
		})
	}
	return false
}

// attribution is the ref in which Qwen Code records, after a commit of its agent, which
// lines are the agent's.
const attribution = "refs/notes/ai-attribution"

// attribute separates the node's own changes from those of unknown authors.
func (s *Shared) attribute(ctx context.Context, now *common.State, changes []common.Change, k known) (mine, others []common.Change) {
	for _, c := range changes {
		isBranch := c.Kind == common.ChangedRef && strings.HasPrefix(c.Name, "refs/heads/")
		proven := s.proven(c, k)
		switch {
		case !proven && s.tree.Repo.Shared.Explain(ctx, s.before, now, c, k.owns, k.out, signals.ExcludedByOthers):
		case isBranch && c.Old == "" && !s.planned(c.Name), c.Kind == common.ChangedRef && strings.HasPrefix(c.Name, "refs/remotes/"):
			// A new branch and fetched refs do not affect others.
			if !proven {
				others = append(others, c)
			} else {
				s.noteOnce(ctx, c.String())
			}
		case proven && c.Habit():
			s.noteOnce(ctx, c.String()+k.undo(c))
		case proven:
			mine = append(mine, c)
		default:
			others = append(others, c)
		}
	}
	return mine, others
}

// noteOnce notes allowed changes of the node's git commands.
func (s *Shared) noteOnce(ctx context.Context, change string) {
	if !s.told[change] {
		s.told[change] = true
		git.Note(ctx, "its git commands also changed %s", change)
	}
}

// proven reports whether the trace of the node's own git commands shows that it made the
// change.
func (s *Shared) proven(c common.Change, k known) bool {
	_, other := k.out[c.Name]
	return slices.ContainsFunc(k.trace, func(t traced) bool { return t.did(c, s.tree.Lent.Path, s.tree.spec.Frame.Root, other) })
}

// planned reports whether another node of the run has the branch, given as a full ref.
func (s *Shared) planned(ref string) bool {
	return slices.ContainsFunc(s.tree.spec.Frame.Peers, func(n run.Peer) bool {
		return n.Branch != "" && "refs/heads/"+n.Branch == ref && n.Name != s.tree.spec.Def.Name
	})
}
