package room

import (
	"time"
)

// Who is not a member: the person, and cmux itself.
const (
	User = "user"
	Cmux = "cmux"
)

// Kind is what a line says.
type Kind string

// The kinds of lines.
const (
	KindOpened   Kind = "opened" // the room's settings, whole
	KindSet      Kind = "set"    // the same, later
	KindJoined   Kind = "joined"
	KindLeft     Kind = "left"
	KindSaid     Kind = "said"
	KindRound    Kind = "round"
	KindBlind    Kind = "blind"
	KindTurn     Kind = "turn" // begins
	KindTook     Kind = "took" // its program has it
	KindOver     Kind = "over" // ends, once
	KindDropped  Kind = "dropped"
	KindOrder    Kind = "order"
	KindProposed Kind = "proposed"
	KindDecided  Kind = "decided"
)

// Line is one fact of a room. Which fields it has, its kind says.
type Line struct {
	N    int64     `json:"n"` // 1, 2, 3: a message is named by it
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`

	Settings *Settings `json:"settings,omitempty"` // opened, set

	Name  string `json:"name,omitempty"` // joined, left: in the room
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
	Role  string `json:"role,omitempty"`
	Mode  string `json:"mode,omitempty"` // headless or pane
	Guest bool   `json:"guest,omitempty"`

	By    string   `json:"by,omitempty"`
	Text  string   `json:"text,omitempty"`
	File  string   `json:"file,omitempty"`  // holds a long text and aside, in place of them
	Sum   string   `json:"sum,omitempty"`   // SHA-256 of that file
	Lost  string   `json:"-"`               // why that file cannot be read
	To    string   `json:"to,omitempty"`    // of a direct message
	Re    int64    `json:"re,omitempty"`    // the message that it answers
	Key   string   `json:"key,omitempty"`   // its sender's own id: the same key again is the same message
	Aside string   `json:"aside,omitempty"` // what its author kept for the person
	Wakes []string `json:"wakes,omitempty"`
	Blind bool     `json:"blind,omitempty"` // of a question: its answer is for the person alone
	Files []File   `json:"files,omitempty"` // attached to it

	Round int    `json:"round,omitempty"`
	State Mark   `json:"state,omitempty"` // round, blind
	Why   string `json:"why,omitempty"`

	Turn     string   `json:"turn,omitempty"` // t1, t2, …
	Turns    []string `json:"turns,omitempty"`
	Member   string   `json:"member,omitempty"`
	Messages []int64  `json:"messages,omitempty"`
	Message  int64    `json:"message,omitempty"`
	Card     string   `json:"card,omitempty"`
	Estimate int64    `json:"estimate,omitempty"` // tokens
	Notes    []string `json:"notes,omitempty"`

	How  How   `json:"how,omitempty"`
	Said int64 `json:"said,omitempty"` // the message with what it said
	Used int64 `json:"used,omitempty"` // tokens, without those read from a cache
	Took int64 `json:"took,omitempty"` // milliseconds

	ID      string   `json:"id,omitempty"`
	Do      Do       `json:"do,omitempty"`
	Names   []string `json:"names,omitempty"`
	Count   int      `json:"count,omitempty"`   // of turns
	What    string   `json:"what,omitempty"`    // proposed: decision or card; decided: the verdict
	Ask     string   `json:"ask,omitempty"`     // id of the proposal that a message asks for, or answers
	Journal string   `json:"journal,omitempty"` // file with the record of a decision, in the project
	From    int64    `json:"from,omitempty"`
	For     []string `json:"for,omitempty"`
	Dissent []string `json:"dissent,omitempty"`
}

// File is a file that the person has attached to a message.
type File struct {
	Name   string `json:"name"` // made safe
	File   string `json:"file"` // in the folder files of the room, and of each member that gets it
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// The modes of members: with a window of tmux, or without.
const (
	Headless = "headless"
	InPane   = "pane"
)

// Mark is where a round, or the collecting of first answers, stands.
type Mark string

// The marks of rounds; Began and Ended are those of the first answers.
const (
	Began     Mark = "began"
	Settled   Mark = "settled"
	Capped    Mark = "capped"
	Cancelled Mark = "cancelled"
	Ended     Mark = "over"
)

// How a turn ended.
type How string

// The ends of turns.
const (
	HowReplied How = "replied"
	HowPassed  How = "passed"
	HowStopped How = "stopped"
	HowFailed  How = "failed"
	HowTimeout How = "timeout"
	HowLost    How = "lost"
)

// Do is what a person orders.
type Do string

// The orders.
const (
	DoPause    Do = "pause"
	DoResume   Do = "resume"
	DoStop     Do = "stop" // without names: all turns, and pause
	DoCancel   Do = "cancel"
	DoContinue Do = "continue"
	DoSkip     Do = "skip"
	DoClose    Do = "close"
	DoReopen   Do = "reopen"
	DoWake     Do = "wake"   // a member that is down
	DoWait     Do = "wait"   // for a member that works for long
	DoDecide   Do = "decide" // members are asked about a proposal
)

// Policy is who speaks next.
type Policy string

// The policies.
const (
	Everybody Policy = "everybody"
	Once      Policy = "once"
	Robin     Policy = "robin"
	Mentioned Policy = "mentioned"
	Moderator Policy = "moderator"
	Debate    Policy = "debate"
)

// Settings are a room's own, whole.
type Settings struct {
	Topic     string   `json:"topic,omitempty"`
	Policy    Policy   `json:"policy"`
	Blind     bool     `json:"blind"`
	Turns     int      `json:"turns"` // of a member in a round, since the person's last message
	Tokens    Tokens   `json:"tokens,omitzero"`
	Tagged    bool     `json:"tagged,omitempty"` // only what stands in <Share> is shared
	Moderator string   `json:"moderator,omitempty"`
	Judge     string   `json:"judge,omitempty"`
	Decide    string   `json:"decide,omitempty"` // moderator: it asks and decides; empty: the person
	Rebuttals int      `json:"rebuttals,omitempty"`
	Timeouts  Timeouts `json:"timeouts"`
	Dir       string   `json:"dir,omitempty"`    // in the project; empty: its root
	Opener    string   `json:"opener,omitempty"` // the agent that opened it; empty: the person
	About     string   `json:"about,omitempty"`  // node:NAME, task:ID or merge:ID, whose facts members get; empty: nothing that exists
}

// Tokens bound what a room uses; 0 is no bound.
type Tokens struct {
	Round int64 `json:"round,omitempty"`
	Day   int64 `json:"day,omitempty"`
}

// Timeouts are in seconds; 0 is none.
type Timeouts struct {
	Idle  int  `json:"idle"`  // of a turn without any event, output or file change
	Parse int  `json:"parse"` // of a turn's working time, without limits and questions
	Send  int  `json:"send"`  // from the turn's begin until its program has it
	Hard  int  `json:"hard"`  // of a turn
	Stops bool `json:"stops,omitempty"`
}

// Defaults are the settings of a room that says nothing else.
func Defaults() Settings {
	return Settings{
		Policy: Everybody, Blind: true, Turns: 3, Rebuttals: 1,
		Timeouts: Timeouts{Idle: 1800, Parse: 1200, Send: 120},
	}
}
