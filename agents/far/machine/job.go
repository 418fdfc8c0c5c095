package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// request is what home asked for.
type request struct {
	Home string    `json:"home"`
	Need far.Need  `json:"need"`
	Job  far.Job   `json:"job"`
	At   time.Time `json:"at"`
}

// fate says how an attempt is over for the journal.
type fate struct {
	Why      string    `json:"why"`
	At       time.Time `json:"at"`
	Snapshot string    `json:"snapshot,omitempty"` // of the work as the program left it
	Done     bool      `json:"done,omitempty"`     // the program is known to have ended
}

// Names of files in a job's folder.
const (
	jobFile    = "job.json"
	lostFile   = "lost.json"
	closedFile = "closed.json"
	keptFile   = "kept.json"
	wrapperLog = "wrapper.log" // is there before a program is started
)

// job is one attempt on this machine.
type job struct {
	w     *Worker
	ref   far.Ref
	dir   string
	asked request
	in    *journal
	out   *outbox
	begun *journal // orders that were passed on, or may have been

	turn bell // rings when the lease or the fate has changed

	mu       sync.Mutex
	lease    far.Lease
	lost     *fate
	shut     *fate // closed by home
	kept     *fate // ended, and home did not get its work
	unwanted bool  // nothing of it may start
}

// errUnwanted means that the attempt's program may not run any more.
var errUnwanted = errors.New("the attempt was given up")

// makeJob makes the folder of a job. Its file is the last to be written.
func makeJob(ctx context.Context, w *Worker, ref far.Ref, asked request) (*job, error) {
	dir := w.jobDir(ref)
	if err := signals.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	if err := signals.WriteFile(filepath.Join(dir, jobFile), b, 0o600); err != nil {
		return nil, err
	}
	return readJob(w, dir)
}

// readJob reads a job from its folder.
func readJob(w *Worker, dir string) (*job, error) {
	rel, err := filepath.Rel(filepath.Join(w.o.Dir, "jobs"), dir)
	if err != nil {
		return nil, err
	}
	j := &job{w: w, dir: dir}
	if j.ref, err = far.ParseRef(filepath.ToSlash(rel)); err != nil {
		return nil, err
	}
	if err := readJSON(j.path(jobFile), &j.asked); err != nil {
		return nil, err
	}
	for name, f := range map[string]**fate{lostFile: &j.lost, closedFile: &j.shut, keptFile: &j.kept} {
		if err := readJSON(j.path(name), f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	j.unwanted = j.lost != nil || j.shut != nil
	if j.lease, _, err = readLease(dir); err != nil {
		return nil, err
	}
	j.lease.For, j.lease.Asks = j.asked.Job.LostAfter, j.asked.Job.Asks
	if j.in, err = openJournal(j.path("in.jsonl"), nil); err != nil {
		return nil, err
	}
	if j.begun, err = openJournal(j.path("begun.jsonl"), nil); err != nil {
		return nil, err
	}
	j.out, err = openOutbox(j.path("out.jsonl"))
	return j, err
}

func readJSON(path string, v any) error {
	b, err := signals.ReadFile(path, signals.MaxFile)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (j *job) path(name string) string { return filepath.Join(j.dir, name) }

// root and tree are of the node: its next attempt on this machine continues there, with the
// conversation that was held there.
func (j *job) root() string { return filepath.Join(j.w.nodeDir(j.ref), "repo") }
func (j *job) tree() string { return filepath.Join(j.w.nodeDir(j.ref), "tree") }

func (j *job) host() host.Ref { return host.Ref{Node: j.ref.Node, N: j.ref.N} }

func (j *job) closed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.shut != nil
}

// over reports whether nothing is left to do for the job.
func (j *job) over() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range []*fate{j.lost, j.shut} {
		if f != nil && !f.Done {
			return false
		}
	}
	return j.lost != nil || j.shut != nil || j.out.ended()
}

// state is how the job stands for home. One whose lease is over ends when its program has.
func (j *job) state() far.State {
	switch {
	case j.out.ended():
		return far.Ended
	case j.out.claimed():
		return far.Working
	}
	return far.Waiting
}

// renew takes in that home accepted a heartbeat.
func (j *job) renew(sent time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lease.Renewed(sent, now())
	if j.lease.Over(now()) || j.unwanted {
		return
	}
	if err := writeLease(j.dir, sent, &j.lease); err != nil {
		j.w.o.Log.Error("a lease cannot be kept", "attempt", j.ref.String(), "err", err)
	}
	j.turn.ring()
}

// live carries the job out until it has ended, is lost or closed, or the worker leaves. Its
// fence is independent of all else.
func (j *job) live(ctx context.Context) {
	defer j.w.free(j)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() {
		defer close(over)
		if j.wanted() {
			j.carry(ctx)
		}
	})
	all.Go(func() { j.fence(ctx, cancel, over) })
	all.Wait()
}

func (j *job) wanted() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.unwanted
}

// look is how often a fence looks at its lease at least: the machine may have been
// suspended.
const look = time.Second

// fence ends the program when the lease is over or home gives the attempt up. carried is
// closed when the job has nothing more to do.
func (j *job) fence(ctx context.Context, cancel context.CancelFunc, carried <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		turn := j.turn.wait()
		j.mu.Lock()
		over, left, unwanted := j.lease.Over(now()), j.lease.Left(now()), j.unwanted
		j.mu.Unlock()
		if over || unwanted {
			if !unwanted && !j.lose() {
				<-carried // it has ended by itself meanwhile
				return
			}
			cancel()
			j.finish(j.w.ctx, carried)
			return
		}
		if left == 0 || left > look {
			left = look
		}
		timer.Reset(left)
		select {
		case <-turn:
		case <-timer.C:
		case <-carried:
			if j.wanted() {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// lose records that the lease is over, unless the attempt's end is in the journal.
func (j *job) lose() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.out.ended() {
		return false
	}
	j.unwanted = true
	j.lost = &fate{Why: fmt.Sprintf("%s had no contact with home for %s", j.w.o.Machine.Name, j.lease.For), At: time.Now()}
	if err := writeFate(j.path(lostFile), j.lost); err != nil { // the program is ended all the same
		j.w.o.Log.Error("a lost attempt cannot be recorded", "attempt", j.ref.String(), "err", err)
	}
	return true
}

// keep records that the work of an attempt stays here if err, with which it ends, says so.
func (j *job) keep(err error) error {
	if _, ok := err.(*stays); !ok {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kept = &fate{Why: err.Error(), At: time.Now(), Done: true}
	return writeFate(j.path(keptFile), j.kept)
}

func writeFate(path string, f *fate) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return signals.WriteFile(path, b, 0o600)
}

// close records that the attempt is over for home. If home has given it up, close returns
// when no program of it runs and none will.
func (j *job) close(ctx context.Context, why far.Why) error {
	if err := j.shutOff(why); err != nil || why != far.GivenUp {
		return errors.Join(err, ctx.Err())
	}
	for {
		turn := j.turn.wait()
		j.mu.Lock()
		done := j.shut.Done
		j.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return ctx.Err()
		case <-j.w.ctx.Done(): // the next worker ends it
			return j.w.ctx.Err()
		}
	}
}

// shutOff has the attempt closed, once.
func (j *job) shutOff(why far.Why) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.shut != nil {
		return nil
	}
	f := &fate{Why: string(why), At: time.Now(), Done: j.out.ended() || j.lost != nil && j.lost.Done}
	if err := writeFate(j.path(closedFile), f); err != nil {
		return err
	}
	j.shut, j.unwanted = f, true
	j.turn.ring()
	j.out.news.ring()
	return nil
}

// halt ends what runs of the attempt, which may not be started any more, and returns its
// run; nil: none was made. It fails only if ctx ends before it can.
func (j *job) halt(ctx context.Context) (*run.Run, error) {
	for {
		r, err := run.Open(j.root(), j.ref.Run)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil {
			err = endProgram(context.WithoutCancel(ctx), r, j.host(), j.w.o.Limits.Patience())
		} else if _, e := signals.Type(j.path(wrapperLog)); errors.Is(e, fs.ErrNotExist) {
			return nil, nil // no program was ever started
		}
		if err == nil {
			return r, nil
		}
		j.w.o.Log.Error("the program of an attempt cannot be ended", "attempt", j.ref.String(), "err", err)
		if !pause(ctx, look) {
			return nil, ctx.Err()
		}
	}
}

// finish ends what runs of an attempt that is lost or given up, and keeps its work. If the
// worker leaves before the program has ended, the next one does it.
func (j *job) finish(ctx context.Context, carried <-chan struct{}) {
	r, err := j.halt(ctx)
	<-carried
	if err != nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	snapshot := ""
	if r != nil {
		if snapshot, err = j.snapshot(ctx, "the attempt was given up"); err != nil {
			j.w.o.Log.Error("no snapshot was taken", "attempt", j.ref.String(), "err", err)
		}
		if err := r.DropEnv(); err != nil {
			j.w.o.Log.Error("the environment of an attempt cannot be deleted", "attempt", j.ref.String(), "err", err)
		}
	}
	j.forget(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost != nil && !j.out.ended() {
		// Its work does not come home: home redoes the attempt.
		rec := run.Record{Type: run.Vanished, At: time.Now(), Node: j.ref.Node, Attempt: j.ref.N, How: run.HowLost, Detail: j.lost.Why + "; its work is kept there"}
		if err := j.out.number(ctx, far.Entry{Kind: far.End, Record: &rec}); err != nil {
			j.w.o.Log.Error("a lost attempt cannot be recorded", "attempt", j.ref.String(), "err", err)
			return // the next worker does it
		}
	}
	for name, f := range map[string]*fate{lostFile: j.lost, closedFile: j.shut} {
		if f == nil {
			continue
		}
		f.Done, f.Snapshot = true, snapshot
		if err := writeFate(j.path(name), f); err != nil {
			j.w.o.Log.Error("the end of an attempt cannot be recorded", "attempt", j.ref.String(), "err", err)
		}
	}
	j.turn.ring()
	j.out.news.ring()
}

// forget removes what an attempt that is over does not need: its environment.
func (j *job) forget(context.Context) {
	asked := j.asked
	asked.Job.Env, asked.Job.Files = nil, nil
	b, err := json.Marshal(asked)
	if err == nil {
		err = signals.WriteFile(j.path(jobFile), b, 0o600)
	}
	if err != nil {
		j.w.o.Log.Error("the environment of an attempt cannot be deleted", "attempt", j.ref.String(), "err", err)
	}
}

// end writes the last entry, unless the attempt is not wanted any more.
func (j *job) end(ctx context.Context, e far.Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unwanted {
		return errUnwanted
	}
	e.Kind = far.End
	return j.out.number(ctx, e)
}

// stops are the orders that end an attempt.
func stops(op attempt.Op) bool {
	return op == attempt.OpCancel || op == attempt.OpStop || op == attempt.OpBreak
}
