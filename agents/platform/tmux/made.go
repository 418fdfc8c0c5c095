package tmux

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Made is a pane that cmux made, as its options say, in a session with a mark.
type Made struct {
	ID      PaneID
	Dead    bool
	Viewed  bool      // somebody sees it
	Changed time.Time // when its window last changed
	Monitor bool      // of a Board or an organization: the monitor's pane
	Run     string    // the owner, see NodeMarks
	Node    string
	Session string // name; spaces are replaced by _
	Mark    string // the value of the session's option
}

// MadePanes returns the panes that cmux made in sessions that have the option; without a
// server there are none.
func (s Server) MadePanes(ctx context.Context, option string) (all []Made, err error) {
	out, err := s.Exec(ctx, "list-panes", "-a", "-F", "#{pane_id} #{pane_dead} #{?#{&&:#{window_active},#{session_attached}},1,0} #{window_activity} "+
		"#{?#{"+MonitorOption+"},1,0} #{"+optRun+"} #{"+optNode+"} #{s/ /_/:session_name} #{"+option+"}")
	if errors.Is(err, ErrNoServer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 9)
		if len(f) != 9 {
			return nil, fmt.Errorf("tmux list-panes: cannot read %q", line)
		}
		m := Made{ID: PaneID(f[0]), Dead: f[1] == "1", Viewed: f[2] == "1", Monitor: f[4] == "1", Run: f[5], Node: f[6], Session: f[7], Mark: f[8]}
		if at, err := numbers(f[3:4]); err == nil {
			m.Changed = time.Unix(int64(at[0]), 0)
		}
		if m.Mark != "" && (m.Monitor || m.Run != "" && m.Node != "") {
			all = append(all, m)
		}
	}
	return all, nil
}

// Capture returns the text of a pane, with lines that scrolled away.
func (s Server) Capture(ctx context.Context, p PaneID, history int) (string, error) {
	return s.Exec(ctx, "capture-pane", "-p", "-S", fmt.Sprint(-history), "-t", string(p))
}

// ClosePane removes a pane, and its window and session if it was the last one there. Its
// processes get SIGHUP.
func (s Server) ClosePane(ctx context.Context, p PaneID) error {
	_, err := s.Exec(ctx, "kill-pane", "-t", string(p))
	return ignore(err, ErrNotFound)
}
