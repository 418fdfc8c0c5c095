package early

import (
	"os"
	"strings"
	"testing"
)

func TestByProgram(t *testing.T) {
	for call, want := range map[string]bool{
		"cmux hook Stop": true, "cmux done ready": true, "cmux blocked why": true, "cmux agents exec api": true,
		"cmux": false, "cmux agents init": false, "cmux hook": false, "cmux agents resume": false, "cmux version --json": false,
	} {
		if got := byProgram(strings.Fields(call)); got != want {
			t.Errorf("%s: %v", call, got)
		}
	}
}

func TestRestore(t *testing.T) {
	t.Setenv("PATH", "/a:/b")
	path, hidden = "/c", true
	Restore()
	Restore()
	if got := os.Getenv("PATH"); got != "/c" {
		t.Errorf("PATH is %q", got)
	}
}
