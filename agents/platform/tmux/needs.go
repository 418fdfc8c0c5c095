package tmux

import (
	"context"
)

// Headline is what the status line of a session says of its run. Style marks
// (#[...]) are the caller's; text of others has to be free of them.
type Headline struct {
	Full  string
	Brief string // where there is little room
	Gate  bool   // a gate waits, which is shown in the monitor
}

// SetHome tells the keys of a session which pane its monitor is in.
func (c *Client) SetHome(ctx context.Context, s SessionID, p PaneID) error {
	_, err := c.Run(ctx, "set-option", "-t", string(s), "--", optHome, string(p))
	return err
}

// TellPrefix has the keys that are shown in a session begin with what a person
// presses to get at it: its prefix, or, where it is shown by a tmux of their own
// with the same prefix, that one twice. outer is the socket of that tmux; empty:
// none.
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

// ShowPane brings a pane to the front of its session; whole fills the window with
// it.
func (s Server) ShowPane(ctx context.Context, p PaneID, whole bool) error {
	commands := [][]string{{"select-window", "-t", string(p)}, {"select-pane", "-t", string(p)}}
	if whole {
		commands = append(commands, zoomed(string(p)))
	}
	_, err := s.ExecAll(ctx, commands...)
	return err
}

// zoomed zooms a pane unless it is the only one or zoomed already. The window is
// as it was once the key leads away from it.
func zoomed(p string) []string {
	return []string{"if-shell", "-F", "-t", p, "#{?#{window_zoomed_flag},0,#{!=:#{window_panes},1}}",
		mustText([]string{"resize-pane", "-Z", "-t", p}, []string{"set-option", "-w", "-t", p, "--", optZoomed, "1"})}
}
