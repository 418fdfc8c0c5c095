package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"cmux/agents/event"
	"cmux/agents/harmless"
	"cmux/agents/run"
	"cmux/signals"
)

func newLogsCmd(d *Deps) *cobra.Command {
	var following, asJSON, unchanged bool
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
			ctx := cmd.Context()
			v, i, err := d.latestView(ctx, args[0])
			if err != nil {
				return err
			}
			name, agent := args[0], d.Kinds[v.Nodes[i].Spec.Agent].Judge
			if asJSON && !agent {
				return usage("cmux agents logs "+name, "%s is a %s: it has no events", name, v.Nodes[i].Spec.Agent)
			}
			l := &tail{path: v.Run.Log(name)}
			defer l.close()
			var from copier = l
			out := d.Out
			if unchanged {
				out = raw(out)
			}
			if asJSON {
				from = &eventTail{path: v.Run.Events(name)}
			} else if agent && d.colour() {
				out = &dimmer{w: out}
			}
			if following {
				return followLog(ctx, d, v.Run, i, from, out)
			}
			n, err := from.copy(out)
			if !asJSON && (errors.Is(err, fs.ErrNotExist) || err == nil && n == 0) {
				return nothingYet(v, i)
			}
			return err
		},
	}
	cmd.Flags().BoolVarP(&following, "follow", "f", false, "go on until the node has ended")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the events of an agent")
	cmd.Flags().BoolVar(&unchanged, "raw", false, "print what was written as it is: a terminal obeys it")
	return cmd
}

func nothingYet(v *run.View, i int) error {
	n := &v.Nodes[i]
	why := n.Status.Label.String()
	if n.Status.Reason != "" {
		why += ": " + oneLine(n.Status.Reason)
	}
	return fmt.Errorf("%s has written nothing yet (%s)", n.Spec.Name, why)
}

// copier writes to w what was added to a file since the last call.
type copier interface {
	copy(w io.Writer) (n int64, err error)
}

// followLog copies what a node writes until it has ended.
func followLog(ctx context.Context, d *Deps, r *run.Run, i int, from copier, out io.Writer) error {
	name := r.Plan.Graph.Nodes[i].Name
	w := signals.Watch(ctx, r.NodeDir(name))
	defer w.Close()
	// The log is complete once a view that was taken before the last copy says
	// that nothing more will be written.
	ended := make(chan error, 1)
	followCtx, cancel := context.WithCancel(ctx)
	go func() {
		ended <- follow(followCtx, r, d.Now, func(v *run.View) bool {
			_, more := waited(v, i, false)
			return more || v.Nodes[i].Fact.Live()
		})
	}()
	last := false
	for {
		if _, err := from.copy(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			cancel()
			if !last {
				<-ended
			}
			return err
		}
		if last {
			cancel()
			return nil
		}
		select {
		case err := <-ended:
			if err != nil {
				cancel()
				return err
			}
			last = true
		case <-w.C:
		}
	}
}

// tail copies a file that grows. A file that was replaced by a shorter version
// of itself is gone on with at its end.
type tail struct {
	path string
	f    *os.File
}

func (t *tail) copy(w io.Writer) (n int64, err error) {
	if t.f == nil {
		if t.f, err = signals.Open(t.path); err != nil {
			return 0, err
		}
	}
	if n, err = io.Copy(w, t.f); err != nil {
		return n, err
	}
	now, err := os.Lstat(t.path)
	if err != nil {
		return n, nil // replaced at this moment
	}
	open, err := t.f.Stat()
	if err != nil || os.SameFile(now, open) {
		return n, err
	}
	t.close()
	if t.f, err = signals.Open(t.path); err != nil {
		return n, err
	}
	_, err = t.f.Seek(0, io.SeekEnd)
	return n, err
}

func (t *tail) close() {
	if t.f != nil {
		t.f.Close()
		t.f = nil
	}
}

// eventTail copies whole lines of events. Those of other versions are copied
// too: whoever reads them decides.
type eventTail struct {
	path string
	next int64
}

func (t *eventTail) copy(w io.Writer) (n int64, err error) {
	from := t.next
	t.next, err = event.Lines(t.path, from, func(line []byte, _ int64) error {
		_, err := w.Write(append(harmless.JSON(line[:len(line):len(line)]), '\n'))
		return err
	})
	return t.next - from, err
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
