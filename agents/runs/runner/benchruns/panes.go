package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cmux/agents/platform/tmux"
	"cmux/signals"
)

// throughTmux is a run of g by cmux in panes, from the call of start to the
// run's end as `wait` sees it.
func (b *bench) throughTmux(g graph, task string) contestant {
	return contestant{"cmux in panes", func(ctx context.Context, dir string) (cost, error) {
		if err := b.project(ctx, dir, g.cmux(task, "review", 2), 1); err != nil {
			return cost{}, err
		}
		defer b.killTmux()
		start, _, err := timed(ctx, dir, b.env, b.cmux, "agents", "start", "--yes", "--detach")
		if err != nil {
			return cost{}, err
		}
		end, _, err := timed(ctx, dir, b.env, b.cmux, "agents", "wait")
		return cost{start.wall + end.wall, 0}, err
	}}
}

// killTmux ends the tmux server of the runs that were measured, and no other.
func (b *bench) killTmux() {
	if _, _, err := timed(context.Background(), b.scratch, b.env, "tmux", "-L", b.socket, "kill-server"); err != nil && !strings.Contains(err.Error(), "no server") {
		fmt.Fprintln(os.Stderr, err)
	}
}

// tmuxFloor is what tmux itself takes for g: a window per node through one
// control connection, whose process leaves a marker, and the next as soon as
// the markers it waits for are there. Nothing is recorded.
func (b *bench) tmuxFloor(g graph, task string) contestant {
	return contestant{"tmux alone", func(ctx context.Context, dir string) (_ cost, err error) {
		server := tmux.Server{Socket: b.socket, Config: filepath.Join(dir, "tmux.conf"), Env: b.env}
		began := time.Now()
		client, err := server.Connect(ctx, nil)
		if err != nil {
			return cost{}, err
		}
		defer func() {
			client.Close()
			b.killTmux()
		}()
		at, err := client.NewSession(ctx, "floor", "first", tmux.Spec{Dir: dir, Argv: []string{"/bin/cat"}}, tmux.Marks{})
		if err != nil {
			return cost{}, err
		}
		markers := filepath.Join(dir, "markers")
		if err := os.Mkdir(markers, 0o755); err != nil {
			return cost{}, err
		}
		watch := signals.Watch(ctx, markers)
		defer watch.Close()

		open, dependents := make([]int, g.len()), make([][]int, g.len())
		var ready []int
		for i, deps := range g.deps {
			open[i] = len(deps)
			if len(deps) == 0 {
				ready = append(ready, i)
			}
			for _, d := range deps {
				dependents[d] = append(dependents[d], i)
			}
		}
		ended := make([]bool, g.len())
		for running, left := 0, g.len(); left > 0; {
			for running < 2 && len(ready) > 0 {
				i := ready[0]
				ready = ready[1:]
				spec := tmux.Spec{Dir: dir, Argv: []string{"/bin/sh", "-c", fmt.Sprintf("%s && : >markers/%d", task, i)}}
				if _, err := client.NewWindow(ctx, at.Session, "w", spec, tmux.Marks{}); err != nil {
					return cost{}, err
				}
				running++
			}
			select {
			case n := <-watch.C:
				for _, f := range n.Files {
					var i int
					if _, err := fmt.Sscan(filepath.Base(f), &i); err != nil || ended[i] {
						continue
					}
					ended[i] = true
					running, left = running-1, left-1
					for _, d := range dependents[i] {
						if open[d]--; open[d] == 0 {
							ready = append(ready, d)
						}
					}
				}
			case <-ctx.Done():
				return cost{}, ctx.Err()
			}
		}
		return cost{ms(time.Since(began)), 0}, nil
	}}
}
