package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cmux/worktree"
)

func newVerifyCmd(d *Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "verify NAME",
		Short: "Run a node's checks now, in its worktree",
		Long: `Run the verify commands of a node now, in its worktree, and say which pass. It
changes nothing about the node's status. The exit code is 1 when one fails.`,
		Example:           "  cmux agents verify api",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, i, err := d.latestView(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			n := &v.Nodes[i]
			if len(n.Spec.Verify) == 0 {
				return fmt.Errorf("%s has no verify commands", n.Spec.Name)
			}
			a := n.Attempt()
			if a == nil || a.Place.Dir == "" {
				return fmt.Errorf("%s has no worktree yet (%s)", n.Spec.Name, n.Status.Label)
			}
			if _, err := os.Stat(a.Place.Dir); err != nil {
				return fmt.Errorf("the worktree of %s is gone: %w", n.Spec.Name, err)
			}
			env := worktree.CleanEnv(d.Env)
			for _, k := range slices.Sorted(maps.Keys(n.Spec.Env)) {
				env = append(env, k+"="+n.Spec.Env[k])
			}
			failed := 0
			for _, check := range n.Spec.Verify {
				fmt.Fprintf(d.Err, "── %s ──\n", check)
				began := d.Now()
				err := d.check(cmd.Context(), a.Place.Dir, env, check, time.Duration(n.Spec.VerifyTimeout))
				if cmd.Context().Err() != nil {
					return cmd.Context().Err()
				}
				word := "passed"
				if err != nil {
					failed++
					word = "failed: " + err.Error()
				}
				fmt.Fprintf(d.Out, "%s: %s (%s)\n", check, word, span(d.Now().Sub(began)))
			}
			if failed > 0 {
				return silent{fmt.Errorf("%d of %d checks failed", failed, len(n.Spec.Verify))}
			}
			return nil
		},
	}
}

var errTooLong = errors.New("took too long")

// check runs one verify command; its output goes to stderr.
func (d *Deps) check(ctx context.Context, dir string, env []string, command string, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w (%s)", errTooLong, timeout))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, d.Err, d.Err
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // what it started as well
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
		return cause
	}
	return err
}
