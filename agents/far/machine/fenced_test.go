package machine

import (
	"os"
	"path/filepath"
	"testing"

	"cmux/agents/platform/fence"
	"cmux/dag"
)

// In a fence, an agent works in its worktree, although that is in the folder of the
// worker, which a fence keeps back.
func TestFenced(t *testing.T) {
	h := newHome(t)
	h.dir = filepath.Join(os.Getenv("HOME"), ".local", "state", "cmux", "worker")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	h.open()
	h.renewing()
	if _, err := fence.Support(); err != nil {
		t.Skip(err)
	}
	ref, need, job := h.job(`
agents:
  - name: api
    agent: scripted
    task: |
      echo made > made && git add made && git commit -q -m made
      cat "$HOME/.local/state/cmux/key" && cmux blocked "it reads the key"
      touch ../in.jsonl2 2>/dev/null && cmux blocked "it writes the journal"
      cmux done "made $(git log --format=%s -1)"
`)
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	all := h.all(ref)
	end := all[len(all)-1]
	if end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done || end.Record.End.Summary != "made made" {
		t.Fatalf("the end:\n%s", told(all))
	}
}
