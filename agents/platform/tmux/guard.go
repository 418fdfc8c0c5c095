package tmux

import (
	"context"
	"fmt"
	"strings"
)

// A guarded pane is given up at this death within this time, in seconds.
const (
	guardDeaths = 5
	guardWindow = 60
)

// Guard has tmux itself start the pane's command again whenever its process
// ends, with the same arguments and directory, until Unguard. The fifth death
// within a minute leaves the pane dead with givenUp as its label, and unguarded. Guarding anew
// forgets earlier deaths.
//
// The process should hold a [Client] of the server. tmux can miss a child's end
// until it is told of another one (see the configuration): at a start it looks
// again a little later, and afterwards when the process's client detaches.
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
	// It may have died before the hook was there.
	look := lookAgain()
	out, err := c.sequence(ctx, append(look, []string{"display-message", "-p", "-t", string(p), "#{pane_dead}"})...)
	if err != nil || out[len(look)] != "1" {
		return err
	}
	_, err = c.Run(ctx, "respawn-pane", "-t", string(p))
	return ignore(err, ErrPaneActive) // the hook was faster
}

// death is the option that holds when a pane died for the i-th last time.
func death(i int) string { return fmt.Sprintf("@cmux_death%d", i) }

func setOption(p PaneID, flags, name, value string) []string {
	return []string{"set-option", "-p" + flags, "-t", string(p), name, value}
}

// lookAgain makes tmux see ends that it missed.
func lookAgain() (commands [][]string) {
	for _, seconds := range lookAgainAfter {
		commands = append(commands, []string{"run-shell", "-b", "sleep " + seconds})
	}
	return commands
}

// guardHook is the command that sets what happens at a death.
func guardHook(p PaneID) ([]string, error) {
	const deaths = guardDeaths
	// The times of the last ones move up by one; the oldest against the newest
	// says whether it was one too many.
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

// Unguard lets the pane stay dead when its process ends next, which is pid. Where
// another one was started in its place meanwhile, that one stays guarded.
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

// Revive has a pane that is dead and still guarded started again: tmux missed
// its process's end. It counts as a death. Any other pane is left alone.
func (s Server) Revive(ctx context.Context, p PaneID) error {
	hook, err := commandText([]string{"set-hook", "-R", "-t", string(p), "pane-died"})
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, "if-shell", "-F", "-t", string(p), "#{pane_dead}", hook)
	return err
}

// ReviveMonitor does so with the monitor's pane of the project at root, in a
// session.
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
