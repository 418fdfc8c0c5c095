package top

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control/overview"
	"cmux/agents/platform/harmless"
	"cmux/agents/platform/say"
)

// OrgOptions are what the monitor of an organization needs of the process that it
// runs in, which keeps the organization: no key ends it.
type OrgOptions struct {
	In, Out *os.File // a terminal
	Color   bool

	// Look is how the organization stands now, and Changed says that it may stand
	// otherwise.
	Look    func(context.Context) (*overview.OrgReport, error)
	Changed <-chan struct{}
	// Table is the agents as lines, under one line of heads; Rest are the lines
	// above and below it.
	Table func(r *overview.OrgReport, width int) []string
	Rest  func(r *overview.OrgReport) (above, below []string)
	// About are lines about one agent.
	About func(*overview.AgentReport) []string

	// Do carries a command line of cmux out in this process, and returns what it
	// said. Front brings the window of an agent to the front, and Log is the end of
	// its log.
	Do    func(ctx context.Context, words []string) (string, error)
	Front func(ctx context.Context, name string) error
	Log   func(name string) ([]byte, error)
}

// orgKeys are the keys of an organization's monitor, as ? shows them.
var orgKeys = []key{
	{keys: []string{"enter"}, shown: "enter", verb: "attach", words: []string{"workers", "attach", "NAME"}, does: "go to its window"},
	{keys: []string{"l"}, shown: "l", verb: "log", words: []string{"workers", "logs", "NAME"}, does: "read its log from the end"},
	{keys: []string{"m"}, shown: "m", verb: "message", words: []string{"workers", "send", "NAME", "TEXT"}, does: "write to it"},
	{keys: []string{"r"}, shown: "r", verb: "wake", words: []string{"workers", "wake", "NAME"}, does: "start it again when it ended too often"},
	{keys: []string{"t"}, shown: "t", verb: "take", words: []string{"workers", "take", "NAME"}, does: "take its conversation over: cmux types nothing"},
	{keys: []string{"e"}, shown: "e", verb: "release", words: []string{"workers", "release", "NAME"}, does: "give it back that you took over"},
	{keys: []string{"n"}, shown: "n", verb: "next", does: "select the next agent that needs you"},
	{keys: []string{"up", "k"}, shown: "↑ k", does: "the agent above, or a line up"},
	{keys: []string{"down", "j"}, shown: "↓ j", does: "the agent below, or a line down"},
	{keys: []string{"pgup"}, shown: "pgup", does: "a page up"},
	{keys: []string{"pgdown", " "}, shown: "pgdn", does: "a page down"},
	{keys: []string{"home"}, shown: "home", does: "the first agent, or line"},
	{keys: []string{"end"}, shown: "end", does: "the last agent, or line"},
	{keys: []string{"?"}, shown: "?", verb: "keys", does: "these keys"},
	{keys: []string{"esc", "q", "ctrl+c"}, shown: "esc q", does: "leave what is open"},
}

// ShowOrg shows the organization until ctx ends.
func ShowOrg(ctx context.Context, o OrgOptions) error {
	p := &orgProgram{OrgOptions: o, model: newOrgModel(o), screen: screen{in: o.In, out: o.Out}}
	return drive(ctx, &p.screen, p, func(ctx context.Context, t *tea.Program) { p.ctx, p.tea = ctx, t }, p.follow)
}

// orgProgram gives the model's effects to the world.
type orgProgram struct {
	OrgOptions
	ctx    context.Context
	tea    *tea.Program
	model  orgModel
	screen screen
}

// follow tells the program how the organization stands, whenever that may have
// changed.
func (p *orgProgram) follow(ctx context.Context) error {
	for {
		r, err := p.Look(ctx)
		if err != nil && ctx.Err() == nil {
			p.tea.Send(told{err.Error(), true})
		} else if err == nil {
			p.tea.Send(orgSeen{r})
		}
		select {
		case <-p.Changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *orgProgram) Init() tea.Cmd { return nil }

// View is empty: what is to be seen is painted when it changes.
func (p *orgProgram) View() string { return "" }

func (p *orgProgram) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var do *orgEffect
	p.model, do = p.model.step(msg)
	if p.model.width > 0 {
		lines := p.model.frame()
		for i := range lines {
			lines[i] = harmless.Styled(lines[i], p.Color)
		}
		if err := p.screen.paint(lines, p.model.width, p.model.height); err != nil {
			p.tea.Kill() // the terminal is gone
		}
	}
	if do == nil {
		return p, nil
	}
	return p, func() tea.Msg { return p.cause(*do) }
}

// cause carries an effect out beside the program, which goes on.
func (p *orgProgram) cause(e orgEffect) tea.Msg {
	ctx := p.ctx
	switch e.key {
	case "enter":
		return result(e.order, "", p.Front(ctx, e.name))
	case "l":
		b, err := p.Log(e.name)
		if err != nil {
			return result(e.order, "", err)
		}
		return orgRead{e.order.String(), plain(b)}
	}
	said, err := p.Do(ctx, e.order.words)
	return result(e.order, said, err)
}

// orgModel is the monitor of an organization as it stands. step and frame are
// pure.
type orgModel struct {
	o      OrgOptions
	looks  *styles
	width  int
	height int

	report   *overview.OrgReport
	selected string // name of an agent

	input  textinput.Model // of a message
	typing bool
	page   string // what is read; empty: nothing
	lines  []string
	top    int

	said string
	bad  bool
	busy string
}

// Messages, and what the model wants of the world.
type (
	orgSeen struct{ report *overview.OrgReport }
	orgRead struct {
		title string
		lines []string
	}
	orgEffect struct {
		key, name string
		order     order
	}
)

func newOrgModel(o OrgOptions) orgModel {
	in := textinput.New()
	in.Prompt = ""
	in.CharLimit = 4000
	return orgModel{o: o, looks: newStyles(o.Color), input: in}
}

func (m orgModel) step(msg tea.Msg) (orgModel, *orgEffect) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case orgSeen:
		m.report = msg.report
		if m.agent() == nil && len(m.report.Agents) > 0 {
			m.selected = m.report.Agents[0].Name
		}
	case orgRead:
		m.page, m.lines, m.busy = msg.title, msg.lines, ""
		m.top = max(0, len(m.lines)-m.pageHeight())
	case told:
		m.said, m.bad = say.Line(msg.said), msg.bad
	case did:
		m.busy, m.said, m.bad = "", msg.said, msg.bad
	case tea.KeyMsg:
		return m.press(msg)
	}
	return m, nil
}

// agent is the one that is selected; nil: there is none.
func (m *orgModel) agent() *overview.AgentReport {
	if m.report == nil {
		return nil
	}
	for i := range m.report.Agents {
		if m.report.Agents[i].Name == m.selected {
			return &m.report.Agents[i]
		}
	}
	return nil
}

func (m orgModel) pageHeight() int { return max(1, m.height-2) }

func (m orgModel) press(k tea.KeyMsg) (orgModel, *orgEffect) {
	m.said, m.bad = "", false
	pressed := k.String()
	i := slices.IndexFunc(orgKeys, func(b key) bool { return slices.Contains(b.keys, pressed) })
	switch {
	case m.typing:
		return m.typed(k)
	case i < 0:
		return m, nil
	}
	b := &orgKeys[i]
	switch b.keys[0] {
	case "up", "down", "pgup", "pgdown", "home", "end":
		return m.move(b.keys[0]), nil
	case "n":
		return m.next(), nil
	case "?":
		m.page, m.lines, m.top = "keys", orgHelp(), 0
		return m, nil
	case "esc":
		if m.page == "" {
			m.said = "This window keeps the organization, so it stays: cmux stop ends it; the prefix key and d detach."
		}
		m.page = ""
		return m, nil
	}
	if m.page != "" || m.agent() == nil || m.busy != "" {
		return m, nil
	}
	o, _ := b.command(m.selected)
	if b.keys[0] == "m" {
		m.typing = true
		m.input.SetValue("")
		m.input.Focus()
		return m, nil
	}
	m.busy = o.String()
	return m, &orgEffect{b.keys[0], m.selected, o}
}

// typed takes a key of a message that is being written.
func (m orgModel) typed(k tea.KeyMsg) (orgModel, *orgEffect) {
	switch k.String() {
	case "esc", "ctrl+c":
		m.typing = false
		return m, nil
	case "enter":
		text := strings.TrimSpace(m.input.Value())
		m.typing = false
		if text == "" {
			return m, nil
		}
		o := order{words: []string{"workers", "send", "--", m.selected, text}}
		m.busy = o.String()
		return m, &orgEffect{"m", m.selected, o}
	}
	m.input, _ = m.input.Update(k)
	return m, nil
}

// move selects another agent, or moves what is read.
func (m orgModel) move(where string) orgModel {
	at, most, page := m.top, max(0, len(m.lines)-m.pageHeight()), m.pageHeight()-1
	if m.page == "" {
		if m.report == nil || len(m.report.Agents) == 0 {
			return m
		}
		at = max(0, slices.IndexFunc(m.report.Agents, func(a overview.AgentReport) bool { return a.Name == m.selected }))
		most, page = len(m.report.Agents)-1, 10
	}
	at += map[string]int{"up": -1, "down": 1, "pgup": -page, "pgdown": page, "home": -1 << 30, "end": 1 << 30}[where]
	at = max(0, min(at, most))
	if m.page != "" {
		m.top = at
	} else {
		m.selected = m.report.Agents[at].Name
	}
	return m
}

// next selects the next agent that needs a person.
func (m orgModel) next() orgModel {
	if m.report == nil || m.page != "" {
		return m
	}
	n := len(m.report.Agents)
	at := slices.IndexFunc(m.report.Agents, func(a overview.AgentReport) bool { return a.Name == m.selected })
	for i := 1; i <= n; i++ {
		if a := &m.report.Agents[(max(at, 0)+i)%n]; a.NeedsPerson() {
			m.selected = a.Name
			return m
		}
	}
	m.said = "No agent needs you."
	return m
}

// orgHelp is what ? shows.
func orgHelp() (lines []string) {
	for _, b := range orgKeys {
		line := fmt.Sprintf("%-8s %s", b.shown, b.does)
		if len(b.words) > 0 {
			line = fmt.Sprintf("%-62s cmux %s", line, strings.Join(b.words, " "))
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// frame is the whole screen, a line each.
func (m orgModel) frame() []string {
	if m.width < leastWidth || m.height < 8 {
		return []string{cut("Too small: 40x8 is the least.", m.width)}
	}
	if m.page != "" {
		lines := []string{ends(m.looks.head.Render(m.page), "esc", m.width)}
		for i := m.top; i < min(len(m.lines), m.top+m.pageHeight()); i++ {
			lines = append(lines, cut(m.lines[i], m.width))
		}
		return lines
	}
	if m.report == nil {
		return []string{"Reading the organization.", cut(m.said, m.width)}
	}
	above, below := m.o.Rest(m.report)
	var lines []string
	for _, l := range above {
		lines = append(lines, cut(l, m.width))
	}
	room := m.height - len(lines) - 2 // the last two lines show the keys and the last result
	lines = append(lines, m.table(max(3, room*2/3))...)
	rest := []string{""}
	if a := m.agent(); a != nil {
		rest = append(rest, m.o.About(a)...)
	}
	for _, l := range append(append(rest, ""), below...) {
		for _, w := range wrap(l, m.width) {
			lines = append(lines, cut(w, m.width))
		}
	}
	lines = slices.Clip(lines[:min(len(lines), m.height-2)])
	for len(lines) < m.height-2 {
		lines = append(lines, "")
	}
	return append(lines, m.foot()...)
}

// table are the agents in at most so many lines, the selected one among them.
func (m orgModel) table(room int) []string {
	rows := m.o.Table(m.report, m.width)
	if len(rows) == 0 {
		return nil
	}
	at := 1 + slices.IndexFunc(m.report.Agents, func(a overview.AgentReport) bool { return a.Name == m.selected })
	lines := []string{cut(rows[0], m.width)}
	from := max(1, min(at-(room-2), len(rows)-(room-1)))
	for i := max(1, from); i < len(rows) && len(lines) < room; i++ {
		line := fit(rows[i], m.width)
		if i == at {
			line = m.looks.cursor.Render(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// foot are the last two lines.
func (m orgModel) foot() []string {
	switch {
	case m.typing:
		m.input.Width = max(10, m.width-len(m.selected)-6)
		return []string{"", cut("To "+m.selected+": "+m.input.View(), m.width)}
	case m.busy != "":
		return []string{"", cut(m.busy, m.width)}
	}
	said := cut(m.said, m.width)
	if m.bad {
		said = m.looks.bad.Render(said)
	}
	var keys []string
	for _, b := range orgKeys {
		if b.verb != "" {
			keys = append(keys, b.shown+" "+b.verb)
		}
	}
	return []string{said, m.looks.faint.Render(cut(strings.Join(keys, "  "), m.width))}
}
