// Package records shows what is written down of an organization, and adds to it: incidents,
// the journal, who ordered what, and what was spent.
package records

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cmux/agents/control/finding"
	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/agents/records/incident"
	"cmux/agents/records/ledger"
	"cmux/worktree/hint"
)

// Records are what is written down of a project.
type Records struct{ *project.Project }

// Incidents are what broke, oldest first.
type Incidents struct {
	Incidents []*incident.Incident `json:"incidents"`
	Older     int                  `json:"older"`   // closed ones that are not among them
	Skipped   []ledger.Bad         `json:"skipped"` // lines of the file that do not count
	Gaps      []string             `json:"gaps"`    // incidents of which a line is missing
}

// IncidentQuery says which incidents are asked for.
type IncidentQuery struct {
	All   bool   // those too that were closed longer than a day ago
	About string // empty: about anything
}

// recent is for how long an incident that is closed is listed without being asked for.
const recent = 24 * time.Hour

// Incidents are the project's incidents that a query asks for.
func (p *Records) Incidents(q IncidentQuery) (*Incidents, error) {
	l, err := p.AllIncidents()
	if err != nil {
		return nil, err
	}
	out := &Incidents{Incidents: []*incident.Incident{}, Skipped: append([]ledger.Bad{}, l.Bad...), Gaps: append([]string{}, l.Gaps...)}
	for _, i := range l.All() {
		switch {
		case q.About != "" && i.About != q.About:
		case !q.All && i.ClosedAt != nil && p.Now().Sub(*i.ClosedAt) > recent:
			out.Older++
		default:
			out.Incidents = append(out.Incidents, i)
		}
	}
	return out, nil
}

// AllIncidents are the incidents as the file has them.
func (p *Records) AllIncidents() (*incident.List, error) {
	b, err := incident.OpenBook(p.Root, p.Now, false)
	if err != nil {
		return nil, err
	}
	return b.List()
}

// Incident is one of the project's incidents.
func (p *Records) Incident(id string) (*incident.Incident, error) {
	l, err := p.AllIncidents()
	if err != nil {
		return nil, err
	}
	i := l.Get(id)
	if i == nil {
		return nil, noIncident(id)
	}
	return i, nil
}

func noIncident(id string) error {
	return hint.New(project.Tag(fmt.Errorf("there is no incident %q", id), project.ErrMissing), "cmux incidents list --all")
}

// IncidentIDs are the ids of the incidents, with their titles.
func (p *Records) IncidentIDs() (ids []string, err error) {
	l, err := p.AllIncidents()
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Backward(l.All()) {
		ids = append(ids, i.ID+"\t"+i.Title)
	}
	return ids, nil
}

// AckIncident writes down that the caller knows of an incident. over closes it as
// well.
func (p *Records) AckIncident(ctx context.Context, id, text string, over bool) (*incident.Incident, error) {
	by, _, err := p.Sender()
	if err != nil {
		return nil, err
	}
	b, err := incident.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return nil, err
	}
	i, err := b.Ack(ctx, id, by.String(), text)
	if errors.Is(err, incident.ErrNone) {
		return nil, noIncident(id)
	}
	if err != nil || !over || i.State == incident.Closed {
		return i, err
	}
	closed, err := b.Close(ctx, id, by.String(), text, incident.Note{})
	if errors.Is(err, incident.ErrClosed) { // cmux did meanwhile
		return p.Incident(id)
	}
	return closed, err
}

// Unacked are the incidents that status shows: those that a person has not been
// seen to know of, open or closed lately, the newest at the end.
func (p *Records) Unacked() ([]*incident.Incident, error) {
	const most, lately = 5, 8 * time.Hour
	l, err := p.AllIncidents()
	if err != nil {
		return nil, err
	}
	some := slices.DeleteFunc(l.All(), func(i *incident.Incident) bool {
		return i.AckedAt != nil || i.ClosedAt != nil && p.Now().Sub(*i.ClosedAt) > lately
	})
	return some[max(0, len(some)-most):], nil
}

// ExamineIncidents says which incidents wait for the person, and what is wrong with their file.
func (p *Records) ExamineIncidents() finding.Finding {
	f := finding.Finding{What: "incidents"}
	all, err := p.Incidents(IncidentQuery{All: true})
	if err != nil {
		return finding.Wrong(f.What, err)
	}
	var waits []*incident.Incident
	for _, i := range all.Incidents {
		if i.Waits() {
			waits = append(waits, i)
		}
	}
	f.Detail = say.Count(len(all.Incidents), "incident")
	switch {
	case len(all.Skipped) > 0:
		f.Detail += fmt.Sprintf("; %s skipped, the first: %s", say.Count(len(all.Skipped), "line"), say.Line(all.Skipped[0].String()))
		f.Try = "look at them in .cmux/" + incident.Name + ": the next change saves the file aside whole, and leaves out what cmux did not write"
	case len(all.Gaps) > 0:
		f.Detail += fmt.Sprintf("; a line is missing of %s", say.List(all.Gaps, 5))
		f.Try = "look at each with cmux incidents show ID"
	case len(waits) > 0:
		last := waits[len(waits)-1]
		f.Detail += fmt.Sprintf(", %d open that you have not acked, the last: %s %s", len(waits), last.ID, say.Line(last.Title))
		f.Try = "cmux incidents show " + last.ID
	default:
		f.OK = true
	}
	return f
}
