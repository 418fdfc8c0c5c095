package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// again ends what is handed back: by the tool, as the prompt prefers it, or by the
// command where there is none.
const again = "then report again with `done` (the tool, or: cmux done \"summary\")"

// Accepted answers a report by tool that was judged and found in order.
const Accepted = "Accepted: your report, your work and its checks are in order. The task is over: end your turn now, without another word."

// NobodyAnswers answers a question to a person where there is none.
const NobodyAnswers = "nobody can answer a question during this run. Decide yourself, by what the task and the code say, and name the decision in your summary; if you cannot go on without an answer, report that you are blocked"

// LimitOver sends an agent on after a usage or rate limit.
const LimitOver = "The limit is over. Go on where you left off."

// CallFailed sends an agent on whose call of the model failed for good.
const CallFailed = "The call of the model failed. Go on where you left off."

// Resumed sends an agent on whose program was ended and started again in the
// same conversation.
const Resumed = "You were interrupted and are back in the same conversation and directory. Commands that ran then were ended. Look at `git status`, go on where you left off, and report when you have finished."

// Reopened sends an agent on whose program was ended before it reported. said
// is what a person answered; it may be empty.
func Reopened(said string) string {
	s := "Your program was ended before you reported; you are back in the same directory. Look at `git status`, go on where you left off, and report when you have finished."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// NewTask hands a task to a standing agent; text is all that it is told of it.
func NewTask(id, text string) string {
	return "A new task for you, " + id + ". It is the only one now; what you were told for tasks before it no longer holds.\n\n" + text
}

// toldTask begins what NewTask says.
var toldTask = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^A new task for you, (\S+)\. `) })

// TaskTold is the id of the task that a text of a conversation hands to a standing
// agent, as NewTask does; empty: it hands none.
func TaskTold(text string) string {
	if m := toldTask().FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// ToldAgain stands below a task whose program, or wrapper, ended before it was known
// that the agent had been told.
const ToldAgain = "You may have been told of this task before, and may have begun with it: your program was ended at that moment. Look at `git status` and `git log` first, and do not repeat what is done."

// WorkResumed sends a standing agent on with its task whose program was started
// again. said is what a person answered; it may be empty.
func WorkResumed(id, said string) string {
	s := "Your program was started again; you are back in the same directory. You are at work on task " + id + ": look at `git status`, go on where you left off, and report when you have finished."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// WorkBegun tells a standing agent about a task in a new conversation, because an
// earlier one cannot be resumed. The task itself stands before this text. start is
// the commit that the work began at, or "". said is what a person answered, or "".
func WorkBegun(id, start, said string) string {
	look := "`git status`"
	if start != "" {
		look += " and `git log " + short(start) + "..HEAD`"
	}
	s := "You may have begun task " + id + " in an earlier conversation, which is gone. What it did is in your directory. Look at " + look + ", go on from there without repeating what is done, and report when you have finished."
	if said != "" {
		s += " A person says:\n" + said
	}
	return s
}

// Unkept sends a standing agent back that ends a turn of some length of which
// nothing is left.
const Unkept = "Your turn ends, and nothing of what you did is kept: you have not committed, not written into the journal, and told nobody. Do what fits: commit what you changed (git add, git commit); write down what you found out: cmux journal add \"title\" \"text\"; or tell whom you work for: cmux mailbox send NAME \"[STATUS] how far it is\". If nothing needs to be kept, end your turn: you are not asked again."

// PassedOn tells an agent that its question went to somebody as a message.
func PassedOn(to, id string) string {
	return "Nobody is in front of you to answer. Your question was sent to " + to + " as message " + id + "; the answer comes to you as a message. Go on with what does not depend on it, or end your turn."
}

// TakenUp tells a standing agent that it goes on with a task that was begun before
// and put back. restore is the command that brings back what was not committed then,
// where cmux could not; empty: it is in the worktree, or there was nothing.
func TakenUp(restore string) string {
	where := "What was committed is on this branch, and what was not is in the worktree."
	if restore != "" {
		where = "What was committed is on this branch. What was not is in a snapshot: `" + restore + "`."
	}
	return "Work on this task was begun before and put back. " + where + " Look at `git log` and `git status` first, go on from there, and do not repeat what is done."
}

// TakenBack tells a standing agent that its task is no longer its own.
func TakenBack(why string) string {
	return "[TASK-CANCEL] Your task was taken back: " + why + "\nStop working on it now, and do not report on it. What is committed stays on its branch; end your turn and wait for what comes next."
}

// Spent has an agent end a turn that was broken off, as its budget of the day is spent.
func Spent(why string) string {
	return "Your turn was broken off: " + why + ". End it now, without another tool call: nothing is lost, and you get what is to be done when there is a budget again."
}

// SentBack sends an agent on whose work a person has looked at and not taken.
func SentBack(comment string) string {
	return "A person has reviewed your work and sends it back; you are in the same directory, on the same branch. They say:\n" + comment +
		"\n\nChange your work accordingly, commit it, " + again
}

// Unread hands over what a person said before a report that was made without it.
func Unread(said string) string {
	return said + "\n\n(You were told this before you reported. Take it in, " + again + ")"
}

// Waiting hands on what a person said to an agent that was ended before it read
// it.
func Waiting(lines []string) string {
	return "This was said to you before, and you have not read it yet; it comes first:\n" + strings.Join(lines, "\n")
}

// NoReport answers a turn that ended without a report.
func NoReport() string {
	return "You ended your turn without reporting. Go on with the task until it is finished, then report with `done` (the tool, or: cmux done \"summary\")\nIf you cannot finish, report why with `blocked` (the tool, or: cmux blocked \"reason\")"
}

// Unpublished hands back a report that came before the outputs it goes with.
func Unpublished(names []string) string {
	return fmt.Sprintf("Those who build on your work need values that you have not published: %s. Publish each with: cmux output KEY=VALUE (or the tool output), %s", strings.Join(names, ", "), again)
}

// CheckFailed hands a failing check back; how is such as "exit 1", output its end.
func CheckFailed(command, how, output string) string {
	s := fmt.Sprintf("The check `%s` failed (%s). Fix the cause, not the check, %s", command, how, again)
	if strings.TrimSpace(output) == "" {
		return s + "\n\nIt printed nothing."
	}
	return s + "\n\nThe end of its output:\n" + fenced(output)
}

// CheckChanged hands back what a check did to the worktree that it was to judge.
func CheckChanged(command, did string) string {
	return fmt.Sprintf("The check `%s` changed what it checks: it %s\nOnly what a check leaves alone counts. Look at `git status`: commit what belongs to your task, bring back the rest (git restore -- FILE), %s\nIf the check itself does that every time, say so: cmux blocked \"the check changes files\"", command, did, again)
}

// GoesOn hands back work that changed while it was looked at.
func GoesOn() string {
	return "Your files or your branch went on changing while they were judged, so nothing could be found good. End what you left running in the background that writes files or commits, look at `git status`, " + again
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

// OutOfScope hands changes outside the node's scope back. files are as shown,
// start is the commit to restore them to. An empty scope means that only the
// read-only context was changed.
func OutOfScope(files string, scope, context []string, start string) string {
	may := "You may change only: " + strings.Join(scope, ", ") + "."
	if len(scope) == 0 {
		may = "You may only read: " + strings.Join(context, ", ") + "."
	}
	return fmt.Sprintf("You changed files outside your scope: %s\n%s\nBring them back to what they were (git restore --source=%s --staged --worktree -- FILE; delete new ones), commit that, %s", files, may, short(start), again)
}

// OutOfSharedScope hands changes outside a task's scope back in a folder in which
// others work too.
func OutOfSharedScope(files string, scope, context []string) string {
	may := "You may change only: " + strings.Join(scope, ", ") + "."
	if len(scope) == 0 {
		may = "You may only read: " + strings.Join(context, ", ") + "."
	}
	return fmt.Sprintf("Files outside your scope have changed since your task began: %s. %s Undo your own changes to them and nothing else, %s If you did not change them, or the task needs one of them, report blocked and name it.", files, may, again)
}

// SharedChanged hands changes of what all worktrees share back, each a line.
func SharedChanged(changes []string) string {
	return fmt.Sprintf("You changed what all worktrees of the repository share, which is not yours to change:\n- %s\nUndo it, %s If it was not you, say so: cmux blocked \"what changed, and that it was not you\"", strings.Join(changes, "\n- "), again)
}

// BaseLost says that the commit a branch began at is no longer in its history.
func BaseLost(branch, start string) string {
	return fmt.Sprintf("Your branch %s no longer holds the commit that it began at, %s: you amended it, or rebased or reset the branch. Put your work on top of it again (git reset --soft %[2]s, then commit), %s", branch, short(start), again)
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
func NoCommit() string {
	return "You reported done, but your branch has no commit of yours. Commit your work and report again; if nothing was needed, say so: cmux done \"nothing was needed: why\""
}

// Mention is the prompt of an agent whose real prompt stands in the file path
// and comes with this one, as Claude Code attaches a file that is named so. What
// is too long for that, or may not be attached, is left for the agent to read.
func Mention(path string) string {
	return fmt.Sprintf("What you are to do stands in @\"%s\". Where you do not see it here to its end, read it first, in parts if it is long. Then carry it out.", path)
}

// ByFile is the prompt of an agent whose real prompt is too long to be handed
// over and stands in the file path.
func ByFile(path string) string {
	return fmt.Sprintf("Read the file %s to its end, in parts if it is long, before you do anything else. It holds your task, your rules and how to report. Then carry it out.", path)
}
