package main

import (
	"context"
	"fmt"

	"cmux/agents/control"
)

// caller is the person at this command line, as control knows them.
func (d *Deps) caller() control.Caller {
	return control.Caller{Dir: d.Dir, Env: d.Env, Now: d.Now, Kinds: d.Kinds, Note: func(line string) { fmt.Fprintf(d.Err, "cmux: %s\n", line) }}
}

// project is the project that the command was called in.
func (d *Deps) project(ctx context.Context) (*control.Project, error) {
	if d.found != nil && d.found.Dir == d.Dir { // a moment ago, by allow
		return &control.Project{Caller: d.caller(), Root: d.found.Root}, nil
	}
	return control.Open(ctx, d.caller())
}
