package runs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/runview"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// Delivery is what a node did, for a person to review.
type Delivery struct {
	Node     string            `json:"node"`
	Label    string            `json:"label"`
	Branch   string            `json:"branch"`
	State    ReviewState       `json:"state"`
	Why      string            `json:"why"`    // a merge leaves it out; empty: it takes it
	Start    string            `json:"start"`  // the commit that it began at
	Since    string            `json:"since"`  // the commit of Decision, if the branch holds another now
	Commit   string            `json:"commit"` // what the branch holds now, which a decision is about
	Decision *Decided          `json:"decision"`
	Attempts int               `json:"attempts"`
	Summary  string            `json:"summary"`
	Commits  []DeliveredCommit `json:"commits"` // newest first
	Checks   []DeliveredCheck  `json:"checks"`
	Files    []DeliveredFile   `json:"files"`
	BuiltOn  []string          `json:"built_on"` // nodes whose work is in its branch as well
	Reads    bool              `json:"reads"`    // its agent reads a comment: its work can be sent back
	Reviews  []AgentReview     `json:"reviews"`  // by nodes of the graph, in its order
}

// AgentReview is what a node of the role review says about a Delivery.
type AgentReview struct {
	Node    string            `json:"node"`
	Label   string            `json:"label"`
	Text    string            `json:"text"`              // its report, or why it failed; empty: it has said nothing yet
	Outputs map[string]string `json:"outputs,omitempty"` // that it published
	At      time.Time         `json:"at,omitzero"`       // when it said so
	Earlier bool              `json:"earlier,omitempty"` // it read an earlier state of the work
}

// Decided is what a person decided about a node's work.
type Decided struct {
	Verdict run.Verdict `json:"verdict"`
	Commit  string      `json:"commit,omitempty"`
	Comment string      `json:"comment,omitempty"`
	At      time.Time   `json:"at"`
}

// DeliveredCommit is a commit of a Delivery.
type DeliveredCommit struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// DeliveredCheck is a check of a Delivery.
type DeliveredCheck struct {
	Command string        `json:"command"`
	Passed  bool          `json:"passed"`
	Took    time.Duration `json:"took"` // in nanoseconds
}

// DeliveredFile is a file that a Delivery changed.
type DeliveredFile struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// Deliveries are the finished nodes of the run that left work behind, in graph
// order, with what a person decided about each.
func (p *Runs) Deliveries(ctx context.Context) ([]Delivery, error) {
	v, err := p.LatestView(ctx)
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	all := []Delivery{}
	standings := p.Standings(ctx, repo, v)
	for _, i := range v.Run.Plan.Graph.Order() {
		if standings[i].State == "" {
			continue
		}
		w, err := p.delivery(ctx, repo, v, i, standings[i])
		if err != nil {
			return nil, err
		}
		all = append(all, *w)
	}
	return all, nil
}

// Delivery is what one node did.
func (p *Runs) Delivery(ctx context.Context, node string) (*Delivery, error) {
	v, i, err := p.Node(ctx, node)
	if err != nil {
		return nil, err
	}
	if err := Reviewable(&v.Nodes[i]); err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return nil, err
	}
	return p.delivery(ctx, repo, v, i, p.Standings(ctx, repo, v)[i])
}

// Reviewable refuses a node that left no work to look at.
func Reviewable(n *run.NodeView) error {
	name := n.Spec.Name
	switch {
	case !n.Spec.HasBranch():
		return fmt.Errorf("%s is a %s and leaves no branch to review", name, n.Spec.Role)
	case n.Fact.Live():
		return fmt.Errorf("%s is still at work (%s)", name, n.Status.Label)
	case !runview.Succeeded(n):
		return hint.New(fmt.Errorf("%s is not done (%s)", name, n.Status.Label), "cmux agents status")
	}
	return nil
}

// delivery tells what node i did.
func (p *Runs) delivery(ctx context.Context, repo *worktree.Repo, v *run.View, i int, s BranchStanding) (*Delivery, error) {
	n := &v.Nodes[i]
	w := &Delivery{Node: n.Spec.Name, Reads: n.Spec.UsesModel(), Label: n.Status.Label.String(), Branch: n.Spec.Branch, State: s.State, Why: s.Why,
		Start: s.start, Commit: s.Tip, Attempts: n.Fact.Attempts,
		Commits: []DeliveredCommit{}, Checks: []DeliveredCheck{}, Files: []DeliveredFile{}, BuiltOn: s.builtOn, Reviews: p.agentReviews(ctx, repo, v, i, s)}
	if r := n.Review; r != nil {
		w.Decision = &Decided{r.Verdict, r.Commit, r.Comment, r.At}
		w.Since = p.since(ctx, v.Run.Plan.Root, n, s.Tip)
	}
	if end := n.LastEnd(); end != nil {
		w.Summary = end.Summary
		for _, c := range end.Checks {
			w.Checks = append(w.Checks, DeliveredCheck{c.Command, c.Exit == 0 && !c.TimedOut, time.Duration(c.Took)})
		}
	}
	if s.start == "" || s.Tip == "" || s.start == s.Tip {
		return w, nil
	}
	commits, err := repo.Commits(ctx, s.start, s.Tip)
	if err != nil {
		return nil, err
	}
	for _, c := range commits {
		w.Commits = append(w.Commits, DeliveredCommit{c.ID, c.Subject})
	}
	files, err := repo.FileStats(ctx, s.start, s.Tip)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		w.Files = append(w.Files, DeliveredFile(f))
	}
	return w, nil
}

// since returns the commit that the last decision about n's work was about, if the branch
// holds another now and git still has both; else "".
func (p *Runs) since(ctx context.Context, root string, n *run.NodeView, tip string) string {
	if n.Review == nil || n.Review.Commit == tip || n.Review.Commit == "" || tip == "" {
		return ""
	}
	commit := n.Review.Commit
	if !p.Recall("has "+commit, func() (bool, error) {
		_, err := p.Git(ctx, root, "cat-file", "-e", commit+"^{commit}")
		return err == nil, err
	}) {
		return ""
	}
	return commit
}

// reviewers returns the nodes of the role review that read the work of node i: those that
// depend on it, directly or through gates and merges, in graph order.
func reviewers(g *dag.Graph, i int) (all []int) {
	through := map[int]bool{i: true}
	for _, j := range g.Order() {
		if !slices.ContainsFunc(g.Sources(j), func(d int) bool { return through[d] }) {
			continue
		}
		switch g.Nodes[j].Role {
		case dag.RoleReview:
			all = append(all, j)
		case dag.RoleGate, dag.RoleMerge:
			through[j] = true
		}
	}
	return all
}

// agentReviews returns what the nodes that review the work of node i say about it. A
// command says something if it fails; many have the role because they need no branch.
func (p *Runs) agentReviews(ctx context.Context, repo *worktree.Repo, v *run.View, i int, s BranchStanding) []AgentReview {
	all := []AgentReview{}
	for _, j := range reviewers(v.Run.Plan.Graph, i) {
		n := &v.Nodes[j]
		if end := n.LastEnd(); !n.Spec.UsesModel() && (end == nil || end.Outcome != dag.Failed || runview.Succeeded(n)) {
			continue
		}
		r := AgentReview{Node: n.Spec.Name, Label: n.Status.Label.String(), Outputs: n.Fact.Outputs.Values()}
		for k := len(n.Attempts) - 1; k >= 0 && r.Text == ""; k-- {
			a := &n.Attempts[k]
			if a.End == nil {
				continue
			}
			r.At = a.Ended
			if r.Text = a.End.Summary; r.Text == "" && a.End.Outcome != dag.Done {
				r.Text = a.End.Detail
			}
			r.Earlier = s.Tip != "" && a.Place.Commit != "" && p.Recall("lacks "+a.Place.Commit+" "+s.Tip, func() (bool, error) {
				holds, err := repo.Holds(ctx, a.Place.Commit, s.Tip)
				return !holds, err
			})
		}
		all = append(all, r)
	}
	return all
}

// DeliveryDiff writes the patch of a work, or of one file of it: what the decision
// is about, and nothing that is not committed.
func (p *Runs) DeliveryDiff(ctx context.Context, w *Delivery, file string, o Diff) error {
	args := []string{"--end-of-options", w.Start, w.Commit, "--"}
	if file != "" {
		args = append(args, ":(top,literal)"+file)
	}
	return p.show(ctx, o, p.Root, nil, args...)
}

// maxReviewed bounds how many commits and files of a work are listed in its text.
const maxReviewed = 30

// Write says what a node did, for a person.
func (w *Delivery) Write(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s", w.Node, w.Label, w.State)
	if d := w.Decision; d != nil && d.Commit != "" && w.State != ReviewOpen {
		fmt.Fprintf(&b, " at %.12s", d.Commit)
	}
	fmt.Fprintf(&b, "\nbranch: %s at %.12s, %s since %.12s\n", say.Line(w.Branch), w.Commit, say.Count(len(w.Commits), "commit"), w.Start)
	if len(w.BuiltOn) > 0 {
		fmt.Fprintf(&b, "built on: %s\n", strings.Join(w.BuiltOn, ", "))
	}
	if w.Attempts > 1 {
		fmt.Fprintf(&b, "attempts: %d\n", w.Attempts)
	}
	if d := w.Decision; d != nil && d.Comment != "" {
		fmt.Fprintf(&b, "sent back before: %s\n", say.Line(d.Comment))
	}
	if w.Summary != "" {
		fmt.Fprintf(&b, "\n%s\n", say.Lines(w.Summary))
	}
	for _, r := range w.Reviews {
		fmt.Fprintf(&b, "\nreviewed by %s: %s", say.Line(r.Node), r.Label)
		if r.Earlier && r.Text != "" {
			b.WriteString(", an earlier state of the work")
		}
		b.WriteString("\n")
		if r.Text != "" {
			fmt.Fprintf(&b, "%s\n", say.Lines(r.Text))
		}
		for _, key := range slices.Sorted(maps.Keys(r.Outputs)) {
			fmt.Fprintf(&b, "%s=%s\n", key, say.Line(r.Outputs[key]))
		}
	}
	list := func(head string, n int, line func(int) string) {
		if n > 0 {
			fmt.Fprintf(&b, "\n%s:\n", head)
		}
		for k := range min(n, maxReviewed) {
			fmt.Fprintf(&b, "  %s\n", line(k))
		}
		if n > maxReviewed {
			fmt.Fprintf(&b, "  and %d more\n", n-maxReviewed)
		}
	}
	list("checks", len(w.Checks), func(k int) string {
		word := "failed"
		if w.Checks[k].Passed {
			word = "passed"
		}
		return fmt.Sprintf("%s  %s (%s)", word, say.Line(w.Checks[k].Command), say.Span(w.Checks[k].Took))
	})
	list("commits", len(w.Commits), func(k int) string {
		return fmt.Sprintf("%.8s %s", w.Commits[k].ID, say.Line(w.Commits[k].Subject))
	})
	list("files", len(w.Files), func(k int) string { return w.Files[k].String() })
	if len(w.Files) == 0 {
		b.WriteString("\nIt changed no file.\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// String is a file in a line.
func (f DeliveredFile) String() string {
	if f.Binary {
		return fmt.Sprintf("%11s  %s", "binary", say.Line(f.Path))
	}
	return fmt.Sprintf("%5s %5s  %s", fmt.Sprintf("+%d", f.Added), fmt.Sprintf("-%d", f.Deleted), say.Line(f.Path))
}

// ToReview are the works that wait for a decision.
func ToReview(all []Delivery) []Delivery {
	return slices.DeleteFunc(slices.Clone(all), func(w Delivery) bool { return !w.State.Waits() })
}
