package wrapper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/lease"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/origin"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
)

// Options say which attempt to carry out.
type Options struct {
	RunDir  string
	Node    string
	Attempt int
	// Spare: the node and the attempt are not known yet. They come as a Word, typed
	// into the terminal, and all that does not depend on them is done before.
	Spare   bool
	Kinds   agent.Kinds
	In, Out *os.File // the pane; default: standard input and output
	Err     io.Writer
	Limits  attempt.Limits
	// Orphaned is called every OrphanTick while the run has no runner; nil: not.
	Orphaned   func(context.Context) error
	OrphanTick time.Duration // default: 5 s
}

// orphanTick leaves tmux the time to start a killed runner again by itself.
const orphanTick = 5 * time.Second

// Exit codes other than that of the attempt's marker.
const (
	ExitError       = 1
	ExitElsewhere   = 75  // EX_TEMPFAIL: another wrapper has the node
	ExitInterrupted = 130 // no end: the attempt is to be redone
)

// Main carries the attempt out and returns the exit code of the process: that
// of the marker, or one of the Exit constants. An attempt that was given up
// before Main came is left alone, with 0.
func Main(ctx context.Context, o Options) int {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	code, err := execute(ctx, &o)
	var held *signals.HeldError
	switch {
	case err == nil:
	case errors.Is(err, run.ErrWithdrawn):
		return 0
	case errors.As(err, &held):
		fmt.Fprintf(o.Err, "cmux: %s runs already, in %s\n", o.Node, held.Holder)
		return ExitElsewhere
	case o.Node == "":
		fmt.Fprintf(o.Err, "cmux: %v\n", err)
	default:
		fmt.Fprintf(o.Err, "cmux: attempt %d of %s: %v\n", o.Attempt, o.Node, err)
	}
	return code
}

func execute(ctx context.Context, o *Options) (code int, err error) {
	r, err := run.OpenPlan(o.RunDir)
	if err != nil {
		return ExitError, err
	}
	spawner, err := proc.NewSpawner()
	if err != nil {
		return ExitError, err
	}
	defer spawner.Close()
	if o.Spare {
		run.Warm(r)
		if err := o.await(); err != nil {
			return ExitError, err
		}
	}
	lock, err := o.lock(ctx, r)
	if err != nil {
		return ExitError, err
	}
	defer lock.Unlock()
	spec, err := o.specified(r)
	if err == nil {
		err = o.enter(spec.Place.Dir)
	}
	if err != nil {
		return ExitError, err
	}
	defer keepSlot(spec)()
	env, err := r.Env()
	if err != nil {
		return ExitError, err
	}
	book, err := o.bookOf(r)
	if err != nil {
		return ExitError, err
	}
	defer book.Close()
	srv, err := o.listen(ctx, r, book)
	if err != nil {
		return ExitError, err
	}
	closeServer := sync.OnceValue(srv.close)
	defer closeServer()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.Orphaned != nil && !spec.Headless {
		defer watchRunner(ctx, r, *o)()
	}
	book.Delayed = whileDelayed(ctx, *o)
	resized := make(chan struct{}, 1)
	defer watch(cancel, spawner, srv, resized, spec.Headless)()

	began, pane := time.Now(), os.Getenv("TMUX_PANE")
	write := context.WithoutCancel(ctx) // what happened is recorded whatever ends us
	if err := o.begin(write, book, pane); err != nil {
		return ExitError, err
	}
	seat := &seat{by: lease.Holder{Project: spec.Frame.Root, Run: spec.Frame.Run}, node: o.Node}
	if spec.Terms.Sits {
		seat.take()
	}
	defer seat.leave()
	job := attempt.Job{
		Spec: spec, Paths: r.Paths, Home: o.homeOf(r), Env: env, Kinds: o.Kinds, Spawner: spawner,
		Record: record(write, book, seat.follower(spec)),
		Inbox:  srv.inbox, Live: o.Out, Socket: r.Socket(o.Node), Pane: pane, Limits: o.Limits,
	}
	if !spec.Headless {
		job.Live, job.Terminal = nil, o.terminal(pane, resized)
	}
	end, err := attempt.Run(ctx, job)
	if e := o.endOrphans(write, spawner, book); e != nil {
		return ExitError, errors.Join(err, e)
	}
	if errors.Is(err, attempt.ErrInterrupted) {
		// Recorded before the connections close: whoever stopped it goes by them.
		rec := vanished(err)
		rec.Node, rec.Attempt = o.Node, o.Attempt
		fmt.Fprintf(o.Out, "── %s: %s after %s; to continue: %s ──\n", o.Node, rec.How, since(began), goOn(spec))
		return ExitInterrupted, errors.Join(book.Append(write, rec), r.DropSpec(o.Node, o.Attempt))
	}
	closeServer()
	if err != nil {
		return ExitError, err
	}
	if spec.Terms.Stays {
		return o.leave(write, r, book, &end)
	}
	return o.commit(write, r, book, &end, began)
}

const (
	// handover bounds the wait for a wrapper that has recorded the end of the
	// attempt before this one and is about to go. Whoever started this one gives
	// it 10 s to hold its lock.
	handover     = 8 * time.Second
	handoverTick = 10 * time.Millisecond
)

// lock is the proof that the attempt lives.
func (o Options) lock(ctx context.Context, r *run.Run) (lock *signals.Lock, err error) {
	began := time.Now()
	for {
		err = patiently(ctx, o, func() (err error) {
			lock, err = signals.TryLock(r.NodeLock(o.Node))
			return err
		})
		var held *signals.HeldError
		if !errors.As(err, &held) || time.Since(began) > handover {
			return lock, err
		}
		t := time.NewTimer(handoverTick)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, errors.Join(context.Cause(ctx), err)
		}
	}
}

func (o Options) listen(ctx context.Context, r *run.Run, book *run.Book) (srv *server, err error) {
	err = patiently(ctx, o, func() (err error) {
		srv, err = listen(ctx, r.Socket(o.Node), &door{run: r, own: origin.Attempt{Node: o.Node, N: o.Attempt}, record: func(rec run.Record) error {
			return book.Append(context.WithoutCancel(ctx), rec)
		}})
		return err
	})
	return srv, err
}

// begin records that the attempt is in this process's hands.
func (o Options) begin(ctx context.Context, book *run.Book, pane string) error {
	self, err := proc.Self()
	if err != nil {
		return err
	}
	return book.Append(ctx, run.Record{
		Type: run.Began, Node: o.Node, Attempt: o.Attempt, PID: self.PID, PIDStart: self.Start, Pane: pane,
	})
}

// terminal is the pane that this process runs in.
func (o Options) terminal(pane string, resized <-chan struct{}) *agent.Terminal {
	t := &agent.Terminal{In: o.In, Out: o.Out, Term: os.Getenv("TERM"), Resized: resized, Pane: pane}
	t.Tmux, _, _ = strings.Cut(os.Getenv("TMUX"), ",")
	return t
}

// specified is what the attempt is started with.
func (o Options) specified(r *run.Run) (*run.Spec, error) {
	spec, err := r.ReadSpec(o.Node, o.Attempt)
	if err == nil && r.IsOrganization() {
		if spec.Member == nil {
			err = errNoMember
		}
		return spec, err
	}
	if err == nil && spec.Def.HasTree() {
		spec.Frame.Peers, err = r.Peers()
	}
	return spec, err
}

// keepSlot keeps other runs from the attempt's slot and ports until done is
// called, also when its runner is gone. Where that cannot be had, the runner,
// which has them as well, has said why.
func keepSlot(s *run.Spec) (done func()) {
	l, err := lease.JoinSlot(s.Place.Slot, lease.Holder{Project: s.Frame.Root, Run: s.Frame.Run})
	if err != nil || l == nil {
		return func() {}
	}
	return func() { l.Release() }
}

// seat is the attempt's place among the agents of the person that work at the
// same time. Its runner takes it; the attempt keeps it beside it, so that it
// counts as well when the runner is killed.
type seat struct {
	by   lease.Holder
	node string
	has  *lease.Lease // nil: none is kept
}

func (s *seat) take() {
	if s.has == nil {
		s.has, _ = lease.JoinSeat(s.by, s.node) // what cannot be had, the runner has, and says why
	}
}

func (s *seat) leave() {
	lease.ReturnSeat(s.has)
	s.has = nil
}

// follow gives the seat back while the attempt waits for a person, for the end of
// a limit, or for its next piece of work. It is called for one record at a time.
func (s *seat) follow(is dag.Activity) {
	if is == dag.NeedsInput || is == dag.AtLimit || is == dag.Resting {
		s.leave()
	} else {
		s.take()
	}
}

// endOrphans ends what is left in a session and an environment of its own, which
// has fallen to this process. It goes before anybody learns that the attempt is
// over.
func (o Options) endOrphans(ctx context.Context, spawner *proc.Spawner, book *run.Book) error {
	left, err := spawner.EndOrphans(ctx, o.Limits.Patience())
	if len(left) == 0 && err == nil {
		return nil
	}
	detail := "ended what the attempt left running in the background: " + proc.Names(left)
	if err != nil {
		detail = "processes of the attempt could not be ended: " + err.Error()
	}
	fmt.Fprintf(o.Out, "── %s: %s ──\n", o.Node, detail)
	return book.Append(ctx, run.Record{Type: run.Noted, Node: o.Node, Attempt: o.Attempt, Detail: detail})
}

// commit records the end with its marker, and returns that as the exit code.
func (o Options) commit(ctx context.Context, r *run.Run, book *run.Book, end *run.End, began time.Time) (code int, err error) {
	err = book.Commit(ctx, run.Record{Type: run.AttemptEnd, Node: o.Node, Attempt: o.Attempt, End: end})
	if err == nil {
		// Without it a wrapper started twice for one attempt finds nothing to do.
		err = r.DropSpec(o.Node, o.Attempt)
	}
	fmt.Fprintf(o.Out, "── %s: %s after %s, log: cmux agents logs %s ──\n", o.Node, endText(end), since(began), o.Node)
	if err != nil {
		return ExitError, err
	}
	return end.Marker(), nil
}

const (
	spaceTick = time.Second
	// recordPatience is how long a wrapper that was told to end tries to record it,
	// on a full disk for one. Without a record it is lost, which is as well.
	recordPatience = 5 * time.Second
)

// patiently does f again for as long as the disk is full, and says so once.
func patiently(ctx context.Context, o Options, f func() error) error {
	for told := false; ; told = true {
		err := f()
		if !run.NoSpace(err) {
			return err
		}
		if !told {
			fmt.Fprintf(o.Out, "── %s: waits for space: %v ──\n", o.Node, err)
		}
		t := time.NewTimer(spaceTick)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// whileDelayed says once that a record waits, and gives up on it when ctx has been
// over for a while.
func whileDelayed(ctx context.Context, o Options) func(error) error {
	var (
		mu   sync.Mutex
		told bool
		over time.Time
	)
	return func(err error) error {
		mu.Lock()
		defer mu.Unlock()
		if !told {
			told = true
			fmt.Fprintf(o.Out, "── %s: waits to be recorded: %v ──\n", o.Node, err)
		}
		if ctx.Err() == nil {
			return nil
		}
		if over.IsZero() {
			over = time.Now()
		}
		if time.Since(over) > recordPatience {
			return context.Cause(ctx)
		}
		return nil
	}
}

// watchRunner calls o.Orphaned while the run has no runner, which the attempt
// needs as little as it needs this: what fails is tried again at the next tick.
// The returned function stops it.
func watchRunner(ctx context.Context, r *run.Run, o Options) (stop func()) {
	if o.OrphanTick == 0 {
		o.OrphanTick = orphanTick
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(o.OrphanTick)
		defer tick.Stop()
		for {
			holder, held, err := signals.ReadHolder(r.LockPath())
			if err == nil && held {
				// A hundred of these that look again and again are a load of their own.
				awaitLeave(ctx, holder)
				tick.Reset(o.OrphanTick)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if _, held, err := signals.ReadHolder(r.LockPath()); err == nil && !held {
				o.Orphaned(ctx)
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// maxTrust bounds for how long a runner is believed to carry the run because
// its process lives: it may have let go of the lock.
const maxTrust = 5 * time.Minute

// awaitLeave returns when the process of a runner has ended, at once where the
// system cannot tell.
func awaitLeave(ctx context.Context, holder signals.Holder) {
	if host, err := os.Hostname(); err != nil || host != holder.Host || holder.PID <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxTrust)
	defer cancel()
	_ = proc.AwaitExit(ctx, holder.PID) // whoever waited looks at the lock
}

// vanished is the record of an attempt that was broken off.
func vanished(err error) run.Record {
	var lost *attempt.LostError
	switch {
	case errors.As(err, &lost):
		return run.Record{Type: run.Vanished, How: run.HowLost, Detail: lost.Error()}
	case errors.Is(err, attempt.ErrStopped):
		return run.Record{Type: run.Vanished, How: run.HowStopped}
	}
	return run.Record{Type: run.Vanished, How: run.HowInterrupted}
}

func since(t time.Time) time.Duration {
	d := time.Since(t)
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}

// endText is the end as status tells of it, and whether it is the node's.
func endText(e *run.End) string {
	text := e.Label().String()
	if e.Retry {
		text += ", to be tried again"
	}
	return text
}

// watch handles the signals of a terminal and of the end. They are caught, not
// ignored: an ignored signal stays ignored in every program that is started.
// ^C in a pane goes to the program through its pty; what reaches this process
// ends a check or a setup step at most. Without a pane nobody types it: there
// INT and QUIT end the attempt as TERM does. The returned function stops it.
func watch(cancel context.CancelCauseFunc, spawner *proc.Spawner, srv *server, resized chan<- struct{}, headless bool) (stop func()) {
	ch := make(chan os.Signal, 16)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGTSTP,
		syscall.SIGWINCH, syscall.SIGCHLD, syscall.SIGPIPE)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			var s os.Signal
			select {
			case s = <-ch:
			case <-over:
				return
			}
			switch s {
			case syscall.SIGINT, syscall.SIGQUIT:
				if headless {
					cancel(attempt.ErrInterrupted)
					continue
				}
				wg.Go(func() {
					select {
					case srv.inbox <- attempt.Message{Op: attempt.OpInterrupt}:
					case <-over:
					}
				})
			case syscall.SIGHUP, syscall.SIGTERM:
				cancel(attempt.ErrInterrupted)
			case syscall.SIGWINCH:
				select {
				case resized <- struct{}{}:
				default:
				}
			case syscall.SIGCHLD:
				spawner.Continue()
			}
		}
	})
	return func() {
		signal.Stop(ch)
		close(over)
		wg.Wait()
	}
}
