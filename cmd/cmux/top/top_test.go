package top

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"cmux/agents/control/runs"
	"cmux/agents/kinds/question"
	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
	"cmux/agents/testkit/agenttest/golden"
	"cmux/dag"
)

// everything is a run in which nodes stand in as many ways as can be, one asks
// with options and one was refused an order.
func everything(t testing.TB) *run.View {
	v := runtest.Everything(t)
	i := v.Run.Plan.Graph.Index("web")
	v.Nodes[i].Attempts[0].Asks = &question.Question{Parts: []question.Part{{Text: "Which colour?", Options: []string{"red", "green"}}}}
	v.Incidents = append(v.Incidents, run.Record{Type: run.Incident, Node: "flaky", Attempt: 2, At: runtest.At(-1), How: run.IncidentRefused,
		Detail: "tried cmux agents approve release, which is a person's; nothing was done"})
	return v
}

// session is a model that a test talks to.
type session struct {
	t *testing.T
	model
	effects []effect
}

func open(t *testing.T, v *run.View, width, height int, color bool) *session {
	s := &session{t: t, model: newModel(func() time.Time { return runtest.Noon }, color, false)}
	s.send(tea.WindowSizeMsg{Width: width, Height: height})
	s.send(seen{v})
	return s
}

func (s *session) send(msg tea.Msg) {
	var effects []effect
	s.model, effects = s.step(msg)
	s.effects = append(s.effects, effects...)
}

// keys presses keys, named as bubbletea names them; a word in quotes is typed.
func (s *session) keys(names ...string) *session {
	s.t.Helper()
	special := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown, "home": tea.KeyHome,
		"end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "ctrl+c": tea.KeyCtrlC, "tab": tea.KeyTab}
	for _, n := range names {
		if typ, ok := special[n]; ok {
			s.send(tea.KeyMsg{Type: typ})
			continue
		}
		for _, r := range n {
			s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
	return s
}

// screen is what the person sees, checked to fit.
func (s *session) screen() string {
	s.t.Helper()
	lines := s.frame()
	if len(lines) > s.height {
		s.t.Errorf("%d lines on a screen of %d", len(lines), s.height)
	}
	for i, line := range lines {
		if w := ansi.StringWidth(line); w > s.width {
			s.t.Errorf("line %d has %d columns of %d: %q", i+1, w, s.width, line)
		}
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *session) pickNode(name string) *session {
	s.t.Helper()
	s.keys("home")
	for range s.rows {
		if s.selected == name {
			return s
		}
		s.keys("down")
	}
	s.t.Fatalf("no way down leads to %s", name)
	return s
}

func TestScreens(t *testing.T) {
	v := everything(t)
	for _, size := range [][2]int{{80, 24}, {160, 45}, {250, 70}} {
		var all strings.Builder
		for _, name := range []string{"", "api", "web", "release", "flaky"} {
			s := open(t, v, size[0], size[1], false)
			if name != "" {
				s.pickNode(name)
			}
			s.send(wrote{content{"api", []string{"── api: attempt 1", "go test ./...", "FAIL"}}})
			s.send(made{"api", &runs.Work{Commits: []runs.Commit{{ID: "abc1234", Subject: "Add the handler"}}, Stat: []string{"api.go | 3 ++-", "1 file changed"}}})
			fmt.Fprintf(&all, "=== %q selected\n%s", name, s.screen())
		}
		golden.Equal(t, fmt.Sprintf("%dx%d.txt", size[0], size[1]), all.String())
	}
}

// Whatever the size, nothing is wider or higher than the screen.
func TestAnySize(t *testing.T) {
	v := everything(t)
	for width := 1; width < 260; width += 7 {
		for height := 1; height < 80; height += 5 {
			for _, name := range []string{"", "api", "web"} {
				s := open(t, v, width, height, false)
				s.selected = name
				s.screen()
				s.keys("?").screen()
			}
		}
	}
}

// Colors change no text, and without them there is not one escape.
func TestColors(t *testing.T) {
	v := everything(t)
	for _, name := range []string{"", "api", "web"} {
		with, without := open(t, v, 120, 40, true), open(t, v, 120, 40, false)
		with.selected, without.selected = name, name
		a, b := with.screen(), without.screen()
		if strings.Contains(b, "\x1b") {
			t.Error("there are escapes without colors")
		}
		if a == b {
			t.Error("there are no colors")
		}
		trim := func(s string) string {
			lines := strings.Split(ansi.Strip(s), "\n")
			for i := range lines {
				lines[i] = strings.TrimRight(lines[i], " ")
			}
			return strings.Join(lines, "\n")
		}
		if trim(a) != trim(b) {
			t.Errorf("colors change the text:\n%s\n%s", trim(a), b)
		}
	}
}

// What agents wrote reaches the terminal without an escape of theirs.
func TestAgentsTextIsHarmless(t *testing.T) {
	evil := "\x1b]0;owned\x07\x1b[2J\u202eevil\tor not\r\n"
	v := runtest.View(t, runtest.Shop,
		run.Record{Type: run.RunnerUp, At: runtest.At(-10)},
		run.Record{Type: run.Started, Node: "schema", Attempt: 1, At: runtest.At(-10)},
		run.Record{Type: run.AttemptEnd, Node: "schema", Attempt: 1, At: runtest.At(-8), End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks,
			Detail: evil, Summary: evil, Checks: []run.Check{{Command: evil, Exit: 1, Output: evil + evil}}}},
		run.Record{Type: run.Started, Node: "docs", Attempt: 1, At: runtest.At(-9)},
		run.Record{Type: run.Began, Node: "docs", Attempt: 1, At: runtest.At(-9)},
		run.Record{Type: run.Active, Node: "docs", Attempt: 1, At: runtest.At(-2), Activity: dag.NeedsInput, Detail: evil, Question: &question.Question{Parts: []question.Part{{Text: evil, Options: []string{evil}}}}},
		run.Record{Type: run.Incident, Node: "schema", How: run.IncidentRefused, Detail: evil},
	)
	for _, name := range []string{"", "schema", "docs"} {
		s := open(t, v, 160, 60, false)
		s.selected = name
		s.send(wrote{content{name, plain([]byte(evil))}})
		s.send(made{name, &runs.Work{Commits: []runs.Commit{{ID: "1", Subject: evil}}, Stat: []string{evil}}})
		if got := s.screen(); strings.ContainsAny(got, "\x1b\x07\u202e\r\t") || !strings.Contains(got, "evil") {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestMoving(t *testing.T) {
	v := everything(t)
	s := open(t, v, 80, 24, false)
	for _, c := range []struct{ key, want string }{
		{"down", "schema"}, {"j", "api"}, {"up", "schema"}, {"k", ""}, {"k", ""},
		{"n", "web"}, {"n", "release"}, {"n", "web"}, {"end", "release"}, {"down", "release"}, {"pgup", ""}, {"pgdown", "release"}, {"home", ""},
	} {
		if s.keys(c.key); s.selected != c.want {
			t.Errorf("%s selects %q, want %q", c.key, s.selected, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	s := open(t, everything(t), 80, 24, false)
	names := func() (all []string) {
		for _, r := range s.rows {
			all = append(all, s.name(r))
		}
		return all
	}
	s.keys("/", "needs inp")
	if got := fmt.Sprint(names()); got != "[web release]" || s.selected != "web" {
		t.Errorf("the rows are %s, and %q is selected", got, s.selected)
	}
	s.keys("enter", "j")
	if s.selected != "release" {
		t.Errorf("%q is selected", s.selected)
	}
	if s.keys("esc"); len(s.rows) != 11 || s.selected != "release" {
		t.Errorf("without a filter there are %d rows, and %q is selected", len(s.rows), s.selected)
	}
	if s.keys("/", "nobody"); len(s.rows) != 0 {
		t.Errorf("%d rows", len(s.rows))
	}
	s.screen()
	if s.keys("esc", "g"); fmt.Sprint(names()[:4]) != "[ web release api]" {
		t.Errorf("what needs a person first: %v", names())
	}
}

// Keys that come in one read mean what they mean one by one; what is pasted
// orders nothing.
func TestKeysThatComeTogether(t *testing.T) {
	s := open(t, everything(t), 80, 24, false)
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("/web")})
	if s.doing != filtering || s.filter != "web" || s.selected != "web" {
		t.Errorf("the filter is %q, and %q is selected", s.filter, s.selected)
	}
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(" needs"), Paste: true})
	if s.filter != "web needs" {
		t.Errorf("the filter is %q", s.filter)
	}
	s.keys("enter")
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("ooyy"), Paste: true})
	if s.doing != browsing || s.busy != "" {
		t.Error("what was pasted gave an order")
	}
}

// The list keeps what is selected on the screen, with many nodes.
func TestManyNodes(t *testing.T) {
	var b strings.Builder
	b.WriteString("session: many\nagents:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  - {name: node-%03d, agent: command, task: x, role: review", i)
		if i > 0 {
			fmt.Fprintf(&b, ", depends_on: [node-%03d]", i-1)
		}
		b.WriteString("}\n")
	}
	s := open(t, runtest.View(t, b.String()), 80, 24, false)
	for range 299 {
		s.keys("down")
	}
	if got := s.screen(); !strings.Contains(got, "▸· … ") || !strings.Contains(got, "└ node-298 waiting") {
		t.Errorf("after 299 steps down:\n%s", got)
	}
	s.keys("home")
	if got := s.screen(); !strings.Contains(got, "▸run") {
		t.Errorf("at home:\n%s", got)
	}
}

// Nothing wakes the program but an age that reads differently.
func TestSleep(t *testing.T) {
	wakes := func(s *session) (all []time.Duration) {
		for _, e := range s.effects {
			if e.kind == wakeMe {
				all = append(all, e.after)
			}
		}
		return all
	}
	s := open(t, everything(t), 80, 24, false)
	if got := wakes(s); len(got) != 1 || got[0] != time.Minute {
		t.Errorf("with ages of whole minutes it wakes after %v", got)
	}
	s.send(wake{s.wakes - 1}) // an earlier one does not count
	if got := wakes(s); len(got) != 1 {
		t.Errorf("it wakes after %v", got)
	}
	s.send(wake{s.wakes})
	if got := wakes(s); len(got) != 2 {
		t.Errorf("it wakes after %v", got)
	}
	// A node of a second age, and many of minutes, each at a time of its own.
	for _, c := range []struct {
		ages []time.Duration
		want time.Duration
	}{
		{[]time.Duration{-30 * time.Second}, 750 * time.Millisecond},
		{[]time.Duration{-90 * time.Second}, 29750 * time.Millisecond},
		{[]time.Duration{-61 * time.Second, -70 * time.Second, -119 * time.Second, -178 * time.Second}, late},
	} {
		recs := []run.Record{{Type: run.RunnerUp, At: runtest.Noon.Add(-time.Hour)}}
		config := "session: s\nagents:\n"
		for i, at := range c.ages {
			name := fmt.Sprint("n", i)
			config += "  - {name: " + name + ", agent: command, task: x, role: review}\n"
			recs = append(recs, run.Record{Type: run.Started, Node: name, Attempt: 1, At: runtest.Noon.Add(at)})
		}
		if got := due(runtest.View(t, config, recs...), runtest.Noon.Add(250*time.Millisecond)); got != c.want {
			t.Errorf("with nodes started %v before it is drawn again after %v, want %v", c.ages, got, c.want)
		}
	}
	over := runtest.View(t, "session: s\nagents: [{name: a, agent: command, task: x}]",
		run.Record{Type: run.RunnerUp, At: runtest.At(-1)},
		run.Record{Type: run.Started, Node: "a", Attempt: 1, At: runtest.At(-1)},
		run.Record{Type: run.AttemptEnd, Node: "a", Attempt: 1, At: runtest.At(-1), End: &run.End{Outcome: dag.Done}})
	if got := wakes(open(t, over, 80, 24, false)); len(got) != 0 {
		t.Errorf("a run that is over wakes it after %v", got)
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, nodes := range []int{10, 300} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			var config strings.Builder
			config.WriteString("session: many\nagents:\n")
			for i := range nodes {
				fmt.Fprintf(&config, "  - {name: node-%03d, agent: command, task: x, role: review}\n", i)
			}
			m := newModel(func() time.Time { return runtest.Noon }, true, false)
			m, _ = m.step(tea.WindowSizeMsg{Width: 250, Height: 70})
			m, _ = m.step(seen{runtest.View(b, config.String())})
			m, _ = m.pick("node-005")
			for b.Loop() {
				m.frame()
			}
		})
	}
}

func TestOrders(t *testing.T) {
	for _, c := range []struct {
		node, keys string
		asks, does string // the command that is asked about; what is caused then
	}{
		{"api", "r", "cmux agents retry api", "carry agents retry api"},
		{"flaky", "o", "cmux agents override flaky", "carry agents override flaky"},
		{"release", "a", "cmux agents approve release", "carry agents approve release"},
		{"slow", "s", "cmux agents stop slow", "carry agents stop slow"},
		{"", "s", "cmux agents stop", "carry agents stop"},
		{"web", "e", "cmux agents release web", "carry agents release web"},
	} {
		s := open(t, everything(t), 80, 24, false)
		if c.node != "" {
			s.pickNode(c.node)
		}
		s.effects = nil
		s.keys(c.keys)
		if got := s.screen(); !strings.Contains(got, "\n"+c.asks+": ") || len(s.effects) > 0 {
			t.Errorf("%s on %q: asks for no %s, or does something at once: %v\n%s", c.keys, c.node, c.asks, s.effects, got)
		}
		again := *s
		if again.keys("x"); len(again.effects) > 0 || again.doing != browsing {
			t.Errorf("%s on %q is done by another key: %v", c.keys, c.node, again.effects)
		}
		s.keys("y")
		if got := caused(s); got != c.does {
			t.Errorf("%s on %q causes %q, want %q", c.keys, c.node, got, c.does)
		}
		s.send(did{said: "so it is"})
		if got := s.screen(); !strings.Contains(got, "\nso it is\n") {
			t.Errorf("the screen does not show the result:\n%s", got)
		}
	}
}

// caused is what the effects of a session are.
func caused(s *session) string {
	names := map[effectKind]string{leave: "leave", carry: "carry", lend: "lend", attach: "attach", fetch: "fetch", reopen: "reopen", compare: "compare"}
	var all []string
	for _, e := range s.effects {
		if names[e.kind] != "" {
			all = append(all, names[e.kind]+" "+strings.Join(e.order.words, " "))
		}
	}
	return strings.Join(all, "; ")
}

func TestAtOnce(t *testing.T) {
	for keys, want := range map[string]string{"enter": "attach agents attach api", "l": "fetch agents logs api", "d": "fetch agents diff api", "u": "compare agents update", "q": "leave "} {
		s := open(t, everything(t), 80, 24, false).pickNode("api")
		s.effects = nil
		if got := caused(s.keys(keys)); got != want {
			t.Errorf("%s causes %q, want %q", keys, got, want)
		}
	}
	stays := open(t, everything(t), 80, 24, false)
	stays.stays = true
	for _, k := range []string{"q", "ctrl+c"} {
		stays.effects = nil
		if got := stays.keys(k).screen(); len(stays.effects) > 0 || !strings.Contains(got, "This window runs the run") {
			t.Errorf("%s in the window that carries the run: %v\n%s", k, stays.effects, got)
		}
	}
}

func TestAnswers(t *testing.T) {
	s := open(t, everything(t), 80, 24, false).pickNode("web")
	if got := caused(s.keys("2", "enter")); got != "carry agents answer web -- 2" {
		t.Errorf("2 causes %q", got)
	}
	s = open(t, everything(t), 80, 24, false).pickNode("web")
	if s.keys("3"); s.doing != browsing || !strings.Contains(s.screen(), "There is no option 3 here.") {
		t.Error("3 is no option")
	}
	if got := caused(s.keys("i", "-blue", "enter")); got != "carry agents answer web -- -blue" {
		t.Errorf("an answer causes %q", got)
	}
	v := everything(t)
	web := v.Run.Plan.Graph.Index("web")
	v.Nodes[web].Attempts[0].Asks.Parts = []question.Part{{Text: "One?"}, {Text: "Two?"}}
	s = open(t, v, 80, 24, false).pickNode("web")
	if s.keys("i", "a", "enter"); !strings.Contains(s.screen(), "answer web (2 of 2)> ") {
		t.Errorf("the second part is not asked:\n%s", s.screen())
	}
	if got := caused(s.keys("b", "enter")); got != "carry agents answer web -- a\nb" {
		t.Errorf("two answers cause %q", got)
	}
	s = open(t, v, 80, 24, false).pickNode("web")
	if got := caused(s.keys("i", "a", "esc")); got != "" || s.doing != browsing {
		t.Errorf("esc causes %q", got)
	}
	v.Nodes[web].Attempts[0].Asks.InPane = true
	if got := open(t, v, 80, 24, false).pickNode("web").keys("i").screen(); !strings.Contains(got, "Only keys pressed in its pane answer this") {
		t.Errorf("what its pane alone takes:\n%s", got)
	}
}

// What an agent was refused is given by a key, once, and shown whole before.
func TestConfirm(t *testing.T) {
	v := everything(t)
	v.Incidents[0].Words = []string{"agents", "answer", "web", "--", strings.Repeat("a long answer ", 8) + "\nthe end"}
	v.Incidents = append(v.Incidents, run.Record{Type: run.Incident, Node: "slow", At: runtest.At(-1), How: run.IncidentRefused, Words: []string{"agents", "cleanup"}})
	s := open(t, v, 80, 24, false).pickNode("flaky")
	if got := s.keys("c").screen(); !strings.Contains(strings.ReplaceAll(got, "\n", ""), "⏎the end'") {
		t.Errorf("it is not shown whole:\n%s", got)
	}
	if got := caused(s.keys("y")); got != "lend "+strings.Join(v.Incidents[0].Words, " ") {
		t.Errorf("it causes %q", got)
	}
	s.send(did{})
	for _, node := range []string{"flaky", "slow"} { // given already; not for a key
		if got := s.pickNode(node).keys("c").screen(); !strings.Contains(got, "Nothing was refused here that a key can confirm.") {
			t.Errorf("%s:\n%s", node, got)
		}
	}
}

func TestDiffPage(t *testing.T) {
	s := open(t, everything(t), 140, 12, false).pickNode("api")
	s.keys("d")
	pg := diffPage("cmux agents diff api", "diff --git a/one b/one\n--- a/one\n+++ b/one\n@@ -1 +1 @@\n-a\n+b\n"+strings.Repeat(" x\n", 20)+
		"diff --git a/two b/two\nnew file mode 100644\n@@ -0,0 +1 @@\n+c\n"+strings.Repeat("+y\n", 20), s.looks)
	pg.order = order{words: []string{"agents", "diff", "api"}}
	s.send(read{pg})
	golden.Equal(t, "diff.txt", s.screen()+"=== n\n"+s.keys("n").screen())
	if at := s.page.file(); at != 1 {
		t.Errorf("n leads to file %d", at)
	}
	if s.keys("p"); s.page.file() != 0 {
		t.Error("p does not lead back")
	}
	if s.keys("q"); s.doing != browsing {
		t.Error("q does not lead back")
	}
	s.send(read{pg})
	if s.doing != browsing {
		t.Error("a page comes that nobody waits for any more")
	}
}

// A log that is read from its end goes on as it grows; elsewhere it stands.
func TestLogGrows(t *testing.T) {
	s := open(t, everything(t), 80, 12, false).pickNode("api")
	lines := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("line ", i))
		}
		return all
	}
	s.keys("l")
	logs := func(n int) read {
		return read{page{title: "cmux agents logs api", lines: lines(n), order: order{words: []string{"agents", "logs", "api"}}, follows: "api", top: 1 << 30}}
	}
	s.send(logs(50))
	if got := s.screen(); !strings.Contains(got, "line 49") {
		t.Errorf("the end is not shown:\n%s", got)
	}
	s.effects = nil
	s.send(wrote{content{"api", lines(3)}})
	if got := caused(s); got != "fetch agents logs api" {
		t.Errorf("what is added causes %q", got)
	}
	s.send(logs(60))
	if got := s.screen(); !strings.Contains(got, "line 59") {
		t.Errorf("it does not go on:\n%s", got)
	}
	s.keys("home")
	s.send(logs(70))
	if got := s.screen(); !strings.Contains(got, "line 0") {
		t.Errorf("it does not stand:\n%s", got)
	}
}

func TestUpdatePage(t *testing.T) {
	s := open(t, everything(t), 80, 24, false)
	s.keys("u")
	s.send(read{page{order: order{words: []string{"agents", "update"}}, lines: []string{"api: task"}, offer: &order{words: []string{"agents", "update", "--yes"}, does: "takes it in"}}})
	if got := s.screen(); !strings.Contains(got, "y takes it in (cmux agents update --yes)") {
		t.Errorf("it is not offered:\n%s", got)
	}
	s.effects = nil
	if got := caused(s.keys("y")); got != "carry agents update --yes" || s.doing != browsing {
		t.Errorf("y causes %q", got)
	}
}

// The details of a node say which machine has it, and since when that machine is silent.
func TestDetailsElsewhere(t *testing.T) {
	heard := time.Date(2026, 3, 1, 11, 3, 0, 0, time.UTC)
	v := runtest.View(t, `
session: shop
agents:
  - {name: api, agent: command, task: "true"}
  - {name: web, agent: command, task: "true"}
  - {name: docs, agent: command, task: "true"}
`,
		run.Record{Type: run.Started, Node: "api", Attempt: 1, At: runtest.At(-9), Place: &run.Place{Far: "ssh://box", Machine: "box"}},
		run.Record{Type: run.Silent, Node: "api", Attempt: 1, At: runtest.At(-1), Value: heard.Format(time.RFC3339Nano)},
		run.Record{Type: run.Started, Node: "web", Attempt: 1, At: runtest.At(-9), Place: &run.Place{Far: "ssh://box"}},
		run.Record{Type: run.Started, Node: "docs", Attempt: 1, At: runtest.At(-9), Place: &run.Place{}},
	)
	for node, want := range map[string]string{"api": "on box, no contact since 11:03", "web": "no machine yet", "docs": ""} {
		s := open(t, v, 160, 45, false)
		s.pickNode(node)
		screen := s.screen()
		if want != "" && !strings.Contains(screen, want) || want == "" && (strings.Contains(screen, "on box") || strings.Contains(screen, "no machine")) {
			t.Errorf("%s: want %q in\n%s", node, want, screen)
		}
	}
}
