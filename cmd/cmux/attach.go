package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/agents/tmux"
)

func newAttachCmd(d *Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "attach [NAME]",
		Short: "Look at the run in tmux, or at one node",
		Long: `Attach this terminal to the run's tmux session, at the pane of the named node.
Inside tmux a window of your own tmux is opened that shows it. Leave with the
prefix key and d.`,
		Example:           "  cmux agents attach api",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := d.latest(cmd.Context())
			if err != nil {
				return err
			}
			name := ""
			if len(args) > 0 {
				name = args[0]
				if _, err := nodeIndex(r, name); err != nil {
					return err
				}
			}
			return d.attach(cmd.Context(), r, name)
		},
	}
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
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.Env, d.In, d.Out, d.Err
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
		return fmt.Errorf("%s has no pane yet (%s)", node, n.Status.Label)
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
