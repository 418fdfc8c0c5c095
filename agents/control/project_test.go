package control

import (
	"strings"
	"testing"
)

func TestGitEnvPointsNowhereElse(t *testing.T) {
	c := Caller{Env: []string{"GIT_DIR=/x", "GIT_INDEX_FILE=/y", "GIT_AUTHOR_NAME=me", "LC_ALL=de_DE.UTF-8"}}
	got := strings.Join(c.CleanEnv(), " ")
	if got != "GIT_AUTHOR_NAME=me LC_ALL=C" {
		t.Errorf("git's environment is %q", got)
	}
}
