package room

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/room/marks"
)

// TestPhases holds the table of phases against what rooms do: no way is taken that it does
// not have, and it has none that is never taken.
func TestPhases(t *testing.T) {
	taken := map[[2]Phase]bool{}
	for seed := range uint64(4000) {
		w := play(byRand{rand.New(rand.NewPCG(seed, 3))})
		w.helpful()
		for way := range w.seen {
			taken[way] = true
		}
	}
	files, _ := filepath.Glob("testdata/*.trace")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, w := trace(t, string(b))
		maps.Copy(taken, w.seen)
	}
	for _, p := range Phases {
		for _, way := range p.Ways {
			if !taken[[2]Phase{p.Phase, way.To}] {
				t.Errorf("from %s to %s nothing ever goes", p.Phase, way.To)
			}
			delete(taken, [2]Phase{p.Phase, way.To})
		}
		if p.Is == "" || len(p.Ways) == 0 {
			t.Errorf("%s: it is not said what it is, or there is no way out", p.Phase)
		}
	}
	for way := range taken {
		if way[0] != "" && way[1] != IsClosed {
			t.Errorf("from %s to %s: the table does not have it", way[0], way[1])
		}
	}
}

const page = "../../docs/room.md"

// TestDocs keeps docs/room.md what the tables say.
func TestDocs(t *testing.T) {
	got := roomPage()
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil || got != string(want) {
		t.Errorf("%s is stale: go test ./agents/room -run TestDocs -update (%v)", page, err)
	}
}

func roomPage() string {
	var b strings.Builder
	b.WriteString(`# How a room goes on

A room is one conversation between a person and several agents. What happens in it is
decided by one pure function over the lines of its file. This page is written from its
tables.

## Phases

| phase | what it is | goes to | when |
|---|---|---|---|
`)
	for _, p := range Phases {
		name, is := string(p.Phase), p.Is
		for _, way := range p.Ways {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, is, way.To, way.When)
			name, is = "", ""
		}
	}
	b.WriteString("\nFrom every phase a person closes the room; turns that are under way are broken off first.\n\n## Rules\n\n")
	for i, rule := range Rules[1:] {
		fmt.Fprintf(&b, "%d. %s.\n", i+1, strings.ToUpper(rule[:1])+rule[1:])
	}
	b.WriteString("\n## Marks\n\nWhat an agent writes in a room, and what it does there. Nothing inside of code counts.\n\n| mark | what it does |\n|---|---|\n")
	for _, m := range marks.Table() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", m.Form, m.Help)
	}
	return b.String()
}
