package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"cmux/agents/platform/seal/sealtest"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

// lines is a list that accepts everything.
type lines struct{ n int }

func (l *lines) Take([]byte) error { l.n++; return nil }
func (l *lines) Skip(Bad, []byte)  {}

// If another process replaces the file between opening and reading, it is opened again.
func TestReplacedWhileRead(t *testing.T) {
	b, err := Open(t.TempDir(), Format[*lines]{Name: "x", Place: "x", New: func() *lines { return new(lines) }, Copy: func(l *lines) *lines { c := *l; return &c }}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Change(t.Context(), func(*lines) ([][]byte, error) { return [][]byte{[]byte(`{"a":1}`)}, nil }); err != nil {
		t.Fatal(err)
	}
	left := 3
	b.opened = func() {
		if left--; left < 0 {
			return
		}
		whole, err := os.ReadFile(b.path)
		if err == nil {
			err = os.WriteFile(b.path+".new", whole, 0o600)
		}
		if err == nil {
			err = os.Rename(b.path+".new", b.path)
		}
		if err != nil {
			t.Error(err)
		}
	}
	if l, err := b.List(); err != nil || l.n != 1 || left != -1 {
		t.Errorf("%+v, %v, %d", l, err, left)
	}
}

// sum is a list that adds up numbers; each line has a unique number.
type sum struct {
	N, Total, bad int
}

func (l *sum) Take(line []byte) error {
	var n struct{ N, Add int }
	if err := json.Unmarshal(line, &n); err != nil {
		return err
	}
	if l.N > 0 && n.N <= l.N {
		return ErrCopy
	}
	l.N, l.Total = n.N, l.Total+n.Add
	return nil
}

func (l *sum) Skip(Bad, []byte) { l.bad++ }

func sums() Format[*sum] {
	return Format[*sum]{Name: "sum", Place: "sum", New: func() *sum { return new(sum) }, Copy: func(l *sum) *sum { c := *l; return &c },
		Short: func(l *sum) ([][]byte, error) {
			return [][]byte{fmt.Appendf(nil, `{"N":%d,"Add":%d}`, l.N, l.Total)}, nil
		}}
}

func add(l *sum) ([][]byte, error) { return [][]byte{fmt.Appendf(nil, `{"N":%d,"Add":1}`, l.N+1)}, nil }

// Any of many writers shortens a file that has grown. The result stays the same, readers
// follow, and copies of older lines no longer count.
func TestShorten(t *testing.T) {
	root := t.TempDir()
	open := func() *Book[*sum] {
		b, err := Open(root, sums(), true)
		if err != nil {
			t.Fatal(err)
		}
		b.Long = 2000
		return b
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			b := open()
			for range 100 {
				if _, _, err := b.Change(t.Context(), add); err != nil {
					t.Error(err)
				}
			}
		})
	}
	reader, last := open(), 0
	for range 50 {
		l, err := reader.List()
		if err != nil || l.bad > 0 || l.Total < last {
			t.Fatal(l, err, last)
		}
		last = l.Total
	}
	wait.Wait()
	l, err := reader.List()
	if err != nil || l.Total != 400 || l.N != 400 || l.bad > 0 {
		t.Fatal(l, err)
	}
	before, err := os.ReadFile(reader.Path() + ".1")
	if err != nil || len(before) < 2000 {
		t.Fatalf("the file as it was: %d bytes, %v", len(before), err)
	}
	if older, err := os.ReadFile(reader.Path() + ".2"); err != nil || bytes.Equal(older, before) {
		t.Errorf("the file before that one: %d bytes, %v", len(older), err)
	}
	now, err := os.ReadFile(reader.Path())
	if err != nil || len(now) > 2500 {
		t.Fatalf("%d bytes, %v", len(now), err)
	}
	old, _, _ := bytes.Cut(before, []byte("\n"))
	if err := os.WriteFile(reader.Path(), append(now, append(old, '\n')...), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err = reader.List(); err != nil || l.Total != 400 || l.bad != 1 {
		t.Errorf("with a line from before: %+v %v", l, err)
	}
}

// A shortening that is tried again keeps the copy of the first try.
func TestKeptAgain(t *testing.T) {
	b, err := Open(t.TempDir(), sums(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, whole := range []string{"older\n", "a\n", "a\nb\n"} { // no shorter file followed the second copy
		if err := b.keep([]byte(whole)); err != nil {
			t.Fatal(err)
		}
	}
	last, err := os.ReadFile(b.Path() + ".1")
	if err != nil || string(last) != "a\nb\n" {
		t.Errorf("%q, %v", last, err)
	}
	older, err := os.ReadFile(b.Path() + ".2")
	if err != nil || string(older) != "older\n" {
		t.Errorf("%q, %v", older, err)
	}
}

// A file stays unchanged if it has lines of a newer cmux, or if it would not become
// shorter. A full disk, or a cut between the two files, loses nothing.
func TestNotShortened(t *testing.T) {
	root := t.TempDir()
	b, err := Open(root, sums(), true)
	if err != nil {
		t.Fatal(err)
	}
	change := func() error { _, _, err := b.Change(t.Context(), add); return err }
	for range 30 {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(b.Path()+".1", 0o700), os.MkdirAll(b.Path()+".2/x", 0o700)); err != nil { // the file cannot be kept
		t.Fatal(err)
	}
	b.Long = 1000
	if err := change(); err == nil {
		t.Error("it was shortened, and the file not kept")
	}
	if l, err := b.List(); err != nil || l.Total != 30 {
		t.Error(l, err)
	}
	if err := errors.Join(os.Remove(b.Path()+".1"), os.RemoveAll(b.Path()+".2")); err != nil {
		t.Fatal(err)
	}
	newer, err := b.key.Seal("sum", []byte(`{"N":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(b.Path())
	if err == nil {
		err = os.WriteFile(b.Path(), append(append(whole, newer...), '\n'), 0o600)
	}
	if err != nil || change() != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(b.Path()); err != nil || !bytes.HasPrefix(now, whole) {
		t.Errorf("%s %v", now, err)
	}
}
