package attempt

import (
	"context"
	"time"

	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt/verdict"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// Home answers questions about the run that come up while the attempt works. A *run.Run is
// one.
type Home interface {
	// RunnerLives reports whether a runner serves the run's project.
	RunnerLives() bool
	// Unrest reports whether a signal has interrupted other processes of the run since a
	// time.
	Unrest(after time.Time) bool
	workspace.Home
	verdict.Home
	// Limit returns the recorded limit of an account; zero: none.
	Limit(account string) (run.Limit, error)
	// Post writes a message with a verified sender to the project's mailbox, and returns it
	// with its id.
	Post(ctx context.Context, m mailbox.Message, files ...mail.Enclosure) (mailbox.Message, error)
}

// settler is the Home of a standing agent, which puts questions by message.
type settler interface {
	// Settle records that a message to the person needs them no more.
	Settle(ctx context.Context, id string) error
}
