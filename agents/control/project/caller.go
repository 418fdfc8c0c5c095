package project

import (
	"fmt"
	"path/filepath"

	"cmux/agents/org/standing"
	"cmux/agents/runs/origin"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// Origin is the attempt that an order comes from; nil: it is a person's.
func (p *Project) Origin() (*origin.Attempt, error) {
	if p.Person {
		return nil, nil
	}
	return origin.Of(p.Root)
}

// Orderer is the standing agent that gives an order; empty: a person does.
func (p *Project) Orderer() (string, error) {
	from, err := p.Origin()
	if err != nil || from == nil {
		return "", err
	}
	return from.Node, nil
}

// Leads reports whether an order comes from a standing agent. What outlives it, it
// has the monitor start.
func (p *Project) Leads() (bool, error) {
	from, err := p.Origin()
	return from != nil && from.Standing() && from.Node != "", err
}

// Sender is who gives an order, as an address: the person, or a node of a run.
// inside says that its wrapper can be reached, which vouches for it.
func (p *Project) Sender() (from mailbox.Address, inside bool, err error) {
	a, err := p.Origin()
	if err != nil || a == nil {
		return mailbox.Address{Kind: mailbox.User}, false, err
	}
	rel, err := filepath.Rel(run.Folder(p.Root), p.Getenv("CMUX_SOCKET"))
	inside = err == nil && filepath.IsLocal(rel)
	name := a.Node
	if name == "" {
		name = "unknown"
	}
	if a.Standing() {
		return mailbox.Address{Kind: mailbox.Agent, Name: name}, inside, nil
	}
	return mailbox.Address{Kind: mailbox.Node, Name: name}, inside, nil
}

// WithinTeam refuses the order of a team's lead about somebody of another team, or
// about work that no member of it has.
func (p *Project) WithinTeam(agent string) error {
	from, err := p.Origin()
	if err != nil || from == nil || !from.Standing() {
		return err
	}
	org, err := standing.Open(p.Root)
	if err != nil {
		return err
	}
	a := org.Agents[from.Node]
	if a == nil || !a.Member.TeamLead {
		return nil
	}
	if of := org.Agents[agent]; of == nil || of.Member.Team != a.Member.Team {
		return fmt.Errorf("%s leads the team %s, and this is not about a member of it", a.Name, a.Member.Team)
	}
	return nil
}
