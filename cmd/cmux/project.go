package main

import (
	"context"
	"fmt"

	"cmux/agents/control"
)

// Hint is an error with the way out of it.
type Hint = control.Hint

// usage is an error in how a command was called.
func usage(try, format string, args ...any) error { return control.Usage(try, format, args...) }

// caller is the person at this command line, as control knows them.
func (d *Deps) caller() control.Caller {
	return control.Caller{Dir: d.Dir, Env: d.Env, Now: d.Now, Kinds: d.Kinds, Note: func(line string) { fmt.Fprintf(d.Err, "cmux: %s\n", line) }}
}

// project is the project that the command was called in.
func (d *Deps) project(ctx context.Context) (*control.Project, error) {
	return control.Open(ctx, d.caller())
}
