package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/handover"
	"cmux/signals"
)

func TestUnread(t *testing.T) {
	const queued = `{"type":"queue-operation","operation":"enqueue","content":"look left"}`
	whole := func(text string) string {
		return strings.ReplaceAll(text, "@resumption", "you said: look left, look right")
	}
	for name, c := range map[string]struct {
		transcript, typed []string
		want              []string
	}{
		"nothing":                       {nil, nil, nil},
		"waits":                         {[]string{queued}, []string{"look left"}, []string{"look left"}},
		"killed before it was written":  {nil, []string{"look left"}, []string{"look left"}},
		"two, one of them written":      {[]string{queued}, []string{"look left", "look right"}, []string{"look left", "look right"}},
		"began a turn":                  {[]string{`{"type":"user","message":{"role":"user","content":"look left"}}`}, []string{"look left"}, nil},
		"taken back":                    {[]string{queued, `{"type":"queue-operation","operation":"remove","content":"look left"}`}, []string{"look left"}, nil},
		"said again at the last resume": {[]string{queued, `{"type":"user","message":{"role":"user","content":"go on @resumption"}}`}, []string{"look left", "look right"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			if err := os.WriteFile(path, []byte(strings.Join(append(c.transcript, ""), "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := unread(path, c.typed, whole); !slices.Equal(got, c.want) {
				t.Errorf("unread: %q, want %q", got, c.want)
			}
		})
	}
}

// A standing agent's program starts again within one attempt: what it was told at each
// start counts as said, however often it starts.
func TestSaidAtEachStart(t *testing.T) {
	a := &instance{stage: &agent.Stage{Files: agent.Files{Dir: t.TempDir(), N: 1}}}
	for _, said := range []string{"look left", "", "look right"} {
		file := a.freshResumption()
		if err := signals.PutFile(file, []byte("go on, "+said), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := a.saidBefore(handover.Mention(file)); !strings.Contains(got, said) {
			t.Errorf("%s is read as %q", file, got)
		}
	}
	all := handover.Mention(resumption(a.stage.Files, 1, 1)) + handover.Mention(resumption(a.stage.Files, 1, 3))
	if got := a.saidBefore(all); !strings.Contains(got, "look left") || !strings.Contains(got, "look right") {
		t.Errorf("after three starts: %q", got)
	}
	if got := a.saidBefore("nothing"); got != "nothing" {
		t.Errorf("what was not named: %q", got)
	}
}
