package live

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sys/unix"

	"cmux/agents/records/event"
	"cmux/server/store"
	"cmux/signals"
)

// site is a project whose agents write events into files, a store that takes them
// in and a hub that tells of them.
type site struct {
	b    *testing.B
	url  string
	logs []*event.Log
	n    int64 // events that were written
}

func newSite(b *testing.B) *site {
	b.Helper()
	root := b.TempDir()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	check(signals.Init(root))
	db, err := store.Open(b.Context(), root, nil)
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	s := &site{b: b}
	h := NewHub(ctx, Options{Log: db, Instance: "i", Failed: func(err error) { b.Errorf("failed: %v", err) }})
	web := httptest.NewServer(h)
	s.url = web.URL
	var tasks sync.WaitGroup
	tasks.Go(h.Run)
	tasks.Go(func() {
		if err := db.Follow(ctx); err != nil {
			b.Error(err)
		}
	})
	for node := range 20 {
		dir := filepath.Join(root, signals.Folder, "runs", "r1", fmt.Sprintf("n%d", node))
		check(os.MkdirAll(dir, 0o700))
		l, err := event.Open(filepath.Join(dir, "events.jsonl"), "n", 1)
		check(err)
		s.logs = append(s.logs, l)
	}
	b.Cleanup(func() {
		cancel()
		tasks.Wait()
		web.Close()
		db.Close()
		for _, l := range s.logs {
			l.Close()
		}
	})
	return s
}

// write has the agents write events.
func (s *site) write(many int) {
	for range many {
		s.logs[s.n%20].Append(event.Event{Kind: event.Thought, Text: "The session handler reads the cookie before the request is authorized."})
		s.n++
	}
}

// client counts the messages that it gets, and asks again when it is behind, as a dashboard
// does.
func (s *site) client(ctx context.Context, got *atomic.Int64) error {
	conn, _, err := websocket.Dial(ctx, s.url, nil)
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	conn.SetReadLimit(2 * MaxMessage)
	epoch, begun := "", false
	for {
		_, b, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		got.Add(int64(bytes.Count(b, []byte(`"seq":`))))
		if bytes.HasPrefix(b, []byte(`{"type":"events"`)) {
			continue
		}
		got.Add(-int64(bytes.Count(b, []byte(`"seq":`)))) // a notice has one as well
		if _, rest, ok := bytes.Cut(b, []byte(`"epoch":"`)); ok {
			e, _, _ := bytes.Cut(rest, []byte(`"`))
			epoch = string(e)
		}
		if !begun || bytes.HasPrefix(b, []byte(`{"type":"behind"`)) {
			begun = true
			if err := conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"from","epoch":%q,"seq":%d}`, epoch, got.Load())); err != nil {
				return err
			}
		}
	}
}

// clients starts so many and ends them with the benchmark.
func (s *site) clients(many int) []*atomic.Int64 {
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	all := make([]*atomic.Int64, many)
	for i := range all {
		got := new(atomic.Int64)
		all[i] = got
		tasks.Go(func() {
			if err := s.client(ctx, got); err != nil && ctx.Err() == nil {
				s.b.Error(err)
			}
		})
	}
	s.b.Cleanup(func() {
		cancel()
		tasks.Wait()
	})
	return all
}

// await waits until each client has what was written.
func (s *site) await(all []*atomic.Int64) {
	for _, got := range all {
		for deadline := time.Now().Add(time.Minute); got.Load() < s.n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				s.b.Fatalf("a client has %d of %d", got.Load(), s.n)
			}
		}
		if got.Load() != s.n {
			s.b.Fatalf("a client has %d of %d", got.Load(), s.n)
		}
	}
}

// report says how many events there were in a second, and in one of the processor.
func (s *site) report(b *testing.B, many int, spent time.Duration) {
	n := float64(many) * float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(n/(cpu(b)-spent).Seconds(), "events/cpu-s")
}

// BenchmarkFileToClient has 20 agents write events until a client has them all. The
// floor is to write them.
func BenchmarkFileToClient(b *testing.B) {
	const many = 20_000
	b.Run("floor", func(b *testing.B) {
		s := newSite(b)
		spent := cpu(b)
		for b.Loop() {
			s.write(many)
		}
		s.report(b, many, spent)
	})
	b.Run("client", func(b *testing.B) {
		s := newSite(b)
		all := s.clients(1)
		s.write(20)
		s.await(all)
		spent := cpu(b)
		for b.Loop() {
			s.write(many)
			s.await(all)
		}
		s.report(b, many, spent)
	})
}

// BenchmarkClients has 200 clients follow 1,000 events a second. One round is a
// second; the memory of the process, clients included, is to stay what it was.
func BenchmarkClients(b *testing.B) {
	s := newSite(b)
	all := s.clients(200)
	s.write(20)
	s.await(all)
	second := func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range 100 {
			<-tick.C
			s.write(10)
		}
	}
	second()
	s.await(all)
	before, spent := heap(), cpu(b)
	for b.Loop() {
		second()
	}
	s.await(all)
	b.ReportMetric(float64(before)/(1<<20), "MB-before")
	b.ReportMetric(float64(heap())/(1<<20), "MB-after")
	b.ReportMetric((cpu(b)-spent).Seconds()/b.Elapsed().Seconds()*100, "%cpu")
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
