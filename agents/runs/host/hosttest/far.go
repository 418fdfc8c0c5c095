package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree/git"
)

// Far is a Host whose attempts run in simulated machines, each in a directory of its node.
type Far struct {
	c     host.Config
	dir   string
	lease time.Duration

	mu      sync.Mutex
	started []*link
}

// New returns a Far with the nodes' directories below dir. A machine that gives no sign for
// the time lease is given up.
func New(c host.Config, dir string, lease time.Duration) *Far {
	return &Far{c: c, dir: dir, lease: lease}
}

// Processes returns the processes of the attempts started so far, in order.
func (h *Far) Processes() []*os.Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*os.Process
	for _, l := range h.started {
		all = append(all, l.cmd.Process)
	}
	return all
}

// Bound reports true: no other process can reach an attempt over its pipe.
func (h *Far) Bound(*dag.Node) bool { return true }

// Lends reports false: attempts have their own repositories.
func (h *Far) Lends(*dag.Node) bool { return false }

// Reach fails: an attempt is reached from its start on.
func (h *Far) Reach(context.Context, host.Ref) (host.Link, error) { return nil, host.ErrGone }

// Probe returns Unknown; Ended reports the ends.
func (h *Far) Probe(host.Ref, time.Time) (host.Pulse, func() error, error) {
	return host.Unknown, nil, nil
}

// Withdraw has nothing to do: Probe finds none Gone.
func (h *Far) Withdraw(host.Ref) error { return nil }

// End has nothing to do: a machine ends its attempt, with all that it left, before it says
// that it is gone.
func (h *Far) End(context.Context, host.Ref, proc.Identity, time.Duration) ([]proc.Process, error) {
	return nil, nil
}

func (h *Far) Close() error { return nil }

// Start starts a process in its own directory and sends it what it needs.
func (h *Far) Start(ctx context.Context, s *run.Spec) (host.Link, error) {
	dir := filepath.Join(h.dir, s.Node)
	if err := errors.Join(os.MkdirAll(dir, 0o700), signals.MkdirAll(h.c.Run.NodeDir(s.Node), 0o700)); err != nil {
		return nil, err
	}
	l, err := h.launch(ctx, dir, host.Ref{Node: s.Node, N: s.Attempt})
	if err != nil {
		return nil, err
	}
	if err := h.brief(ctx, l.wire, s); err != nil {
		l.kill()
		return nil, errors.Join(err, l.cmd.Wait())
	}
	l.watch = time.AfterFunc(h.lease, l.kill)
	unhear := context.AfterFunc(h.c.Told, func() { l.Say(context.WithoutCancel(ctx), attempt.Message{Op: attempt.OpBreak}) })
	h.mu.Lock()
	h.started = append(h.started, l)
	h.mu.Unlock()
	h.c.Go(func() {
		end, err := h.hear(context.WithoutCancel(ctx), l, s)
		unhear()
		l.watch.Stop()
		l.close()
		if e := l.cmd.Wait(); err == nil && end == nil {
			err = fmt.Errorf("the machine that it lived on went away: %v", e)
		}
		if end == nil {
			end = &run.End{}
		}
		h.c.Ended(l.ref, *end, err)
	})
	return l, nil
}

func (h *Far) launch(ctx context.Context, dir string, ref host.Ref) (*link, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Dir = dir
	cmd.Env = []string{elsewhere + "=1", "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = apart()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	secrets, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer secrets.Close()
	defer tell.Close()
	cmd.ExtraFiles = []*os.File{secrets}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &link{ref: ref, cmd: cmd, wire: newWire(out, in), ctx: ctx, cancel: cancel, asked: make(map[int]chan attempt.Reply)}
	l.close = sync.OnceFunc(func() { cancel(); in.Close() })
	return l, json.NewEncoder(tell).Encode(h.c.Env)
}

// brief sends the input of the attempt.
func (h *Far) brief(ctx context.Context, w *wire, s *run.Spec) error {
	plan := &h.c.Run.Plan
	alone := *plan.Graph
	node := *s.Def
	node.DependsOn = nil
	alone.Nodes = []dag.Node{node}
	graph, err := alone.Encode()
	if err != nil {
		return err
	}
	job := work{Graph: graph, Spec: *s, Hidden: []string{plan.Root}}
	frame := *s.Frame
	frame.Peers = nil // no other nodes are there
	job.Spec.Frame = &frame
	if err := h.c.Run.EachRecord(func(rec *run.Record) {
		if (rec.Type == run.Limited || rec.Type == run.Freed) && rec.Account == s.Def.Account {
			job.Limits = append(job.Limits, *rec)
		}
	}); err != nil {
		return err
	}
	bundle, err := h.pack(ctx, s)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(h.c.Run.Binary())
	if err != nil {
		return err
	}
	return errors.Join(
		w.send(parcel{What: hasWork, Work: &job}, nil),
		w.send(parcel{What: hasBundle}, bundle),
		w.send(parcel{What: hasBinary}, binary))
}

// The place of commits while they are transferred.
const (
	refStart  = "refs/cmux/far/start"
	refBase   = "refs/cmux/far/base"
	refBranch = "refs/cmux/far/branch"
)

// pack returns a bundle of the attempt's base commits.
func (h *Far) pack(ctx context.Context, s *run.Spec) ([]byte, error) {
	h.mu.Lock() // all attempts use the same names
	defer h.mu.Unlock()
	refs := map[string]string{refBase: h.c.Run.Plan.Base, refStart: s.Place.Commit}
	if s.Place.Branch != "" {
		if tip, err := h.c.Repo.Tip(ctx, s.Place.Branch); err == nil {
			refs[refBranch] = tip
		} else if !errors.Is(err, git.ErrBadRef) {
			return nil, err
		}
	}
	args := []string{"bundle", "create", "--quiet", "-"}
	for ref, commit := range refs {
		if commit == "" {
			continue
		}
		if _, err := runGit(ctx, h.c.Run.Plan.Root, "update-ref", ref, commit); err != nil {
			return nil, err
		}
		defer runGit(ctx, h.c.Run.Plan.Root, "update-ref", "-d", ref)
		args = append(args, ref)
	}
	return runGit(ctx, h.c.Run.Plan.Root, args...)
}

// hear receives until the end, or until the pipe closes.
func (h *Far) hear(ctx context.Context, l *link, s *run.Spec) (*run.End, error) {
	for {
		f, content, err := l.receive()
		if err != nil {
			return nil, nil // it went away, which its process reports
		}
		l.watch.Reset(h.lease)
		switch f.What {
		case hasRecord:
			f.Record.Node, f.Record.Attempt = s.Node, s.Attempt
			err = h.c.Book.Append(ctx, *f.Record)
		case hasEvent:
			err = appendLine(ctx, h.c.Run.Events(s.Node), f.Line)
		case hasOutput:
			err = h.show(s.Node, content)
		case hasReply:
			l.replied(f.ID, *f.Reply)
		case hasBundle:
			err = h.unpack(ctx, s, content)
		case hasEnd:
			switch {
			case f.Record == nil:
				return nil, errors.New(f.Error)
			case f.Record.End != nil:
				return f.Record.End, nil
			case f.Record.How == run.HowStopped:
				return nil, attempt.ErrStopped
			}
			return nil, attempt.ErrInterrupted
		}
		if err != nil {
			l.kill()
			return nil, err
		}
	}
}

func appendLine(ctx context.Context, path string, line []byte) error {
	log, err := signals.OpenLog(path)
	if err != nil {
		return err
	}
	return errors.Join(log.Append(ctx, false, line), log.Close())
}

// show stores the node's output where `logs` looks for it.
func (h *Far) show(node string, b []byte) error {
	if h.c.Live != nil {
		if w := h.c.Live(node); w != nil {
			w.Write(b)
		}
	}
	f, err := signals.OpenFile(h.c.Run.Log(node), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// unpack adds the attempt's commits and snapshots. Its branch only moves forward.
func (h *Far) unpack(ctx context.Context, s *run.Spec, bundle []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	root := h.c.Run.Plan.Root
	path := filepath.Join(h.dir, s.Node+".bundle")
	if err := os.WriteFile(path, bundle, 0o600); err != nil {
		return err
	}
	defer os.Remove(path)
	if _, err := runGit(ctx, root, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", path, "+"+refBranch+":"+refBranch, "refs/cmux/snapshots/*:refs/cmux/snapshots/*"); err != nil {
		return err
	}
	defer runGit(ctx, root, "update-ref", "-d", refBranch)
	if s.Place.Branch == "" {
		return nil
	}
	tip, err := h.c.Repo.Resolve(ctx, refBranch)
	if err != nil {
		return err
	}
	old, err := h.c.Repo.Tip(ctx, s.Place.Branch)
	if err != nil && !errors.Is(err, git.ErrBadRef) {
		return err
	}
	if old != "" {
		if holds, err := h.c.Repo.Holds(ctx, tip, old); err != nil || !holds {
			return errors.Join(err, fmt.Errorf("%s at %.12s does not hold %.12s, which is here", s.Place.Branch, tip, old))
		}
	}
	return h.c.Repo.UpdateRef(ctx, "refs/heads/"+s.Place.Branch, tip, old)
}

// link is the pipe to one attempt.
type link struct {
	*wire
	ref    host.Ref
	cmd    *exec.Cmd
	watch  *time.Timer // the lease
	ctx    context.Context
	cancel context.CancelFunc
	close  func()

	mu    sync.Mutex
	asked map[int]chan attempt.Reply
	last  int
}

func (l *link) Gone() <-chan struct{} { return l.ctx.Done() }

// Close does nothing: the pipe ends with the attempt.
func (l *link) Close() {}

// kill gives up the machine.
func (l *link) kill() { l.cmd.Process.Kill() }

func (l *link) Say(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	answer := make(chan attempt.Reply, 1)
	l.mu.Lock()
	l.last++
	id := l.last
	l.asked[id] = answer
	l.mu.Unlock()
	if err := l.send(parcel{What: hasSaid, ID: id, Message: &m}, nil); err != nil {
		return attempt.Reply{}, fmt.Errorf("%w: %w", host.ErrGone, err)
	}
	select {
	case r := <-answer:
		if r.Error != "" {
			return r, errors.New(r.Error)
		}
		return r, nil
	case <-l.ctx.Done():
		return attempt.Reply{}, host.ErrGone
	case <-ctx.Done():
		return attempt.Reply{}, ctx.Err()
	}
}

func (l *link) replied(id int, r attempt.Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer := l.asked[id]; answer != nil {
		delete(l.asked, id)
		answer <- r
	}
}

// git runs git in dir, as cmux does.
func runGit(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := git.Exec(ctx, dir, os.Environ(), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.Bytes(), nil
}
