package rooms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/records/journal"
	"cmux/agents/room"
	"cmux/agents/room/marks"
	"cmux/agents/room/minutes"
	"cmux/signals/mailbox"
	"cmux/worktree/hint"
)

// Decision is a proposal as it is shown, and how it was decided.
type Decision struct {
	ID      string        `json:"id"` // D1, D2, …
	State   DecisionState `json:"state"`
	By      string        `json:"by"`
	Text    string        `json:"text"`
	Message int64         `json:"message"` // that proposes it; 0: none
	Asked   []string      `json:"asked"`   // members that were asked about it
	Pending []string      `json:"pending"` // of these, who may still answer
	For     []string      `json:"for"`
	Against []string      `json:"against"`
	Votes   []Vote        `json:"votes"`
	Decided *DecisionMade `json:"decided,omitempty"`
	Cost    room.Cost     `json:"cost"` // of asking the members
}

// DecisionState is where a proposal stands.
type DecisionState string

// The states. Asked: who was asked may still answer. Answered: it waits for who decides.
const (
	IsProposed DecisionState = "proposed"
	IsAsked    DecisionState = "asked"
	IsAnswered DecisionState = "answered"
	IsDecided  DecisionState = "decided"
)

// DecisionStates are all states.
func DecisionStates() []DecisionState {
	return []DecisionState{IsProposed, IsAsked, IsAnswered, IsDecided}
}

// Vote is what a member says about a proposal.
type Vote struct {
	By      string     `json:"by"`
	Side    marks.Side `json:"side"`
	Why     string     `json:"why"`
	Unseen  string     `json:"unseen"` // what it has not examined
	Message int64      `json:"message"`
	Asked   bool       `json:"asked"` // else it agreed by itself, with +1
}

// DecisionMade is what was decided.
type DecisionMade struct {
	Verdict room.Verdict `json:"verdict"`
	By      string       `json:"by"`
	Text    string       `json:"text"`
	Message int64        `json:"message"` // number of its line
	Journal string       `json:"journal"` // file with its record, in the project
	Record  string       `json:"record"`  // Markdown
}

// Decisions are the proposals of a room, the oldest first.
func (p *Rooms) Decisions(name string) ([]Decision, error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	s := room.Fold(name, lines)
	all := []Decision{}
	for i := range s.Decisions {
		all = append(all, shown(&s, &s.Decisions[i]))
	}
	return all, nil
}

func shown(s *room.State, d *room.Decision) Decision {
	yes, no, _ := d.Sides()
	v := Decision{
		ID: d.Label, State: IsProposed, By: d.By, Text: d.Text, Message: d.From, Asked: orNone(d.Voters), Pending: orNone(s.Pending(d)),
		For: orNone(yes), Against: orNone(no), Votes: []Vote{},
	}
	for _, one := range d.Votes {
		v.Votes = append(v.Votes, Vote{By: one.By, Side: one.Side, Why: one.Why, Unseen: one.Unseen, Message: one.Message, Asked: one.Asked})
	}
	switch {
	case d.Decided != nil:
		v.State = IsDecided
		v.Decided = &DecisionMade{
			Verdict: room.Verdict(d.Decided.What), By: d.Decided.By, Text: d.Decided.Text, Message: d.Decided.N, Journal: d.Decided.Journal, Record: s.Record(d),
		}
	case len(v.Pending) > 0:
		v.State = IsAsked
	case d.Asked != 0:
		v.State = IsAnswered
	default:
		v.Cost = s.CostOf(s.Ask(d, room.User))
	}
	v.Cost.Wakes = orNone(v.Cost.Wakes)
	return v
}

func orNone(all []string) []string { return append([]string{}, all...) }

// Decide is what a person orders about a proposal: to ask the members, or how it is decided.
type Decide struct {
	ID      string       `json:"id,omitempty"`      // D1; empty: the only one that is open
	Verdict room.Verdict `json:"verdict,omitempty"` // empty: ask the members
	Text    string       `json:"text,omitempty"`    // of the decision, where it is not that of the proposal; with Verdict changed
	Own     bool         `json:"own,omitempty"`     // decide on Text, whatever is proposed; with Verdict changed
}

// Decide asks the members about a proposal, or decides on it. It stands in the file, and a
// decision in the journal too, when Decide returns. The same decision again is made once.
func (p *Rooms) Decide(ctx context.Context, name string, o Decide) (*Decision, error) {
	if o.Text = strings.TrimSpace(o.Text); o.Verdict == room.Changed && o.Text == "" {
		return nil, project.Usage("", "the text of the decision is missing")
	}
	b, _, err := p.writing(ctx, name, o.Verdict != "")
	if err != nil {
		return nil, err
	}
	label := ""
	lines, _, err := b.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		s := room.Fold(name, so)
		if o.Verdict == "" {
			d, err := which(&s, o.ID)
			if err != nil {
				return nil, err
			}
			label = d.Label
			return p.ask(&s, d)
		}
		next, d, err := p.verdict(&s, so, o)
		if d != nil {
			label = d.Label
		}
		return next, err
	})
	if err != nil {
		return nil, err
	}
	s := room.Fold(name, lines)
	d := s.Decision(label)
	if d.Decided != nil {
		if err := minutes.Keep(ctx, &journal.Journal{Root: p.Root, Now: p.Now}, &s, d); err != nil {
			flag := map[room.Verdict]string{room.Accepted: "--accept", room.Rejected: "--reject", room.Changed: "--text TEXT"}[room.Verdict(d.Decided.What)]
			return nil, hint.New(fmt.Errorf("%s is decided, and is not in the journal: %w", d.Label, err), "cmux rooms decide "+name+" "+d.Label+" "+flag+", which adds it")
		}
	}
	p.audit(ctx, string(room.DoDecide), name)
	v := shown(&s, d)
	return &v, nil
}

// AwaitAnswers waits until nobody may still answer about a proposal. It returns the proposal,
// also where ctx ends before.
func (p *Rooms) AwaitAnswers(ctx context.Context, name, label string) (*Decision, error) {
	lines, err := p.until(ctx, name, func(lines []room.Line) (bool, error) {
		s := room.Fold(name, lines)
		d := s.Decision(label)
		switch {
		case d == nil || len(s.Pending(d)) == 0:
			return true, nil
		case s.Closed:
			return true, fmt.Errorf("%w: the room is closed", ErrCapped)
		case s.Paused && len(s.Open) == 0:
			return true, fmt.Errorf("%w: the room is paused: cmux rooms resume %s", ErrCapped, name)
		}
		return false, nil
	})
	s := room.Fold(name, lines)
	d := s.Decision(label)
	if d == nil {
		return nil, errors.Join(err, fmt.Errorf("there is no proposal %q", label))
	}
	v := shown(&s, d)
	return &v, err
}

// ask are the lines by which the members are asked.
func (p *Rooms) ask(s *room.State, d *room.Decision) ([]room.Line, error) {
	decide := fmt.Sprintf("cmux rooms decide %s %s --accept, or --reject", s.Name, d.Label)
	other := s.Asking()
	switch {
	case s.Closed:
		return nil, hint.New(fmt.Errorf("the room %s is closed", s.Name), "cmux rooms reopen "+s.Name)
	case d.Decided != nil:
		return nil, project.Usage("cmux rooms decisions "+s.Name, "%s was %s", d.Label, d.Decided.What)
	case d.Asked != 0:
		return nil, project.Usage(decide, "the members were asked about %s already: %s", d.Label, d.Counts())
	case other != nil:
		return nil, project.Usage("cmux rooms wait "+s.Name, "the members are being asked about %s", other.Label)
	}
	ask := s.Ask(d, room.User)
	if len(ask.Wakes) == 0 {
		return nil, project.Usage(decide, "nobody else is in the room who could be asked about %s", d.Label)
	}
	return []room.Line{{Kind: room.KindOrder, By: room.User, ID: mailbox.NewID(), Do: room.DoDecide, What: d.ID}, ask}, nil
}

// verdict are the lines by which a person decides.
func (p *Rooms) verdict(s *room.State, so []room.Line, o Decide) ([]room.Line, *room.Decision, error) {
	var next []room.Line
	d, err := which(s, o.ID)
	if o.Verdict == room.Changed && o.ID == "" && (o.Own || errors.Is(err, errNoProposal)) {
		n := s.N + 1
		l := room.Line{N: n, At: p.Now(), Kind: room.KindProposed, What: "decision", By: room.User, Text: o.Text, ID: fmt.Sprintf("u%d", n)}
		next = append(next, l)
		*s = room.Fold(s.Name, append(slices.Clip(so), l))
		o.Verdict, err = room.Accepted, nil
		d = s.Decision(l.ID)
	}
	if err != nil {
		return nil, nil, err
	}
	text := d.Text
	if o.Verdict == room.Changed {
		text = o.Text
	}
	if was := d.Decided; was != nil {
		if was.What == string(o.Verdict) && was.Text == text {
			return nil, d, nil
		}
		return nil, nil, project.Usage("cmux rooms decide "+s.Name+" --text TEXT, which makes a decision of its own", "%s was %s by %s", d.Label, was.What, was.By)
	}
	made := d.Decide(p.Now(), room.User, o.Verdict, text)
	return append(next, made, s.Outcome(d, &made)), d, nil
}

var errNoProposal = errors.New("nothing is proposed")

// which is the proposal that a person means: by its label, or the only one that is open.
func which(s *room.State, label string) (*room.Decision, error) {
	if label != "" {
		if d := s.Decision(label); d != nil {
			return d, nil
		}
		return nil, project.Tag(project.Usage("cmux rooms decisions "+s.Name, "there is no proposal %q in the room %s", label, s.Name), project.ErrMissing)
	}
	var open []string
	for i := range s.Decisions {
		if d := &s.Decisions[i]; d.Decided == nil {
			open = append(open, d.Label)
		}
	}
	switch len(open) {
	case 1:
		return s.Decision(open[0]), nil
	case 0:
		return nil, project.Usage("cmux rooms decide "+s.Name+" --text TEXT, which decides on your own text", "%w in the room %s: a message proposes with [DECISION] and a text", errNoProposal, s.Name)
	}
	return nil, project.Usage("cmux rooms decisions "+s.Name, "%s are open: name one", strings.Join(open, ", "))
}
