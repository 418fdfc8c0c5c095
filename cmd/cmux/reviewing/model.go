package reviewing

import (
	"bytes"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/textarea"
	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control/commands"
	"cmux/agents/control/runs"
	"cmux/agents/platform/harmless"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// kind is what an effect does.
type kind uint8

const (
	nothing kind = iota
	leave
	read  // the diff of file of a delivery
	judge // give a decision
)

// effect is what the model wants done.
type effect struct {
	kind      kind
	of        runs.Delivery
	file      string
	judgement commands.Judgement
}

// patch is the diff of one file.
type patch struct {
	node, commit, file string
	text               string
	err                error
}

// judged is the result of a decision.
type judged struct {
	judgement commands.Judgement
	said      string
	err       error
}

// model is all that the walk shows and knows.
type model struct {
	all     []runs.Delivery
	decided []bool
	at      int // of all
	page    int // 0: the overview, else the file before it
	top     int // first line of the page that is shown
	patches map[[3]string]patch
	comment *textarea.Model // a comment is being written; nil: none
	busy    bool            // a decision is being given
	note    string          // of the last decision or key
	said    []string        // the results of the decisions
	help    bool

	width, height int
	color         bool
}

func newModel(all []runs.Delivery, color bool) model {
	return model{all: all, decided: make([]bool, len(all)), patches: make(map[[3]string]patch), color: color, width: 80, height: 24}
}

// now is the delivery that is shown.
func (m *model) now() *runs.Delivery { return &m.all[m.at] }

// file is the path of the file that is shown; empty: the overview is.
func (m *model) file() string {
	if m.page == 0 {
		return ""
	}
	return m.now().Files[m.page-1].Path
}

func (m *model) key() [3]string { return [3]string{m.now().Node, m.now().Commit, m.file()} }

// want returns the effect that reads the patch to show, if it is not read yet.
func (m *model) want() effect {
	if _, there := m.patches[m.key()]; there || m.page == 0 {
		return effect{}
	}
	return effect{kind: read, of: *m.now(), file: m.file()}
}

func (m model) step(msg tea.Msg) (model, effect) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.comment != nil {
			m.comment.SetWidth(m.width)
		}
	case patch:
		m.patches[[3]string{msg.node, msg.commit, msg.file}] = msg
	case judged:
		return m.took(msg)
	case tea.KeyMsg:
		if m.comment != nil {
			return m.write(msg)
		}
		return m.press(msg)
	}
	m.scroll(0)
	return m, effect{}
}

// took records the result of a decision and moves to the next undecided node.
func (m model) took(j judged) (model, effect) {
	m.busy = false
	if j.err != nil {
		text, try := hint.Explain(j.err)
		if m.note = text; try != "" {
			m.note += " (try: " + try + ")"
		}
		return m, effect{}
	}
	m.said = append(m.said, j.said)
	m.note = strings.TrimSpace(j.said)
	m.decided[m.at] = true
	for step := range len(m.all) {
		if next := (m.at + step) % len(m.all); !m.decided[next] {
			m.turn(next)
			return m, m.want()
		}
	}
	return m, effect{kind: leave}
}

// turn shows another node.
func (m *model) turn(to int) { m.at, m.page, m.top = to, 0, 0 }

// press takes a key.
func (m model) press(key tea.KeyMsg) (model, effect) {
	pages := len(m.now().Files) + 1
	body := max(1, m.height-chrome)
	decide := func(v run.Verdict) (model, effect) {
		if m.busy {
			return m, effect{}
		}
		m.busy, m.note = true, "…"
		return m, effect{kind: judge, judgement: commands.Judgement{Node: m.now().Node, Verdict: v, Commit: m.now().Commit}}
	}
	switch key.String() {
	case "q", "esc", "ctrl+c":
		return m, effect{kind: leave}
	case "a":
		return decide(run.VerdictApproved)
	case "d":
		return decide(run.VerdictDropped)
	case "s":
		if !m.busy {
			m.comment, m.note = newComment(m.width), ""
		}
	case "right", "l", "tab", " ", "enter":
		m.page, m.top = (m.page+1)%pages, 0
	case "left", "h", "shift+tab":
		m.page, m.top = (m.page+pages-1)%pages, 0
	case "n":
		m.turn((m.at + 1) % len(m.all))
	case "p":
		m.turn((m.at + len(m.all) - 1) % len(m.all))
	case "down", "j":
		m.scroll(1)
	case "up", "k":
		m.scroll(-1)
	case "pgdown", "ctrl+d":
		m.scroll(body)
	case "pgup", "ctrl+u":
		m.scroll(-body)
	case "home", "g":
		m.top = 0
	case "end", "G":
		m.scroll(len(m.lines()))
	case "?":
		m.help = !m.help
	}
	return m, m.want()
}

// write takes a key while a comment is being written.
func (m model) write(key tea.KeyMsg) (model, effect) {
	switch key.String() {
	case "esc", "ctrl+c":
		m.comment = nil
		return m, effect{}
	case "enter":
		text := strings.TrimSpace(m.comment.Value())
		if text == "" {
			m.note = "the comment is empty: say what is to change, or Esc"
			return m, effect{}
		}
		m.comment, m.busy, m.note = nil, true, "…"
		return m, effect{kind: judge, judgement: commands.Judgement{Node: m.now().Node, Verdict: run.VerdictSentBack, Comment: text}}
	}
	c, _ := m.comment.Update(key)
	m.comment = &c
	return m, effect{}
}

func newComment(width int) *textarea.Model {
	c := textarea.New()
	c.Placeholder = "What is to change"
	c.ShowLineNumbers = false
	c.KeyMap.InsertNewline.SetKeys("ctrl+j", "alt+enter")
	c.SetWidth(width)
	c.SetHeight(commentLines)
	c.Focus()
	return &c
}

// scroll moves the page by so many lines, as far as it goes.
func (m *model) scroll(by int) {
	m.top = max(0, min(m.top+by, len(m.lines())-max(1, m.height-chrome)))
}

// lines are the lines of the page that is shown.
func (m *model) lines() []string {
	if m.page == 0 {
		var b bytes.Buffer
		m.now().Write(&b) // into memory
		return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	}
	p, there := m.patches[m.key()]
	switch {
	case !there:
		return []string{"…"}
	case p.err != nil:
		return []string{p.err.Error()}
	}
	text := strings.ReplaceAll(harmless.Text(p.text), "\t", "    ")
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	// The names of the file stand above it already.
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "@@") }); i > 0 {
		lines = lines[i:]
	}
	return lines
}
