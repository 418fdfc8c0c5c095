package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"cmux/worktree/gitfile"
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

type looksKey struct{}

// Looking returns a context without what WithConfine set, in which that restricts nothing
// but commands that look at the files of a worktree: git status and git diff go into nested
// repositories, and run the filters that an agent set there.
func Looking(ctx context.Context) context.Context {
	if confine, _ := ctx.Value(confineKey{}).(func(*exec.Cmd) error); confine != nil {
		ctx = context.WithValue(ctx, looksKey{}, confine)
	}
	return WithConfine(ctx, nil)
}

// looks reports whether a command of git only looks at files.
func looks(args []string) bool {
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-c":
			i++
		case !strings.HasPrefix(arg, "-"):
			return arg == "status" || arg == "diff" || arg == "diff-files" || arg == "diff-index"
		}
	}
	return false
}

type foreignKey struct{}

// WithForeign returns a context in which confine restricts git in a worktree that has a
// separate git directory, and where WithTree holds what looks at files, unless WithConfine
// does: the settings there are an agent's.
func WithForeign(ctx context.Context, confine func(cmd *exec.Cmd) error) context.Context {
	return context.WithValue(ctx, foreignKey{}, confine)
}

// foreign reports whether dir is in a worktree that has a separate git directory.
func foreign(dir string) bool {
	for ; filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			to, err := gitfile.Private(dir)
			return err == nil && filepath.Base(to) == gitfile.Separate
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return false
}

// Start starts cmd, restricted as ctx says.
func Start(ctx context.Context, cmd *exec.Cmd) error {
	confine, _ := ctx.Value(confineKey{}).(func(*exec.Cmd) error)
	if confine == nil && pinnedAt(ctx, cmd.Dir) == "" && foreign(cmd.Dir) {
		if confine, _ = ctx.Value(foreignKey{}).(func(*exec.Cmd) error); confine == nil {
			return fmt.Errorf("an agent's own settings of git hold in %s: git does not run there", cmd.Dir)
		}
	}
	if confine == nil && looks(cmd.Args) {
		if confine, _ = ctx.Value(looksKey{}).(func(*exec.Cmd) error); confine == nil && pinnedAt(ctx, cmd.Dir) != "" {
			confine, _ = ctx.Value(foreignKey{}).(func(*exec.Cmd) error) // an agent lives there
		}
	}
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
