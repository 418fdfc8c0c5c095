package records

import (
	"context"
	"errors"

	"cmux/agents/records/audit"
	"cmux/agents/runs/run"
)

// Ordered is an order as the audit log has it.
type Ordered struct {
	Order   string // as it was given
	About   string // which agent, task or run
	By      string // user, or who gave it
	How     string // by which way it came
	Refused string // why it was not carried out; empty: it was not refused
}

// Audit writes an order down, where the project has an organization.
func (p *Records) Audit(ctx context.Context, o Ordered) error {
	if _, err := run.OpenOrganization(p.Root); err != nil {
		if errors.Is(err, run.ErrNoOrganization) {
			return nil
		}
		return err
	}
	log := &audit.Log{Root: p.Root, Now: p.Now}
	return log.Append(ctx, audit.Line{Order: o.Order, About: o.About, By: o.By, How: o.How, Refused: o.Refused})
}
