package standing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cmux/agents/kinds/rights"
	"cmux/agents/org/persona"
	"cmux/agents/org/seat"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/settings"
	"cmux/agents/records/event"
	"cmux/agents/records/journal"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/shares"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// tend does what is due for one agent.
func (k *Keeper) tend(ctx context.Context, a *Agent) error {
	k.Windows.Put(a.Name, a.Member.Session) // it may be new
	if a.Life.On() {
		if err := k.attend(ctx, a); err != nil || a.Life.On() {
			return err
		}
	}
	delete(k.parting, a.Name)
	if a.Leaving != "" {
		return nil // its request removes it
	}
	if k.org.Stopped {
		return nil
	}
	switch due, at := a.Due(k.Now()); due {
	case Begin:
		return k.begin(ctx, a)
	case Wait:
		k.at(at)
	}
	return nil
}

// attend looks after a life that is on by the records: it is spoken to, asked to
// end, or found to have ended.
func (k *Keeper) attend(ctx context.Context, a *Agent) error {
	if l := k.lives.Of(a.Name); !l.Stands() || l.N != a.Life.N {
		var fresh time.Time
		if a.Life.Began.IsZero() {
			fresh = a.Life.Started
		}
		pulse, err := k.lives.Look(ctx, host.Ref{Node: a.Name, N: a.Life.N}, fresh)
		if err != nil || pulse == host.Gone {
			return err
		}
		if !k.lives.Of(a.Name).Stands() {
			k.at(k.Now().Add(time.Second)) // it may not listen yet
		}
		if pulse == host.Unknown {
			return nil
		}
	}
	if a.parts() || k.org.Stopped {
		return k.part(ctx, a)
	}
	return nil
}

// again is lives.Policy.Again.
func (k *Keeper) again(_ context.Context, ref host.Ref) (open, began bool, err error) {
	a := k.org.Agents[ref.Node]
	err = k.org.lookAt(a)
	return a.Life.On() && a.Life.N == ref.N, !a.Life.Began.IsZero(), err
}

// died is lives.Policy.Lost: it records that a life is over.
func (k *Keeper) died(ctx context.Context, ref host.Ref, why string) error {
	k.Log.Warn("an agent died", "agent", ref.Node, "life", ref.N, "why", why)
	err := k.org.RecordOf(ctx, ref.Node, run.Record{Type: run.Vanished, Attempt: ref.N, How: run.HowLost, Detail: why})
	if err != nil {
		return err
	}
	return k.org.lookAt(k.org.Agents[ref.Node])
}

// part asks a life to end, and ends it when it does not.
func (k *Keeper) part(ctx context.Context, a *Agent) error {
	p := k.parting[a.Name]
	if p == nil || p.n != a.Life.N {
		p = &parting{n: a.Life.N, until: k.Now().Add(k.Patience)}
		k.parting[a.Name] = p
	}
	if l := k.lives.Of(a.Name); l != nil && !p.asked {
		p.asked = true
		k.tasks.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, k.Patience)
			defer cancel()
			if _, err := l.Say(ctx, attempt.Message{Op: attempt.OpStop}); err != nil {
				k.Log.Debug("an agent did not answer that it stops", "agent", a.Name, "err", err)
			}
		})
	}
	if k.Now().Before(p.until) {
		k.at(p.until)
		return nil
	}
	if p.ended {
		return nil
	}
	p.ended = true
	k.Log.Warn("an agent does not stop and is ended", "agent", a.Name)
	life, ref := a.Life, host.Ref{Node: a.Name, N: a.Life.N}
	k.tasks.Go(func() {
		by := proc.Identity{PID: life.PID, Start: life.Start}
		if _, err := k.host.End(ctx, ref, by, time.Second); err != nil {
			k.Log.Error("processes of an agent could not be ended", "agent", ref.Node, "err", err)
		}
	})
	k.at(k.Now().Add(time.Second))
	return nil
}

// begin starts the next life of an agent: in its conversation, with the work
// that it was at. It is on record before it is there.
func (k *Keeper) begin(ctx context.Context, a *Agent) error {
	n := a.Life.N + 1
	ref := host.Ref{Node: a.Name, N: n}
	pulse, release, err := k.host.Probe(ref, time.Time{})
	if err != nil {
		return err
	}
	if pulse != host.Gone { // an earlier life is on its way out
		k.at(k.Now().Add(100 * time.Millisecond))
		return nil
	}
	if err := release(); err != nil {
		return err
	}
	spec := k.org.Spec(a, n)
	k.slot(a.Name, &spec.Place)
	rec := run.Record{Type: run.Started, Attempt: n, Place: &spec.Place}
	if err := k.org.RecordOf(ctx, a.Name, rec); err != nil {
		return err
	}
	if err := k.org.lookAt(a); err != nil {
		return err
	}
	k.Log.Info("an agent begins", "agent", a.Name, "life", n, "conversation", spec.Conversation)
	if err := k.launch(ctx, a, spec); err != nil {
		return k.died(ctx, ref, "it could not be started: "+err.Error())
	}
	k.at(k.Now().Add(time.Second))
	return nil
}

// launch starts a life on its host.
func (k *Keeper) launch(ctx context.Context, a *Agent, spec *run.Spec) error {
	m := &a.Member
	if m.Tree != "" {
		if _, err := os.Stat(m.Tree); os.IsNotExist(err) {
			if err := k.Trees.Lend(ctx, m.Tree, m.Branch, k.org.start(m), k.org.owner(a.Name)); err != nil {
				return err
			}
		}
	}
	if info, err := os.Stat(m.Dir); err != nil || !info.IsDir() {
		return fmt.Errorf("its folder %s is gone", m.Dir)
	}
	if _, err := k.org.Run.ProveBin(); err != nil {
		return err
	}
	if _, err := settings.Read(); err != nil {
		return err // it says which fence the person wants
	}
	if err := attempt.NoFence(spec); err != nil && spec.Def.Fence.Mode == dag.FenceRequire {
		return fmt.Errorf("fence: require: %w", err)
	}
	_, err := k.host.Start(ctx, spec)
	return err
}

// owner is whose a worktree is, for who lends it again.
func (o *Org) owner(name string) string {
	return o.Run.Plan.Session + "/" + run.OrganizationID + "/" + name
}

// Spec is what life n of an agent is started with.
func (o *Org) Spec(a *Agent, n int) *run.Spec {
	m := a.Member
	m.AutoAccept, m.Automatic = o.Settings.Permissions == PermitAll, o.Settings.Permissions == PermitAuto
	last := ""
	if a.Midway {
		last = o.lastTold(a.Name)
	}
	frame := o.Run.Frame()
	frame.BaseBranch = o.Settings.Integration
	return &run.Spec{
		Node: a.Name, Frame: frame, Def: o.def(&m), Attempt: n, Token: run.NewToken(),
		Place:    run.Place{Dir: m.Dir, Tree: m.Tree, Branch: m.Branch, Slot: shares.NoSlot},
		Headless: m.Headless, Conversation: a.Conversation, Counted: a.counted(), Used: a.Used,
		Terms: o.terms(&m), Member: &m, Brief: o.brief(&m), Work: a.Work, Told: a.Told, Lost: a.lost(), Midway: a.Midway, Dropped: a.Dropped, Answers: a.answers, LastTold: last, Posed: a.posed, Beside: o.beside(), Zones: o.Settings.Zones, Checks: o.Settings.Verify,
	}
}

// Fence is the fence around the agents: as the organization's configuration has it, and at
// least what the person's own settings want.
func (o *Org) Fence() dag.Fence { return o.fenceOf("") }

// fenceOf is the fence around an agent of a kind.
func (o *Org) fenceOf(kind string) dag.Fence {
	f := o.Settings.Fence
	own, err := settings.Read()
	if err != nil {
		own.Fence = dag.FenceRequire // it cannot be told: nothing starts
	}
	f.Mode = f.Strictest(own.Fence, kind)
	return f
}

// fenced reports whether an agent works in a fence.
func (o *Org) fenced(a *Agent) bool {
	spec := o.Spec(a, a.Life.N)
	return spec.Def.Fence.On() && attempt.NoFence(spec) == nil
}

// terms are those of a standing agent. A supervisor, and a sentry that acts for one,
// changes no files; its journal says what a compaction replaced.
func (o *Org) terms(m *run.Member) owner.Terms {
	r := rights.Holder{Stays: true, Leads: m.Role == Supervisor || m.Role == ProjectSupervisor, Sentry: m.Role == Sentry, TeamLead: m.TeamLead, InRoom: m.Role == RoomMember}
	leads := r.Leads || r.Sentry
	// What it is told to read: the organization's memory, the journal with what messages bring, who it is and its role.
	if m.Role == RoomMember {
		return owner.Terms{
			Stays: true, Replies: true, Automatic: m.Automatic, Group: "workers", Rights: r, Asks: m.Supervisor,
			Documents: slices.DeleteFunc([]string{filepath.Join(o.Root(), "MEMORY.md"), m.Context, m.RoleFile, seat.Files(o.Root(), m.Name) + "/"}, func(file string) bool { return file == "" }),
		}
	}
	files := []string{filepath.Join(o.Root(), "MEMORY.md"), filepath.Join(o.Root(), signals.Folder, journal.Folder) + "/", m.Context, m.RoleFile}
	return owner.Terms{
		Stays: true, Keeps: !leads, Journals: leads, Automatic: m.Automatic, Sits: m.NeedsSeat(), Group: "workers", Rights: r,
		Asks: orElse(m.Supervisor, mailbox.Supervisor), Documents: slices.DeleteFunc(files, func(file string) bool { return file == "" }),
	}
}

// lastEvents is as much of an agent's events as is searched for what it was told.
const lastEvents = 4 << 20

// lastTold is what an agent was told last since it came to rest.
func (o *Org) lastTold(name string) string {
	path, from := o.Run.Events(name), int64(0)
	if info, err := os.Stat(path); err == nil {
		from = max(0, info.Size()-lastEvents)
	}
	var t prompt.Told
	// What cannot be read is not repeated.
	_, _ = event.Replay(path, from, func(e event.Event, _ int64) error {
		t.Take(e)
		return nil
	})
	return t.Text
}

// maxRole bounds what a role may say.
const maxRole = 1 << 20

// def is the agent as the definition of a node, by which its program is started.
// Its task is its role; programs that read a prompt are told where it stands.
func (o *Org) def(m *run.Member) *dag.Node {
	role := ""
	if b, err := signals.ReadFile(m.RoleFile, maxRole); m.RoleFile != "" && err == nil { // else who starts it finds no role there
		role = persona.Parse(string(b)).Text
	}
	what := dag.RoleBuild
	if m.Role == RoomMember {
		what = dag.RoleReview // it reads
	}
	return &dag.Node{
		Name: m.Name, Task: role, Agent: m.Kind, Role: what, Branch: m.Branch, Model: m.Model, AutoAccept: o.Settings.Permissions == PermitAll,
		Account: m.Account, Fence: o.fenceOf(m.Kind), OnLost: dag.Redo, OnLimit: dag.Wake, VerifyAttempts: 3, VerifyTimeout: dag.Duration(10 * time.Minute),
		Env: map[string]string{
			"CMUX_AGENT": "true", "CMUX_AGENT_ID": m.ID, "CMUX_AGENT_NAME": m.Name, "CMUX_SESSION": o.Run.Plan.Session,
			"CMUX_HOME": o.Root(), "CMUX_SUPERVISOR": m.Supervisor, "CMUX_PROJECT_ID": m.Project,
			"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
		},
	}
}
