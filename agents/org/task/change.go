package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// Op says what a Change does.
type Op string

const (
	OpAdd      Op = "add"      // a task comes to be, with Fields
	OpEdit     Op = "edit"     // Fields take the place of what they name
	OpMove     Op = "move"     // to the state To, for Reason; Agent of Assigned, Until of Limited
	OpVerdict  Op = "verdict"  // End of Attempt
	OpOverride Op = "override" // a person calls it done, for Reason
	OpMerge    Op = "merge"    // Merged
	OpCard     Op = "card"     // Card, in any state
)

// Fields are those of a task that a person or the supervisor sets. Nil: as it is.
type Fields struct {
	Title    *string   `json:"title,omitempty"`
	Body     *string   `json:"body,omitempty"`
	Priority *Priority `json:"priority,omitempty"`
	Kind     *Kind     `json:"kind,omitempty"`
	Scope    *[]string `json:"scope,omitempty"`
	Verify   *[]string `json:"verify,omitempty"`
	Branch   *string   `json:"branch,omitempty"`
	Project  *string   `json:"project,omitempty"`
	Parent   *string   `json:"parent,omitempty"`
	PartOf   *string   `json:"part_of,omitempty"`
	Backlog  *bool     `json:"backlog,omitempty"`
	After    *[]string `json:"after,omitempty"` // of a new task alone
	Start    *Start    `json:"start,omitempty"` // cmux sets it when it makes the branch; one without tasks takes it away
	Card     *Card     `json:"card,omitempty"`  // whole
}

// Change is a line of tasks.jsonl.
type Change struct {
	Task string    `json:"task"`
	Saw  int       `json:"saw"` // version of the task that this was decided on; 0: it was not there
	Op   Op        `json:"op"`
	At   time.Time `json:"at"`
	By   string    `json:"by"` // user, cmux, or the address of an agent
	Fields

	To      State     `json:"to,omitempty"`
	Agent   string    `json:"agent,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Until   time.Time `json:"until,omitzero"`
	Attempt int       `json:"attempt,omitempty"`
	End     *run.End  `json:"end,omitempty"`
	Merged  *Merged   `json:"merged,omitempty"`
	Key     string    `json:"key,omitempty"` // OpAdd: see Task
}

var (
	// ErrStale says that somebody else changed the task meanwhile.
	ErrStale = errors.New("it was changed meanwhile: look at it again")
	// ErrIllegal says that the task cannot be what a change makes of it.
	ErrIllegal = errors.New("it cannot be done")
	// ErrKnown says that the verdict on an attempt is there already.
	ErrKnown = errors.New("its verdict is known already")
	// ErrBefore says that a task is to come after one that is not there. It is an
	// ErrIllegal, too.
	ErrBefore = fmt.Errorf("%w: it is to come after a task that is not there", ErrIllegal)
	// ErrNone says that there is no such task.
	ErrNone = errors.New("there is no such task")
)

// Bounds of a task's fields.
const (
	MaxTitle = 200
	MaxBody  = 1 << 20
)

func illegal(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrIllegal, fmt.Sprintf(format, args...))
}

// check returns an error if a field is not valid.
func (f *Fields) check() error {
	if f.Title != nil {
		switch t := *f.Title; {
		case strings.TrimSpace(t) == "":
			return illegal("a task needs a title")
		case len(t) > MaxTitle || strings.ContainsAny(t, "\n\r"):
			return illegal("a title is one line of at most %d bytes: say the rest in the body", MaxTitle)
		}
	}
	if f.Body != nil && len(*f.Body) > MaxBody {
		return illegal("the body has %d bytes, and %d is the most", len(*f.Body), MaxBody)
	}
	if f.Priority != nil {
		if err := f.Priority.Check(); err != nil {
			return illegal("%s", err)
		}
	}
	if f.Kind != nil && !slices.Contains(Kinds(), *f.Kind) {
		return illegal("%.40q is no kind of task: want change or answer", *f.Kind)
	}
	for _, text := range []*string{f.Title, f.Body, f.Branch, f.Project, f.Parent, f.PartOf} {
		if text != nil && !utf8.ValidString(*text) {
			return illegal("it is not text (UTF-8)")
		}
	}
	return nil
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

func (f *Fields) apply(t *Task) {
	set(&t.Title, f.Title)
	set(&t.Body, f.Body)
	set(&t.Priority, f.Priority)
	set(&t.Kind, f.Kind)
	set(&t.Scope, f.Scope)
	set(&t.Verify, f.Verify)
	set(&t.Branch, f.Branch)
	set(&t.Project, f.Project)
	set(&t.Parent, f.Parent)
	set(&t.PartOf, f.PartOf)
	set(&t.Backlog, f.Backlog)
	set(&t.After, f.After)
	if f.Card != nil {
		t.Card = f.Card
	}
	if f.Start != nil {
		if t.Start = f.Start; len(f.Start.Tasks) == 0 {
			t.Start = nil
		}
	}
}

// parse reads a line of tasks.jsonl.
func parse(line []byte) (*Change, error) {
	c := new(Change)
	if err := json.Unmarshal(line, c); err != nil {
		return nil, fmt.Errorf("it is no change of a task: %w", err)
	}
	if number(c.Task) == 0 || c.Saw < 0 || (c.Op == OpAdd) != (c.Saw == 0) {
		return nil, errors.New("it is no change of a task")
	}
	if c.Op == OpVerdict && (c.End == nil || c.Attempt < 1) || c.Op == OpMove && next[c.To] == nil {
		return nil, errors.New("it does not say what it changes")
	}
	return c, nil
}

// legal says why a task, nil for one that is not there, cannot be changed so.
func (c *Change) legal(t *Task) error {
	if err := c.Fields.check(); err != nil {
		return err
	}
	if (t == nil) != (c.Op == OpAdd) {
		return ErrNone
	}
	if t != nil && t.Version != c.Saw {
		return ErrStale
	}
	switch c.Op {
	case OpAdd:
		if c.Title == nil {
			return illegal("a task needs a title")
		}
	case OpEdit:
		switch {
		case c.Fields == (Fields{}):
			return illegal("nothing is changed")
		case c.After != nil:
			return illegal("what it comes after is said when it is added")
		}
		if t.State.Over() {
			return illegal("it is %s", t.State)
		}
	case OpMove:
		return c.move(t)
	case OpVerdict:
		return c.verdict(t)
	case OpOverride:
		if t.State == Done {
			return illegal("it is done")
		}
	case OpMerge:
		if c.Merged == nil || t.State != Done {
			return illegal("it is %s, and only what is done is merged", t.State)
		}
	case OpCard:
		switch {
		case c.Card == nil || c.Fields != (Fields{Card: c.Card}):
			return illegal("nothing of a card is changed")
		case t.Card == nil:
			return illegal("it is no card")
		}
	default:
		return illegal("%.40q is no change", c.Op)
	}
	return nil
}

func (c *Change) move(t *Task) error {
	switch {
	case !May(t.State, c.To):
		return illegal("it is %s, and cannot become %s", t.State, c.To)
	case c.To == Assigned && c.Agent == "":
		return illegal("assign needs an agent")
	case c.To == Assigned && t.Backlog:
		return illegal("it is in the backlog: take it from there first")
	}
	return nil
}

func (c *Change) verdict(t *Task) error {
	i := slices.IndexFunc(t.Attempts, func(a Attempt) bool { return a.N == c.Attempt })
	switch {
	case i < 0 || c.End == nil:
		return illegal("it has no attempt %d", c.Attempt)
	case t.Attempts[i].End != nil:
		return ErrKnown
	}
	return nil
}

// apply makes of a task, nil for one that is not there, what the change says. It
// asks for no more than it needs: what counts was found legal when it was
// written.
func (c *Change) apply(t *Task) *Task {
	if t == nil {
		t = &Task{ID: c.Task, Priority: Normal, Kind: ForChange, State: Open, Scope: []string{}, Verify: []string{}, Attempts: []Attempt{}, After: []string{}, CreatedBy: c.By, CreatedAt: c.At}
	} else {
		t = t.clone()
	}
	c.Fields.apply(t)
	if c.Op == OpAdd {
		t.Key = c.Key
	}
	switch c.Op {
	case OpMove:
		t.enter(c)
	case OpVerdict:
		t.judged(c)
	case OpOverride:
		t.ends(c.At)
		t.State, t.Reason, t.Until, t.Override, t.Backlog = Done, c.Reason, time.Time{}, true, false
	case OpMerge:
		t.Merged = c.Merged
	}
	t.Version, t.ChangedAt, t.ChangedBy = c.Saw+1, c.At, c.By
	return t
}

// enter takes a task to the state of a move.
func (t *Task) enter(c *Change) {
	if c.To.Over() || c.To == Open || c.To == Assigned || c.To == Blocked {
		t.ends(c.At)
	}
	last := t.Last()
	if c.To == Working && (last == nil || last.Ended != nil) {
		t.Attempts = append(t.Attempts, Attempt{N: len(t.Attempts) + 1, Agent: t.Agent, Began: c.At})
	}
	t.State, t.Reason, t.Until = c.To, c.Reason, c.Until
	switch c.To {
	case Assigned:
		t.Agent, t.Override = c.Agent, false
	case Open:
		t.Agent, t.Override = "", false
	}
}

// ends ends the attempt that has not.
func (t *Task) ends(at time.Time) {
	if last := t.Last(); last != nil && last.Ended == nil {
		last.Ended = &at
	}
}

// judged takes in the verdict on an attempt. Of one that is not the newest, or of
// a task that has ended otherwise meanwhile, it is only kept.
func (t *Task) judged(c *Change) {
	i := slices.IndexFunc(t.Attempts, func(a Attempt) bool { return a.N == c.Attempt })
	if i < 0 { // the change that began it is lost
		t.Attempts = append(t.Attempts, Attempt{N: c.Attempt, Agent: t.Agent, Began: c.At})
		i = len(t.Attempts) - 1
	}
	a := &t.Attempts[i]
	if a.End != nil {
		return
	}
	open := a.Ended == nil
	a.End = c.End
	if open {
		at := c.At
		a.Ended = &at
	}
	if i != len(t.Attempts)-1 || !open || t.State.Over() {
		return
	}
	t.Until, t.Reason = time.Time{}, c.End.Detail
	switch {
	case c.End.Outcome == dag.Done:
		t.State, t.Reason = Done, ""
	case c.End.Outcome == dag.Cancelled:
		t.State = Cancelled
	case c.End.Reason == dag.ReasonReported:
		t.State = Blocked
	default:
		t.State = Failed
	}
}

// String says what a change did.
func (c *Change) String() string {
	why := ""
	if c.Reason != "" {
		why = ": " + c.Reason
	}
	switch c.Op {
	case OpAdd:
		return "added"
	case OpEdit:
		if c.Priority != nil {
			return "priority " + string(*c.Priority)
		}
		return "changed"
	case OpMove:
		if c.To == Assigned {
			return "assigned to " + c.Agent
		}
		return string(c.To) + why
	case OpVerdict:
		text := fmt.Sprintf("attempt %d: %s", c.Attempt, c.End.Label())
		if check := run.FailedCheck(c.End.Checks); check != "" && c.End.Outcome != dag.Done {
			text += ": " + check
		}
		return text
	case OpOverride:
		return "done (override)" + why
	case OpCard:
		return c.Card.did()
	}
	if c.Merged == nil {
		return "not merged"
	}
	return c.Merged.String()
}

// Told is a task as a person says it in one text: the first line is its title.
// Nil: there is none.
func Told(text string) *Fields {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	title, body, _ := strings.Cut(text, "\n")
	if len(title) > MaxTitle {
		title, body = Titled(title), text
	}
	body = strings.TrimSpace(body)
	return &Fields{Title: &title, Body: &body}
}

// Titled is a text as the title of a task.
func Titled(text string) string {
	if len(text) <= MaxTitle {
		return text
	}
	return strings.ToValidUTF8(text[:MaxTitle-3], "") + "…"
}
