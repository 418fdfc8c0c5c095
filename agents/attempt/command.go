package attempt

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cmux/agents/proc"
	"cmux/dag"
	"cmux/signals"
)

// Command is the kind that runs the task with sh; its exit code is its report.
func Command() Kind {
	return Kind{Name: dag.KindCommand, New: func(s *Stage) (Agent, error) { return &command{stage: s}, nil }}
}

type command struct {
	stage   *Stage
	program *Program
}

// maxArgument is how much of a task goes by argument: Linux allows 128 KB for
// one, whatever the others hold.
const maxArgument = 100 << 10

// Shell is the sh command that runs a script byte for byte. A script too long
// for one argument is left in file and run from there.
func Shell(script, file string) (*exec.Cmd, error) {
	if len(script) <= maxArgument {
		// Without -- a script that begins with a dash is an option to some shells.
		return exec.Command("/bin/sh", "-c", "--", script), nil
	}
	if err := signals.PutFile(file, []byte(script), 0o600); err != nil {
		return nil, err
	}
	return exec.Command("/bin/sh", file), nil
}

// plain splits a script that is nothing but the path of a program and its
// arguments, for which a shell would only take time; nil when it says more.
func plain(script string) []string {
	special := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+,:@ ", r))
	}
	if strings.ContainsFunc(script, special) {
		return nil
	}
	words := strings.Fields(script)
	// A name without a slash may be the shell's own; : and . are commands.
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return nil
	}
	return words
}

func (c *command) Start(context.Context) error {
	s := c.stage
	start := s.Piped
	if s.Terminal != nil {
		start = s.InPty
	}
	if words := plain(s.Node.Task); words != nil {
		program, err := start(&exec.Cmd{Path: words[0], Args: words}, s.Out)
		if err == nil {
			c.program = program
			return nil
		}
		// The shell knows what to say of a missing program, and how to run a
		// script without #!.
	}
	cmd, err := Shell(s.Node.Task, filepath.Join(s.Run.NodeDir(s.Node.Name), "task-"+strconv.Itoa(s.Spec.Attempt)+".sh"))
	if err != nil {
		return err
	}
	c.program, err = start(cmd, s.Out)
	return err
}

// Deliver has nobody to deliver to: a command reports once, by its end.
func (c *command) Deliver(context.Context, string) error {
	return errors.New("a command takes no messages")
}

func (c *command) Interrupt(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	return c.program.Finish(ctx, grace)
}

func (c *command) Ended() <-chan struct{} { return c.program.Exited() }
func (c *command) Exit() proc.Exit        { return c.program.Exit() }
