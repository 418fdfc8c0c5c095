package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/agents/tmux"
	"cmux/dag"
)

func newAttachCmd(d *Deps) *cobra.Command {
	var yes, pane bool
	cmd := &cobra.Command{
		Use:   "attach [NAME]",
		Short: "Look at the run in tmux, or at one node",
		Long: `Attach this terminal to the run's tmux session, at the pane of the named node.
Inside tmux a window of your own tmux is opened that shows it. Leave with the
prefix key and d.

A node whose agent has ended, with or without a report, is offered again: its conversation is opened in the
agent's own terminal program, in the node's worktree, or at the project's root
when the worktree is gone. You talk to it with your own environment; cmux
neither checks nor records what is done there. Without a terminal the command
for it is printed.`,
		Example:           "  cmux agents attach api",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if len(args) == 0 {
				if yes || pane {
					return usage("cmux agents attach --help", "--yes and --pane are for a node: name one")
				}
				r, err := d.latest(ctx)
				if err != nil {
					return err
				}
				return d.attach(ctx, r, "")
			}
			v, i, err := d.latestView(ctx, args[0])
			if err != nil {
				return err
			}
			return d.attachNode(ctx, v, &v.Nodes[i], yes, pane)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "open the conversation of an agent that has ended without asking")
	cmd.Flags().BoolVar(&pane, "pane", false, "show the pane even of an agent that has ended, as it left it")
	cmd.MarkFlagsMutuallyExclusive("yes", "pane")
	return cmd
}

// attachNode shows a person a node: its pane, or, once its agent has ended, the
// conversation that it had.
func (d *Deps) attachNode(ctx context.Context, v *run.View, n *run.NodeView, yes, pane bool) error {
	name := n.Spec.Name
	if n.Spec.Role == dag.RoleGate {
		err := fmt.Errorf("%s is a gate (%s): nothing runs in it, so it has no pane", name, n.Status.Label)
		if control.Succeeded(n) {
			return err
		}
		return &Hint{Err: err, Try: "cmux agents approve " + name}
	}
	if n.Fact.Live() && n.Left == nil {
		if v.Run.Plan.Headless {
			return &Hint{Err: fmt.Errorf("%s runs headless (%s): it has no pane", name, n.Status.Label), Try: "cmux agents logs " + name + " -f"}
		}
		return d.attach(ctx, v.Run, name)
	}
	there := false // a session that may still have its pane
	if !v.Run.Plan.Headless {
		var err error
		if _, there, err = runner.Session(ctx, v.Run); err != nil {
			return err
		}
	}
	logs := "cmux agents logs " + name
	c := conversationOf(n, v.Run.Plan.Root)
	if c == nil || pane {
		if there {
			return d.attach(ctx, v.Run, name)
		}
		what := "it has no pane, and no conversation to open again"
		if c != nil {
			what, logs = "it has no pane any more", "cmux agents attach "+name
		}
		return &Hint{Err: fmt.Errorf("%s (%s): %s", name, n.Status.Label, what), Try: logs}
	}
	switch err := d.reopen(ctx, v, n, c, yes); {
	case !errors.Is(err, errDeclined):
		return err
	case there:
		return d.attach(ctx, v.Run, name)
	}
	fmt.Fprintf(d.Err, "What it did: %s\n", logs)
	return nil
}

// attach shows the session of a run, at the pane of the named node if one is
// named.
func (d *Deps) attach(ctx context.Context, r *run.Run, node string) error {
	server := runner.Server(r)
	if server == nil {
		return &Hint{Err: fmt.Errorf("run %s is headless: there is no session", r.Plan.ID), Try: "cmux agents status --watch, or cmux agents logs NAME -f"}
	}
	session := r.Plan.Graph.Session
	id, ok, err := runner.Session(ctx, r)
	if err != nil {
		return err
	}
	if !ok {
		return &Hint{Err: fmt.Errorf("the session %s of run %s is gone", session, r.Plan.ID), Try: "cmux agents resume"}
	}
	if node != "" {
		if err := d.selectPane(ctx, r, *server, session, node); err != nil {
			return err
		}
	}
	argv, err := server.AttachArgs(id)
	if mux := d.Getenv("TMUX"); mux != "" {
		if socket, _, _ := strings.Cut(mux, ","); filepath.Base(socket) == server.Socket {
			// Already there: a session within itself would show nothing.
			argv, err = []string{"tmux", "switch-client", "-t", string(id)}, nil
		} else {
			argv, err = server.AttachInsideArgs(id, session)
		}
	} else if !d.interactive() {
		return usage("cmux agents status --watch", "there is no terminal to attach")
	}
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...) // not ended with ctx: it has the terminal
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Env, d.In, raw(d.Out), raw(d.Err)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tmux: %w", err)
	}
	return nil
}

// selectPane brings the pane of a node to the front of its session.
func (d *Deps) selectPane(ctx context.Context, r *run.Run, server tmux.Server, session, node string) error {
	v, err := r.View(ctx, d.Now())
	if err != nil {
		return err
	}
	n := &v.Nodes[r.Plan.Graph.Index(node)]
	a := n.Attempt()
	if a == nil || a.Pane == "" {
		return &Hint{Err: fmt.Errorf("%s has no pane (%s)", node, n.Status.Label), Try: "cmux agents status"}
	}
	in, err := server.Exec(ctx, "display-message", "-p", "-t", a.Pane, "#{session_name}")
	if err == nil && in != session { // ids begin again with a new server
		err = tmux.ErrNotFound
	}
	if err == nil {
		_, err = server.Exec(ctx, "select-window", "-t", a.Pane)
	}
	if err == nil {
		_, err = server.Exec(ctx, "select-pane", "-t", a.Pane)
	}
	if errors.Is(err, tmux.ErrNotFound) {
		return &Hint{Err: fmt.Errorf("the pane of %s is gone", node), Try: "cmux agents logs " + node}
	}
	return err
}
