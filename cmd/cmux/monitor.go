package main

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"cmux/agents/control"
	"cmux/agents/run"
	"cmux/cmd/cmux/top"
)

// monitor is what the monitor of r needs of this process.
func (d *Deps) monitor(p *control.Project, r *run.Run, stays bool) top.Options {
	return top.Options{
		Project: p, Run: r, In: d.In, Out: raw(d.Out), Colour: d.colour(), Mux: d.Getenv("TMUX"), Stays: stays,
		Do: d.within, Lend: d.lent,
	}
}

// within carries a command line out in this process, for a program that has the
// terminal, and returns what it said.
func (d *Deps) within(ctx context.Context, words []string) (said string, err error) {
	var out bytes.Buffer
	inner := *d
	inner.IO = IO{In: strings.NewReader(""), Out: &out, Err: &out, Env: d.Env}
	inner.inside = true
	flush := inner.guardOutputs()
	root := newRoot(&inner)
	root.SetArgs(words)
	err = root.ExecuteContext(ctx)
	flush()
	return out.String(), err
}

// lent carries a command line out that has the terminal to itself, and waits
// for the person to have read what it said.
func (d *Deps) lent(ctx context.Context, words []string) error {
	inner := *d
	inner.inside = true
	flush := inner.guardOutputs()
	root := newRoot(&inner)
	root.SetArgs(words)
	err := root.ExecuteContext(ctx)
	report(inner.Err, err)
	flush()
	if _, _, aerr := inner.askLine(ctx, "\nEnter goes back to the monitor. "); aerr != nil {
		return errors.Join(err, aerr)
	}
	return err
}
