package agenttest

import (
	"fmt"
	"strings"
	"testing"

	mt "cmux/agents/testkit/modeltest"
)

// Words are how a scripted model has one program do what differs from the
// others.
type Words struct {
	Ask   mt.Step  // puts the question of the Subject
	Limit mt.Fault // the program takes for a limit; zero: mt.RateLimited
	Fail  mt.Fault // the program gives up at; zero: mt.ServerError
}

// Model plays agents whose program asks a model.
type Model struct {
	t      testing.TB
	server *mt.Server
	home   *mt.Home
}

// NewModel scripts a model for the programs of modeltest, at home in base.
func NewModel(t testing.TB, base string, play Play, w Words) *Model {
	t.Helper()
	if w.Limit.Status == 0 {
		w.Limit = mt.RateLimited
	}
	if w.Fail.Status == 0 {
		w.Fail = mt.ServerError
	}
	var scripts, task []mt.Script
	for i, p := range play {
		s := mt.Script{Name: fmt.Sprintf("part%d", i), Match: p.On, Turns: w.turns(p.Acts)}
		if p.On == "" {
			// A prompt in a file is known by the file's name.
			s.Name, s.Match = taskScript, "prompt-1.md"
			task = append(task, s)
			continue
		}
		scripts = append(scripts, s)
	}
	m := &Model{t: t, server: mt.New(t, append(scripts, task...)...)}
	m.home = mt.Env(t, m.server, Project(t, base))
	LogRequests(t, m.server)
	return m
}

// LogRequests has a test that fails tell what the model was asked.
func LogRequests(t testing.TB, server *mt.Server) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, r := range server.Requests() {
			said := ""
			if texts := r.UserTexts(); len(texts) > 0 {
				said = fmt.Sprintf("%.300q", texts[0])
			}
			t.Logf("request %d: %q turn %d, %d messages: %s", r.Seq, r.Script, r.Turn, len(r.Messages), said)
		}
	})
}

// taskScript answers to the task.
const taskScript = "task"

// turns are the answers of the model in which the acts come.
func (w Words) turns(acts []Act) (turns []mt.Turn) {
	var answer mt.Turn
	call := func(s mt.Step) {
		turns = append(turns, append(answer, s))
		answer = nil
	}
	for _, a := range acts {
		switch a := a.(type) {
		case Do:
			call(mt.Shell(a))
		case Say:
			answer = append(answer, mt.Text(a))
		case Report:
			call(mt.Report(string(a)))
		case Blocked:
			call(mt.Blocked(string(a)))
		case Ask:
			call(w.Ask)
		case Limit:
			return append(turns, append(answer, w.Limit))
		case Fail:
			return append(turns, append(answer, w.Fail))
		case Use:
			answer = append(answer, mt.Usage{Input: int(a.Input), Output: int(a.Output), CacheRead: int(a.CacheRead), CacheCreation: int(a.CacheCreate)})
		case Hold:
			answer = append(answer, mt.Hold(a))
		}
	}
	if n := len(acts); n > 0 {
		if _, said := acts[n-1].(Say); said {
			return append(turns, answer)
		}
	}
	return append(turns, append(answer, mt.Text("That is all.")))
}

// Env is the environment of the programs.
func (m *Model) Env() []string { return m.home.Env }

// Task marks the script.
func (m *Model) Task(task string) string { return task + "\n#script:" + taskScript }

func (m *Model) Heard() string {
	var b strings.Builder
	for _, r := range m.server.Requests() {
		for _, text := range r.UserTexts() {
			b.WriteString(text + "\n")
		}
		for _, result := range r.ToolResults() {
			b.WriteString(result.Text + "\n")
		}
	}
	return b.String()
}

func (m *Model) Held(gate string) bool { return m.server.Held(gate) > 0 }

func (m *Model) Release(gate string) { m.server.Release(gate) }
