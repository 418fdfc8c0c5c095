package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"cmux/agents/run"
	"cmux/signals"
)

func newLogsCmd(d *Deps) *cobra.Command {
	var following bool
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print what a node has written",
		Long: `Print the output of a node, all attempts, the newest last. With -f it goes on
with what is added until the node has ended.`,
		Example:           "  cmux agents logs api -f",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: d.completeNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			v, i, err := d.latestView(ctx, args[0])
			if err != nil {
				return err
			}
			l := tail{path: v.Run.Log(args[0])}
			defer l.close()
			if !following {
				n, err := l.copy(d.Out)
				if errors.Is(err, fs.ErrNotExist) || err == nil && n == 0 {
					return nothingYet(v, i)
				}
				return err
			}
			return followLog(ctx, d, v.Run, i, &l)
		},
	}
	cmd.Flags().BoolVarP(&following, "follow", "f", false, "go on until the node has ended")
	return cmd
}

func nothingYet(v *run.View, i int) error {
	n := &v.Nodes[i]
	why := n.Status.Label
	if n.Status.Reason != "" {
		why += ": " + oneLine(n.Status.Reason)
	}
	return fmt.Errorf("%s has written nothing yet (%s)", n.Spec.Name, why)
}

// followLog copies a node's log until the node has ended.
func followLog(ctx context.Context, d *Deps, r *run.Run, i int, l *tail) error {
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
		if _, err := l.copy(d.Out); err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// copy writes to w what was added since the last call.
func (t *tail) copy(w io.Writer) (n int64, err error) {
	if t.f == nil {
		if t.f, err = os.Open(t.path); err != nil {
			return 0, err
		}
	}
	if n, err = io.Copy(w, t.f); err != nil {
		return n, err
	}
	now, err := os.Stat(t.path)
	if err != nil {
		return n, nil // replaced at this moment
	}
	open, err := t.f.Stat()
	if err != nil || os.SameFile(now, open) {
		return n, err
	}
	t.close()
	if t.f, err = os.Open(t.path); err != nil {
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
