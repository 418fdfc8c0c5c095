package standing

import (
	"time"

	"cmux/dag"
	"cmux/dag/keys"
)

// Health is how a project's health is told, and what may be done about it. The zero
// value looks at nothing.
type Health struct {
	Command  string       `json:"command,omitempty"`  // healthy: it ends with 0
	Tree     string       `json:"tree,omitempty"`     // where, from the project's root; empty: cmux's own worktree of the integration branch
	Every    dag.Duration `json:"every,omitempty"`    // 0: DefaultEvery
	Timeout  dag.Duration `json:"timeout,omitempty"`  // of the command; 0: DefaultHealthTimeout
	Restart  string       `json:"restart,omitempty"`  // tried first
	Rebuild  string       `json:"rebuild,omitempty"`  // run after another commit was checked out, before the command
	Rollback bool         `json:"rollback,omitempty"` // an earlier commit may be checked out in the tree
}

// What health has where the configuration says nothing.
const (
	DefaultEvery         = 30 * time.Second
	DefaultHealthTimeout = time.Minute
)

// Period is how often the health is looked at.
func (h *Health) Period() time.Duration { return orDefault(h.Every, DefaultEvery) }

// Patience bounds the command.
func (h *Health) Patience() time.Duration { return orDefault(h.Timeout, DefaultHealthTimeout) }

func orDefault(d dag.Duration, or time.Duration) time.Duration {
	if d > 0 {
		return time.Duration(d)
	}
	return or
}

// healthFields are the keys below health.
func healthFields() []keys.Field[Config] {
	text := func(name, def, doc string, to func(*Health) *string) keys.Field[Config] {
		return keys.Text(keys.Key{Name: name, Def: def, Doc: doc}, func(c *Config) *string { return to(&c.Health) }, keys.NotEmpty)
	}
	return []keys.Field[Config]{
		text("command", "none: nothing is looked at", "A shell command that ends with 0 while the project is healthy.", func(h *Health) *string { return &h.Command }),
		text("tree", "a worktree of cmux's own, `.cmux/health`, which follows the integration branch", "The worktree that it runs in, from the project's root: `.` is that itself. Recovery checks out other commits there.",
			func(h *Health) *string { return &h.Tree }),
		keys.Duration(keys.Key{Name: "every", Least: int64(time.Second), Def: "30s", Doc: "How often it runs."}, func(c *Config) *dag.Duration { return &c.Health.Every }),
		keys.Duration(keys.Key{Name: "timeout", Least: int64(time.Second), Def: "1m", Doc: "It has failed when it runs for longer."}, func(c *Config) *dag.Duration { return &c.Health.Timeout }),
		text("restart", "none", "A shell command that is tried first when it has failed three times in a row. What it starts in the background stays.", func(h *Health) *string { return &h.Restart }),
		text("rebuild", "none", "A shell command that runs after another commit was checked out, before the check.", func(h *Health) *string { return &h.Rebuild }),
		keys.Flag(keys.Key{Name: "rollback", Def: "false", Doc: "Whether recovery may check out an earlier commit in the tree, on a branch of its own."}, func(c *Config) *bool { return &c.Health.Rollback }),
	}
}
