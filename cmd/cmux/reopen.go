package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"cmux/agents/control/say"
	"cmux/agents/kinds"
	"cmux/agents/run"
	"cmux/dag"
)

// conversation is what an agent that has ended can go on with.
type conversation struct {
	id   string
	dir  string // where it is opened
	lost string // its own directory, when that is gone; dir is then the project's
}

// conversationOf is the newest conversation of a node, and nil when it has
// none. A dir that is gone cannot be opened in.
func conversationOf(n *run.NodeView, root string) *conversation {
	for i := len(n.Attempts) - 1; i >= 0; i-- {
		a := &n.Attempts[i]
		id := a.Conversation
		if id == "" && a.End != nil {
			id = a.End.Conversation
		}
		if id == "" {
			continue
		}
		c := &conversation{id: id, dir: a.Place.Dir}
		if info, err := os.Stat(c.dir); err != nil || !info.IsDir() {
			c.dir, c.lost = root, c.dir
		}
		return c
	}
	return nil
}

// reopen offers a person the conversation of a node whose agent has ended. The
// error is errDeclined when they do not want it.
func (d *Deps) reopen(ctx context.Context, v *run.View, n *run.NodeView, c *conversation, yes bool) error {
	name := n.Spec.Name
	logs := "cmux agents logs " + name
	if n.Fact.Phase != dag.Ended && !(n.Left != nil && n.Fact.Live()) && v.Holder != nil {
		return &Hint{Err: fmt.Errorf("%s has no agent now, and the run is about to go on with it (%s)", name, n.Status.Label), Try: logs}
	}
	cmd, err := kinds.Reopen(n.Spec.Agent, d.Env, c.id)
	if errors.Is(err, exec.ErrNotFound) {
		return &Hint{Err: fmt.Errorf("the conversation of %s cannot be opened: %w", name, err), Try: "cmux doctor"}
	}
	if err != nil {
		return &Hint{Err: fmt.Errorf("the conversation of %s cannot be opened: %w", name, err), Try: logs}
	}
	cmd.Dir = c.dir
	if !d.interactive() {
		if _, err := fmt.Fprintln(d.Out, shellLine(cmd)); err != nil {
			return err
		}
		return usage("the command above, in a terminal", "%s has ended (%s), and there is no terminal to open its conversation in", name, n.Status.Label)
	}
	if c.lost != "" {
		fmt.Fprintf(d.Err, "Its directory %s is gone: it would be opened in %s.\n", c.lost, c.dir)
	}
	if !yes {
		ok, err := d.askYes(ctx, fmt.Sprintf("%s is %s. Open its conversation again?", name, n.Status.Label), true)
		if err != nil {
			return err
		}
		if !ok {
			return errDeclined
		}
	}
	fmt.Fprintf(d.Err, "%s, in %s. It is yours alone: cmux neither checks nor records what is done there.\n", strings.Join(cmd.Args, " "), c.dir)
	return become(cmd)
}

// become makes this process that program: its terminal, its signals and its
// exit code are then the program's own.
func become(cmd *exec.Cmd) error {
	if err := os.Chdir(cmd.Dir); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", cmd.Path, syscall.Exec(cmd.Path, cmd.Args, append(cmd.Env, "PWD="+cmd.Dir)))
}

// shellLine is cmd as a person would type it.
func shellLine(cmd *exec.Cmd) string {
	words := make([]string, len(cmd.Args))
	for i, a := range cmd.Args {
		words[i] = say.Word(a)
	}
	return "cd " + say.Word(cmd.Dir) + " && " + strings.Join(words, " ")
}
