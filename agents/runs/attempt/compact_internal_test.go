package attempt

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/records/event"
	"cmux/agents/records/journal"
	"cmux/agents/runs/attempt/output"
	"cmux/agents/runs/owner"
	"cmux/agents/runs/run"
)

// hears returns an attempt of a standing agent that gets hooks about compactions, and its
// records about them.
func hears(t *testing.T, journals bool) (a *attempt, said func() string) {
	root := t.TempDir()
	var recorded []string
	a = &attempt{
		loop: loop{ctx: t.Context()}, out: output.New(io.Discard),
		assignment: assignment{
			spec:  &run.Spec{Node: "w1", Frame: &run.Frame{Root: root}, Terms: owner.Terms{Stays: true, Journals: journals}},
			stage: &agent.Stage{Dir: root, Out: io.Discard, Lines: new(event.Printer)},
		}}
	a.job = &Job{Record: func(r run.Record) error {
		if r.Type == run.Compacting || r.Type == run.Compacted {
			recorded = append(recorded, string(r.Type)+" "+strings.TrimSpace(r.Key+" "+filepath.Base(r.Value)))
		}
		return nil
	}}
	a.reporter = &reporter{append: a.job.Record, out: a.out, events: a.stage}
	a.compaction = compaction{reporter: a.reporter, standing: true, keep: a.keepState, conversation: func() string { return "" }}
	return a, func() string { return strings.Join(recorded, ", ") }
}

// Until the next turn, the confirmation of a compaction that cmux no longer waits for
// counts once, for its command.
func TestLateCompaction(t *testing.T) {
	begins := func(a *attempt) error { return a.react(news.Compacts{Trigger: "manual"}, 0) }
	ends := func(a *attempt) error { return a.react(news.Compacted{Trigger: "manual"}, 0) }
	prompt := func(a *attempt) error { a.compaction.lapse(); return nil }
	over := func(did bool) func(*attempt) error {
		return func(a *attempt) error { return a.compaction.over(a.compaction.now, did) }
	}
	type steps []func(*attempt) error
	for name, c := range map[string]struct {
		steps steps
		want  string
	}{
		"its hooks are slow":         {steps{over(false), begins, ends}, "compacted o1 a.json"},
		"it began, its end is slow":  {steps{begins, over(false), prompt, ends}, "compacted o1 a.json"},
		"known by its conversation":  {steps{begins, over(true), ends}, "compacted o1 a.json"},
		"known, and no hook comes":   {steps{over(true)}, "compacted o1 a.json"},
		"another one after that":     {steps{over(true), begins, ends}, "compacted o1 a.json, compacts OWN, compacted OWN"},
		"another one, both heard of": {steps{begins, over(true), ends, begins, ends}, "compacted o1 a.json, compacts OWN, compacted OWN"},
		"it came to nothing":         {steps{over(false), prompt, begins, ends}, "compacts OWN, compacted OWN"},
	} {
		t.Run(name, func(t *testing.T) {
			a, said := hears(t, false)
			a.compaction.now = &compacting{key: "o1", trig: ordered, path: "a.json", done: make(chan struct{})}
			for i, step := range c.steps {
				if err := step(a); err != nil {
					t.Fatal(i, err)
				}
			}
			got := strings.Split(said(), ", ")
			for i, s := range got {
				if of, name, _ := strings.Cut(s, " "); strings.HasPrefix(name, "compaction-w1-") {
					got[i] = of + " OWN"
				}
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("%s; want %s", s, c.want)
			}
		})
	}
}

// That the journal cannot tell of it does not mean that it is not kept.
func TestKeptWithoutAnEntry(t *testing.T) {
	a, _ := hears(t, true)
	j := journal.Journal{Root: a.spec.Frame.Root, Now: time.Now}
	first, err := j.Artifact("first.json", nil)
	if err != nil {
		t.Fatal(err)
	}
	day := filepath.Dir(filepath.Dir(filepath.Join(j.Root, first)))
	if err := os.Mkdir(filepath.Join(day, "journal.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Add(t.Context(), journal.Entry{Title: "x", By: "supervisor", Text: "x"}); err == nil {
		t.Fatal("the journal takes entries")
	}
	path, err := a.keepState(ordered, "o1")
	if err != nil || path == "" {
		t.Fatalf("%q, %v", path, err)
	}
	b, err := os.ReadFile(filepath.Join(j.Root, path))
	var kept artifact
	if err != nil || json.Unmarshal(b, &kept) != nil || kept.Order != "o1" {
		t.Errorf("%s holds %s, %v", path, b, err)
	}
	if again, err := a.keepState(ordered, "o2"); err != nil || again == path {
		t.Errorf("the next one is %q, %v", again, err)
	}
}
