package control

import (
	"testing"

	"cmux/agents/org/standing"
)

// The settings are shown as they are written in the file.
func TestFlatIsPlain(t *testing.T) {
	all, err := flat(standing.Settings{Verify: []string{"go vet <a> && go test"}})
	if want := `["go vet <a> && go test"]`; err != nil || all["verify"] != want {
		t.Errorf("%q, %v; want %q", all["verify"], err, want)
	}
}
