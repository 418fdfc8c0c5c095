// Package crew makes, speaks to and removes who works beside the supervisor of an
// organization: workers, their clones, and supervisors of other sessions and projects.
package crew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"cmux/agents/control/commands"
	"cmux/agents/control/letters"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/control/tasks"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Crew is who works beside the supervisor of a project.
type Crew struct {
	*project.Project
	Runs    *runs.Runs
	Tasks   *tasks.Tasks
	Letters *letters.Letters
}

// Spawn orders a new worker.
type Spawn struct {
	Name      string `json:"name"`
	Task      string `json:"task,omitempty"` // what it is told to begin with
	Display   string `json:"display_name,omitempty"`
	Dir       string `json:"dir,omitempty"`       // it works there, beside whoever else does; empty: in a worktree of its own
	Branch    string `json:"branch,omitempty"`    // of its worktree
	Project   string `json:"project,omitempty"`   // that it belongs to
	Permanent string `json:"permanent,omitempty"` // its role: it stays after its work, and only a person removes it
	Role      string `json:"role,omitempty"`      // its role, of a worker that does not stay
	Kind      string `json:"agent,omitempty"`
	Model     string `json:"model,omitempty"`
	Account   string `json:"account,omitempty"`
	TaskID    string `json:"task_id,omitempty"` // a task that there is, to begin with
	Once      bool   `json:"once,omitempty"`    // it is removed when its work is done
}

// Spawn makes a worker and returns when it is there; its program may still
// be starting.
func (p *Crew) Spawn(ctx context.Context, o Spawn) (*Spawned, error) {
	org, err := p.Running()
	if err != nil {
		return nil, err // there are no roles either
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	s := standing.Spawn{Name: o.Name, Display: o.Display, Role: standing.Worker, Kind: o.Kind, Model: o.Model, Account: o.Account,
		Project: o.Project, Supervisor: by, Branch: o.Branch, Once: o.Once}
	if o.TaskID != "" {
		if o.Task != "" {
			return nil, project.Usage("", "--task names the task already: leave out the text")
		}
		if _, err := p.Tasks.Task(o.TaskID); err != nil {
			return nil, err
		}
	}
	role := o.Role
	if o.Permanent != "" {
		if role != "" {
			return nil, project.Usage("", "--permanent names the role already: leave out --role-template")
		}
		if o.Once {
			return nil, project.Usage("", "a permanent worker stays: leave out --once")
		}
		role, s.Role, s.Permanent = o.Permanent, standing.PermanentWorker, true
	}
	if s.RoleFile, err = p.roleFile(by, role); err != nil {
		return nil, err
	}
	if why := dag.BadBranch(o.Branch); o.Branch != "" && why != "" {
		return nil, project.Usage("", "git does not accept the branch name %q: %s", o.Branch, why)
	}
	if o.Dir != "" && by != "" && org.Fence().On() {
		return nil, project.Usage("", "a worker that shares a folder has no fence, so only a person makes one: without --dir it gets a worktree")
	}
	if o.Dir == "" {
		o.Dir, s.Project = p.projectDir(org, by, o.Project)
	}
	if o.Dir != "" {
		if o.Branch != "" {
			return nil, project.Usage("", "--branch is for a worktree of its own, and --dir shares a folder")
		}
		s.Dir = p.Abs(o.Dir)
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			return nil, project.Usage("", "--dir %s is not a folder", s.Dir)
		}
		if org.Fence().Mode == dag.FenceRequire {
			return nil, project.Usage("leave out the folder: it gets a worktree; or fence: auto in .cmux/config.yml, then cmux config apply", "fence: require holds for the organization, and a worker that shares a folder can have no fence")
		}
	}
	if err := standing.CheckName(s.Name, s.Role); err != nil {
		return nil, project.Tag(err, project.ErrUsage)
	}
	made := new(Spawned)
	if err := p.AskKeeper(ctx, standing.OpSpawn, o.Name, standing.Ask{By: by, Spawn: &s}, &made.Made); err != nil {
		return made, err
	}
	made.Task = o.TaskID
	if f := task.Told(o.Task); f != nil {
		var t tasks.TaskView
		if t, err = p.Tasks.Add(ctx, *f); err == nil {
			made.Task = t.ID
		}
	}
	if err == nil && made.Task != "" {
		_, err = p.Tasks.Assign(ctx, made.Task, o.Name)
	}
	if err != nil {
		return made, fmt.Errorf("%s is made, but has no task: %w", o.Name, err)
	}
	return made, nil
}

// Spawned is a worker that was made.
type Spawned struct {
	standing.Made
	Task string `json:"task,omitempty"` // that it was given; empty: none
}

// roleFile is the file of a role that by names: one of the project's roles by its name, or a
// file by its path.
func (p *Crew) roleFile(by, role string) (string, error) {
	if role == "" {
		role = "worker"
	}
	path := standing.RolePath(p.Root, role)
	if strings.ContainsRune(role, filepath.Separator) || strings.HasSuffix(role, ".md") {
		path = p.Abs(role)
		if by != "" && filepath.Dir(path) != filepath.Dir(standing.RolePath(p.Root, "x")) {
			// In a fence, the agent itself could not read all that cmux can.
			return "", project.Usage("", "an agent names a role of %s, no other file: %s", filepath.Dir(standing.RolePath(p.Root, "x")), role)
		}
	}
	if mode, err := signals.Type(path); err != nil || !mode.IsRegular() {
		return "", project.Usage("", "there is no role %s: write one into %s, or name one of those there", role, path)
	}
	return path, nil
}

// Reset has an agent begin a new conversation with its unfinished work.
func (p *Crew) Reset(ctx context.Context, name string) error {
	_, a, err := p.StandingAgent(name)
	if err != nil {
		return err
	}
	by, err := p.Orderer()
	if err != nil {
		return err
	}
	if by == a.Name {
		return fmt.Errorf("%s cannot reset itself: its own conversation would be cut off", a.Name)
	}
	return p.AskKeeper(ctx, standing.OpReset, a.Name, standing.Ask{By: by}, nil)
}

// Wake starts an agent again that died too often.
func (p *Crew) Wake(ctx context.Context, name string) error {
	_, a, err := p.StandingAgent(name)
	if err != nil {
		return err
	}
	return p.AskKeeper(ctx, standing.OpWake, a.Name, standing.Ask{}, nil)
}

// Kill removes an agent; what it leaves is kept. force is what it takes to
// remove one that stays.
func (p *Crew) Kill(ctx context.Context, name string, force bool) (*standing.Gone, error) {
	_, a, err := p.StandingAgent(name)
	if err != nil {
		return nil, err
	}
	by, err := p.Orderer()
	if err != nil {
		return nil, err
	}
	if by == a.Name {
		return nil, fmt.Errorf("%s cannot remove itself", a.Name)
	}
	if a.Protected() && a.Member.Role != standing.Supervisor && !force {
		return nil, hint.New(fmt.Errorf("%s is a %s, which stays", a.Name, strings.ReplaceAll(a.Member.Role, "-", " ")),
			"cmux workers reset "+a.Name+", or, to remove it, cmux workers kill --force "+a.Name)
	}
	gone := new(standing.Gone)
	return gone, p.AskKeeper(ctx, standing.OpKill, a.Name, standing.Ask{By: by, Force: force}, gone)
}

// Take takes the conversation of an agent over for a person, until it is
// released.
func (p *Crew) Take(ctx context.Context, name string) error {
	return p.sayTo(ctx, name, attempt.Message{Op: attempt.OpTake})
}

// Release gives an agent that was taken over back.
func (p *Crew) Release(ctx context.Context, name string) error {
	return p.sayTo(ctx, name, attempt.Message{Op: attempt.OpRelease})
}

// Answer answers the question of an agent, or tells it something; a.Node is its
// name.
func (p *Crew) Answer(ctx context.Context, a commands.Answer) (commands.Answered, error) {
	if strings.TrimSpace(a.Text) == "" {
		return commands.Answered{}, project.Usage("", "the answer is empty")
	}
	_, agent, err := p.StandingAgent(a.Node)
	if err != nil {
		return commands.Answered{}, err
	}
	if a.Question != nil && *a.Question != agent.Asked {
		return commands.Answered{}, run.AsksElse(a.Node)
	}
	if agent.Question != nil {
		if err := commands.Offered(*agent.Question, a.Text, "cmux workers answer "+a.Node); err != nil {
			return commands.Answered{}, err
		}
	}
	reply, err := p.askLife(ctx, a.Node, attempt.Message{Op: attempt.OpAnswer, Text: a.Text, ToOpen: a.Question != nil && *a.Question != ""})
	if err != nil {
		return commands.Answered{}, err
	}
	if agent.Asked == "" {
		p.NoteBlocked(agent.Name)
	} else if agent.Question != nil {
		if err := p.Settle(ctx, agent.Question.Message); err != nil {
			return commands.Answered{}, err
		}
	}
	return commands.Answered{Taken: commands.Taken{Done: true, Outcome: reply.Fate, Why: reply.Text}, Asked: agent.Asked != ""}, nil
}

// NoteBlocked says how the blocked tasks of an agent go on: whoever tells the agent
// something that was meant for one of them has not taken it up again.
func (p *Crew) NoteBlocked(name string) {
	list, err := p.TaskList()
	if err != nil {
		return // cmux tasks list says what is wrong with it
	}
	for _, t := range list.All() {
		if t.State == task.Blocked && t.Agent == name {
			p.Tell(fmt.Sprintf("%s stays blocked (%s) until it is assigned again: cmux tasks assign %[1]s %[3]s", t.ID, say.Line(t.Reason), name))
		}
	}
}

// sayTo says something to the life of an agent.
func (p *Crew) sayTo(ctx context.Context, name string, m attempt.Message) error {
	_, err := p.askLife(ctx, name, m)
	return err
}

// askLife says something to the life of an agent and returns what it replies.
func (p *Crew) askLife(ctx context.Context, name string, m attempt.Message) (r attempt.Reply, err error) {
	org, a, err := p.StandingAgent(name)
	if err != nil {
		return r, err
	}
	l, err := host.Dial(ctx, org.Run, host.Ref{Node: a.Name, N: a.Life.N})
	if errors.Is(err, host.ErrGone) {
		return r, hint.New(fmt.Errorf("%s does not run", a.Name), org.WayTo(a.Name))
	}
	if err != nil {
		return r, err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(ctx, project.Patience)
	defer cancel()
	return l.Say(ctx, m)
}

// Removals are the agents that were removed, newest first, each with where what is
// kept of it is.
func (p *Crew) Removals() ([]standing.Removal, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	return org.Removals()
}
