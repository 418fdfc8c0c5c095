package records

import (
	"cmux/agents/org/standing"
	"cmux/dag"
)

// AgentSpending is what a standing agent used in all its lives.
type AgentSpending struct {
	Name    string    `json:"name"`
	ID      string    `json:"agent_id"`
	Kind    string    `json:"kind"`
	Account string    `json:"account,omitempty"`
	Used    dag.Usage `json:"used"`
	Counted int64     `json:"counted"` // tokens that budgets count: all but those from caches
}

// Spending is what the standing agents used.
type Spending struct {
	Agents  []AgentSpending `json:"agents"`
	Used    dag.Usage       `json:"used"`
	Counted int64           `json:"counted"`
}

func spendingOf(a *standing.Agent) AgentSpending {
	return AgentSpending{a.Name, a.Member.ID, a.Member.Kind, a.Member.Account, a.Used, a.Used.Counted()}
}

// Spending is what the standing agents used, all together and each.
func (p *Records) Spending() (*Spending, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	s := &Spending{Agents: []AgentSpending{}}
	for _, name := range org.Names() {
		a := spendingOf(org.Agents[name])
		s.Agents = append(s.Agents, a)
		s.Used = s.Used.Plus(a.Used)
	}
	s.Counted = s.Used.Counted()
	return s, nil
}

// AgentSpending is what one standing agent used.
func (p *Records) AgentSpending(name string) (*AgentSpending, error) {
	_, a, err := p.StandingAgent(name)
	if err != nil {
		return nil, err
	}
	s := spendingOf(a)
	return &s, nil
}
