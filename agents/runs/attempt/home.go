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

// Home answers what an attempt can only ask while it works: what has become of
// its run meanwhile. A *run.Run is one.
type Home interface {
	// RunnerLives reports whether a runner has the run's project.
	RunnerLives() bool
	// Unrest reports whether something else of the run was interrupted by a signal
	// after a moment.
	Unrest(after time.Time) bool
	workspace.Home
	verdict.Home
	// Limit is the limit of an account as recorded; zero: it has none.
	Limit(account string) (run.Limit, error)
	// Post writes a message to the project's mailbox, which is known to be from who
	// it says, and returns it with its id.
	Post(ctx context.Context, m mailbox.Message, files ...mail.Enclosure) (mailbox.Message, error)
}

// settler is the Home of a standing agent, which puts questions by message.
type settler interface {
	// Settle records that a message to the person needs them no more.
	Settle(ctx context.Context, id string) error
}
