// Package shares is what the agents of one run or organization have in common with all
// others of the person: usage limits of accounts, seats (max_agents), slots and ports. The
// owner of the agents says who needs a share and who works; Shares asks for it, holds it and
// gives it back.
//
// What cannot be shared is logged once, and then bounds nobody.
package shares

import (
	"iter"
	"slices"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/platform/lease"
	"cmux/agents/platform/limits"
)

// NoSlot is the slot of an attempt that has none.
const NoSlot = lease.BlockSlots * lease.Blocks

// Needs says which shares an owner's agents can need; slots are for all.
type Needs struct{ Seats, Limits bool }

// Shares holds the shares of one owner. It is for one goroutine.
type Shares struct {
	lease.Slots
	by     lease.Holder
	seats  *lease.Seating
	asked  bool   // an agent was refused a seat since the last Sit
	limits string // folder; "": unknown
	log    *log.Logger
	warned map[string]bool
}

// Open opens the shares of the agents of by.
func Open(by lease.Holder, n Needs, l *log.Logger) *Shares {
	s := &Shares{by: by, seats: new(lease.Seating), log: l, warned: make(map[string]bool)}
	s.Slots = lease.Slots{By: by, Warn: func(err error) { s.warn("slots and ports are", err) }}
	if n.Seats {
		s.seats = lease.OpenSeating(by, func(err error) { s.warn("the seats of max_agents are", err) })
	}
	if n.Limits {
		dir, err := limits.Open()
		if err != nil {
			s.warn("usage limits are", err)
			dir = ""
		}
		s.limits = dir
	}
	return s
}

func (s *Shares) warn(what string, err error) {
	if text := what + err.Error(); !s.warned[text] {
		s.warned[text] = true
		s.log.Warn(what+" not shared with your other runs", "err", err)
	}
}

// Dirs returns the folders in which files change when a limit ends or a seat becomes free.
func (s *Shares) Dirs() []string {
	return slices.DeleteFunc([]string{s.limits, s.seats.Dir()}, func(dir string) bool { return dir == "" })
}

// Sit reads how many agents may work, takes a seat for each of agents that works, and gives
// back the seats of all others. If no agent was refused a seat since the last call, the
// owner leaves the line.
func (s *Shares) Sit(agents iter.Seq[string], works func(agent string) bool) {
	s.seats.Look(s.asked)
	s.asked = false
	s.seats.Keep(works)
	if !s.seats.Bounded() {
		return
	}
	for agent := range agents {
		if works(agent) {
			s.seats.Take(agent, true)
		}
	}
}

// Seat takes a seat for an agent that is to begin, or returns why there is none for it.
func (s *Shares) Seat(agent string) (why string) {
	if !s.seats.Bounded() {
		return ""
	}
	why = s.seats.Take(agent, false)
	s.asked = s.asked || why != ""
	return why
}

// Free gives back the seats of agents that no longer work. It reports whether the number of
// seats is bounded at all.
func (s *Shares) Free(works func(agent string) bool) (bounded bool) {
	s.seats.Keep(works)
	return s.seats.Bounded()
}

// Leave takes the owner out of the line: none of its agents waits for a seat.
func (s *Shares) Leave() {
	if s.asked = false; s.seats.Bounded() {
		s.seats.Leave()
	}
}

// Tell tells all runs of the person what node found out about an account. It returns what
// all runs know afterwards; nil: nothing, since st is for the owner alone. ok: limits are
// shared.
func (s *Shares) Tell(st limits.State, node string, force bool, now time.Time) (is *limits.State, ok bool) {
	if s.limits == "" {
		return nil, false
	}
	st.By = limits.Source{Project: s.by.Project, Session: s.by.Session, Run: s.by.Run, Node: node}
	is, err := limits.Tell(s.limits, st, force, now)
	return is, s.known(err)
}

// Limit returns what all runs of the person know about an account; nil: nothing. ok: limits
// are shared, and the answer can be believed.
func (s *Shares) Limit(account string, now time.Time) (is *limits.State, ok bool) {
	if s.limits == "" {
		return nil, false
	}
	is, err := limits.Read(s.limits, account, now)
	return is, s.known(err)
}

func (s *Shares) known(err error) (ok bool) {
	if err != nil {
		s.warn("usage limits are", err)
	}
	return err == nil
}

// Close gives everything back. Wrappers at work keep what they hold.
func (s *Shares) Close() error {
	s.seats.Close()
	return s.Slots.Close()
}
