package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/control/terminals"
	"cmux/cmd/cmux/cli"
)

type attachOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	terminals.Attach
	Yes bool
}

func newAttachCmd(d *cli.Deps, runF func(context.Context, *attachOptions) error) *cobra.Command {
	o := &attachOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "attach [NAME]",
		Short: "Look at the run in tmux, or at one node",
		Long: `Attach this terminal to the run's tmux session, at the pane of the named node.
Inside tmux, open a window of your own tmux that shows the session.

Each live agent has a pane. When an agent ends, its pane moves to the window
"ended". The border of a pane shows the node's name, its state and the reason, in
the color of the state. The status line shows how many agents need you and how
many are done. Keys:

` + terminals.AttachKeys + `

The prefix is C-b, or the one that ~/.config/cmux/tmux.conf sets. If your own tmux
has the same prefix, press it twice: C-b C-b d. F8 and F9 need no prefix. In a
pane of yours, such as main, the program gets F9, and F8 if no agent needs you.

If the node's agent has ended, attach offers to open its conversation in the
agent's own program: in the node's worktree, or at the project's root if the
worktree is gone. It runs in your own environment. cmux neither checks nor records
what you do there. Without a terminal, attach prints the command instead.`,
		Example:           "  cmux agents attach api",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Node = args[0]
			}
			return cli.Either(runF, runAttach)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "open the conversation of an agent that has ended without asking")
	cmd.Flags().BoolVar(&o.Pane, "pane", false, "show the pane even of an agent that has ended, as it left it")
	cmd.MarkFlagsMutuallyExclusive("yes", "pane")
	return cmd
}

func runAttach(ctx context.Context, o *attachOptions) error {
	if o.Node == "" && (o.Yes || o.Pane) {
		return project.Usage("cmux agents attach --help", "--yes and --pane are for a node: name one")
	}
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	offer, err := p.Terminals().Attach(ctx, o.Attach)
	if err != nil {
		return err
	}
	if offer.Conversation == nil {
		return o.ShowSession(ctx, p, offer)
	}
	switch err := o.reopen(ctx, p, offer); {
	case !errors.Is(err, cli.ErrDeclined):
		return err
	case offer.Pane:
		return o.ShowSession(ctx, p, offer)
	}
	fmt.Fprintf(o.Err, "What it did: %s\n", offer.Logs())
	return nil
}

// reopen offers a person the conversation of a node whose agent has ended. The
// error is ErrDeclined when they do not want it.
func (o *attachOptions) reopen(ctx context.Context, p *control.Project, offer *terminals.Offer) error {
	cmd, err := p.Terminals().Reopen(offer)
	if err != nil {
		return err
	}
	if !o.Interactive() {
		if _, err := fmt.Fprintln(o.Out, terminals.ShellLine(cmd)); err != nil {
			return err
		}
		return project.Usage("the command above, in a terminal", "%s has ended (%s), and there is no terminal to open its conversation in", offer.Node, offer.Label)
	}
	c := offer.Conversation
	if c.Lost != "" {
		fmt.Fprintf(o.Err, "Its directory %s is gone: it would be opened in %s.\n", c.Lost, c.Dir)
	}
	if !o.Yes {
		ok, err := o.AskYes(ctx, fmt.Sprintf("%s is %s. Open its conversation again?", offer.Node, offer.Label), true)
		if err != nil {
			return err
		}
		if !ok {
			return cli.ErrDeclined
		}
	}
	fmt.Fprintf(o.Err, "%s, in %s. It is yours alone: cmux neither checks nor records what is done there.\n", strings.Join(cmd.Args, " "), c.Dir)
	return become(cmd)
}

// become makes this process that program: its terminal, its signals and its
// exit code are then the program's own.
func become(cmd *exec.Cmd) error {
	if err := os.Chdir(cmd.Dir); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", cmd.Path, syscall.Exec(cmd.Path, cmd.Args, append(cmd.Env, "PWD="+cmd.Dir)))
}
