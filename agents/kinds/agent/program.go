package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"cmux/agents/platform/proc"
)

// Program is a started program.
type Program struct {
	*proc.Program
	output  *os.File // our end of the pipe or the pty; nil: it has the terminal itself
	drained chan struct{}
	patient time.Duration
	unrelay func()
}

// Piped starts cmd in a session of its own with its output in out, and its
// errors too unless cmd says where. The directory and environment are the
// stage's when cmd has none.
func (s *Stage) Piped(cmd *exec.Cmd, out io.Writer) (*Program, error) {
	s.complete(cmd)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	if cmd.Stderr == nil {
		cmd.Stderr = w
	}
	cmd.SysProcAttr = session()
	p, err := s.start(cmd, r, out)
	return p, errors.Join(err, w.Close())
}

func (s *Stage) complete(cmd *exec.Cmd) {
	if cmd.Dir == "" {
		cmd.Dir = s.Dir
	}
	if cmd.Env == nil {
		cmd.Env = s.Env
	}
}

func (s *Stage) start(cmd *exec.Cmd, from *os.File, out io.Writer) (*Program, error) {
	started, err := s.Spawner.Start(cmd, s.Mark, s.Confine)
	if err != nil {
		return nil, errors.Join(err, from.Close())
	}
	p := &Program{Program: started, output: from, drained: make(chan struct{}), patient: s.Drain}
	go func() {
		defer close(p.drained)
		// A pty ends in EIO, a pipe cut short in a deadline: the end either way.
		buf := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		io.CopyBuffer(writerOnly{out}, readerOnly{from}, *buf)
	}()
	return p, nil
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// buffers spares the runner of a large graph most of its garbage.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// Finish ends what is left of the program and returns when its output is
// complete. It returns what it ended beside the program itself.
func (p *Program) Finish(ctx context.Context, grace time.Duration) ([]proc.Process, error) {
	ended, err := p.End(ctx, grace)
	<-p.Exited()
	if p.output == nil {
		if p.unrelay != nil {
			p.unrelay()
			p.unrelay = nil
		}
		return ended, err
	}
	// All proven holders of the other end are gone; an unproven one must not
	// hang the attempt.
	timer := time.NewTimer(p.patient)
	defer timer.Stop()
	select {
	case <-p.drained:
	case <-timer.C:
		p.output.SetReadDeadline(past)
		<-p.drained
	}
	if p.unrelay != nil {
		p.unrelay()
		p.unrelay = nil
	}
	p.output.Close()
	return ended, err
}

// writerOnly and readerOnly keep io.Copy from handing a pty to splice or to a
// writer's own ReadFrom, which would bypass the log's bounds.
type writerOnly struct{ io.Writer }
type readerOnly struct{ io.Reader }
