package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cmux/agents/far"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree"
	"cmux/worktree/git"
)

const (
	chunk = 192 << 10 // bytes of a log or of events in an entry
	// maxLog bounds the output that travels by itself.
	maxLog = 4 << 20
	// manyBatches is the number of entries behind which they travel seldom.
	manyBatches = 12000
	seldom      = 5 * time.Minute
	slowLook    = 2 * time.Second
	// sayWait is how long an order keeps the next one back: it is with the attempt by then.
	sayWait = 250 * time.Millisecond
)

// work forwards in both directions until the attempt has ended, and ends the job. What
// fails meanwhile is tried again: the program works on.
func (j *job) work(ctx context.Context, r *run.Run, repo *worktree.Repo, started <-chan struct{}) error {
	t := &tail{job: j, run: r}
	if err := readJSON(j.path(originFile), &t.from); err != nil {
		return err
	}
	t.at = t.from.Records
	alive, over := context.WithCancel(ctx)
	defer over()
	var all sync.WaitGroup
	var unseen error
	all.Go(func() {
		defer over()
		unseen = j.persist(ctx, "an attempt cannot be watched", func() error { return j.await(ctx, r, started) })
	})
	all.Go(func() {
		j.patiently(alive, "records and output cannot be forwarded", func() error { return t.follow(alive) })
	})
	all.Go(func() { j.patiently(alive, "orders cannot be passed on", func() error { return j.orders(alive, r) }) })
	all.Go(func() { j.saving(alive, repo) })
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if unseen != nil {
		return unseen
	}
	var end far.Entry
	err := j.persist(ctx, "an attempt's end cannot be forwarded", func() (err error) {
		if err = t.rest(ctx); err == nil {
			err = t.flush(ctx)
		}
		if err == nil {
			end, err = j.last(ctx, r, repo)
		}
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.DropEnv(); err != nil {
		j.w.o.Log.Error("the environment of an attempt cannot be deleted", "attempt", j.ref.String(), "err", err)
	}
	if err != nil {
		return err
	}
	j.forget(ctx)
	return j.end(ctx, end)
}

// patiently calls f again until it succeeds or ctx ends.
func (j *job) patiently(ctx context.Context, what string, f func() error) {
	for {
		err := f()
		if err == nil || ctx.Err() != nil {
			return
		}
		j.w.o.Log.Error(what, "attempt", j.ref.String(), "err", err)
		if !pause(ctx, again) {
			return
		}
	}
}

// maxTries is how often what has no known reason to pass by itself is tried.
const maxTries = 20

// stays is the error of an attempt whose work home does not get: the machine keeps it.
type stays struct{ error }

// persist calls f like patiently. If it fails all the same, for another reason than a lack of
// space or files, the work of the attempt stays.
func (j *job) persist(ctx context.Context, what string, f func() error) (err error) {
	failed := 0
	j.patiently(ctx, what, func() error {
		err = f()
		if err != nil && !passes(err) {
			failed++
		}
		if _, final := err.(*stays); final || failed >= j.w.o.maxTries {
			return nil
		}
		return err
	})
	if _, final := err.(*stays); err == nil || final || ctx.Err() != nil {
		return err
	}
	return &stays{fmt.Errorf("its work cannot be sent: %w; it stays on %s, in %s", err, j.w.o.Machine.Name, j.tree())}
}

// last sends the code of the attempt, and returns its last entry.
func (j *job) last(ctx context.Context, r *run.Run, repo *worktree.Repo) (far.Entry, error) {
	f, err := j.facts(r)
	if err != nil {
		return far.Entry{}, err
	}
	if f.end == nil {
		return far.Entry{}, errors.New("its end is not on record")
	}
	if _, err := host.EndLeft(ctx, r, []host.Ref{j.host()}, j.w.o.Limits.Patience()); err != nil {
		j.w.o.Log.Error("what an attempt left running cannot be ended", "attempt", j.ref.String(), "err", err)
	}
	code, size, err := pack(ctx, repo, j.asked.Job.Spec.Place.Branch, j.path("home.bundle"), j.w.o.maxCode)
	if err != nil {
		return far.Entry{}, err
	}
	if _, _, _, sent := j.out.sent(); sent+size > j.w.o.maxCode {
		return far.Entry{}, &stays{fmt.Errorf("the work of the attempt takes %d MB and %d MB travel: it stays on %s, in %s",
			(sent+size)>>20, j.w.o.maxCode>>20, j.w.o.Machine.Name, j.tree())}
	}
	if code != nil {
		if err := j.out.number(ctx, far.Parts(far.Code, "end", code)...); err != nil {
			return far.Entry{}, err
		}
	}
	rec := *f.end
	rec.Marker = nil
	return far.Entry{Record: &rec}, nil
}

// saving sends unfinished work home from time to time.
func (j *job) saving(ctx context.Context, repo *worktree.Repo) {
	every := j.asked.Job.SaveEvery
	if every <= 0 {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var was string
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		is, err := j.save(ctx, repo, was)
		if err != nil && ctx.Err() == nil {
			j.w.o.Log.Error("unfinished work cannot be sent home", "attempt", j.ref.String(), "err", err)
			continue
		}
		was = is
	}
}

// save sends the work as it is, unless it is as it was, and returns what it is.
func (j *job) save(ctx context.Context, repo *worktree.Repo, was string) (is string, err error) {
	s := &j.asked.Job.Spec
	tip := ""
	if s.Place.Branch != "" {
		if tip, err = repo.Tip(ctx, s.Place.Branch); err != nil {
			return was, err
		}
	}
	if _, err := signals.Type(j.tree()); err == nil {
		snap, err := repo.Snapshot(ctx, j.tree(), worktree.SnapshotSpec{Name: j.ref.Node, Reason: "unfinished work on " + j.w.o.Machine.Name})
		if err != nil {
			return was, err
		}
		if snap != nil {
			// The snapshot itself holds the time.
			out, err := git.Run(ctx, repo.Root, "rev-parse", snap.Commit+"^1", snap.Commit+"^2^{tree}", snap.Commit+"^3^{tree}")
			if err != nil {
				return was, err
			}
			is = strings.Join(strings.Fields(out), " ")
			// The attempt's own snapshots stay, and of these one.
			old := j.path("saved")
			if is == was {
				return was, repo.DeleteRef(ctx, snap.Ref, snap.Commit)
			}
			if b, err := signals.ReadFile(old, 1<<16); err == nil {
				ref, commit, _ := strings.Cut(string(b), " ")
				if err := repo.DeleteRef(ctx, ref, commit); err != nil && !errors.Is(err, git.ErrBadRef) {
					return was, err
				}
			}
			if err := signals.WriteFile(old, []byte(snap.Ref+" "+snap.Commit), 0o600); err != nil {
				return was, err
			}
		}
	}
	if is = tip + " " + is; is == was {
		return was, nil
	}
	code, _, err := pack(ctx, repo, s.Place.Branch, j.path("saved.bundle"), j.w.o.maxCode)
	if err != nil || code == nil { // also one that is too large for the end
		return is, err
	}
	if _, _, _, sent := j.out.sent(); sent+int64(len(code)) > j.w.o.maxCode/2 {
		return is, nil // the rest is for the end
	}
	parts := far.Parts(far.Code, fmt.Sprintf("saved-%d", time.Now().UnixNano()), code)
	return is, j.out.number(ctx, append(parts, far.Entry{Kind: far.Saved})...)
}

// tail forwards what the attempt writes.
type tail struct {
	*job
	run     *run.Run
	from    origins
	at      int64        // in the records
	seen    int          // records for home before at
	pending []run.Record // of them, those that are not in the journal
	post    mailbox.Place
}

// travels reports whether a record of the shadow run is for home.
func (j *job) travels(rec *run.Record) bool {
	if rec.Node == "" {
		return rec.Type == run.Noted || rec.Type == run.Incident
	}
	if rec.Node != j.ref.Node || rec.Attempt != j.ref.N {
		return false
	}
	switch rec.Type {
	case run.Began, run.Active, run.Wants, run.Conversed, run.Used, run.Limited, run.Freed, run.Incident, run.Output,
		run.Told, run.Confirmed, run.Replied, run.Posed, run.Fenced, run.Filled, run.Compacting, run.Compacted, run.Noted:
		return true
	}
	return false // home writes the others
}

// urgent reports whether somebody waits for a record.
func urgent(rec *run.Record) bool {
	switch rec.Type {
	case run.Active, run.Wants, run.Limited, run.Freed, run.Began, run.Output, run.Incident:
		return true
	}
	return false
}

// read reads new records.
func (t *tail) read() (soon bool, err error) {
	_, _, sent, _ := t.out.sent()
	t.at, err = t.run.EachRecordFrom(t.at, func(rec *run.Record) {
		if rec.Node == t.ref.Node && rec.Attempt == t.ref.N && rec.Type == run.Active {
			if rec.Activity == dag.NeedsInput || rec.Activity == dag.AtLimit {
				t.w.free(t.job)
			} else {
				t.w.resume(t.job)
			}
		}
		if !t.travels(rec) {
			return
		}
		if t.seen++; t.seen <= sent {
			return
		}
		r := *rec
		r.Node, r.Attempt = t.ref.Node, t.ref.N
		r.PID, r.PIDStart, r.Pane, r.Place = 0, 0, "", nil // of this machine alone
		t.pending, soon = append(t.pending, r), soon || urgent(rec)
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return soon, err
}

// follow forwards until ctx ends.
func (t *tail) follow(ctx context.Context) error {
	node := t.run.NodeDir(t.ref.Node)
	w := signals.Watch(ctx, node, t.run.Records(), filepath.Join(run.Folder(t.run.Plan.Root), mailbox.Name))
	defer w.Close()
	slow := time.NewTicker(slowLook)
	defer slow.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	timer.Stop()
	armed := false
	changes := w.C
	for {
		select {
		case _, ok := <-changes:
			if !ok {
				changes = nil
			}
		case <-slow.C:
		case <-timer.C:
			armed = false
			if err := t.flush(ctx); err != nil {
				return err
			}
			continue
		case <-ctx.Done():
			return nil
		}
		soon, err := t.read()
		if err != nil {
			return err
		}
		if soon {
			if err := t.flush(ctx); err != nil {
				return err
			}
		} else if !armed {
			armed = true
			wait := t.w.o.batch
			if t.out.durable() > manyBatches {
				wait = seldom
			}
			timer.Reset(wait)
		}
	}
}

// flush puts all that is new into the journal.
func (t *tail) flush(ctx context.Context) error {
	if _, err := t.read(); err != nil {
		return err
	}
	log, events, _, _ := t.out.sent()
	var entries []far.Entry
	add := func(kind far.Kind, path string, from, at, most int64, lines bool) error {
		for at < most {
			b, err := part(path, from+at, min(chunk, most-at))
			if err == nil && lines {
				b, err = whole(path, from+at, b)
			}
			if err != nil || len(b) == 0 {
				return err
			}
			entries = append(entries, far.Entry{Kind: kind, Offset: at, Data: b})
			at += int64(len(b))
		}
		return nil
	}
	if err := add(far.Log, t.run.Log(t.ref.Node), t.from.Log, log, t.w.o.maxLog, false); err != nil {
		return err
	}
	if err := add(far.Events, t.run.Events(t.ref.Node), t.from.Events, events, signals.MaxFile, true); err != nil {
		return err
	}
	for i := range t.pending {
		entries = append(entries, far.Entry{Kind: far.Record, Record: &t.pending[i]})
	}
	posts, err := t.posts()
	if err != nil {
		return err
	}
	entries = append(entries, posts...)
	_, _, was, _ := t.out.sent()
	err = t.out.number(ctx, entries...)
	_, _, is, _ := t.out.sent()
	t.pending = t.pending[is-was:] // after an error, a part of them may be there
	if err != nil {
		t.post = mailbox.Place{}
	}
	return err
}

// rest records, once, that a part of the output does not travel.
func (t *tail) rest(ctx context.Context) error {
	b, err := part(t.run.Log(t.ref.Node), t.from.Log+t.w.o.maxLog, 1)
	if err != nil || len(b) == 0 {
		return err
	}
	detail := fmt.Sprintf("the output after %d KB stays on %s, in %s", t.w.o.maxLog>>10, t.w.o.Machine.Name, t.run.Log(t.ref.Node))
	told := false
	if _, err := t.run.EachRecordFrom(t.from.Records, func(rec *run.Record) { told = told || rec.Detail == detail }); err != nil || told {
		return err
	}
	book, err := t.run.OpenBook()
	if err != nil {
		return err
	}
	err = book.Append(ctx, run.Record{Type: run.Noted, Node: t.ref.Node, Attempt: t.ref.N, Detail: detail})
	return errors.Join(err, book.Close())
}

// part reads at most n bytes of a file from an offset on.
func part(path string, at, n int64) ([]byte, error) {
	f, err := signals.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, at, n))
	return b, err
}

// whole cuts b, which begins at an offset of a file of lines, behind its last line. A line
// that is longer than b is read to its end.
func whole(path string, at int64, b []byte) ([]byte, error) {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return b[:i+1], nil
	}
	if len(b) < chunk {
		return nil, nil // it is being written
	}
	b, err := part(path, at, 16*chunk)
	i := bytes.IndexByte(b, '\n')
	return b[:i+1], err
}

// posts returns the messages of the attempt's agent that are not in the journal.
func (t *tail) posts() (entries []far.Entry, err error) {
	if _, err := os.Lstat(filepath.Join(run.Folder(t.run.Plan.Root), mailbox.Name)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	box, err := mail.Box(t.run.Plan.Root)
	if err != nil {
		return nil, err
	}
	reading, err := box.Read(t.post, t.out.hasPost, func(l mailbox.Line) error {
		if !l.Verified {
			return nil
		}
		m := l.Message
		body, err := mail.Body(box, &m)
		if err != nil {
			return err
		}
		m.Body = body
		entries = append(entries, far.Entry{Kind: far.Post, Message: &attempt.Message{Op: attempt.OpSend, Mail: &m}})
		return nil
	})
	if err == nil {
		t.post = reading.Next
	}
	return entries, err
}

// orders passes on what home orders, each once.
func (j *job) orders(ctx context.Context, r *run.Run) error {
	var all sync.WaitGroup
	defer all.Wait()
	var at int64
	for {
		news := j.in.news.wait()
		next, err := j.in.each(at, func(e *far.Entry, next int64) error {
			switch {
			case e.Kind == far.Limit && e.Record != nil:
				if err := j.learn(ctx, r, e); err != nil {
					return err
				}
			case e.Kind == far.Order && e.Message != nil && !j.out.hasReply(e.ID):
				// A message may wait for its answer. The next one does not wait for that.
				said := make(chan struct{})
				all.Go(func() {
					defer close(said)
					j.patiently(ctx, "an order cannot be passed on", func() error { return j.order(ctx, r, e) })
				})
				t := time.NewTimer(sayWait)
				defer t.Stop()
				select {
				case <-said:
				case <-t.C:
				}
			}
			at = next
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		at = next
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
	}
}

// learn records a limit that home has learned of.
func (j *job) learn(ctx context.Context, r *run.Run, e *far.Entry) error {
	if j.begun.known(e.ID) {
		return nil
	}
	book, err := r.OpenBook()
	if err != nil {
		return err
	}
	if err := errors.Join(book.Append(ctx, limit(*e.Record)), book.Close()); err != nil {
		return err
	}
	return j.begun.put(ctx, []far.Entry{{ID: e.ID, Kind: e.Kind}})
}

// repeatable reports whether an order may reach an attempt twice.
func repeatable(op attempt.Op) bool {
	return stops(op) || op == attempt.OpOverridden || op == attempt.OpAwake || op == attempt.OpBudget || op.From() == attempt.ByAnyone
}

// order passes an order on, and its reply back.
func (j *job) order(ctx context.Context, r *run.Run, e *far.Entry) error {
	reply := attempt.Reply{}
	switch {
	case e.Message.Op.From() == attempt.ByAgent:
		reply.Error = fmt.Sprintf("%s is not an order of home", e.Message.Op)
	case j.begun.known(e.ID) && !repeatable(e.Message.Op):
		reply.Error = "the worker of " + j.w.o.Machine.Name + " was started again while it passed this on: look whether it took effect"
	default:
		l, err := j.reach(ctx, r)
		if err != nil {
			return err
		}
		defer l.Close()
		if e.Message.Op == attempt.OpGranted {
			j.w.resume(j)
		}
		if err := j.begun.put(ctx, []far.Entry{{ID: e.ID, Kind: e.Kind}}); err != nil {
			return err
		}
		// It is answered, whatever happens to the worker meanwhile.
		if reply, err = l.Say(ctx, *e.Message); err != nil {
			if ctx.Err() != nil && !errors.Is(err, host.ErrGone) {
				return ctx.Err()
			}
			reply.Error = err.Error()
		}
	}
	return j.out.number(context.WithoutCancel(ctx), far.Entry{ID: e.ID, Kind: far.Reply, Reply: &reply})
}

// reach waits for the wrapper.
func (j *job) reach(ctx context.Context, r *run.Run) (host.Link, error) {
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	for {
		l, err := host.Dial(ctx, r, j.host())
		if err == nil {
			return l, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}
