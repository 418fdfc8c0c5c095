package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/charmbracelet/log"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/top"
)

// monitor is what the monitor of r needs of this process.
func monitor(d *cli.Deps, p *control.Project, r *run.Run, stays bool) top.Options {
	p.Session, d.Session = r.Plan.Graph.Session, r.Plan.Graph.Session // what it orders is meant for r
	in, _ := cli.Terminal(d.In)
	out, _ := cli.Terminal(d.Out)
	return top.Options{
		Project: p, Run: r, In: in, Out: out, Color: d.Color(), Mux: d.Getenv("TMUX"), Stays: stays,
		Do: d.Within, Lend: d.Lent,
	}
}

// accompany shows r in the terminal until hide is called, for the process that
// carries it. What goes wrong with it is no matter of the run's. The last table
// stays on the screen.
func accompany(ctx context.Context, d *cli.Deps, r *run.Run, logger *log.Logger) (hide func()) {
	ctx, cancel := context.WithCancel(ctx)
	shown := make(chan error, 1)
	go func() {
		w := &watching{IO: &d.IO, now: d.Now}
		if !d.Interactive() {
			shown <- w.show(ctx, r)
			return
		}
		p := cli.WithoutNotes(&control.Project{Project: project.Project{Caller: d.Caller(), Root: r.Plan.Root}}) // the terminal is the monitor's
		err := top.Show(ctx, monitor(d, p, r, true))
		if err != nil && ctx.Err() == nil {
			logger.Error("the monitor failed", "err", err)
			fmt.Fprintf(d.Err, "cmux: the monitor failed, but the run continues: %v\n", err)
			err = w.show(ctx, r)
		}
		shown <- err
	}()
	return func() {
		cancel()
		if err := <-shown; err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("the run could not be shown", "err", err)
		}
		if v, err := r.View(context.WithoutCancel(ctx), d.Now()); err == nil {
			fmt.Fprint(d.Out, renderStatus(v, d.Now(), d.Look()))
		}
	}
}
