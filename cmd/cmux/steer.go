package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/guard"
	"cmux/agents/run"
	"cmux/agents/runner"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
)

// patience is how long a command waits for a live runner to take its request
// up. The request stands whatever happens to the command.
const patience = 10 * time.Second

// ask leaves a request for the runner. It returns once a live runner has
// carried it out or refused it; without one the request waits for resume, and
// done is false.
func (d *Deps) ask(ctx context.Context, v *run.View, q run.Request) (done bool, err error) {
	r := v.Run
	ended := v.Holder == nil && over(v)
	h := run.NewHistory(r.Plan.Graph)
	offset, err := r.Replay(h, 0, nil)
	if err != nil {
		return false, err
	}
	w := signals.Watch(ctx, r.Dir)
	defer w.Close()
	if q, err = r.Ask(q); err != nil {
		return false, err
	}
	if ended {
		fmt.Fprintln(d.Err, "the run has ended: cmux agents resume takes it up again and carries this out")
		return false, nil
	}
	if v.Holder == nil {
		fmt.Fprintln(d.Err, "no runner: this is carried out at cmux agents resume")
		return false, nil
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		var answer *run.Record
		offset, err = r.Replay(h, offset, func(rec *run.Record, _ dag.Change, _ bool) {
			if rec.Type == run.Requested && rec.Request == q.ID {
				answer = rec
			}
		})
		if err != nil {
			return false, err
		}
		if answer != nil {
			if answer.Detail != "" {
				return false, errors.New(answer.Detail)
			}
			return true, nil
		}
		select {
		case <-w.C:
		case <-deadline.C:
			fmt.Fprintf(d.Err, "the runner (%s) has not taken this up yet; it stands until it does\n", v.Holder)
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// steer builds a command that asks one thing of one node.
func (d *Deps) steer(use, short, long, example string, op run.Op, said string, check func(*run.NodeView) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, i, err := d.latestView(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := check(&v.Nodes[i]); err != nil {
				return err
			}
			q := run.Request{Op: op, Node: args[0]}
			if (op == run.OpApprove || op == run.OpOverride) && v.Nodes[i].Spec.AsksCode() {
				if err := d.typeCode(cmd.Context(), v, i, op); err != nil {
					return err
				}
				q.Coded = true
			}
			done, err := d.ask(cmd.Context(), v, q)
			if err != nil {
				return err
			}
			return d.tellAsked(args[0], said, done)
		},
	}
}

// tellAsked says what a request came to, or that it waits.
func (d *Deps) tellAsked(node, said string, done bool) error {
	if !done {
		said = "waits to be " + said
	}
	_, err := fmt.Fprintf(d.Out, "%s: %s\n", node, said)
	return err
}

func isSuccess(n *run.NodeView) bool { return n.Fact.Phase == dag.Ended && n.Fact.Outcome.Success() }

func newApproveCmd(d *Deps) *cobra.Command {
	cmd := d.steer("approve NAME", "Open a gate",
		"Open a gate: what waits for it may start. `touch .cmux/signals/NAME.done` does the same,\nunless the gate says `approve: code`. That one is opened by this command alone, in a\nterminal of yours: it shows a code there, which you type.",
		"  cmux agents approve release", run.OpApprove, "approved",
		func(n *run.NodeView) error {
			switch {
			case n.Spec.Role != dag.RoleGate && isSuccess(n):
				return fmt.Errorf("%s is a %s, no gate, and done already", n.Spec.Name, n.Spec.Role)
			case n.Spec.Role != dag.RoleGate:
				return &Hint{Err: fmt.Errorf("%s is a %s, no gate", n.Spec.Name, n.Spec.Role), Try: "cmux agents override " + n.Spec.Name + ", which calls it done"}
			case isSuccess(n):
				return fmt.Errorf("%s is done already", n.Spec.Name)
			}
			return nil
		})
	cmd.ValidArgsFunction = d.completeGate
	return cmd
}

func newOverrideCmd(d *Deps) *cobra.Command {
	return d.steer("override NAME", "Call a node done, whatever it says itself",
		"Call a node done: what it blocked may start, on its branch as it is now. An agent that\nis still running is left alone. `touch .cmux/signals/NAME.done` does the same. A gate that\nsays `approve: code` asks for a code, as approve does, and no marker opens it.",
		"  cmux agents override api", run.OpOverride, "done by override",
		func(n *run.NodeView) error {
			if isSuccess(n) {
				return fmt.Errorf("%s is done already", n.Spec.Name)
			}
			return nil
		})
}

func newReleaseCmd(d *Deps) *cobra.Command {
	return d.steer("release NAME", "Give an agent back that you took over",
		"Give an agent back that you took over by typing to it: cmux goes on to check and to remind it.",
		"  cmux agents release api", run.OpRelease, "released", mustLive)
}

func mustLive(n *run.NodeView) error {
	if !n.Fact.Live() {
		return fmt.Errorf("%s is not running (%s)", n.Spec.Name, n.Status.Label)
	}
	return nil
}

func newAnswerCmd(d *Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "answer NAME [TEXT]",
		Short: "Answer an agent that needs input",
		Long: `Answer an agent that needs input. A number stands for the option in that place;
whether an agent may do something is answered with yes, or with no and why.
Several questions are answered with a line each. Without TEXT the question is
shown, and asked on a terminal. An agent that asks nothing reads TEXT when its
turn is over.`,
		Example:           "  cmux agents answer api 'Use the second schema.'",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, i, err := d.latestView(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			n := &v.Nodes[i]
			if n.Spec.Role == dag.RoleGate {
				if isSuccess(n) {
					return fmt.Errorf("%s is a gate, and done already", args[0])
				}
				return &Hint{Err: fmt.Errorf("%s is a gate", args[0]), Try: "cmux agents approve " + args[0]}
			}
			if err := mustLive(n); err != nil {
				return err
			}
			text := strings.Join(args[1:], " ")
			if len(args) == 1 {
				if text, err = d.putQuestion(cmd.Context(), n); err != nil {
					return err
				}
			}
			if strings.TrimSpace(text) == "" {
				return usage("", "the answer is empty")
			}
			asks := n.Status.Label == "needs input"
			if asks {
				if err := isOption(n.Status.Reason, text); err != nil {
					return err
				}
			}
			done, err := d.ask(cmd.Context(), v, run.Request{Op: run.OpAnswer, Node: args[0], Text: text})
			if err != nil {
				return err
			}
			said := "answered"
			if !asks {
				said = "told; it asked nothing, and reads this when its turn is over"
			}
			return d.tellAsked(args[0], said, done)
		},
	}
}

// isOption refuses a number beyond the options of the one question that is
// asked: it would reach the agent as words that mean nothing.
func isOption(question, answer string) error {
	number, err := strconv.Atoi(strings.TrimSpace(answer))
	if err != nil || guard.Questions(question) > 1 {
		return nil
	}
	options := 0
	for line := range strings.Lines(question) {
		if strings.HasPrefix(line, fmt.Sprintf("  %d. ", options+1)) {
			options++
		}
	}
	if options == 0 || number >= 1 && number <= options {
		return nil
	}
	return usage("", "there is no option %d: the question has %s", number, count(options, "option"))
}

// putQuestion shows a person what an agent asks and returns what they answer.
func (d *Deps) putQuestion(ctx context.Context, n *run.NodeView) (string, error) {
	name := n.Spec.Name
	if n.Status.Label != "needs input" {
		return "", &Hint{Err: fmt.Errorf("%s asks nothing (%s)", name, n.Status.Label), Try: "cmux agents answer " + name + " TEXT, which tells it something all the same"}
	}
	question := manyLines(n.Status.Reason)
	if _, err := fmt.Fprintf(d.Out, "%s asks, since %s:\n\n%s\n\n", name, span(n.Status.Age), question); err != nil {
		return "", err
	}
	if !isTerminal(d.In) {
		return "", usage("cmux agents answer "+name+" TEXT", "there is no terminal to ask on")
	}
	var lines []string
	many := guard.Questions(question)
	for k := range many {
		prompt := "Answer (empty: none): "
		if many > 1 {
			prompt = fmt.Sprintf("Answer to %d of %d (empty: none): ", k+1, many)
		}
		line, _, err := d.askLine(ctx, prompt)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) == "" {
			fmt.Fprintln(d.Err, "Nothing was answered.")
			return "", silent{errDeclined}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

func newRetryCmd(d *Deps) *cobra.Command {
	var q run.Request
	cmd := &cobra.Command{
		Use:   "retry NAME",
		Short: "Run a node again, and what it blocked",
		Long: `Run a node again that has ended or was lost, in the worktree as it left it, and
what it blocked after it. With --downstream also what succeeded after it; with
--fresh its work is saved and it starts from the base. Removing the marker of a
failed node does the same as retry. An agent whose program ended without a
report goes on in its conversation. A node that is over its budget, or an agent
of a run that is, can be run again once the budget was raised and taken in with
resume --update.`,
		Example:           "  cmux agents retry api --fresh",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			v, i, err := d.latestView(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var text strings.Builder
			var again []int
			if n := &v.Nodes[i]; n.Left != nil && n.Fact.Live() {
				if err := runner.GoesOn(args[0], q.Fresh); err != nil {
					return err
				}
				fmt.Fprintf(&text, "%s: goes on in its conversation (was %s)\n", args[0], n.Status.Label)
			} else if again, err = runner.Rerun(v.State, i, q.Downstream, v.OverBudget); err != nil {
				return err
			}
			for _, j := range again {
				fmt.Fprintf(&text, "%s: runs again (was %s)\n", v.Nodes[j].Spec.Name, v.Nodes[j].Status.Label)
			}
			for _, j := range v.State.BlockedBy(i) {
				fmt.Fprintf(&text, "%s: no longer blocked by it\n", v.Nodes[j].Spec.Name)
			}
			moved, err := d.moved(cmd.Context(), v, again)
			if err != nil {
				return err
			}
			text.WriteString(moved)
			q.Op, q.Node = run.OpRetry, args[0]
			if _, err := d.ask(cmd.Context(), v, q); err != nil {
				return err
			}
			_, err = fmt.Fprint(d.Out, text.String())
			return err
		},
	}
	cmd.Flags().BoolVar(&q.Downstream, "downstream", false, "also run again what succeeded after it")
	cmd.Flags().BoolVar(&q.Fresh, "fresh", false, "save its work and start from the base")
	return cmd
}

// moved says which branches a retry of nodes takes in as they are now.
func (d *Deps) moved(ctx context.Context, v *run.View, nodes []int) (string, error) {
	repo, err := worktree.Open(ctx, v.Run.Plan.Root)
	if err != nil {
		return "", err
	}
	h := run.NewHistory(v.Run.Plan.Graph)
	if _, err := v.Run.Replay(h, 0, nil); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, rec := range runner.Moved(ctx, repo, h, nodes...) {
		fmt.Fprintf(&text, "%s: %s\n", rec.Node, rec.Detail)
	}
	return text.String(), nil
}

func newStopCmd(d *Deps) *cobra.Command {
	return &cobra.Command{
		Use:   "stop [NAME]",
		Short: "Stop the run, or cancel one node",
		Long: `Without a name: end the agents and stop the run, so that cmux agents resume goes on
where it stood. With a name: cancel that node, which then counts as failed.`,
		Example:           "  cmux agents stop api",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return d.stopRun(cmd.Context())
			}
			v, i, err := d.latestView(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if n := &v.Nodes[i]; v.State.Settled(i) && !n.Fact.Live() {
				return fmt.Errorf("%s has ended already (%s)", args[0], n.Status.Label)
			}
			if v.Holder == nil && v.Nodes[i].Fact.Live() {
				ended, err := runner.Cancel(cmd.Context(), v.Run, args[0])
				var held *signals.HeldError
				switch {
				case errors.As(err, &held): // a runner has come meanwhile
				case err != nil:
					return err
				case len(ended) > 0:
					return d.tellAsked(args[0], stopped(&v.Nodes[i]), true)
				}
			}
			done, err := d.ask(cmd.Context(), v, run.Request{Op: run.OpStop, Node: args[0]})
			if err != nil {
				return err
			}
			return d.tellAsked(args[0], stopped(&v.Nodes[i]), done)
		},
	}
}

// stopped says what a stop makes of a node.
func stopped(n *run.NodeView) string {
	if n.Fact.StillOpen {
		return "its agent was ended; the node stays " + n.Status.Label[:strings.IndexByte(n.Status.Label+",", ',')]
	}
	return "cancelled"
}

// stopRun stops the newest run and waits until its runner is gone.
func (d *Deps) stopRun(ctx context.Context) error {
	r, err := d.latest(ctx)
	if err != nil {
		return err
	}
	v, err := r.View(ctx, d.Now())
	if err != nil {
		return err
	}
	if v.Holder == nil {
		if over(v) && len(atWork(v)) > 0 {
			ended, err := runner.Cancel(ctx, r, "")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(d.Out, "Ended what was still open: %s. The run stays %s.\n", strings.Join(ended, ", "), v.RunState)
			return err
		}
		if over(v) || v.RunState == dag.RunStopped && len(atWork(v)) == 0 {
			return fmt.Errorf("run %s is not running (%s)", r.Plan.ID, v.RunState)
		}
	}
	if err := d.endRun(ctx, v); err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.Out, "Stopped run %s. Go on with: cmux agents resume\n", r.Plan.ID)
	return err
}

// endRun ends the agents of a run and its runner, and waits until it is gone.
func (d *Deps) endRun(ctx context.Context, v *run.View) error {
	if v.Holder == nil {
		return runner.Stop(ctx, v.Run)
	}
	if _, err := v.Run.Ask(run.Request{Op: run.OpStop}); err != nil {
		return err
	}
	return follow(ctx, v.Run, d.Now, func(v *run.View) bool { return v.Holder != nil })
}
