package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/far"
	"cmux/agents/far/fartest"
	"cmux/agents/far/pipe"
)

// scripted is a machine that says what a test has it say.
type scripted struct {
	serve func(conn net.Conn)
	err   error
	all   sync.WaitGroup
	dials int
}

func (s *scripted) URL() string { return "pipe://box" }

func (s *scripted) Dial(context.Context) (io.ReadWriteCloser, error) {
	s.dials++
	if s.err != nil {
		return nil, s.err
	}
	a, z := net.Pipe()
	s.all.Go(func() {
		defer z.Close()
		s.serve(z)
	})
	return a, nil
}

// What a machine says that home cannot work with is the reason that a person reads.
func TestFaultsOfAMachine(t *testing.T) {
	answer := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			go io.Copy(io.Discard, conn)
			io.WriteString(conn, text)
			io.Copy(io.Discard, conn) // until home closes it
		}
	}
	for name, c := range map[string]struct {
		machine *scripted
		want    string
	}{
		"another protocol": {&scripted{serve: answer(`{"op":"reply","version":9,"machine":{"name":"box","cmux":"9.1","version":9}}` + "\n")},
			"cmux 9.1 on box speaks version 9 of the protocol, and cmux 1.0 at home speaks version 1: install the same cmux on both"},
		"refused":         {&scripted{serve: answer(`{"op":"reply","error":"the disk is full"}` + "\n")}, "the disk is full"},
		"no name":         {&scripted{serve: answer(`{"op":"reply","version":1,"machine":{}}` + "\n")}, "the machine does not say its name"},
		"not a cmux":      {&scripted{serve: answer(strings.Repeat("no\n", 1<<15))}, `the machine answers as no cmux does: "no"`},
		"noise, then end": {&scripted{serve: func(conn net.Conn) { go io.Copy(io.Discard, conn); io.WriteString(conn, "sh: cmux: not found\n") }}, `the connection ended after "sh: cmux: not found"`},
		"not reached":     {&scripted{err: errors.New("pipe://box: Permission denied (publickey)")}, "Permission denied (publickey)"},
		"silent":          {&scripted{serve: answer("")}, "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				home := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1.0", Machines: []pipe.Dialer{c.machine}, Log: log.New(&said, "", 0)})
				time.Sleep(3 * time.Minute)
				all, err := home.Machines(t.Context())
				if err != nil || len(all) != 1 || all[0].Name != "pipe://box" || all[0].Fault != c.want || all[0].Silent {
					t.Errorf("%+v %v, want the fault %q", all, err, c.want)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := home.Open(ctx, ref, far.Need{Kind: "claude"}, job); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				if p, err := home.Pulse(ctx, ref); err != nil || p.Why != "waits for a machine for claude (pipe://box: "+c.want+")" {
					t.Errorf("%+v %v", p, err)
				}
				home.Stop()
				c.machine.all.Wait()
				if n := strings.Count(said.String(), "\n"); n != 1 || !strings.Contains(said.String(), "pipe://box: "+c.want) {
					t.Errorf("the log has %q", said.String())
				}
				if c.machine.dials < 3 || c.machine.dials > 25 {
					t.Errorf("it was dialed %d times in 3 minutes", c.machine.dials)
				}
			})
		})
	}
}

var (
	ref = far.Ref{Project: "p", Run: "r", Node: "n", N: 1}
	job = far.Job{Version: far.Version, Graph: []byte("{}"), LostAfter: time.Minute}
)

// counting counts connections.
type counting struct {
	dialer
	dials int
}

func (c *counting) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	c.dials++
	return c.dialer.Dial(ctx)
}

// A home that is slow with entries keeps its connection, and its calls end with Stop.
func TestASlowHomeKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := fartest.NewNetwork()
		m := fartest.NewMachine(&fartest.Witness{}, gpu)
		m.Start()
		net.Serve(func(conn io.ReadWriteCloser) { pipe.Serve(t.Context(), conn, m, far.Beat) })
		d := &counting{dialer: dialer{"pipe://gpu", net}}
		c := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1", Machines: []pipe.Dialer{d}})
		if err := c.Open(t.Context(), ref, far.Need{Kind: "claude"}, job); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for range 200 {
			m.Work(ref, "x")
		}
		got := 0
		followed := make(chan error, 1)
		go func() {
			followed <- c.Follow(t.Context(), ref, 0, func(far.Entry) error {
				got++
				time.Sleep(time.Second)
				return nil
			})
		}()
		time.Sleep(10 * time.Minute)
		c.Stop()
		if err := <-followed; err == nil || errors.Is(err, far.ErrClosed) || errors.Is(err, far.ErrUnknown) {
			t.Error("Follow returns", err)
		}
		if got != 201 || d.dials != 1 {
			t.Errorf("%d entries came over %d connections", got, d.dials)
		}
		if err := c.Put(t.Context(), ref, far.Entry{Kind: far.Order}); err == nil || errors.Is(err, far.ErrClosed) {
			t.Error("Put returns", err)
		}
		net.Wait()
	})
}

// Two addresses of one machine are one machine.
func TestTwoAddressesOfOneMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := fartest.NewNetwork()
		m := fartest.NewMachine(&fartest.Witness{}, gpu)
		m.Start()
		net.Serve(func(conn io.ReadWriteCloser) { pipe.Serve(t.Context(), conn, m, far.Beat) })
		c := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1", Machines: []pipe.Dialer{&dialer{"pipe://a", net}, &dialer{"pipe://b", net}}})
		time.Sleep(time.Minute)
		all, err := c.Machines(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var faults []string
		for _, m := range all {
			if m.Fault != "" {
				faults = append(faults, m.Fault)
			}
		}
		if len(faults) != 1 || !strings.Contains(faults[0], `also reaches a machine with the name "gpu"`) {
			t.Errorf("%+v", all)
		}
		c.Stop()
		net.Wait()
	})
}

// An entry or job that no connection carries fails its call, and nothing else.
func TestTooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := fartest.NewNetwork()
		m := fartest.NewMachine(&fartest.Witness{}, gpu)
		m.Start()
		net.Serve(func(conn io.ReadWriteCloser) { pipe.Serve(t.Context(), conn, m, far.Beat) })
		c := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1", Machines: []pipe.Dialer{&dialer{"pipe://gpu", net}}})
		large := job
		large.Files = []far.File{{Path: "x", Data: make([]byte, 4<<20)}}
		if err := c.Open(t.Context(), ref, far.Need{Kind: "claude"}, large); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Error(err)
		}
		if err := c.Open(t.Context(), ref, far.Need{Kind: "claude"}, job); err != nil {
			t.Fatal(err)
		}
		if err := c.Put(t.Context(), ref, far.Entry{ID: "x", Kind: far.Code, Data: make([]byte, 4<<20)}); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Error(err)
		}
		if err := c.Put(t.Context(), ref, far.Entry{ID: "y", Kind: far.Code}, far.Entry{Kind: far.Order}); err != nil || len(m.Orders(ref)) != 2 {
			t.Error(err, m.Orders(ref))
		}
		c.Stop()
		net.Wait()
	})
}
