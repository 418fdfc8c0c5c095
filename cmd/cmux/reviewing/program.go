package reviewing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control"
	"cmux/agents/control/commands"
	"cmux/agents/control/runs"
	"cmux/agents/platform/harmless"
)

// Options are what a walk needs of the process that it runs in.
type Options struct {
	Project    *control.Project
	Deliveries []runs.Delivery // to go through, in order
	In         io.Reader
	Out        io.Writer // a terminal
	Color      bool

	// Judge gives a decision and returns its result as text for people.
	Judge func(context.Context, commands.Judgement) (said string, err error)
}

// Show walks until nothing is left to decide, the person leaves or ctx ends. It
// returns the result of each decision.
func Show(ctx context.Context, o Options) (said []string, err error) {
	p := &program{Options: o, ctx: ctx, model: newModel(o.Deliveries, o.Color)}
	_, err = tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithAltScreen(), tea.WithoutSignalHandler()).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = ctx.Err()
	}
	return p.model.said, err
}

// program gives the model's effects to the world.
type program struct {
	Options
	ctx   context.Context
	model model
}

func (p *program) Init() tea.Cmd { return p.cause(p.model.want()) }

func (p *program) View() string {
	return harmless.Styled(strings.Join(p.model.frame(), "\n"), p.Color)
}

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var e effect
	p.model, e = p.model.step(msg)
	return p, p.cause(e)
}

// cause carries an effect out.
func (p *program) cause(e effect) tea.Cmd {
	switch e.kind {
	case leave:
		return tea.Quit
	case read:
		return func() tea.Msg {
			var out bytes.Buffer
			err := p.Project.Runs().DeliveryDiff(p.ctx, &e.of, e.file, runs.Diff{Output: &limited{w: &out, left: most}, Errors: io.Discard})
			return patch{e.of.Node, e.of.Commit, e.file, out.String(), err}
		}
	case judge:
		return func() tea.Msg {
			said, err := p.Judge(p.ctx, e.judgement)
			return judged{e.judgement, said, err}
		}
	}
	return nil
}

// most is how much of a diff is shown.
const most = 4 << 20

// limited takes in so many bytes and passes over the rest.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := len(b)
	if len(b) > l.left {
		b = b[:l.left]
	}
	l.left -= len(b)
	if _, err := l.w.Write(b); err != nil {
		return 0, err
	}
	return n, nil
}
