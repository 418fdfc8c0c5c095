package run

import (
	"encoding/json"
	"fmt"
	"time"

	"cmux/agents/kinds/question"
	"cmux/agents/platform/limits"
	"cmux/dag"
	"cmux/signals"
)

// Type names a record.
type Type string

const (
	RunnerUp   Type = "runner_up"   // a runner took the run: start, resume or respawn
	RunnerDown Type = "runner_down" // it left in order; How says why
	Stopped    Type = "stopped"     // stop without a name
	Resumed    Type = "resumed"     // the run goes on after stopped or ended
	RunEnded   Type = "run_ended"   // How is the run's final state

	Started    Type = "started"   // attempt n is about to be launched; precedes the launch
	Began      Type = "began"     // its wrapper lives and holds the lock
	Active     Type = "active"    // what the attempt is doing changed
	Wants      Type = "wants"     // it gave its slot back and asks for one to go on
	Granted    Type = "granted"   // it got one
	AttemptEnd Type = "ended"     // the attempt record
	Published  Type = "published" // the marker that an ended, blocked or override record announced is in place
	Vanished   Type = "vanished"  // the attempt ended without a record
	Overridden Type = "override"  // a person's decision, by marker or command
	Opened     Type = "opened"    // a gate waits for a person
	Blocked    Type = "blocked"   // 99, with its cause
	Unblocked  Type = "unblocked" // the 99, or the 0 of what was skipped, is withdrawn: its cause is gone
	Skipped    Type = "skipped"   // the node does not start, which is no failure: Detail says why
	Reset      Type = "reset"     // retry: the node's end no longer counts
	Moved      Type = "moved"     // a person's retry takes Tip in, to which a dependency's branch has moved since it was done
	Conversed  Type = "conversed" // the attempt's agent has this Conversation, which can be resumed
	Used       Type = "used"      // the attempt has Used so much so far
	Limited    Type = "limited"   // an account met its limit: the node's agent, or with Shared another run's
	Freed      Type = "freed"     // an account works again: the node that says so got an answer, or with Shared another run's
	Requested  Type = "request"   // a command's request was carried out, or refused with Detail
	Updated    Type = "updated"   // resume --update froze a new configuration
	Incident   Type = "incident"  // what the attempt tried and may not, or is suspected of: How and Detail; nothing came of it
	Output     Type = "output"    // the agent published Value under Key, for the nodes behind its own
	Collided   Type = "collision" // which files two nodes' branches both change has changed: Collision
	Reviewed   Type = "review"    // a person's decision about a node's work at Tip; How is the verdict
	Joined     Type = "joined"    // the standing agent was made, or changed: Member
	Given      Type = "given"     // it was given a piece of work: Work
	Told       Type = "told"      // its piece of work Key is known to have reached its program
	WorkEnded  Type = "work_over" // its piece of work Key is over: End
	Confirmed  Type = "confirmed" // it has read the message Key
	Replied    Type = "replied"   // a turn that began with the message Key said Detail; Terms.Replies alone
	Posed      Type = "posed"     // it waits for the answer to the question that it put by message, Posed; nil: for none
	Fenced     Type = "fenced"    // the fence kept the attempt's programs from writing Value; Key is the place to open it by, empty where no configuration does
	Filled     Type = "context"   // so much of the agent's context window is in use: Context
	Compacting Type = "compacts"  // a summary is about to replace its conversation: Key is the order, empty without one; Detail is why, Value where it is kept how it stood
	Compacted  Type = "compacted" // its program has confirmed that, with the same Key and Value
	Claimed    Type = "claimed"   // the machine Value carries out the attempt, which is not at home
	Silent     Type = "silent"    // that machine was last heard from at Value, RFC 3339; empty: it is heard again
	Noted      Type = "note"      // anything else a person may want to see
)

// How an Overridden record came about.
const (
	HowTouched  = "touch"    // a person's marker
	HowApproved = "approve"  // of a gate
	HowOverride = "override" // the command
	HowBad      = "bad"      // an invalid marker
)

// HowBrokenOff is the How of a Replied record whose turn cmux broke off.
const HowBrokenOff = "broken off"

// HowReleased is the How of Freed and Limited records with which a person released an
// account at its limit, so that cmux tries it now.
const HowReleased = "released"

// Shared says that what a record tells of an account stands in the person's
// state folder, for all their runs.
type Shared struct {
	ID string         `json:"id,omitempty"` // of that state; empty: its file was removed
	By *limits.Source `json:"by,omitempty"` // who found it out; nil: this run
}

// HowLeft is how an Active record came about that says of an agent that needs
// input that its program has ended without a report; Code is its exit code.
const HowLeft = "no report"

// HowRevived is how an Active record came about that says of a standing agent that is
// set up that its program ended and starts again; Detail says how it ended, behind
// Revival.
const HowRevived = "revived"

// Revival begins the detail of a standing agent that was lost and starts again.
const Revival = "its program ended and starts again: "

// How a Vanished record came about.
const (
	HowLost        = "lost"        // nobody knows
	HowInterrupted = "interrupted" // a signal to its wrapper
	HowStopped     = "stopped"     // stop without a name
	HowUpdated     = "updated"     // of RunnerDown: to come again with another plan
)

// How an Incident was found.
const (
	IncidentRefused = "refused" // a command that is a person's
	IncidentMarker  = "marker"
	IncidentRecord  = "record"
	IncidentRequest = "request"
	IncidentBin     = "bin"
	IncidentShared  = "shared" // a change of what all worktrees share that no agent is known to have made
)

// Written is a marker that cmux wrote or is about to write.
type Written struct {
	Code     int              `json:"code"`
	Empty    bool             `json:"empty,omitempty"` // an override's empty marker
	Bad      bool             `json:"bad,omitempty"`   // a person's, and no marker
	Identity signals.Identity `json:"id"`
}

// Place is where an attempt runs.
type Place struct {
	Dir      string `json:"dir"`                 // its working directory
	Tree     string `json:"tree,omitempty"`      // its worktree, when it has one
	Branch   string `json:"branch,omitempty"`    // its branch, when it has one
	Commit   string `json:"commit,omitempty"`    // what the worktree started from; for a review what it reads
	Lent     string `json:"lent,omitempty"`      // what the branch must still hold when the node is done
	Slot     int    `json:"slot"`                // CMUX_SLOT
	PortBase int    `json:"port_base,omitempty"` // CMUX_PORT_BASE
	Child    string `json:"child,omitempty"`     // instance of the runner whose child it is: it dies with it and has no lock
	Far      string `json:"far,omitempty"`       // it is carried out on another machine, where its other paths are: the carriers that reach it, by spaces
	Machine  string `json:"machine,omitempty"`   // Far: the name of that machine; empty: none has claimed it yet
}

// Away reports whether the attempt is carried out on another machine: its paths, processes
// and panes are not on this one, and no lock here says whether it lives.
func (p *Place) Away() bool { return p.Far != "" }

// TreeHere returns the worktree of the attempt on this machine; empty: it has none here.
func (p *Place) TreeHere() string {
	if p.Away() {
		return ""
	}
	return p.Tree
}

// Home is the name that a person reads for the machine with the project.
const Home = "home"

// Where returns the name of the machine that carries out the attempt: Home for this one,
// "" while no machine has claimed the attempt.
func (p *Place) Where() string {
	if p.Away() {
		return p.Machine
	}
	return Home
}

// Check is one verify command of an attempt.
type Check struct {
	Command  string       `json:"command"`
	Exit     int          `json:"exit"`
	TimedOut bool         `json:"timed_out,omitempty"`
	Took     dag.Duration `json:"took"`
	Output   string       `json:"output,omitempty"` // its end
}

// FailedCheck is the check that failed, and how; empty: none did.
func FailedCheck(checks []Check) string {
	for _, c := range checks {
		switch {
		case c.TimedOut:
			return fmt.Sprintf("`%s` took longer than it may", c.Command)
		case c.Exit != 0:
			return fmt.Sprintf("`%s`: exit %d", c.Command, c.Exit)
		}
	}
	return ""
}

// End is how an attempt ended.
type End struct {
	Outcome      dag.Outcome `json:"outcome"`
	Exit         int         `json:"exit"` // the program's own exit code
	Reason       dag.Reason  `json:"reason,omitempty"`
	Detail       string      `json:"detail,omitempty"`
	Summary      string      `json:"summary,omitempty"`
	Tip          string      `json:"tip,omitempty"`     // of its branch
	Commits      int         `json:"commits,omitempty"` // since its start commit
	DiffStat     string      `json:"diffstat,omitempty"`
	Checks       []Check     `json:"checks,omitempty"`
	Snapshot     string      `json:"snapshot,omitempty"` // what was saved of work that did not pass
	Conversation string      `json:"conversation,omitempty"`
	Used         dag.Usage   `json:"used,omitzero"`
	Retry        bool        `json:"retry,omitempty"` // another attempt follows without a person: no marker
}

// Marker is the exit code that the marker of this end holds (DESIGN §4.1).
func (e *End) Marker() int {
	switch {
	case e.Outcome == dag.Done:
		return 0
	case e.Outcome == dag.Cancelled:
		return 130
	case e.Reason == dag.ReasonTimeout:
		return 124
	case e.Reason != dag.ReasonExit:
		return 1
	case e.Exit == 99: // 99 on disk means blocked; the record keeps the truth
		return 1
	case e.Exit < 1 || e.Exit > 255:
		return 1
	}
	return e.Exit
}

// Label is how the attempt ended, as its node would be labelled.
func (e *End) Label() dag.Label { return dag.EndLabel(e.Outcome, e.Reason, e.Exit) }

// Context is what of its context window an agent's conversation takes up.
type Context struct {
	Tokens int64 `json:"tokens"`
	Window int64 `json:"window,omitempty"` // 0: its program does not say
}

// Share is how many percent of the window are in use, with window as its size where
// the program does not say; 0: it is not known.
func (c Context) Share(window int64) int {
	if c.Window > 0 {
		window = c.Window
	}
	if window <= 0 || c.Tokens <= 0 {
		return 0
	}
	return int(min(100, max(1, c.Tokens*100/window)))
}

// Record is one line of records.jsonl.
type Record struct {
	Type    Type      `json:"t"`
	At      time.Time `json:"at"`
	Node    string    `json:"node,omitempty"`
	Attempt int       `json:"n,omitempty"`

	How          string             `json:"how,omitempty"`      // Overridden: touch, marker, approve, override; RunnerUp: start, resume, respawn
	Detail       string             `json:"detail,omitempty"`   // for people
	Question     *question.Question `json:"question,omitempty"` // Active: that is to be answered, of which Detail is the text
	Posed        *question.Posed    `json:"posed,omitempty"`
	PID          int                `json:"pid,omitempty"`
	PIDStart     uint64             `json:"pid_start,omitempty"` // start time of PID, in the kernel's ticks
	Boot         string             `json:"boot,omitempty"`      // RunnerUp: of the machine; markers seen before another boot may be gone
	Folder       signals.Identity   `json:"folder,omitzero"`     // RunnerUp: of the signals folder, to tell its removal from that of each marker
	Launch       string             `json:"launch,omitempty"`    // RunnerUp: names the start or resume that it serves; a second one of the same launch was respawned
	Pane         string             `json:"pane,omitempty"`
	Activity     dag.Activity       `json:"activity,omitempty"`
	Until        time.Time          `json:"until,omitzero"`
	Account      string             `json:"account,omitempty"`
	Shared       *Shared            `json:"shared,omitempty"`       // Limited, Freed: this is known to all runs of the person
	Trial        bool               `json:"trial,omitempty"`        // Started, Granted: it finds out whether the limit of its account is over
	Code         int                `json:"code,omitempty"`         // Overridden: the code a person's marker held; Active, HowLeft: the program's
	Cause        string             `json:"cause,omitempty"`        // Blocked: the dependency
	Tip          string             `json:"tip,omitempty"`          // Overridden, Moved, Reviewed: the branch at that moment
	Conversation string             `json:"conversation,omitempty"` // Conversed: its id
	Used         dag.Usage          `json:"used,omitzero"`          // Used: by the attempt, in all
	Fresh        bool               `json:"fresh,omitempty"`        // Reset: the next attempt starts from the base
	Comment      string             `json:"comment,omitempty"`      // Reset: a person's, who sends the work back to its agent
	Request      string             `json:"request,omitempty"`      // Requested: its id
	Coded        bool               `json:"coded,omitempty"`        // Overridden: a person has typed the code that their terminal showed
	Words        []string           `json:"words,omitempty"`        // Incident, IncidentRefused: of the command line; none: it was too long
	Key          string             `json:"key,omitempty"`          // Output; WorkEnded: id of the work; Confirmed: of the message; Fenced
	Value        string             `json:"value,omitempty"`        // Output, Fenced
	Place        *Place             `json:"place,omitempty"`
	End          *End               `json:"end,omitempty"`
	Collision    *Collision         `json:"collision,omitempty"`
	Marker       *Written           `json:"marker,omitempty"`
	Context      *Context           `json:"context,omitempty"`
	Member       *Member            `json:"member,omitempty"`
	Work         *Work              `json:"work,omitempty"`
	Seq          uint64             `json:"seq,omitempty"` // of a far attempt: the entry of its machine's journal that this is
}

// Lost reports whether the record tells that a standing agent's program, or what carries
// it, has ended without an order: it is started again.
func (r *Record) Lost() bool {
	return r.Type == Vanished && r.How != HowStopped || r.Type == Active && r.How == HowRevived
}

func (r *Record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record %s of %s: %w", r.Type, r.Node, err)
	}
	return b, nil
}

// ParseRecord reads one line of records.jsonl.
func ParseRecord(line []byte) (*Record, error) {
	r := new(Record)
	if !r.quick(line) {
		r = new(Record)
		if err := json.Unmarshal(line, r); err != nil {
			return nil, err
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, nil
}
