package control

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/control/logs"
)

func TestWorkAndLogEnd(t *testing.T) {
	s := worked(t)
	v, i, err := s.Runs().Node(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Runs().Work(t.Context(), v, i)
	if err != nil || len(w.Commits) != 1 || w.More != 0 || len(w.Stat) != 2 || !strings.HasPrefix(w.Stat[0], "b | 1 +") {
		t.Errorf("%+v, %v", w, err)
	}
	dir := v.Nodes[i].Attempt().Place.Tree
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("two\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, err = s.Runs().Work(t.Context(), v, i); err != nil || !strings.HasPrefix(w.Stat[0], "b | 2 ++") {
		t.Errorf("with a change that is not committed: %+v, %v", w, err)
	}
	if got := s.Runs().Sights(t.Context(), v, i); len(got) != 1 || got[0] != v.Run.NodeDir("b") {
		t.Errorf("of a node that has ended the log alone is looked at: %v", got)
	}
	all, err := logs.End(v.Run, "a", 1<<20)
	if err != nil || !strings.Contains(string(all), "\ntold\n") {
		t.Fatalf("%q, %v", all, err)
	}
	last := all[strings.LastIndex(strings.TrimSpace(string(all)), "\n")+1:]
	if got, err := logs.End(v.Run, "a", int64(len(last))+3); err != nil || string(got) != string(last) {
		t.Errorf("%q, %v, want the last line whole: %q", got, err, last)
	}
	if got, err := logs.End(v.Run, "nobody", 10); err != nil || got != nil {
		t.Errorf("%q, %v", got, err)
	}
}
