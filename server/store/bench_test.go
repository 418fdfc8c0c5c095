package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/records/event"
	"cmux/signals"
)

// storm is a project with so many events in the files of 20 nodes, as agents
// make them: a thought, a call of a tool, its result.
func storm(b *testing.B, n int) (root string, bytes int64) {
	b.Helper()
	root = b.TempDir()
	must(b, signals.Init(root))
	const nodes = 20
	for node := range nodes {
		path := filepath.Join(root, signals.Folder, "runs", "r1", fmt.Sprintf("n%d", node), "events.jsonl")
		must(b, os.MkdirAll(filepath.Dir(path), 0o700))
		f, err := os.Create(path)
		must(b, err)
		w := bufio.NewWriter(f)
		for i := node; i < n; i += nodes {
			at := time.Unix(1_800_000_000, int64(i)*1e6).UTC().Format(time.RFC3339Nano)
			var line string
			switch i / nodes % 3 {
			case 0:
				line = fmt.Sprintf(`{"at":%q,"node":"n%d","attempt":1,"kind":"thought","text":"The session handler %d reads the cookie before the request is authorized, so the test in auth/session_test.go has to be changed first."}`, at, node, i)
			case 1:
				line = fmt.Sprintf(`{"at":%q,"node":"n%d","attempt":1,"kind":"tool_use","tool":"Bash","tool_id":"toolu_%d","input":{"command":"go test ./auth -run TestSession -count 1","description":"Run the session tests"}}`, at, node, i)
			default:
				line = fmt.Sprintf(`{"at":%q,"node":"n%d","attempt":1,"kind":"tool_result","tool_id":"toolu_%d","text":"ok  \tcmux/auth\t0.%03ds\n"}`, at, node, i, i%1000)
			}
			m, err := w.WriteString(line + "\n")
			must(b, err)
			bytes += int64(m)
		}
		must(b, w.Flush())
		must(b, f.Close())
	}
	return root, bytes
}

// many is how many events the benchmarks of a large store have.
func many(b *testing.B) int {
	b.Helper()
	if n, err := strconv.Atoi(os.Getenv("CMUX_BENCH_EVENTS")); err == nil {
		return n
	}
	return 20_000
}

// BenchmarkRebuild makes the database from the files.
func BenchmarkRebuild(b *testing.B) {
	n := many(b)
	root, bytes := storm(b, n)
	b.SetBytes(bytes)
	before := cpu(b)
	for b.Loop() {
		for _, name := range []string{Name, Name + "-wal", Name + "-shm"} {
			os.Remove(filepath.Join(root, signals.Folder, name))
		}
		s, err := Open(b.Context(), root, nil)
		must(b, err)
		if got := ingest(b, s); got != n {
			b.Fatalf("%d of %d", got, n)
		}
		must(b, s.Close())
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(n)*float64(b.N)/(cpu(b)-before).Seconds(), "events/cpu-s")
}

// cpu is the processor time of this process, which others on the machine change
// less than the time on the clock.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLarge asks a store with many events: see CMUX_BENCH_EVENTS.
func BenchmarkLarge(b *testing.B) {
	n := many(b)
	root, _ := storm(b, n)
	s, err := Open(b.Context(), root, nil)
	must(b, err)
	ingest(b, s)
	must(b, s.Close())
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(b.Context(), root, nil)
			must(b, err)
			if got := ingest(b, s); got != 0 {
				b.Fatal(got)
			}
			must(b, s.Close())
		}
	})
	if s, err = Open(b.Context(), root, nil); err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	middle := int64(n / 2)
	for name, f := range map[string]Filter{
		"newest": {}, "middle": {Before: middle}, "source": {Source: "run:r1/n7", Before: middle}, "kind": {Kind: "tool_use", Before: middle},
		"source+kind": {Source: "run:r1/n7", Kind: "thought", Before: middle}, "prefix": {Source: "run:", Before: middle}, "after": {After: middle},
	} {
		b.Run("list="+name, func(b *testing.B) {
			for b.Loop() {
				if l, err := s.List(b.Context(), f); err != nil || len(l.Events) != 100 {
					b.Fatal(err)
				}
			}
		})
	}
	for _, q := range []string{"session", "handler 7777", `"go test"`, "nowhere"} {
		b.Run("search="+q, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Search(b.Context(), q, 50, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("catch-up", func(b *testing.B) {
		for b.Loop() {
			if l, err := s.After(context.Background(), middle, 1000); err != nil || len(l) != 1000 {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLook is a slow look at 10,000 nodes of 1,000 runs without changes.
func BenchmarkLook(b *testing.B) {
	root := b.TempDir()
	must(b, signals.Init(root))
	for run := range 1000 {
		for node := range 10 {
			write(b, root, fmt.Sprintf("runs/r%04d/n%d/events.jsonl", run, node), thought(run*10+node, "x"))
		}
	}
	s, err := Open(b.Context(), root, nil)
	must(b, err)
	defer s.Close()
	ingest(b, s)
	for b.Loop() {
		if n := ingest(b, s); n != 0 {
			b.Fatal(n)
		}
	}
}

// BenchmarkFollow writes events one by one to the files of 20 nodes and waits
// until a store that follows has them.
func BenchmarkFollow(b *testing.B) {
	root := b.TempDir()
	must(b, signals.Init(root))
	s, err := Open(b.Context(), root, nil)
	must(b, err)
	defer s.Close()
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- s.Follow(ctx) }()
	defer func() {
		stop()
		must(b, <-ended)
	}()
	var logs []*event.Log
	for node := range 20 {
		dir := filepath.Join(root, signals.Folder, "runs", "r1", fmt.Sprintf("n%d", node))
		must(b, os.MkdirAll(dir, 0o700))
		l, err := event.Open(filepath.Join(dir, "events.jsonl"), "n", 1)
		must(b, err)
		defer l.Close()
		logs = append(logs, l)
	}
	n := int64(0)
	put := func(many int) {
		for range many {
			logs[n%20].Append(event.Event{Kind: event.Thought, Text: "The session handler reads the cookie before the request is authorized."})
			n++
		}
		for {
			changed := s.Changed()
			if s.Head().Seq == n {
				return
			}
			<-changed
		}
	}
	put(20)
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			put(1)
		}
	})
	b.Run("storm", func(b *testing.B) {
		const many = 50_000
		for b.Loop() {
			put(many)
		}
		b.ReportMetric(many*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}
