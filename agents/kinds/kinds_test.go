package kinds_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds"
	"cmux/dag"
)

var update = flag.Bool("update", false, "rewrite the table in the docs")

const (
	page  = "../../docs/agents.md"
	begin = "<!-- kinds: made by go test ./agents/kinds -update -->\n"
	end   = "<!-- end of kinds -->\n"
)

// TestDocs keeps the table in the docs as the code says.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	want := before + begin + kinds.Markdown() + end + after
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not what the code says; go test ./agents/kinds -update rewrites it", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAll(t *testing.T) {
	all := kinds.All()
	for _, c := range kinds.Listed() {
		k, ok := all[c.Name]
		if !ok || k.New == nil || k.Judge != (c.Name != dag.KindCommand) {
			t.Errorf("%s: %+v", c.Name, k)
		}
	}
	// As the configuration knows them, and its schema.
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, slices.Sorted(slices.Values(dag.Kinds()))) {
		t.Errorf("package dag knows %q, and there are %q", dag.Kinds(), got)
	}
}

func TestMissing(t *testing.T) {
	n := &dag.Node{Agent: dag.KindCommand, AutoAccept: true, Model: "opus"}
	n.Budget.Tokens = 5
	if got := kinds.Missing(n); len(got) != 3 {
		t.Errorf("%q", got)
	}
	for _, agent := range []string{"claude", "codex", "kimi", "other"} {
		n.Agent = agent
		if got := kinds.Missing(n); got != nil {
			t.Errorf("%s: %q", agent, got)
		}
	}
}
