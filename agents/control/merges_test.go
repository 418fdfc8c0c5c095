package control

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A branch that moves is noticed, whether git keeps it in a file or packed away.
func TestMergesAreHeard(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []string // of git, before the watch stands
		moves  []string
	}{
		{"a file", nil, []string{"update-ref", "refs/heads/team/dev", "other"}},
		{"packed", []string{"pack-refs", "--all", "--prune"}, []string{"update-ref", "refs/heads/team/dev", "other"}},
		{"while it is packed", nil, []string{"pack-refs", "--all", "--prune"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			git := func(args ...string) {
				t.Helper()
				cmd := exec.Command("git", args...)
				cmd.Dir = root
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
				}
			}
			git("init", "-q", "-b", "other")
			git("commit", "-q", "--allow-empty", "-m", "one")
			git("branch", "team/dev")
			git("commit", "-q", "--allow-empty", "-m", "two")
			if c.before != nil {
				git(c.before...)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			heard := make(chan struct{}, 100)
			over := make(chan struct{})
			go func() {
				defer close(over)
				for ctx.Err() == nil { // as Merges does
					new(Project).mergesInto(ctx, filepath.Join(root, ".git"), "team/dev", func() { heard <- struct{}{} })
				}
			}()
			<-heard // the watch stands
			git(c.moves...)
			select {
			case <-heard:
			case <-ctx.Done():
				t.Error("nothing was heard")
			}
			cancel()
			<-over
		})
	}
}

func TestRefChanged(t *testing.T) {
	changed := []string{"/g/refs/heads/a/b", "/g/refs/heads/a", "/g/packed-refs", "/g/reftable/tables.list"}
	for _, file := range append(changed, "/g/refs/heads/a/c", "/g/index", "/g/refs/heads/ab", "/g/HEAD") {
		if got := refChanged("/g", "/g/refs/heads/a/b", file); got != slices.Contains(changed, file) {
			t.Errorf("%s: %v", file, got)
		}
	}
}
