package signals

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// If the log is set aside or replaced, a waiting writer appends to the file that has the
// name then.
func TestInTurn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	ctx := t.Context()
	add := func(line string) error {
		return InTurn(ctx, path, false, nil, func(t *Turn) error { return t.Append([]byte(line)) })
	}
	must(t, add("1"))
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 100 {
				if err := add("2"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 5 {
		must(t, InTurn(ctx, path, true, nil, func(t *Turn) error { return t.SetAside([]string{"a", "b", "c", "d", "e"}[i]) }))
		must(t, add("3"))
	}
	total := 0 // of the lines that are still somewhere, and those that were replaced
	must(t, InTurn(ctx, path, true, nil, func(turn *Turn) error {
		replaced, _ := lines(t, path, 0) // nobody adds to them now
		total += len(replaced)
		return turn.Replace([]byte("4\n"), 0o600)
	}))
	writers.Wait()
	for _, name := range list(t, dir) {
		got, tail := lines(t, filepath.Join(dir, name), 0)
		total += len(got)
		if len(tail.Torn) > 0 {
			t.Errorf("%s: %v", name, tail.Torn)
		}
	}
	got, _ := lines(t, path, 0)
	if len(got) == 0 || got[0] != "4" {
		t.Errorf("the log holds %v", got)
	}
	if total != 1+400+5+1 {
		t.Errorf("%d lines", total)
	}
}

func TestInTurnFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	stop := errors.New("no")
	if err := InTurn(t.Context(), path, true, nil, func(*Turn) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if err := InTurn(t.Context(), path, true, nil, func(t *Turn) error { return t.Append([]byte("x")) }); err == nil {
		t.Error("a line that is no JSON was written")
	}
	seal := func(at int64, line []byte) ([]byte, error) { return append(line, ' '), nil }
	must(t, InTurn(t.Context(), path, true, seal, func(t *Turn) error { return errors.Join(t.Append([]byte("1"), []byte("2")), t.Append()) }))
	if got := read(t, path); got != "1 \n2 \n" {
		t.Errorf("%q", got)
	}
	// InTurn waits for another holder until the context ends.
	ctx, cancel := context.WithCancel(t.Context())
	err := InTurn(t.Context(), path, true, nil, func(*Turn) error {
		cancel()
		return InTurn(ctx, path, true, nil, func(*Turn) error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	// A torn line of another writer is read through the open file, and ended.
	must(t, os.WriteFile(path, []byte("1\n{"), 0o600))
	must(t, InTurn(t.Context(), path, true, nil, func(turn *Turn) error {
		id, err := Identify(turn.File())
		if err != nil || id.Size != 3 {
			t.Errorf("%+v, %v", id, err)
		}
		n := 0
		tail, err := ReadOpen(turn.File(), 0, func([]byte, int64) error { n++; return nil })
		if err != nil || n != 1 || tail.Next != 2 {
			t.Errorf("%d lines, %+v, %v", n, tail, err)
		}
		return turn.Append([]byte("2"))
	}))
	if got := read(t, path); got != "1\n{\n2\n" {
		t.Errorf("%q", got)
	}
}
