package host

import (
	"context"
	"errors"
	"io/fs"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// process runs attempts in this process, each in a goroutine.
type process struct {
	c       *Config
	spawner *proc.Spawner
}

func (p *process) start(ctx context.Context, s *run.Spec) (Link, error) {
	if attempt.KeepsFiles(s) {
		if err := p.c.Book.Patiently(ctx, func() error {
			err := signals.Mkdir(p.c.Run.NodeDir(s.Node), 0o700)
			if errors.Is(err, fs.ErrExist) {
				return nil
			}
			return signals.Explain(err)
		}); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	l := &child{inbox: make(chan attempt.Message, 16), ctx: ctx}
	// The attempt learns of a signal to this process at once: its program may have got the
	// same signal, and then its end is not a verdict.
	unhear := context.AfterFunc(p.c.Told, func() { cancel(attempt.ErrInterrupted) })
	job := attempt.Job{
		Spec: s, Paths: p.c.Run.Paths, Home: p.c.Run, Env: p.c.Env, Kinds: p.c.Kinds, Spawner: p.spawner, Repo: p.c.Repo,
		Record: func(rec run.Record) error {
			rec.Node, rec.Attempt = s.Node, s.Attempt
			return p.c.Book.Append(context.WithoutCancel(ctx), rec)
		},
		Inbox: l.inbox, Live: p.c.live(s.Node),
	}
	p.c.Go(func() {
		end, err := attempt.Run(ctx, job)
		unhear()
		cancel(nil)
		p.c.Ended(Ref{s.Node, s.Attempt}, end, err)
	})
	return l, nil
}

// child is the Link to an attempt in this process.
type child struct {
	inbox chan attempt.Message
	ctx   context.Context // of the attempt; ends with it or when it is told to end
}

func (l *child) Gone() <-chan struct{} { return l.ctx.Done() }

// Close does nothing: the attempt ends with its context.
func (l *child) Close() {}

func (l *child) Say(ctx context.Context, m attempt.Message) (attempt.Reply, error) {
	answer := make(chan attempt.Reply, 1)
	select {
	case l.inbox <- m.WithReply(func(r attempt.Reply) error { answer <- r; return nil }):
	case <-l.ctx.Done():
		return attempt.Reply{}, ErrGone
	case <-ctx.Done():
		return attempt.Reply{}, ctx.Err()
	}
	var r attempt.Reply
	select {
	case r = <-answer:
	case <-l.ctx.Done():
		select {
		case r = <-answer: // its last reply
		default:
			return r, ErrGone
		}
	case <-ctx.Done():
		return r, ctx.Err()
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}
