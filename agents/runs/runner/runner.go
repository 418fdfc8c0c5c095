package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/tmux"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/lives"
	"cmux/agents/runs/run"
	"cmux/agents/runs/shares"
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
	// idleRescan is rescan in a run that has ended.
	idleRescan = time.Minute
	// StopPatience bounds the wait for agents that were told to stop.
	StopPatience = 30 * time.Second
)

// Options is what a Runner is made of.
type Options struct {
	Run    *run.Run
	How    string
	Kinds  agent.Kinds
	Repo   *worktree.Repo // the project's, where the caller has it already; nil: it is looked for
	Server *tmux.Server   // nil: headless
	Pane   string         // the monitor's pane, in which this process runs; empty: none
	Launch string         // names the start or resume that this runner serves, so that a respawned one is known
	// Stay has the runner of a run that has ended stay for what a person does
	// next: a marker, an order. It leaves when it is asked to, see Yield.
	Stay bool
	Live io.Writer // headless: the nodes' output, prefixed; nil: nowhere
	Tell Teller    // hears of each record, in order, as it is taken in; may be nil
	Log  *log.Logger
	// AtTerminal reports whether a person gave input at a terminal about a moment
	// that is past. Nil: as this machine's terminals tell.
	AtTerminal func(ctx context.Context, at time.Time) (bool, error)
	// Host opens the place where the attempts live, which shows nothing of them.
	// Nil: panes where there is a Server, else Headless.
	Host func(host.Config) (host.Host, error)
	// Far returns a Host that carries out far nodes elsewhere, and all others on home. Nil:
	// all nodes run at home.
	Far func(c host.Config, home host.Host) (host.Host, error)
}

// A Teller receives each record and the history with it. The goroutine that
// schedules calls it, so it must not wait for anything.
type Teller func(h *run.History, rec *run.Record)

// Runner carries one run. Its fields belong to the goroutine of Run.
type Runner struct {
	Options
	g        *dag.Graph
	frame    *run.Frame // of all attempts
	rank     []int
	branchy  []bool
	env      []string
	instance string // names this runner in the records of its children

	lock     *signals.Lock
	book     *run.Book
	hist     *run.History // with the scheduler's state, which this runner asks what is due
	offset   int64
	strange  int // lines of the records that cmux did not write and that were reported
	scanner  *signals.Scanner
	repo     *worktree.Repo
	stamp    atomic.Value // string: of the shared state when it was last found undrifted
	host     host.Host    // where the attempts live
	screen   host.Screen  // what is shown of them
	lives    *lives.Table // those that this runner can speak to
	shares   *shares.Shares
	accounts []string // of the nodes
	untold   bool     // limits could not be told: not again before the next look at everything
	radar    *radar   // nil: no two nodes leave a branch

	relabel map[int]bool      // nodes that people may be shown an old status of
	tally   tally             // of what they are shown
	unseen  map[int]time.Time // markers to look at again, and when
	// unwritten are the nodes whose markers could not be put back for want of
	// space: the run does not end before they are.
	unwritten map[int]bool
	putOff    map[int]time.Time // nodes whose markers could not be put right, and when that is tried again
	binPutOff time.Time         // the same for the copy of cmux
	register  *run.Register     // under the project's lock, while an ended run may go on; else nil
	lostNames map[int]bool      // nodes whose names another run has, as of ownedSeen
	ownedSeen os.FileInfo       // of the list of owners
	showing   map[int]showing   // by node: the attempt whose events are shown
	asked     map[string]*asked // by id: requests that wait for what an attempt does
	held      []int             // nodes lost too often, which nobody will be asked about
	news      bool              // something happened that a waiting request may wait for
	waiting   bool              // there are such requests
	placing   int               // placements that git is at work on

	// What is still to be recorded of markers that are in place; it goes with
	// the next append, before anything is looked at again.
	published []run.Record
	broke     bool          // the agents at work were told that the run is over its budget
	leaving   string        // why Run is about to leave before the run's end
	parting   attempt.Op    // what ends the attempts when leaving; empty: they go on
	patient   time.Time     // when leaving gives up on agents that do not end
	updated   bool          // there is another plan: leave, to come again with it
	deaf      bool          // file events are not to be had
	every     time.Duration // how often everything is looked at

	told   context.Context // of Run: over when this process is told to end
	hushed context.Context // over when notifications are waited for no longer
	hush   context.CancelFunc

	doing   chan func() // by the postman, in the goroutine that schedules
	postman *postman

	lent    chan lent
	cleared chan cleared
	ended   chan ended
	said    chan said
	over    chan struct{} // closed when nobody receives any more
	tasks   sync.WaitGroup
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
	if r.updated && err == nil {
		err = ErrUpdated
	}
	return state, errors.Join(err, r.close())
}

// ErrUpdated says that the run has a new plan: the caller must open the run again
// and carry it.
var ErrUpdated = errors.New("the run has another plan now")

func open(ctx context.Context, o Options) (_ *Runner, err error) {
	g := o.Run.Plan.Graph
	r := &Runner{
		Options: o, told: ctx, g: g, frame: o.Run.Frame(), rank: ranks(g), branchy: branchy(g),
		instance: run.NewID(time.Now()),
		hist:     run.NewHistory(g),
		relabel:  make(map[int]bool),
		unseen:   make(map[int]time.Time), unwritten: make(map[int]bool), putOff: make(map[int]time.Time),
		showing: make(map[int]showing),
		asked:   make(map[string]*asked),
		said:    make(chan said),
		cleared: make(chan cleared),
		doing:   make(chan func()),
		lent:    make(chan lent), ended: make(chan ended), over: make(chan struct{}),
	}
	r.tally.states = make([]dag.NodeState, g.Len())
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
	if r.lock, err = o.Run.AwaitLock(ctx); err != nil {
		return nil, err
	}
	if r.repo = o.Repo; r.repo == nil {
		if r.repo, err = worktree.Open(ctx, root); err != nil {
			return nil, err
		}
	}
	if r.book, err = o.Run.OpenBook(); err != nil {
		return nil, err
	}
	if o.Server == nil {
		r.book.Stock() // in panes each attempt makes its own
	}
	r.book.Delayed = func(err error) error {
		r.Log.Error("what happened cannot be recorded yet; cmux tries again", "err", err)
		return ctx.Err()
	}
	r.postman = newPostman(r)
	if r.offset, err = o.Run.Replay(r.hist, 0, r.postman.learns); err != nil {
		return nil, err
	}
	if r.hist.Final == "" {
		if err := Claim(ctx, o.Run); err != nil {
			return nil, err
		}
	}
	if r.env, err = o.Run.Env(); err != nil {
		if !r.outlived() {
			return nil, err
		}
		r.Stay = false // nothing could be started
	}
	r.scanner = signals.NewScanner(o.Run.Signals(), g.Names())
	r.openShares()
	if !r.outlived() {
		r.openRadar()
	}
	if r.host, err = r.openHost(ctx); err != nil {
		return nil, err
	}
	r.lives = lives.New(r.host, r.Log, lives.Policy{Reached: r.reached, Again: r.again, Lost: r.lost})
	return r, nil
}

// openHost opens the place where the attempts are to live, or returns nil.
func (r *Runner) openHost(ctx context.Context) (host.Host, error) {
	c := host.Config{
		Run: r.Run, Env: r.env, Kinds: r.Kinds, Repo: r.repo, Book: r.book, Log: r.Log, Told: r.told,
		Go: r.tasks.Go, Left: func(ref host.Ref) { r.lives.Left(ref) }, Live: r.liveFor,
		Ended: func(ref host.Ref, end run.End, err error) { r.ended <- ended{ref, end, err} },
	}
	r.screen = host.Blank{}
	if r.Host != nil {
		return r.Host(c)
	}
	// Not returned as they come: what could not be opened would be a Host of no
	// value.
	if r.Server != nil {
		panes, err := host.NewPanes(ctx, c, r.Server, tmux.PaneID(r.Pane))
		if err != nil {
			return nil, err
		}
		r.screen = panes
		return distant(r.Far, c, panes)
	}
	headless, err := host.NewHeadless(c)
	if err != nil {
		return nil, err
	}
	return distant(r.Far, c, headless)
}

// distant is home, with what carries out the nodes of other machines.
func distant(far func(host.Config, host.Host) (host.Host, error), c host.Config, home host.Host) (host.Host, error) {
	if far == nil {
		return home, nil
	}
	h, err := far(c, home)
	if err != nil {
		return nil, errors.Join(err, home.Close())
	}
	return h, nil
}

// close lets go of everything, children first.
func (r *Runner) close() error {
	r.hush()
	if r.lives != nil {
		r.lives.Close()
	}
	r.tasks.Wait()
	errs := []error{r.radar.close()}
	if p, ok := r.screen.(*host.Panes); ok && r.updated {
		p.Return()
	}
	if r.host != nil {
		errs = append(errs, r.host.Close())
	}
	if r.shares != nil {
		errs = append(errs, r.shares.Close())
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
		if r.hist.Final != "" {
			r.postman.last(context.WithoutCancel(ctx))
		}
	}()
	if r.outlived() && !r.Stay {
		return r.hist.Final, nil
	}
	if err := r.begin(tasks); err != nil {
		return "", err
	}
	r.tasks.Go(func() { r.postman.run(tasks) })
	watch := r.watch(tasks)
	defer watch.Close()
	net := time.NewTicker(rescan)
	defer net.Stop()
	wake := time.NewTimer(0)
	defer wake.Stop()
	done := ctx.Done()
	for {
		state, then, err := r.advance(tasks)
		switch {
		case err != nil:
			return "", err
		case then == thenEnd:
			if stays, err := r.end(tasks, state); err != nil || !stays {
				return state, err
			}
		case then == thenGoOn:
			continue
		}
		r.pace(net)
		r.arm(wake)
		told := ctx.Err() != nil && done != nil
		if !told { // else before all that is ready as well: what ended may have ended of it
			told, err = r.await(tasks, done, watch, wake, net)
		}
		if told {
			done = nil
			err = r.interrupted(tasks)
		}
		if err != nil {
			return "", err
		}
	}
}

// shortRun is how long a run goes unwatched of which nobody else writes anything.
const shortRun = 250 * time.Millisecond

// watch watches the folders and files in which the runner sees changes.
func (r *Runner) watch(ctx context.Context) *signals.Watcher {
	watched := []string{r.Run.Signals(), r.Run.Requests(), dirOf(r.Run.Binary())}
	watched = append(watched, r.shares.Dirs()...)
	if slices.ContainsFunc(r.g.Nodes, func(n dag.Node) bool { return !r.host.Bound(&n) }) {
		return signals.Watch(ctx, append(watched, r.Run.Records())...) // wrappers write there too
	}
	// What a person does in the first moment is seen a moment later.
	return signals.WatchAfter(ctx, shortRun, watched...)
}

// then is what comes after an advance.
type then uint8

const (
	thenWait then = iota // for what happens
	thenGoOn             // at once
	thenEnd
)

// advance carries out what is due and what is asked for, and says how the run
// stands when it is over.
func (r *Runner) advance(ctx context.Context) (dag.RunState, then, error) {
	if err := r.perform(ctx); err != nil {
		return "", thenWait, err
	}
	if err := r.foreign(ctx); err != nil {
		return "", thenWait, err
	}
	if r.news {
		r.news = false
		if r.waiting {
			return "", thenGoOn, r.requests(ctx)
		}
	}
	state, over := r.finished()
	if !over {
		return state, thenWait, nil
	}
	if r.leaving == "" {
		// A person's marker may not have been heard of or not have settled.
		if err := r.markers(ctx); run.NoFiles(err) {
			r.Log.Error("the markers cannot be looked at; cmux tries again", "err", err)
			return "", thenWait, nil
		} else if err != nil {
			return "", thenWait, err
		}
		if err := r.perform(ctx); err != nil {
			return "", thenWait, err
		}
		if state, over = r.finished(); !over {
			return state, thenGoOn, nil
		}
	}
	if len(r.unseen)+len(r.unwritten) == 0 || r.leaving != "" {
		return state, thenEnd, nil
	}
	return state, thenWait, nil
}

// await waits for the next thing to happen and takes it in. told reports whether
// it was done, which is the caller's.
func (r *Runner) await(ctx context.Context, done <-chan struct{}, watch *signals.Watcher, wake *time.Timer, net *time.Ticker) (told bool, err error) {
	select {
	case <-done:
		return true, nil
	case n := <-watch.C:
		if n.Err != nil {
			r.deaf = true
			r.Log.Warn("file events are not to be had; looking every 2 s", "err", n.Err)
		}
		return false, r.notice(ctx, n)
	case l := <-r.lent:
		return false, r.placed(ctx, l)
	case e := <-r.ended:
		return false, r.ends(ctx, e)
	case ref := <-r.lives.Gone():
		// That of an earlier attempt, which may still have had to tidy up, says
		// nothing of one that was started since.
		i := r.g.Index(ref.Node)
		a := r.hist.Nodes[i].Attempt()
		return false, r.probe(ctx, i, a != nil && a.N == ref.N)
	case c := <-r.cleared:
		return false, r.giveUp(ctx, c)
	case trees := <-r.radar.moves():
		r.movedIn(ctx, trees)
		return false, nil
	case s := <-r.radar.sweeps():
		return false, r.sweptOver(ctx, s)
	case f := <-r.doing:
		f()
		return false, nil
	case s := <-r.said:
		s.to.done, s.to.err, s.to.reply = true, s.err, s.reply
		r.news = true
		return false, nil
	case <-r.disconnected():
		return false, fmt.Errorf("the connection to tmux is gone: %w", r.screen.Err())
	case <-wake.C:
		return false, r.due(ctx)
	case <-net.C:
		return false, r.rescan(ctx)
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
		if r.hist.Nodes[i].Fact.Held {
			r.held = append(r.held, i)
		}
		if r.hist.Nodes[i].Fact.Live() {
			if p := &r.hist.Nodes[i].Attempt().Place; !p.Away() {
				r.shares.Hold(p.Slot)
			}
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
	if err := r.takeLimits(ctx); err != nil {
		return err
	}
	r.takeSeats()
	r.Log.Info("runner up", "how", r.How, "nodes", r.g.Len())
	r.showAll()
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

// disconnected is closed when tmux can no longer be spoken to. Whoever runs in
// a pane then ends, and is started again by tmux, if that is still there.
func (r *Runner) disconnected() <-chan struct{} {
	if r.leaving != "" {
		return nil
	}
	return r.screen.Broken()
}
