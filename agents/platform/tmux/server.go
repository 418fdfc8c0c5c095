package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The oldest tmux that has what this package uses: -f of new-session, -N,
// pane hooks, arithmetic in formats.
const minMajor, minMinor = 3, 2

// Server names a private tmux server. It is not started before the first
// [Server.Connect], and ends with its last session.
type Server struct {
	// Socket is the socket's name (tmux -L), or its path (tmux -S) if it holds
	// a slash. Names live below TMUX_TMPDIR.
	Socket string
	// Config is the absolute path of cmux's tmux.conf, which Connect writes.
	Config string
	// Env is the environment of tmux processes, and so of the server when it
	// is started; nil means the caller's own. TMUX and TMUX_PANE are removed.
	Env []string
}

// flags selects the server.
func (s Server) flags() []string {
	if strings.Contains(s.Socket, "/") {
		return []string{"-S", s.Socket}
	}
	return []string{"-L", s.Socket}
}

func (s Server) env() []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	out := make([]string, 0, len(env))
	for _, kv := range env {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "TMUX", "TMUX_PANE":
		default:
			out = append(out, kv)
		}
	}
	return out
}

// person is the variables by which a process finds what belongs to the person
// (package seal). A server has those of whoever started it; a session has to have
// those of whoever started what is in it.
func (s Server) person() []string {
	vars := []string{"XDG_STATE_HOME="} // an empty one counts as none
	for _, kv := range s.env() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "HOME":
			vars = append(vars, kv)
		case "XDG_STATE_HOME":
			vars[0] = kv
		}
	}
	return vars
}

// personFlags gives them to a new session, whatever is started in it later.
func (s Server) personFlags() (flags []string) {
	for _, kv := range s.person() {
		flags = append(flags, "-e", kv)
	}
	return flags
}

// personOf gives them to the session of a target.
func (s Server) personOf(target string) (commands [][]string) {
	for _, kv := range s.person() {
		name, value, _ := strings.Cut(kv, "=")
		commands = append(commands, []string{"set-environment", "-t", target, name, value})
	}
	return commands
}

// command is a tmux process on the server. It runs in the root directory: a
// server keeps the directory it was started in for its whole life.
func (s Server) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	path, err := lookTmux()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, append(append([]string{"-u"}, s.flags()...), args...)...)
	cmd.Env = s.env()
	cmd.Dir = "/"
	return cmd, nil
}

func lookTmux() (string, error) {
	path, err := exec.LookPath("tmux")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("%w (%v)", ErrMissing, err)
	}
	return path, nil
}

// Check reports whether a usable tmux is installed: nil, ErrMissing or a
// *VersionError.
func Check(ctx context.Context) error {
	path, err := lookTmux()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, path, "-V").Output()
	if err != nil {
		return fmt.Errorf("%s -V: %w", path, err)
	}
	return checkVersion(strings.TrimSpace(string(out)))
}

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^tmux (?:next-)?(\d+)\.(\d+)`) })

// checkVersion judges the output of tmux -V. Development builds without a
// number ("tmux master", "tmux openbsd-7.4") pass.
func checkVersion(v string) error {
	m := versionNumber().FindStringSubmatch(v)
	if m == nil {
		return nil
	}
	major, err1 := strconv.Atoi(m[1])
	minor, err2 := strconv.Atoi(m[2])
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("cannot read the version %q: %w", v, err)
	}
	if major < minMajor || major == minMajor && minor < minMinor {
		return &VersionError{Got: v}
	}
	return nil
}

// Exec runs one command in a tmux process of its own and returns what it
// printed. It never starts a server: without one the error is ErrNoServer. For
// more than a command or two, Connect.
func (s Server) Exec(ctx context.Context, args ...string) (string, error) {
	return s.ExecAll(ctx, args)
}

// ExecAll is Exec for several commands, which the server carries out with
// nothing in between.
func (s Server) ExecAll(ctx context.Context, commands ...[]string) (string, error) {
	line := []string{"-N"}
	for i, args := range commands {
		if i > 0 {
			line = append(line, ";")
		}
		line = append(line, processArgs(args)...)
	}
	cmd, err := s.command(ctx, line...)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if msg := strings.TrimSpace(stderr.String()); msg != "" {
			return "", &CommandError{Command: commands[0][0], Message: msg}
		}
		return "", fmt.Errorf("tmux %s: %w", commands[0][0], err)
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// HasSession reports whether the server runs and has a session of this name.
func (s Server) HasSession(ctx context.Context, name string) (bool, error) {
	_, err := s.Exec(ctx, "has-session", "-t", "="+name)
	if errors.Is(err, ErrNoServer) || errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// AttachArgs is the command that attaches a terminal to a session, for exec
// from outside tmux or as the command of a window of another tmux server.
func (s Server) AttachArgs(session SessionID) ([]string, error) {
	path, err := lookTmux()
	if err != nil {
		return nil, err
	}
	args := []string{"env", "-u", "TMUX", "-u", "TMUX_PANE"}
	for _, kv := range s.env() {
		if strings.HasPrefix(kv, "TMUX_TMPDIR=") {
			args = append(args, kv)
		}
	}
	args = append(append(args, path), s.flags()...)
	return append(args, "attach-session", "-t", string(session)), nil
}

// AttachInsideArgs is the command that, run with the environment of a pane of
// the person's own tmux, opens a window there that shows the session.
func (s Server) AttachInsideArgs(session SessionID, window string) ([]string, error) {
	attach, err := s.AttachArgs(session)
	if err != nil {
		return nil, err
	}
	path, err := lookTmux()
	if err != nil {
		return nil, err
	}
	args := append([]string{"new-window", "-n", formatLiteral(window), "--"}, attach...)
	return append([]string{path}, processArgs(args)...), nil
}
