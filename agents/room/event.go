package room

import "time"

// Event is something that a room hears.
type Event struct {
	At   time.Time
	What What
}

// What is heard.
type What interface{ what() }

// Lines are new lines of the room's file, in their order: one batch is heard before anything
// is decided. What was appended comes back as Lines.
type Lines []Line

// Standing is what a member does.
type Standing int

// What members do. Unknown: its records were not read yet. Off: its program does not run,
// and may be started.
const (
	Unknown Standing = iota
	Off
	Starting
	Idle
	InTurn
	Limited
	NeedsInput
	TakenOver
	Down
)

func (s Standing) String() string {
	return [...]string{"unknown", "off", "starting", "idle", "in turn", "limited", "needs input", "taken over", "down"}[s]
}

// Stand is what a member does, as its records say.
type Stand struct {
	Is      Standing
	Until   time.Time // of a limit
	Crashed bool      // Off: its program ended by itself
	Crashes int       // how often it did since its turn began, as far as that is known
	Active  time.Time // the last sign of life in its turn
	Why     string
}

// Stands says what a member does now.
type Stands struct {
	Member string
	Stand
}

// Stood says what several members do now, of all before anything is decided.
type Stood []Stands

// Took says that the program of a turn's member has it.
type Took struct{ Turn string }

// Replied says what a turn said. Its tokens are counted without those read from a cache.
type Replied struct {
	Turn, Text string
	Used       int64
}

// Failed says that a turn ended in another way: also that it was broken off. The text is what
// it had said.
type Failed struct {
	Turn string
	How  How
	Why  string
	Text string
	Used int64
}

// Rang says that a clock rang.
type Rang struct{ Clock Clock }

// Places says how many turns may begin now, by the bound of all rooms together.
type Places struct{ Free int }

func (Lines) what()   {}
func (Stands) what()  {}
func (Stood) what()   {}
func (Took) what()    {}
func (Replied) what() {}
func (Failed) what()  {}
func (Rang) what()    {}
func (Places) what()  {}

// Effect is something to carry out, in this order. An Append is the last of its step: what
// rests on its lines comes once they are durable, when they are heard.
type Effect interface{ effect() }

// Append adds lines to the file, with one write, if nothing was added since. Otherwise what
// was added is heard first, and then the event again.
type Append struct{ Lines []Line }

// Tell hands a turn to its member, under the turn's id: the same turn again is no second one.
type Tell struct{ Turn string }

// BreakOff interrupts a turn. Its end is heard as Failed or Replied.
type BreakOff struct{ Turn string }

// Start starts a member's program, in its conversation.
type Start struct{ Member string }

// Rest ends a member's program.
type Rest struct {
	Member string
	Why    string
}

// Arm lets a clock ring, in place of an earlier time of the same clock; Disarm stops it.
type Arm struct {
	Clock Clock
	At    time.Time
}

// Disarm stops a clock.
type Disarm struct{ Clock Clock }

// Notify tells the person something. Needs: the room waits for an answer.
type Notify struct {
	Text  string
	Needs bool
}

// Record keeps the record of a decision that no person has made.
type Record struct{ Decision string }

func (Append) effect()   {}
func (Tell) effect()     {}
func (BreakOff) effect() {}
func (Start) effect()    {}
func (Rest) effect()     {}
func (Arm) effect()      {}
func (Disarm) effect()   {}
func (Notify) effect()   {}
func (Record) effect()   {}

// Clock is what rings: of a turn, or without one of the room.
type Clock struct {
	Kind Ring
	Turn string
}

// Ring is why a clock rings.
type Ring string

// The clocks.
const (
	Gather  Ring = "gather" // a member begins, with what came for it
	First   Ring = "first"  // first answers are collected no longer
	Send    Ring = "send"
	IdleFor Ring = "idle"
	Parse   Ring = "parse"
	Answer  Ring = "answer" // nobody has answered whether a long turn is stopped
	Hard    Ring = "hard"
	Break   Ring = "break" // the end of an interrupted turn was not seen
	Again   Ring = "again" // a program that crashed starts again
)
