package machine

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"cmux/agents/far"
	"cmux/agents/far/pipe"
	"cmux/dag"
)

// wires connects a carrier with the worker of a test.
type wires struct {
	h     *home
	ctx   context.Context
	conns sync.WaitGroup
}

func (d *wires) URL() string { return "pipe://box" }

func (d *wires) Dial(context.Context) (io.ReadWriteCloser, error) {
	here, there := net.Pipe()
	d.conns.Go(func() { pipe.Serve(d.ctx, there, d.h.w, far.Beat) })
	return here, nil
}

// A home with a carrier needs no more than that: heartbeats start the program, and the
// journal, the orders and the end come through.
func TestOverAPipe(t *testing.T) {
	h := newHome(t)
	h.open()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	d := &wires{h: h, ctx: ctx}
	c := pipe.New(ctx, pipe.Options{Home: "home", Cmux: "test", Machines: []pipe.Dialer{d}})
	t.Cleanup(func() { c.Stop(); cancel(); d.conns.Wait() })
	ref, need, job := h.job(`
agents:
  - {name: web, agent: command, task: 'echo made > made && git add made && git commit -q -m made'}
`)
	h.must(c.Open(ctx, ref, need, job))
	var all []far.Entry
	h.must(c.Follow(ctx, ref, 0, func(e far.Entry) error {
		all = append(all, e)
		if e.Kind == far.Claimed {
			return c.Put(ctx, ref, h.code(e.Claim.Has, map[string]string{"start": h.base, "base": h.base})...)
		}
		return nil
	}))
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Fatalf("the end:\n%s", told(all))
	}
	h.unpack(all)
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "made\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
	h.must(c.Close(ctx, ref, far.WasCollected))
	h.until("the machine knows", func() bool { return h.w.job(ref).closed() })
}
