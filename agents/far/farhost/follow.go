package farhost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
)

// follower takes in the journal of one far attempt.
type follower struct {
	h    *Host
	ref  host.Ref
	far  far.Ref
	spec *run.Spec
	job  far.Job
	need far.Need
	mark mark
	done chan struct{}

	mu      sync.Mutex
	asked   map[string]chan attempt.Reply
	machine string
	waits   string    // what it was said to wait for
	silent  time.Time // as recorded

	// Of the goroutine that follows.
	cursor far.Cursor
	code   far.Whole
}

// mark is what home's files held when the attempt began.
type mark struct {
	Events int64 `json:"events"`
	Log    int64 `json:"log"`
}

const maxMark = 4 << 10

func (h *Host) markPath(ref host.Ref) string {
	return filepath.Join(h.c.Run.NodeDir(ref.Node), fmt.Sprintf("far-%d.json", ref.N))
}

// note records how long the node's files are before its attempt begins.
func (h *Host) note(ref host.Ref) error {
	if h.uncollected(ref) {
		return nil
	}
	var m mark
	var errs [2]error
	m.Events, errs[0] = length(h.c.Run.Events(ref.Node))
	m.Log, errs[1] = length(h.c.Run.Log(ref.Node))
	b, err := json.Marshal(m)
	if err := errors.Join(err, errs[0], errs[1]); err != nil {
		return err
	}
	if err := signals.MkdirAll(h.c.Run.NodeDir(ref.Node), 0o700); err != nil {
		return err
	}
	return signals.PutFile(h.markPath(ref), b, 0o600)
}

// uncollected reports whether a machine may not know that an attempt is over.
func (h *Host) uncollected(ref host.Ref) bool {
	_, err := signals.ReadFile(h.markPath(ref), maxMark)
	return err == nil
}

func (h *Host) forget(ref host.Ref) error {
	err := signals.RemoveFile(h.markPath(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// follower returns one that knows how far its journal was taken in.
func (h *Host) follower(ref host.Ref, s *run.Spec, again bool) (*follower, error) {
	f := &follower{h: h, ref: ref, far: h.ref(ref), spec: s, done: make(chan struct{}), asked: make(map[string]chan attempt.Reply)}
	b, err := signals.ReadFile(h.markPath(ref), maxMark)
	if again && errors.Is(err, fs.ErrNotExist) { // home was killed before it was written, and before the attempt was opened
		if err = h.note(ref); err == nil {
			b, err = signals.ReadFile(h.markPath(ref), maxMark)
		}
	}
	if err == nil {
		err = json.Unmarshal(b, &f.mark)
	}
	if err != nil {
		return nil, err
	}
	def := s.Def
	f.need = far.Need{Labels: def.RunsOn, Kind: def.Agent, Accept: def.AutoAccept, Again: again}
	if err := h.c.Run.EachRecord(func(rec *run.Record) {
		if rec.Node != ref.Node {
			return
		}
		switch {
		case rec.Type == run.Claimed && rec.Attempt == ref.N:
			f.machine, f.need.Machine = rec.Value, rec.Value
		case rec.Type == run.Claimed:
			f.need.Prefer = rec.Value
		case rec.Type == run.Silent && rec.Attempt == ref.N:
			f.silent, _ = time.Parse(time.RFC3339Nano, rec.Value) // zero: it answered last
		}
		if rec.Attempt == ref.N {
			f.cursor.At = max(f.cursor.At, rec.Seq)
		}
	}); err != nil {
		return nil, err
	}
	f.job, err = h.makeJob(s, again)
	return f, err
}

// makeJob returns what a machine needs for an attempt, besides the code. again: a machine may
// have it already, and the files that travelled with it.
func (h *Host) makeJob(s *run.Spec, again bool) (far.Job, error) {
	plan := &h.c.Run.Plan
	alone := *plan.Graph
	node := *s.Def
	node.DependsOn, node.RunsOn = nil, nil
	alone.Nodes, alone.SendEnv = []dag.Node{node}, nil
	graph, err := alone.Encode()
	if err != nil {
		return far.Job{}, err
	}
	files, err := travelling(plan.Root, plan.Graph.Copy)
	if err != nil && !again {
		return far.Job{}, err
	}
	spec := *s
	if s.Frame != nil {
		frame := *s.Frame
		frame.Peers = nil // no other nodes are there
		spec.Frame = &frame
	}
	job := far.Job{
		Version: far.Version, Cmux: h.c.Cmux, Graph: graph, Spec: spec, Base: plan.Base,
		Env: plan.Graph.Sends(h.c.Env), Remote: h.remote(), LostAfter: node.GivenUpAfter(), SaveEvery: node.SavedEvery(),
		Asks: node.OnLost == dag.Ask, Files: files, Review: !node.HasBranch(),
	}
	err = h.c.Run.EachRecord(func(rec *run.Record) {
		if (rec.Type == run.Limited || rec.Type == run.Freed) && rec.Account == node.Account {
			job.Limits = append(job.Limits, *rec)
		}
	})
	return job, err
}

func (f *follower) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// follow takes in the journal until the attempt is over, or the Host is closed.
func (f *follower) follow() {
	defer close(f.done)
	var end *far.Entry
	err := f.h.c.Carrier.Open(f.h.ctx, f.far, f.need, f.job)
	if err == nil {
		err = f.h.c.Carrier.Follow(f.h.ctx, f.far, f.cursor.At, func(e far.Entry) error {
			next, err := f.cursor.Take(e.Seq)
			if err != nil || !next {
				return err
			}
			if e.Kind == far.End {
				end = &e
				return nil
			}
			return f.patiently(&e)
		})
	}
	if f.h.ctx.Err() != nil {
		return // the attempt goes on: whoever comes next follows it
	}
	f.finish(end, err)
}

// patiently takes in an entry, again for as long as this machine has no space or no files
// for it.
func (f *follower) patiently(e *far.Entry) error {
	for waited := false; ; waited = true {
		err := f.take(f.h.ctx, e)
		if err == nil || f.h.ctx.Err() != nil || !run.NoSpace(err) && !run.NoFiles(err) && !run.Cramped(f.h.c.Run.Dir) {
			return err
		}
		if !waited {
			f.h.c.Log.Error("what a machine says waits for space on this one", "node", f.ref.Node, "err", err)
		}
		select {
		case <-time.After(time.Second):
		case <-f.h.ctx.Done():
			return f.h.ctx.Err()
		}
	}
}

// finish passes on how the attempt ended.
func (f *follower) finish(end *far.Entry, err error) {
	machine := cmp.Or(f.machine, "no machine")
	if err != nil && !f.giveUp() {
		return // whoever comes next finds out
	}
	switch {
	case errors.Is(err, far.ErrClosed):
		err = fmt.Errorf("%s gave no sign for %s: it has ended the program and keeps its work", machine, since(f.job.LostAfter))
	case err != nil:
	case end == nil:
		err = fmt.Errorf("the journal of %s ended early", machine)
	case end.Record == nil:
		f.tell(run.End{Outcome: dag.Failed, Reason: dag.ReasonSetup, Exit: 1, Detail: cmp.Or(end.Error, "its machine gave no reason")}, nil)
		return
	case end.Record.End != nil:
		f.tell(f.checked(*end.Record.End), nil)
		return
	case end.Record.How == run.HowStopped:
		err = attempt.ErrStopped
	case end.Record.How == run.HowInterrupted:
		err = attempt.ErrInterrupted
	default:
		err = errors.New(cmp.Or(end.Record.Detail, "its program was killed on "+machine))
	}
	f.tell(run.End{}, err)
}

// tell passes an end on, unless the Host is closed before anybody takes it: then whoever
// comes next follows the journal to its end again.
func (f *follower) tell(end run.End, err error) {
	told := make(chan struct{})
	go func() { // ends with the process at the latest, when nobody takes the end any more
		defer close(told)
		f.h.c.Ended(f.ref, end, err)
	}()
	select {
	case <-told:
	case <-f.h.ctx.Done():
	}
}

// checked is an end as home can vouch for it: what it names as the branch's tip has come.
func (f *follower) checked(end run.End) run.End {
	branch := f.spec.Place.Branch
	if end.Tip == "" || branch == "" {
		end.Tip = ""
		return end
	}
	tip, err := f.h.c.Repo.Tip(f.h.ctx, branch)
	if err == nil && f.h.holds(f.h.ctx, tip, end.Tip) {
		return end
	}
	end.Outcome, end.Reason, end.Exit = dag.Failed, dag.ReasonSetup, 1
	end.Detail = fmt.Sprintf("its commits did not come: %.12s is not on %s", end.Tip, branch)
	if left, err := f.h.c.Repo.Resolve(f.h.ctx, f.left()); err == nil && f.h.holds(f.h.ctx, left, end.Tip) {
		end.Reason = dag.ReasonConflict
		end.Detail = fmt.Sprintf("%s has other commits here than on its machine, whose work is at %s: git merge it", branch, f.left())
	}
	end.Tip, end.Retry = "", false
	return end
}

// left is where work is kept that does not fit the branch here.
func (f *follower) left() string {
	return fmt.Sprintf("refs/cmux/left/far-%s-%d", f.ref.Node, f.ref.N)
}

// giveUp waits until no program of the attempt runs any more: its machine says so, or has
// lost its lease. It returns false if the Host is closed before.
func (f *follower) giveUp() bool {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if p, err := f.h.c.Carrier.Pulse(f.h.ctx, f.far); err == nil && p.State == far.Lost {
			return true
		}
		ctx, cancel := context.WithTimeout(f.h.ctx, closePatience)
		err := f.h.c.Carrier.Close(ctx, f.far, far.GivenUp)
		cancel()
		if err == nil {
			return true
		}
		select {
		case <-tick.C:
		case <-f.h.ctx.Done():
			return false
		}
	}
}

// closePatience is how long a machine may take to end a program before its lease is looked
// at again.
const closePatience = 10 * time.Second

// taken are the types of records that an attempt's machine may write: all others are
// home's, or about processes.
var taken = []run.Type{
	run.Began, run.Active, run.Wants, run.Granted, run.Conversed, run.Used, run.Limited, run.Freed, run.Output, run.Incident,
	run.Fenced, run.Filled, run.Posed, run.Noted,
}

// take takes in one entry.
func (f *follower) take(ctx context.Context, e *far.Entry) error {
	switch e.Kind {
	case far.Claimed:
		return f.claimed(ctx, e)
	case far.Record:
		if e.Record == nil || !slices.Contains(taken, e.Record.Type) {
			return nil
		}
		rec := *e.Record
		rec.Node, rec.Attempt, rec.Seq = f.ref.Node, f.ref.N, e.Seq
		rec.PID, rec.PIDStart, rec.Pane, rec.At = 0, 0, "", time.Time{}
		if rec.Type == run.Limited || rec.Type == run.Freed {
			rec.Account, rec.Shared = f.spec.Def.Account, nil
		}
		return f.h.c.Book.Append(ctx, rec)
	case far.Events:
		return f.events(ctx, e)
	case far.Log:
		return f.log(e)
	case far.Reply:
		if e.Reply != nil {
			f.replied(e.ID, *e.Reply)
		}
	case far.Post:
		return f.post(ctx, e)
	case far.Code:
		bundle, whole, err := f.code.Add(e)
		if err != nil || !whole {
			return err
		}
		return f.h.unpack(ctx, f, bundle)
	}
	return nil
}

var nameRE = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,99}$`)

// claimed records which machine has the attempt, and sends it the commits.
func (f *follower) claimed(ctx context.Context, e *far.Entry) error {
	if e.Claim == nil || !nameRE.MatchString(e.Claim.Machine) {
		return errors.New("a machine has claimed it without a name that can be shown")
	}
	f.mu.Lock()
	f.machine = e.Claim.Machine
	f.mu.Unlock()
	bundle, err := f.h.pack(ctx, f.spec, e.Claim.Has)
	if err != nil {
		return err
	}
	// Named by what it holds: packed again after a crash, it may hold something else.
	id := fmt.Sprintf("code-%x", sha256.Sum256(bundle))
	if err := f.h.c.Carrier.Put(ctx, f.far, far.Parts(far.Code, id, bundle)...); err != nil {
		return err
	}
	return f.h.c.Book.Append(ctx, run.Record{Type: run.Claimed, Node: f.ref.Node, Attempt: f.ref.N, Value: e.Claim.Machine, Seq: e.Seq})
}

// missing returns what a file of home, which has have bytes and had mark when the attempt
// began, lacks of an entry. A power cut may have cost the file its end: what comes behind the
// gap is taken in.
func (f *follower) missing(mark *int64, e *far.Entry, have int64) ([]byte, error) {
	if e.Offset > have-*mark && e.Offset < maxStream {
		f.h.c.Log.Warn("a part of what a machine said is lost here", "node", f.ref.Node, "bytes", e.Offset-(have-*mark))
		*mark = have - e.Offset
	}
	return far.Missing(e.Data, e.Offset, have-*mark)
}

// maxStream bounds how much output or how many events an attempt may have.
const maxStream = 1 << 40

// events adds what is new to the node's events.
func (f *follower) events(ctx context.Context, e *far.Entry) error {
	path := f.h.c.Run.Events(f.ref.Node)
	have, err := length(path)
	if err != nil {
		return err
	}
	lines, err := f.missing(&f.mark.Events, e, have)
	if err != nil || len(lines) == 0 {
		return err
	}
	log, err := signals.OpenLog(path)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(lines) {
		if err == nil && json.Valid(line) { // a wrapper that was killed may leave a part of one
			err = log.Append(ctx, false, bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	return errors.Join(err, log.Close())
}

// log adds what is new to the node's output.
func (f *follower) log(e *far.Entry) error {
	path := f.h.c.Run.Log(f.ref.Node)
	have, err := length(path)
	if err != nil {
		return err
	}
	b, err := f.missing(&f.mark.Log, e, have)
	if err != nil || len(b) == 0 {
		return err
	}
	if f.h.c.Live != nil {
		if w := f.h.c.Live(f.ref.Node); w != nil {
			w.Write(b)
		}
	}
	out, err := signals.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(b)
	return errors.Join(err, out.Close())
}

func length(path string) (int64, error) {
	f, err := signals.OpenFile(path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := f.Seek(0, io.SeekEnd)
	return n, errors.Join(err, f.Close())
}

// post sends a message of the attempt's agent, whose name home vouches for.
func (f *follower) post(ctx context.Context, e *far.Entry) error {
	if e.Message == nil || e.Message.Mail == nil {
		return nil
	}
	m := *e.Message.Mail
	m.From = mailbox.Address{Kind: mailbox.Node, Name: f.ref.Node}.String()
	m.ID = ""
	if _, err := f.h.c.Run.Post(ctx, m, e.Message.Files...); err != nil {
		f.h.c.Log.Warn("a message of a far agent was not sent", "node", f.ref.Node, "err", err)
		return nil
	}
	// On record, it is not sent again by a home that was killed.
	return f.h.c.Book.Append(ctx, run.Record{Type: run.Noted, Node: f.ref.Node, Attempt: f.ref.N, Detail: "sent a message: " + m.Subject, Seq: e.Seq})
}

// look records what changed about an attempt whose machine says nothing.
func (f *follower) look(ctx context.Context) error {
	p, err := f.h.c.Carrier.Pulse(ctx, f.far)
	if err != nil {
		return err
	}
	f.mu.Lock()
	waits, silent, machine := f.waits, f.silent, f.machine
	f.mu.Unlock()
	rec := run.Record{Node: f.ref.Node, Attempt: f.ref.N}
	switch {
	case p.State == far.Waiting && p.Why != waits && machine == "":
		waits = p.Why
		rec.Type, rec.Activity, rec.Detail = run.Active, dag.SettingUp, p.Why
	case p.Silent > silentAfter && silent.IsZero() && machine != "":
		silent = time.Now().Add(-p.Silent)
		rec.Type, rec.Value = run.Silent, silent.UTC().Format(time.RFC3339)
	case p.Silent <= silentAfter && !silent.IsZero():
		silent = time.Time{}
		rec.Type = run.Silent
	default:
		return nil
	}
	if err := f.h.c.Book.Append(ctx, rec); err != nil {
		return err
	}
	f.mu.Lock()
	f.waits, f.silent = waits, silent
	f.mu.Unlock()
	return nil
}

// link is the Link to a far attempt.
type link struct{ *follower }

func (l link) Gone() <-chan struct{} { return l.done }

// Close does nothing: the journal is followed until its end.
func (l link) Close() {}

// Say puts an order into the journal and waits for the reply. A machine that is silent gets
// it once it is heard again, which the error says.
func (l link) Say(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	f := l.follower
	id := rand.Text()
	answer := make(chan attempt.Reply, 1)
	f.mu.Lock()
	f.asked[id] = answer
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.asked, id)
		f.mu.Unlock()
	}()
	put := make(chan error, 1)
	f.h.tasks.Go(func() {
		put <- f.h.c.Carrier.Put(f.h.ctx, f.far, far.Entry{Kind: far.Order, ID: id, At: time.Now(), Message: &m})
	})
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case r := <-answer:
			if r.Error != "" {
				return r, errors.New(r.Error)
			}
			return r, nil
		case err := <-put:
			if err != nil {
				return attempt.Reply{}, fmt.Errorf("%w: %w", host.ErrGone, err)
			}
			put = nil
		case <-tick.C:
			if p, err := f.h.c.Carrier.Pulse(ctx, f.far); err == nil && p.Silent > silentAfter {
				return attempt.Reply{}, fmt.Errorf("kept for %s, silent for %s", cmp.Or(p.Machine, "its machine"), since(p.Silent))
			}
		case <-f.done:
			return attempt.Reply{}, host.ErrGone
		case <-ctx.Done():
			return attempt.Reply{}, ctx.Err()
		}
	}
}

func (f *follower) replied(id string, r attempt.Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if answer := f.asked[id]; answer != nil {
		delete(f.asked, id)
		answer <- r
	}
}
