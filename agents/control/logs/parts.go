package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"cmux/agents/control/files"
	"cmux/agents/control/runs"
	"cmux/agents/platform/harmless"
	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// LogPart is a part of a log, whole lines where it has any.
type LogPart struct {
	Text string `json:"text"`
	From int64  `json:"from"` // where it begins, in bytes
	Next int64  `json:"next"` // where what follows begins
	Size int64  `json:"size"` // of the whole log by now
}

// maxPart bounds a LogPart, in bytes.
const maxPart = 256 << 10

// NodePart is the part of a node's log that begins at from; below 0: its end,
// or where before is above 0, the end of what is before that.
func (p *Logs) NodePart(ctx context.Context, id, node string, from, before int64) (*LogPart, error) {
	r, err := p.Runs.Named(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, err := runs.Index(r, node); err != nil {
		return nil, err
	}
	return logPart(r.Log(node), from, before)
}

// AgentPart is such a part of the log of a standing agent.
func (p *Logs) AgentPart(name string, from, before int64) (*LogPart, error) {
	org, a, err := p.StandingAgent(name)
	if err != nil {
		return nil, err
	}
	return logPart(org.Run.Log(a.Name), from, before)
}

func logPart(path string, from, before int64) (*LogPart, error) {
	f, err := signals.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &LogPart{}, nil // nothing was written yet
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	part := &LogPart{From: from, Size: info.Size()}
	end := part.Size
	if before > 0 {
		end = min(end, before)
	}
	middle := from < 0
	if middle {
		part.From = max(0, end-maxPart)
		middle = part.From > 0
	}
	part.From = min(part.From, end)
	b, err := io.ReadAll(io.NewSectionReader(f, part.From, min(maxPart, end-part.From)))
	if err != nil {
		return nil, err
	}
	if i := bytes.IndexByte(b, '\n'); middle && i >= 0 { // it begins in the middle of a line
		part.From, b = part.From+int64(i)+1, b[i+1:]
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		b = b[:i+1]
	} else if len(b) == maxPart {
		b = files.Whole(b)
	}
	part.Next, part.Text = part.From+int64(len(b)), harmless.Text(string(b))
	return part, nil
}

// Prompt is what an attempt of a node was told first.
type Prompt struct {
	Attempt int    `json:"attempt"` // 0: none has begun
	Text    string `json:"text"`    // empty: it was not told anything yet
	Cut     int    `json:"cut"`     // bytes that are missing at the end of Text
	Task    string `json:"task"`    // as the configuration has it, which the prompt is made from
}

// Prompt is what an attempt was told; 0: the newest.
func (p *Logs) Prompt(ctx context.Context, id, node string, attempt int) (*Prompt, error) {
	r, err := p.Runs.Named(ctx, id)
	if err != nil {
		return nil, err
	}
	i, err := runs.Index(r, node)
	if err != nil {
		return nil, err
	}
	out := &Prompt{Task: r.Plan.Graph.Nodes[i].Task}
	if out.Attempt = attempt; attempt == 0 {
		if out.Attempt, err = newestAttempt(ctx, p, r, node); err != nil {
			return nil, err
		}
	}
	found := errors.New("found")
	_, err = event.Replay(r.Events(node), 0, func(e event.Event, _ int64) error {
		if e.Kind == event.Prompt && e.Attempt == out.Attempt {
			out.Text, out.Cut = e.Text, e.Cut
			return found
		}
		return nil
	})
	if err != nil && !errors.Is(err, found) && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the events of %s: %w", node, err)
	}
	return out, nil
}

func newestAttempt(ctx context.Context, p *Logs, r *run.Run, node string) (int, error) {
	v, err := r.View(ctx, p.Now())
	if err != nil {
		return 0, err
	}
	i, err := runs.Index(v.Run, node)
	if err != nil {
		return 0, err
	}
	if a := v.Nodes[i].Attempt(); a != nil {
		return a.N, nil
	}
	return 0, nil
}
