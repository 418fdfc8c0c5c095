package control

import (
	"context"
	"errors"
	"slices"

	"cmux/agents/records/audit"
	"cmux/agents/runs/origin"
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
func (p *Project) Audit(ctx context.Context, o Ordered) error {
	if _, err := run.OpenOrganization(p.Root); err != nil {
		if errors.Is(err, run.ErrNoOrganization) {
			return nil
		}
		return err
	}
	log := &audit.Log{Root: p.Root, Now: p.Now}
	return log.Append(ctx, audit.Line{Order: o.Order, About: o.About, By: o.By, How: o.How, Refused: o.Refused})
}

// looking are the orders that are a person's and change nothing that lasts.
var looking = []string{"attach", "agents attach", "agents top", "workers attach", "open", "keep", "serve", "agents run"}

// auditOrder writes an order down that was given at the command line. A log that
// cannot be written holds nothing up.
func (p *Project) auditOrder(ctx context.Context, o Order, from *origin.Attempt, refused error) {
	if slices.Contains(looking, o.Name) {
		return
	}
	line := Ordered{Order: o.Name, About: o.About, By: "user", How: "command"}
	if from != nil {
		line.By = from.Node
	}
	if refused != nil {
		line.Refused = "it is a person's to give"
	}
	p.Audit(ctx, line) // what is missing is nothing that an order should fail by
}
