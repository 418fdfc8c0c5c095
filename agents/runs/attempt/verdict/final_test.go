package verdict

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"cmux/worktree"
)

func TestCodeOf(t *testing.T) {
	sh := func(script string) error { return exec.Command("sh", "-c", script).Run() }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		err  error
		want int
	}{
		{sh("exit 7"), 7},
		{sh("kill -TERM $$"), 143},
		{&worktree.Hint{Err: fmt.Errorf("setup: %w", sh("kill -KILL $$"))}, 137},
		{&worktree.GitError{Code: -1, Err: errors.New("signal: terminated")}, -1},
		{fmt.Errorf("x: %w", &worktree.GitError{Code: 128}), 128},
		{ctx.Err(), 1},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
