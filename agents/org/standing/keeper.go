package standing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/kinds/agent"
	"cmux/agents/org/task"
	"cmux/agents/records/mail"
	"cmux/agents/runs/host"
	"cmux/agents/runs/lives"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/signals/mailbox"
)

const (
	// rescan is the safety net under every notification.
	rescan = 5 * time.Second
	// stopPatience bounds the wait for an agent that was asked to stop.
	stopPatience = 20 * time.Second
)

// Windows is where people see the agents.
type Windows interface {
	// Put says in which session of tmux the window of an agent is; empty: the
	// organization's. It is said before each of the others.
	Put(name, session string)
	// Close removes the window; that there is none is no error.
	Close(ctx context.Context, name string) error
	// Show says beside the window how the agent stands.
	Show(ctx context.Context, name string, w Word, detail string) error
	// Screen is the text in the window; empty where there is none.
	Screen(ctx context.Context, name string) (string, error)
	// Broken is closed when nothing can be shown any more; Err is why.
	Broken() <-chan struct{}
	Err() error
}

// Trees gives agents worktrees of their own and takes them back.
type Trees interface {
	// Foreign reports whether path is a worktree of another repository.
	Foreign(path string) bool
	// Lend makes the worktree, on the branch, or takes over what is there.
	Lend(ctx context.Context, path, branch, start, owner string) error
	// Start returns the commit that a new branch begins at: start with the
	// contributions merged into it. It returns "" if the branch exists. In
	// contributions it fills in missing commits, and In.
	Start(ctx context.Context, branch, start string, contributions []Contribution) (commit string, err error)
	// Switch checks a branch out in a worktree, made where start is if it is not
	// there, or start itself where branch is empty, and returns the commit that the work on it began at. What was not
	// committed is saved; restore brings it back, empty: there was nothing.
	Switch(ctx context.Context, path, branch, start, reason string) (commit, restore string, err error)
	// Head is the branch and the commit that are checked out in a folder that
	// agents share; empty: none, or the folder is in no repository.
	Head(ctx context.Context, dir string) (branch, commit string, err error)
	// Restore brings what a snapshot of the worktree holds back into it, where the branch
	// is checked out as it was then.
	Restore(ctx context.Context, path, branch, snapshot string) error
	// Remove saves what is in the worktree and removes it. restore brings back
	// what was not committed; empty: there was nothing.
	Remove(ctx context.Context, path, name, reason string) (restore string, err error)
}

// Options is what a Keeper is made of.
type Options struct {
	Root    string
	Windows Windows
	// Host opens the place where the agents live. It fills in Env where that is needed.
	Host   func(host.Config) (host.Host, error)
	Trees  Trees
	Kinds  agent.Kinds
	Launch string // names the start that this keeper serves
	Log    *log.Logger
	Now    func() time.Time
	// Tell receives the organization after each look that found something new.
	// It must not keep it.
	Tell func(*Org)
	// Bell rings where a person may hear it; nil: there is none.
	Bell func()
	// Patience bounds the wait for an agent that was asked to stop; 0: 20 s.
	Patience time.Duration
	// Wait bounds the wait for who else writes tasks or mail; 0: 10 s.
	Wait time.Duration
}

// Keeper keeps the agents of a project alive and carries out what is asked for.
// Its fields belong to the goroutine of Run.
type Keeper struct {
	Options
	org   *Org
	lock  *signals.Lock
	host  host.Host
	lives *lives.Table // those that are spoken to

	parting   map[string]*parting
	shown     map[string]string
	watched   []string
	broken    string // as told last
	watch     *signals.Watcher
	started   chan startedRun
	orders    map[string]*ordering // runs that are being started, by request
	tasks     sync.WaitGroup
	halting   *run.Request // the request to stop everything that is under way
	office    *mail.Office // nil: not open yet
	nodes     goneNodes
	rooms     rooms
	trees     roomTrees
	tellRest  time.Time            // no message about spent budgets until then
	endedTurn map[string]time.Time // by agent: when a turn was broken off for a spent budget
	mailRest  time.Time            // until when the mail is left alone
	desk      desk
	share     share
	noticed   noticed
	over      bool
	next      time.Time // when to look again, whatever happens
}

// parting is a life that was asked to end.
type parting struct {
	n     int
	until time.Time // then it is ended
	asked bool
	ended bool
}

// Run keeps the organization until it is stopped or ctx ends, which leaves its
// agents at work. A *signals.HeldError says that another keeper has it.
func Run(ctx context.Context, o Options) (err error) {
	k, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	return k.keep(ctx)
}

func open(ctx context.Context, o Options) (*Keeper, error) {
	k := &Keeper{Options: o, parting: make(map[string]*parting),
		shown: make(map[string]string), started: make(chan startedRun), orders: make(map[string]*ordering),
		endedTurn: make(map[string]time.Time), nodes: goneNodes{gone: make(map[string]string), seen: make(chan map[string]string)}}
	k.rooms = rooms{k, make(map[string]*openRoom)}
	if k.Log == nil {
		k.Log = log.New(io.Discard)
	}
	if k.Now == nil {
		k.Now = time.Now
	}
	if k.Patience == 0 {
		k.Patience = stopPatience
	}
	if k.Wait == 0 {
		k.Wait = bookPatience
	}
	if err := signals.Init(o.Root); err != nil {
		return nil, err
	}
	r, err := run.OpenOrganization(o.Root)
	if err != nil {
		return nil, err
	}
	take := r.TryLock
	if k.Launch != "" { // in the place of one that may be about to leave
		take = func() (*signals.Lock, error) { return r.AwaitLock(ctx) }
	}
	if k.lock, err = take(); err != nil {
		return nil, err
	}
	if k.org, err = Open(o.Root); err != nil {
		return nil, errors.Join(err, k.lock.Unlock())
	}
	if k.host, err = k.Host(host.Config{Run: k.org.Run, Kinds: k.Kinds, Log: k.Log, Told: ctx, Go: k.tasks.Go,
		Left: func(ref host.Ref) { k.lives.Left(ref) }}); err != nil {
		return nil, errors.Join(err, k.lock.Unlock())
	}
	k.trees = newRoomTrees(&k.rooms)
	k.lives = lives.New(k.host, k.Log, lives.Policy{Again: k.again, Lost: k.died})
	k.openShare()
	return k, nil
}

func (k *Keeper) close() error {
	if k.watch != nil {
		k.watch.Close()
	}
	k.lives.Close()
	k.tasks.Wait()
	return errors.Join(k.host.Close(), k.share.Close(), k.lock.Unlock())
}

func (k *Keeper) keep(ctx context.Context) error {
	tasks, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what is under way when ctx ends is ended in order
	defer cancel()
	host, _ := os.Hostname()
	if err := k.org.Record(tasks, run.Record{Type: run.RunnerUp, PID: os.Getpid(), Launch: k.Launch, Detail: host}); err != nil {
		return err
	}
	k.Log.Info("the organization is kept", "agents", len(k.org.Agents))
	net := time.NewTicker(rescan)
	defer net.Stop()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		if err := k.advance(tasks); err != nil {
			return err
		}
		if k.over {
			k.Log.Info("the organization is stopped")
			return k.org.Record(tasks, run.Record{Type: run.RunnerDown, How: run.HowStopped})
		}
		k.arm(wake)
		k.rewatch(tasks)
		select {
		case <-ctx.Done():
			return k.org.Record(tasks, run.Record{Type: run.RunnerDown, How: run.HowInterrupted})
		case n := <-k.watch.C:
			if n.Err != nil {
				k.Log.Warn("file events are not to be had; looking every 5 s", "err", n.Err)
			}
		case ref := <-k.lives.Gone():
			if !k.lives.Of(ref.Node).Stands() {
				k.lives.Drop(ref.Node, ref.N)
			}
		case f := <-k.trees.Found:
			if err := k.trees.changed(tasks, f); err != nil {
				k.Log.Error("a change of a checkout could not be reported", "root", f.Root, "err", err)
			}
		case seen := <-k.nodes.seen:
			k.nodes.take(seen)
		case s := <-k.started:
			if o := k.orders[s.id]; o != nil {
				o.over, o.said, o.err = true, s.said, s.err
			}
		case <-wake.C:
		case <-net.C:
		case <-k.Windows.Broken():
			return k.Windows.Err()
		}
	}
}

// advance takes in what is new, carries out what is asked for and does what is
// due.
func (k *Keeper) advance(ctx context.Context) error {
	if err := k.lock.Check(); err != nil {
		return err // another keeper can come, or has; tmux starts this one again
	}
	if err := k.org.Look(); err != nil {
		return err
	}
	if text := fmt.Sprint(k.org.Broken); len(k.org.Broken) > 0 && text != k.broken {
		k.broken = text
		k.Log.Warn("the records of agents cannot be read", "agents", text)
	}
	k.next = time.Time{}
	for name, a := range k.org.Agents {
		k.Windows.Put(name, a.Member.Session)
	}
	if err := k.requests(ctx); err != nil {
		return err
	}
	for _, name := range k.org.Names() {
		if err := k.tend(ctx, k.org.Agents[name]); err != nil { // the others are looked after all the same
			k.Log.Error("an agent could not be looked after; trying again", "agent", name, "err", err)
			k.at(k.Now().Add(time.Second))
		}
	}
	k.shares(ctx)
	k.rooms.carry(ctx)
	k.trees.tend(ctx)
	k.mails(ctx)
	k.rooms.mailGuests(ctx)
	if err := k.tellCompacted(ctx); err != nil { // tried again at the next look
		k.Log.Error("an agent could not be told that it was compacted", "err", err)
		k.at(k.Now().Add(time.Second))
	}
	if err := k.budgets(ctx); err != nil { // tried again at the next look
		k.Log.Error("budgets could not be looked after", "err", err)
		k.at(k.Now().Add(time.Second))
	}
	k.assigns(ctx)
	k.notifies(ctx)
	if err := k.halt(ctx); err != nil {
		return err
	}
	k.show(ctx)
	if err := k.org.WriteRegistry(); err != nil {
		k.Log.Error("the registry could not be written", "err", err)
	}
	if k.Tell != nil {
		k.Tell(k.org)
	}
	return nil
}

// arm sets the timer for what is due next.
func (k *Keeper) arm(wake *time.Timer) {
	if k.next.IsZero() {
		wake.Stop()
		return
	}
	wake.Reset(max(0, k.next.Sub(k.Now())))
}

// at has the keeper look again at a moment.
func (k *Keeper) at(t time.Time) {
	if k.next.IsZero() || t.Before(k.next) {
		k.next = t
	}
}

// rewatch watches what is there now: requests, and the records of every agent.
func (k *Keeper) rewatch(ctx context.Context) {
	want := []string{k.org.Run.Requests(), filepath.Join(run.Folder(k.org.Root()), mailbox.Name), filepath.Join(run.Folder(k.org.Root()), task.Name)}
	for _, name := range k.org.Names() {
		want = append(want, k.org.Run.AgentRecords(name))
	}
	want = append(want, k.rooms.files()...)
	want = append(want, k.shared()...)
	if k.watch != nil && slices.Equal(want, k.watched) {
		return
	}
	if k.watch != nil {
		k.watch.Close()
	}
	k.watch, k.watched = signals.Watch(ctx, want...), want
}

// show shows how the agents stand where people look.
func (k *Keeper) show(ctx context.Context) {
	for name, a := range k.org.Agents {
		w, detail := a.Stands(k.Now(), k.org.Stopped)
		if text := string(w) + "\x00" + detail; k.shown[name] != text {
			k.shown[name] = text
			if err := k.Windows.Show(ctx, name, w, detail); err != nil {
				k.Log.Debug("a window does not show what is new", "agent", name, "err", err)
			}
		}
	}
}
