package verdict

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"cmux/worktree/git"
	"cmux/worktree/hint"
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
		{hint.New(fmt.Errorf("setup: %w", sh("kill -KILL $$")), "x"), 137},
		{&git.Error{Code: -1, Err: errors.New("signal: terminated")}, -1},
		{fmt.Errorf("x: %w", &git.Error{Code: 128}), 128},
		{ctx.Err(), 1},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
