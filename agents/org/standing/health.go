package standing

import (
	"time"

	"gopkg.in/yaml.v3"

	"cmux/dag"
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

// healthKeys are the keys below health.
func healthKeys(h *Health) []configKey {
	text := func(to *string, name, doc, def string) configKey {
		return configKey{name: name, doc: doc, def: def, schema: map[string]any{"type": "string", "minLength": 1},
			read: func(p *configParser, n *yaml.Node) { *to = p.text(n, "health."+name) }}
	}
	span := func(to *dag.Duration, name, doc, def string, least time.Duration) configKey {
		return configKey{name: name, doc: doc, def: def, schema: map[string]any{"type": "string"},
			read: func(p *configParser, n *yaml.Node) {
				d, err := time.ParseDuration(p.text(n, "health."+name))
				if n.Value != "" && (err != nil || d < least) {
					p.fault(n, "write it as 30s or 2m", "health.%s must be a time of %s or more, not %s", name, least, n.Value)
					return
				}
				*to = dag.Duration(d)
			}}
	}
	return []configKey{
		text(&h.Command, "command", "A shell command that ends with 0 while the project is healthy.", "none: nothing is looked at"),
		text(&h.Tree, "tree", "The worktree that it runs in, from the project's root: `.` is that itself. Recovery checks out other commits there.",
			"a worktree of cmux's own, `.cmux/health`, which follows the integration branch"),
		span(&h.Every, "every", "How often it runs.", "`30s`", time.Second),
		span(&h.Timeout, "timeout", "It has failed when it runs for longer.", "`1m`", time.Second),
		text(&h.Restart, "restart", "A shell command that is tried first when it has failed three times in a row. What it starts in the background stays.", "none"),
		text(&h.Rebuild, "rebuild", "A shell command that runs after another commit was checked out, before the check.", "none"),
		flagKey(&h.Rollback, "health.", "rollback", "Whether recovery may check out an earlier commit in the tree, on a branch of its own.", "`false`"),
	}
}
