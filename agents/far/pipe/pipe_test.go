package pipe_test

import (
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/far"
	"cmux/agents/far/fartest"
	"cmux/agents/far/pipe"
)

// dialer reaches a machine of a test.
type dialer struct {
	url string
	net *fartest.Network
}

func (d *dialer) URL() string { return d.url }

func (d *dialer) Dial(context.Context) (io.ReadWriteCloser, error) { return d.net.Dial() }

var gpu = far.Machine{Name: "gpu", Labels: []string{"gpu"}, Agents: map[string]string{"claude": ""}, Slots: 4, Cmux: "1", Version: far.Version}

func TestAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		net := fartest.NewNetwork()
		m := fartest.NewMachine(&fartest.Witness{}, gpu)
		m.Start()
		net.Serve(func(conn io.ReadWriteCloser) { pipe.Serve(ctx, conn, m, far.Beat) })
		c := pipe.New(ctx, pipe.Options{Home: "home", Cmux: "1", Machines: []pipe.Dialer{&dialer{"pipe://gpu", net}}})
		ref := far.Ref{Project: "p", Run: "r", Node: "n", N: 1}
		job := far.Job{Version: far.Version, LostAfter: time.Minute}
		if err := c.Open(ctx, ref, far.Need{Kind: "claude"}, job); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !m.Work(ref, "hello") {
			t.Error("its program does not run")
		}
		if err := c.Put(ctx, ref, far.Entry{ID: "1", Kind: far.Order}); err != nil {
			t.Error(err)
		}
		m.Finish(ref)
		var got []far.Kind
		if err := c.Follow(ctx, ref, 0, func(e far.Entry) error { got = append(got, e.Kind); return nil }); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, []far.Kind{far.Claimed, far.Log, far.End}) || len(m.Orders(ref)) != 1 {
			t.Errorf("entries %v, orders %v", got, m.Orders(ref))
		}
		if err := c.Close(ctx, ref, far.WasCollected); err != nil {
			t.Error(err)
		}
		if p, err := c.Pulse(ctx, ref); err != nil || p.State != far.Ended {
			t.Error(p, err)
		}
		c.Stop()
		cancel()
		net.Wait()
	})
}
