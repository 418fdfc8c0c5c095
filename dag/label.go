package dag

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// NodeState is the state of a node as people are told of it. The scheduler's
// own eye is finer; see State.
type NodeState string

const (
	NodeWaiting    NodeState = "waiting"     // for nodes before it
	NodeBlocked    NodeState = "blocked"     // by one of them, for good
	NodeReady      NodeState = "ready"       // for a slot
	NodeRunning    NodeState = "running"     // its agent works
	NodeChecking   NodeState = "checking"    // what its agent reported
	NodeTakenOver  NodeState = "taken over"  // by a person who types
	NodeNeedsInput NodeState = "needs input" // of a person
	NodeLimited    NodeState = "limited"     // until its account's limit is over
	NodeLost       NodeState = "lost"        // its attempt is gone without a word
	NodeDone       NodeState = "done"
	NodeFailed     NodeState = "failed"
	NodeSkipped    NodeState = "skipped" // its if: is false, or what it waits for was skipped
)

// Reasons that labels have and records do not.
const (
	ReasonOverride  Reason = "override"  // done: a person said so
	ReasonCancelled Reason = "cancelled" // failed: by stop NAME; blocked: its cause was
	ReasonFailed    Reason = "failed"    // blocked: how its cause ended
	ReasonBlocked   Reason = "blocked"   // likewise
)

// Label is what a person is told of a node in a word or two, in its parts.
// String words it and nothing else does. Whoever decides by a label looks at
// its parts.
type Label struct {
	State  NodeState
	Reason Reason    // of done, failed and blocked: why
	Code   int       // the exit code, where that is why it failed
	Until  time.Time // of limited: when it goes on, in the location of who asked; zero: not stated
	By     string    // of blocked: the dependency; of limited: the account; empty: none
	Detail string    // one line for people, as it was recorded: what is asked, which check failed
	Open   bool      // an attempt that counts no more still runs
}

// String is the label in words, as in the table of markers: "done",
// "failed (checks)", "blocked (auth failed)".
func (l Label) String() string {
	switch l.State {
	case NodeDone:
		switch {
		case l.Reason == ReasonOverride && l.Open:
			return "done (override), still open"
		case l.Reason != "":
			return "done (" + string(l.Reason) + ")"
		}
	case NodeFailed:
		switch {
		case l.Reason == ReasonExit:
			return fmt.Sprintf("failed (exit %d)", l.Code)
		case l.Code != 0:
			return fmt.Sprintf("failed (%s, %d)", l.Reason, l.Code)
		}
		return "failed (" + string(l.Reason) + ")"
	case NodeBlocked:
		if l.By != "" {
			return "blocked (" + l.By + " " + string(l.Reason) + ")"
		}
	case NodeLimited:
		if !l.Until.IsZero() {
			return "limited until " + l.Until.Format("15:04")
		}
	}
	return string(l.State)
}

// Same reports whether two labels say the same, whatever their details are.
func (l Label) Same(o Label) bool {
	return l.State == o.State && l.Reason == o.Reason && l.Code == o.Code && l.Until.Equal(o.Until) && l.By == o.By && l.Open == o.Open
}

// EndLabel is the label of an end: of a node, and of an attempt for itself.
// exit is the program's own exit code.
func EndLabel(o Outcome, r Reason, exit int) Label {
	switch {
	case o == Done:
		return Label{State: NodeDone}
	case o == Override:
		return Label{State: NodeDone, Reason: ReasonOverride}
	case o == Cancelled:
		return Label{State: NodeFailed, Reason: ReasonCancelled}
	case r == ReasonExit:
		return Label{State: NodeFailed, Code: exit}
	}
	return Label{State: NodeFailed, Reason: r}
}

// LiveLabel is the label of a live attempt that does a.
func LiveLabel(a Activity, until time.Time) Label {
	switch a {
	case Checking:
		return Label{State: NodeChecking}
	case TakenOver:
		return Label{State: NodeTakenOver}
	case NeedsInput:
		return Label{State: NodeNeedsInput}
	case AtLimit:
		return Label{State: NodeLimited, Until: until}
	}
	return Label{State: NodeRunning}
}

// labelJSON is a Label on disk and in what is read by programs.
type labelJSON struct {
	State  NodeState  `json:"state"`
	Reason Reason     `json:"reason"`
	Code   *int       `json:"code"`
	Until  *time.Time `json:"until"`
	By     string     `json:"by"`
	Detail string     `json:"detail"`
	Open   bool       `json:"open"`
}

// MarshalJSON writes the parts, every one of them. The code and the moment are
// null where they are not part of it.
func (l Label) MarshalJSON() ([]byte, error) {
	j := labelJSON{State: l.State, Reason: l.Reason, By: l.By, Detail: l.Detail, Open: l.Open}
	if l.State == NodeFailed && l.Reason == ReasonExit || l.Code != 0 {
		j.Code = &l.Code
	}
	if !l.Until.IsZero() {
		j.Until = &l.Until
	}
	return json.Marshal(j)
}

// UnmarshalJSON also reads the words, which is what cmux wrote before labels
// had parts.
func (l *Label) UnmarshalJSON(b []byte) error {
	var words string
	if json.Unmarshal(b, &words) == nil {
		*l = parseLabel(words)
		return nil
	}
	var j labelJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*l = Label{State: j.State, Reason: j.Reason, By: j.By, Detail: j.Detail, Open: j.Open}
	if j.Code != nil {
		l.Code = *j.Code
	}
	if j.Until != nil {
		l.Until = *j.Until
	}
	return nil
}

// parseLabel reads words back, as far as they tell: no day is in them.
func parseLabel(words string) (l Label) {
	words, l.Open = strings.CutSuffix(words, ", still open")
	state, _, until := strings.Cut(words, " until ")
	if until {
		return Label{State: NodeState(state)}
	}
	state, in, ok := strings.Cut(strings.TrimSuffix(words, ")"), " (")
	l.State = NodeState(state)
	switch {
	case !ok:
	case l.State == NodeBlocked:
		by, how, _ := strings.Cut(in, " ")
		l.By, l.Reason = by, Reason(how)
	default:
		if _, err := fmt.Sscanf(in, "exit %d", &l.Code); err != nil {
			l.Reason = Reason(in)
		}
	}
	return l
}
