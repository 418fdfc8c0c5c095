// Package carrier carries out what happens in a room: it hears the room's file, its members
// and its clocks, lets package room decide, appends what was decided, and then acts on it.
//
// It may be killed at any moment. The next one folds the file, hears from the members'
// records what they have done since, and goes on: what is told to a member is told under the
// id of its turn, so nothing is sent or taken twice.
package carrier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/records/ledger"
	"cmux/agents/room"
)

// Members are the standing agents of a room. A name is the one in the room.
type Members interface {
	// Stand is what a member does now, and what its records tell that the room may not have
	// heard of its turn, nil: it has none: that its program took it, and how it ended.
	Stand(ctx context.Context, name string, turn *room.Turn) (now room.Stand, since []room.What, err error)
	// Tell hands a turn over, with the files that its text names. The same turn again is no
	// second one.
	Tell(ctx context.Context, turn *room.Turn, text string, files []room.File) error
	// BreakOff interrupts a turn. One that is not under way is told to have ended, too.
	BreakOff(ctx context.Context, turn *room.Turn) error
	Start(ctx context.Context, name string) error
	Rest(ctx context.Context, name, why string) error
}

// File is the room's file; *book.Book is one.
type File interface {
	Lines() ([]room.Line, []ledger.Bad, error)
	Append(ctx context.Context, decide func(so []room.Line) ([]room.Line, error)) (all []room.Line, added int, err error)
}

// Notes are what earlier rooms have learned.
type Notes interface {
	// Pick returns the ids of the notes that a member is told in its conversation, which
	// begins. opened is when the room was.
	Pick(s *room.State, opened time.Time, member string) []string
	// Told returns notes as members are told them, without those that are shown no more.
	Told(ids []string) []string
}

// Config is a carrier's surroundings.
type Config struct {
	Name    string // of the room
	File    File
	Members Members
	Place   func(member string) room.Place
	Files   func(member string) string // the folder in which it finds attached files; nil: it gets none
	Forgot  func(member string) bool   // the conversation is gone that its last turn was in; nil: it never is
	Notes   Notes                      // nil: members are told none
	Notify  func(text string, needs bool)
	Record  func(d *room.Decision) // keeps what a member has decided, once
	Now     func() time.Time
}

// retries is how long an append that failed, on a full disk for one, is left before it is
// tried again.
const retries = 5 * time.Second

// Carrier carries one room. It is used by one goroutine.
type Carrier struct {
	Config
	s      room.State
	lines  []room.Line
	queue  []room.What
	clocks map[room.Clock]time.Time
	failed error       // of the last append
	warned bool        // the person knows; until something could be written
	again  time.Time   // when it is tried again
	rang   []room.Rang // that led to an append that failed; the records tell all else again
}

// New reads the room. Look goes on from there.
func New(c Config) (*Carrier, error) {
	lines, _, err := c.File.Lines()
	if err != nil {
		return nil, err
	}
	return &Carrier{Config: c, s: room.Fold(c.Name, lines), lines: lines, clocks: map[room.Clock]time.Time{}}, nil
}

// State is the room as the carrier knows it.
func (c *Carrier) State() room.State { return c.s }

// Failed is why something could not be written; nil: all was.
func (c *Carrier) Failed() error { return c.failed }

// Look hears what the file and the members have to tell.
func (c *Carrier) Look(ctx context.Context) error {
	if err := c.read(); err != nil {
		return err
	}
	if err := c.carry(ctx); err != nil {
		return err
	}
	var stood room.Stood
	news := false
	for _, m := range c.s.Members {
		if m.Guest {
			continue
		}
		now, since, err := c.Members.Stand(ctx, m.Name, c.s.Turn(m.Turn))
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		for _, w := range since {
			if c.s.Awaits(w) {
				c.queue, news = append(c.queue, w), true
			}
		}
		news = news || now != m.Stand
		stood = append(stood, room.Stands{Member: m.Name, Stand: now})
	}
	if news { // what they have done comes before what they do
		c.queue = append(c.queue, stood)
	}
	return c.carry(ctx)
}

// Ring rings the clocks that are due, and tries again what could not be written. It returns
// when it is to be called next; zero: no clock runs.
func (c *Carrier) Ring(ctx context.Context) (next time.Time, err error) {
	now := c.Now()
	if c.failed != nil && !now.Before(c.again) {
		c.failed = nil
		c.queue = append(c.queue, room.Lines(nil))
		for _, r := range c.rang {
			c.queue = append(c.queue, r)
		}
		c.rang = nil
	}
	for clock, at := range c.clocks {
		if !at.After(now) {
			delete(c.clocks, clock)
			c.queue = append(c.queue, room.Rang{Clock: clock})
		}
	}
	if err := c.carry(ctx); err != nil {
		return time.Time{}, err
	}
	for _, at := range c.clocks {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if c.failed != nil && (next.IsZero() || c.again.Before(next)) {
		next = c.again
	}
	return next, nil
}

// Free says how many turns may begin in this room now.
func (c *Carrier) Free(ctx context.Context, turns int) error {
	if free, told := c.s.Places(); told && free == turns {
		return nil
	}
	c.queue = append(c.queue, room.Places{Free: turns})
	return c.carry(ctx)
}

// read queues the lines that others have added.
func (c *Carrier) read() error {
	lines, _, err := c.File.Lines()
	if err != nil {
		return err
	}
	if len(lines) < len(c.lines) || !lines[0].At.Equal(c.lines[0].At) {
		return ErrOther
	}
	if n := len(c.lines); len(lines) > n {
		c.queue = append([]room.What{room.Lines(lines[n:])}, c.queue...)
		c.lines = lines
	}
	return nil
}

// ErrOther means that the file is of another room, which has the name now.
var ErrOther = errors.New("another room has the name")

// errNewer means that somebody else has added lines.
var errNewer = errors.New("the room has newer lines")

func (c *Carrier) carry(ctx context.Context) error {
	for len(c.queue) > 0 {
		what := c.queue[0]
		c.queue = c.queue[1:]
		var effects []room.Effect
		c.s, effects = room.Step(c.s, room.Event{At: c.Now(), What: what})
		for _, e := range effects {
			if err := c.do(ctx, what, e); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (c *Carrier) do(ctx context.Context, what room.What, e room.Effect) error {
	switch e := e.(type) {
	case room.Append:
		return c.append(ctx, what, e.Lines)
	case room.Tell:
		t := c.s.Turn(e.Turn)
		text, files := c.prompt(t)
		return c.Members.Tell(ctx, t, text, files)
	case room.BreakOff:
		return c.Members.BreakOff(ctx, c.s.Turn(e.Turn))
	case room.Start:
		return c.Members.Start(ctx, e.Member)
	case room.Rest:
		return c.Members.Rest(ctx, e.Member, e.Why)
	case room.Arm:
		c.clocks[e.Clock] = e.At
	case room.Disarm:
		delete(c.clocks, e.Clock)
	case room.Notify:
		c.Notify(e.Text, e.Needs)
	case room.Record:
		c.Record(c.s.Decision(e.Decision))
	}
	return nil
}

// append writes lines, if nothing was added since they were decided; else that is heard
// first, and then what led to them again.
func (c *Carrier) append(ctx context.Context, what room.What, lines []room.Line) error {
	c.note(lines)
	all, added, err := c.File.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		if len(so) != len(c.lines) {
			return nil, errNewer
		}
		return lines, nil
	})
	switch {
	case errors.Is(err, errNewer):
		c.queue = append([]room.What{what}, c.queue...)
		return c.read()
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		if !c.warned {
			c.warned = true
			c.Notify(fmt.Sprintf("nothing can be written to the room, which waits: %v", err), true)
		}
		c.failed, c.again = err, c.Now().Add(retries)
		if r, is := what.(room.Rang); is && !slices.Contains(c.rang, r) {
			c.rang = append(c.rang, r)
		}
		return nil
	}
	c.failed, c.warned = nil, false
	c.lines = all
	c.queue = append([]room.What{room.Lines(all[len(all)-added:])}, c.queue...)
	return nil
}

// note names the notes that turns tell their members, in the lines that begin them: so after a
// crash a member is told the same ones. Each is told once in its conversation.
func (c *Carrier) note(lines []room.Line) {
	if c.Notes == nil {
		return
	}
	for i := range lines {
		l := &lines[i]
		if l.Kind == room.KindTurn && (First(slices.Concat(c.lines, lines[:i+1]), l.Member, l.Turn) || c.Forgot != nil && c.Forgot(l.Member)) {
			l.Notes = c.Notes.Pick(&c.s, c.lines[0].At, l.Member)
		}
	}
}

// prompt is what a turn gives its member, and the files that it names. Before its first one
// it is told where it is; where its conversation is gone it is told again, with what was said
// last.
func (c *Carrier) prompt(t *room.Turn) (text string, files []room.File) {
	opens := First(c.lines, t.Member, t.ID)
	again := !opens && c.Forgot != nil && c.Forgot(t.Member)
	folder := ""
	if c.Files != nil {
		folder, files = c.Files(t.Member), c.s.Attached(t.ID, again)
	}
	text = c.s.Prompt(t.ID, again, folder)
	if opens || again {
		text = c.Opening(t.Member) + "\n" + text
	}
	return text, files
}

// Opening is what a member is told once, before its first turn: with the notes that were named in
// the line of a turn of its.
func (c *Carrier) Opening(name string) string {
	var notes []string
	if ids := room.Noted(&c.s, name); c.Notes != nil && len(ids) > 0 {
		notes = c.Notes.Told(ids)
	}
	return c.s.Opening(name, c.Place(name), notes)
}

// First reports whether the member has had no turn before, since it joined.
func First(lines []room.Line, name, turn string) bool {
	yes := true
	of := map[string]string{}
	for _, l := range lines {
		switch l.Kind {
		case room.KindJoined:
			yes = yes || l.Name == name
		case room.KindTurn:
			if l.Turn == turn {
				return yes
			}
			of[l.Turn] = l.Member
		case room.KindTook, room.KindOver:
			if of[l.Turn] == name && (l.Kind == room.KindTook || l.How == room.HowReplied || l.How == room.HowPassed) {
				yes = false
			}
		}
	}
	return yes
}
