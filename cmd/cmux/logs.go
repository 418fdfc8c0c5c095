package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"cmux/agents/control"
	"cmux/agents/event"
)

type logsOptions struct {
	*IO
	Project projectFunc
	control.Log
	Raw bool
}

func newLogsCmd(d *Deps, runF func(context.Context, *logsOptions) error) *cobra.Command {
	o := &logsOptions{IO: &d.IO, Project: d.project}
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print what a node has written",
		Long: `Print the output of a node, all attempts, the newest last. Of an agent that is
what it was told (>), thought (~), said and did (*), what came of it (|), and
what cmux did. With -f it goes on with what is added until the node has ended.

With --json it prints the events of an agent instead, a line of JSON each, as
docs/events.md describes them; a command has none.

What would make a terminal do something is taken out: escape sequences but for
colours on a terminal, other control characters, and characters that reorder
text. With --raw it stays, as the node wrote it.`,
		Example:           "  cmux agents logs api -f",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node = args[0]
			return either(runF, runLogs)(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on until the node has ended")
	cmd.Flags().BoolVar(&o.Events, "json", false, "print the events of an agent")
	cmd.Flags().BoolVar(&o.Raw, "raw", false, "print what was written as it is: a terminal obeys it")
	return cmd
}

func runLogs(ctx context.Context, o *logsOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	return p.Log(ctx, o.Log, func(agent bool) io.Writer {
		out := o.Out
		if o.Raw {
			out = raw(out)
		}
		if agent && !o.Events && o.colour() {
			out = &dimmer{w: out}
		}
		return out
	})
}

// dimmer shows the thoughts in an agent's log in a fainter colour.
type dimmer struct {
	w     io.Writer
	begun []byte // of a line of which it is not known yet what it is
	rest  bool   // the line has begun
	faint bool
}

const (
	faint  = "\x1b[2m"
	normal = "\x1b[0m"
)

func (d *dimmer) Write(p []byte) (int, error) {
	var out []byte
	for _, b := range p {
		if !d.rest {
			d.begun = append(d.begun, b)
			if b != '\n' && string(d.begun) == event.ThoughtMark[:len(d.begun)] && len(d.begun) < len(event.ThoughtMark) {
				continue
			}
			if d.faint = string(d.begun) == event.ThoughtMark; d.faint {
				out = append(out, faint...)
			}
			out, d.rest = append(out, d.begun...), b != '\n'
			d.begun = d.begun[:0]
			continue
		}
		if b == '\n' {
			if d.faint {
				out = append(out, normal...)
			}
			d.rest, d.faint = false, false
		}
		out = append(out, b)
	}
	if _, err := d.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
