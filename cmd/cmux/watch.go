package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/harmless"
	"cmux/agents/run"
	"cmux/dag"
	"cmux/signals"
)

const (
	// redraw is the shortest time between two looks at a run: faster than
	// people read, and slow enough to cost nothing.
	redraw = 100 * time.Millisecond
	// rescan is the safety net below file events.
	rescan = 2 * time.Second
)

// watchRun shows the newest run of the project until the person leaves.
func watchRun(ctx context.Context, d *Deps, root string, verbose bool) error {
	r, err := run.Latest(root)
	if err != nil {
		return noRun(err)
	}
	return showWhile(ctx, d, r, verbose, false)
}

// showRun shows r in the terminal until hide is called, for the process that
// carries it: no key ends it. The last table stays on the screen.
func showRun(ctx context.Context, d *Deps, r *run.Run) (hide func()) {
	ctx, cancel := context.WithCancel(ctx)
	shown := make(chan error, 1)
	go func() { shown <- showWhile(ctx, d, r, false, true) }()
	return func() {
		cancel()
		if err := <-shown; err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintf(d.Err, "cmux: the table could not be shown: %v\n", err)
		}
		if v, err := r.View(context.WithoutCancel(ctx), d.Now()); err == nil {
			fmt.Fprint(d.Out, renderStatus(v, d.Now(), d.look()))
		}
	}
}

// showWhile shows r until ctx ends or, unless it stays, the person leaves.
func showWhile(ctx context.Context, d *Deps, r *run.Run, verbose, stays bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	views := make(chan *run.View)
	followed := make(chan error, 1)
	go func() {
		defer close(views)
		followed <- follow(ctx, r, d.Now, func(v *run.View) bool {
			select {
			case views <- v:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	err := showViews(ctx, d, views, verbose, stays)
	cancel()
	for range views { // nobody looks any more
	}
	if ferr := <-followed; err == nil && !errors.Is(ferr, context.Canceled) {
		err = ferr
	}
	return err
}

// follow calls see with a view of r now and after each change, until see
// returns false or ctx ends. It reads at most every redraw.
func follow(ctx context.Context, r *run.Run, now func() time.Time, see func(*run.View) bool) error {
	w := signals.Watch(ctx, r.Dir, r.Requests(), r.Signals(), run.Folder(r.Plan.Root))
	defer w.Close()
	tick := time.NewTicker(rescan)
	defer tick.Stop()
	for {
		began := time.Now()
		v, err := r.View(ctx, now())
		if err != nil {
			return err
		}
		// A large run takes longer to read, and is read less often: looking on
		// never costs the run itself more than a tenth of a processor.
		pause := time.NewTimer(max(redraw, 10*time.Since(began)))
		if !see(v) {
			pause.Stop()
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
		select {
		case _, open := <-w.C:
			if !open {
				return ctx.Err()
			}
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// showViews shows views as they come: as a table that fills the terminal, or,
// where there is none, as a line for each change. It returns when the person
// leaves, when views is closed (the terminal then keeps the last table), or
// with ctx.
func showViews(ctx context.Context, d *Deps, views <-chan *run.View, verbose, stays bool) error {
	if !d.interactive() {
		return printChanges(ctx, d, views)
	}
	p := tea.NewProgram(watchModel{now: d.Now, look: look{colour: d.colour(), verbose: verbose}, stays: stays}, tea.WithContext(ctx), tea.WithInput(d.In), tea.WithOutput(raw(d.Out)), tea.WithAltScreen(), tea.WithoutSignalHandler())
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
	if m, ok := final.(watchModel); ok && m.view != nil && !stays {
		fmt.Fprint(d.Out, renderStatus(m.view, d.Now(), look{d.width(), d.colour(), verbose}))
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

// printChanges writes a line for each node whose label changed, and for the
// run.
func printChanges(ctx context.Context, d *Deps, views <-chan *run.View) error {
	var last []dag.Label
	state := ""
	for {
		select {
		case v, open := <-views:
			if !open {
				return nil
			}
			at := d.Now().Format("15:04:05")
			if last == nil {
				last = make([]dag.Label, len(v.Nodes))
			}
			for i := range v.Nodes {
				if label := v.Nodes[i].Status.Label; i < len(last) && !label.Same(last[i]) {
					last[i] = label
					if _, err := fmt.Fprintf(d.Out, "%s %s: %s\n", at, v.Nodes[i].Spec.Name, label); err != nil {
						return err
					}
				}
			}
			if s := string(v.RunState); s != state {
				state = s
				if _, err := fmt.Fprintf(d.Out, "%s run %s: %s\n", at, v.Run.Plan.ID, s); err != nil {
					return err
				}
			}
			if over(v) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
