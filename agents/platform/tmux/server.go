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

// The oldest tmux with the features of this package: -f of new-session, -N, pane hooks,
// arithmetic in formats.
const minMajor, minMinor = 3, 2

// Server identifies a private tmux server. The first [Server.Connect] starts it; it ends
// with its last session.
type Server struct {
	// Socket is the socket's name (tmux -L), or its path (tmux -S) if it contains a slash.
	// Names are in TMUX_TMPDIR.
	Socket string
	// Config is the absolute path of cmux's tmux.conf, which Connect writes.
	Config string
	// Env is the environment of tmux processes, and of the server if one of them starts it;
	// nil: the caller's. TMUX and TMUX_PANE are removed.
	Env []string
}

// flags returns the arguments that select the server.
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

// person returns the variables by which a process finds the person's files (package seal).
// A server has those of the process that started it; a session must have those of the
// process that created it.
func (s Server) person() []string {
	vars := []string{"XDG_STATE_HOME="} // empty counts as unset
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

// personFlags sets them in a new session, for everything that starts in it later.
func (s Server) personFlags() (flags []string) {
	for _, kv := range s.person() {
		flags = append(flags, "-e", kv)
	}
	return flags
}

// personOf sets them in the session of a target.
func (s Server) personOf(target string) (commands [][]string) {
	for _, kv := range s.person() {
		name, value, _ := strings.Cut(kv, "=")
		commands = append(commands, []string{"set-environment", "-t", target, name, value})
	}
	return commands
}

// command returns a tmux process on the server. It runs in the root directory, because a
// server keeps its start directory for its whole life.
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

// checkVersion checks the output of tmux -V. Development builds without a number ("tmux
// master", "tmux openbsd-7.4") are accepted.
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

// Exec runs one command in a new tmux process and returns its output. It never starts a
// server: without one the error is ErrNoServer. For more than a command or two, use
// Connect.
func (s Server) Exec(ctx context.Context, args ...string) (string, error) {
	return s.ExecAll(ctx, args)
}

// ExecAll is Exec for several commands, which the server runs without interruption.
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

// HasSession reports whether the server runs and has a session with this name.
func (s Server) HasSession(ctx context.Context, name string) (bool, error) {
	_, err := s.Exec(ctx, "has-session", "-t", "="+name)
	if errors.Is(err, ErrNoServer) || errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// AttachArgs returns the command that attaches a terminal to a session, for exec from
// outside tmux or as the command of a window of another tmux server.
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

// AttachInsideArgs returns a command that opens a window with the session in the person's
// own tmux. Run it with the environment of a pane there.
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
