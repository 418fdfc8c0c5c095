package machine

import (
	"context"
	"net"
	"testing"

	"cmux/dag"
)

// An agent's program does not reach the worker that carries it out: it could have
// everything run outside of its fence.
func TestAgentsDoNotReachTheWorker(t *testing.T) {
	h := newHome(t)
	h.open()
	h.renewing()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	served := make(chan struct{}, 16)
	go func() {
		over <- h.w.Listen(ctx, func(context.Context, net.Conn) error { served <- struct{}{}; return nil })
	}()
	t.Cleanup(func() { cancel(); <-over })
	h.until("it listens", func() bool { _, err := Ask(t.Context(), h.dir, OpStatus); return err == nil })
	ref, need, job := h.job("agents: [{name: api, agent: command, role: review, task: 'cmux reach " + h.dir + "'}]")
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Errorf("the end:\n%s", told(all))
	}
	if len(served) > 0 {
		t.Error("it was served")
	}
	if _, err := Ask(t.Context(), h.dir, OpStatus); err != nil {
		t.Errorf("it was stopped: %v", err)
	}
	c, err := Dial(t.Context(), h.dir)
	h.must(err)
	defer c.Close()
	<-served
}
