// Package logs shows what nodes and standing agents have written, and what they were
// told: whole, a part or the end of it, and as it grows.
package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/say"
	"cmux/agents/records/event"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Logs are the logs of a project's runs and standing agents.
type Logs struct {
	*project.Project
	Runs *runs.Runs
}

// Log asks for what a node has written, all attempts, the newest last.
type Log struct {
	Run    string `json:"run,omitempty"` // its id; empty: the newest
	Node   string `json:"node"`
	Follow bool   `json:"follow,omitempty"` // show what is added until the node has ended
	Events bool   `json:"events,omitempty"` // of an agent: its events, a line of JSON each
	Prompt bool   `json:"prompt,omitempty"` // of an agent: with its prompt
	Tail   int    `json:"tail,omitempty"`   // begin with so many of the last lines; 0: with the first
}

// Writer is the writer of a node's log; agent says whether an agent works at
// the node, or a command.
type Writer func(agent bool) io.Writer

// Node writes the log of a node to what w gives.
func (p *Logs) Node(ctx context.Context, o Log, w Writer) error {
	r, err := p.Runs.NamedFor(ctx, o.Run, o.Node)
	if err != nil {
		return err
	}
	v, i, err := p.Runs.NodeOf(ctx, r, o.Node)
	if errors.Is(err, project.ErrMissing) && o.Run == "" {
		if before := p.Runs.HadNode(o.Node); before != "" {
			return hint.New(fmt.Errorf("run %s has no node %q, and the earlier run %s has", r.Plan.ID, o.Node, before), "cmux agents logs "+before+" "+o.Node)
		}
	}
	if err != nil {
		return err
	}
	kind := v.Nodes[i].Spec.Agent
	agent := p.Kinds[kind].Judge
	if o.Events && !agent {
		return project.Usage("cmux agents logs "+o.Node, "%s is a %s: it has no events", o.Node, kind)
	}
	l := &tail{path: v.Run.Log(o.Node)}
	defer l.close()
	var from copier = l
	if o.Events {
		from = &eventTail{path: v.Run.Events(o.Node)}
	}
	out, flush := o.filtered(w(agent), agent, v.Run, "cmux agents logs")
	if o.Follow {
		return p.followLog(ctx, v.Run, o.Node, from, out, flush)
	}
	n, err := from.copy(out)
	if errors.Is(err, fs.ErrNotExist) && !o.Events && !agent {
		n, err = silent(out, &v.Nodes[i])
	}
	err = errors.Join(err, flush(true))
	if !o.Events && (errors.Is(err, fs.ErrNotExist) || err == nil && n == 0) {
		return nothingYet(v, i)
	}
	return err
}

// filtered is a writer to out of what o asks for. command shows the whole log. flush is called when all that
// there is was written; over says that nothing will follow.
func (o *Log) filtered(out io.Writer, agent bool, r *run.Run, command string) (w io.Writer, flush func(over bool) error) {
	w, flush = out, func(bool) error { return nil }
	if o.Tail > 0 {
		l := &lastLines{w: w, n: o.Tail}
		w, flush = l, func(bool) error { return l.release() }
	}
	if agent && !o.Prompt && !o.Events {
		order := strings.Join(strings.Fields(command+" "+o.Run+" "+o.Node+" --prompt"), " ")
		u, behind := &unprompted{w: w, order: order, path: r.Events(o.Node)}, flush
		w, flush = u, func(over bool) error {
			var err error
			if over {
				err = u.flush()
			}
			return errors.Join(err, behind(over))
		}
	}
	return w, flush
}

// silent writes the log of a command none of whose attempts has printed anything,
// which has no file.
func silent(w io.Writer, node *run.NodeView) (n int64, err error) {
	for i := range node.Attempts {
		if err != nil {
			break
		}
		a, k := &node.Attempts[i], 0
		k, err = io.WriteString(w, attempt.Header(node.Spec.Name, a.N, a.Started))
		n += int64(k)
	}
	return n, err
}

func nothingYet(v *run.View, i int) error {
	n := &v.Nodes[i]
	why := n.Status.Label.String()
	if n.Status.Reason != "" {
		why += ": " + say.Line(n.Status.Reason)
	}
	return fmt.Errorf("%s has written nothing yet (%s)", n.Spec.Name, why)
}

// copier writes to w what was added to a file since the last call.
type copier interface {
	copy(w io.Writer) (n int64, err error)
}

// followLog copies what a node writes until it has ended.
func (p *Logs) followLog(ctx context.Context, r *run.Run, name string, from copier, out io.Writer, flush func(over bool) error) error {
	w := signals.Watch(ctx, r.NodeDir(name))
	defer w.Close()
	// The log is complete once a view that was taken before the last copy says
	// that nothing more will be written.
	ended := make(chan error, 1)
	followCtx, cancel := context.WithCancel(ctx)
	go func() {
		ended <- runs.Follow(followCtx, r, p.Now, func(v *run.View) bool {
			_, more := runs.Waited(v, name, false)
			i := v.Run.Plan.Graph.Index(name) // an update may have moved it or taken it out
			return more || i >= 0 && v.Nodes[i].Fact.Live()
		})
	}()
	last := false
	for {
		_, err := from.copy(out)
		if err = errors.Join(err, flush(last)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			cancel()
			if !last {
				<-ended
			}
			return err
		}
		if last {
			cancel()
			return nil
		}
		select {
		case err := <-ended:
			if err != nil {
				cancel()
				return err
			}
			last = true
		case <-w.C:
		}
	}
}

// Agent writes what a standing agent did, all lives.
func (p *Logs) Agent(ctx context.Context, o Log, w Writer) error {
	org, a, err := p.StandingAgent(o.Node)
	if err != nil {
		return err
	}
	o.Node = a.Name
	l := &tail{path: org.Run.Log(a.Name)}
	defer l.close()
	var from copier = l
	if o.Events {
		from = &eventTail{path: org.Run.Events(a.Name)}
	}
	out, flush := o.filtered(w(true), true, org.Run, "cmux logs")
	watch := signals.Watch(ctx, org.Run.NodeDir(a.Name))
	defer watch.Close()
	for {
		_, err := from.copy(out)
		if missing := errors.Is(err, fs.ErrNotExist); missing && !o.Follow {
			return fmt.Errorf("%s has written nothing yet", a.Name)
		} else if missing {
			err = nil
		}
		if err = errors.Join(err, flush(!o.Follow)); err != nil {
			return err
		}
		if !o.Follow {
			return nil
		}
		select {
		case <-watch.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tail copies a file that grows. A file that was replaced by a shorter version
// of itself is continued at its end.
type tail struct {
	path string
	f    *os.File
}

func (t *tail) copy(w io.Writer) (n int64, err error) {
	if t.f == nil {
		if t.f, err = signals.Open(t.path); err != nil {
			return 0, err
		}
	}
	if n, err = io.Copy(w, t.f); err != nil {
		return n, err
	}
	now, err := os.Lstat(t.path)
	if err != nil {
		return n, nil // replaced at this moment
	}
	open, err := t.f.Stat()
	if err != nil || os.SameFile(now, open) {
		return n, err
	}
	t.close()
	if t.f, err = signals.Open(t.path); err != nil {
		return n, err
	}
	_, err = t.f.Seek(0, io.SeekEnd)
	return n, err
}

func (t *tail) close() {
	if t.f != nil {
		t.f.Close()
		t.f = nil
	}
}

// eventTail copies whole lines of events. Those of other versions are copied
// too: whoever reads them decides.
type eventTail struct {
	path string
	next int64
}

func (t *eventTail) copy(w io.Writer) (n int64, err error) {
	from := t.next
	t.next, err = event.Lines(t.path, from, func(line []byte, _ int64) error {
		_, err := w.Write(append(harmless.JSON(line[:len(line):len(line)]), '\n'))
		return err
	})
	return t.next - from, err
}

// promptRoom is how far before the end that is wanted a prompt may begin which is
// left out of it.
const promptRoom = 64 << 10

// End is the end of what a node has written, from the beginning of a line on:
// at most n bytes, without the prompts of an agent. It is empty where there is
// nothing yet.
func End(r *run.Run, node string, n int64) ([]byte, error) {
	i := r.Plan.Graph.Index(node)
	if i < 0 || !r.Plan.Graph.Nodes[i].UsesModel() {
		return logEnd(r, node, n)
	}
	b, err := logEnd(r, node, n+promptRoom)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	u := &unprompted{w: &out, order: "cmux agents logs " + node + " --prompt", path: r.Events(node)}
	if _, err := u.Write(b); err != nil {
		return nil, err
	}
	if err := u.flush(); err != nil {
		return nil, err
	}
	return lastWhole(out.Bytes(), n), nil
}

// lastWhole is the end of b from the beginning of a line on: at most n bytes.
func lastWhole(b []byte, n int64) []byte {
	cut := int64(len(b)) - n
	if cut <= 0 {
		return b
	}
	if at := bytes.IndexByte(b[cut-1:], '\n'); at >= 0 {
		return b[cut+int64(at):]
	}
	return b[cut:]
}

func logEnd(r *run.Run, node string, n int64) ([]byte, error) {
	f, err := signals.Open(r.Log(node))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-n-1) // where a line may end
	b, err := io.ReadAll(io.NewSectionReader(f, from, n+1))
	return lastWhole(b, n), err
}

// AgentEnd is the end of an agent's log, at most so many bytes of it.
func (p *Logs) AgentEnd(name string, most int64) ([]byte, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	return logEnd(org.Run, name, most)
}
