package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/attempt"
	"cmux/agents/proc"
	"cmux/agents/run"
	"cmux/agents/tmux"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// Ways in which a runner comes to a run.
const (
	HowStart   = "start"
	HowResume  = "resume"
	HowRespawn = "respawn" // by tmux, after the runner died
)

const (
	// rescan is the safety net under every notification.
	rescan = 2 * time.Second
	// StopPatience bounds the wait for agents that were told to stop.
	StopPatience = 30 * time.Second
)

// Options is what a Runner is made of.
type Options struct {
	Run    *run.Run
	How    string
	Kinds  attempt.Kinds
	Server *tmux.Server // nil: headless
	Pane   string       // the monitor's pane, in which this process runs; empty: none
	Launch string       // names the start or resume that this runner serves, so that a respawned one is known
	Live   io.Writer    // headless: the nodes' output, prefixed; nil: nowhere
	Tell   Teller       // hears of each record, in order, as it is taken in; may be nil
	Log    *log.Logger
}

// Teller is told of a record and of the history with it. It is called by the
// goroutine that schedules, so it must not wait for anything.
type Teller func(h *run.History, rec *run.Record)

// Runner carries one run. Its fields belong to the goroutine of Run.
type Runner struct {
	Options
	g        *dag.Graph
	rank     []int
	branchy  []bool
	env      []string
	instance string // names this runner in the records of its children

	lock    *signals.Lock
	book    *run.Book
	hist    *run.History
	offset  int64
	state   *dag.State
	scanner *signals.Scanner
	repo    *worktree.Repo
	spawner *proc.Spawner
	panes   *panes // nil: headless
	slots   slots

	effects  []dag.Effect
	live     map[int]*attached // by node: attempts this runner can speak to
	relabel  map[int]bool      // nodes whose pane may show an old label
	unseen   map[int]time.Time // markers to look at again, and when
	launched map[int]launched  // by node: attempts that this runner started and that may not have come up
	showing  map[int]int       // by node: the attempt whose events are shown
	asked    map[string]*asked // by id: requests that wait for what an attempt does
	held     []int             // nodes lost too often, which nobody will be asked about
	news     bool              // something happened that a waiting request may wait for
	waiting  bool              // there are such requests
	placing  int               // placements that git is at work on

	// What is still to be recorded of markers that are in place; it goes with
	// the next append, before anything is looked at again.
	published []run.Record
	broke     bool       // the agents at work were told that the run is over its budget
	leaving   string     // why Run is about to leave before the run's end
	parting   attempt.Op // what ends the attempts when leaving; empty: they go on
	patient   time.Time  // when leaving gives up on agents that do not end

	hushed context.Context // over when notifications are waited for no longer
	hush   context.CancelFunc

	lent  chan lent
	ended chan ended
	gone  chan goneNode
	said  chan said
	over  chan struct{} // closed when nobody receives any more
	tasks sync.WaitGroup
}

// Run carries the run until it has ended, is stopped, or ctx ends (headless, all
// agents are then interrupted and waited for, within a bound; those in panes go
// on). It returns the run's state. A *signals.HeldError says that another
// runner has the project.
func Run(ctx context.Context, o Options) (dag.RunState, error) {
	r, err := open(ctx, o)
	if err != nil {
		return "", err
	}
	state, err := r.carry(ctx)
	return state, errors.Join(err, r.close())
}

func open(ctx context.Context, o Options) (_ *Runner, err error) {
	g := o.Run.Plan.Graph
	r := &Runner{
		Options: o, g: g, rank: ranks(g), branchy: branchy(g),
		instance: run.NewID(time.Now()),
		hist:     run.NewHistory(g),
		live:     make(map[int]*attached),
		relabel:  make(map[int]bool),
		unseen:   make(map[int]time.Time),
		launched: make(map[int]launched),
		showing:  make(map[int]int),
		asked:    make(map[string]*asked),
		said:     make(chan said),
		lent:     make(chan lent), ended: make(chan ended), gone: make(chan goneNode), over: make(chan struct{}),
	}
	r.hushed, r.hush = context.WithCancel(context.Background())
	if r.Log == nil {
		r.Log = log.New(io.Discard)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	root := o.Run.Plan.Root
	if err := signals.Init(root); err != nil {
		return nil, err
	}
	if r.lock, err = signals.TryLock(run.LockPath(root)); err != nil {
		return nil, err
	}
	if r.repo, err = worktree.Open(ctx, root); err != nil {
		return nil, err
	}
	if r.spawner, err = proc.NewSpawner(); err != nil {
		return nil, err
	}
	if r.book, err = o.Run.OpenBook(); err != nil {
		return nil, err
	}
	r.book.Full = func(err error) error {
		r.Log.Error("the disk is full; waiting for space", "err", err)
		return ctx.Err()
	}
	if r.offset, err = o.Run.Replay(r.hist, 0, nil); err != nil {
		return nil, err
	}
	if r.env, err = o.Run.Env(); err != nil && !r.outlived() {
		return nil, err
	}
	r.scanner = signals.NewScanner(o.Run.Signals(), g.Names())
	if o.Server != nil {
		if r.panes, err = openPanes(ctx, o); err != nil {
			return nil, err
		}
		r.panes.failed = func(node, n int, err error) {
			if errors.Is(err, tmux.ErrGone) {
				return // and so is this runner; the next one finds out what came of it
			}
			r.Log.Error("a pane could not be opened", "node", g.Nodes[node].Name, "err", err)
			r.tasks.Go(func() {
				select {
				case r.gone <- goneNode{node, n}:
				case <-r.over:
				}
			})
		}
	}
	return r, nil
}

// close lets go of everything, children first.
func (r *Runner) close() error {
	r.hush()
	for _, a := range r.live {
		a.close()
	}
	r.tasks.Wait()
	var errs []error
	if r.panes != nil {
		errs = append(errs, r.panes.close())
	}
	if r.spawner != nil {
		r.spawner.Close()
	}
	if r.book != nil {
		errs = append(errs, r.book.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Unlock())
	}
	return errors.Join(errs...)
}

func (r *Runner) carry(ctx context.Context) (dag.RunState, error) {
	// Children and lookups end when Run does, whatever ends it.
	tasks, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		cancel()
		close(r.over)
		defer time.AfterFunc(noticeRest, r.hush).Stop()
		r.drain()
	}()
	if r.outlived() {
		return r.hist.Final, nil
	}
	if err := r.begin(tasks); err != nil {
		return "", err
	}
	watched := []string{r.Run.Signals(), r.Run.Requests()}
	if slices.ContainsFunc(r.g.Nodes, func(n dag.Node) bool { return !r.inProcess(&n) }) {
		watched = append(watched, r.Run.Records()) // wrappers write there too
	}
	watch := signals.Watch(tasks, watched...)
	defer watch.Close()

	done := ctx.Done()
	net := time.NewTicker(rescan)
	defer net.Stop()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		if err := r.perform(tasks); err != nil {
			return "", err
		}
		if r.news {
			r.news = false
			if r.waiting {
				if err := r.requests(tasks); err != nil {
					return "", err
				}
				continue
			}
		}
		if state, over := r.finished(); over {
			if r.leaving == "" {
				// A person's marker may not have been heard of or not have settled.
				if err := r.markers(tasks); err != nil {
					return "", err
				}
				state, over = r.finished()
			}
			if over && (len(r.unseen) == 0 || r.leaving != "") {
				return state, r.end(tasks, state)
			}
			if len(r.effects) > 0 {
				continue
			}
		}
		r.arm(wake)
		var err error
		select {
		case <-done:
			done = nil
			err = r.interrupted(tasks)
		case n := <-watch.C:
			if n.Err != nil {
				r.Log.Warn("file events are not to be had; looking every 2 s", "err", n.Err)
			}
			err = r.notice(tasks, n)
		case l := <-r.lent:
			err = r.placed(tasks, l)
		case e := <-r.ended:
			err = r.ends(tasks, e)
		case n := <-r.gone:
			err = r.probe(tasks, n.node, true)
		case s := <-r.said:
			s.to.done, s.to.err = true, s.err
			r.news = true
		case <-r.disconnected():
			err = fmt.Errorf("the connection to tmux is gone: %w", r.panes.client.Err())
		case <-wake.C:
			err = r.due(tasks)
		case <-net.C:
			err = r.rescan(tasks)
		}
		if err != nil {
			return "", err
		}
	}
}

// begin takes the run over from whoever had it before.
func (r *Runner) begin(ctx context.Context) error {
	now := time.Now()
	respawned := r.respawned()
	if respawned || len(r.hist.Ups) > 0 && r.How == HowStart {
		r.How = HowRespawn
	}
	expected := r.hist.Folder
	folder := signals.NewScanner(r.Run.Signals(), nil)
	if _, _, err := folder.Scan(now); err != nil {
		return err
	}
	recs := []run.Record{{Type: run.RunnerUp, How: r.How, PID: os.Getpid(), Boot: proc.BootID(), Folder: folder.Folder(), Launch: r.Launch, Detail: r.instance}}
	// A runner that died while it stopped the run is respawned to finish that.
	stopping := r.hist.Stopped && respawned
	if r.hist.Stopped && !stopping {
		recs = append(recs, run.Record{Type: run.Resumed})
	}
	if err := r.learn(ctx, recs...); err != nil {
		return err
	}
	// What nobody recorded: attempts that died with their runner or wrapper.
	for i := range r.hist.Nodes {
		if r.Server == nil && r.hist.Nodes[i].Fact.Held {
			r.held = append(r.held, i)
		}
		if r.hist.Nodes[i].Fact.Live() {
			r.slots.hold(r.hist.Nodes[i].Attempt().Place.Slot)
			if err := r.probe(ctx, i, true); err != nil {
				return err
			}
		}
	}
	if expected != (signals.Identity{}) {
		r.scanner.Expect(expected)
	}
	if err := r.markers(ctx); err != nil {
		return err
	}
	// A marker that is there already decides before anything starts.
	for len(r.unseen) > 0 {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	r.state, r.effects = dag.Rebuild(r.g, r.hist.Facts(time.Now()))
	// A State made from nothing has told of no 99: those whose cause went while
	// nobody was there are withdrawn before anything starts.
	for i := range r.hist.Nodes {
		if _, still := r.state.Blocked(i); r.hist.Nodes[i].Blocked != "" && !still {
			r.effects = append(r.effects, dag.Effect{Kind: dag.Unblock, Node: i})
		}
	}
	r.Log.Info("runner up", "how", r.How, "nodes", r.g.Len())
	if stopping {
		r.stop(ctx)
	}
	return r.requests(ctx)
}

// respawned reports whether an earlier runner served the same launch.
func (r *Runner) respawned() bool { return r.Launch != "" && r.hist.Launch == r.Launch }

// outlived reports whether the run had ended when its runner was killed: there
// is nothing left to do but to leave.
func (r *Runner) outlived() bool { return r.respawned() && r.hist.Final != "" }

// learn appends records and takes them in, together with what others appended
// meanwhile. Reading back is the only way in which anything becomes known.
func (r *Runner) learn(ctx context.Context, recs ...run.Record) error {
	recs = append(r.published, recs...)
	r.published = nil
	if err := r.book.Append(ctx, recs...); err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// commit is learn for records that come with markers or must be durable.
func (r *Runner) commit(ctx context.Context, recs ...run.Record) error {
	published, err := r.book.Mark(ctx, recs...)
	r.published = append(r.published, published...)
	if errors.Is(err, run.ErrMarker) {
		r.Log.Error("trying again at the next look", "err", err)
	} else if err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// catchUp reads the records that are new and steps the scheduler.
func (r *Runner) catchUp(ctx context.Context) error {
	changes := []dag.Change{{Kind: dag.Tick, At: time.Now()}}
	var err error
	r.offset, err = r.book.Replay(r.hist, r.offset, func(rec *run.Record, c dag.Change, isChange bool) {
		if isChange {
			changes = append(changes, c)
		}
		r.heard(ctx, rec)
		if r.Tell != nil {
			r.Tell(r.hist, rec)
		}
	})
	if errors.Is(err, signals.ErrShrunk) {
		return fmt.Errorf("%s was cut short by somebody else; cmux agents resume goes on from what is left: %w", r.Run.Records(), err)
	}
	if r.state != nil {
		r.effects = append(r.effects, r.state.Step(changes...)...)
		r.showLabels()
	}
	return err
}

// showLabels brings the borders of panes up to date.
func (r *Runner) showLabels() {
	if r.panes != nil {
		now := time.Now()
		for i := range r.relabel {
			r.panes.label(r.g.Nodes[i].Name, r.state.Label(i, now).Label)
		}
	}
	clear(r.relabel)
}

// heard follows what a record means for this runner's connections.
func (r *Runner) heard(ctx context.Context, rec *run.Record) {
	if rec.Type == run.Limited && r.hasAccount(rec.Account) {
		r.notifyLimit(ctx, rec)
		r.tell(rec)
	}
	if rec.Node == "" {
		return
	}
	i := r.g.Index(rec.Node)
	if i < 0 {
		return
	}
	r.relabel[i] = true
	switch rec.Type {
	case run.Began:
		r.attach(ctx, i)
		r.news = true
	case run.Used:
		r.keepBudget(ctx)
	case run.AttemptEnd, run.Vanished:
		r.keepBudget(ctx)
		r.news = true
		if r.Server == nil && r.hist.Nodes[i].Fact.Held {
			r.held = append(r.held, i)
		}
		if a := r.live[i]; a != nil && (rec.Attempt == 0 || a.attempt == rec.Attempt) {
			a.close()
			delete(r.live, i)
		}
		// One that vanished gave its slot back then.
		if a := r.hist.Nodes[i].Attempt(); a != nil && a.N == rec.Attempt && (rec.Type == run.Vanished || a.Vanished == "") {
			r.slots.release(a.Place.Slot)
		}
		if r.panes != nil {
			r.panes.ended(rec)
		}
		r.tell(rec)
	case run.Opened:
		r.notifyInput(ctx, rec)
		r.tell(rec)
	case run.Active:
		if rec.Activity == dag.NeedsInput {
			r.notifyInput(ctx, rec)
		}
		r.tell(rec)
	case run.Overridden:
		if r.hist.Nodes[i].Fact.StillOpen {
			r.speak(ctx, i, attempt.Message{Op: attempt.OpOverridden})
		}
		r.tell(rec)
	case run.Reset, run.Blocked, run.Unblocked:
		r.tell(rec)
	}
}

// hasAccount reports whether a limit of the account concerns the run.
func (r *Runner) hasAccount(account string) bool {
	return slices.ContainsFunc(r.g.Nodes, func(n dag.Node) bool { return n.Account == account })
}

// tell logs a record for people.
func (r *Runner) tell(rec *run.Record) {
	kv := []any{"node", rec.Node}
	if rec.Attempt > 0 {
		kv = append(kv, "attempt", rec.Attempt)
	}
	if rec.End != nil {
		kv = append(kv, "exit", rec.End.Exit)
		if rec.End.Reason != "" {
			kv = append(kv, "reason", rec.End.Reason)
		}
	}
	if rec.Cause != "" {
		kv = append(kv, "cause", rec.Cause)
	}
	if d := rec.Detail; d != "" {
		kv = append(kv, "detail", d)
	}
	r.Log.Info(string(rec.Type), kv...)
}

// perform carries out effects until none is left.
func (r *Runner) perform(ctx context.Context) error {
	for len(r.effects) > 0 || len(r.published) > 0 || len(r.held) > 0 {
		if err := r.giveUpHeld(ctx); err != nil {
			return err
		}
		effects := r.effects
		r.effects = nil
		if err := r.carryOut(ctx, effects); err != nil {
			return err
		}
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// flush records the markers that are in place, where nothing else had to be
// recorded meanwhile.
func (r *Runner) flush(ctx context.Context) error {
	if len(r.published) == 0 {
		return nil
	}
	return r.learn(ctx)
}

func (r *Runner) carryOut(ctx context.Context, effects []dag.Effect) error {
	var (
		blocks, recs []run.Record
		withdraw     []int
		granted      []dag.Effect
		started      []*placement
	)
	for _, e := range effects {
		n, name := &r.hist.Nodes[e.Node], r.g.Nodes[e.Node].Name
		switch e.Kind {
		case dag.Block:
			cause := r.g.Nodes[e.Cause].Name
			if n.Blocked != cause {
				blocks = append(blocks, run.Record{Type: run.Blocked, Node: name, Cause: cause})
			}
		case dag.Unblock:
			if n.Blocked != "" {
				recs = append(recs, run.Record{Type: run.Unblocked, Node: name})
				withdraw = append(withdraw, e.Node)
			}
		case dag.Open:
			if !n.Opened {
				recs = append(recs, run.Record{Type: run.Opened, Node: name})
			}
		case dag.Grant:
			recs = append(recs, run.Record{Type: run.Granted, Node: name, Attempt: e.Attempt, Trial: e.Trial})
			granted = append(granted, e)
		case dag.Start:
			if r.leaving != "" {
				continue
			}
			if r.cancelled(e.Node) {
				blocks = append(blocks, cancelled(name))
				continue
			}
			if err := r.hist.OverBudget(e.Node); err != nil {
				blocks = append(blocks, unaffordable(name, err))
				continue
			}
			if p := r.place(ctx, e); p != nil {
				started = append(started, p)
			}
		}
	}
	if len(recs) > 0 {
		if err := r.learn(ctx, recs...); err != nil {
			return err
		}
	}
	if err := r.withdraw(withdraw); err != nil {
		return err
	}
	for _, e := range granted { // recorded first: what the attempt says next comes after it
		r.speak(ctx, e.Node, attempt.Message{Op: attempt.OpGranted, Trial: e.Trial})
	}
	if len(blocks) > 0 {
		if err := r.commit(ctx, blocks...); err != nil {
			return err
		}
	}
	return r.launch(ctx, started)
}

// disconnected is closed when tmux can no longer be spoken to. Whoever runs in
// a pane then ends, and is started again by tmux, if that is still there.
func (r *Runner) disconnected() <-chan struct{} {
	if r.panes == nil || r.leaving != "" {
		return nil
	}
	return r.panes.client.Done()
}

// finished reports whether Run has nothing left to do.
func (r *Runner) finished() (dag.RunState, bool) {
	if len(r.effects) > 0 {
		return "", false
	}
	if r.leaving != "" {
		busy := false
		for _, a := range r.live {
			busy = busy || a.child != nil
		}
		if r.parting != "" { // also one that cannot be spoken to yet
			busy = busy || slices.ContainsFunc(r.hist.Nodes, func(n run.Node) bool { return n.Fact.Live() })
		}
		if busy && time.Now().Before(r.patient) {
			return "", false
		}
		return dag.RunStopped, true
	}
	state := r.state.Run()
	if state != dag.RunDone && state != dag.RunFailed {
		return state, false
	}
	// An overridden node's attempt may go on; in a pane it needs nobody, but a
	// child would die with this process, and git in the middle of its work.
	if r.placing > 0 {
		return state, false
	}
	for _, a := range r.live {
		if a.child != nil {
			return state, false
		}
	}
	return state, true
}

// end records how Run left.
func (r *Runner) end(ctx context.Context, state dag.RunState) error {
	if r.leaving != "" {
		r.Log.Info("runner leaves", "why", r.leaving)
		return r.learn(ctx, run.Record{Type: run.RunnerDown, How: r.leaving})
	}
	err := r.learn(ctx,
		run.Record{Type: run.RunEnded, How: string(state)},
		run.Record{Type: run.RunnerDown, How: string(state)})
	r.Log.Info("run ended", "state", state)
	r.audit()
	r.notifyEnd(ctx, state)
	if slices.ContainsFunc(r.hist.Nodes, func(n run.Node) bool { return n.Fact.StillOpen }) {
		return err // its wrapper may still want the environment
	}
	return errors.Join(err, r.Run.DropEnv())
}

// audit holds what the scheduler came to, step by step, against what the
// records say. The two are equal; should they ever not be, it is known.
func (r *Runner) audit() {
	now := time.Now()
	told := dag.Observe(r.g, r.hist.Facts(now))
	for i := range r.g.Nodes {
		if have, want := r.state.Label(i, now).Label, told.Label(i, now).Label; have != want {
			r.Log.Error(diverged, "node", r.g.Nodes[i].Name, "runner", have, "records", want)
		}
	}
}

// diverged is what audit logs.
const diverged = "the runner and its records disagree"

// interrupted answers the end of ctx: a signal to the runner. In a pane it
// leaves the agents, which a person sees, at work. Headless nobody sees them:
// the person who ended the command ended the run, as by stop.
func (r *Runner) interrupted(ctx context.Context) error {
	if r.leaving != "" {
		return nil
	}
	if r.Server != nil {
		r.state.Step(dag.Change{Kind: dag.Stop, At: time.Now()})
		r.leave(run.HowInterrupted)
		return nil
	}
	if err := r.learn(ctx, run.Record{Type: run.Stopped, Detail: run.HowInterrupted}); err != nil {
		return err
	}
	r.part(ctx, run.HowInterrupted, attempt.OpBreak)
	return nil
}

func (r *Runner) leave(why string) {
	r.leaving, r.patient = why, time.Now().Add(StopPatience)
}

// stop ends every attempt and then Run; the run is stopped until resume.
func (r *Runner) stop(ctx context.Context) { r.part(ctx, run.HowStopped, attempt.OpStop) }

// part ends every attempt with op, and then Run.
func (r *Runner) part(ctx context.Context, why string, op attempt.Op) {
	r.leave(why)
	r.parting = op
	for i := range r.live {
		r.speak(ctx, i, attempt.Message{Op: op})
	}
}

// settle waits until the first of the unsettled markers may be judged.
func (r *Runner) settle(ctx context.Context) error {
	first := time.Now().Add(signals.Settle)
	for _, at := range r.unseen {
		if at.Before(first) {
			first = at
		}
	}
	t := time.NewTimer(time.Until(first))
	defer t.Stop()
	select {
	case <-t.C:
		return r.due(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arm sets the timer to the next moment at which time alone changes something.
func (r *Runner) arm(t *time.Timer) {
	next := time.Now().Add(time.Hour)
	if at, ok := r.state.NextWake(); ok && at.Before(next) {
		next = at
	}
	for _, at := range r.unseen {
		if at.Before(next) {
			next = at
		}
	}
	if r.leaving != "" && r.patient.Before(next) {
		next = r.patient
	}
	t.Reset(max(0, time.Until(next)))
}

// due is called when the timer of arm fires.
func (r *Runner) due(ctx context.Context) error {
	now := time.Now()
	var look []int
	for i, at := range r.unseen {
		if !at.After(now) {
			look = append(look, i)
		}
	}
	slices.Sort(look)
	for _, i := range look {
		delete(r.unseen, i)
	}
	if err := r.look(ctx, look...); err != nil {
		return err
	}
	return r.catchUp(ctx)
}

// rescan looks at everything, as if no notification ever came.
func (r *Runner) rescan(ctx context.Context) error {
	if err := r.lock.Check(); err != nil {
		if err := r.relock(); err != nil {
			return err
		}
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	for i := range r.hist.Nodes {
		// A connection that stands says that its wrapper lives, and costs nothing.
		if r.hist.Nodes[i].Fact.Live() && !r.live[i].stands() {
			if err := r.probe(ctx, i, false); err != nil {
				return err
			}
		}
	}
	if r.panes != nil {
		r.panes.refresh()
	}
	if err := r.markers(ctx); err != nil {
		return err
	}
	return r.requests(ctx)
}

// relock takes the run's lock anew after its file was removed.
func (r *Runner) relock() error {
	root := r.Run.Plan.Root
	if err := signals.Init(root); err != nil {
		return err
	}
	l, err := signals.TryLock(run.LockPath(root))
	if err != nil {
		return fmt.Errorf("the run's lock was removed and cannot be taken again: %w", err)
	}
	old := r.lock
	r.lock = l
	return old.Unlock()
}

// notice looks where the watcher says that something changed.
func (r *Runner) notice(ctx context.Context, n signals.Notice) error {
	if n.Rescan {
		return r.rescan(ctx)
	}
	var (
		look     []int
		requests bool
		records  bool
	)
	for _, f := range n.Files {
		switch dir := dirOf(f); dir {
		case r.Run.Requests():
			requests = true
		case r.Run.Dir:
			records = true
		default:
			if i := r.scanner.Node(baseOf(f)); i >= 0 {
				look = append(look, i)
			}
		}
	}
	if records || len(look) > 0 {
		// The record of a marker precedes it: knowing it first, a marker of
		// cmux's own is not taken for a person's.
		if err := r.catchUp(ctx); err != nil {
			return err
		}
	}
	if err := r.look(ctx, look...); err != nil {
		return err
	}
	if requests {
		return r.requests(ctx)
	}
	return nil
}
