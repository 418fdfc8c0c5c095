package cli

import (
	"io"

	"cmux/agents/records/event"
)

// dimmer shows the thoughts in an agent's log in a fainter color.
type dimmer struct {
	w     io.Writer
	begun []byte // of a line of which it is not known yet what it is
	rest  bool   // the line has begun
	faint bool
}

// NewDimmer shows on w what is written to it, the thoughts in it in a fainter color.
func NewDimmer(w io.Writer) io.Writer { return &dimmer{w: w} }

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
