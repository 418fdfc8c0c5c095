package claude_test

import (
	"regexp"
	"strings"
	"time"

	"cmux/agents/testkit/agenttest"
)

// terminal is the pane of a fixture.
type terminal struct {
	*agenttest.Pane
	f *fixture
}

// inPane starts the wrapper in a pane.
func (f *fixture) inPane() *terminal {
	f.T.Helper()
	return &terminal{f.InPane(), f}
}

// rests waits until no turn is under way: the program says so in its title.
func (p *terminal) rests() {
	p.f.T.Helper()
	p.f.Eventually("the program rests", func() bool {
		return strings.HasPrefix(p.Exec("display-message", "-p", "-t", p.ID, "#{pane_title}"), "✳")
	})
}

// chooses moves through a dialog to the option with text and confirms it. A
// dialog is drawn before it hears keys, so one that did nothing is pressed
// again, but not so soon that both count.
func (p *terminal) chooses(text string) {
	p.f.T.Helper()
	chosen := regexp.MustCompile("(?m)^ *❯.*" + text)
	open := false
	var pressed time.Time
	p.f.Eventually("the dialog is answered with "+text, func() bool {
		screen := p.Screen()
		shown := strings.Contains(screen, "Enter to confirm")
		if open && !shown {
			return true
		}
		open = open || shown
		// A key that comes too soon is lost, and one that comes late moves on.
		if open && time.Since(pressed) > 10*time.Second {
			pressed = time.Now()
			if chosen.MatchString(screen) {
				p.Keys("Enter")
			} else {
				p.Keys("Up")
				pressed = pressed.Add(-9 * time.Second)
			}
		}
		return false
	})
}
