package tmux

import (
	"errors"
	"fmt"
	"strings"
)

// Errors that callers tell apart with [errors.Is].
var (
	// ErrMissing: no tmux program in PATH.
	ErrMissing = errors.New("tmux is not installed; install tmux 3.2 or newer, or run with --headless")
	// ErrNoServer: no server listens on the socket.
	ErrNoServer = errors.New("no tmux server is running")
	// ErrGone: the control connection has ended, by Close or because the
	// server did.
	ErrGone = errors.New("the connection to the tmux server has ended")
	// ErrNotFound: the session, window or pane does not exist (any more).
	ErrNotFound = errors.New("no such tmux session, window or pane")
	// ErrSessionExists: the session name is taken.
	ErrSessionExists = errors.New("the tmux session name is taken")
	// ErrPaneActive: the pane's process has not ended.
	ErrPaneActive = errors.New("the pane's process is still running")
	// ErrNoSpace: a pane is too small to be split.
	ErrNoSpace = errors.New("no space for another pane")
)

// VersionError reports a tmux that is too old.
type VersionError struct {
	Got string // what `tmux -V` printed
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s is too old: cmux needs tmux %d.%d or newer; upgrade it, or run with --headless",
		e.Got, minMajor, minMinor)
}

// CommandError is tmux's refusal of a command. It matches ErrNotFound and the other errors
// of this package by tmux's message.
type CommandError struct {
	Command string // the command's name, as split-window
	Message string // tmux's message
}

func (e *CommandError) Error() string { return "tmux " + e.Command + ": " + e.Message }

// Is maps tmux's messages, the same from 3.2 on, to this package's errors.
func (e *CommandError) Is(target error) bool {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(e.Message, p) {
				return true
			}
		}
		return false
	}
	switch target {
	case ErrNoServer:
		return has("no server running on", "error connecting to", "server exited unexpectedly")
	case ErrNotFound:
		// No current target: a server without a session, which ends when its last client
		// does.
		return has("can't find ", "no such ", "no current target")
	case ErrSessionExists:
		return has("duplicate session")
	case ErrPaneActive:
		return has("still active")
	case ErrNoSpace:
		return has("no space for")
	}
	return false
}

// ignore returns err unless it is this target error.
func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
