package tmux

import (
	"context"
	"fmt"
	"strings"
)

// Guard gives up after this many deaths within this time, in seconds.
const (
	guardDeaths = 5
	guardWindow = 60
)

// Guard makes tmux restart the pane's command whenever its process ends, with the same
// arguments and directory, until Unguard. After the fifth death within a minute, the pane
// stays dead with givenUp as its label, and is no longer guarded. Calling Guard again
// forgets earlier deaths.
//
// The process should hold a [Client] of the server. tmux can miss the end of a child until
// another child ends (see the configuration). So Guard makes tmux check again a little
// later, and tmux checks when the process's client detaches.
func (c *Client) Guard(ctx context.Context, p PaneID, givenUp string) error {
	var setup [][]string
	for i := 1; i <= guardDeaths; i++ {
		setup = append(setup, setOption(p, "", death(i), "0"))
	}
	setup = append(setup, setOption(p, "", "@cmux_given_up", labelText(givenUp)))
	hook, err := guardHook(p)
	if err != nil {
		return err
	}
	setup = append(setup, hook)
	if _, err := c.sequence(ctx, setup...); err != nil {
		return err
	}
	// The process may have died before the hook was set.
	look := lookAgain()
	out, err := c.sequence(ctx, append(look, []string{"display-message", "-p", "-t", string(p), "#{pane_dead}"})...)
	if err != nil || out[len(look)] != "1" {
		return err
	}
	_, err = c.Run(ctx, "respawn-pane", "-t", string(p))
	return ignore(err, ErrPaneActive) // the hook was faster
}

// death returns the option with the time of the i-th last death.
func death(i int) string { return fmt.Sprintf("@cmux_death%d", i) }

func setOption(p PaneID, flags, name, value string) []string {
	return []string{"set-option", "-p" + flags, "-t", string(p), name, value}
}

// lookAgain makes tmux notice ends that it missed.
func lookAgain() (commands [][]string) {
	for _, seconds := range lookAgainAfter {
		commands = append(commands, []string{"run-shell", "-b", "sleep " + seconds})
	}
	return commands
}

// guardHook returns the command that sets the hook for a death.
func guardHook(p PaneID) ([]string, error) {
	const deaths = guardDeaths
	// Shift the times of the last deaths by one. The difference between the newest and the
	// oldest shows whether there were too many.
	var hook [][]string
	for i := deaths; i > 1; i-- {
		hook = append(hook, setOption(p, "F", death(i), "#{"+death(i-1)+"}"))
	}
	hook = append(hook, setOption(p, "F", death(1), "#{T:@cmux_clock}"))
	tooMany := fmt.Sprintf("#{e|<:#{e|-:#{%s},#{%s}},%d}", death(1), death(deaths), guardWindow)
	giveUp, err := commandText(setOption(p, "F", optLabel, "#{@cmux_given_up}"), unguard(p))
	if err != nil {
		return nil, err
	}
	again, err := commandText(append([][]string{{"respawn-pane", "-t", string(p)}}, lookAgain()...)...)
	if err != nil {
		return nil, err
	}
	hook = append(hook, []string{"if-shell", "-F", "-t", string(p), tooMany, giveUp, again})
	text, err := commandText(hook...)
	return []string{"set-hook", "-p", "-t", string(p), "pane-died", text}, err
}

// Unguard lets the pane stay dead after its process pid ends. If another process was
// started in the pane in between, that one stays guarded.
func (c *Client) Unguard(ctx context.Context, p PaneID, pid int) error {
	off, err := condition(p, fmt.Sprintf("#{==:#{pane_pid},%d}", pid), unguard(p))
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, off...)
	return err
}

func unguard(p PaneID) []string {
	return []string{"set-hook", "-p", "-u", "-t", string(p), "pane-died"}
}

// Revive restarts the process of a pane that is dead and still guarded, because tmux missed
// the process's end. It counts as a death. It does nothing to any other pane.
func (s Server) Revive(ctx context.Context, p PaneID) error {
	hook, err := commandText([]string{"set-hook", "-R", "-t", string(p), "pane-died"})
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "if-shell", "-F", "-t", string(p), "#{pane_dead}", hook)
	return err
}

// ReviveMonitor is Revive for the monitor's pane of the project at root, in a session.
func (s Server) ReviveMonitor(ctx context.Context, session SessionID, root string) error {
	out, err := s.Exec(ctx, "list-panes", "-s", "-t", string(session), "-F", "#{pane_id} #{"+MonitorOption+"}")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		pane, whose, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if whose == root {
			return s.Revive(ctx, PaneID(pane))
		}
	}
	return nil
}
