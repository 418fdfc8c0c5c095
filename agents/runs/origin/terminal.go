package origin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"cmux/agents/platform/proc"
)

// ErrNoTerminal says that the calling process has no controlling terminal.
var ErrNoTerminal = errors.New("this command has no terminal")

// ErrPrograms says that what is typed at the caller's terminal a program may
// have typed.
var ErrPrograms = errors.New("this terminal is no person's")

// Terminal opens the controlling terminal of the calling process for who sits
// at it. It is no person's, and the error says why, where it is a pane of cmux's
// own tmux server, in which every program can type, where it was made below an
// attempt, or where a process of one has it too. Standard input and output are
// not asked: whoever calls the command has chosen them.
//
// A terminal that a program made and handed to what belongs to no attempt, or a
// server of terminals of the person's own, is not told from a person's.
func Terminal() (*os.File, error) {
	device, leader, err := proc.Controlling()
	if errors.Is(err, proc.ErrGone) {
		return nil, fmt.Errorf("%w that can be told: what started it is not among the processes that are seen here, as in a process namespace of its own", ErrPrograms)
	}
	if err != nil {
		return nil, fmt.Errorf("finding out whose terminal this is: %w", err)
	}
	if device == 0 {
		return nil, ErrNoTerminal
	}
	for _, p := range leader {
		if _, _, _, ok := wrapper(p.Args); ok || p.Attempt != "" {
			return nil, fmt.Errorf("%w: a node of a run started it", ErrPrograms)
		}
		if isServer(p.Args) {
			return nil, fmt.Errorf("%w: it is a pane of cmux's tmux server, in which agents can type", ErrPrograms)
		}
	}
	programs, err := proc.Terminals()
	if err != nil {
		return nil, fmt.Errorf("finding out whose terminal this is: %w", err)
	}
	if programs[device] {
		return nil, fmt.Errorf("%w: programs that a node of a run started have it too", ErrPrograms)
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ENXIO) {
		return nil, ErrNoTerminal
	}
	return tty, err
}

// isServer reports whether a command line is that of a tmux server with cmux's
// own configuration. No environment of the caller's says so: it could say
// otherwise.
func isServer(args []string) bool {
	if len(args) == 0 || filepath.Base(args[0]) != "tmux" {
		return false
	}
	for i, a := range args[:len(args)-1] {
		if dir, file := filepath.Split(args[i+1]); a == "-f" && file == "tmux.conf" && filepath.Base(dir) == ".cmux" {
			return true
		}
	}
	return false
}
