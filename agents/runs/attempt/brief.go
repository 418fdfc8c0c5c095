package attempt

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/handover"
	"cmux/agents/platform/endpoint"
	"cmux/agents/records/event"
	"cmux/agents/records/unfinished"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/conversation"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag/scopes"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
)

// openEvents opens the node's events, for agents only: a command has its log and the run's
// records.
func (a *assignment) openEvents() (err error) {
	if !a.kind.Judge {
		return nil
	}
	a.stage.Events, err = event.Open(a.paths.Events(a.node.Name), a.node.Name, a.spec.Attempt)
	if err != nil {
		return err
	}
	heard := func(e event.Event) {
		if e.Kind == event.ToolResult || e.Kind == event.Check {
			a.fenceEar.Hear(e.Text)
		}
	}
	if !a.spec.Terms.Stays {
		a.stage.Events.Also(heard)
		return nil
	}
	a.ear.Text = a.spec.LastTold
	audit := newAuditor(a.spec, a.stage)
	a.stage.Events.Also(func(e event.Event) {
		audit.hear(e)
		a.ear.hear(e)
		heard(e)
	})
	return nil
}

// brief sets the prompt of the attempt, which is also stored in a file, and the permissions
// of the agent.
func (a *assignment) brief(scopes workspace.Scopes) error {
	s := a.stage
	s.Policy = a.policy(scopes)
	s.Readable = nil
	long := s.Files.File("whole", ".md")
	text, whole := prompt.ComposeWhole(prompt.Input{Spec: a.spec, Base: a.spec.Frame.Base, Tool: a.kind.Tool, Whole: long})
	if whole != "" {
		if err := signals.PutFile(long, []byte(whole), 0o600); err != nil {
			return err
		}
		s.Readable = []string{long}
	}
	if s.Again {
		text += "\n" + s.Resumption + "\n" // if its conversation is lost
	}
	s.Prompt, s.PromptFile = text, s.Files.File("prompt", ".md")
	s.Readable = append(s.Readable, s.PromptFile)
	return signals.PutFile(s.PromptFile, []byte(text), 0o600)
}

// policy returns what the agent may do.
func (a *assignment) policy(may workspace.Scopes) places.Policy {
	p := places.Policy{
		Role: a.node.Role, Root: a.spec.Frame.Root, Tree: a.spec.Place.Tree, Dir: a.stage.Dir,
		Scope: may.Write, Context: may.Read, Branch: a.spec.Place.Branch, Verify: slices.Concat(a.node.Verify, a.spec.Checks),
		Holder: a.spec.Terms.Rights, Headless: a.stage.Terminal == nil, Resolve: places.Follow, Linked: places.Linked, Machine: places.HereBy(a.spec.Place.Dir, a.stage.Env, a.startGit),
	}
	if a.spec.Terms.Stays {
		p.Leads = p.Holder.Leads || p.Holder.Sentry
		if dir, err := filepath.EvalSymlinks(a.place.Dir); err == nil && p.Leads && dir != p.Root {
			p.Led = dir
			p.Private = append(endpoint.Secrets(dir), run.OrganizationDir(dir))
		}
		if a.place.Tree == "" && !p.Leads { // it may work in the folder that it shares
			p.Tree, p.Branch, p.Shared = a.place.Dir, "", true
		}
		p.Beside = a.spec.Beside
		p.Private = append(p.Private, run.OrganizationDir(p.Root))
		p.Mine = []string{a.paths.NodeDir(a.node.Name)}
		p.Zones = places.Zones(a.spec.Zones)
		p.Zones.Safe = scopes.Literal(p.Zones.Safe, worktree.Exists(cmp.Or(p.Tree, p.Root)))
	}
	if dir, err := run.KeyFolder(); err == nil { // else there is no key of theirs
		p.Private = append(p.Private, dir)
	}
	p.Private = append(p.Private, endpoint.Secrets(p.Root)...)
	for _, name := range []string{"rooms", "memory.jsonl", unfinished.Folder} { // what is said in them reaches each member by itself
		p.Private = append(p.Private, filepath.Join(p.Root, signals.Folder, name))
	}
	for _, n := range a.spec.Frame.Peers {
		if n.Tree != "" && n.Name != a.node.Name {
			p.Peers = append(p.Peers, n.Tree)
		}
	}
	return p
}

// startGit starts git for the guard, in the fence of the node's checks: settings in its
// worktree can be the agent's.
func (a *assignment) startGit(cmd *exec.Cmd) error {
	ctx := context.Background()
	if steps := a.stage.Steps; steps != nil {
		ctx = git.WithConfine(ctx, func(cmd *exec.Cmd, _ []string) error { return steps(cmd) })
	}
	return git.Start(ctx, cmd)
}

// workText returns the text of the work that the attempt hands to the agent.
func (a *assignment) workText() (string, error) {
	text, err := a.workPrompt()
	if err != nil {
		return "", err
	}
	return handover.NewTask(a.task.ID, text), nil
}

// workPrompt returns the prompt of a task.
func (a *assignment) workPrompt() (string, error) {
	long := a.stage.Files.File("whole", ".md")
	text, whole := prompt.ComposeWhole(prompt.Input{Spec: a.spec, Base: a.spec.Frame.Base, Tool: a.kind.Tool, Whole: long})
	if whole != "" {
		if err := signals.PutFile(long, []byte(whole), 0o600); err != nil {
			return "", err
		}
	}
	if a.task.Before != "" {
		text += "\n\n" + a.task.Before
	}
	return text, nil
}

// briefStanding sets what a standing agent reads when its program starts: who it is, in a
// new conversation, and its task, if it has one. What still waits, by its messages, is told
// again after that, so that a turn which one of them began is not told of.
func (a *assignment) briefStanding(l conversation.Launch, got bool, waiting []string, scopes workspace.Scopes) error {
	s := a.stage
	s.Policy = a.policy(scopes)
	s.Prompt, s.Resumption, s.Again, s.Stays = a.spec.Brief, "", false, true
	last := a.ear.last()
	switch {
	case a.task != nil && got:
		text, err := a.workText()
		if err != nil {
			return err
		}
		s.Prompt += "\n\n" + text + "\n\n" + prompt.WorkBegun(a.task.ID, a.task.Place.Commit, l.Said)
		s.Resumption = prompt.WorkResumed(a.task.ID, l.Said)
	case l.Cut && last != strings.TrimSpace(s.Prompt) && !holdsMessage(last, waiting): // else it was only being told who it is
		ordered := a.spec.Lost == "" && !l.Again
		s.Resumption = prompt.CutOff(a.spec.Member, last, l.Said, false, ordered)
		s.Prompt += "\n\n" + prompt.CutOff(a.spec.Member, last, l.Said, true, ordered)
	case l.Said != "":
		s.Resumption = l.Said
		s.Prompt += "\n\n" + l.Said
	}
	s.PromptFile = s.Files.File("prompt", ".md")
	s.Readable = append([]string{s.PromptFile, s.Files.File("whole", ".md"), a.taskFile()}, a.spec.Terms.Documents...)
	return signals.PutFile(s.PromptFile, []byte(s.Prompt), 0o600)
}

// holdsMessage reports whether a text has one of these messages in it.
func holdsMessage(text string, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return strings.Contains(text, fmt.Sprintf("<message id=%q ", id)) })
}

// ear is what an agent is told, as its events say.
type ear struct {
	mu sync.Mutex
	prompt.Told
}

func (r *ear) hear(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Take(e)
}

// last is what it was told last since it came to rest.
func (r *ear) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(r.Text)
}

// taskFile holds the current task, for reminders.
func (a *assignment) taskFile() string { return a.stage.Files.File("task", ".md") }

// memory returns what the agent must know now.
func (a *assignment) memory(ctx context.Context, got bool, back string) (m prompt.Memory, err error) {
	m = prompt.Memory{Name: a.node.Name, Member: a.spec.Member, Dir: a.stage.Dir}
	switch {
	case !a.spec.Terms.Stays:
		m.Text, m.File = a.stage.Prompt, a.stage.PromptFile
	case a.task != nil && got:
		if m.Text, err = a.workPrompt(); err != nil {
			return m, err
		}
		m.Task, m.File = a.task.ID, a.taskFile()
		err = signals.PutFile(m.File, []byte(m.Text), 0o600)
	default:
		return m, nil
	}
	m.Back = back
	m.Done = a.soFar(ctx)
	return m, err
}

// soFar describes the progress of the current task, as its folder shows it.
func (a *assignment) soFar(ctx context.Context) (lines []string) {
	if !a.node.HasBranch() || !a.spec.Terms.Keeps {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, glancePatience)
	defer cancel()
	g, err := git.GlanceAt(ctx, a.stage.Dir)
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
