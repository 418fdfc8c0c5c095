package run

import (
	"os/exec"
	"testing"

	"cmux/worktree"
)

// What a command of setup sets, word for word, is no drift: neither a merge nor a
// new worktree is held up. Another value, and another key, is.
func TestSetupIsNoDrift(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_SYSTEM", "/dev/null")
	r := newRun(t)
	sh := func(script string) {
		t.Helper()
		c := exec.Command("sh", "-c", script)
		c.Dir = r.Plan.Root
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
	}
	sh("git init -q; git -c user.name=T -c user.email=t@example.org commit -q --allow-empty -m first")
	repo, err := worktree.Open(t.Context(), r.Plan.Root)
	if err != nil {
		t.Fatal(err)
	}
	base, err := repo.Shared.Read(t.Context(), repo.Root, false)
	if err == nil {
		err = r.WriteShared(base)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		setup, does string
		drifts      bool
	}{
		{"git config diff.lockb.textconv cat", "", false},
		{"git config filter.crypt.clean 'crypt clean %f'", "", false},
		{`git config --local filter.crypt.smudge "crypt smudge"`, "", false},
		{"git config filter.crypt.clean cat", "git config filter.crypt.clean evil", true},
		{"git config filter.crypt.clean cat", "git config filter.crypt.smudge cat", true},
		{"git config filter.crypt.clean cat; evil", "git config filter.crypt.clean 'cat; evil'", true},
		{"git config filter.crypt.clean '$X'", "git config filter.crypt.clean '$X'", true}, // for the shell it may be another
		{"sh prepare.sh", "git config filter.crypt.clean cat", true},
	} {
		r.Plan.Graph.Setup = []string{c.setup}
		if c.does == "" {
			c.does = c.setup
		}
		sh(c.does)
		_, changes, err := r.Drift(t.Context(), repo)
		if err != nil || len(changes) > 0 != c.drifts {
			t.Errorf("setup %s, then %s: %v, %v", c.setup, c.does, changes, err)
		}
		sh("git config --remove-section filter.crypt; git config --remove-section diff.lockb; true")
	}
}
