package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
