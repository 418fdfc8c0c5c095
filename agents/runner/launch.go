package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
	"time"

	"cmux/agents/attempt"
	"cmux/agents/run"
	"cmux/agents/wrapper"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// placement is an attempt that has a slot and is on its way to be launched.
type placement struct {
	node, attempt int
	place         run.Place
	conflict      error // it has no place: why
	tips          []worktree.Tip
	deps          []run.Dependency
	branches      []run.Dependency // role merge
	fresh         bool
	trial         bool       // it finds out whether the limit of its account is over
	earlier       *run.Place // of the attempt that this one goes on from; nil: none
}

// lent is a placement that came back from git.
type lent struct{ *placement }

// ended is an attempt of a child that came to its end.
type ended struct {
	node, attempt int
	end           run.End
	err           error
}

// goneNode is a node whose wrapper can no longer be spoken to.
type goneNode struct{ node, attempt int }

// started is the record of an attempt that is about to be started.
func (r *Runner) started(p *placement) run.Record {
	return run.Record{Type: run.Started, Node: r.g.Nodes[p.node].Name, Attempt: p.attempt, Place: &p.place, Trial: p.trial}
}

// begun starts attempts that are recorded as started.
func (r *Runner) begun(ctx context.Context, ps []*placement) error {
	if len(ps) == 0 {
		return nil
	}
	unsafe := r.proveBin(ctx)
	var stillborn []run.Record
	for _, p := range ps {
		err := errors.Join(p.conflict, unsafe)
		if err == nil {
			err = r.start(ctx, p)
		}
		if err == nil || errors.Is(err, context.Canceled) {
			continue // this runner leaves: the next one finds an attempt that never began
		}
		end := run.End{Outcome: dag.Failed, Reason: dag.ReasonSetup, Exit: 1, Detail: err.Error()}
		var conflict *worktree.ConflictError
		if errors.As(err, &conflict) {
			end.Reason = dag.ReasonConflict
		}
		spec := &r.g.Nodes[p.node]
		end.Retry = spec.WillRetry(end.Outcome, end.Reason, r.hist.Nodes[p.node].Fact.Tries)
		stillborn = append(stillborn, run.Record{Type: run.AttemptEnd, Node: spec.Name, Attempt: p.attempt, End: &end})
	}
	if len(stillborn) > 0 {
		return r.commit(ctx, stillborn...)
	}
	return nil
}

// inProcess reports whether attempts of a node are carried by this process
// itself rather than by a wrapper of their own.
func (r *Runner) inProcess(n *dag.Node) bool {
	return r.Server == nil && !r.Kinds[n.Agent].Judge
}

// start starts one recorded attempt.
func (r *Runner) start(ctx context.Context, p *placement) error {
	spec := &r.g.Nodes[p.node]
	f := &r.hist.Nodes[p.node].Fact
	s := &run.Spec{
		Node: spec.Name, Def: spec, Attempt: p.attempt, Token: run.NewToken(), Place: p.place,
		Tries: f.Tries, Losses: f.Losses, Headless: r.Server == nil, Trial: p.trial,
		Dependencies: p.deps, Branches: p.branches, Used: r.hist.Nodes[p.node].Used,
	}
	if !p.fresh {
		s.Conversation = r.hist.Nodes[p.node].Resumable(p.attempt)
		s.Counted = r.hist.Nodes[p.node].UsedIn(s.Conversation)
		s.Left = r.hist.Nodes[p.node].Left
	}
	if r.inProcess(spec) {
		return r.startChild(ctx, p, s)
	}
	if err := r.book.Patiently(ctx, func() error { return r.Run.WriteSpec(s) }); err != nil {
		return err
	}
	r.launched[p.node] = launched{p.attempt, time.Now()}
	argv := []string{r.Run.Binary(), "agents", "exec", "--run", r.Run.Dir, "--attempt", fmt.Sprint(p.attempt), "--", spec.Name}
	if r.panes != nil {
		r.panes.open(p.node, p.attempt, spec.Name, p.place.Dir, argv)
		return nil
	}
	return r.startWrapper(ctx, p, argv)
}

// child is an attempt that this process carries itself.
type child struct {
	inbox chan attempt.Message
	ctx   context.Context // of the attempt; over when it has ended
}

// startChild carries the attempt in a goroutine.
func (r *Runner) startChild(ctx context.Context, p *placement, s *run.Spec) error {
	spec := &r.g.Nodes[p.node]
	if err := r.book.Patiently(ctx, func() error {
		err := signals.Mkdir(r.Run.NodeDir(spec.Name), 0o700)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return signals.Explain(err)
	}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &child{inbox: make(chan attempt.Message, 16), ctx: ctx}
	// It hears of a signal to this process at once: its program may have got the
	// same, and how that ends is then no verdict.
	unhear := context.AfterFunc(r.told, func() { cancel(attempt.ErrInterrupted) })
	r.live[p.node] = &attached{attempt: p.attempt, child: c}
	job := attempt.Job{
		Run: r.Run, Spec: s, Env: r.env, Kinds: r.Kinds, Spawner: r.spawner, Repo: r.repo,
		Record: func(rec run.Record) error {
			rec.Node, rec.Attempt = spec.Name, p.attempt
			return r.book.Append(context.WithoutCancel(ctx), rec)
		},
		Inbox: c.inbox, Live: r.liveFor(spec.Name),
	}
	r.tasks.Go(func() {
		end, err := attempt.Run(ctx, job)
		unhear()
		cancel(nil)
		r.ended <- ended{p.node, p.attempt, end, err}
	})
	return nil
}

// startWrapper starts a wrapper without a pane, for kinds that need one in a
// headless run. It outlives this process.
func (r *Runner) startWrapper(ctx context.Context, p *placement, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = p.place.Dir
	cmd.Env = r.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	from := r.eventsEnd(r.g.Nodes[p.node].Name)
	if err := r.spawner.StartDetached(cmd); err != nil {
		return err
	}
	gone := make(chan struct{})
	r.showEvents(ctx, p.node, p.attempt, from, gone)
	r.tasks.Go(func() {
		go func() {
			defer close(gone)
			cmd.Wait() // what it left is in the records, not in its exit code
		}()
		select {
		case <-gone:
			select {
			case r.gone <- goneNode{p.node, p.attempt}:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	})
	return nil
}

// ends records how children ended: all that ended by now share one sync.
func (r *Runner) ends(ctx context.Context, first ended) error {
	if r.told.Err() != nil {
		// Recorded before what it interrupted: that is no loss.
		if err := r.interrupted(ctx); err != nil {
			return err
		}
	}
	batch := []ended{first}
	for more := true; more; {
		select {
		case e := <-r.ended:
			batch = append(batch, e)
		default:
			more = false
		}
	}
	var (
		finals, recs []run.Record
		errs         []error
	)
	for _, e := range batch {
		name := r.g.Nodes[e.node].Name
		rec := run.Record{Type: run.AttemptEnd, Node: name, Attempt: e.attempt, End: &e.end}
		switch {
		case e.err == nil:
			if r.hist.Nodes[e.node].Fact.StillOpen {
				e.end.Retry = true // a person has decided: it gets no marker
			}
			finals = append(finals, rec)
		case errors.Is(e.err, attempt.ErrInterrupted):
			rec = run.Record{Type: run.Vanished, Node: name, Attempt: e.attempt, How: run.HowInterrupted, Detail: e.err.Error()}
			if errors.Is(e.err, attempt.ErrStopped) {
				rec.How = run.HowStopped
			}
			recs = append(recs, rec)
		default:
			r.Log.Error("an attempt could not be carried out", "node", name, "err", e.err)
			recs = append(recs, run.Record{Type: run.Vanished, Node: name, Attempt: e.attempt, How: run.HowLost, Detail: e.err.Error()})
		}
	}
	if len(finals) > 0 {
		errs = append(errs, r.commit(ctx, finals...))
	}
	if len(recs) > 0 {
		errs = append(errs, r.learn(ctx, recs...))
	}
	return errors.Join(errs...)
}

// drain receives what children still have to say until all tasks have ended,
// and records it.
func (r *Runner) drain() {
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.tasks.Wait()
	}()
	for {
		select {
		case e := <-r.ended:
			if err := r.ends(context.Background(), e); err != nil {
				r.Log.Error("an end could not be recorded", "err", err)
			}
		case <-over:
			if err := r.flush(context.Background()); err != nil {
				r.Log.Error("markers that are in place could not be recorded", "err", err)
			}
			return
		}
	}
}

// launched is when an attempt's process was started.
type launched struct {
	attempt int
	at      time.Time
}

// launchGrace is how long a process that was started may take to hold its lock.
const launchGrace = 10 * time.Second

// probe finds out whether node i's attempt still has its process, by its lock,
// and records it as vanished when it has not. Gone says that the process is
// known to have ended, or that nobody here started it: without a lock there is
// nothing to wait for.
func (r *Runner) probe(ctx context.Context, i int, gone bool) error {
	a := r.hist.Nodes[i].Attempt()
	if a == nil || a.Over() {
		return nil
	}
	name := r.g.Nodes[i].Name
	lost := run.Record{Type: run.Vanished, Node: name, Attempt: a.N, How: run.HowLost}
	if a.Place.Child != "" {
		if a.Place.Child == r.instance {
			return nil // its goroutine will tell
		}
		lost.Detail = "its runner was killed"
		return r.learn(ctx, lost)
	}
	if l := r.launched[i]; a.Began.IsZero() && l.attempt == a.N {
		if r.panes != nil && r.panes.opening(i, a.N) {
			r.launched[i] = launched{a.N, time.Now()}
			return nil
		}
		if !gone && r.leaving == "" && time.Since(l.at) < launchGrace {
			return nil
		}
	}
	if err := signals.MkdirAll(r.Run.NodeDir(name), 0o700); err != nil {
		return err
	}
	lock, err := signals.TryLock(r.Run.NodeLock(name))
	var held *signals.HeldError
	if errors.As(err, &held) {
		r.attach(ctx, i)
		return nil
	}
	if errors.Is(err, signals.ErrDiskFull) {
		return nil // the next look may find space to name the holder
	}
	if err != nil {
		return err
	}
	// The lock is ours, so nobody carries the attempt; without its spec nobody
	// will. Its end may have been recorded in the meantime.
	defer lock.Unlock()
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if a = r.hist.Nodes[i].Attempt(); a.Over() {
		return nil
	}
	if err := r.Run.DropSpec(name, a.N); err != nil {
		return err
	}
	lost.Detail = "its wrapper was killed"
	if a.Began.IsZero() {
		lost.Detail = "its wrapper never came"
	}
	return r.learn(ctx, lost)
}

// attached is what this runner holds of a live attempt.
type attached struct {
	attempt int
	child   *child          // in this process
	client  *wrapper.Client // in another
}

// stands reports whether there is a connection to a wrapper and it has not ended.
func (a *attached) stands() bool {
	if a == nil || a.client == nil {
		return false
	}
	select {
	case <-a.client.Gone():
		return false
	default:
		return true
	}
}

func (a *attached) close() {
	if a.client != nil {
		a.client.Close()
	}
}

// attach connects to the wrapper of node i, to learn of its death at once.
func (r *Runner) attach(ctx context.Context, i int) {
	a := r.hist.Nodes[i].Attempt()
	if a == nil || a.Place.Child != "" {
		return
	}
	if have := r.live[i]; have != nil && have.attempt == a.N {
		return
	}
	client, err := wrapper.Dial(ctx, r.Run, r.g.Nodes[i].Name, a.N)
	if err != nil {
		r.Log.Debug("wrapper cannot be reached yet", "node", r.g.Nodes[i].Name, "err", err)
		return // the re-scan tries again
	}
	r.live[i] = &attached{attempt: a.N, client: client}
	r.news = true
	// What it may have missed, of this runner or of one that was killed.
	switch f := &r.hist.Nodes[i].Fact; {
	case r.parting != "":
		r.speak(ctx, i, attempt.Message{Op: r.parting})
	case f.StillOpen:
		r.speak(ctx, i, attempt.Message{Op: attempt.OpOverridden})
	case f.Phase == dag.Running && r.Kinds[r.g.Nodes[i].Agent].Judge:
		r.speak(ctx, i, attempt.Message{Op: attempt.OpGranted, Trial: r.hist.State.Fact(i).Trial})
	}
	r.endOverBudget(ctx, i)
	n := a.N
	r.showEvents(ctx, i, n, r.eventsEnd(r.g.Nodes[i].Name), client.Gone())
	r.tasks.Go(func() {
		select {
		case <-client.Gone():
			select {
			case r.gone <- goneNode{i, n}:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
	})
}

// speak says something to node i's attempt, if there is one to hear it.
func (r *Runner) speak(ctx context.Context, i int, m attempt.Message) {
	a := r.live[i]
	if a == nil {
		return
	}
	name := r.g.Nodes[i].Name
	r.tasks.Go(func() {
		if err := a.say(ctx, m); err != nil && ctx.Err() == nil {
			r.Log.Warn("an agent was not reached", "node", name, "op", m.Op, "err", err)
		}
	})
}

// say says something to an attempt and returns what it answers.
func (a *attached) say(ctx context.Context, m attempt.Message) error {
	if a.child == nil {
		_, err := a.client.Send(ctx, m)
		return err
	}
	answer := make(chan attempt.Reply, 1)
	select {
	case a.child.inbox <- m.WithReply(func(r attempt.Reply) error { answer <- r; return nil }):
	case <-a.child.ctx.Done():
		return attempt.ErrInterrupted
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case r := <-answer:
		if r.Error != "" {
			return errors.New(r.Error)
		}
		return nil
	case <-a.child.ctx.Done(): // it ended before it came to this
		return nil
	}
}
