package prompt

import (
	"fmt"
	"strings"
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// again ends what is handed back. The prompt says how the agent reports: by tool, or
// by command where it has none.
const again = "then report again with `done`."

// NobodyAnswers answers a question to a person where there is none.
const NobodyAnswers = "nobody can answer in this run. Decide from the task and the code, and name the decision in your summary. If you cannot, report `blocked` and say what you need"

// Fenced tells an agent what it means that the system refused to write path. scope is the
// node's, if path lies in its worktree; stays: it is a standing agent.
func Fenced(path string, scope []string, stays bool) string {
	text := "cmux: the system does not let you write " + path + ". "
	if len(scope) > 0 {
		text += "It is outside of your scope: write only in " + strings.Join(scope, ", ") + ". "
	} else {
		text += "You can write in your worktree, in temporary folders and in the caches of common tools. "
	}
	text += "Do your task without it. "
	if stays {
		return text + "If you cannot, say which path you need and why in a message to whoever gave you the task."
	}
	return text + "If you cannot, report `blocked` and name the path."
}

// LimitOver sends an agent on after a usage or rate limit.
const LimitOver = "The limit is over. Continue where you left off."

// CallFailed sends an agent on whose call of the model failed for good.
const CallFailed = "The call of the model failed. Continue where you left off."

// Resumed sends an agent on whose program was ended and started again in the
// same conversation.
const Resumed = "You were interrupted and are back in the same conversation and directory. Commands that were running have ended. Look at `git status`, continue where you left off, and report when you are finished."

// Reopened sends an agent on whose program was ended before it reported. said
// is what a person answered; it may be empty.
func Reopened(said string) string {
	s := "Your program was ended before you reported; you are back in the same directory. Look at `git status`, continue where you left off, and report when you are finished."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// ToldAgain stands below a task whose program, or wrapper, ended before it was known
// that the agent had been told.
const ToldAgain = "You may have been told of this task before, and may have begun with it: your program ended at that moment. Look at `git status` and `git log` first, and do not repeat what is done."

// WorkResumed sends a standing agent on with its task whose program was started
// again. said is what a person answered; it may be empty.
func WorkResumed(id, said string) string {
	s := "Your program was started again; you are back in the same directory. You are at work on task " + id + ": look at `git status`, continue where you left off, and report when you are finished."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// What CutOff says begins with one of these.
const (
	cutOff  = "Your program was cut off in the middle of a turn and was started again"
	stopped = "You were stopped in the middle of a turn and are started again"
)

// maxTold is how many bytes are repeated of what an agent was told.
const maxTold = 600

// CutOff sends a standing agent without a task on whose program ended in the middle of a
// turn. last is what it was told last in that, or "". said is what a person answered, or
// "". fresh: its conversation is gone. ordered: somebody stopped it.
func CutOff(m *run.Member, last, said string, fresh, ordered bool) string {
	s := cutOff
	if ordered {
		s = stopped
	}
	if fresh {
		s += ". That was in an earlier conversation, which is gone."
	} else {
		s += "; you are back in the same conversation and directory. Commands that were running have ended."
	}
	if last = strings.TrimSpace(last); last != "" {
		s += " This is what you were told last:\n" + quoted(Cut(last, maxTold))
	} else {
		s += " "
	}
	look := "`git status`"
	if leads(m) {
		look = "`cmux tasks list` and `cmux autonomy`"
	}
	s += "Look at what is done (" + look + "), continue from there without repeating it, then end your turn."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// Told is what a standing agent was told last since it came to rest, by its events, but
// for that it was cut off.
type Told struct {
	Text   string // empty: nothing that is known
	rested time.Time
}

// Take takes in its next event.
func (t *Told) Take(e event.Event) {
	switch e.Kind {
	case event.Status:
		if e.State == dag.Resting.String() {
			t.Text, t.rested = "", e.At
		}
	case event.Prompt, event.HandBack, event.Answer:
		late := e.At.Before(t.rested) // its program wrote it down after the turn
		if !late && !strings.Contains(e.Text, cutOff) && !strings.Contains(e.Text, stopped) {
			t.Text = e.Text
		}
	}
}

// WorkBegun tells a standing agent about a task in a new conversation, because an
// earlier one cannot be resumed. The task itself stands before this text. start is
// the commit that the work began at, or "". said is what a person answered, or "".
func WorkBegun(id, start, said string) string {
	look := "`git status`"
	if start != "" {
		look += " and `git log " + short(start) + "..HEAD`"
	}
	s := "You may have begun task " + id + " in an earlier conversation, which is gone. What it did is in your directory. Look at " + look + ", continue from there without repeating what is done, and report when you are finished."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// Unkept sends a standing agent back that ends a turn of some length of which
// nothing is left.
const Unkept = "You used tools in this turn and left no commit, journal entry or message. If something must not be lost, save it now: `git commit` for changes, `cmux journal add 'title' 'text'` for what you found out, or `cmux mailbox send NAME '[STATUS] how far it is'`. Otherwise end your turn: this is said once."

// PassedOn tells an agent that its question went to somebody as a message.
func PassedOn(to, id string) string {
	return "Nobody is at your window. Your question went to " + to + " as message " + id + "; the answer comes as a message. Continue with what does not depend on it, or end your turn."
}

// TakenUp tells a standing agent that it continues a task that was begun before
// and put back. restore is the command that brings back what was not committed then,
// where cmux could not; empty: it is in the worktree, or there was nothing.
func TakenUp(restore string) string {
	where := "What was committed is on this branch, and what was not is in the worktree."
	if restore != "" {
		where = "What was committed is on this branch. What was not is in a snapshot: `" + restore + "`."
	}
	return "Work on this task was begun before and put back. " + where + " Look at `git log` and `git status` first, continue from there, and do not repeat what is done."
}

// TakenBack tells a standing agent that its task is no longer its own.
func TakenBack(why string) string {
	return "[TASK-CANCEL] Your task was taken back: " + why + "\nStop working on it and do not report it. What you committed stays. End your turn."
}

// Spent has an agent end a turn that was broken off, as its budget of the day is spent.
func Spent(why string) string {
	return "Your token budget for today is used up (" + why + "). End your turn now, without another tool call. You get the task back when there is budget."
}

// SentBack sends an agent on whose work a person has looked at and not taken.
func SentBack(comment string) string {
	return "A person asks for changes (same directory, same branch):\n" + quoted(comment) + "\nMake them, commit, " + again
}

// Unread hands over what a person said before a report that was made without it.
func Unread(said string) string {
	return said + "\n\n(This was sent before your report. Take it into account, " + again + ")"
}

// NoReport answers a turn that ended without a report, for the n-th of so many times.
func NoReport(n, of int) string {
	return fmt.Sprintf("You ended your turn without reporting (reminder %d of %d), so the task is still open. If it is finished, report with `done`. If not, continue. If you cannot continue, report `blocked` and say why.", n, of)
}

// Unpublished hands back a report that came before the outputs it goes with.
func Unpublished(names []string) string {
	return fmt.Sprintf("Those who build on your work need values that you have not published: %s. Publish each with `output` (the tool, or: cmux output KEY=VALUE), %s", strings.Join(names, ", "), again)
}

// CheckFailed hands a failing check back, for the n-th of so many times; how is such
// as "exit 1", output its end.
func CheckFailed(command, how string, n, of int, output string) string {
	s := fmt.Sprintf("The check `%s` failed (%s; try %d of %d). Fix the cause and leave the check alone. Run it until it passes, %s", command, how, n, of, again)
	s += " If it cannot pass for a reason outside your task, report `blocked` and say why."
	if strings.TrimSpace(output) == "" {
		return s + "\n\nIt printed nothing."
	}
	return s + "\n\nThe end of its output:\n" + fenced(output)
}

// CheckChanged hands back what a check did to the worktree that it was to judge.
func CheckChanged(command, did string) string {
	return fmt.Sprintf("The check `%s` changed what it checks: it %s\nLook at `git status`: commit what belongs to your task, restore the rest (git restore -- FILE), %s\nIf the check does that every time, report `blocked`: the check changes files.", command, did, again)
}

// GoesOn hands back work that changed while it was looked at.
func GoesOn() string {
	return "Your files or your branch changed while cmux examined them. End what you left running in the background that writes files or commits, look at `git status`, " + again
}

// TakenIn hands back commits of files that were put into the worktree for the
// agent to use.
func TakenIn(files string) string {
	return fmt.Sprintf("You committed files that were put into your worktree for you to use and that do not belong into the repository: %s\nTake them out of your commits (git rm --cached -- FILE, then commit; the file stays), %s", files, again)
}

// Nested hands back repositories inside the worktree; first is one of them.
func Nested(paths, first string) string {
	return fmt.Sprintf("Inside your worktree is a repository of its own, whose files no commit of yours takes in: %s\nEither its files belong to your work: delete the folder `.git` in it and commit them (one that you have added already: git rm --cached -- %s first). Or it is a dependency: add it with git submodule add. Or it is not needed: delete it, or name it in .gitignore. Then commit, %s", paths, first, again)
}

// OutOfScope hands changes outside the node's scope back, for the n-th of so many
// times. files are as shown, start is the commit to restore them to. An empty scope
// means that only the read-only context was changed.
func OutOfScope(files string, scope, context []string, start string, n, of int) string {
	return fmt.Sprintf("You changed files outside your scope (try %d of %d): %s\n%s\nRestore them (git restore --source=%s --staged --worktree -- FILE; delete new ones), commit, %s If the task needs one of them, report `blocked` and name it.", n, of, files, mayChange(scope, context), short(start), again)
}

// OutOfSharedScope hands changes outside a task's scope back in a folder in which
// others work too.
func OutOfSharedScope(files string, scope, context []string) string {
	return fmt.Sprintf("Files outside your scope have changed since your task began: %s\n%s\nUndo your own changes to them and nothing else, %s If you did not change them, or the task needs one of them, report `blocked` and name it.", files, mayChange(scope, context), again)
}

func mayChange(scope, context []string) string {
	if len(scope) == 0 {
		return "You may only read: " + strings.Join(context, ", ") + "."
	}
	return "You may change only: " + strings.Join(scope, ", ") + "."
}

// SharedChanged hands changes of what all worktrees share back, each a line.
func SharedChanged(changes []string) string {
	return fmt.Sprintf("These changes affect every worktree and must be undone:\n- %s\nUndo them, %s If they are not yours, report `blocked` and say so.", strings.Join(changes, "\n- "), again)
}

// BaseLost says that the commit a branch began at is no longer in its history.
func BaseLost(branch, start string) string {
	return fmt.Sprintf("Your branch %s no longer contains %s, where it started (amend, rebase or reset). Put your work on top again (git reset --soft %[2]s, then commit), %s", branch, short(start), again)
}

// BranchGone says that the node's branch was deleted.
func BranchGone(branch string) string {
	return fmt.Sprintf("Your branch %s is gone. Make it again from your last commit (git reflog; git branch %[1]s COMMIT), check it out, %s", branch, again)
}

// BranchAlias says that the node's branch was made another name for a ref.
func BranchAlias(branch, to string) string {
	return fmt.Sprintf("Your branch %s is another name for %s, so what you commit moves that, which is not yours. Make it a branch of its own again (git update-ref --no-deref refs/heads/%[1]s COMMIT, with your last commit), bring %[2]s back to where it was, %s", branch, to, again)
}

// OtherRepository says that the worktree is not one of the repository any more.
func OtherRepository(tree, private string) string {
	return fmt.Sprintf("The .git of your worktree %s is not the file that was there. Move yours away, write the line `gitdir: %s` to the file .git, %s", tree, private, again)
}

// WrongBranch says that the worktree was left on another branch or a detached HEAD.
func WrongBranch(is, want string) string {
	return fmt.Sprintf("Your worktree is on %s. Your work must be on %s: check that out (git switch %[2]s), bring your commits to it, %s", is, want, again)
}

// Uncommitted hands uncommitted work back.
func Uncommitted(what string) string {
	return fmt.Sprintf("Not committed: %s\nCommit what belongs to your task, remove the rest, %s", what, again)
}

// NoCommit answers a build's report that no commit stands behind.
func NoCommit(branch string) string {
	return fmt.Sprintf("You reported done, but your branch %s has no commit of yours. Commit your work, %s If nothing had to be changed, begin the summary with \"nothing was needed:\" and the reason.", branch, again)
}
