package attempt

import (
	"context"
	"fmt"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/prompt"
	"cmux/signals"
	"cmux/worktree"
)

// remind has the hook that is being answered tell the agent what counts now: its
// conversation was replaced by a summary, or is new.
func (a *attempt) remind() error {
	c, ok := a.agent.Agent.(agent.Carrier)
	if !ok || a.reply == nil || a.hooking == "" {
		return nil
	}
	m, err := a.memory()
	if err != nil { // the program goes on, and is told what is known
		a.note("what the agent is reminded of is not complete: %v", err)
	}
	a.reply.HookReply = c.Carry(a.hooking, prompt.Reminded(m))
	return nil
}

// taskFile holds the task that a standing agent is reminded of.
func (a *attempt) taskFile() string { return a.stage.Files.File("task", ".md") }

// memory is what the agent must know at this moment.
func (a *attempt) memory() (m prompt.Memory, err error) {
	m = prompt.Memory{Name: a.node.Name, Member: a.spec.Member, Dir: a.stage.Dir}
	switch {
	case !a.stays():
		m.Text, m.File = a.stage.Prompt, a.stage.PromptFile
	case a.task != nil && a.Got:
		if m.Text, err = a.workPrompt(); err != nil {
			return m, err
		}
		m.Task, m.File = a.task.ID, a.taskFile()
		err = signals.PutFile(m.File, []byte(m.Text), 0o600)
	default:
		return m, nil
	}
	m.Back = a.back
	m.Done = a.soFar()
	return m, err
}

// soFar is what is done of the task at hand, as its folder shows it.
func (a *attempt) soFar() (lines []string) {
	if !a.node.HasBranch() || a.stays() && leads(a.spec.Member) {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, glancePatience)
	defer cancel()
	g, err := worktree.GlanceAt(ctx, a.stage.Dir)
	if err != nil {
		return nil
	}
	at := "no branch is checked out"
	if g.Branch != "" {
		at = "on the branch " + g.Branch
	}
	start := a.spec.Place.Commit
	switch {
	case start == "" || g.Commit == "":
		lines = append(lines, at)
	case start == g.Commit:
		lines = append(lines, at+", no commit yet since you began")
	default:
		lines = append(lines, fmt.Sprintf("%s, commits since you began: git log %.12s..HEAD", at, start))
	}
	if files := append(g.Staged, g.Changed...); len(files) > 0 {
		what := "not committed: "
		if a.spec.Place.Tree == "" {
			what = "not committed in this folder, by you and by others: "
		}
		lines = append(lines, what+workspace.Shown(files))
	}
	return lines
}
