package tmux

import (
	"context"
	"fmt"
)

// A guarded pane is given up at this death within this time, in seconds.
const (
	guardDeaths = 5
	guardWindow = 60
)

// Guard has tmux itself start the pane's command again whenever its process
// ends, with the same arguments and directory, until Unguard. The fifth death
// within a minute leaves the pane dead with givenUp as its label. Guarding anew
// forgets earlier deaths.
//
// The process should hold a [Client] of the server. tmux can miss a child's end
// until it is told of another one (see the configuration): at a start it looks
// again a little later, and afterwards when the process's client detaches.
func (c *Client) Guard(ctx context.Context, p PaneID, givenUp string) error {
	const deaths = guardDeaths
	death := func(i int) string { return fmt.Sprintf("@cmux_death%d", i) }
	set := func(flags, name, value string) []string {
		return []string{"set-option", "-p" + flags, "-t", string(p), name, value}
	}
	// At each death the times of the last ones move up by one; the oldest
	// against the newest says whether it was one too many.
	var hook, setup [][]string
	for i := deaths; i > 1; i-- {
		hook = append(hook, set("F", death(i), "#{"+death(i-1)+"}"))
	}
	hook = append(hook, set("F", death(1), "#{T:@cmux_clock}"))
	for i := 1; i <= deaths; i++ {
		setup = append(setup, set("", death(i), "0"))
	}
	setup = append(setup, set("", "@cmux_given_up", labelText(givenUp)))
	tooMany := fmt.Sprintf("#{e|<:#{e|-:#{%s},#{%s}},%d}", death(1), death(deaths), guardWindow)
	giveUp, err := commandText(set("F", optLabel, "#{@cmux_given_up}"))
	if err != nil {
		return err
	}
	var lookAgain [][]string
	for _, seconds := range lookAgainAfter {
		lookAgain = append(lookAgain, []string{"run-shell", "-b", "sleep " + seconds})
	}
	again, err := commandText(append([][]string{{"respawn-pane", "-t", string(p)}}, lookAgain...)...)
	if err != nil {
		return err
	}
	hook = append(hook, []string{"if-shell", "-F", "-t", string(p), tooMany, giveUp, again})
	text, err := commandText(hook...)
	if err != nil {
		return err
	}
	setup = append(setup, []string{"set-hook", "-p", "-t", string(p), "pane-died", text})
	if _, err := c.sequence(ctx, setup...); err != nil {
		return err
	}
	// It may have died before the hook was there.
	out, err := c.sequence(ctx, append(lookAgain, []string{"display-message", "-p", "-t", string(p), "#{pane_dead}"})...)
	if err != nil || out[len(lookAgain)] != "1" {
		return err
	}
	_, err = c.Run(ctx, "respawn-pane", "-t", string(p))
	return ignore(err, ErrPaneActive) // the hook was faster
}

// Unguard lets the pane stay dead when its process ends next.
func (c *Client) Unguard(ctx context.Context, p PaneID) error {
	_, err := c.Run(ctx, "set-hook", "-p", "-u", "-t", string(p), "pane-died")
	return err
}
