package remains

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/runs/run/runtest"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with a file below testdata, or rewrites it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestChangelog(t *testing.T) {
	golden(t, "changelog.md", changelog(runtest.Everything(t), runtest.Noon, func(n *run.NodeView) work {
		if n.Spec.Name != "flaky" {
			return work{}
		}
		return work{commits: []string{"1234567 Try it again", "2345678 say \x1b[31mwhy\x1b[0m"}, stat: " a.go | 2 ++\n"}
	}))
}
