package run

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/platform/proc"
	"cmux/dag"
	"cmux/signals"
)

// Viewer looks at a run again and again. It keeps what it has read: the next
// View costs what is new in the records, and a look at each marker and at the
// locks of what lives. It is for one goroutine; its Views are for any.
type Viewer struct {
	run     *Run
	hist    *History      // of the records alone
	read    int64         // how far they were read
	asked   time.Time     // when the locks of what lives were asked for last
	waited  time.Duration // by the last View, see Waited
	scanner *signals.Scanner
}

// Viewer is one that has seen nothing yet.
func (r *Run) Viewer() *Viewer {
	return &Viewer{run: r, hist: NewHistory(r.Plan.Graph), scanner: signals.NewScanner(r.Signals(), r.Plan.Graph.Names())}
}

// View reads the run as it stands. It needs no runner and disturbs none.
func (r *Run) View(ctx context.Context, now time.Time) (*View, error) {
	return r.Viewer().View(ctx, now)
}

// Whoever writes the records may stand still in the middle of it, on a slow disk
// or a machine under load: what a look found beside them is waited for.
const (
	lookPause = time.Millisecond       // before the third look, then twice as long each time
	longPause = 100 * time.Millisecond // at most
	lookLong  = time.Second            // all looks together
)

// Waited is how long the last View waited for a writer of the records; it worked
// for the rest of its time.
func (w *Viewer) Waited() time.Duration { return w.waited }

// View is the run as it stands.
func (w *Viewer) View(ctx context.Context, now time.Time) (*View, error) {
	began := time.Now()
	w.waited = 0
	for pause := time.Duration(0); ; pause = min(max(2*pause, lookPause), longPause) {
		// What goes on all the time is on record soon: the last look believes the
		// records alone.
		last := time.Since(began) >= lookLong
		v, stale, err := w.look(ctx, now, !last)
		if err != nil || !stale || last {
			return v, err
		}
		waits := time.Now()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		w.waited += time.Since(waits)
	}
}

// catchUp reads what is new in the records: all of them, where they were cut
// short.
func (w *Viewer) catchUp() (err error) {
	updated := false
	w.read, err = w.run.Replay(w.hist, w.read, func(rec *Record) { updated = updated || rec.Type == Updated })
	if errors.Is(err, signals.ErrShrunk) {
		w.hist = NewHistory(w.run.Plan.Graph)
		w.read, err = w.run.Replay(w.hist, 0, nil)
	}
	if err != nil || !updated {
		return err
	}
	// It has another graph now.
	r, err := OpenDir(w.run.Dir)
	if err != nil {
		return err
	}
	*w = *r.Viewer()
	w.read, err = r.Replay(w.hist, 0, nil)
	return err
}

// halted reports whether the process that holds a lock is stopped by a signal.
func halted(h signals.Holder) bool {
	here, err := os.Hostname()
	return err == nil && h.Host == here && proc.Stopped(h.PID)
}

// look is View from one look. It reports whether what it took for a person's
// doing, or for an attempt that is gone, has been put on record meanwhile:
// markers and locks are looked at after the records were read, if beside says
// so.
func (w *Viewer) look(ctx context.Context, now time.Time, beside bool) (v *View, stale bool, err error) {
	// Before the records as well: a runner that ends records that first.
	_, before, err := signals.ReadHolder(w.run.LockPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err := w.catchUp(); err != nil {
		return nil, false, err
	}
	r := w.run // it may have another graph than before
	v = &View{Run: r}
	h := w.hist.look()
	h.rebooted(proc.BootID())
	holder, held, err := signals.ReadHolder(r.LockPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	own, err := r.Owner()
	if err != nil {
		return nil, false, err
	}
	if own != nil && held {
		v.Holder, v.Halted = &holder, halted(holder)
	}
	if own != nil {
		v.Lost = own.Lost
	}
	// A past run has no markers: the markers belong to the newest run of its session.
	// A person may decide a node of a run that has ended, and the run resumes with it.
	if own != nil && beside {
		found, strays, err := w.observe(ctx, h, own, held, now)
		if err != nil {
			return nil, false, err
		}
		v.Strays = strays
		if len(found) > 0 {
			if stale, err = r.recorded(w.read, found); err != nil {
				return nil, false, err
			}
		}
	}
	v.Pending, _ = r.Pending()
	v.ConfigChanged = r.ConfigChanged()
	trees := filepath.Dir(r.Plan.Graph.TreePath(r.Plan.Root, &dag.Node{}))
	for _, dir := range []string{r.Dir, trees} {
		if v.Full == "" && Cramped(dir) {
			v.Full = dir
		}
	}
	v.fill(h, now)
	return v, stale || before && !held, nil
}

// recorded reports whether the records from offset from on tell of one of the
// nodes, or may, as somebody is writing.
func (r *Run) recorded(from int64, nodes map[string]bool) (bool, error) {
	told, err := signals.Appending(r.Records())
	if err != nil || told {
		return told, err
	}
	_, err = signals.ReadLines(r.Records(), from, func(line []byte, next int64) error {
		if rec, err := ParseRecord(line); err == nil && nodes[rec.Node] && r.wrote(line, next) {
			told = true
		}
		return nil
	})
	return told, err
}

// believed is for how long a Viewer that goes on looking leaves it to the run's
// runner to find out that an attempt is gone.
const believed = 20 * time.Second

// observe takes into h what is true and not recorded yet: a person's markers,
// and attempts whose process is gone. It returns the nodes that it found so, and
// the files among the markers that belong to no node.
func (w *Viewer) observe(ctx context.Context, h *History, own *Owner, runner bool, now time.Time) (found map[string]bool, strays []string, err error) {
	found = make(map[string]bool)
	take := func(rec Record) {
		rec.At = now
		h.Apply(&rec)
		found[rec.Node] = true
	}
	// Observations carry the scanner's own clock, which is not the caller's now.
	look := time.Now()
	// A runner learns of the end of each attempt at once, and records it.
	if !runner || look.Sub(w.asked) > believed {
		if err := w.run.vanished(h, runner, now, take); err != nil {
			return nil, nil, err
		}
		if len(found) == 0 {
			w.asked = look
		}
	}
	w.scanner.Again(h.Folder)
	for i := range h.Nodes {
		left := signals.Marker{}
		if n := &h.Nodes[i]; n.Marker != nil && n.Published { // and not before a power cut, see rebooted
			left = n.Marker.marker()
		}
		w.scanner.Believe(i, left)
	}
	seen, strays, err := w.scanner.Scan(look)
	if errors.Is(err, signals.ErrNoDir) {
		return found, nil, ctx.Err() // the runner puts the markers back
	}
	if err != nil {
		return nil, nil, err
	}
	// cmux's own files begin with a dot while they are written.
	strays = slices.DeleteFunc(strays, func(name string) bool { return strings.HasPrefix(name, ".") })
	if strays, err = w.run.others(strays); err != nil {
		return nil, nil, err
	}
	slices.Sort(strays)
	for i, o := range seen {
		if !own.Owns(h.Graph.Nodes[i].Name) {
			continue
		}
		if rec, ok := judged(h, i, o, look, !runner || h.Final == "" || len(own.Lost) == 0); ok {
			take(rec)
		}
	}
	return found, strays, ctx.Err()
}

// vanished has take take in that attempts are gone whose process is not there.
func (r *Run) vanished(h *History, runner bool, now time.Time, take func(Record)) error {
	for i := range h.Nodes {
		n := &h.Nodes[i]
		if !n.Fact.Live() {
			continue
		}
		a := n.Attempt()
		if a == nil {
			continue
		}
		gone, err := r.gone(h.Graph.Nodes[i].Name, a, runner, now)
		if err != nil {
			return err
		}
		if gone {
			take(Record{Type: Vanished, Node: h.Graph.Nodes[i].Name, Attempt: a.N, How: HowLost})
		}
	}
	return nil
}

// judged is the record of what a person means by what stands in the place of
// node i's marker, where they mean anything. goesOn says that the run runs again
// what a person removed; one that has ended and lost names may not.
func judged(h *History, i int, o signals.Observed, look time.Time, goesOn bool) (Record, bool) {
	n, name := &h.Nodes[i], h.Graph.Nodes[i].Name
	if n.Stale(o) {
		return Record{}, false
	}
	verdict := n.Judge(o, look)
	if verdict.Kind == signals.Unsettled {
		// Nobody waits here: what a look finds empty it calls empty, and what it
		// finds gone it calls gone.
		verdict = n.Judge(o, look.Add(signals.Settle))
	}
	if verdict.Kind == signals.Retry && n.Blocked == "" && goesOn {
		return Record{Type: Reset, Node: name}, true // a runner waits for the marker to stay away
	}
	if verdict.Kind.Done() && h.Graph.Nodes[i].AsksCode() {
		return Record{}, false // the runner takes it back
	}
	return OverrideBy(name, verdict, o)
}

// launchGrace is how long an attempt may have been recorded as started and
// not have its wrapper yet, before a look from outside calls it lost. The
// runner itself does not guess: it takes the lock.
const launchGrace = 10 * time.Second

// gone reports whether the process of attempt a is not there any more. Of an attempt on
// another machine only the records tell.
func (r *Run) gone(node string, a *Attempt, runner bool, now time.Time) (bool, error) {
	if a == nil || a.Over() || a.Place.Away() {
		return false, nil
	}
	if a.Place.Child != "" {
		return !runner, nil
	}
	_, held, err := signals.ReadHolder(r.NodeLock(node))
	if errors.Is(err, fs.ErrNotExist) {
		held, err = false, nil
	}
	if err != nil || held {
		return false, err
	}
	return !a.Began.IsZero() || now.Sub(a.Started) > launchGrace, nil
}
