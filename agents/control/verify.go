package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"cmux/dag"
	"cmux/worktree"
)

// Verify orders that the checks of a node are run now, in its worktree. It
// changes nothing about the node.
type Verify struct {
	Node string `json:"node"`

	Output io.Writer      `json:"-"` // what the checks write
	Begun  func(string)   `json:"-"` // is told each check's command before it is run; may be nil
	Ended  func(*Checked) `json:"-"` // is told what came of it; may be nil
}

// Checked is a check that was run.
type Checked struct {
	Command string        `json:"command"`
	Failed  string        `json:"failed,omitempty"` // why; empty: it passed
	Took    time.Duration `json:"took"`
}

// Verify runs the checks of a node, one after the other.
func (p *Project) Verify(ctx context.Context, o Verify) ([]Checked, error) {
	v, i, err := p.node(ctx, o.Node)
	if err != nil {
		return nil, err
	}
	n := &v.Nodes[i]
	if len(n.Spec.Verify) == 0 {
		return nil, fmt.Errorf("%s has no verify commands", o.Node)
	}
	a := n.Attempt()
	if a == nil || a.Place.Dir == "" {
		return nil, fmt.Errorf("%s has no worktree yet (%s)", o.Node, n.Status.Label)
	}
	if _, err := os.Stat(a.Place.Dir); err != nil {
		return nil, fmt.Errorf("the worktree of %s is gone: %w", o.Node, err)
	}
	env := p.checkEnv(n.Spec)
	var all []Checked
	for _, command := range n.Spec.Verify {
		if o.Begun != nil {
			o.Begun(command)
		}
		began := p.Now()
		err := check(ctx, a.Place.Dir, env, command, time.Duration(n.Spec.VerifyTimeout), o.Output)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		c := Checked{Command: command, Took: p.Now().Sub(began)}
		if err != nil {
			c.Failed = err.Error()
		}
		all = append(all, c)
		if o.Ended != nil {
			o.Ended(&c)
		}
	}
	return all, nil
}

// checkEnv is the environment in which a person has the checks of a node run.
func (p *Project) checkEnv(n *dag.Node) []string {
	env := worktree.CleanEnv(p.Env)
	for _, k := range slices.Sorted(maps.Keys(n.Env)) {
		env = append(env, k+"="+n.Env[k])
	}
	return env
}

var errTooLong = errors.New("took too long")

// check runs one verify command.
func check(ctx context.Context, dir string, env []string, command string, timeout time.Duration, out io.Writer) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w (%s)", errTooLong, timeout))
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // what it started as well
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if cause := context.Cause(ctx); errors.Is(cause, errTooLong) {
		return cause
	}
	return err
}
