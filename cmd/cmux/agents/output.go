package agents

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"cmux/dag"
)

// prefixed writes the output of many nodes to one writer, line by line, each
// behind the name of its node.
type prefixed struct {
	writing sync.Mutex // held while w, which may not be read for long, takes in what it is given
	w       io.Writer
	width   int

	mu    sync.Mutex
	lines map[string]*prefixedNode
}

func newPrefixed(w io.Writer, g *dag.Graph) *prefixed {
	p := &prefixed{w: w, lines: make(map[string]*prefixedNode)}
	for i := range g.Nodes {
		p.width = max(p.width, min(len(g.Nodes[i].Name), 24))
	}
	return p
}

// maxLine bounds what is held of a line that does not end.
const maxLine = 64 << 10

// For is the writer of one node's output. It does not wait for what is written.
func (p *prefixed) For(node string) io.Writer {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.lines[node]
	if n == nil {
		n = &prefixedNode{all: p, prefix: fmt.Sprintf("%-*s | ", p.width, node)}
		p.lines[node] = n
	}
	return n
}

// Write is for output that belongs to no node.
func (p *prefixed) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	return p.w.Write(b)
}

// flush writes lines that have not ended.
func (p *prefixed) flush() {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.lines {
		if len(n.rest) > 0 {
			n.emit(nil)
		}
	}
}

type prefixedNode struct {
	all    *prefixed
	prefix string
	rest   []byte // a line that has not ended
}

func (n *prefixedNode) Write(b []byte) (int, error) {
	n.all.writing.Lock()
	defer n.all.writing.Unlock()
	written := len(b)
	for {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		if !ended {
			break
		}
		if err := n.emit(line); err != nil {
			return 0, err
		}
		b = rest
	}
	if n.rest = append(n.rest, b...); len(n.rest) > maxLine {
		return written, n.emit(nil)
	}
	return written, nil
}

// emit writes what is held and line as one line.
func (n *prefixedNode) emit(line []byte) error {
	out := make([]byte, 0, len(n.prefix)+len(n.rest)+len(line)+1)
	out = append(append(append(out, n.prefix...), n.rest...), bytes.TrimSuffix(line, []byte("\r"))...)
	n.rest = n.rest[:0]
	_, err := n.all.w.Write(append(out, '\n'))
	return err
}

// A narrator writes a line for each start and end of a node. It writes on a
// goroutine of its own, so that a blocked terminal does not block the run.
type narrator struct {
	mu   sync.Mutex
	text []byte
	more chan struct{}
	stop chan struct{}
	done chan struct{}
}

func narrate(w io.Writer) *narrator {
	n := &narrator{more: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(n.done)
		for stopped := false; !stopped; {
			select {
			case <-n.more:
				pause := time.NewTimer(redraw)
				select {
				case <-pause.C:
				case <-n.stop:
					pause.Stop()
					stopped = true
				}
			case <-n.stop:
				stopped = true
			}
			n.mu.Lock()
			text := n.text
			n.text = nil
			n.mu.Unlock()
			w.Write(text)
		}
	}()
	return n
}

// tell shows a line soon.
func (n *narrator) tell(line string) {
	n.mu.Lock()
	n.text = append(append(n.text, line...), '\n')
	n.mu.Unlock()
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// close writes the rest and returns when nothing of it is left running.
func (n *narrator) close() {
	close(n.stop)
	<-n.done
}
