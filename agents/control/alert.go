package control

import (
	"context"

	"cmux/agents/alert"
	"cmux/agents/standing"
)

// Alert calls for the person, by bell, desktop, webhook and voice as the configuration
// says. Agents may do so a few times in a while.
func (p *Project) Alert(ctx context.Context, level, text string) error {
	by, _, err := p.caller()
	if err != nil {
		return err
	}
	a := alert.Alert{At: p.Now().UTC(), By: by.String(), Level: level, Text: text}
	if err := a.Check(); err != nil {
		return Usage("", "%w", err)
	}
	if _, err := p.running(); err != nil {
		return err
	}
	aside, err := alert.Record(ctx, p.Root, a)
	p.setAside(alert.Name, aside)
	if err != nil {
		return err
	}
	return p.askKeeper(ctx, standing.OpAlert, "", standing.Ask{By: by.String(), Alert: &a}, nil)
}
