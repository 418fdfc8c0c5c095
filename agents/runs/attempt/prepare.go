package attempt

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/rights"
	"cmux/agents/platform/endpoint"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// prepare makes the worktree ready.
func (a *attempt) prepare() error {
	if a.shares() {
		return a.verdict.LookBefore()
	}
	if !a.node.HasTree() || a.stays() && a.spec.Place.Tree == "" {
		return nil
	}
	var t *workspace.Tree
	if err := a.progress.become(dag.SettingUp, time.Time{}, ""); err != nil {
		return err
	}
	failure, err := a.roomily(func(ctx context.Context) (err error) {
		if t, err = workspace.Open(ctx, a.job.Repo, a.spec, a.job.Paths, a.job.Home); err != nil {
			return err
		}
		// The worktree, which was just made, is to survive a power cut. What cannot be
		// written is told at the end, when it matters.
		a.persisting.Go(func() { _ = t.Repo.Sync() })
		if err := t.Prepare(ctx, a.stage.Env, a.out); err != nil {
			return err
		}
		if err := t.TakeTrace(); err != nil { // of the setup
			a.note("%v", err)
		}
		return t.Watch(ctx)
	})
	if t != nil {
		a.progress.dir = a.spec.Place.Dir
	}
	a.verdict.In(t, a.spec.Place.Tree)
	if failure != nil || err != nil {
		// What a broken-off step left running has no program to be found by.
		_, e := proc.End(context.WithoutCancel(a.ctx), a.limits.Grace, a.stage.Mark)
		failure = errors.Join(failure, e)
	}
	if err != nil {
		return err
	}
	if failure != nil {
		return verdict.FailedBy(verdict.CodeOf(failure), dag.ReasonSetup, "%v", failure)
	}
	return nil
}

// brief gives the stage what an agent that reads a prompt is told: the prompt of
// the attempt, kept in a file, and what it may do.
func (a *attempt) brief() error {
	s := a.stage
	s.Policy = a.policy()
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
		text += "\n" + s.Resumption + "\n" // where its conversation is gone
	}
	s.Prompt, s.PromptFile = text, s.Files.File("prompt", ".md")
	s.Readable = append(s.Readable, s.PromptFile)
	return signals.PutFile(s.PromptFile, []byte(text), 0o600)
}

// leads reports whether a standing agent is a supervisor, or a sentry, which acts
// for one: it changes no file either.
func leads(m *run.Member) bool {
	return m.Role == "supervisor" || m.Role == "project-supervisor" || m.Role == "sentry"
}

// policy is what the agent may do.
func (a *attempt) policy() guard.Policy {
	scopes := a.verdict.Scopes()
	p := guard.Policy{
		Role: a.node.Role, Root: a.spec.Frame.Root, Tree: a.spec.Place.Tree, Dir: a.stage.Dir,
		Scope: scopes.Write, Context: scopes.Read, Branch: a.spec.Place.Branch, Verify: slices.Concat(a.node.Verify, a.spec.Checks),
		Headless: a.stage.Terminal == nil, Resolve: guard.Follow, Linked: guard.Linked, Machine: guard.Here(a.spec.Place.Dir, a.stage.Env),
	}
	if m := a.spec.Member; m != nil {
		p.Leads = leads(m)
		p.Holder = rights.Holder{Stays: true, Leads: p.Leads && m.Role != "sentry", Sentry: m.Role == "sentry", TeamLead: m.TeamLead}
		if dir, err := filepath.EvalSymlinks(m.Dir); err == nil && p.Leads && dir != p.Root {
			p.Led = dir
			p.Private = append(endpoint.Secrets(dir), run.OrganizationDir(dir))
		}
		if m.Tree == "" && !p.Leads { // it may work in the folder that it shares
			p.Tree, p.Branch, p.Shared = m.Dir, "", true
		}
		p.Beside = a.spec.Beside
		p.Private = append(p.Private, run.OrganizationDir(p.Root))
		p.Mine = []string{a.job.Paths.NodeDir(a.node.Name)}
		p.Zones = guard.Zones(a.spec.Zones)
		p.Zones.Safe = dag.Literal(p.Zones.Safe, worktree.Exists(cmp.Or(p.Tree, p.Root)))
	}
	if dir, err := run.KeyFolder(); err == nil { // else there is no key of theirs
		p.Private = append(p.Private, dir)
	}
	p.Private = append(p.Private, endpoint.Secrets(p.Root)...)
	for _, n := range a.spec.Frame.Peers {
		if n.Tree != "" && n.Name != a.node.Name {
			p.Peers = append(p.Peers, n.Tree)
		}
	}
	return p
}

// anew begins a verdict on the work that the attempt is at.
func (a *attempt) anew() {
	a.progress.dir, a.progress.patience = "", time.Duration(a.node.IdleTimeout)
	a.verdict.Anew(verdict.Job{
		Spec: a.spec, Task: a.task, Shares: a.shares(), Judging: a.kind.Judge, Stage: a.stage, Out: a.out, Paths: a.job.Paths, Home: a.job.Home,
		Outputs: outputFile(a.job), StepTime: a.limits.Step, Grace: a.limits.Grace, Persisting: &a.persisting,
		Attempt: verdict.Attempt{
			Now: func() verdict.Now {
				return verdict.Now{Overridden: a.Overridden, Agent: a.agent.Agent != nil, Ended: a.agent.hasEnded(), Report: a.Report}
			},
			During: func(f func(context.Context) error) (failure, err error) { return a.during(f) }, Roomily: a.roomily, Call: a.call,
			Become: func(act dag.Activity) (dag.Activity, error) {
				was := a.progress.activity
				return was, a.progress.become(act, time.Time{}, "")
			},
			Note: a.note, Record: a.record,
		},
	})
}

// shares reports whether the attempt is at a task in a folder that it shares.
func (a *attempt) shares() bool {
	return a.stays() && a.task != nil && a.spec.Place.Tree == "" && a.node.HasBranch() && !leads(a.spec.Member)
}
