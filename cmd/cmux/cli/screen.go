package cli

import (
	"io"
	"os"

	"cmux/agents/platform/harmless"
)

// screen is one of the command's outputs, behind which everything is harmless,
// whoever wrote it: agents, tasks, names, programs.
type screen struct {
	*harmless.Writer
	raw io.Writer
}

// GuardOutputs puts screens before the outputs, once, and returns what
// writes the rest of them at the end.
func (s *IO) GuardOutputs() (flush func()) {
	var all []*screen
	for _, out := range []*io.Writer{&s.Out, &s.Err} {
		if _, is := (*out).(*screen); is || *out == nil {
			continue
		}
		safe := &screen{harmless.NewWriter(*out, s.colored(*out)), *out}
		*out = safe
		all = append(all, safe)
	}
	return func() {
		for _, s := range all {
			s.Flush()
		}
	}
}

// Raw is the output behind a screen: for --raw, for what talks to a program,
// and for programs that have the terminal to themselves.
func Raw(w io.Writer) io.Writer {
	if s, ok := w.(*screen); ok {
		return s.raw
	}
	return w
}

// Terminal is the file of a stream, when it is one.
func Terminal(stream any) (*os.File, bool) {
	if s, ok := stream.(*screen); ok {
		stream = s.raw
	}
	f, ok := stream.(*os.File)
	return f, ok
}
