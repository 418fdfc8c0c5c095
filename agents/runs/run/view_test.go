package run

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/dag"
	"cmux/signals"
)

// A marker that is written while View reads is no person's: its record came
// before it.
func TestViewBesideAWriter(t *testing.T) {
	r := newRun(t)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	ctx := t.Context()
	written := make(chan error, 1)
	go func() {
		for n := 1; n <= 300; n++ { // each View reads all
			err := book.Commit(ctx,
				Record{Type: Started, Node: "a", Attempt: n, Place: &Place{Child: "c"}},
				Record{Type: AttemptEnd, Node: "a", Attempt: n, End: &End{Outcome: dag.Failed, Exit: 7}})
			if err == nil {
				err = book.Commit(ctx, Record{Type: Reset, Node: "a"})
			}
			if err == nil {
				err = signals.Remove(r.Signals(), "a")
			}
			if err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	labels := make(map[string]int)
	for writing := true; writing; {
		select {
		case err := <-written:
			if err != nil {
				t.Error(err)
			}
			writing = false
		default:
		}
		v, err := r.View(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		labels[v.Nodes[0].Status.Label.String()]++
	}
	for label := range labels {
		switch label {
		case "failed (exit 7)", "waiting", "ready", "blocked (a failed)":
		default:
			t.Errorf("a node was shown as %q: %v", label, labels)
		}
	}
	t.Log(labels)
}

// A writer of the records that stands still in the middle of it hides nothing of
// what a person did.
func TestViewBesideAStalledWriter(t *testing.T) {
	r := newRun(t)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if err := book.Commit(t.Context(),
		Record{Type: Started, Node: "a", Attempt: 1, Place: &Place{Child: "c"}},
		Record{Type: AttemptEnd, Node: "a", Attempt: 1, End: &End{Outcome: dag.Failed, Exit: 7}}); err != nil {
		t.Fatal(err)
	}
	if _, err := signals.Replace(r.Signals(), "a", signals.Content{Kind: signals.Empty}); err != nil {
		t.Fatal(err)
	}
	records, err := os.Open(r.Records())
	if err != nil {
		t.Fatal(err)
	}
	defer records.Close()
	if err := unix.Flock(int(records.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	stalled := make(chan error, 1)
	time.AfterFunc(200*time.Millisecond, func() { stalled <- unix.Flock(int(records.Fd()), unix.LOCK_UN) })
	v, err := r.View(t.Context(), time.Now())
	if err := errors.Join(err, <-stalled); err != nil {
		t.Fatal(err)
	}
	if got := v.Nodes[0].Status.Label.String(); got != "done (override)" {
		t.Errorf("a node that a person called done is shown as %q", got)
	}

	if err := unix.Flock(int(records.Fd()), unix.LOCK_EX); err != nil { // for good
		t.Fatal(err)
	}
	w := r.Viewer()
	if _, err := w.View(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if w.Waited() == 0 {
		t.Error("the wait counts as work, and who follows the run looks away for ten times as long")
	}
}

// A run that failed has not ended any more once a person removed the marker of
// what failed, though its runner waits for it to stay away.
func TestViewOfARemovedMarker(t *testing.T) {
	for _, runner := range []bool{true, false} {
		r := newRun(t)
		book, err := r.OpenBook()
		if err != nil {
			t.Fatal(err)
		}
		defer book.Close()
		folder := signals.NewScanner(r.Signals(), nil)
		if _, _, err := folder.Scan(time.Now()); err != nil {
			t.Fatal(err)
		}
		for _, recs := range [][]Record{
			{{Type: RunnerUp, How: "start", Folder: folder.Folder()}},
			{{Type: Started, Node: "a", Attempt: 1, Place: &Place{Child: "c"}}, {Type: AttemptEnd, Node: "a", Attempt: 1, End: &End{Outcome: dag.Done}}},
			{{Type: Started, Node: "b", Attempt: 1, Place: &Place{Child: "c"}}, {Type: AttemptEnd, Node: "b", Attempt: 1, End: &End{Outcome: dag.Failed, Exit: 7}}},
			{{Type: RunEnded, How: string(dag.RunFailed)}},
		} {
			if err := book.Commit(t.Context(), recs...); err != nil {
				t.Fatal(err)
			}
		}
		want := dag.RunNoRunner
		if runner {
			want = dag.RunRunning
			lock, err := r.TryLock()
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Unlock()
		}
		for _, step := range []struct {
			do    func() error
			want  dag.RunState
			label string
		}{
			{func() error { return nil }, dag.RunFailed, "failed (exit 7)"},
			{func() error { return signals.Remove(r.Signals(), "b") }, want, "ready"},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			v, err := r.View(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if got := v.Nodes[1].Status.Label.String(); v.RunState != step.want || got != step.label {
				t.Errorf("with a runner %v: the run is %q and its node %q, want %q and %q", runner, v.RunState, got, step.want, step.label)
			}
		}
	}
}

// A run whose nodes have all ended has not ended itself before that is on
// record: a marker may be missing still, and only a runner puts it back.
func TestViewOfAnEndThatNobodyRecorded(t *testing.T) {
	r := newRun(t)
	book, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	var recs []Record
	for _, n := range r.Plan.Graph.Nodes {
		recs = append(recs,
			Record{Type: Started, Node: n.Name, Attempt: 1, Place: &Place{Child: "c"}},
			Record{Type: AttemptEnd, Node: n.Name, Attempt: 1, End: &End{Outcome: dag.Done}})
	}
	for _, step := range []struct {
		runner bool
		recs   []Record
		want   dag.RunState
	}{
		{false, recs, dag.RunNoRunner},
		{true, nil, dag.RunRunning},
		{false, []Record{{Type: Stopped}}, dag.RunStopped},
		{false, []Record{{Type: Resumed}}, dag.RunNoRunner},
		{true, []Record{{Type: RunEnded, How: string(dag.RunDone)}}, dag.RunDone},
		{false, nil, dag.RunDone},
	} {
		if err := book.Commit(t.Context(), step.recs...); err != nil {
			t.Fatal(err)
		}
		unlock := func() error { return nil }
		if step.runner {
			lock, err := r.TryLock()
			if err != nil {
				t.Fatal(err)
			}
			unlock = lock.Unlock
		}
		v, err := r.View(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if v.RunState != step.want {
			t.Errorf("the run is %q with a runner %v, want %q", v.RunState, step.runner, step.want)
		}
		if over := step.want == dag.RunStopped || step.want == dag.RunDone; v.EndedAt.IsZero() == over {
			t.Errorf("the run is %q, and its time ended at %v", v.RunState, v.EndedAt)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
}
