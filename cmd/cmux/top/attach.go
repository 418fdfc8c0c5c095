package top

import (
	"fmt"
	"os/exec"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control"
)

// attach shows the pane of a node, or of the run, or offers the conversation of
// an agent that has ended.
func (p *program) attach(e effect) tea.Cmd {
	offer, err := p.Project.Attach(p.ctx, control.Attach{Node: e.node, Pane: p.Stays && e.node != ""})
	if err != nil {
		return func() tea.Msg { return result(e.order, "", err) }
	}
	if offer.Conversation == nil {
		return p.showPane(e.order, offer)
	}
	if e.kind == attach {
		o := e.order
		o.then, o.does = reopen, fmt.Sprintf("open the conversation of %s again, which is %s; cmux neither checks nor records what is done there", offer.Node, offer.Label)
		return func() tea.Msg { return offered{o} }
	}
	cmd, err := p.Project.Reopen(offer)
	if err != nil {
		return func() tea.Msg { return result(e.order, "", err) }
	}
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return result(e.order, "", err) })
}

// showPane shows the session, at the pane that is offered.
func (p *program) showPane(o order, offer *control.Offer) tea.Cmd {
	argv, err := p.Project.Show(p.ctx, offer, p.Mux, true)
	if err != nil {
		return func() tea.Msg { return result(o, "", err) }
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = p.Project.Env
	if p.Mux == "" {
		return tea.ExecProcess(cmd, func(err error) tea.Msg { return result(o, "", err) })
	}
	return func() tea.Msg { // another window shows it: this one stays as it is
		out, err := cmd.CombinedOutput()
		return result(o, string(out), err)
	}
}
