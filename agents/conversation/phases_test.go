package conversation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cmux/agents/news"
)

var update = flag.Bool("update", false, "write the pages and traces anew")

type byRand struct{ *rand.Rand }

func (r byRand) below(n int) int { return r.IntN(n) }

// TestPhases holds the table of phases against what conversations do: no way is
// taken that it does not have, and it has none that is never taken.
func TestPhases(t *testing.T) {
	taken := map[[2]Phase]bool{}
	for seed := range uint64(40_000) {
		p := play(byRand{rand.New(rand.NewPCG(seed, 1))})
		p.helpful()
		if p.broken != "" {
			t.Fatalf("seed %d: %s", seed, p.broken)
		}
		s := New(p.s.Config)
		for _, e := range p.log {
			from := s.Phase
			m := take(s, e)
			s = m.State
			for _, to := range m.path {
				_, overspent := e.What.(Overspent)
				did, _ := e.What.(Did)
				if _, stuck := did.Event.(news.Stuck); !(overspent && to == Closing || stuck && to == Halting) {
					taken[[2]Phase{from, to}] = true
				}
				from = to
			}
		}
	}
	for p := range phases {
		for _, w := range Phases[p].Ways {
			if !taken[[2]Phase{p, w.To}] {
				t.Errorf("from %s to %s nothing ever goes", p, w.To)
			}
			delete(taken, [2]Phase{p, w.To})
		}
		if Phases[p].Is == "" || p != Closing && len(Phases[p].Ways) == 0 {
			t.Errorf("%s: it is not said what it is, or there is no way out", p)
		}
	}
	for way := range taken {
		t.Errorf("from %s to %s: the table does not have it", way[0], way[1])
	}
}

const page = "../../docs/conversation.md"

// TestPage keeps docs/conversation.md what the table says.
func TestPage(t *testing.T) {
	got := phasesPage()
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil || got != string(want) {
		t.Errorf("%s is stale: go test ./agents/conversation -run TestPage -update (%v)", page, err)
	}
}

func phasesPage() string {
	var b strings.Builder
	b.WriteString(`# The conversation with an agent

Generated from agents/conversation/phases.go: go test ./agents/conversation -run TestPage -update.

What is said to an agent and when, and what its words mean, is decided by one
pure function, conversation.Step. A conversation is in one phase at a time:

`)
	for p := range phases {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", strings.ToUpper(p.String()[:1])+p.String()[1:], Phases[p].Is)
		if len(Phases[p].Ways) == 0 {
			continue
		}
		b.WriteString("| goes to | when |\n|---|---|\n")
		for _, w := range Phases[p].Ways {
			fmt.Fprintf(&b, "| %s | %s |\n", w.To, w.When)
		}
		b.WriteString("\n")
	}
	b.WriteString(`## In every phase

- Cancelled, stopped, or taken along by its runner: the conversation closes.
- A budget is used up: it closes, but a report that is judged already is still
  accepted; it fails only when the agent would have to go on.
- The agent is stuck (nothing guards it, or what it is told does not reach it):
  its program is ended, and a person decides.
- A person types in its pane: it is taken over. Nothing is handed to it and
  nothing asked of it until it reports or the person releases it.
- A person overrides its node: nothing is asked of it and nothing handed to it
  any more; its report or the end of its program closes the conversation.

## What always holds

Random conversations are held against this in tests:

- Nothing is typed while a person is at work in the agent, or a question is open,
  nor unless the screen shows an empty prompt, or one in which the message stands
  that is being typed: never into a line that a person has begun, a dialog, copy
  mode or a screen that is not known.
- What a person says is handed over once, or still waits, or is told to them as
  not handed over. It is never lost and never handed over twice.
- Every hook and every call that waits gets exactly one answer.
- Every report gets one judgment, and none overtakes what was said before it.
- From everywhere there is a way to the end.
- The same events lead to the same state.
`)
	return b.String()
}
