package fence

import (
	"bytes"
	"io"
	"sync"
)

// mostRefused bounds the paths that an Ear finds.
const mostRefused = 100

// Ear finds the writes that a fence refused in what programs print: the kernel tells nobody.
// Until Begin, it finds nothing. It is safe for concurrent use.
type Ear struct {
	mu    sync.Mutex
	came  chan struct{}
	fence *Fence
	dir   string
	known map[string]bool
	fresh []string
}

// Begin makes e listen for f around programs that run in dir, from now on.
func (e *Ear) Begin(f *Fence, dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil {
		e.came, e.known = make(chan struct{}, 1), map[string]bool{}
	}
	e.fence, e.dir = f, dir
}

// Hear looks for refusals in what a program printed.
func (e *Ear) Hear(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fence == nil {
		return
	}
	for _, path := range Mentioned(text, e.dir) {
		if len(e.known) == mostRefused {
			return
		}
		if e.known[path] || !e.fence.Refuses(path) {
			continue
		}
		e.known[path] = true
		e.fresh = append(e.fresh, path)
		select {
		case e.came <- struct{}{}:
		default:
		}
	}
}

// Came has a value when there is something to take.
func (e *Ear) Came() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.came
}

// Take returns the paths found since the last call, each of them once.
func (e *Ear) Take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := e.fresh
	e.fresh = nil
	return fresh
}

// Writer returns a writer that passes on to w what a program prints, and has e hear each
// line of it.
func (e *Ear) Writer(w io.Writer) io.Writer { return &listening{Writer: w, e: e} }

type listening struct {
	io.Writer
	e    *Ear
	mu   sync.Mutex
	line []byte // that has not ended, up to longestLine
}

// Mute passes on that another program uses the terminal.
func (l *listening) Mute(on bool) {
	if m, ok := l.Writer.(interface{ Mute(on bool) }); ok {
		m.Mute(on)
	}
}

func (l *listening) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; ; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), longestLine-len(l.line))]...)
		if !ended {
			return l.Writer.Write(p)
		}
		l.e.Hear(string(l.line))
		l.line, rest = l.line[:0], after
	}
}
