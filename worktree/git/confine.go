package git

import (
	"context"
	"os/exec"
	"runtime"
)

type confineKey struct{}

// WithConfine returns a context in which confine restricts the commands that Start starts,
// cmux's own git among them. A worktree and its private git directory may belong to a
// program that leads git elsewhere: by links, commondir, settings and nested repositories.
// Under that program's own fence, git does no more than the program can.
//
// confine changes the calling thread for good, or cmd.
func WithConfine(ctx context.Context, confine func(cmd *exec.Cmd) error) context.Context {
	return context.WithValue(ctx, confineKey{}, confine)
}

// Start starts cmd, restricted as ctx says.
func Start(ctx context.Context, cmd *exec.Cmd) error {
	confine, _ := ctx.Value(confineKey{}).(func(*exec.Cmd) error)
	if confine == nil {
		return cmd.Start()
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		err := confine(cmd)
		if err == nil {
			err = cmd.Start()
		}
		started <- err
	}()
	return <-started
}

// Wait runs cmd to its end, restricted as ctx says.
func Wait(ctx context.Context, cmd *exec.Cmd) error {
	if err := Start(ctx, cmd); err != nil {
		return err
	}
	return cmd.Wait()
}
