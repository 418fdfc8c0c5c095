package letters

import (
	"context"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/records/alert"
)

// Alert calls for the person, by bell, desktop, webhook and voice as the configuration
// says, and returns those of them that it names. Agents may do so a few times in a while.
func (p *Letters) Alert(ctx context.Context, level, text string) (ways []string, err error) {
	by, _, err := p.Sender()
	if err != nil {
		return nil, err
	}
	a := alert.Alert{At: p.Now().UTC(), By: by.String(), Level: level, Text: text}
	if err := a.Check(); err != nil {
		return nil, project.Usage("", "%w", err)
	}
	err = p.AskKeeper(ctx, standing.OpAlert, "", standing.Ask{By: by.String(), Alert: &a}, &ways)
	return ways, err
}
