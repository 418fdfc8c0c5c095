package logs

import (
	"bytes"
	"fmt"
	"io"

	"cmux/agents/platform/say"
	"cmux/agents/records/event"
)

// unprompted leaves out of an agent's log what each attempt was told first, its
// prompt, and says so in a line: it is the longest text in most logs and the
// one that nobody looks for there. It knows the prompts by the node's events,
// so that nothing else which an agent quotes goes with them.
type unprompted struct {
	w     io.Writer
	order string // that shows the log with the prompts
	path  string // of the events

	next    int64 // how far they were read
	attempt int   // the newest of which the prompt is known
	prompts []event.Quote

	held   []byte // begins a line and may begin a prompt
	inside bool   // of a line
	last   bool   // of a prompt of which the last line is still to come
	known  bool   // all prompts are known that may be in held
}

// learn reads the prompts that have become known. One is among the events
// before it is in the log.
func (u *unprompted) learn() error {
	next, err := event.Replay(u.path, u.next, func(e event.Event, _ int64) error {
		if e.Kind == event.Prompt && e.Attempt > u.attempt {
			u.attempt = e.Attempt
			if q := event.Quoted(e); q.Text != "" {
				u.prompts = append(u.prompts, q)
			}
		}
		return nil
	})
	u.next = next
	return err
}

func (u *unprompted) Write(p []byte) (int, error) {
	u.held, u.known = append(u.held, p...), false
	out, err := u.pass(false)
	if err == nil {
		_, err = u.w.Write(out)
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush passes on what was held back.
func (u *unprompted) flush() error {
	out, err := u.pass(true)
	if err == nil && len(out) > 0 {
		_, err = u.w.Write(out)
	}
	return err
}

// pass takes from held what can be passed on: all of it at the end.
func (u *unprompted) pass(end bool) (out []byte, err error) {
	for len(u.held) > 0 {
		if !u.inside && !u.last {
			q, wait, err := u.begins()
			if err != nil || wait && !end {
				return out, err
			}
			if q != nil {
				out = fmt.Appendf(out, "── the prompt, %s: %s ──\n", say.Count(q.Lines, "line"), u.order)
				u.held = u.held[len(q.Text):]
				u.last = q.More
				continue
			}
		}
		at := bytes.IndexByte(u.held, '\n')
		line := u.held
		if at >= 0 {
			line = u.held[:at+1]
		}
		if !u.last {
			out = append(out, line...)
		}
		u.inside = at < 0 && !u.last
		u.last = u.last && at < 0
		u.held = u.held[len(line):]
	}
	u.held = u.held[:0]
	return out, nil
}

// begins is the prompt that held begins with; wait says that more is to come
// before that is known.
func (u *unprompted) begins() (q *event.Quote, wait bool, err error) {
	if u.held[0] != event.QuoteMark[0] {
		return nil, false, nil
	}
	if !u.known {
		if err := u.learn(); err != nil {
			return nil, false, err
		}
		u.known = true
	}
	for i := range u.prompts {
		switch text := []byte(u.prompts[i].Text); {
		case bytes.HasPrefix(u.held, text):
			return &u.prompts[i], false, nil
		case bytes.HasPrefix(text, u.held):
			wait = true
		}
	}
	return nil, wait, nil
}

// lastLines holds back all but the last n lines until it is released, and
// passes everything on after that.
type lastLines struct {
	w    io.Writer
	n    int
	kept [][]byte // the last one may be unfinished
	open bool
}

func (l *lastLines) Write(p []byte) (int, error) {
	if l.open {
		return l.w.Write(p)
	}
	for rest := p; len(rest) > 0; {
		line := rest
		if at := bytes.IndexByte(rest, '\n'); at >= 0 {
			line = rest[:at+1]
		}
		rest = rest[len(line):]
		if k := len(l.kept); k > 0 && !bytes.HasSuffix(l.kept[k-1], []byte("\n")) {
			l.kept[k-1] = append(l.kept[k-1], line...)
			continue
		}
		if len(l.kept) < l.n {
			l.kept = append(l.kept, bytes.Clone(line))
			continue
		}
		oldest := append(l.kept[0][:0], line...) // its room is used again
		copy(l.kept, l.kept[1:])
		l.kept[l.n-1] = oldest
	}
	return len(p), nil
}

func (l *lastLines) release() error {
	if l.open {
		return nil
	}
	l.open = true
	_, err := l.w.Write(bytes.Join(l.kept, nil))
	l.kept = nil
	return err
}
