package memory

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/task"
	"cmux/agents/platform/harmless"
	"cmux/agents/records/note"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/agents/room/lessons"
	"cmux/worktree/hint"
)

// patience is how long a program may take to make notes.
const patience = 60 * time.Second

// Due is a range of a room's messages that nobody has learned from.
type Due struct {
	Room     string `json:"room"`
	From     int64  `json:"from"` // lines of the room
	To       int64  `json:"to"`
	Messages int    `json:"messages"`
	Why      string `json:"why"`    // why it is due; empty: it is not, but may be learned from
	By       string `json:"by"`     // who would: kind of a program, or heuristic
	Model    string `json:"model"`  // of the program
	Tokens   int64  `json:"tokens"` // that this uses, about; 0: none
}

// heuristic is what Options.Heuristic or a missing program makes of a configuration.
func (p *Memory) by(c memoryconfig.Config, heuristic bool) (by, model string) {
	if heuristic || c.Learn == memoryconfig.Heuristic {
		return note.ByHeuristic, ""
	}
	k, ok := kinds.All()[c.Agent]
	if !ok || k.Ask == nil {
		return note.ByHeuristic, ""
	}
	if _, err := agent.LookPath(k.Can.Program, p.Env); err != nil {
		return note.ByHeuristic, ""
	}
	return c.Agent, c.Model
}

// Due is the ranges of all rooms that nobody has learned from, or of one.
func (p *Memory) Due(roomName string) ([]Due, error) {
	c, err := p.Config()
	if err != nil {
		return nil, err
	}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	names := []string{roomName}
	if roomName == "" {
		if names, err = book.Rooms(p.Root); err != nil {
			return nil, err
		}
	}
	all := []Due{}
	for _, name := range names {
		_, lines, _, err := p.Rooms.Open(name)
		if err != nil && roomName == "" {
			continue // the list of rooms says so
		} else if err != nil {
			return nil, err
		}
		r := lessons.Due(name, lines, l.ReadTo(name, lines[0].At))
		if r.To == 0 {
			continue
		}
		d := Due{Room: name, From: r.From, To: r.To, Messages: r.Messages, Why: r.Why}
		if c.Learn == memoryconfig.Off {
			d.Why = ""
		}
		if d.By, d.Model = p.by(c, false); d.By != note.ByHeuristic {
			s := room.Fold(name, lines)
			d.Tokens = lessons.Estimate(&s, r)
		}
		all = append(all, d)
	}
	return all, nil
}

// Options are how is learned.
type Options struct {
	Heuristic bool `json:"heuristic,omitempty" doc:"Only what can be counted, without a program"`
	Again     bool `json:"again,omitempty" doc:"From the whole room, also what was learned from before"`
}

// Learned is what was learned from a range.
type Learned struct {
	Room   string       `json:"room"`
	From   int64        `json:"from"`
	To     int64        `json:"to"`
	By     string       `json:"by"`     // kind of the program, or heuristic
	Why    string       `json:"why"`    // why there are no notes, or the heuristic made them; empty: there is no reason
	Tokens int64        `json:"tokens"` // that the program used
	Notes  []*note.Note `json:"notes"`  // that are new
}

// Learn makes notes of what a room said since it was last learned from.
func (p *Memory) Learn(ctx context.Context, name string, o Options) (*Learned, error) {
	_, lines, _, err := p.Rooms.Open(name)
	if err != nil {
		return nil, err
	}
	c, err := p.Config()
	if err != nil {
		return nil, err
	}
	l, err := p.list()
	if err != nil {
		return nil, err
	}
	to := l.ReadTo(name, lines[0].At)
	if o.Again {
		to = 0
	}
	r := lessons.Due(name, lines, to)
	switch {
	case r.To == 0 && to > 0:
		return nil, project.Usage("cmux memory learn "+name+" --again", "nothing was answered in the room %s since it was learned from", name)
	case r.To == 0:
		return nil, project.Usage("cmux rooms open "+name, "no member has answered in the room %s: there is nothing to learn", name)
	}
	return p.learn(ctx, c, lines, r, o)
}

// learn makes notes of a range and records that, in one line: cut off before it, nothing was
// learned.
func (p *Memory) learn(ctx context.Context, c memoryconfig.Config, lines []room.Line, r lessons.Range, o Options) (*Learned, error) {
	s := room.Fold(r.Room, lines)
	out := &Learned{Room: r.Room, From: r.From, To: r.To, Notes: []*note.Note{}}
	model := ""
	out.By, model = p.by(c, o.Heuristic)
	if out.By == note.ByHeuristic && !o.Heuristic && c.Learn != memoryconfig.Heuristic {
		out.Why = c.Agent + " is not installed"
	}
	var fields []note.Fields
	if out.By == note.ByHeuristic {
		work, err := p.work(r.Room)
		if err != nil {
			return nil, err
		}
		fields = lessons.Count(&s, lines, r, work)
	} else {
		var err error
		fields, out.Tokens, err = p.ask(ctx, out.By, model, &s, r)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // it is learned from next time
		case errors.Is(err, exec.ErrNotFound): // it was removed a moment ago
			return p.learn(ctx, c, lines, r, Options{Heuristic: true, Again: o.Again})
		case err != nil:
			out.Why = harmless.Line(err.Error())
		}
	}
	b, err := p.book(true)
	if err != nil {
		return nil, err
	}
	learned, aside, err := b.Learn(ctx, note.Read{Room: r.Room, Opened: r.Opened, From: r.From, To: r.To, By: out.By, Why: out.Why}, o.Again, fields)
	p.SetAside(note.Name, aside)
	if errors.Is(err, note.ErrRead) {
		return nil, hint.New(project.Tag(fmt.Errorf("the room %s was learned from meanwhile", r.Room), project.ErrUsage), "cmux memory list")
	}
	out.Notes = append(out.Notes, learned...)
	return out, err
}

// ask has a program make notes. Whatever is wrong with its answer, there are none then.
func (p *Memory) ask(ctx context.Context, kind, model string, s *room.State, r lessons.Range) ([]note.Fields, int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it has not answered within %s", patience))
	defer cancel()
	a, err := kinds.Ask(ctx, kind, agent.Question{Rules: lessons.Rules, Text: lessons.Text(s, r), Schema: lessons.Schema(), Model: model, Env: p.Env})
	used := int64(0)
	if a != nil {
		used = a.Tokens
	}
	if err != nil {
		return nil, used, fmt.Errorf("%s made no notes: %w", strings.TrimSpace(kind+" "+model), err)
	}
	fields, err := lessons.Answer(s, r, a.JSON)
	if err != nil {
		return nil, used, fmt.Errorf("%s made no notes: %w", strings.TrimSpace(kind+" "+model), err)
	}
	return fields, used, nil
}

// work counts failed checks and reviews of a room's cards.
func (p *Memory) work(name string) (all []lessons.Work, err error) {
	l, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	for _, t := range l.All() {
		if t.Card == nil || t.Card.Room != name || t.Card.Implementer == "" {
			continue
		}
		w := lessons.Work{Member: t.Card.Implementer}
		for _, part := range l.All() {
			if part.ID != t.ID && (part.Parent != t.ID || !strings.HasPrefix(part.Key, "card-"+t.ID+"-again-")) {
				continue
			}
			if part.ID != t.ID {
				w.SentBack++
			}
			w.ChecksFailed += failed(part)
		}
		all = append(all, w)
	}
	return all, nil
}

// failed is how many verdicts on a task had a check that failed.
func failed(t *task.Task) (n int) {
	for i := range t.Attempts {
		end := t.Attempts[i].End
		if end == nil {
			continue
		}
		for _, c := range end.Checks {
			if c.Exit != 0 || c.TimedOut {
				n++
				break
			}
		}
	}
	return n
}
