package claude

import (
	"context"
	"slices"
	"strings"
	"time"

	"cmux/agents/transcript"
)

// glance bounds a look at the screen when the program is about to be ended.
const glance = 2 * time.Second

// Unread implements attempt.Typed. A line that was sent while a turn is under
// way joins it after the next tool, or begins the next turn; the transcript says
// when.
func (a *agent) Unread() []string {
	a.mu.Lock()
	none := len(a.lines) == 0
	a.mu.Unlock()
	if none {
		return nil
	}
	a.follow.catchUp()
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

// heardOf takes in that the agent was given text to read. It is called with the
// lock held.
func (a *agent) heardOf(text string) {
	text = plain(text)
	a.lines = slices.DeleteFunc(a.lines, func(line string) bool { return strings.Contains(text, plain(line)) })
}

// Draft implements attempt.Typed.
func (a *agent) Draft(ctx context.Context) string {
	p, err := a.pane()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	s, _, err := p.look(ctx)
	if err != nil || s.Draft == "" {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if slices.ContainsFunc(a.texts, func(text string) bool { return ours(s.Draft, text) }) {
		return "" // a person knows nothing of it
	}
	return s.Draft
}

// unreadBefore is what was said to the agent in an earlier attempt and is in its
// conversation's transcript without having been read.
func unreadBefore(path string) []string {
	f := transcript.NewFollower(path, 0)
	f.Read() // what cannot be read was not said
	var waiting []string
	for _, s := range f.Signs() {
		switch {
		case s.Sub:
		case s.What == transcript.Queued:
			waiting = append(waiting, s.Text)
		case s.What == transcript.Unqueued && s.Text == "" && len(waiting) > 0:
			waiting = waiting[1:]
		case s.What == transcript.Read, s.What == transcript.Unqueued:
			read := plain(s.Text)
			waiting = slices.DeleteFunc(waiting, func(w string) bool { return strings.Contains(read, plain(w)) })
		}
	}
	return waiting
}
