package attempt

import (
	"context"
	"time"

	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
	"cmux/worktree"
)

// Home answers what an attempt can only ask while it works: what has become of
// its run meanwhile. A *run.Run is one.
type Home interface {
	// RunnerLives reports whether a runner has the run's project.
	RunnerLives() bool
	// Unrest reports whether something else of the run was interrupted by a signal
	// after a moment.
	Unrest(after time.Time) bool
	// AtWork are the nodes, other than the one named, of which an attempt was at
	// work since a moment.
	AtWork(but string, since time.Time) ([]string, error)
	// Tell tells the person, once, of a change of what all worktrees share whose
	// author is not known. grave says that it can make git run a program or look
	// elsewhere.
	Tell(ctx context.Context, detail string, grave bool) (first bool, err error)
	// Limit is the limit of an account as recorded; zero: it has none.
	Limit(account string) (run.Limit, error)
	// Pushable is what all worktrees shared when the run began; nil: that is not
	// known. It is an error when what decides about a push has changed since.
	Pushable(ctx context.Context, repo *worktree.Repo) (*worktree.Shared, error)
	// Post writes a message to the project's mailbox, which is known to be from who
	// it says, and returns it with its id.
	Post(ctx context.Context, m mailbox.Message, files ...mail.Enclosure) (mailbox.Message, error)
}
