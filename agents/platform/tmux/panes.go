package tmux

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ids as tmux assigns them; a server never reuses one.
type (
	SessionID string // $0
	WindowID  string // @0
	PaneID    string // %0
)

// Pane is the state of a pane in tmux.
type Pane struct {
	ID           PaneID
	Window       WindowID
	Session      SessionID
	Dead         bool // the process ended and its output was read to the end
	DeadStatus   int  // exit code; -1: unknown
	PID          int
	InMode       bool // copy mode or the like: keys do not reach the program
	Width        int  // cells
	Height       int
	WindowWidth  int
	WindowHeight int
	Zoomed       bool      // a pane of the window is zoomed
	Viewed       bool      // its window is the current one of an attached client
	Active       bool      // it gets the keys typed in its window
	Typed        time.Time // when somebody last typed in the session
	WindowName   string
	Kind         string // of a Board's window: what stands in it
	Run          string // a Board's pane: whose run
	Node         string // and which node; empty in the main pane
	Finished     int    // the node has ended, as the n-th; else 0
	Monitor      bool   // a run is carried and shown in it
}

// The fields of ListPanes, with one space between them; only the last may contain spaces.
const paneFormat = "#{pane_id} #{window_id} #{session_id} #{pane_dead} #{pane_dead_status} #{pane_pid} #{pane_in_mode} " +
	"#{pane_width} #{pane_height} #{window_width} #{window_height} #{window_zoomed_flag} " +
	"#{" + optRun + "} #{" + optNode + "} #{" + optFinished + "} #{?#{" + MonitorOption + "},1,0} " +
	"#{?#{&&:#{window_active},#{session_attached}},1,0} #{pane_active} #{session_activity} #{" + optKind + "} #{window_name}"

// Pane options.
const (
	optLabel    = "@cmux_label"
	optRun      = "@cmux_run"
	optNode     = "@cmux_node"
	optFinished = "@cmux_finished"
)

func parsePane(line string) (Pane, error) {
	f := strings.SplitN(line, " ", 21) // a window's name may hold spaces
	if len(f) != 21 {
		return Pane{}, fmt.Errorf("tmux list-panes: cannot read %q", line)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			return -1 // an empty status
		}
		return n
	}
	return Pane{
		ID: PaneID(f[0]), Window: WindowID(f[1]), Session: SessionID(f[2]),
		Dead: f[3] == "1", DeadStatus: number(f[4]), PID: number(f[5]), InMode: number(f[6]) > 0,
		Width: number(f[7]), Height: number(f[8]), WindowWidth: number(f[9]), WindowHeight: number(f[10]),
		Zoomed: f[11] == "1", Run: f[12], Node: f[13], Finished: max(number(f[14]), 0),
		Monitor: f[15] == "1",
		Viewed:  f[16] == "1", Active: f[17] == "1", Typed: time.Unix(int64(number(f[18])), 0), Kind: f[19], WindowName: f[20],
	}, nil
}

func (c *Client) listPanes(ctx context.Context, args ...string) ([]Pane, error) {
	out, err := c.Run(ctx, append([]string{"list-panes", "-F", paneFormat}, args...)...)
	if err != nil {
		return nil, err
	}
	var panes []Pane
	for line := range strings.Lines(out) {
		p, err := parsePane(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		panes = append(panes, p)
	}
	return panes, nil
}

// ListPanes lists the panes of every session, in the order of tmux's indices.
// A window that is linked into two sessions is listed for each.
func (c *Client) ListPanes(ctx context.Context) ([]Pane, error) { return c.listPanes(ctx, "-a") }

// SessionPanes lists the panes of one session.
func (c *Client) SessionPanes(ctx context.Context, s SessionID) ([]Pane, error) {
	return c.listPanes(ctx, "-s", "-t", string(s))
}

// WindowPanes lists the panes of one window.
func (c *Client) WindowPanes(ctx context.Context, w WindowID) ([]Pane, error) {
	return c.listPanes(ctx, "-t", string(w))
}

// Spec is the process of a new pane.
type Spec struct {
	Dir  string   // an existing directory, absolute
	Argv []string // executed without a shell; empty: the person's shell
}

// args returns the end of a command that starts a pane. It checks Dir, because tmux would
// start in the home directory if Dir does not exist.
func (s Spec) args() ([]string, error) {
	if !filepath.IsAbs(s.Dir) {
		return nil, fmt.Errorf("a pane needs an absolute directory, not %q", s.Dir)
	}
	if fi, err := os.Stat(s.Dir); err != nil {
		return nil, fmt.Errorf("a pane's directory: %w", err)
	} else if !fi.IsDir() {
		return nil, fmt.Errorf("a pane's directory: %s is not a directory", s.Dir)
	}
	return append([]string{"-c", formatLiteral(s.Dir), "--"}, program(s.Argv)...), nil
}

// Place identifies a new pane.
type Place struct {
	Session SessionID
	Window  WindowID
	Pane    PaneID
}

const placeFormat = "#{session_id} #{window_id} #{pane_id}"

// Marks are options that record the owner of a pane, window or session, by name. They are
// set together with its creation: if the process is killed, the object exists with its
// marks or not at all.
type Marks struct {
	Session, Pane map[string]string
}

// commands returns the tmux commands that set m.Session on the session of target and m.Pane
// on its pane.
func (m Marks) commands(target string) (all [][]string) {
	for _, name := range slices.Sorted(maps.Keys(m.Session)) {
		all = append(all, []string{"set-option", "-t", target, "--", name, m.Session[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Pane)) {
		all = append(all, []string{"set-option", "-p", "-t", target, "--", name, m.Pane[name]})
	}
	return all
}

// create makes a window or session in the background, with its marks; target identifies it
// afterwards.
func (c *Client) create(ctx context.Context, spec Spec, target string, marks Marks, args ...string) (Place, error) {
	rest, err := spec.args()
	if err != nil {
		return Place{}, err
	}
	create := append(append(args, "-d", "-P", "-F", placeFormat), rest...)
	out, err := c.sequence(ctx, append([][]string{create}, marks.commands(target)...)...)
	if err != nil {
		return Place{}, err
	}
	return parsePlace(out[0])
}

func parsePlace(out string) (Place, error) {
	f := strings.Fields(out)
	if len(f) != 3 {
		return Place{}, fmt.Errorf("tmux: cannot read the ids of a new pane from %q", out)
	}
	return Place{SessionID(f[0]), WindowID(f[1]), PaneID(f[2])}, nil
}

// NewSession makes a session of DefaultWidth x DefaultHeight whose first window runs spec.
// The name may contain [A-Za-z0-9_-]; the error is ErrSessionExists if it is in use.
func (c *Client) NewSession(ctx context.Context, name, window string, spec Spec, marks Marks) (Place, error) {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return Place{}, fmt.Errorf("bad tmux session name %q: use letters, digits, _ and -", name)
	}
	args := append([]string{"new-session", "-s", name, "-n", formatLiteral(window)}, c.server.personFlags()...)
	return c.create(ctx, spec, "="+name+":", marks, append(args, "-x", strconv.Itoa(DefaultWidth), "-y", strconv.Itoa(DefaultHeight))...)
}

// NewWindow makes a window in the background, after all others of the session.
func (c *Client) NewWindow(ctx context.Context, s SessionID, name string, spec Spec, marks Marks) (Place, error) {
	last := string(s) + ":{end}"
	if _, err := c.sequence(ctx, c.server.personOf(string(s))...); err != nil {
		return Place{}, err
	}
	return c.create(ctx, spec, last, marks, "new-window", "-a", "-t", last, "-n", formatLiteral(name))
}

// RespawnPane starts spec in a pane whose process has ended; otherwise the error is
// ErrPaneActive. With kill, the process is ended first.
func (c *Client) RespawnPane(ctx context.Context, p PaneID, spec Spec, kill bool) error {
	args, err := respawn(p, spec, kill)
	if err != nil {
		return err
	}
	_, err = c.sequence(ctx, append(c.server.personOf(string(p)), args)...)
	return err
}

func respawn(p PaneID, spec Spec, kill bool) ([]string, error) {
	rest, err := spec.args()
	if err != nil {
		return nil, err
	}
	args := []string{"respawn-pane", "-t", string(p)}
	if kill {
		args = append(args, "-k")
	}
	return append(args, rest...), nil
}

// KillPane removes a pane and ends its processes.
func (c *Client) KillPane(ctx context.Context, p PaneID) error {
	_, err := c.Run(ctx, "kill-pane", "-t", string(p))
	return err
}

// KillSession ends a session and all of its panes.
func (c *Client) KillSession(ctx context.Context, s SessionID) error {
	_, err := c.Run(ctx, "kill-session", "-t", string(s))
	return err
}

// FindSession returns the id of the session with exactly this name, or ErrNotFound.
func (c *Client) FindSession(ctx context.Context, name string) (SessionID, error) {
	out, err := c.Run(ctx, "display-message", "-p", "-t", "="+name+":", "#{session_id} #{session_name}")
	if err != nil {
		return "", err
	}
	id, got, _ := strings.Cut(out, " ")
	if got != name {
		return "", &CommandError{"display-message", "can't find session: " + name}
	}
	return SessionID(id), nil
}

// SetLabel sets the text in the pane's border. Nothing in it is expanded.
func (c *Client) SetLabel(ctx context.Context, p PaneID, text string) error {
	return c.SetOption(ctx, p, optLabel, labelText(text))
}

// SetOption sets an option of a pane to exactly this value.
func (c *Client) SetOption(ctx context.Context, p PaneID, name, value string) error {
	_, err := c.Run(ctx, "set-option", "-p", "-t", string(p), "--", name, value)
	return err
}

// Option returns the value of a pane's option; empty if unset. tmux replaces control
// characters.
func (c *Client) Option(ctx context.Context, p PaneID, name string) (string, error) {
	return c.Run(ctx, "show-options", "-pqv", "-t", string(p), "--", name)
}

// CapturePane returns the text of a pane: the visible lines, after up to history lines that
// scrolled away.
func (c *Client) CapturePane(ctx context.Context, p PaneID, history int) (string, error) {
	return c.Run(ctx, "capture-pane", "-p", "-t", string(p), "-S", strconv.Itoa(-history))
}

// Message shows a line to all clients attached to the session.
func (c *Client) Message(ctx context.Context, s SessionID, text string) error {
	clients, err := c.Run(ctx, "list-clients", "-t", string(s), "-F", "#{client_name}")
	if err != nil || clients == "" {
		return err
	}
	// tmux expands formats, then times, and draws styles.
	text = strings.ReplaceAll(formatLiteral(labelText(text)), "%", "%%")
	var commands [][]string
	for name := range strings.Lines(clients) {
		commands = append(commands, []string{"display-message", "-c", strings.TrimSuffix(name, "\n"), "--", text})
	}
	_, err = c.RunAll(ctx, commands...)
	return err
}
