package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/proc"
	"cmux/dag"
	"cmux/signals"
)

// View is the one truth about a run at one moment: what status, the live
// table, wait and the API all show. It is derived from records, markers and
// locks alone and changes none of them.
type View struct {
	Run           *Run
	RunState      dag.RunState
	Nodes         []NodeView      // in configuration order
	State         *dag.State      // what the labels come from
	Holder        *signals.Holder // the runner; nil when there is none
	ConfigChanged bool            // the configuration on disk is not the frozen one
	Pending       []Request       // not carried out yet
	StartedAt     time.Time
	EndedAt       time.Time
	Used          dag.Usage // by all nodes
	Full          string    // a folder whose disk is full: nodes wait for space; empty: none
	Incidents     []Record  // what agents tried and may not, and what was found that cmux did not write

	Strays []string // files among the markers that belong to no node

	foreign []int64 // see Passed
	bad     []BadLine
}

// NodeView is one node of a View.
type NodeView struct {
	*Node
	Spec   *dag.Node
	Status dag.Status
}

// Replay reads the records from offset from on into h, and returns where to
// go on. each is told every record with the change it is, if it is one; it
// may be nil.
func (r *Run) Replay(h *History, from int64, each func(rec *Record, c dag.Change, isChange bool)) (int64, error) {
	tail, err := signals.ReadLog(r.Records(), from, r.fold(h, each))
	h.replayed(tail)
	return tail.Next, err
}

// Replay is Run.Replay through the book's open file: where nothing is new it
// costs next to nothing.
func (b *Book) Replay(h *History, from int64, each func(rec *Record, c dag.Change, isChange bool)) (int64, error) {
	tail, err := b.log.Read(from, b.run.fold(h, each))
	h.replayed(tail)
	return tail.Next, err
}

// EachRecord hands every record to f, oldest first, unfolded.
func (r *Run) EachRecord(f func(rec *Record)) error {
	_, err := signals.ReadLog(r.Records(), 0, func(line []byte, next int64) error {
		if !r.wrote(line, next) {
			return nil
		}
		if rec, err := ParseRecord(line); err == nil {
			f(rec)
		}
		return nil
	})
	return err
}

// wrote reports whether cmux of this person wrote this line of the records at
// its place, before the offset next.
func (r *Run) wrote(line []byte, next int64) bool {
	return r.key.Open(recordPlace(next-int64(len(line))-1), line) == nil
}

// fold takes the lines of the records into h, and remembers those that no cmux
// of this person wrote at their place.
func (r *Run) fold(h *History, each func(rec *Record, c dag.Change, isChange bool)) func(line []byte, next int64) error {
	return func(line []byte, next int64) error {
		if !r.wrote(line, next) {
			h.Foreign = append(h.Foreign, next-int64(len(line))-1)
			return nil
		}
		rec, err := ParseRecord(line)
		if err != nil {
			h.bad(BadLine{At: next - int64(len(line)) - 1, Why: err.Error()})
			return nil // a later version's, or damaged: the others still count
		}
		c, ok := h.Apply(rec)
		if each != nil {
			each(rec, c, ok)
		}
		return nil
	}
}

// Recorded is what the records know of a node's marker, for signals.Judge.
func (n *Node) Recorded() signals.Recorded {
	if n.Marker == nil {
		return signals.Recorded{}
	}
	return signals.Recorded{Known: true, Published: n.Published, Marker: n.Marker.marker()}
}

// Beside is what o is judged beside: what is recorded, or the marker that was
// withdrawn where that is the one that stands there, touched by a person before
// it could be removed.
func (n *Node) Beside(o signals.Observed) signals.Recorded {
	if w := n.Withdrawn; n.Marker == nil && w != nil && o.Exists && o.Identity.Inode == w.Identity.Inode && o.Identity.Size == w.Identity.Size {
		if m := w.marker(); o.Content == m.Content && !m.Content.Success() {
			return signals.Recorded{Known: true, Published: true, Marker: m}
		}
	}
	return n.Recorded()
}

func (w *Written) marker() signals.Marker {
	c := signals.Content{Kind: signals.Code, Code: w.Code}
	switch {
	case w.Bad:
		c = signals.Content{}
	case w.Empty:
		c = signals.Content{Kind: signals.Empty}
	}
	return signals.Marker{Identity: w.Identity, Content: c}
}

// OverrideBy is the record of what a person's marker means, when v says that
// it is a person's; the marker is recorded as seen.
func OverrideBy(node string, v signals.Verdict, seen signals.Observed) (Record, bool) {
	rec := Record{Type: Overridden, Node: node, How: HowTouched,
		Marker: &Written{Identity: seen.Identity, Code: seen.Content.Code,
			Empty: seen.Content.Kind == signals.Empty, Bad: seen.Content.Kind == signals.Bad}}
	switch v.Kind {
	case signals.Override, signals.Touched:
	case signals.FailedByHand:
		rec.Code = v.Code
	case signals.BadMarker:
		rec.How, rec.Detail = HowBad, fmt.Sprintf("%s%s is not a marker: %s", node, signals.Suffix, seen.Problem)
	default:
		return rec, false
	}
	return rec, true
}

// maxLooks bounds how often View looks again while what it finds goes on.
const maxLooks = 10

// View reads the run as it stands. It needs no runner and disturbs none.
func (r *Run) View(ctx context.Context, now time.Time) (*View, error) {
	for looks := 1; ; looks++ {
		// What goes on all the time is on record soon: the last look believes the
		// records alone.
		v, stale, err := r.viewOnce(ctx, now, looks < maxLooks)
		if err != nil || !stale || looks == maxLooks {
			return v, err
		}
	}
}

// viewOnce is View from one look. It reports whether what it took for a
// person's doing, or for an attempt that is gone, has been put on record
// meanwhile: markers and locks are looked at after the records were read, if
// beside says so.
func (r *Run) viewOnce(ctx context.Context, now time.Time, beside bool) (v *View, stale bool, err error) {
	v = &View{Run: r}
	// Before the records as well: a runner that ends records that first.
	_, before, err := signals.ReadHolder(LockPath(r.Plan.Root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	h := NewHistory(r.Plan.Graph)
	read, err := r.Replay(h, 0, nil)
	if err != nil {
		return nil, false, err
	}
	h.rebooted(proc.BootID())
	holder, held, err := signals.ReadHolder(LockPath(r.Plan.Root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	// Lock and markers are the newest run's. A person may decide a node of a
	// run that has ended, for resume to go on with.
	ids, err := List(r.Plan.Root)
	if err != nil {
		return nil, false, err
	}
	if len(ids) == 0 {
		return nil, false, fmt.Errorf("run %s was started in %s, where it is no more: the project was moved", r.Plan.ID, r.Plan.Root)
	}
	newest := ids[len(ids)-1] == r.Plan.ID
	if newest && held {
		v.Holder = &holder
	}
	if newest && beside {
		found, strays, err := r.observe(ctx, h, held, now)
		if err != nil {
			return nil, false, err
		}
		v.Strays = strays
		if len(found) > 0 {
			if stale, err = r.recorded(read, found); err != nil {
				return nil, false, err
			}
		}
	}
	v.Pending, _ = r.Pending()
	if b, err := ReadConfig(r.Plan.Config); err == nil {
		v.ConfigChanged = Sum(b) != r.Plan.ConfigSum
	}
	trees := filepath.Dir(r.Plan.Graph.TreePath(r.Plan.Root, &dag.Node{}))
	for _, dir := range []string{r.Dir, trees} {
		if v.Full == "" && Cramped(dir) {
			v.Full = dir
		}
	}
	v.fill(h, now)
	v.Incidents = h.Incidents
	return v, stale || before && !held, nil
}

// recorded reports whether the records from offset from on tell of one of the
// nodes.
func (r *Run) recorded(from int64, nodes map[string]bool) (bool, error) {
	told := false
	_, err := signals.ReadLog(r.Records(), from, func(line []byte, next int64) error {
		if rec, err := ParseRecord(line); err == nil && nodes[rec.Node] && r.wrote(line, next) {
			told = true
		}
		return nil
	})
	return told, err
}

// foreignLine is told of a line of the records that does not count.
const foreignLine = "not written by cmux, or not there; it does not count"

// ForeignLine is what is told of the line of the records at an offset that is
// not cmux's: where it stands, and all of it.
func (r *Run) ForeignLine(at int64) (where, told string, err error) {
	where, err = r.RecordLine(at)
	return where, where + ": " + foreignLine, err
}

// fill computes labels and the run's state from h.
func (v *View) fill(h *History, now time.Time) {
	v.State = dag.Observe(h.Graph, h.Facts(now))
	v.foreign, v.bad = h.Foreign, h.Bad
	v.StartedAt, v.EndedAt, v.Used = h.Started, h.Ended, h.Used
	v.Nodes = make([]NodeView, len(h.Nodes))
	for i := range h.Nodes {
		st := v.State.Status(i, now)
		if v.Holder == nil && v.State.Ready(i) && !h.Stopped {
			st.Reason = "no runner: cmux agents resume" // and not a slot is what it waits for
		}
		v.Nodes[i] = NodeView{Node: &h.Nodes[i], Spec: &h.Graph.Nodes[i], Status: st}
	}
	v.RunState = v.State.Run()
	if v.Holder == nil {
		switch v.RunState {
		case dag.RunStopped:
		case dag.RunDone, dag.RunFailed:
			if h.Final == "" { // its runner died before it had put all right
				v.RunState = dag.RunNoRunner
			}
		default:
			v.RunState = dag.RunNoRunner
		}
	}
}

// observe takes into h what is true and not recorded yet: a person's markers,
// and attempts whose process is gone. It returns the nodes that it found so, and
// the files among the markers that belong to no node.
func (r *Run) observe(ctx context.Context, h *History, runner bool, now time.Time) (found map[string]bool, strays []string, err error) {
	found = make(map[string]bool)
	take := func(rec Record) {
		rec.At = now
		h.Apply(&rec)
		found[rec.Node] = true
	}
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
			return nil, nil, err
		}
		if gone {
			take(Record{Type: Vanished, Node: h.Graph.Nodes[i].Name, Attempt: a.N, How: HowLost})
		}
	}
	// Observations carry the scanner's own clock, which is not the caller's now.
	look := time.Now()
	scanner := signals.NewScanner(r.Signals(), h.Graph.Names())
	scanner.Expect(h.Folder)
	seen, strays, err := scanner.Scan(look)
	if errors.Is(err, signals.ErrNoDir) {
		return found, nil, ctx.Err() // the runner puts the markers back
	}
	if err != nil {
		return nil, nil, err
	}
	// cmux's own files begin with a dot while they are written.
	strays = slices.DeleteFunc(strays, func(name string) bool { return strings.HasPrefix(name, ".") })
	slices.Sort(strays)
	for i, o := range seen {
		name := h.Graph.Nodes[i].Name
		if w := h.Nodes[i].Withdrawn; w != nil && o.Exists && o.Identity == w.Identity {
			continue
		}
		verdict := signals.Judge(h.Nodes[i].Beside(o), o, look)
		if verdict.Kind == signals.Unsettled {
			// Nobody waits here: what a look finds empty it calls empty, and what
			// it finds gone it calls gone.
			verdict = signals.Judge(h.Nodes[i].Beside(o), o, look.Add(signals.Settle))
		}
		if verdict.Kind == signals.Retry && !runner && h.Nodes[i].Blocked == "" {
			take(Record{Type: Reset, Node: name})
			continue
		}
		if verdict.Kind.Done() && h.Graph.Nodes[i].AsksCode() {
			continue // the runner takes it back
		}
		if rec, ok := OverrideBy(name, verdict, o); ok {
			take(rec)
		}
	}
	return found, strays, ctx.Err()
}

// launchGrace is how long an attempt may have been recorded as started and
// not have its wrapper yet, before a look from outside calls it lost. The
// runner itself does not guess: it takes the lock.
const launchGrace = 10 * time.Second

// gone reports whether the process of attempt a is not there any more.
func (r *Run) gone(node string, a *Attempt, runner bool, now time.Time) (bool, error) {
	if a == nil || a.Over() {
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

// Over reports whether the run has ended: nothing in it will happen any more
// unless a person asks for a node to be retried.
func (r *Run) Over() (bool, error) {
	h := NewHistory(r.Plan.Graph)
	_, err := r.Replay(h, 0, nil)
	return h.Final != "", err
}
