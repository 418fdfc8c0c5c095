// Package command is the kind of agent that is no agent: it runs the task with
// sh, and its exit code is its report.
package command

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
	"cmux/dag"
)

// Kind runs the task with sh.
func Kind() agent.Kind {
	return agent.Kind{
		Name: dag.KindCommand,
		New:  func(s *agent.Stage) (agent.Agent, error) { return &command{stage: s}, nil },
		Can: agent.Capability{
			Panes:    "a terminal of its own",
			Reports:  "by its exit code",
			Headless: "yes",
			Tested:   "with the real program",
		},
	}
}

type command struct {
	stage   *agent.Stage
	program *agent.Program
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
	if words := plain(s.Task); words != nil {
		program, err := start(&exec.Cmd{Path: words[0], Args: words}, s.Out)
		if err == nil {
			c.program = program
			return nil
		}
		// The shell knows what to say of a missing program, and how to run a
		// script without #!.
	}
	cmd, err := agent.Shell(s.Task, s.Files.File("task", ".sh"))
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
