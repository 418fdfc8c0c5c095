package host

import (
	"testing"
	"time"

	"cmux/dag"
)

func TestHeadline(t *testing.T) {
	at := time.Date(2026, 1, 2, 14, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		s           Summary
		full, brief string
	}{
		{Summary{Nodes: 8}, "0/8 done", "0/8"},
		{Summary{Need: 2, Done: 5, Nodes: 8, Tokens: 1_234_567, Limited: true, Until: at},
			"#[fg=white bg=magenta bold] 2 need you: F8 #[default] · 5/8 done · 1.2M tokens · limited until 14:30",
			"#[fg=white bg=magenta bold] 2 need you: F8 #[default] · 5/8 · limited until 14:30"},
		{Summary{Need: 1, Nodes: 1, Limited: true},
			"#[fg=white bg=magenta bold] 1 needs you: F8 #[default] · 0/1 done · limited",
			"#[fg=white bg=magenta bold] 1 needs you: F8 #[default] · 0/1 · limited"},
		{Summary{Failed: 1, Done: 2, Nodes: 4, State: dag.RunFailed},
			"failed · #[fg=red]1 failed#[default] · 2/4 done", "failed · #[fg=red]1 failed#[default] · 2/4"},
	} {
		if h := headline(c.s); h.Full != c.full || h.Brief != c.brief {
			t.Errorf("%+v:\n%s\n%s\nwant\n%s\n%s", c.s, h.Full, h.Brief, c.full, c.brief)
		}
	}
}
