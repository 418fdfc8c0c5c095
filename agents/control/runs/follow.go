package runs

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/run"
	"cmux/signals"
)

const (
	// often is the shortest time between two looks at a run: faster than people
	// read, and slow enough to cost nothing.
	often = 100 * time.Millisecond
	// rescan is the safety net below file events.
	rescan = 2 * time.Second
	// calmRescan is rescan where there are events and a runner, which has a net of
	// its own and records what it finds.
	calmRescan = 6 * time.Second
)

// Follow calls see with a view of r now and after each change, until see
// returns false or ctx ends.
func Follow(ctx context.Context, r *run.Run, now func() time.Time, see func(*run.View) bool) error {
	w := signals.Watch(ctx, r.Dir, r.Requests(), r.Signals(), run.Folder(r.Plan.Root), filepath.Dir(r.LockPath()))
	defer w.Close()
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	viewer, every, deaf := r.Viewer(), rescan, false
	var left leaving
	defer left.close()
	for {
		began := time.Now()
		v, err := viewer.View(ctx, now())
		if err != nil {
			return err
		}
		// A large run takes longer to read, and is read less often: looking on
		// never costs the run itself more than a tenth of a processor.
		pause := time.NewTimer(max(often, 10*(time.Since(began)-viewer.Waited())))
		if !see(v) {
			pause.Stop()
			return nil
		}
		left.watch(ctx, v.Holder)
		net := rescan
		if v.Holder != nil && !deaf {
			net = calmRescan
		}
		if net != every {
			tick.Reset(net)
			every = net
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
		select {
		case n, open := <-w.C:
			if !open {
				return ctx.Err()
			}
			deaf = deaf || n.Err != nil
		case <-left.gone:
			left.gone = nil
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// leaving tells when the process of a runner has ended: one that is killed writes
// nothing that could be heard of.
type leaving struct {
	pid    int
	gone   <-chan struct{} // closed then; nil: nobody is watched
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// watch watches the runner, which may be another one than before or none.
func (l *leaving) watch(ctx context.Context, runner *signals.Holder) {
	if runner == nil || runner.PID <= 0 || runner.PID == l.pid {
		return
	}
	if host, err := os.Hostname(); err != nil || host != runner.Host {
		return
	}
	l.close()
	ctx, l.cancel = context.WithCancel(ctx)
	gone := make(chan struct{})
	l.pid, l.gone = runner.PID, gone
	l.done.Go(func() {
		if proc.AwaitExit(ctx, runner.PID) == nil { // else the net has to do
			close(gone)
		}
	})
}

func (l *leaving) close() {
	if l.cancel != nil {
		l.cancel()
		l.done.Wait()
	}
}
