package top

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// model is the monitor as it stands: what was seen last, what is selected and
// what the person is doing.
type model struct {
	now    func() time.Time
	looks  *styles
	stays  bool // no key ends it: its process carries the run
	width  int
	height int

	view  *run.View
	graph *dag.Graph // that twigs is the drawing of
	twigs []dag.Twig

	rows     []row
	selected string // name of a node; empty: the run
	top      int    // first row shown
	urgent   bool   // rows stand by what needs a person, not as the graph
	filter   string
	scroll   int // lines of the details that are scrolled away

	log  content    // the end of the selected node's log
	work *runs.Work // of the selected node; nil: not looked at yet

	doing   doing
	input   textinput.Model // of a filter and of an answer
	answers []string        // given so far, to a question of several parts
	asked   order           // that is to be confirmed
	page    page
	said    string      // the result of the last order
	bad     bool        // it failed
	busy    string      // the order that is being carried out
	given   []time.Time // when what a person has confirmed since was refused

	wakes int // of the wake that counts
}

// doing is what keys mean.
type doing int

const (
	browsing doing = iota
	filtering
	answering
	confirming
	reading
)

// row is a line of the list.
type row struct {
	node int // -1: the run
	twig int // its place in the drawing; -1: it stands alone
}

// content is text of a node's, made harmless.
type content struct {
	node  string
	lines []string
}

// Messages.
type (
	seen  struct{ view *run.View }
	wrote struct{ log content }
	made  struct {
		node string
		work *runs.Work
	}
	wake struct{ n int }
	did  struct { // an order was carried out, or not
		order order
		said  string
		bad   bool
	}
	read    struct{ page page }   // what was asked to be read
	offered struct{ order order } // is to be confirmed
	told    struct {              // a result to show
		said string
		bad  bool
	}
)

// effect is what the model wants of the world.
type effect struct {
	kind  effectKind
	node  string
	order order
	after time.Duration
	n     int
}

type effectKind int

const (
	leave   effectKind = iota // the program
	watch                     // node: follow its log and its work
	carry                     // order, as it is
	lend                      // the terminal to order
	attach                    // to node, empty: the run
	fetch                     // the log or the diff of node, as order says
	wakeMe                    // after some time, with n
	reopen                    // the conversation of node
	compare                   // the configuration with the plan, for order to take it in
)

func newModel(now func() time.Time, color, stays bool) model {
	in := textinput.New()
	in.Prompt = ""
	in.Focus()
	return model{now: now, looks: newStyles(color), stays: stays, input: in}
}

// step takes a message in.
func (m model) step(msg tea.Msg) (model, []effect) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.page.clamp(m)
		return m.steady(), nil
	case seen:
		return m.see(msg.view)
	case wrote:
		if msg.log.node == m.selected {
			m.log = msg.log
		}
		if m.doing == reading && m.page.follows != "" && m.page.follows == msg.log.node {
			return m, []effect{{kind: fetch, node: msg.log.node, order: m.page.order}}
		}
	case made:
		if msg.node == m.selected {
			m.work = msg.work
		}
	case wake:
		if msg.n == m.wakes {
			return m.sleep()
		}
	case did:
		m.busy, m.said, m.bad = "", msg.said, msg.bad
	case told:
		m.said, m.bad = msg.said, msg.bad
	case offered:
		return m.ask(msg.order)
	case read:
		switch again := m.doing == reading && msg.page.follows != "" && m.page.follows == msg.page.follows; {
		case again:
			m.page.grow(msg.page.lines, m)
		case m.busy == msg.page.order.String(): // else the person has gone on meanwhile
			m.busy = ""
			m.page, m.doing = msg.page, reading
			m.page.clamp(m)
		}
	case tea.KeyMsg:
		return m.press(msg)
	}
	return m, nil
}

// see takes a newer view in.
func (m model) see(v *run.View) (model, []effect) {
	var effects []effect
	m.view = v
	if g := v.Run.Plan.Graph; g != m.graph {
		m.graph = g
		m.twigs, _ = g.Twigs() // without a drawing they are a list
	}
	if m.selected != "" && v.Run.Plan.Graph.Index(m.selected) < 0 {
		m.selected = "" // an update took it out
	}
	m = m.list().steady()
	effects = append(effects, effect{kind: watch, node: m.selected})
	m, more := m.sleep()
	return m, append(effects, more...)
}

// sleep asks to be woken when something that is shown reads differently.
func (m model) sleep() (model, []effect) {
	if m.view == nil {
		return m, nil
	}
	m.wakes++
	if d := due(m.view, m.now()); d > 0 {
		return m, []effect{{kind: wakeMe, after: d, n: m.wakes}}
	}
	return m, nil
}

// urgency orders nodes by how much they want a person.
var urgency = []dag.NodeState{dag.NodeNeedsInput, dag.NodeTakenOver, dag.NodeFailed, dag.NodeLost, dag.NodeLimited,
	dag.NodeChecking, dag.NodeRunning, dag.NodeReady, dag.NodeWaiting, dag.NodeBlocked, dag.NodeSkipped, dag.NodeDone}

// list rebuilds the rows.
func (m model) list() model {
	m.rows = nil
	if m.view == nil {
		return m
	}
	var nodes []row
	for t := range m.twigs {
		nodes = append(nodes, row{m.twigs[t].Node, t})
	}
	if len(nodes) != len(m.view.Nodes) {
		nodes = nodes[:0]
		for i := range m.view.Nodes {
			nodes = append(nodes, row{i, -1})
		}
	}
	if m.filter != "" {
		nodes = slices.DeleteFunc(nodes, func(r row) bool { return !m.matches(r.node) })
	}
	if m.urgent {
		rank := func(r row) int { return slices.Index(urgency, m.view.Nodes[r.node].Status.Label.State) }
		slices.SortStableFunc(nodes, func(a, b row) int { return rank(a) - rank(b) })
	}
	if m.filter != "" || m.urgent {
		for i := range nodes {
			nodes[i].twig = -1
		}
	}
	if m.filter == "" {
		m.rows = []row{{-1, -1}}
	}
	m.rows = append(m.rows, nodes...)
	return m
}

// matches reports whether every word of the filter is in what the list shows of
// a node.
func (m model) matches(i int) bool {
	n := &m.view.Nodes[i]
	text := strings.ToLower(strings.Join([]string{n.Spec.Name, n.Status.Label.String(), string(n.Spec.Role), n.Spec.Agent, n.Spec.Branch}, " "))
	for _, word := range strings.Fields(strings.ToLower(m.filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// name is the node of a row; empty: the run.
func (m model) name(r row) string {
	if r.node < 0 {
		return ""
	}
	return m.view.Nodes[r.node].Spec.Name
}

// at is the row that is selected, or -1 when the filter hides it.
func (m model) at() int {
	return slices.IndexFunc(m.rows, func(r row) bool { return m.name(r) == m.selected })
}

// node is the index of the selected node; -1: the run is selected.
func (m model) node() int {
	if m.view == nil || m.selected == "" {
		return -1
	}
	return m.view.Run.Plan.Graph.Index(m.selected)
}

// steady keeps the selected row on the screen.
func (m model) steady() model {
	page := max(1, m.listHeight())
	at := m.at()
	if at >= 0 {
		m.top = min(max(m.top, at-page+1), at)
	}
	m.top = max(0, min(m.top, len(m.rows)-page))
	return m
}

// choose selects a row.
func (m model) choose(at int) (model, []effect) {
	if len(m.rows) == 0 {
		return m, nil
	}
	return m.pick(m.name(m.rows[max(0, min(at, len(m.rows)-1))]))
}

// pick selects a node, or the run.
func (m model) pick(name string) (model, []effect) {
	if name == m.selected {
		return m.steady(), nil
	}
	m.selected, m.scroll, m.log, m.work = name, 0, content{}, nil
	return m.steady(), []effect{{kind: watch, node: name}}
}

// next selects the next node that needs a person.
func (m model) next() (model, []effect) {
	need := runs.NeedPerson(m.view)
	if len(need) == 0 {
		m.said, m.bad = "No node needs you.", false
		return m, nil
	}
	to := need[0]
	for _, i := range need {
		if i > m.node() {
			to = i
			break
		}
	}
	if m.filter != "" && !m.matches(to) {
		m.filter = ""
		m = m.list()
	}
	return m.pick(m.view.Nodes[to].Spec.Name)
}
