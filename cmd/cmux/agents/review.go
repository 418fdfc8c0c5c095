package agents

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/reviewing"
	"cmux/dag"
)

type reviewOptions struct {
	*cli.IO
	Project  cli.ProjectFunc
	Name     string // empty: all that are done
	JSON     bool
	Approve  bool
	Drop     bool
	SendBack *string // the comment; nil: not given

	Downstream bool
}

func newReviewCmd(d *cli.Deps, runF func(context.Context, *reviewOptions) error) *cobra.Command {
	o := &reviewOptions{IO: &d.IO, Project: d.Project}
	var comment string
	cmd := &cobra.Command{
		Use:   "review [NAME]",
		Short: "Review finished nodes: approve, send back or drop them",
		Long: `Review what the finished nodes of the run did: summary, what nodes with
role: review said about it, checks, commits and the diff of each file. On a terminal,
you go from node to node with keys (? shows them) and decide about each. Elsewhere, or
with --json, review prints the nodes, and options record your decision.

--approve approves the current commit of the branch. A later commit, or another
attempt, cancels the approval.
--send-back sends the agent your comment, in the same conversation, and begins a new
attempt. The nodes that depend on it do not change, unless you add --downstream,
which reruns them.
--drop leaves the work out of every merge. It deletes nothing.
The last decision counts. With "review: required" in the configuration, cmux agents
merge takes only approved nodes. Agents cannot decide.

With --json the shape is
  [{"node", "label", "branch", "state", "why", "start", "since",
    "commit", "decision": {"verdict", "commit", "comment", "at"} or null,
    "attempts", "summary", "commits": [{"id", "subject"}],
    "checks": [{"command", "passed", "took"}],
    "files": [{"path", "added", "deleted", "binary"}], "built_on", "reads",
    "reviews": [{"node", "label", "text", "outputs", "at", "earlier"}]}]
or one of these where a NAME is given. State is to review, approved, changed
since it was approved, dropped, sent back, merged or nothing to review; why says why a
merge leaves it out and is empty where it takes it; since is the commit of your
decision, if the work has changed since; took is in nanoseconds; reviews are what nodes
with role: review said about the work.`,
		Example: "  cmux agents review\n  cmux agents review api --send-back \"use the existing helper\"",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, part string) ([]string, cobra.ShellCompDirective) {
			return d.CompleteNodes(cmd, args, (*dag.Node).HasBranch)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.Name = args[0]
			}
			if cmd.Flags().Changed("send-back") {
				o.SendBack = &comment
			}
			return cli.Either(runF, runReview)(cmd.Context(), o)
		},
	}
	cli.JSONFlag(cmd, &o.JSON)
	cmd.Flags().BoolVar(&o.Approve, "approve", false, "approve the commit that its branch holds now")
	cmd.Flags().StringVar(&comment, "send-back", "", "send it back with this comment")
	cmd.Flags().BoolVar(&o.Drop, "drop", false, "leave its work out of every merge")
	cmd.Flags().BoolVar(&o.Downstream, "downstream", false, "with --send-back: also run again what was built on it")
	cmd.MarkFlagsMutuallyExclusive("json", "approve", "send-back", "drop")
	return cmd
}

func runReview(ctx context.Context, o *reviewOptions) error {
	verdict, comment := o.verdict()
	switch {
	case verdict != "" && o.Name == "":
		return project.Usage("the same with the NAME of the node", "a decision is about one node, and none is named")
	case o.Downstream && verdict != run.VerdictSentBack:
		return project.Usage("cmux agents review NAME --send-back TEXT --downstream", "--downstream goes with --send-back")
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if verdict != "" {
		return o.judge(ctx, p, commands.Judgement{Node: o.Name, Verdict: verdict, Comment: comment, Downstream: o.Downstream})
	}
	if o.Name != "" {
		w, err := p.Runs().Delivery(ctx, o.Name)
		switch {
		case err != nil:
			return err
		case o.JSON:
			return cli.PrintJSON(o.Out, w)
		}
		if o.Interactive() {
			return o.walk(ctx, p, []runs.Delivery{*w})
		}
		if err := w.Write(o.Out); err != nil {
			return err
		}
		if w.State != runs.ReviewMerged {
			fmt.Fprintf(o.Err, "Decide with: cmux agents review %s --approve, --send-back TEXT or --drop\n", o.Name)
		}
		return nil
	}
	all, err := p.Runs().Deliveries(ctx)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "No node of the run is done and has a branch to review.")
		return err
	}
	if open := runs.ToReview(all); len(open) > 0 && o.Interactive() {
		return o.walk(ctx, p, open)
	}
	_, err = fmt.Fprint(o.Out, reviewTable(all, o.Look()))
	return err
}

// walk leads a person at a terminal through what nodes did.
func (o *reviewOptions) walk(ctx context.Context, p *control.Project, all []runs.Delivery) error {
	p = cli.WithoutNotes(p) // the terminal is the walk's
	said, err := reviewing.Show(ctx, reviewing.Options{
		Project: p, Deliveries: all, In: o.In, Out: cli.Raw(o.Out), Color: o.Color(),
		Judge: func(ctx context.Context, j commands.Judgement) (string, error) {
			var b bytes.Buffer
			inner := *o
			inner.IO = &cli.IO{Out: &b, Err: &b, Env: o.Env}
			err := inner.judge(ctx, p, j)
			return b.String(), err
		},
	})
	for _, text := range said {
		fmt.Fprint(o.Out, text)
	}
	return err
}

// verdict is the decision that the options name; empty: none.
func (o *reviewOptions) verdict() (v run.Verdict, comment string) {
	switch {
	case o.Approve:
		return run.VerdictApproved, ""
	case o.Drop:
		return run.VerdictDropped, ""
	case o.SendBack != nil:
		return run.VerdictSentBack, *o.SendBack
	}
	return "", ""
}

// judge gives a decision and prints its result.
func (o *reviewOptions) judge(ctx context.Context, p *control.Project, j commands.Judgement) error {
	res, err := p.Commands().Judge(ctx, j)
	if err != nil {
		return err
	}
	if j.Verdict == run.VerdictSentBack {
		o.TellNote(res.Retried.Taken)
		fmt.Fprintf(o.Out, "%s: sent back\n", j.Node)
		for _, n := range res.Retried.Again {
			if n.Node != j.Node {
				fmt.Fprintf(o.Out, "%s: runs again (was %s)\n", n.Node, n.Label)
			}
		}
		if len(res.Keep) > 0 {
			fmt.Fprintf(o.Err, "built on it and left as they are: %s (--downstream runs them again as well)\n", say.List(res.Keep, 10))
		}
		return nil
	}
	if len(res.Waits) > 0 {
		are := "is"
		if len(res.Waits) > 1 {
			are = "are"
		}
		fmt.Fprintf(o.Err, "it is not merged until %s, which it is built on, %s approved\n", say.List(res.Waits, 10), are)
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s at %.12s\n", j.Node, j.Verdict, res.Commit)
	return err
}

// reviewTable has a line for each node.
func reviewTable(all []runs.Delivery, as cli.Look) string {
	rows := make([][]string, len(all))
	for i := range all {
		w := &all[i]
		merge := "yes"
		if w.Why != "" {
			merge = "no: " + say.Line(w.Why)
		}
		rows[i] = []string{w.Node, string(w.State), fmt.Sprintf("%.12s", w.Commit), fmt.Sprint(len(w.Commits)), fmt.Sprint(len(w.Files)), passed(w.Checks), merge}
	}
	columns := []cli.Column{{Head: "NAME"}, {Head: "REVIEW", Style: func(row int) string { return reviewStyle(all[row].State) }},
		{Head: "COMMIT", Give: 2, Least: 7}, {Head: "COMMITS"}, {Head: "FILES"}, {Head: "CHECKS"}, {Head: "MERGEABLE", Give: 1, Least: 12}}
	return cli.Table(columns, rows, as.Width, as.Color)
}

// passed says how many of the checks passed.
func passed(checks []runs.DeliveredCheck) string {
	n := 0
	for _, c := range checks {
		if c.Passed {
			n++
		}
	}
	if len(checks) == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", n, len(checks))
}

func reviewStyle(s runs.ReviewState) string {
	switch s {
	case runs.ReviewApproved, runs.ReviewMerged:
		return "32"
	case runs.ReviewDropped, runs.ReviewSentBack:
		return "33"
	case runs.ReviewNothing:
		return ""
	}
	return "1;35"
}
