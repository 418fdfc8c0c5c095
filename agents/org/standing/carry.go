package standing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/records/audit"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
)

// done is what a request has come to; the zero value says that it waits.
type done struct {
	over    bool
	refused error
	made    any
}

func refuse(format string, args ...any) done {
	return done{over: true, refused: fmt.Errorf(format, args...)}
}

// requests carries out the pending requests. It records every step before it makes
// the step, and each step can be repeated. So if this keeper is killed, the next
// keeper continues the request.
func (k *Keeper) requests(ctx context.Context) error {
	k.halting = nil
	known := func(id string) bool { _, is := k.org.Answers[id]; return is }
	answer := func(q run.Request) (waits bool, err error) {
		d, err := k.carryOut(ctx, q)
		if err != nil {
			k.Log.Error("a request could not be carried out; trying again", "op", q.Op, "agent", q.Node, "err", err)
			k.at(k.Now().Add(time.Second))
		}
		if err != nil || !d.over {
			return true, nil
		}
		return false, k.answer(ctx, q, d)
	}
	odd := func(not, aside error) error {
		k.Log.Warn("what is no request is put aside", "err", errors.Join(not, aside))
		return nil
	}
	return run.Desk{Known: known, Answer: answer, Odd: odd}.Serve(k.org.Run)
}

// answer records what a request has come to.
func (k *Keeper) answer(ctx context.Context, q run.Request, d done) error {
	rec := run.Record{Type: run.Requested, Request: q.ID, Node: q.Node, How: string(q.Op)}
	if d.refused != nil {
		rec.Detail = d.refused.Error()
	} else if d.made != nil {
		b, err := json.Marshal(d.made)
		if err != nil {
			return err
		}
		rec.Value = string(b)
	}
	k.Log.Info("request", "op", q.Op, "agent", q.Node, "refused", rec.Detail)
	if err := k.org.Record(ctx, rec); err != nil {
		return err
	}
	k.audit(ctx, q, rec.Detail)
	return k.org.lookAtOwn()
}

func (k *Keeper) carryOut(ctx context.Context, q run.Request) (done, error) {
	ask, err := asked(q)
	if err != nil {
		return refuse("%w", err), nil
	}
	if q.Op == run.OpStop && q.Node == "" {
		return done{}, k.stopAll(ctx, q)
	}
	if q.Op == OpSpawn {
		return k.spawn(ctx, q, ask)
	}
	if q.Op == OpRun {
		return k.orderRun(ctx, q, ask)
	}
	if q.Op == OpRoom {
		return (&rooms{Keeper: k}).order(ctx, ask)
	}
	if q.Op == OpAlert {
		return k.alert(ctx, q, ask)
	}
	a := k.org.Agents[q.Node]
	if q.Op == OpKill && a == nil {
		return k.removed(q)
	}
	if a == nil {
		return refuse("%w", &UnknownError{q.Node, k.org.Names()}), nil
	}
	switch q.Op {
	case OpKill:
		return k.kill(ctx, q, ask, a)
	case OpReset:
		return k.reset(ctx, q, a)
	case OpDemote:
		return k.demote(ctx, a)
	case OpRelaunch:
		return k.relaunch(ctx, q, a)
	case OpCompact:
		return k.compact(ctx, q, a)
	case OpWake:
		if err := k.org.RecordOf(ctx, a.Name, run.Record{Type: run.Resumed}); err != nil {
			return done{}, err
		}
		if l := k.lives.Of(a.Name); l != nil { // its wrapper lives, and may wait for a person after its program ended
			if _, err := l.Tell(ctx, attempt.Message{Op: attempt.OpRetry}); err != nil {
				k.Log.Debug("an agent that is woken runs", "agent", a.Name, "err", err)
			}
		}
		return done{over: true}, k.org.lookAt(a)
	}
	return refuse("this version of cmux does not know the request %q", q.Op), nil
}

// stopAll has every agent stopped; halt answers when all are.
func (k *Keeper) stopAll(ctx context.Context, q run.Request) error {
	k.halting = &q
	if k.org.Stopped {
		return nil
	}
	if err := k.org.Record(ctx, run.Record{Type: run.Stopped}); err != nil {
		return err
	}
	return k.org.lookAtOwn()
}

// halt ends the keeper once a stop was asked for and no agent lives.
func (k *Keeper) halt(ctx context.Context) error {
	if k.halting == nil {
		return nil
	}
	for _, a := range k.org.Agents {
		if a.Life.On() {
			return nil
		}
	}
	if err := k.answer(ctx, *k.halting, done{over: true}); err != nil {
		return err
	}
	k.over = true
	return k.org.Run.Answered(*k.halting)
}

// spawn makes an agent: its worktree, its context, and then the record by which
// it is there.
func (k *Keeper) spawn(ctx context.Context, q run.Request, ask Ask) (done, error) {
	s := ask.Spawn
	if s == nil {
		return refuse("a spawn without an agent"), nil
	}
	if a := k.org.Agents[s.Name]; a != nil && a.Request == q.ID {
		return done{over: true, made: madeOf(&a.Member)}, nil // its maker was killed before it could say so
	}
	if err := k.org.CheckNew(s.Name, s.Role); err != nil {
		return refuse("%w", err), nil
	}
	if most := k.org.Settings.MaxStanding; most > 0 && k.org.standing() >= most {
		return refuse("there are %d agents, as many as max_standing in .cmux/config.yml allows", k.org.standing()), nil
	}
	m, err := k.org.Member(s, k.Kinds, k.Now())
	if err == nil && s.CloneOf != "" {
		err = k.org.clone(&m, s.CloneOf)
	}
	if err != nil {
		return refuse("%w", err), nil
	}
	if m.Tree != "" {
		m.Tree = k.treeFor(&m)
		m.Dir = m.Tree
		if err := k.Trees.Lend(ctx, m.Tree, m.Branch, k.org.start(&m), k.org.owner(s.Name)); err != nil {
			return refuse("its worktree could not be made: %w", err), nil
		}
	}
	if err := k.org.WriteContext(&m); err != nil {
		return refuse("its context could not be written: %w", err), nil
	}
	if err := k.org.Join(ctx, m, q.ID); err != nil {
		return done{}, err
	}
	return done{over: true, made: madeOf(&m)}, k.org.Look()
}

// treeFor returns the path of m's worktree. If a worktree of another repository is there,
// as of a project with the same session name, the path contains this project's name.
func (k *Keeper) treeFor(m *run.Member) string {
	used := func(path string) bool {
		for _, a := range k.org.Agents {
			if a.Member.Tree == path {
				return true
			}
		}
		return k.Trees.Foreign(path)
	}
	for _, name := range run.MachineNames(k.org.Run.Plan.Session, k.org.Root()) {
		if path := k.org.besides(name) + m.Name; !used(path) {
			return path
		}
	}
	return m.Tree // Lend says what is there
}

func madeOf(m *run.Member) Made { return Made{m.Name, m.ID, m.Dir, m.Branch} }

// Member is the agent that a Spawn asks for, of one of kinds.
func (o *Org) Member(s *Spawn, kinds agent.Kinds, now time.Time) (run.Member, error) {
	set := o.Settings
	m := run.Member{
		ID: NewID(o.Taken), Name: s.Name, Display: s.Display, Role: s.Role, Kind: s.Kind, Model: s.Model, Project: s.Project,
		Supervisor: s.Supervisor, Permanent: s.Permanent, RoleFile: s.RoleFile, Once: s.Once, Team: s.Team, TeamLead: s.TeamLead,
		AutoAccept: set.Permissions == PermitAll, CreatedAt: now, Dir: s.Dir, Context: o.contextPath(s.Name),
	}
	if m.Kind == "" {
		m.Kind, m.Model = set.Agent, orElse(m.Model, set.Model)
	}
	kind, ok := kinds[m.Kind]
	if !ok || !kind.Judge {
		return m, fmt.Errorf("there is no kind of agent %q", m.Kind)
	}
	env, err := o.Run.Env()
	if err != nil {
		return m, err
	}
	m.Account = kind.Account(s.Account, nil, env)
	m.Supervisor = orElse(m.Supervisor, Supervisor)
	m.Session = s.Session
	if lead := o.Agents[m.Supervisor]; m.Session == "" && lead != nil && m.Role != ProjectSupervisor {
		m.Session = lead.Member.Session
	}
	if m.Role == Supervisor || m.Supervisor == m.Name {
		m.Supervisor = "user"
	}
	if m.Dir == "" {
		m.Dir = o.beside() + m.Name
		m.Tree, m.Branch = m.Dir, orElse(s.Branch, o.Run.Plan.Session+"/"+m.Name)
	}
	return m, nil
}

// beside is what the paths of all agents' worktrees begin with.
func (o *Org) beside() string { return o.besides(o.Run.Plan.Session) }

// besides returns what the paths of worktrees under a machine name begin with.
func (o *Org) besides(name string) string {
	base := orElse(o.Settings.WorktreeBase, "..")
	if !filepath.IsAbs(base) {
		base = filepath.Join(o.Root(), base)
	}
	return filepath.Join(base, name+"-")
}

func orElse(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// reset makes the agent begin a new conversation. It ends the agent's life and keeps
// what the window showed. The next life gets the whole brief and the unfinished work.
func (k *Keeper) reset(ctx context.Context, q run.Request, a *Agent) (done, error) {
	if a.Leaving != "" {
		return refuse("%s is being removed", a.Name), nil
	}
	if a.Resetting == "" {
		rec := run.Record{Type: run.Noted, Key: keyResetting, Request: q.ID}
		if err := k.org.RecordOf(ctx, a.Name, rec); err != nil {
			return done{}, err
		}
		if err := k.org.lookAt(a); err != nil {
			return done{}, err
		}
	}
	if a.Life.On() {
		return done{}, nil // attend asks it to end
	}
	if _, err := k.keepScreen(ctx, a, k.org.archive(a, k.Now())); err != nil {
		k.Log.Warn("the last screen of an agent is not kept", "agent", a.Name, "err", err)
	}
	if err := k.org.WriteContext(&a.Member); err != nil {
		return done{}, err
	}
	if account := k.org.Accounts(k.Kinds)[a.Name]; account != "" {
		m := a.Member
		m.Account = account
		if err := k.org.Join(ctx, m, ""); err != nil {
			return done{}, err
		}
	}
	if err := k.org.RecordOf(ctx, a.Name, run.Record{Type: run.Reset, Fresh: true}); err != nil {
		return done{}, err
	}
	return done{over: true}, k.org.lookAt(a)
}

// kill removes an agent: its life ends, its worktree is saved and removed, and
// its folder moves to the archives, which is the moment at which it is gone.
func (k *Keeper) kill(ctx context.Context, q run.Request, ask Ask, a *Agent) (done, error) {
	if a.Member.Role == Supervisor {
		return refuse("the supervisor stays as long as the organization does"), nil
	}
	if a.Protected() && !ask.Force {
		return refuse("%s is a %s, which is not removed by the way", a.Name, strings.ReplaceAll(a.Member.Role, "-", " ")), nil
	}
	if a.Leaving == "" {
		rec := run.Record{Type: run.Noted, Key: keyLeaving, Request: q.ID, Detail: "by " + orElse(ask.By, "a person")}
		if err := k.org.RecordOf(ctx, a.Name, rec); err != nil {
			return done{}, err
		}
		if err := k.org.lookAt(a); err != nil {
			return done{}, err
		}
	}
	if id := (proc.Identity{PID: a.Life.PID, Start: a.Life.Start}); a.Life.On() || a.Life.PID > 0 && id.Alive() {
		k.at(k.Now().Add(50 * time.Millisecond)) // its wrapper works in the worktree to its last moment
		return done{}, nil
	}
	pulse, release, err := k.host.Probe(host.Ref{Node: a.Name, N: a.Life.N + 1}, time.Time{})
	if err != nil || pulse != host.Gone {
		return done{}, err
	}
	defer release()
	gone := Gone{Name: a.Name, Branch: a.Member.Branch}
	if a.Member.Tree != "" {
		gone.Restore, err = k.Trees.Remove(ctx, a.Member.Tree, a.Name, "cmux workers kill "+a.Name)
		if errors.Is(err, worktree.ErrInUse) && k.Now().Before(a.Life.Ended.Add(k.Patience)) {
			k.at(k.Now().Add(200 * time.Millisecond)) // what it had started may be about to end
			return done{}, nil
		}
		if err != nil {
			gone.Tree, gone.Why = a.Member.Tree, err.Error()
		}
	}
	if gone.Archive, err = k.put(ctx, q, ask, a, gone); err != nil {
		return done{}, err
	}
	if err := k.Windows.Close(ctx, a.Name); err != nil {
		k.Log.Warn("a window could not be closed", "agent", a.Name, "err", err)
	}
	k.forget(a.Name)
	return done{over: true, made: gone}, k.org.Look()
}

// forget is for an agent that is gone: another one may get its name.
func (k *Keeper) forget(name string) {
	k.lives.Drop(name, 0)
	delete(k.shown, name)
	delete(k.parting, name)
	k.office.Forget(name)
	delete(k.desk.given, name)
	delete(k.desk.unfit, name)
}

// put moves what an agent leaves behind to the archives.
func (k *Keeper) put(ctx context.Context, q run.Request, ask Ask, a *Agent, gone Gone) (string, error) {
	if _, err := k.keepScreen(ctx, a, k.org.Run.NodeDir(a.Name)); err != nil {
		k.Log.Warn("the last screen of an agent is not kept", "agent", a.Name, "err", err)
	}
	if err := k.org.lookAt(a); err != nil {
		return "", err
	}
	if err := k.org.keepUsed(ctx, q.ID, a); err != nil {
		return "", err
	}
	gone.Archive = filepath.Join(k.org.folder(archives), a.Name, q.ID)
	r := Removal{gone, a.Member, orElse(ask.By, "a person"), ask.Force, k.Now()}
	if err := k.org.logRemoval(ctx, &r); err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	if err := signals.WriteFile(filepath.Join(k.org.Run.NodeDir(a.Name), removalFile), append(b, '\n'), 0o600); err != nil {
		return "", err
	}
	return gone.Archive, k.org.move(a.Name, gone.Archive)
}

// removed answers a kill of an agent that is not there: the keeper before this
// one had removed it, or there was none.
func (k *Keeper) removed(q run.Request) (done, error) {
	b, err := signals.ReadFile(filepath.Join(k.org.folder(archives), q.Node, q.ID, removalFile), signals.MaxFile)
	if err != nil {
		return refuse("%w", &UnknownError{q.Node, k.org.Names()}), nil
	}
	var r Removal
	if err := json.Unmarshal(b, &r); err != nil {
		return done{}, err
	}
	return done{over: true, made: r.Gone}, nil
}

// audit writes an order down that was carried out or refused, with who gave it. A
// log that cannot be written holds nothing up.
func (k *Keeper) audit(ctx context.Context, q run.Request, refused string) {
	by := ""
	if ask, err := asked(q); err == nil {
		by = ask.By
	}
	log := &audit.Log{Root: k.org.Root(), Now: k.Now}
	line := audit.Line{Session: k.org.Run.Plan.Session, Order: string(q.Op), About: q.Node, By: cmp.Or(by, "user"), How: "request", Refused: refused}
	if err := log.Append(ctx, line); err != nil {
		k.Log.Warn("an order is missing in the audit log", "op", q.Op, "err", err)
	}
}
