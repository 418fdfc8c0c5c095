package tmux

import (
	"context"
)

// Headline is a run's status in the status line of a session. It may contain style marks
// (#[...]) of the caller; foreign text in it must not.
type Headline struct {
	Full  string
	Brief string // where there is little room
	Gate  bool   // a gate waits, which is shown in the monitor
}

// SetHome sets the monitor's pane for the keys of a session.
func (c *Client) SetHome(ctx context.Context, s SessionID, p PaneID) error {
	_, err := c.Run(ctx, "set-option", "-t", string(s), "--", optHome, string(p))
	return err
}

// TellPrefix sets the prefix that the key help of a session shows: the prefix of cmux's
// tmux, or, if the person's own tmux around it has the same prefix, that one twice. outer
// is the socket of the outer tmux; empty: none.
func (s Server) TellPrefix(ctx context.Context, session SessionID, outer string) error {
	tell := []string{"set-option", "-u", "-t", string(session), "--", optPrefix}
	if outer != "" {
		ours, err := s.Exec(ctx, "show-options", "-gv", "prefix")
		if err != nil {
			return err
		}
		theirs, err := Server{Socket: outer, Env: s.Env}.Exec(ctx, "show-options", "-gv", "prefix")
		if err == nil && theirs == ours {
			tell = []string{"set-option", "-t", string(session), "--", optPrefix, ours + " " + ours}
		}
	}
	_, err := s.Exec(ctx, tell...)
	return err
}

// SetHeadline sets what the status line says, and whether the monitor needs a
// person.
func (b *Board) SetHeadline(ctx context.Context, h Headline) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := string(b.cfg.Session)
	commands := [][]string{
		{"set-option", "-t", at, "--", optStatus, h.Full},
		{"set-option", "-t", at, "--", optBrief, h.Brief}}
	if b.home != "" {
		commands = append(commands, setPane(b.home, optNeed, needs(h.Gate)))
	}
	_, err := b.c.RunAll(ctx, commands...) // each by itself: a pane may have been closed
	return ignore(err, ErrNotFound)
}

// ShowPane brings a pane to the front of its session; whole: zoom it.
func (s Server) ShowPane(ctx context.Context, p PaneID, whole bool) error {
	commands := [][]string{{"select-window", "-t", string(p)}, {"select-pane", "-t", string(p)}}
	if whole {
		commands = append(commands, zoomed(string(p)))
	}
	_, err := s.ExecAll(ctx, commands...)
	return err
}

// zoomed zooms a pane unless it is the only one or zoomed already. The zoom ends when a key
// leaves the window.
func zoomed(p string) []string {
	return []string{"if-shell", "-F", "-t", p, "#{?#{window_zoomed_flag},0,#{!=:#{window_panes},1}}",
		mustText([]string{"resize-pane", "-Z", "-t", p}, []string{"set-option", "-w", "-t", p, "--", optZoomed, "1"})}
}
