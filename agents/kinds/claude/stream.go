package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/transcript"
	"cmux/agents/records/event"
)

// startHeadless starts the program with its prompt on its standard input, which
// stays open for more.
func (a *instance) startHeadless(cmd *exec.Cmd, said string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd.Stdin = r
	results := make(chan result, 16)
	a.program, err = a.stage.Piped(cmd, &stream{agent: a, results: results})
	if err != nil {
		w.Close()
		return err
	}
	a.input = w
	a.tasks.Go(func() { a.judgeResults(a.ctx, results) })
	// A long prompt does not fit into the pipe before the program reads.
	if said != "" {
		a.tasks.Go(func() { a.write(a.ctx, said) })
	}
	return nil
}

// write writes a prompt.
func (a *instance) write(ctx context.Context, text string) error {
	return writeLine(ctx, a, object{"type": "user", "message": object{"role": "user", "content": text}})
}

// writeLine writes a line of input.
func writeLine(ctx context.Context, a *instance, o object) error {
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { a.input.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := a.input.Write(append(line, '\n')); err != nil {
		select {
		case <-a.program.Exited():
			return errEnded
		default:
			return err
		}
	}
	return nil
}

// stream takes in what the program prints. The log is made from the
// transcript; lines that are no stream-json (errors at the start) go there as
// they are.
type stream struct {
	agent   *instance
	results chan<- result

	mu      sync.Mutex
	partial []byte
	lifted  time.Time // end of the limit that was met last, to the second
}

// result is the end of a turn.
type result struct {
	transcript.Result
	lifted time.Time
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.partial = append(s.partial, p...)
	for {
		i := bytes.IndexByte(s.partial, '\n')
		if i < 0 {
			return len(p), nil
		}
		s.line(bytes.TrimSpace(s.partial[:i]))
		s.partial = append(s.partial[:0], s.partial[i+1:]...)
	}
}

func (s *stream) line(b []byte) {
	if len(b) == 0 {
		return
	}
	l, err := transcript.ParseStream(b)
	switch {
	case err != nil:
		fmt.Fprintf(s.agent.stage.Out, "%s\n", event.Printable(string(b)))
	case l.Retry != nil:
		fmt.Fprintf(s.agent.stage.Out, "! call of the model failed (%d %s), try %d of %d\n", l.Retry.Status, event.Printable(l.Retry.Error), l.Retry.Attempt, l.Retry.MaxRetries)
	case l.Limit != nil:
		s.lifted = l.Limit.Lifted()
	case l.Partial != nil && l.Parent == "":
		s.partially(l.Partial)
	case l.Message != "":
		s.agent.follow.counts(l.Message, l.Used)
	case l.Result != nil:
		select {
		case s.results <- result{*l.Result, s.lifted}:
		case <-s.agent.ctx.Done():
		}
	}
}

// partially takes in a piece of an answer.
func (s *stream) partially(p *transcript.Partial) {
	text := s.agent.stage.Unfinished
	switch p.Type {
	case transcript.BlockBegins:
		if p.Block.Type == "text" {
			text.Begin()
		}
	case transcript.BlockGrows:
		text.Say(p.Delta.Text) // of a thought or a call it has none
	case transcript.BlockEnds:
		text.End()
	}
}

// judgeResults tells of turns that ended without their Stop hook.
func (a *instance) judgeResults(ctx context.Context, results <-chan result) {
	for {
		select {
		case r := <-results:
			a.mu.Lock()
			alone, broken := a.listener.result(r.IsError), a.breaking && r.Aborted()
			if broken { // as cmux ordered: whoever did waits for it
				a.breaking = false
				a.listener.asking = ""
				a.listener.rests()
			}
			a.mu.Unlock()
			if !alone || broken {
				continue
			}
			var e news.Event = news.TurnEnded{Said: r.Text}
			if r.IsError && r.TerminalReason != "max_turns" {
				kind := r.TerminalReason
				if r.APIStatus != 0 {
					kind = fmt.Sprintf("API Error: %d", r.APIStatus)
				}
				now := time.Now()
				e = failure(kind, r.Text, now)
				if l, limited := e.(news.LimitMet); limited && r.lifted.After(now) {
					l.Until = r.lifted // the text knows minutes only
					e = l
				}
			}
			if a.stage.Tell(ctx, e) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
