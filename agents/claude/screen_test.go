package claude

import (
	"strings"
	"testing"
)

// Text is typed at an empty prompt, or at one that holds what cmux has put there,
// and nowhere else.
func TestHinders(t *testing.T) {
	mine := func(draft string) bool { return draft == "" || draft == "mine" }
	for _, c := range []struct {
		screen    screen
		reachable bool
		want      string // in what is said; empty: it is safe
	}{
		{screen{Prompt: true}, true, ""},
		{screen{Prompt: true, Draft: "mine"}, true, ""},
		{screen{Prompt: true, Draft: "a person's"}, true, "a line is begun"},
		{screen{Prompt: true}, false, "copy mode"},
		{screen{Prompt: true, Dialog: "trust"}, true, "a dialog (trust)"},
		{screen{Dialog: "trust"}, true, "a dialog (trust)"},
		{screen{}, true, "no prompt"},
		{screen{Draft: "mine"}, true, "no prompt"},
	} {
		got := c.screen.hinders(c.reachable, mine)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v, reachable %v: %q, want %q", c.screen, c.reachable, got, c.want)
		}
	}
}
