package top

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"cmux/agents/control/runs"
)

// press takes keys. Those that come together, as from who types fast, are one
// message; what was pasted is a text only where one is typed.
func (m model) press(k tea.KeyMsg) (model, []effect) {
	typing := m.doing == filtering || m.doing == answering
	if k.Type != tea.KeyRunes || len(k.Runes) < 2 || k.Paste && typing {
		return m.pressOne(k)
	}
	if k.Paste {
		return m, nil
	}
	var all []effect
	for _, r := range k.Runes {
		var effects []effect
		m, effects = m.pressOne(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt})
		all = append(all, effects...)
	}
	return m, all
}

func (m model) pressOne(k tea.KeyMsg) (model, []effect) {
	pressed := k.String()
	if m.doing != confirming {
		m.said, m.bad = "", false
	}
	switch m.doing {
	case filtering:
		return m.filterKey(k)
	case answering:
		return m.answerKey(k)
	case confirming:
		return m.confirmKey(pressed)
	case reading:
		return m.readKey(pressed)
	}
	if m.view == nil {
		if pressed == "q" || pressed == "ctrl+c" {
			return m.quit(pressed)
		}
		return m, nil
	}
	if len(pressed) == 1 && pressed >= "1" && pressed <= "9" {
		return m.option(pressed)
	}
	b := binding(pressed)
	if b == nil {
		return m, nil
	}
	if m, effects, ok := m.move(b.keys[0]); ok {
		return m, effects
	}
	switch b.keys[0] {
	case "/":
		m.doing = filtering
		m.input.SetValue(m.filter)
		m.input.CursorEnd()
	case "?":
		m.doing, m.page = reading, m.help()
	case "esc":
		m.filter = ""
		m = m.list().steady()
	case "q":
		return m.quit(pressed)
	case "g":
		m.urgent = !m.urgent
		m = m.list().steady()
	case "n":
		return m.next()
	case "c":
		return m.refused()
	default:
		return m.give(b)
	}
	return m, nil
}

// move is press for the keys that move about.
func (m model) move(pressed string) (model, []effect, bool) {
	at, page := m.at(), max(1, m.listHeight()-1)
	to := at
	switch pressed {
	case "up":
		to--
	case "down":
		to++
	case "pgup":
		to -= page
	case "pgdown":
		to += page
	case "home":
		to = 0
	case "end":
		to = len(m.rows) - 1
	case "J":
		m.scroll = min(m.scroll+max(1, m.bodyHeight()-2), max(0, m.detailLength()-m.bodyHeight()))
		return m, nil, true
	case "K":
		m.scroll = max(0, m.scroll-max(1, m.bodyHeight()-2))
		return m, nil, true
	default:
		return m, nil, false
	}
	m, effects := m.choose(to)
	return m, effects, true
}

// quit leaves, where a key may: a monitor that carries the run stays.
func (m model) quit(pressed string) (model, []effect) {
	if !m.stays {
		return m, []effect{{kind: leave}}
	}
	m.said = "This window runs the run, so it stays. s on the run ends the agents (cmux agents stop); the prefix key and d detach."
	return m, nil
}

// give gives the order of a key to what is selected, after asking where it
// changes something.
func (m model) give(b *key) (model, []effect) {
	o, ok := b.command(m.selected)
	if !ok {
		m.said = "That is for a node: select one."
		return m, nil
	}
	if m.busy != "" {
		m.said = "First comes what is under way: " + m.busy
		return m, nil
	}
	switch b.keys[0] {
	case "enter":
		return m, []effect{{kind: attach, node: m.selected, order: o}}
	case "l", "d":
		m.busy = o.String()
		return m, []effect{{kind: fetch, node: m.selected, order: o}}
	case "i":
		return m.answer("")
	case "u":
		m.busy = o.String()
		return m, []effect{{kind: compare, order: o}}
	case "a", "o": // a code is shown and typed in the terminal itself
		o.own = m.view.Nodes[m.node()].Spec.AsksCode()
	}
	o.does = b.does
	if m.selected == "" { // stop
		o.does = "end all agents; cmux agents resume continues the run"
	}
	return m.ask(o)
}

// ask has the person confirm an order.
func (m model) ask(o order) (model, []effect) {
	m.doing, m.asked = confirming, o
	return m, nil
}

// confirmKey takes a key while an order is to be confirmed.
func (m model) confirmKey(pressed string) (model, []effect) {
	m.doing = browsing
	if pressed != "enter" && pressed != "y" {
		m.said = "Nothing was done."
		return m, nil
	}
	return m.order(m.asked)
}

// order has an order carried out.
func (m model) order(o order) (model, []effect) {
	m.busy = o.String()
	if !o.refused.IsZero() {
		m.given = append(slices.Clone(m.given), o.refused)
	}
	kind := carry
	if o.own && !m.stays { // there ^C would be the run's
		kind = lend
	}
	if o.then != leave {
		kind = o.then
	}
	return m, []effect{{kind: kind, node: m.selected, order: o}}
}

// refused offers to give the newest refused order of the selected node, or of any
// node, in the person's name.
func (m model) refused() (model, []effect) {
	all := m.refusals()
	if len(all) == 0 {
		m.said = "Nothing was refused here that a key can confirm."
		return m, nil
	}
	r, who := all[len(all)-1], "an agent"
	if r.Node != "" {
		who = r.Node
	}
	return m.ask(order{words: r.Words, does: "give, as yours, what " + who + " was refused", own: true, refused: r.At})
}

// refusals are the orders that the selected node, or any, was refused and that
// the person can confirm.
func (m model) refusals() []runs.Refusal {
	return slices.DeleteFunc(runs.Refusals(m.view), func(r runs.Refusal) bool {
		return m.selected != "" && r.Node != m.selected || len(r.Words) == 0 || slices.ContainsFunc(m.given, r.At.Equal)
	})
}

// filterKey takes a key while the filter is typed.
func (m model) filterKey(k tea.KeyMsg) (model, []effect) {
	switch k.String() {
	case "enter":
		m.doing = browsing
		if m.at() < 0 {
			return m.choose(0)
		}
		return m, nil
	case "esc", "ctrl+c":
		m.doing, m.filter = browsing, ""
		return m.list().steady(), nil
	case "up", "down":
		return m.choose(m.at() + map[string]int{"up": -1, "down": 1}[k.String()])
	}
	m.input, _ = m.input.Update(k)
	m.filter = m.input.Value()
	m = m.list()
	if m.at() < 0 {
		return m.choose(0)
	}
	return m.steady(), nil
}

// option begins the answer of the selected node with a number, where it has
// such an option.
func (m model) option(digit string) (model, []effect) {
	i := m.node()
	if i < 0 {
		return m, nil
	}
	q := runs.Inspect(m.view, i).Question
	if q == nil || len(q.Parts[0].Options) < int(digit[0]-'0') {
		m.said = "There is no option " + digit + " here."
		return m, nil
	}
	return m.answer(digit)
}

// answer begins to answer the selected node.
func (m model) answer(text string) (model, []effect) {
	in := runs.Inspect(m.view, m.node())
	if q := in.Question; q != nil && q.InPane {
		m.said = "Only keys pressed in its pane answer this: enter (cmux agents attach " + m.selected + ")."
		return m, nil
	}
	if !slices.Contains(in.Orders, "answer") {
		m.said = fmt.Sprintf("%s reads nothing now (%s).", m.selected, in.Label)
		return m, nil
	}
	m.doing, m.answers = answering, nil
	m.input.SetValue(text)
	m.input.CursorEnd()
	return m, nil
}

// parts is how many answers the selected node wants.
func (m model) parts() int {
	if i := m.node(); i >= 0 {
		if q := runs.Inspect(m.view, i).Question; q != nil {
			return len(q.Parts)
		}
	}
	return 1
}

// answerKey takes a key while an answer is typed.
func (m model) answerKey(k tea.KeyMsg) (model, []effect) {
	switch k.String() {
	case "esc", "ctrl+c":
		m.doing, m.said = browsing, "Nothing was answered."
		return m, nil
	case "enter":
		text := strings.TrimSpace(m.input.Value())
		if text == "" {
			return m, nil
		}
		m.answers = append(slices.Clone(m.answers), text)
		m.input.SetValue("")
		if len(m.answers) < m.parts() {
			return m, nil
		}
		m.doing = browsing
		return m.order(order{words: []string{"agents", "answer", m.selected, "--", strings.Join(m.answers, "\n")}})
	}
	m.input, _ = m.input.Update(k)
	return m, nil
}
