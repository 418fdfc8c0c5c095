package run_test

import (
	"fmt"
	"math"
	"syscall"
	"testing"

	"cmux/agents/runs/run"
	"cmux/worktree/git"
)

func TestMostAtOnce(t *testing.T) {
	for limit, want := range map[uint64]int{0: 1, 32: 1, 53: 1, 58: 2, 64: 3, 128: 16, 256: 41, 1024: 195, 1 << 20: 209705, math.MaxUint64: math.MaxInt32} {
		if got := run.MostAtOnce(limit); got != want {
			t.Errorf("%d files: %d nodes, not %d", limit, got, want)
		}
	}
}

func TestNoFiles(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {syscall.EMFILE, true}, {fmt.Errorf("open x: %w", syscall.ENFILE), true}, {syscall.ENOSPC, false},
		{&git.Error{Stderr: "error: cannot open x: Too many open files"}, true}, {&git.Error{Stderr: "fatal: bad object"}, false},
	} {
		if got := run.NoFiles(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
