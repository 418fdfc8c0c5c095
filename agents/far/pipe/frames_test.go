package pipe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cmux/agents/far"
	"cmux/agents/far/fartest"
	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A frame that can be read is the same after it was written and read again.
func FuzzReadFrame(f *testing.F) {
	for _, seed := range []string{
		`{"op":"hello","version":1,"home":"h","cmux":"1"}`,
		`{"op":"open","id":3,"ref":{"project":"p","run":"r","node":"n","n":1},"need":{"kind":"claude"},"job":{"version":1,"graph":{},"spec":{},"lost_after":1,"save_every":0}}`,
		`{"op":"put","id":4,"entries":[{"id":"a","kind":"code","at":"2026-01-02T03:04:05Z","data":"eHg=","parts":1}]}`,
		`{"op":"beat","id":5,"held":[{"ref":{"n":1},"state":"claimed"}]}`,
		`{"op":"reply","id":6,"fault":"closed","error":"x"}`, `null`, `{}`, "\n", `[`, "welcome to box",
	} {
		f.Add([]byte(seed + "\n"))
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		greeting(bufio.NewReaderSize(bytes.NewReader(src), 16))
		in := bufio.NewReaderSize(bytes.NewReader(src), 16)
		for {
			got, err := readFrame(in)
			if err != nil {
				return
			}
			line, err := encode(got)
			if err != nil {
				continue // a time or a number that JSON has no text for
			}
			again, err := readFrame(bufio.NewReader(bytes.NewReader(line)))
			if err != nil {
				t.Fatalf("%q was written, and cannot be read: %v", line, err)
			}
			second, err := encode(again)
			if err != nil || !bytes.Equal(line, second) {
				t.Errorf("%q became %q, %v", line, second, err)
			}
		}
	})
}

func TestALineIsBounded(t *testing.T) {
	long := strings.Repeat("x", maxFrame)
	if line, err := readLine(bufio.NewReader(strings.NewReader(long[1:] + "\n"))); err != nil || len(line) != maxFrame-1 {
		t.Errorf("a line of %d bytes: %d, %v", maxFrame-1, len(line), err)
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader(long + "\n"))); err == nil {
		t.Error("a longer one was read")
	}
	if _, err := encode(&frame{Op: opPut, Error: long}); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error("a longer one was written:", err)
	}
	if _, err := readLine(bufio.NewReader(strings.NewReader("half"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("half a line:", err)
	}
}

func TestErrorsTravel(t *testing.T) {
	for _, err := range []error{nil, far.ErrClosed, far.ErrUnknown, errors.New("disk full")} {
		var f frame
		f.failed(err)
		line, e := encode(&f)
		if e != nil {
			t.Fatal(e)
		}
		got, e := readFrame(bufio.NewReader(bytes.NewReader(line)))
		if e != nil {
			t.Fatal(e)
		}
		if !errors.Is(got.err(), err) && !reflect.DeepEqual(got.err(), err) {
			t.Errorf("%v arrives as %v", err, got.err())
		}
	}
	var f frame
	f.failed(fmt.Errorf("%w for good", far.ErrClosed))
	if !errors.Is(f.err(), far.ErrClosed) {
		t.Error(f.err())
	}
}

var ref = far.Ref{Project: "p", Run: "r", Node: "n", N: 1}

var about = far.Machine{Name: "gpu", Agents: map[string]string{"claude": ""}, Slots: 2, Cmux: "0.9", Version: far.Version}

// worker records what is renewed; put is called before Put.
type worker struct {
	*fartest.Machine
	renewed chan time.Time
	put     func()
}

func (w *worker) Renew(refs []far.Ref, sent time.Time) {
	w.Machine.Renew(refs, sent)
	w.renewed <- sent
}

func (w *worker) Put(ctx context.Context, ref far.Ref, entries ...far.Entry) error {
	w.put()
	return w.Machine.Put(ctx, ref, entries...)
}

// bench is a machine with the test as its home, which speaks in frames.
type bench struct {
	*testing.T
	w      *worker
	home   *wire
	frames chan *frame
	served chan error
}

func serving(t *testing.T, beat time.Duration) *bench {
	m := fartest.NewMachine(&fartest.Witness{}, about)
	m.Start()
	w := &worker{Machine: m, renewed: make(chan time.Time, 1000), put: func() {}}
	a, z := net.Pipe()
	b := &bench{T: t, w: w, home: newWire(a), frames: make(chan *frame, 1000), served: make(chan error, 1)}
	go b.home.write()
	go func() {
		defer close(b.frames)
		for {
			f, err := b.home.read()
			if err != nil {
				return
			}
			b.frames <- f
		}
	}()
	go func() { b.served <- Serve(t.Context(), z, w, beat) }()
	return b
}

func (b *bench) send(f *frame) {
	b.Helper()
	if err := b.home.send(b.Context(), f); err != nil {
		b.Fatal(err)
	}
}

// next returns the next frame of an operation, and skips others.
func (b *bench) next(is op) *frame {
	b.Helper()
	for f := range b.frames {
		if f.Op == is {
			return f
		}
	}
	b.Fatalf("the connection ended before %q", is)
	return nil
}

func (b *bench) hello() {
	b.Helper()
	b.send(&frame{Op: opHello, Version: far.Version, Home: "home", Cmux: "1.0"})
	if f := b.next(opReply); f.err() != nil || f.Machine.Name != "gpu" || f.Beat == 0 {
		b.Fatalf("%+v", f)
	}
}

// end closes the connection.
func (b *bench) end() {
	b.Helper()
	b.home.fail(io.EOF)
	if err := <-b.served; err != nil {
		b.Error("Serve returns", err)
	}
}

func (b *bench) open() {
	b.Helper()
	b.send(&frame{Op: opOpen, ID: 1, Ref: &ref, Need: &far.Need{Kind: "claude"}, Job: &far.Job{Version: 1, Graph: []byte("{}"), LostAfter: time.Hour}})
	if err := b.next(opReply).err(); err != nil {
		b.Fatal(err)
	}
}

// A lease counts from when the heartbeat was sent, however late the answer comes.
func TestALeaseCountsFromTheSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serving(t, far.Beat)
		b.hello()
		b.open()
		var beat *frame
		for beat == nil || len(beat.Held) == 0 {
			beat = b.next(opBeat)
		}
		sent := time.Now()
		time.Sleep(50 * time.Second)
		b.send(&frame{Op: opAccept, ID: beat.ID, Refs: []far.Ref{ref}})
		if got := <-b.w.renewed; !got.Equal(sent) {
			t.Errorf("the lease counts from %s after the sending", got.Sub(sent))
		}
		b.send(&frame{Op: opAccept, ID: beat.ID, Refs: []far.Ref{ref}}) // again, and one that was not sent
		b.send(&frame{Op: opAccept, ID: beat.ID + 99, Refs: []far.Ref{ref}})
		synctest.Wait()
		if len(b.w.renewed) > 0 {
			t.Error("an answer to no heartbeat extends the lease")
		}
		b.end()
	})
}

// Heartbeats and their answers pass requests that hang and a Follow that nobody takes in.
func TestHeartbeatsWaitForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serving(t, far.Beat)
		b.hello()
		b.open()
		hang := make(chan struct{})
		b.w.put = func() { <-hang }
		for i := range uint64(20) {
			b.send(&frame{Op: opPut, ID: 10 + i, Ref: &ref, Entries: []far.Entry{{ID: "x", Kind: far.Order}}})
			b.send(&frame{Op: opFollow, ID: 100 + i, Ref: &ref})
		}
		for range 10 {
			beat := b.next(opBeat)
			b.send(&frame{Op: opAccept, ID: beat.ID, Refs: []far.Ref{ref}})
			if sent := <-b.w.renewed; time.Since(sent) > 0 {
				t.Errorf("a heartbeat took %s", time.Since(sent))
			}
			for range 2 * window {
				b.w.Work(ref, "x")
			}
		}
		close(hang)
		b.end()
	})
}

// Home opens an attempt, and a heartbeat follows at once, so the program starts.
func TestAnOpenedAttemptIsInAHeartbeatAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serving(t, time.Hour)
		b.hello()
		b.next(opBeat)
		began := time.Now()
		b.open()
		if f := b.next(opBeat); len(f.Held) != 1 || time.Since(began) > 0 {
			t.Errorf("after %s: %+v", time.Since(began), f)
		}
		b.end()
	})
}

func TestAMachineWithAnotherProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serving(t, far.Beat)
		b.send(&frame{Op: opHello, Version: 7, Home: "home", Cmux: "7.1"})
		f := b.next(opReply)
		for _, part := range []string{"7.1", "version 7", "0.9", "version 1", "gpu"} {
			if f.err() == nil || !strings.Contains(f.err().Error(), part) {
				t.Errorf("the refusal lacks %q: %v", part, f.err())
			}
		}
		b.home.fail(io.EOF)
		if err := <-b.served; err == nil || err.Error() != f.Error {
			t.Error("Serve returns", err)
		}
	})
}

// What is no home is disconnected.
func TestServeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no frames":       "GET / HTTP/1.1\r\n",
		"no hello":        `{"op":"held","id":1}` + "\n",
		"a long line":     `{"op":"hello","version":1,"home":"h"}` + "\n" + strings.Repeat("x", maxFrame+1) + "\n",
		"hello of nobody": `{"op":"hello","version":1}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := fartest.NewMachine(&fartest.Witness{}, about)
				m.Start()
				a, z := net.Pipe()
				served := make(chan error, 1)
				go func() { served <- Serve(t.Context(), z, m, far.Beat) }()
				go io.Copy(io.Discard, a)
				go func() {
					io.WriteString(a, text)
					a.Close()
				}()
				if err := <-served; err == nil {
					t.Error("Serve returns no error")
				}
			})
		})
	}
}

// A home that says nothing does not hold a connection.
func TestASilentHomeIsDisconnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serving(t, far.Beat)
		b.hello()
		began := time.Now()
		if err := <-b.served; err == nil || !strings.Contains(err.Error(), "silent for 1m0s") || time.Since(began) != patience*far.Beat {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		b.home.fail(io.EOF)
	})
}

// Serve ends with its context, whatever a worker does.
func TestServeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fartest.NewMachine(&fartest.Witness{}, about)
		m.Start()
		a, z := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, z, m, far.Beat) }()
		cancel()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		a.Close()
	})
}
