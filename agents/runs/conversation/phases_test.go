package conversation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cmux/agents/kinds/news"
)

var update = flag.Bool("update", false, "rewrite the pages and traces")

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
			for _, e := range p.log {
				t.Logf("%v", format(e.What))
			}
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

const page = "../../../docs/conversation.md"

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
		t.Errorf("%s is stale: go test ./agents/runs/conversation -run TestPage -update (%v)", page, err)
	}
}

func phasesPage() string {
	var b strings.Builder
	b.WriteString(`# The conversation with an agent

Generated from agents/runs/conversation/phases.go: go test ./agents/runs/conversation -run TestPage -update.

One pure function, conversation.Step, decides what cmux sends to an agent, when it
sends it, and what the agent's reports mean. A conversation is in one phase at a
time:

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
- The agent is stuck (its hooks do not run, or messages do not reach it): cmux ends
  its program, and a person decides.
- A person types in its pane: it is taken over. cmux sends it nothing and asks it
  nothing until it reports or the person releases it.
- A person overrides its node: cmux sends it nothing and asks it nothing any more.
  Its report or the end of its program closes the conversation.

## What always holds

Tests check random conversations against this:

- cmux types nothing while a person works in the agent, or a question is open. It
  types only if the screen shows an empty prompt, or a prompt with the message that
  it is typing: never into a line that a person has begun, a dialog, copy mode or an
  unknown screen.
- A person's message is delivered once, or still pending, or the person is told that
  it was not delivered. It is never lost and never delivered twice.
- Every waiting hook and call gets exactly one answer.
- Every report gets one verdict, and no report overtakes an earlier message.
- Every phase has a path to the end.
- The same events lead to the same state.
`)
	return b.String()
}
