package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control"
	"cmux/agents/harmless"
	"cmux/agents/run"
	"cmux/dag"
)

// redraw is the shortest time between two lines of a run that tells its story:
// faster than people read.
const redraw = 100 * time.Millisecond

// watching shows a run as it goes on.
type watching struct {
	*IO
	now     func() time.Time
	verbose bool
	stays   bool // no key ends it
}

func (s *IO) watching(now func() time.Time, verbose bool) *watching {
	return &watching{IO: s, now: now, verbose: verbose}
}

// start shows r in the terminal until hide is called, for the process that
// carries it: no key ends it. The last table stays on the screen.
func (w *watching) start(ctx context.Context, r *run.Run) (hide func()) {
	w.stays = true
	ctx, cancel := context.WithCancel(ctx)
	shown := make(chan error, 1)
	go func() { shown <- w.show(ctx, r) }()
	return func() {
		cancel()
		if err := <-shown; err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintf(w.Err, "cmux: the table could not be shown: %v\n", err)
		}
		if v, err := r.View(context.WithoutCancel(ctx), w.now()); err == nil {
			fmt.Fprint(w.Out, renderStatus(v, w.now(), w.look()))
		}
	}
}

// show shows r until ctx ends or, unless it stays, the person leaves.
func (w *watching) show(ctx context.Context, r *run.Run) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views := make(chan *run.View)
	followed := make(chan error, 1)
	go func() {
		defer close(views)
		followed <- control.Follow(ctx, r, w.now, func(v *run.View) bool {
			select {
			case views <- v:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	err := w.views(ctx, views)
	cancel()
	for range views { // nobody looks any more
	}
	if ferr := <-followed; err == nil && !errors.Is(ferr, context.Canceled) {
		err = ferr
	}
	return err
}

// views shows views as they come: as a table that fills the terminal, or,
// where there is none, as a line for each change. It returns when the person
// leaves, when views is closed (the terminal then keeps the last table), or
// with ctx.
func (w *watching) views(ctx context.Context, views <-chan *run.View) error {
	if !w.interactive() {
		return w.changes(ctx, views)
	}
	p := tea.NewProgram(watchModel{now: w.now, look: look{colour: w.colour(), verbose: w.verbose}, stays: w.stays}, tea.WithContext(ctx), tea.WithInput(w.In), tea.WithOutput(raw(w.Out)), tea.WithAltScreen(), tea.WithoutSignalHandler())
	ended := make(chan struct{})
	fed := make(chan struct{})
	go func() {
		defer close(fed)
		for {
			select {
			case v, open := <-views:
				if !open {
					p.Quit()
					return
				}
				p.Send(v)
			case <-ended:
				return
			}
		}
	}()
	final, err := p.Run()
	close(ended)
	<-fed
	if m, ok := final.(watchModel); ok && m.view != nil && !w.stays {
		fmt.Fprint(w.Out, renderStatus(m.view, w.now(), look{width: w.width(), colour: w.colour(), verbose: w.verbose}))
	}
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// watchModel is the live table: the newest view, and which part of it shows.
type watchModel struct {
	view   *run.View
	now    func() time.Time
	look   look
	stays  bool // no key ends it
	height int
	top    int // first line shown
}

type clockTick struct{}

func everySecond() tea.Cmd {
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return clockTick{} })
}

func (m watchModel) Init() tea.Cmd { return everySecond() }

func (m watchModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case *run.View:
		m.view = msg
	case clockTick:
		return m, everySecond()
	case tea.WindowSizeMsg:
		m.look.width, m.height = msg.Width, msg.Height
	case tea.KeyMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			if !m.stays {
				return m, tea.Quit
			}
		case "up", "k":
			m.top--
		case "down", "j":
			m.top++
		case "pgup", "b":
			m.top -= m.page()
		case "pgdown", " ", "f":
			m.top += m.page()
		case "home", "g":
			m.top = 0
		case "end", "G":
			m.top = len(m.lines())
		}
	}
	m.top = max(0, min(m.top, len(m.lines())-m.page()))
	return m, nil
}

// page is the number of lines that fit above the line of keys.
func (m watchModel) page() int { return max(1, m.height-1) }

func (m watchModel) lines() []string {
	if m.view == nil {
		return nil
	}
	return strings.Split(strings.TrimRight(renderStatus(m.view, m.now(), m.look), "\n"), "\n")
}

func (m watchModel) View() string {
	lines := m.lines()
	if len(lines) == 0 || m.height == 0 {
		return ""
	}
	end := min(len(lines), m.top+m.page())
	var keys []string
	if m.top > 0 || end < len(lines) {
		keys = append(keys, fmt.Sprintf("%d-%d of %d", m.top+1, end, len(lines)), "↑ ↓ scroll")
	}
	if !m.stays {
		keys = append(keys, "q leaves")
	}
	return harmless.Styled(strings.Join(lines[m.top:end], "\n")+"\n"+strings.Join(keys, "  "), m.look.colour)
}

// changes writes a line for each node whose label changed, and for the
// run.
func (w *watching) changes(ctx context.Context, views <-chan *run.View) error {
	var last []dag.Label
	state := ""
	for {
		select {
		case v, open := <-views:
			if !open {
				return nil
			}
			at := w.now().Format("15:04:05")
			if last == nil {
				last = make([]dag.Label, len(v.Nodes))
			}
			for i := range v.Nodes {
				if label := v.Nodes[i].Status.Label; i < len(last) && !label.Same(last[i]) {
					last[i] = label
					if _, err := fmt.Fprintf(w.Out, "%s %s: %s\n", at, v.Nodes[i].Spec.Name, label); err != nil {
						return err
					}
				}
			}
			if s := string(v.RunState); s != state {
				state = s
				if _, err := fmt.Fprintf(w.Out, "%s run %s: %s\n", at, v.Run.Plan.ID, s); err != nil {
					return err
				}
			}
			if control.Over(v) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
