package remains

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
)

// Changelog asks what the nodes of a run did.
type Changelog struct {
	Run string `json:"run,omitempty"` // its id; empty: the newest
}

// Changelog says in Markdown what each node of a run did, in graph order.
func (p *Remains) Changelog(ctx context.Context, c Changelog) (string, error) {
	if text, err := p.pruned(c.Run); text != "" || err != nil {
		return text, err
	}
	r, err := p.Runs.Named(ctx, c.Run)
	if err != nil {
		return "", err
	}
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return "", err
	}
	return p.changelog(ctx, v), nil
}

// work is what a node has committed, as git shows it.
type work struct {
	commits []string // its own, oldest first: short id and subject
	stat    string   // of the files that it changed
}

func (p *Remains) changelog(ctx context.Context, v *run.View) string {
	return changelog(v, p.Now(), func(n *run.NodeView) work { return p.work(ctx, v.Run.Plan.Root, n) })
}

// work asks git what a node has committed since its start commit. What git does
// not know any more is left out.
func (p *Remains) work(ctx context.Context, root string, n *run.NodeView) (w work) {
	if !n.Spec.HasBranch() || n.Attempt() == nil {
		return w
	}
	end, tip := n.LastEnd(), n.Tip
	live := n.Fact.Live()
	switch {
	case end != nil && end.Commits == 0 && !live:
		return w
	case tip == "" && end != nil && !live:
		tip = end.Tip
	}
	if tip == "" || live {
		out, err := p.Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", "refs/heads/"+n.Spec.Branch)
		if err != nil {
			return w
		}
		tip = strings.TrimSpace(out)
	}
	start := p.Runs.StartCommit(ctx, root, n.Attempts, tip)
	if start == "" || start == tip {
		return w
	}
	// The first parents are its own: what it was merged from, others committed.
	if out, err := p.Git(ctx, root, "log", "--reverse", "--first-parent", "--format=%h %s", start+".."+tip, "--"); err == nil && out != "" {
		w.commits = strings.Split(strings.TrimRight(out, "\n"), "\n")
	}
	w.stat, _ = p.Git(ctx, root, "diff", "--no-ext-diff", "--no-textconv", "--stat=100", "--stat-count=100", start, tip, "--")
	return w
}

// changelog is the text of Changelog.
func changelog(v *run.View, now time.Time, of func(*run.NodeView) work) string {
	p := &v.Run.Plan
	var b strings.Builder
	fmt.Fprintf(&b, "# Run %s of %s: %s\n\n", p.ID, p.Graph.Session, v.RunState)
	fmt.Fprintf(&b, "Base: %s (%.12s)\n", p.BaseRef, p.Base)
	if !v.StartedAt.IsZero() {
		fmt.Fprintf(&b, "Started: %s\n", v.StartedAt.Format(time.RFC3339))
	}
	if !v.EndedAt.IsZero() {
		fmt.Fprintf(&b, "Ended: %s, after %s\n", v.EndedAt.Format(time.RFC3339), say.Span(v.EndedAt.Sub(v.StartedAt)))
	}
	if runs.Known(v.Used) != nil {
		fmt.Fprintf(&b, "Used: %s\n", runs.UsageText(v.Used, p.Graph.Budget))
	}
	for _, i := range p.Graph.Order() {
		n := &v.Nodes[i]
		fmt.Fprintf(&b, "\n## %s: %s\n", n.Spec.Name, n.Status.Label)
		did := of(n)
		if facts := nodeFacts(n, now, did); facts != "" {
			b.WriteString("\n" + facts)
		}
		stat := did.stat
		if end := n.LastEnd(); end != nil {
			if s := strings.TrimSpace(end.Summary); s != "" {
				fmt.Fprintf(&b, "\n%s\n", s)
			}
			if stat == "" {
				stat = end.DiffStat
			}
		}
		if s := strings.TrimRight(stat, "\n"); s != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", s)
		}
	}
	return b.String()
}

// nodeFacts is what is known of a node in a list.
func nodeFacts(n *run.NodeView, now time.Time, did work) string {
	var b strings.Builder
	fact := func(name, format string, args ...any) { fmt.Fprintf(&b, "- "+name+": "+format+"\n", args...) }
	if n.Spec.Branch != "" && n.Tip != "" {
		fact("branch", "`%s` at %.12s", n.Spec.Branch, n.Tip)
	} else if n.Spec.Branch != "" {
		fact("branch", "`%s`", n.Spec.Branch)
	}
	if n.Fact.Attempts > 0 {
		fact("attempts", "%d", n.Fact.Attempts)
	}
	if f := &n.Fact; !f.StartedAt.IsZero() {
		end := f.EndedAt
		if end.IsZero() || f.Live() {
			end = now
		}
		fact("time", "%s", say.Span(end.Sub(f.StartedAt)))
	}
	if runs.Known(n.Used) != nil {
		fact("used", "%s", runs.UsageText(n.Used, n.Spec.Budget))
	}
	if n.Status.Reason != "" {
		fact("reason", "%s", say.Line(n.Status.Reason))
	}
	end := n.LastEnd()
	if count := len(did.commits); count > 0 {
		fact("commits", "%d", count)
		if left := count - runs.ShownCommits; left > 0 {
			fmt.Fprintf(&b, "  - %s before these\n", say.Count(left, "commit"))
			did.commits = did.commits[left:]
		}
		for _, c := range did.commits {
			fmt.Fprintf(&b, "  - %s\n", say.Line(c))
		}
	} else if end != nil && end.Commits > 0 {
		fact("commits", "%d", end.Commits)
	}
	if end == nil {
		return b.String()
	}
	for _, c := range end.Checks {
		word := "passed"
		if c.Exit != 0 || c.TimedOut {
			word = "failed"
		}
		fact("check "+word, "`%s`", say.Line(c.Command))
	}
	if end.Snapshot != "" {
		fact("saved work", "%s", end.Snapshot)
	}
	return b.String()
}
