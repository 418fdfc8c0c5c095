package top

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control"
	"cmux/agents/control/logs"
	"cmux/agents/control/runs"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// Options are what the monitor needs of the process that it runs in.
type Options struct {
	Project *control.Project
	Run     *run.Run
	In, Out *os.File // a terminal
	Color   bool
	Mux     string // what TMUX holds: the tmux that this terminal is in
	Stays   bool   // this process carries the run: no key ends the monitor

	// Do carries a command line of cmux out in this process, without a terminal,
	// and returns what it said.
	Do func(ctx context.Context, words []string) (said string, err error)
	// Lend carries one out that has the terminal to itself.
	Lend func(ctx context.Context, words []string) error
}

// Show shows the run until the person leaves or ctx ends.
func Show(ctx context.Context, o Options) error {
	p := &program{Options: o, model: newModel(o.Project.Now, o.Color, o.Stays), focus: make(chan focus, 1), screen: screen{in: o.In, out: o.Out}}
	begin := func(ctx context.Context, t *tea.Program) { p.ctx, p.tea = ctx, t }
	return drive(ctx, &p.screen, p, begin, p.follow, func(ctx context.Context) error { p.look(ctx); return nil })
}

// drive has a program draw on a terminal until it quits or ctx ends, with what
// feeds it beside it. begin is called before anything else. A feeder that fails
// ends the program.
func drive(ctx context.Context, s *screen, m tea.Model, begin func(context.Context, *tea.Program), feeds ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(s.in), tea.WithOutput(s.out), tea.WithoutRenderer(), tea.WithoutSignalHandler())
	begin(ctx, p)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	if err := s.enter(); err != nil {
		return err
	}
	var feeders sync.WaitGroup
	failed := make([]error, len(feeds))
	for i, feed := range feeds {
		feeders.Go(func() {
			if failed[i] = feed(ctx); failed[i] != nil && ctx.Err() == nil {
				p.Quit()
			}
		})
	}
	feeders.Go(func() { resize(ctx, p, s, resized) })
	_, err := p.Run()
	cancel()
	feeders.Wait()
	err = errors.Join(err, s.leave())
	if errors.Is(err, tea.ErrProgramKilled) {
		err = nil
	}
	for _, f := range failed {
		if f != nil && !errors.Is(f, context.Canceled) {
			err = errors.Join(f, err)
		}
	}
	return err
}

// resize tells the program of the size of its terminal, now and when it changes.
func resize(ctx context.Context, p *tea.Program, s *screen, resized <-chan os.Signal) {
	for {
		if width, height, err := s.size(); err == nil {
			p.Send(tea.WindowSizeMsg{Width: width, Height: height})
		}
		select {
		case <-resized:
		case <-ctx.Done():
			return
		}
	}
}

// program gives the model's effects to the world.
type program struct {
	Options
	ctx   context.Context
	tea   *tea.Program
	model model
	focus chan focus

	screen screen
}

// focus is what is looked at closely.
type focus struct {
	view *run.View
	node string
}

func (p *program) Init() tea.Cmd { return nil }

// View is empty: what is to be seen is painted when it changes.
func (p *program) View() string { return "" }

func (p *program) paint() {
	if p.model.width == 0 {
		return // of a terminal whose size is not known yet
	}
	lines := p.model.frame()
	for i := range lines {
		lines[i] = harmless.Styled(lines[i], p.Color)
	}
	if err := p.screen.paint(lines, p.model.width, p.model.height); err != nil {
		p.tea.Kill() // the terminal is gone
	}
}

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var effects []effect
	p.model, effects = p.model.step(msg)
	var all []tea.Cmd
	for _, e := range effects {
		all = append(all, p.cause(e))
	}
	p.paint()
	return p, tea.Batch(all...)
}

// cause carries an effect out.
func (p *program) cause(e effect) tea.Cmd {
	switch e.kind {
	case leave:
		return tea.Quit
	case wakeMe:
		return tea.Tick(e.after, func(time.Time) tea.Msg { return wake{e.n} })
	case watch:
		select { // the newest counts
		case <-p.focus:
		default:
		}
		p.focus <- focus{p.model.view, e.node}
	case carry:
		return func() tea.Msg {
			said, err := p.Do(p.ctx, e.order.words)
			return result(e.order, said, err)
		}
	case lend:
		return tea.Exec(&lent{p, e.order.words}, func(err error) tea.Msg { return result(e.order, "", err) })
	case fetch:
		return p.fetch(e, p.model.view.Run, p.model.looks)
	case compare:
		return p.compare(e, p.model.view)
	case attach, reopen:
		return func() tea.Msg { return p.attach(e) }
	}
	return nil
}

// result says what an order came to.
func result(o order, said string, err error) tea.Msg {
	if err == nil {
		if lines := strings.Split(strings.TrimSpace(said), "\n"); o.read {
			said = lines[len(lines)-1] // what it shows before was on the page
		}
		return did{order: o, said: say.Line(said)}
	}
	text, try := hint.Explain(err)
	if said != "" {
		text += ": " + said
	}
	if try != "" {
		text += " (" + try + ")"
	}
	return did{order: o, said: say.Line(text), bad: true}
}

// lent is a command line of cmux that has the terminal.
type lent struct {
	p     *program
	words []string
}

func (l *lent) SetStdin(io.Reader)  {}
func (l *lent) SetStdout(io.Writer) {}
func (l *lent) SetStderr(io.Writer) {}
func (l *lent) Run() error {
	return l.p.screen.away(func() error { return l.p.Lend(l.p.ctx, l.words) })
}

// most is how much of a log or a diff is read.
const most = 4 << 20

// fetch reads the log or the diff of a node.
func (p *program) fetch(e effect, r *run.Run, looks *styles) tea.Cmd {
	title := e.order.String()
	if e.order.words[1] == "logs" {
		return func() tea.Msg {
			text, err := logs.End(r, e.node, most)
			if err != nil {
				return result(e.order, "", err)
			}
			return read{page{title: title, lines: plain(text), order: e.order, follows: e.node, top: 1 << 30}}
		}
	}
	return func() tea.Msg {
		var out, errs bytes.Buffer
		bound := &bounded{w: &out, left: most}
		if err := p.Project.Runs().Diff(p.ctx, runs.Diff{Node: e.node, Output: bound, Errors: &errs}); err != nil {
			return result(e.order, errs.String(), err)
		}
		pg := diffPage(title, flat(harmless.Text(out.String())), looks)
		pg.order = e.order
		if bound.left == 0 {
			pg.lines = append(pg.lines, "", "There is more: "+title)
		}
		return read{pg}
	}
}

// compare shows what the configuration on disk would change, and the graph as
// it is in the plan.
func (p *program) compare(e effect, v *run.View) tea.Cmd {
	return func() tea.Msg {
		u, err := p.Project.Commands().PlanUpdate(p.ctx, v)
		if err != nil {
			return result(e.order, "", err)
		}
		if len(u.Changes) == 0 {
			return did{order: e.order, said: "The configuration has not changed: nothing to update."}
		}
		pg := page{order: e.order, title: "What " + e.order.String() + " would change"}
		for _, c := range u.Changes {
			pg.lines = append(pg.lines, say.Line(c.Name)+": "+say.Line(c.What), "    "+say.Line(c.Then))
		}
		var b strings.Builder
		if err := u.Draw(&b); err != nil {
			return result(e.order, "", err)
		}
		pg.lines = append(pg.lines, "", "The graph then:", "")
		pg.lines = append(pg.lines, strings.Split(say.Lines(b.String()), "\n")...)
		pg.offer = &order{words: append(slices.Clone(e.order.words), "--yes", "--detach"), does: "takes it in", read: true}
		return read{pg}
	}
}

// bounded writes so much and forgets the rest.
type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	if _, err := b.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flat is text without what moves a cursor within a line: the carriage returns
// of terminals and of files of another system.
func flat(s string) string { return strings.NewReplacer("\r", "", "\t", "    ").Replace(s) }

// plain is text of a node's, made harmless, in lines.
func plain(text []byte) []string {
	s := strings.TrimRight(flat(harmless.Text(string(text))), "\n")
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
