package top

import (
	"fmt"
	"io"
	"os/exec"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control/terminals"
)

// attach shows the pane of a node, or of the run, or offers the conversation of
// an agent that has ended. It looks for them beside the program, which goes on.
func (p *program) attach(e effect) tea.Msg {
	offer, err := p.Project.Terminals().Attach(p.ctx, terminals.Attach{Node: e.node, Pane: p.Stays && e.node != ""})
	if err != nil {
		return result(e.order, "", err)
	}
	if offer.Conversation == nil {
		return p.showPane(e.order, offer)
	}
	if e.kind == attach {
		o := e.order
		o.then, o.does = reopen, fmt.Sprintf("open the conversation of %s again, which is %s; cmux neither checks nor records what is done there", offer.Node, offer.Label)
		return offered{o}
	}
	cmd, err := p.Project.Terminals().Reopen(offer)
	if err != nil {
		return result(e.order, "", err)
	}
	return p.exec(e.order, cmd)
}

// showPane shows the session, at the pane that is offered.
func (p *program) showPane(o order, offer *terminals.Offer) tea.Msg {
	argv, err := p.Project.Terminals().Show(p.ctx, offer, p.Mux, true)
	if err != nil {
		return result(o, "", err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = p.Project.Env
	if p.Mux == "" {
		return p.exec(o, cmd)
	}
	out, err := cmd.CombinedOutput() // another window shows it: this one stays as it is
	return result(o, string(out), err)
}

// exec gives the terminal to a program until it ends.
func (p *program) exec(o order, cmd *exec.Cmd) tea.Msg {
	return tea.Exec(&foreign{p, cmd}, func(err error) tea.Msg { return result(o, "", err) })()
}

// foreign is a program that has the terminal.
type foreign struct {
	p   *program
	cmd *exec.Cmd
}

func (f *foreign) SetStdin(io.Reader)  {}
func (f *foreign) SetStdout(io.Writer) {}
func (f *foreign) SetStderr(io.Writer) {}
func (f *foreign) Run() error {
	f.cmd.Stdin, f.cmd.Stdout, f.cmd.Stderr = f.p.In, f.p.Out, f.p.Out
	return f.p.screen.away(f.cmd.Run)
}
