package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// An agent that tries a node again learns the result of the attempt before. It does
// not count as lost when the process of that attempt ends after its own start.
func TestNextAttemptKnowsTheLast(t *testing.T) {
	p := newProject(t, `
session: s
agents:
  - {name: api, agent: scripted, role: review, retries: {max: 1, backoff: 1ms}, task: 'test -e $CMUX_RUN_DIR/again || { touch $CMUX_RUN_DIR/again; exit 3; }; cmux done x'}
`)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := p.create(func(o *StartOptions) { o.Binary, o.Kinds = self, aiKinds() })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if state, err := Run(ctx, Options{Run: r, How: HowStart, Kinds: aiKinds()}); err != nil || state != dag.RunDone {
		t.Fatalf("%s, %v: %s", state, err, p.labels(r))
	}
	if n := p.count(r, func(rec *run.Record) bool { return rec.Type == run.Vanished }); n > 0 {
		t.Errorf("%d attempts were lost", n)
	}
	for file, want := range map[string]bool{"prompt-1.md": false, "prompt-2.md": true} {
		b, err := os.ReadFile(filepath.Join(r.NodeDir("api"), file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "- Attempt 1 failed (exit 3)") != want {
			t.Errorf("%s tells of attempt 1: want %v\n%s", file, want, b)
		}
	}
}
