package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/platform/lease"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
)

// again is how long the job waits after what failed for a reason that may pass.
const again = time.Second

// claimWait is how long an attempt that has not begun keeps its slot.
const claimWait = 2 * time.Minute

// carry carries the job out up to its End entry. It begins at the step at which an earlier
// worker was killed.
func (j *job) carry(ctx context.Context) {
	err := j.steps(ctx)
	for told := false; passes(err) && pause(ctx, again); err = j.steps(ctx) {
		if !told {
			told = true
			j.w.o.Log.Error("an attempt waits for space or files", "attempt", j.ref.String(), "err", err)
		}
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, errUnwanted) {
		return
	}
	why := err.Error()
	if _, e := j.halt(ctx); e != nil { // home redoes the attempt
		return
	}
	j.forget(ctx)
	for {
		err := j.keep(err)
		if err == nil {
			err = j.end(ctx, far.Entry{Error: why})
		}
		if err == nil || errors.Is(err, errUnwanted) || !pause(ctx, again) {
			return
		}
		j.w.o.Log.Error("the end of an attempt cannot be recorded", "attempt", j.ref.String(), "err", err)
	}
}

// passes reports whether what err says passes by itself.
func passes(err error) bool { return run.NoSpace(err) || run.NoFiles(err) }

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// early is the cause of the end of an attempt before it began: an order to end it.
type early struct{ order far.Entry }

func (e *early) Error() string { return "the attempt was ended before it began" }

// steps returns an error if the attempt has no end of its own.
func (j *job) steps(ctx context.Context) error {
	before, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { j.heed(before, cancel) })
	r, repo, begun, err := j.prepare(before)
	cause := context.Cause(before)
	cancel(nil)
	watch.Wait()
	var e *early
	if err != nil && errors.As(cause, &e) {
		if begun, err = j.ran(ctx); err == nil && !begun {
			return j.endEarly(ctx, &e.order)
		}
		if err == nil { // an earlier worker began it: the order is passed on
			r, repo, begun, err = j.prepare(ctx)
		}
	}
	if err != nil {
		return err
	}
	lock, err := r.AwaitLock(ctx) // a runner has the run: agents wait for what home says
	if err != nil {
		return err
	}
	defer lock.Unlock()
	slots := j.slotsOf(r)
	defer slots.Close()
	spec, err := r.ReadSpec(j.ref.Node, j.ref.N)
	var started <-chan struct{}
	switch {
	case err == nil && !begun:
		slots.Hold(spec.Place.Slot)
		if started, err = j.start(r, spec); err != nil {
			return err
		}
	case err == nil:
		slots.Hold(spec.Place.Slot)
	case !errors.Is(err, run.ErrWithdrawn): // else it is over
		return err
	}
	return j.work(ctx, r, repo, started)
}

// heed ends the preparation when home orders the end of the attempt.
func (j *job) heed(ctx context.Context, cancel context.CancelCauseFunc) {
	var at int64
	for {
		news := j.in.news.wait()
		next, err := j.in.each(at, func(e *far.Entry, _ int64) error {
			if e.Kind == far.Order && e.Message != nil && stops(e.Message.Op) && !j.out.hasReply(e.ID) {
				return &early{*e}
			}
			return nil
		})
		var stop *early
		if errors.As(err, &stop) {
			cancel(stop)
			return
		}
		at = next
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

// ran reports whether the attempt has begun. If not, nothing of it runs and nothing will.
func (j *job) ran(ctx context.Context) (bool, error) {
	r, err := run.Open(j.root(), j.ref.Run)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f, err := j.facts(r)
	if err != nil || f.began || f.end != nil {
		return err == nil, err
	}
	if _, err := j.halt(ctx); err != nil { // a wrapper may be about to begin
		return false, err
	}
	f, err = j.facts(r)
	return f.began && f.end != nil, err
}

// endEarly ends an attempt that has no program.
func (j *job) endEarly(ctx context.Context, order *far.Entry) error {
	rec := run.Record{Type: run.Vanished, At: time.Now(), Node: j.ref.Node, Attempt: j.ref.N, How: run.HowInterrupted}
	switch order.Message.Op {
	case attempt.OpCancel:
		rec.Type, rec.How, rec.End = run.AttemptEnd, "", &run.End{Outcome: dag.Cancelled}
	case attempt.OpStop:
		rec.How = run.HowStopped
	}
	if err := j.out.number(ctx, far.Entry{ID: order.ID, Kind: far.Reply, Reply: &attempt.Reply{}}); err != nil {
		return err
	}
	j.forget(ctx)
	return j.end(ctx, far.Entry{Record: &rec})
}

// prepare makes all that the attempt needs, and returns when its program may run. begun
// reports whether it does, or did.
func (j *job) prepare(ctx context.Context) (r *run.Run, repo *worktree.Repo, begun bool, err error) {
	if err := j.claim(ctx); err != nil {
		return nil, nil, false, err
	}
	// Home may be away for long: meanwhile others can have the slot.
	idle := time.AfterFunc(claimWait, func() { j.w.free(j) })
	defer func() {
		if !idle.Stop() {
			j.w.resume(j)
		}
	}()
	r, err = run.Open(j.root(), j.ref.Run)
	var f facts
	if err == nil {
		f, err = j.facts(r)
	}
	switch {
	case err == nil && f.started:
		if repo, err = worktree.Open(ctx, j.root()); err != nil {
			return nil, nil, false, err
		}
	case err == nil || errors.Is(err, os.ErrNotExist):
		if r, repo, err = j.settle(ctx); err != nil {
			return nil, nil, false, err
		}
	default:
		return nil, nil, false, err
	}
	for !f.began && f.end == nil {
		turn := j.turn.wait()
		j.mu.Lock()
		may := j.lease.Begun() && !j.lease.Over(now())
		j.mu.Unlock()
		if may {
			break
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, nil, false, ctx.Err()
		}
	}
	return r, repo, f.began || f.end != nil, nil
}

// claim waits for a slot and says so to home, with what the mirror has.
func (j *job) claim(ctx context.Context) error {
	if err := j.w.slot(ctx, j); err != nil {
		return err
	}
	if j.out.claimed() {
		return nil
	}
	m, release := j.w.mirrorOf(j.ref.Project)
	defer release()
	if err := m.make(ctx); err != nil {
		return err
	}
	has, err := m.has(ctx)
	if err == nil && len(has) == 0 && j.asked.Job.Remote != "" {
		// Else home would have to send all of it. What fails now is told if it matters.
		if e := m.fetch(ctx, j.asked.Job.Remote); e == nil {
			has, err = m.has(ctx)
		}
	}
	if err != nil {
		return err
	}
	o := &j.w.o.Machine
	return j.out.number(ctx, far.Entry{Kind: far.Claimed, Claim: &far.Claim{Machine: o.Name, Cmux: o.Cmux, Has: has, SSH: o.SSH}})
}

// bundle waits for the code that home sends.
func (j *job) bundle(ctx context.Context) ([]byte, error) {
	var (
		whole far.Whole
		at    int64
		got   []byte
		all   = errors.New("all is there")
	)
	for {
		news := j.in.news.wait()
		next, err := j.in.each(at, func(e *far.Entry, _ int64) error {
			if e.Kind != far.Code {
				return nil
			}
			data, done, err := whole.Add(e)
			if err == nil && done {
				got, err = data, all
			}
			return err
		})
		if errors.Is(err, all) {
			return got, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the code from home: %w", err)
		}
		at = next
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// settle makes the repository, the shadow run and the worktree. It may be repeated.
func (j *job) settle(ctx context.Context) (*run.Run, *worktree.Repo, error) {
	code, err := j.bundle(ctx)
	if err != nil {
		return nil, nil, err
	}
	for j.w.before(j.ref) { // in the same folder
		if !pause(ctx, probeTick) {
			return nil, nil, ctx.Err()
		}
	}
	repo, err := j.repository(ctx, code)
	if err != nil {
		return nil, nil, err
	}
	r, spec, links, err := j.shadow(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := j.mark(r); err != nil {
		return nil, nil, err
	}
	for _, f := range j.asked.Job.Files {
		path := filepath.Join(j.root(), filepath.FromSlash(f.Path))
		if err := signals.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, nil, err
		}
		if err := signals.WriteFile(path, f.Data, os.FileMode(f.Mode)&0o777|0o400); err != nil {
			return nil, nil, err
		}
	}
	if err := j.lend(ctx, repo, spec, r.Plan.Session); err != nil {
		return nil, nil, err
	}
	slots := j.slotsOf(r)
	defer slots.Close()
	spec.Place.Slot, spec.Place.PortBase = slots.Take()
	if err := r.WriteSpec(spec); err != nil {
		return nil, nil, err
	}
	book, err := r.OpenBook()
	if err != nil {
		return nil, nil, err
	}
	defer book.Close()
	var recs []run.Record
	for _, l := range j.asked.Job.Limits {
		recs = append(recs, limit(l))
	}
	recs = append(recs, run.Record{Type: run.Started, Node: spec.Node, Attempt: spec.Attempt, Place: &spec.Place, Trial: spec.Trial})
	if len(links) > 0 {
		recs = append(recs, run.Record{Type: run.Noted, Node: spec.Node, Attempt: spec.Attempt,
			Detail: fmt.Sprintf("%s has no %s: link: is for files of home", j.w.o.Machine.Name, strings.Join(links, ", "))})
	}
	return r, repo, book.Durable(ctx, recs...)
}

// origins are where the attempt begins in files of the node, which earlier attempts have
// written too.
type origins struct {
	Records int64 `json:"records"`
	Log     int64 `json:"log"`
	Events  int64 `json:"events"`
}

const originFile = "origin.json"

// mark keeps where the attempt begins. Nothing of it has been written.
func (j *job) mark(r *run.Run) error {
	var o origins
	for path, at := range map[string]*int64{r.Records(): &o.Records, r.Log(j.ref.Node): &o.Log, r.Events(j.ref.Node): &o.Events} {
		f, err := signals.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		info, err := f.Stat()
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		*at = info.Size()
	}
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return signals.WriteFile(j.path(originFile), b, 0o600)
}

// limit is a record of home about an account, as the shadow run has it.
func limit(rec run.Record) run.Record {
	rec.Node, rec.Attempt = "", 0
	return rec
}

// repository makes the clone with the code of home.
func (j *job) repository(ctx context.Context, code []byte) (*worktree.Repo, error) {
	path := j.path("code.bundle")
	if err := signals.WriteFile(path, code, 0o600); err != nil {
		return nil, err
	}
	defer signals.RemoveFile(path)
	m, release := j.w.mirrorOf(j.ref.Project)
	defer release()
	if err := m.make(ctx); err != nil {
		return nil, err
	}
	if err := m.take(ctx, path, j.ref, j.asked.Job.Remote, j.w.o.Machine.Name); err != nil {
		return nil, err
	}
	repo, err := m.clone(ctx, j.root(), j.ref, j.asked.Job.Remote)
	if err != nil {
		return nil, err
	}
	return repo, j.branches(ctx, repo)
}

// branches makes the branches in the clone whose names the agent gets.
func (j *job) branches(ctx context.Context, repo *worktree.Repo) error {
	s := &j.asked.Job.Spec
	put := func(branch, commit string) error {
		if branch == "" || commit == "" {
			return nil
		}
		if _, err := repo.Resolve(ctx, commit); errors.Is(err, git.ErrBadRef) {
			return nil // home did not send it, as the node does not need it
		}
		if _, err := repo.Tip(ctx, branch); !errors.Is(err, git.ErrBadRef) {
			return err
		}
		return repo.UpdateRef(ctx, "refs/heads/"+branch, commit, "")
	}
	if tip, err := repo.Resolve(ctx, refBranch); err == nil {
		if err := put(s.Place.Branch, tip); err != nil {
			return err
		}
	} else if !errors.Is(err, git.ErrBadRef) {
		return err
	}
	for _, d := range slices.Concat(s.Branches, s.Dependencies) {
		if d.Branch != s.Place.Branch {
			if err := put(d.Branch, d.Tip); err != nil {
				return err
			}
		}
	}
	if s.Frame != nil && s.Frame.BaseBranch != s.Place.Branch {
		return put(s.Frame.BaseBranch, j.asked.Job.Base)
	}
	return nil
}

// shadow makes the run with this node alone, and returns it with the spec of the attempt
// here, and the links that it has not.
func (j *job) shadow(ctx context.Context) (r *run.Run, spec *run.Spec, links []string, err error) {
	task := &j.asked.Job
	g, err := dag.Decode(task.Graph)
	if err != nil {
		return nil, nil, nil, err
	}
	n := &g.Nodes[0]
	links, g.Link = g.Link, nil
	n.DependsOn, n.OnComplete = nil, nil // which home does
	if err := signals.Init(j.root()); err != nil {
		return nil, nil, nil, err
	}
	r, err = run.Open(j.root(), j.ref.Run)
	if errors.Is(err, os.ErrNotExist) {
		p := run.Plan{ID: j.ref.Run, Root: j.root(), Base: task.Base, BaseRef: task.Base, Headless: true, CreatedAt: time.Now(), Graph: g}
		if task.Spec.Frame != nil {
			p.BaseBranch = task.Spec.Frame.BaseBranch
		}
		r, err = run.Create(p, nil, slices.Concat(basics(j.w.o.Env), task.Env), j.w.o.Binary)
	} else if err == nil { // of an earlier attempt
		err = j.refreeze(ctx, r, g)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	s := task.Spec
	s.Def, s.Frame, s.Headless = n, r.Frame(), true
	s.Place = run.Place{Dir: j.root(), Branch: s.Place.Branch, Commit: s.Place.Commit, Lent: s.Place.Lent}
	return r, &s, links, nil
}

// refreeze gives the shadow run of an earlier attempt the node as it is now.
func (j *job) refreeze(ctx context.Context, r *run.Run, g *dag.Graph) error {
	lock, err := r.AwaitLock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := r.Refreeze(g, nil); err != nil {
		return err
	}
	return r.WriteEnv(slices.Concat(basics(j.w.o.Env), j.asked.Job.Env))
}

// lend makes the worktree of the attempt, or takes over that of an earlier one on this
// machine. If home's branch has not come from there, the work in it is saved and the
// worktree begins with what home has.
func (j *job) lend(ctx context.Context, repo *worktree.Repo, s *run.Spec, session string) error {
	if !s.Def.HasTree() {
		return nil
	}
	if s.Place.Commit == "" {
		var err error
		if s.Place.Commit, err = repo.Resolve(ctx, refStart); err != nil {
			return err
		}
	}
	spec := worktree.LendSpec{Path: j.tree(), Branch: s.Place.Branch, Start: s.Place.Commit, Owner: session + "/" + s.Node, NoFresh: true}
	if s.Place.Branch != "" {
		want, err := repo.Resolve(ctx, refBranch)
		known := !errors.Is(err, git.ErrBadRef)
		if err != nil && known {
			return err
		}
		tip, err := repo.Tip(ctx, s.Place.Branch)
		switch {
		case errors.Is(err, git.ErrBadRef):
		case err != nil:
			return err
		case !known:
			spec.Fresh = true
		default:
			holds, err := repo.Holds(ctx, tip, want)
			if err != nil {
				return err
			}
			if !holds {
				spec.Fresh, spec.Start = true, want
			}
		}
	}
	tree, err := repo.Lend(ctx, spec)
	for late := time.Now().Add(launchGrace); errors.Is(err, worktree.ErrInUse) && time.Now().Before(late) && pause(ctx, probeTick); {
		tree, err = repo.Lend(ctx, spec) // the wrapper of the earlier attempt is about to leave
	}
	if err != nil {
		return err
	}
	s.Place.Dir, s.Place.Tree = tree.Path, tree.Path
	return nil
}

// slotsOf are the slots and ports of the shadow run, which other runs on this machine do
// not use meanwhile.
func (j *job) slotsOf(r *run.Run) *lease.Slots {
	return &lease.Slots{By: lease.Holder{Project: r.Plan.Root, Session: r.Plan.Session, Run: r.Plan.ID}, Warn: func(err error) {
		j.w.o.Log.Warn("slots and ports are not shared with other runs", "attempt", j.ref.String(), "err", err)
	}}
}

// snapshot saves what the worktree holds and is not committed, and returns the snapshot's
// id; empty: there was none.
func (j *job) snapshot(ctx context.Context, reason string) (string, error) {
	if _, err := signals.Type(j.tree()); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	repo, err := worktree.Open(ctx, j.root())
	if err != nil {
		return "", err
	}
	s, err := repo.Snapshot(ctx, j.tree(), worktree.SnapshotSpec{Name: j.ref.Node, Reason: reason})
	if err != nil || s == nil {
		return "", err
	}
	return s.ID, nil
}
