package dag

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// NodeState is the state of a node as people see it. The scheduler's own states are finer;
// see State.
type NodeState string

const (
	NodeWaiting    NodeState = "waiting"     // for its dependencies
	NodeBlocked    NodeState = "blocked"     // by a dependency that did not succeed
	NodeReady      NodeState = "ready"       // for a slot
	NodeRunning    NodeState = "running"     // its agent works
	NodeChecking   NodeState = "checking"    // cmux checks what its agent reported
	NodeTakenOver  NodeState = "taken over"  // a person types in its pane
	NodeNeedsInput NodeState = "needs input" // from a person
	NodeLimited    NodeState = "limited"     // until its account's limit is over
	NodeLost       NodeState = "lost"        // its attempt vanished without a record, or the run was stopped
	NodeDone       NodeState = "done"
	NodeFailed     NodeState = "failed"
	NodeSkipped    NodeState = "skipped" // its if: is false, or its dependencies were skipped
)

// Reasons that only labels have, not records.
const (
	ReasonOverride  Reason = "override"  // done: a person decided so
	ReasonCancelled Reason = "cancelled" // failed: by stop NAME; blocked: its cause was cancelled
	ReasonFailed    Reason = "failed"    // blocked: its cause failed
	ReasonBlocked   Reason = "blocked"   // blocked: its cause is blocked
	ReasonStopped   Reason = "stopped"   // lost: a person stopped the run
)

// Label is the state of a node as people see it, in parts. Only String turns it into words;
// code decides by the parts.
type Label struct {
	State  NodeState
	Reason Reason    // of done, failed, blocked and lost
	Code   int       // exit code, if it is why the node failed
	Until  time.Time // of limited: when the node continues, in the caller's location; zero: unknown
	By     string    // of blocked: the dependency; of limited: the account; empty: none
	Detail string    // one line for people, as recorded: the question, or which check failed
	Open   bool      // an attempt that no longer counts still runs
}

// String returns the label in words, as in the table of markers: "done",
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
	case NodeLost:
		if l.Reason != "" {
			return string(l.Reason)
		}
	case NodeLimited:
		if !l.Until.IsZero() {
			return "limited until " + l.Until.Format("15:04")
		}
	}
	return string(l.State)
}

// Same reports whether two labels are equal, except for Detail.
func (l Label) Same(o Label) bool {
	return l.State == o.State && l.Reason == o.Reason && l.Code == o.Code && l.Until.Equal(o.Until) && l.By == o.By && l.Open == o.Open
}

// EndLabel returns the label of an end, of a node or of an attempt. exit is the program's
// own exit code.
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

// LiveLabel returns the label of a live attempt with activity a.
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

// labelJSON is the format of a Label on disk and in the API.
type labelJSON struct {
	State  NodeState  `json:"state"`
	Reason Reason     `json:"reason"`
	Code   *int       `json:"code"`
	Until  *time.Time `json:"until"`
	By     string     `json:"by"`
	Detail string     `json:"detail"`
	Open   bool       `json:"open"`
}

// MarshalJSON writes every part. The code and the time are null if the label has none.
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

// UnmarshalJSON also reads labels in words, which earlier versions of cmux wrote.
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

// parseLabel parses a label in words. A time in it has no date, so Until stays zero.
func parseLabel(words string) (l Label) {
	words, l.Open = strings.CutSuffix(words, ", still open")
	if words == string(ReasonStopped) {
		l.State, l.Reason = NodeLost, ReasonStopped
		return l
	}
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
