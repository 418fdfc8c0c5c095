package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"cmux/agents/control/runs"
	"cmux/agents/control/runview"
	"cmux/agents/kinds/question"
	"cmux/agents/platform/say"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// writer gathers lines of one width.
type writer struct {
	width int
	looks *styles
	lines []string
}

// text writes a text behind a lead, wrapped, each further line behind as much
// space.
func (w *writer) text(lead, text string) {
	indent := ansi.StringWidth(lead)
	for i, line := range wrap(text, w.width-indent) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		w.lines = append(w.lines, cut(lead+line, w.width))
	}
}

// title begins a section.
func (w *writer) title(text string) {
	if len(w.lines) > 0 {
		w.lines = append(w.lines, "")
	}
	w.lines = append(w.lines, w.looks.head.Render(cut(text, w.width)))
}

// detailLength is how many lines the details have.
func (m model) detailLength() int {
	if m.view == nil {
		return 0
	}
	_, details, log := m.columns()
	return len(m.details(details, log == 0))
}

// details are all that is known of what is selected.
func (m model) details(width int, withLog bool) []string {
	w := &writer{width: width, looks: m.looks}
	i := m.node()
	if i < 0 {
		m.aboutRun(w)
		return w.lines
	}
	in := runs.Inspect(m.view, i)
	m.standing(w, in)
	m.question(w, in.Question)
	m.checks(w, in.Checks)
	m.changes(w, in)
	m.tries(w, in)
	m.beside(w, in)
	m.refusedOnes(w, in.Refused)
	if withLog {
		room := max(6, m.bodyHeight()-len(w.lines)-2)
		if tail := m.logLines(width, room); len(tail) > 0 {
			w.lines = append(append(w.lines, ""), tail...)
		}
	}
	return w.lines
}

// aboutRun tells of the run as a whole.
func (m model) aboutRun(w *writer) {
	v := m.view
	w.title("run " + v.Run.Plan.ID)
	w.text("", "config "+say.Line(v.Run.Plan.Config)+", base "+say.Line(v.Run.Plan.BaseRef))
	if runs.Known(v.Used) != nil {
		w.text("", "used "+runs.UsageText(v.Used, v.Run.Plan.Graph.Budget))
	}
	for _, n := range runs.Notices(v) {
		w.lines = append(w.lines, "")
		w.text("• ", say.Line(n.Text))
	}
}

// standing says how a node stands, why and since when.
func (m model) standing(w *writer, in *runs.Inspection) {
	kind := string(in.Role)
	if in.Agent != "" {
		kind += " · " + in.Agent
	}
	if in.Branch != "" {
		kind += " · " + say.Line(in.Branch)
	}
	if in.Dir != "" {
		kind += " · in " + say.Line(in.Dir)
	}
	w.lines = append(w.lines, m.looks.head.Render(cut(in.Name, w.width)), m.looks.faint.Render(cut(kind, w.width)))
	state := m.looks.node[in.Label.State].Render(say.Line(in.Label.String()))
	if !in.Since.IsZero() {
		state += " since " + in.Since.In(m.now().Location()).Format("15:04")
		if m.view.Nodes[m.node()].Fact.Live() {
			state += " (" + age(m.now().Sub(in.Since)) + ")"
		}
	}
	w.text("", state)
	if n := &m.view.Nodes[m.node()]; runview.Where(n) != "" && runview.Where(n) != run.Home {
		on := "on " + say.Line(in.Machine)
		if in.Machine == "" {
			on = runview.NoMachine
		}
		if in.HeardAt != nil {
			on += ", no contact since " + in.HeardAt.In(m.now().Location()).Format("15:04")
		}
		w.text("", on)
	}
	if in.Reason != "" && in.Question == nil {
		w.text("  ", say.Lines(in.Reason))
	}
	if in.Way != "" {
		w.text("→ ", in.Way)
	}
	if runs.Known(in.Used) != nil {
		w.text("", runs.UsageText(in.Used, in.Budget))
	}
}

// question shows what an agent asks.
func (m model) question(w *writer, q *question.Question) {
	if q == nil {
		return
	}
	how := "i answers"
	if len(q.Parts[0].Options) > 0 {
		how = "a number chooses, i answers"
	}
	if q.InPane {
		how = "enter: only its pane takes the answer"
	}
	w.title("It asks (" + how + ")")
	w.text("  ", say.Lines(q.String()))
}

// shownTries is the number of attempts that the details show.
const shownTries = 5

func (m model) tries(w *writer, in *runs.Inspection) {
	if len(in.Tries) == 0 {
		return
	}
	w.title(say.Count(len(in.Tries), "attempt"))
	first := max(0, len(in.Tries)-shownTries)
	for k := len(in.Tries) - 1; k >= first; k-- {
		t := &in.Tries[k]
		how, at := t.How, t.Started.In(m.now().Location()).Format("15:04")
		if how == "" {
			how = "under way"
		}
		if !t.Ended.IsZero() {
			at += " +" + age(t.Ended.Sub(t.Started))
		}
		text := fmt.Sprintf("#%d %s %s", t.N, at, how)
		if t.Detail != "" && !(k == len(in.Tries)-1 && t.Detail == in.Reason) {
			text += ": " + say.Line(t.Detail)
		}
		w.text("  ", text)
		if t.Summary != "" && k == len(in.Tries)-1 {
			w.text("  “", say.Lines(t.Summary)+"”")
		}
		if t.Saved != "" {
			w.text("  ", "its work is saved: cmux snapshots restore "+say.Word(t.Saved))
		}
	}
	if first > 0 {
		w.text("  ", fmt.Sprintf("and %d before these", first))
	}
}

// shownOutput is how many lines are shown of what a failed check wrote last.
const shownOutput = 8

func (m model) checks(w *writer, all []run.Check) {
	if len(all) == 0 {
		return
	}
	w.title("Checks")
	for i := range all {
		c := &all[i]
		mark, how := m.looks.good.Render("✓"), ""
		switch {
		case c.TimedOut:
			mark, how = m.looks.bad.Render("✗"), ", timed out"
		case c.Exit != 0:
			mark, how = m.looks.bad.Render("✗"), fmt.Sprintf(", exit %d", c.Exit)
		}
		if c.Took >= dag.Duration(time.Second) {
			how += ", " + age(time.Duration(c.Took))
		}
		w.text("  "+mark+" ", say.Line(c.Command)+how)
		lines := strings.Split(strings.TrimRight(say.Lines(c.Output), "\n"), "\n")
		if c.Exit == 0 && !c.TimedOut || c.Output == "" {
			continue
		}
		for _, line := range lines[max(0, len(lines)-shownOutput):] {
			w.lines = append(w.lines, cut("    "+m.looks.faint.Render("│ ")+line, w.width))
		}
	}
}

// changes are a node's commits and which files they touch.
func (m model) changes(w *writer, in *runs.Inspection) {
	if m.work == nil || len(m.work.Commits) == 0 && len(m.work.Stat) == 0 {
		return
	}
	w.title(say.Count(len(m.work.Commits)+m.work.More, "commit") + " on " + say.Line(in.Branch))
	for _, c := range m.work.Commits {
		w.lines = append(w.lines, cut("  "+m.looks.faint.Render(c.ID)+" "+say.Line(c.Subject), w.width))
	}
	if m.work.More > 0 {
		w.text("  ", fmt.Sprintf("and %d before these", m.work.More))
	}
	for _, line := range m.work.Stat {
		w.lines = append(w.lines, cut("  "+m.stat(say.Line(line)), w.width))
	}
}

// stat colors the signs of a line of git diff --stat.
func (m model) stat(line string) string {
	at := strings.LastIndex(line, "|")
	if at < 0 {
		return line
	}
	return line[:at] + strings.NewReplacer("+", m.looks.add.Render("+"), "-", m.looks.del.Render("-")).Replace(line[at:])
}

// beside names what a node waits for and what waits for it.
func (m model) beside(w *writer, in *runs.Inspection) {
	list := func(how string, nodes []runs.Beside) {
		if len(nodes) == 0 {
			return
		}
		var all []string
		for k, n := range nodes {
			if k == 12 {
				all = append(all, fmt.Sprintf("%d more", len(nodes)-k))
				break
			}
			all = append(all, m.looks.node[n.Label.State].Render(marks[n.Label.State])+" "+n.Name)
		}
		w.text(how, strings.Join(all, ", "))
	}
	if len(in.After)+len(in.Before) > 0 {
		w.title("Graph")
	}
	list("  after  ", in.After)
	list("  before ", in.Before)
}

// shownRefusals is the number of refused orders that the details show, newest first.
const shownRefusals = 5

func (m model) refusedOnes(w *writer, all []runs.Refusal) {
	if len(all) == 0 {
		return
	}
	title := "Refused"
	if len(m.refusals()) > 0 {
		title += " (c confirms the newest)"
	}
	w.title(title)
	for _, r := range all[max(0, len(all)-shownRefusals):] {
		w.text("  ", r.At.In(m.now().Location()).Format("15:04")+" "+say.Line(r.Node+" "+r.Detail))
	}
}

// logLines are the last lines of the selected node's log.
func (m model) logLines(width, height int) []string {
	if m.log.node != m.selected || len(m.log.lines) == 0 {
		return nil
	}
	var lines []string
	for k := len(m.log.lines) - 1; k >= 0 && len(lines) < height-1; k-- {
		part := wrap(m.log.lines[k], width)
		if over := len(lines) + len(part) - (height - 1); over > 0 {
			part = part[over:]
		}
		lines = append(append([]string{}, part...), lines...)
	}
	return append([]string{m.looks.head.Render("Log") + m.looks.faint.Render(" "+strings.Repeat("─", max(0, width-4)))}, lines...)
}
