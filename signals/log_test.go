package signals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func openLog(t testing.TB, path string) *Log {
	t.Helper()
	l, err := OpenLog(path)
	must(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// lines reads a whole log.
func lines(t testing.TB, path string, from int64) (got []string, tail Tail) {
	t.Helper()
	tail, err := ReadLog(path, from, func(line []byte, _ int64) error {
		got = append(got, string(line))
		return nil
	})
	must(t, err)
	return got, tail
}

func TestLogAppendAndReadOn(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "log")
	l := openLog(t, path)
	must(t, l.Append(ctx, false, []byte(`{"a":1}`), []byte(`{"b":2}`)))
	got, tail := lines(t, path, 0)
	if want := []string{`{"a":1}`, `{"b":2}`}; !reflect.DeepEqual(got, want) {
		t.Fatalf("read %q", got)
	}
	must(t, l.Append(ctx, true, []byte(`{"c":3}`)))
	got, next := lines(t, path, tail.Next)
	if want := []string{`{"c":3}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("read on %q", got)
	}
	if got, _ := lines(t, path, next.Next); got != nil {
		t.Errorf("at the end %q", got)
	}
	if _, err := ReadLog(path, next.Next+1, nil); !errors.Is(err, ErrShrunk) {
		t.Errorf("past the end: %v", err)
	}
	if err := l.Append(ctx, false, []byte("{\n}")); err == nil {
		t.Error("a line with a newline was taken")
	}
	if err := l.Append(ctx, false, []byte(`{"torn`)); err == nil {
		t.Error("a line that ReadLog would leave out was taken")
	}
}

func TestLogStopsWhereItsReaderFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "1\n2\n3\n")
	stop := errors.New("stop")
	tail, err := ReadLog(path, 0, func(line []byte, next int64) error {
		if string(line) == "2" {
			return stop
		}
		return nil
	})
	if err != stop || tail.Next != 2 {
		t.Errorf("tail %+v, %v", tail, err)
	}
}

func TestLogRepairsATornLine(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "log")
	l := openLog(t, path)
	must(t, l.Append(ctx, false, []byte(`{"a":1}`)))
	// Another writer dies in the middle of a line, after l has looked at the size.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"torn":`)
	must(t, err)
	must(t, f.Close())

	got, tail := lines(t, path, 0)
	if !reflect.DeepEqual(got, []string{`{"a":1}`}) || tail.Next != 8 || tail.Torn != nil {
		t.Fatalf("with an open end: %q %+v", got, tail)
	}
	must(t, l.Append(ctx, false, []byte(`{"b":2}`)))
	got, tail = lines(t, path, tail.Next)
	if !reflect.DeepEqual(got, []string{`{"b":2}`}) || !reflect.DeepEqual(tail.Torn, []Span{{8, 8}}) {
		t.Errorf("after repair: %q %+v", got, tail)
	}
}

func TestLogReportsWhatAPowerCutLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "{\"a\":1}\n"+strings.Repeat("\x00", 100)+"\n{\"b\":2}\n\n{\"c\":3}\n")
	got, tail := lines(t, path, 0)
	if want := []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("read %q", got)
	}
	if want := []Span{{8, 100}, {117, 0}}; !reflect.DeepEqual(tail.Torn, want) {
		t.Errorf("torn %v, want %v", tail.Torn, want)
	}
}

func TestLogLinesOfAnyLength(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "log")
	l := openLog(t, path)
	var want []string
	for _, n := range []int{0, 1, 64<<10 - 3, 64<<10 - 2, 64 << 10, 200_000, 5 << 20, 3} {
		line := `"` + strings.Repeat("y", n) + `"`
		want = append(want, line)
		must(t, l.Append(ctx, false, []byte(line)))
	}
	if got, _ := lines(t, path, 0); !slices.Equal(got, want) {
		t.Error("long lines came back changed")
	}
}

func TestLogSharedByProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const n = 4
	for range n {
		cmd, _ := process(t, "append", path)
		defer func() {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}()
	}
	l := openLog(t, path)
	for i := range 200 {
		must(t, l.Append(context.Background(), i%50 == 0, fmt.Appendf(nil, `{"pid":0,"i":%d}`, i)))
	}
	next := map[int]int{}
	count, from := 0, int64(0)
	eventually(t, "all lines are there", func() bool {
		tail, err := ReadLog(path, from, func(line []byte, _ int64) error {
			var v struct{ PID, I int }
			if err := json.Unmarshal(line, &v); err != nil {
				return err
			}
			if next[v.PID] != v.I {
				return fmt.Errorf("pid %d: line %d, want %d", v.PID, v.I, next[v.PID])
			}
			next[v.PID]++
			count++
			return nil
		})
		must(t, err)
		if tail.Torn != nil {
			t.Fatalf("torn: %v", tail.Torn)
		}
		from = tail.Next
		return count == (n+1)*200
	})
}

func TestLogGroupCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := openLog(t, path)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := l.Append(context.Background(), true, fmt.Appendf(nil, `%d`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, _ := lines(t, path, 0); len(got) != 50 {
		t.Errorf("%d lines", len(got))
	}
	if l.synced != 50 {
		t.Errorf("durable up to %d, want 50", l.synced)
	}
}

// One sync serves all who wrote before it, and a failed sync never counts as a success
// later.
func TestLogSyncIsSharedAndItsFailureStays(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"))
	for range 3 {
		must(t, l.Append(context.Background(), false, []byte(`1`)))
	}
	must(t, l.sync(1))
	if l.synced != 3 {
		t.Fatalf("durable up to %d, want 3", l.synced)
	}
	must(t, l.f.Close())
	must(t, l.sync(3)) // no system call: the file is closed
	if err := l.sync(4); err == nil {
		t.Fatal("sync of a closed file succeeded")
	}
	if err := l.sync(1); err == nil {
		t.Error("the failure was forgotten")
	}
}

// A disk that reports only at the sync that it is full is not worth waiting for: the log
// stays failed, and a repeated write would only duplicate the lines.
func TestLogSyncOfAFullDiskIsFinal(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"))
	l.datasync = func(*os.File) error { return unix.ENOSPC }
	for range 2 {
		err := l.Append(context.Background(), true, []byte(`1`))
		if err == nil || errors.Is(err, ErrDiskFull) || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("got %v", err)
		}
		l.datasync = datasync // pages that were dropped do not come back
	}
}

func TestLogWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := openLog(t, path)
	must(t, l.Append(context.Background(), false, []byte(`1`)))
	other, err := os.Open(path)
	must(t, err)
	defer other.Close()
	must(t, flock(other, unix.LOCK_EX)) // a writer that does not get on
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := l.Append(ctx, true, []byte(`2`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	must(t, flock(other, unix.LOCK_UN))
	must(t, l.Append(context.Background(), true, []byte(`3`)))
	if got := read(t, path); got != "1\n3\n" {
		t.Errorf("log holds %q", got)
	}
}

func TestLogRemovedUnderItsWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l := openLog(t, path)
	must(t, os.Remove(path))
	if err := l.Append(context.Background(), false, []byte(`1`)); !errors.Is(err, ErrLogGone) {
		t.Errorf("got %v", err)
	}
}

// A write that the system cuts short leaves whole lines only, and the log works afterwards.
func TestLogWriteCutShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	cmd, out := process(t, "append-limited", path)
	if got := said(t, out); got != "<nil>" {
		t.Fatalf("first append: %s", got)
	}
	if got := said(t, out); !strings.Contains(got, "file too large") {
		t.Fatalf("second append: %s", got)
	}
	if got := said(t, out); got != "<nil>" {
		t.Fatalf("third append: %s", got)
	}
	must(t, cmd.Wait())
	got, tail := lines(t, path, 0)
	if len(got) != 2 || len(got[0]) != 6002 || got[1] != `"short"` || tail.Torn != nil {
		t.Errorf("%d lines, %+v", len(got), tail)
	}
}

// For any mixture of appends and torn writes, a reader that comes back at any time reads
// every appended line once, in order.
func TestLogProperty(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		l, err := OpenLog(path)
		must(t, err)
		defer l.Close()
		var want, got [][]byte
		from := int64(0)
		catchUp := func() {
			tail, err := ReadLog(path, from, func(line []byte, _ int64) error {
				got = append(got, bytes.Clone(line))
				return nil
			})
			must(t, err)
			from = tail.Next
		}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			switch rapid.IntRange(0, 2).Draw(rt, "step") {
			case 0:
				var ls [][]byte
				for _, s := range rapid.SliceOfN(rapid.String(), 1, 4).Draw(rt, "lines") {
					b, err := json.Marshal(s)
					must(t, err)
					ls = append(ls, b)
				}
				must(t, l.Append(context.Background(), false, ls...))
				want = append(want, ls...)
			case 1: // torn: cannot be a whole JSON value
				f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
				must(t, err)
				_, err = f.WriteString(`{"` + rapid.StringMatching(`[a-z ]{0,9}`).Draw(rt, "torn"))
				must(t, errors.Join(err, f.Close()))
			case 2:
				catchUp()
			}
		}
		catchUp()
		if !slices.EqualFunc(got, want, bytes.Equal) {
			rt.Fatalf("read %q, want %q", got, want)
		}
	})
}

// Appending reports a writer as long as it appends, and disturbs nobody.
func TestAppending(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var during bool
	l.Seal = func(_ int64, line []byte) ([]byte, error) { // called in the middle of an Append
		during, err = Appending(path)
		return line, err
	}
	if err := l.Append(t.Context(), false, []byte("1")); err != nil {
		t.Fatal(err)
	}
	after, err := Appending(path)
	if err != nil {
		t.Fatal(err)
	}
	if !during || after {
		t.Errorf("while it appends %v, afterwards %v", during, after)
	}
	if err := l.Append(t.Context(), false, []byte("2")); err != nil {
		t.Fatal(err)
	}
}

// Sealed lines are at the offset they are sealed for, even if another program writes
// without the lock, always between the look at the size and the write.
func TestDisplaced(t *testing.T) {
	for name, foreign := range map[string]string{"a line": "{\"foreign\":1}\n", "a torn one": `{"foreign":`} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			l, err := OpenLog(path)
			must(t, err)
			defer l.Close()
			tries := 0
			l.Seal = func(at int64, line []byte) ([]byte, error) {
				if tries++; tries < 4 {
					f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
					must(t, err)
					_, err = f.WriteString(foreign)
					must(t, errors.Join(err, f.Close()))
				}
				return fmt.Appendf(nil, `{"at":%d,"line":%s}`, at, line), nil
			}
			must(t, l.Append(t.Context(), false, []byte(`"mine"`)))
			b, err := os.ReadFile(path)
			must(t, err)
			var last struct {
				At   int64
				Line string
			}
			at := bytes.LastIndexByte(b[:len(b)-1], '\n') + 1
			must(t, json.Unmarshal(b[at:], &last))
			if last.Line != "mine" || last.At != int64(at) {
				t.Errorf("the last line, at %d, is %+v", at, last)
			}
			if tries != 4 {
				t.Errorf("%d tries", tries)
			}
			tries = -mostDisplaced
			if err := l.Append(t.Context(), false, []byte(`"lost"`)); !errors.Is(err, ErrDisplaced) {
				t.Errorf("error %v", err)
			}
		})
	}
}
