package standing

import (
	"os"
	"strings"
	"testing"
)

// No role shows a check that is refused: which ones count is the configuration's.
func TestRolesShowNoCheck(t *testing.T) {
	for _, role := range []string{"supervisor.md"} {
		text, err := os.ReadFile("templates/" + role)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "cmux tasks add") && strings.Contains(line, "--verify") {
				t.Errorf("%s: %s", role, line)
			}
		}
	}
}
