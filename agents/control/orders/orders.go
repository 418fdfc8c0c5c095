// Package orders decides whether who orders may: what is a person's to give, what a
// supervisor's. It records what was tried.
package orders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/kinds/rights"
	"cmux/agents/org/standing"
	"cmux/agents/runs/origin"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/worktree/hint"
)

// Orders decides about orders in a project.
type Orders struct {
	*project.Project
	Records *records.Records
}

// Order is an order as it is given, before it is looked into.
type Order struct {
	Name    string                     // as at the command line, without cmux: agents retry
	With    func(option string) bool   // whether an option was given; dry-run counts when it is on
	Value   func(option string) string // what an option was given; nil: none is known
	Command string                     // for the record
	About   string                     // what it is about: a node, an agent, a task; may be empty
	Words   []string                   // of the whole command line, options included, without cmux
}

// IsPersons reports whether an order decides what is a person's to decide.
func IsPersons(o Order) bool { return rights.IsPersons(o.Name, o.With) }

// IsLeaders reports whether an order is one that a supervisor may give besides what
// every agent may.
func IsLeaders(o Order) bool { return rights.IsLeaders(o.Name, o.With) }

// IsSentrys reports whether an order is the one that a sentry may give besides what
// every agent may: it gets a supervisor to work again.
func IsSentrys(o Order) bool { return o.Name == "workers reset" && IsLeaders(o) }

// Allow refuses an order of a person to a process that comes from an attempt of the
// project, and records that it was tried.
func (p *Orders) Allow(ctx context.Context, o Order) error {
	from, err := p.Origin()
	var refusal *run.Refusal
	if errors.As(err, &refusal) {
		return nil // likewise
	}
	if err != nil {
		return err
	}
	if from != nil && p.carried(from, o) {
		return nil // the monitor writes down what was ordered
	}
	if from == nil || p.leads(from, o) || p.coordinates(from, o) {
		p.auditOrder(ctx, o, from, nil)
		return nil
	}
	recorded := "and it is recorded"
	err = from.Refused(ctx, o.Command, o.Words)
	if err != nil && p.Getenv("CMUX_SOCKET") != "" && wrapper.Tried(ctx, p.Getenv, o.Words) == nil {
		err = nil // it is in a fence
	}
	if err != nil {
		recorded = fmt.Sprintf("but it could not be recorded: %v", err)
	}
	what := fmt.Errorf("this is %s, started by the run, and cmux %s is a person's to give: nothing was done, %s", from, o.Name, recorded)
	p.auditOrder(ctx, o, from, what)
	return hint.New(what, "agents: cmux blocked REASON, which asks a person; a person: the same command in a terminal that no agent started")
}

// carried reports whether an order is the monitor's own, by which it carries out
// what an agent may order: it is a child of the monitor, and the request is there.
func (p *Orders) carried(from *origin.Attempt, o Order) bool {
	if o.Name != "agents start" || o.Value == nil || !from.Standing() || from.Node != "" {
		return false
	}
	org, err := standing.Open(p.Root)
	if err != nil {
		return false
	}
	pending, _ := org.Run.Pending() // what is no request is reported by the monitor
	return slices.ContainsFunc(pending, func(q run.Request) bool { return q.Op == standing.OpRun && q.ID == o.Value("order") })
}

// leads reports whether an order is that of a supervisor who may give it.
func (p *Orders) leads(from *origin.Attempt, o Order) bool {
	if !from.Standing() || !IsLeaders(o) {
		return false
	}
	org, err := standing.Open(p.Root)
	if err != nil {
		return false
	}
	a := org.Agents[from.Node]
	if a != nil && a.Member.Role == standing.Sentry {
		about := org.Agents[o.About]
		return IsSentrys(o) && about != nil && about.Leads()
	}
	if a != nil && a.Member.TeamLead && rights.IsTeamLeads(o.Name) {
		return true // of whom it may be: see withinTeam
	}
	return a != nil && a.Leads()
}

// coordinates reports whether an order is that of the coordinator of the card that it is about,
// who may give it.
func (p *Orders) coordinates(from *origin.Attempt, o Order) bool {
	if !from.Standing() || !rights.IsCoordinators(o.Name, o.With) {
		return false
	}
	l, err := p.TaskList()
	if err != nil {
		return false
	}
	t := l.Get(o.About)
	return t != nil && t.Card != nil && t.Card.Coordinator != "" && standing.MemberName(t.Card.Room, t.Card.Coordinator) == from.Node
}

// looking are the orders that are a person's and change nothing that lasts.
var looking = []string{"attach", "agents attach", "agents top", "workers attach", "open", "keep", "serve", "agents run"}

// auditOrder writes an order down that was given at the command line. A log that
// cannot be written holds nothing up.
func (p *Orders) auditOrder(ctx context.Context, o Order, from *origin.Attempt, refused error) {
	if slices.Contains(looking, o.Name) {
		return
	}
	line := records.Ordered{Order: o.Name, About: o.About, By: "user", How: "command"}
	if from != nil {
		line.By = from.Node
	}
	if refused != nil {
		line.Refused = "it is a person's to give"
	}
	p.Records.Audit(ctx, line) // what is missing is nothing that an order should fail by
}
