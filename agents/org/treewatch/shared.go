package treewatch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/platform/say"
	"cmux/agents/records/incident"
	"cmux/worktree"
	"cmux/worktree/common"
	"cmux/worktree/git"
)

// What all worktrees of a repository share is looked at, too: a setting or a hook that a member
// leaves there runs in the person's own git. Branches and tags do not count: people and other
// agents make them all the time.

// readShared reads what the checkout shares; nil: it cannot be read now.
func (w *Watch) readShared(ctx context.Context, tree *checkout) *common.State {
	repo, err := worktree.Open(ctx, tree.root)
	var s *common.State
	if err == nil {
		s, err = repo.Shared.Read(ctx, tree.root, false)
	}
	if err != nil {
		if ctx.Err() == nil {
			w.Log.Warn("what the worktrees share cannot be looked at", "root", tree.root, "err", err)
		}
		return nil
	}
	return s
}

// sharedChanges are the grave ones that cmux has not made itself.
func sharedChanges(ctx context.Context, root string, before, now *common.State, since time.Time) (grave []common.Change, err error) {
	if before == nil || now == nil {
		return nil, nil
	}
	for _, c := range before.Compare(now) {
		if c.Ordinary() {
			continue
		}
		repo, err := worktree.Open(ctx, root)
		if err != nil {
			return nil, err
		}
		owns, err := repo.Owns(since.Add(-recorded))
		if err != nil {
			return nil, err
		}
		if !repo.Shared.Explain(ctx, before, now, c, owns, nil, func(b []byte) []byte { return b }) {
			grave = append(grave, c)
		}
	}
	return grave, nil
}

// unreadReport is the incident of a checkout that git cannot read any more. What was there
// cannot be compared, so cmux undoes nothing.
func (f *Change) unreadReport(roomName string) *incident.Report {
	var of *git.Error
	why := f.unread.Error()
	if errors.As(f.unread, &of) {
		why = of.Stderr
	}
	return &incident.Report{
		Kind: Kind, About: roomName, Key: Kind + "/" + roomName + "/unread/" + strings.Join(f.members(), ","),
		Title: fmt.Sprintf("room %s: %s left a checkout that git cannot read", roomName, f.suspects(nil)),
		Note: incident.Note{
			Evidence: incident.Saw(strings.TrimSpace(why) + ". " + f.where()),
			Advice:   &incident.Advice{Text: "Commits and files are where they were. Look at what git says, and put HEAD or the index back (rm .git/index, git reset):", Command: "git -C " + git.ShellWord(f.Root) + " status"},
		},
	}
}

// sharedReport is the incident of what was changed for all worktrees. It is one of its own: no
// snapshot holds such a change, and each has an undo of its own.
func (f *Change) sharedReport(roomName string) *incident.Report {
	var names, undos []string
	text := ""
	for _, c := range f.shared {
		names = append(names, c.What())
		undo := c.Undo
		if c.Kind == common.ChangedFile && c.Old == "" {
			undo = "rm " + git.ShellWord(filepath.Join(f.Root, ".git", c.Name))
		}
		text += c.String() + ". "
		if undo != "" {
			undos = append(undos, undo)
		}
	}
	report := &incident.Report{
		Kind: Kind, About: roomName, Key: Kind + "/" + roomName + "/shared/" + strings.Join(f.members(), ","),
		Title: fmt.Sprintf("room %s: %s changed what git does: %s", roomName, f.suspects(nil), say.List(names, 3)),
		Note:  incident.Note{Evidence: incident.Saw(text + f.where())},
	}
	report.Advice = &incident.Advice{
		Text:    "If it was you, nothing is wrong. Otherwise take it back before you use git there again: a setting or a hook can run programs.",
		Command: strings.Join(undos, " && "),
	}
	return report
}
