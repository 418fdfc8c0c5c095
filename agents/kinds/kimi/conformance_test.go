package kimi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/kinds/kimi"
	"cmux/agents/testkit/agenttest"
)

func TestConformance(t *testing.T) { agenttest.Run(t, subject()) }

func TestStandingConformance(t *testing.T) { agenttest.RunStanding(t, subject()) }

func subject() agenttest.Subject {
	return agenttest.Subject{
		Kind: kimi.Kind(),
		Play: func(t testing.TB, base string, play agenttest.Play) agenttest.Player {
			p := &player{t: t, base: base}
			p.env = standinEnv(t, base, script{Parts: p.parts(play)})
			return p
		},
		Question: agenttest.Question{Shown: "which way?", Answer: "2", Told: "right"},
	}
}

// player has the stand-in play.
type player struct {
	t    testing.TB
	base string
	env  []string
}

func (p *player) parts(play agenttest.Play) (parts []part) {
	var task []part
	for _, q := range play {
		if q.On == "" {
			task = append(task, part{Steps: p.steps(q.Acts)}) // every text holds that
		} else {
			parts = append(parts, part{q.On, p.steps(q.Acts)})
		}
	}
	return append(parts, task...)
}

func (p *player) steps(acts []agenttest.Act) (steps []step) {
	var tokens m
	for _, a := range acts {
		var s step
		switch a := a.(type) {
		case agenttest.Do:
			s.Shell = string(a)
		case agenttest.Say:
			s.Say = string(a)
		case agenttest.Report:
			s.Shell = "cmux done '" + string(a) + "'"
		case agenttest.Blocked:
			s.Shell = "cmux blocked '" + string(a) + "'"
		case agenttest.Ask:
			s.Ask = "which way?"
		case agenttest.Limit:
			s.Fail, s.Message = -32003, "Error code: 429 rate limit reached"
		case agenttest.Fail:
			s.Fail, s.Message = -32003, "Error code: 503 - unavailable"
		case agenttest.Hold:
			s.Hold = p.gate(string(a))
		case agenttest.Use:
			tokens = m{"input_other": a.Input, "output": a.Output, "input_cache_read": a.CacheRead, "input_cache_creation": a.CacheCreate}
			continue
		}
		s.Tokens, tokens = tokens, nil
		steps = append(steps, s)
	}
	return steps
}

func (p *player) gate(name string) string { return filepath.Join(p.base, "gate-"+name) }

func (p *player) Env() []string { return p.env }

func (p *player) Task(task string) string { return task }

// Heard is what the stand-in was sent, and what its tools returned.
func (p *player) Heard() string {
	files, _ := filepath.Glob(filepath.Join(p.base, "kimi", "*", "*.jsonl"))
	var all strings.Builder
	for _, name := range files {
		b, _ := os.ReadFile(name)
		for line := range strings.Lines(string(b)) {
			var v any
			if json.Unmarshal([]byte(line), &v) == nil {
				texts(&all, v)
			}
		}
	}
	return all.String()
}

// texts writes every text in a value of JSON.
func texts(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, e := range v {
			texts(b, e)
		}
	case map[string]any:
		for _, e := range v {
			texts(b, e)
		}
	}
}

func (p *player) Held(gate string) bool {
	_, err := os.Stat(p.gate(gate) + ".held")
	return err == nil
}

func (p *player) Release(gate string) {
	p.t.Helper()
	if err := os.WriteFile(p.gate(gate), nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
