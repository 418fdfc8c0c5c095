package main

import (
	"io"
	"os"

	"cmux/agents/harmless"
)

// screen is one of the command's outputs, behind which everything is harmless,
// whoever wrote it: agents, tasks, names, programs.
type screen struct {
	*harmless.Writer
	raw io.Writer
}

// guardOutputs puts screens before the outputs of d, once, and returns what
// writes the rest of them at the end.
func (d *Deps) guardOutputs() (flush func()) {
	var all []*screen
	for _, out := range []*io.Writer{&d.Out, &d.Err} {
		if _, is := (*out).(*screen); is || *out == nil {
			continue
		}
		s := &screen{harmless.NewWriter(*out, d.coloured(*out)), *out}
		*out = s
		all = append(all, s)
	}
	return func() {
		for _, s := range all {
			s.Flush()
		}
	}
}

// raw is the output behind a screen: for --raw, for what talks to a program,
// and for programs that have the terminal to themselves.
func raw(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.raw
	}
	return w
}

// terminal is the file of a stream, when it is one.
func terminal(stream any) (*os.File, bool) {
	if s, ok := stream.(*screen); ok {
		stream = s.raw
	}
	f, ok := stream.(*os.File)
	return f, ok
}
