package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/say"
	"cmux/agents/run"
)

// Changelog asks what the nodes of a run did.
type Changelog struct {
	Run string `json:"run,omitempty"` // its id; empty: the newest
}

// Changelog says in Markdown what each node of a run did, in graph order.
func (p *Project) Changelog(ctx context.Context, c Changelog) (string, error) {
	r, err := p.named(ctx, c.Run)
	if err != nil {
		return "", err
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return "", err
	}
	return changelog(v), nil
}

// named is the run with an id, or the newest where that is empty.
func (p *Project) named(ctx context.Context, id string) (*run.Run, error) {
	if id == "" {
		return p.Latest(ctx)
	}
	ids, err := run.List(p.Root)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(ids, id) {
		return nil, &Hint{Err: fmt.Errorf("there is no run %q", id), Try: "cmux agents list"}
	}
	return run.Open(p.Root, id)
}

// changelog is the text of Changelog.
func changelog(v *run.View) string {
	p := &v.Run.Plan
	var b strings.Builder
	fmt.Fprintf(&b, "# Run %s of %s: %s\n\n", p.ID, p.Graph.Session, v.RunState)
	fmt.Fprintf(&b, "Base: %s (%.12s)\n", p.BaseRef, p.Base)
	if !v.StartedAt.IsZero() {
		fmt.Fprintf(&b, "Started: %s\n", v.StartedAt.Format(time.RFC3339))
	}
	if !v.EndedAt.IsZero() {
		fmt.Fprintf(&b, "Ended: %s\n", v.EndedAt.Format(time.RFC3339))
	}
	for _, i := range p.Graph.Order() {
		n := &v.Nodes[i]
		fmt.Fprintf(&b, "\n## %s: %s\n\n", n.Spec.Name, n.Status.Label)
		if n.Spec.Branch != "" {
			fmt.Fprintf(&b, "- branch: `%s`", n.Spec.Branch)
			if n.Tip != "" {
				fmt.Fprintf(&b, " at %.12s", n.Tip)
			}
			b.WriteByte('\n')
		}
		if n.Fact.Attempts > 0 {
			fmt.Fprintf(&b, "- attempts: %d\n", n.Fact.Attempts)
		}
		if n.Status.Reason != "" {
			fmt.Fprintf(&b, "- reason: %s\n", say.Line(n.Status.Reason))
		}
		if end := n.LastEnd(); end != nil {
			if end.Commits > 0 {
				fmt.Fprintf(&b, "- commits: %d\n", end.Commits)
			}
			for _, c := range end.Checks {
				word := "passed"
				if c.Exit != 0 || c.TimedOut {
					word = "failed"
				}
				fmt.Fprintf(&b, "- check %s: `%s`\n", word, say.Line(c.Command))
			}
			if end.Snapshot != "" {
				fmt.Fprintf(&b, "- saved work: %s\n", end.Snapshot)
			}
			if s := strings.TrimSpace(end.Summary); s != "" {
				fmt.Fprintf(&b, "\n%s\n", s)
			}
			if s := strings.TrimRight(end.DiffStat, "\n"); s != "" {
				fmt.Fprintf(&b, "\n```\n%s\n```\n", s)
			}
		}
	}
	return b.String()
}
