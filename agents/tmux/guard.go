package tmux

import (
	"context"
	"strings"
)

// Guard makes tmux itself start s in the pane whenever the process in it ends,
// until Unguard. Counting deaths is up to the process: one that must not come
// again unguards its pane before it ends.
func (c *Client) Guard(ctx context.Context, p PaneID, s Spec) error {
	hook, err := guardHook(p, s)
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, "set-hook", "-p", "-t", string(p), "pane-died", hook)
	return err
}

// Unguard lets the pane's process end. It needs no connection, so that a
// process can call it as its last act.
func (s Server) Unguard(ctx context.Context, p PaneID) error {
	_, err := s.Exec(ctx, "set-hook", "-pu", "-t", string(p), "pane-died")
	return err
}

func guardHook(p PaneID, s Spec) (string, error) {
	args, err := respawn(p, s, false)
	if err != nil {
		return "", err
	}
	line, err := commandLine([][]string{args})
	return strings.TrimSuffix(line, "\n"), err
}
