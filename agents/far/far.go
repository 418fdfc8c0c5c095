package far

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
)

// Version is the number of the protocol.
const Version = 1

// Ref names one attempt among those of all projects of a person. None of its parts is
// empty, and none has a slash.
type Ref struct {
	Project string `json:"project"` // Project's result
	Run     string `json:"run"`
	Node    string `json:"node"`
	N       int    `json:"n"`
}

func (r Ref) String() string {
	return strings.Join([]string{r.Project, r.Run, r.Node, strconv.Itoa(r.N)}, "/")
}

// maxPart bounds a part of a Ref, which becomes the name of a folder.
const maxPart = 120

// Check refuses a Ref that cannot be a path of folders.
func (r Ref) Check() error {
	for _, part := range []string{r.Project, r.Run, r.Node} {
		if part == "" || len(part) > maxPart || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-") ||
			strings.ContainsFunc(part, func(c rune) bool { return c == '/' || c == '\\' || c < ' ' || c == 0x7f }) {
			return fmt.Errorf("no attempt has the name %q", r.String())
		}
	}
	if r.N < 1 {
		return fmt.Errorf("no attempt has the number %d", r.N)
	}
	return nil
}

// ParseRef is the reverse of String.
func ParseRef(s string) (Ref, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return Ref{}, fmt.Errorf("no attempt has the name %q", s)
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil || strconv.Itoa(n) != parts[3] {
		return Ref{}, fmt.Errorf("no attempt has the name %q", s)
	}
	r := Ref{Project: parts[0], Run: parts[1], Node: parts[2], N: n}
	return r, r.Check()
}

// Job is what a machine needs to carry out an attempt, besides the code. It does not
// change when it is opened again.
type Job struct {
	Version   int             `json:"version"` // of the protocol
	Cmux      string          `json:"cmux"`    // version of home's cmux
	Graph     json.RawMessage `json:"graph"`   // the run's settings, and this node alone
	Spec      run.Spec        `json:"spec"`    // as home recorded it; its paths are home's
	Base      string          `json:"base,omitempty"`
	Env       []string        `json:"env,omitempty"`    // variables that travel: send_env
	Limits    []run.Record    `json:"limits,omitempty"` // known limits of the node's account
	Remote    string          `json:"remote,omitempty"` // URL that the machine may fetch from
	LostAfter time.Duration   `json:"lost_after"`       // how long the lease holds
	SaveEvery time.Duration   `json:"save_every"`       // how often unfinished work travels; 0: never
	Asks      bool            `json:"asks,omitempty"`   // on_lost: ask: no other attempt follows by itself, so the program works on without a lease
	Files     []File          `json:"files,omitempty"`  // copy:
	Review    bool            `json:"review,omitempty"` // the start commit is only read
}

// File is one that travels with a job.
type File struct {
	Path string `json:"path"` // relative to the project's root, with slashes
	Mode uint32 `json:"mode"`
	Data []byte `json:"data"`
}

// Kind names an entry. Unknown kinds are kept and skipped.
type Kind string

// Entries of home.
const (
	Code      Kind = "code"      // Data is part Part of Parts of a bundle; a machine sends these, too
	Order     Kind = "order"     // Message is for the attempt; a Reply with the same ID follows
	Limit     Kind = "limit"     // Record is of a limit that home has learned of
	Collected Kind = "collected" // home has all: the machine may forget the attempt
)

// Entries of a machine.
const (
	Claimed Kind = "claimed" // Claim says who has the job, and what its mirror has; home answers with Code
	Record  Kind = "record"  // Record is one of the attempt's, for home's records
	Events  Kind = "events"  // Data are lines of the attempt's events, from byte Offset of its own on
	Log     Kind = "log"     // Data is output of the attempt, from byte Offset of its own on
	Reply   Kind = "reply"   // Reply answers the order with the same ID
	Post    Kind = "post"    // Message.Mail is a message of the attempt's agent to the mailbox
	Saved   Kind = "saved"   // the Code before holds work that is not finished
	End     Kind = "end"     // Record is the attempt's end, or how it vanished; else Error says why there is none
)

// maxData bounds the data of an entry.
const maxData = 256 << 10

// Entry is one entry of a journal. Which fields it has depends on its Kind.
type Entry struct {
	Seq     uint64           `json:"seq,omitempty"` // of a machine's: 1, 2, …; home's have an ID
	ID      string           `json:"id,omitempty"`
	Kind    Kind             `json:"kind"`
	At      time.Time        `json:"at"` // by the writer's clock: shown, never compared
	Claim   *Claim           `json:"claim,omitempty"`
	Record  *run.Record      `json:"record,omitempty"`
	Message *attempt.Message `json:"message,omitempty"`
	Reply   *attempt.Reply   `json:"reply,omitempty"`
	Offset  int64            `json:"offset,omitempty"`
	Part    int              `json:"part,omitempty"` // from 0 on
	Parts   int              `json:"parts,omitempty"`
	Data    []byte           `json:"data,omitempty"`
	Error   string           `json:"error,omitempty"`
}

// Claim says which machine carries the attempt out.
type Claim struct {
	Machine string   `json:"machine"`       // its name
	Cmux    string   `json:"cmux"`          // its version
	Has     []string `json:"has,omitempty"` // commits of the project that its mirror has
	SSH     string   `json:"ssh,omitempty"` // where ssh reaches it; empty: nowhere
}

// Parts returns data as entries of a kind, of which the last is complete. An id names them
// together.
func Parts(kind Kind, id string, data []byte) []Entry {
	n := max(1, (len(data)+maxData-1)/maxData)
	all := make([]Entry, n)
	for i := range all {
		part := data[min(i*maxData, len(data)):min((i+1)*maxData, len(data))]
		all[i] = Entry{ID: fmt.Sprintf("%s-%d", id, i), Kind: kind, Part: i, Parts: n, Data: part}
	}
	return all
}

// MaxWhole bounds what parts make together.
const MaxWhole = 64 << 20

// Whole puts the parts of data together again.
type Whole struct {
	data []byte
	next int
}

// Add takes one part, and returns the data with the last. Parts come in order; a first
// part discards what came before.
func (w *Whole) Add(e *Entry) (data []byte, done bool, err error) {
	if e.Part == 0 {
		*w = Whole{}
	}
	if len(w.data)+len(e.Data) > MaxWhole {
		return nil, false, fmt.Errorf("more than %d MB came in parts", MaxWhole>>20)
	}
	if e.Part != w.next || e.Parts < 1 || e.Part >= e.Parts || len(e.Data) > 2*maxData {
		return nil, false, fmt.Errorf("part %d of %d came, and part %d was to come", e.Part, e.Parts, w.next)
	}
	w.data, w.next = append(w.data, e.Data...), w.next+1
	if w.next < e.Parts {
		return nil, false, nil
	}
	data = w.data
	*w = Whole{}
	return data, true, nil
}

// Errors of a Carrier.
var (
	// ErrClosed means that the attempt is over for this journal: it was closed, or lost.
	ErrClosed = errors.New("the journal of this attempt is closed")
	// ErrUnknown means that nobody has the attempt.
	ErrUnknown = errors.New("no machine has this attempt")
)

// State is how an attempt stands with its machine.
type State string

const (
	Unknown State = ""        // nobody has it
	Waiting State = "waiting" // for a machine that fits, or for a slot of it
	Working State = "claimed" // a machine has it
	Ended   State = "ended"   // its End entry is in the journal
	Lost    State = "lost"    // given up: its machine has ended the program, or will before anything else
)

// Pulse is the result of Carrier.Pulse.
type Pulse struct {
	State   State         `json:"state"`
	Machine string        `json:"machine,omitempty"`
	Silent  time.Duration `json:"silent,omitempty"` // since the last message of its machine
	Why     string        `json:"why,omitempty"`    // of waiting: which machines there are and why none takes it
}

// Why says why an attempt is closed.
type Why string

const (
	WasCollected Why = "collected" // home has all
	GivenUp      Why = "given up"  // home does not want it any more: its program is ended
)

// Carrier transports between home and machines. It is safe for concurrent use. Its
// methods wait for a machine that cannot be reached until ctx ends, except Pulse and
// Machines, which say what is known.
type Carrier interface {
	// Open has the attempt carried out by a machine that need fits. It may be called
	// again after any crash: one Ref is one attempt.
	Open(ctx context.Context, ref Ref, need Need, job Job) error
	// Put adds entries to the journal towards the machine. They are durable when it
	// returns. One with an ID that was put before is not added again.
	Put(ctx context.Context, ref Ref, entries ...Entry) error
	// Follow calls f with the machine's entries behind number from, in order, until the
	// End was delivered, f fails, or ctx ends. The same entry may come again after a call
	// of Follow, never within one.
	Follow(ctx context.Context, ref Ref, from uint64, f func(Entry) error) error
	// Pulse says how the attempt stands, without waiting.
	Pulse(ctx context.Context, ref Ref) (Pulse, error)
	// Close ends the attempt for both sides.
	Close(ctx context.Context, ref Ref, why Why) error
	// Machines returns the machines that the carrier knows of, without waiting.
	Machines(ctx context.Context) ([]Machine, error)
}

// Worker is the other end of a Carrier: the machine that carries attempts out. Its methods
// answer from the machine's disk and are durable when they return.
type Worker interface {
	// Describe says what the machine offers.
	Describe(ctx context.Context) (Machine, error)
	// Open takes the job, or refuses it: the error says why. home names the installation
	// that it is carried out for, whose heartbeats hold its lease.
	Open(ctx context.Context, home string, ref Ref, need Need, job Job) error
	Put(ctx context.Context, ref Ref, entries ...Entry) error
	Follow(ctx context.Context, ref Ref, from uint64, f func(Entry) error) error
	// Held returns the attempts of a home that are not closed, with how they stand.
	Held(ctx context.Context, home string) (map[Ref]State, error)
	// Renew extends the leases of attempts: home has accepted a heartbeat that was sent at
	// a time, by this process's monotonic clock.
	Renew(refs []Ref, sent time.Time)
	Close(ctx context.Context, ref Ref, why Why) error
}
