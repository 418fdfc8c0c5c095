package kinds_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
)

// bin makes a folder with programs of these names in it, which do nothing.
func bin(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		if err := os.WriteFile(filepath.Join(dir, n), []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestInstalled(t *testing.T) {
	if got := kinds.Installed([]string{"PATH=" + bin(t, "kimi", "claude", "command")}); !slices.Equal(got, []string{"claude", "kimi"}) {
		t.Errorf("%q", got)
	}
	if got := kinds.Installed([]string{"PATH=" + bin(t)}); got != nil {
		t.Errorf("%q", got)
	}
}

// TestPreflight looks at every kind through the one way that start and doctor use.
func TestPreflight(t *testing.T) {
	none := agent.Setup{Env: []string{"PATH=" + bin(t), "HOME=" + t.TempDir()}}
	broken := agent.Setup{Env: []string{"PATH=" + bin(t, "claude", "codex", "kimi"), "HOME=" + t.TempDir()}}
	for _, c := range kinds.Listed() {
		for _, s := range []agent.Setup{none, broken} {
			fit := kinds.Preflight(t.Context(), c.Name, s)
			if (c.Can.Program == "") != (len(fit.Problems) == 0) {
				t.Errorf("%s: %+v", c.Name, fit)
			}
			for _, p := range fit.Problems {
				if p.What == "" || p.Try == "" {
					t.Errorf("%s: %+v", c.Name, p)
				}
			}
		}
	}
	kimi := func(env ...string) agent.Fitness {
		return kinds.Preflight(t.Context(), "kimi", agent.Setup{Env: append(slices.Clone(broken.Env), env...)})
	}
	share := t.TempDir()
	if fit := kimi("KIMI_SHARE_DIR=" + share); len(fit.Problems) != 1 || fit.Problems[0].Fatal || !strings.Contains(fit.Problems[0].What, "documentation") {
		t.Errorf("not configured: %+v", fit)
	}
	if err := os.WriteFile(filepath.Join(share, "config.toml"), []byte("default_model = \"k\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"KIMI_SHARE_DIR=" + share, "KIMI_API_KEY=k"} {
		if fit := kimi(env); len(fit.Problems) != 0 || len(fit.Facts) != 2 {
			t.Errorf("%s: %+v", env, fit)
		}
	}
}

func TestReopen(t *testing.T) {
	home := t.TempDir()
	const answer = `{"type":"assistant","message":{"id":"m1","model":"m","role":"assistant","content":[{"type":"text","text":"yes"}]}}` + "\n"
	for _, f := range []string{".claude/projects/-x/c1.jsonl", ".codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-c2.jsonl"} {
		f = filepath.Join(home, f)
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(answer), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := bin(t, "claude", "codex", "kimi")
	env := []string{"PATH=" + dir, "HOME=" + home, "CMUX_NODE=x", "CMUX_HOME=y", "CLAUDECODE=1", "KEEP=CMUX_"}
	for _, c := range []struct{ kind, id, want string }{
		{"claude", "c1", "claude --resume c1"},
		{"codex", "c2", "codex resume -C . c2"},
		{"kimi", "c3", "kimi --session c3"},
		{"claude", "c2", ""}, {"codex", "c1", ""}, {"codex", "2", ""}, {"command", "c1", ""}, {"other", "c1", ""},
	} {
		cmd, err := kinds.Reopen(c.kind, env, c.id)
		if c.want == "" {
			if err == nil {
				t.Errorf("%s %s: %v", c.kind, c.id, cmd)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(cmd.Args, " "); got != c.want || filepath.Dir(cmd.Path) != dir {
			t.Errorf("%s: %s (%s)", c.kind, got, cmd.Path)
		}
		if want := []string{"PATH=" + dir, "HOME=" + home, "KEEP=CMUX_"}; !slices.Equal(cmd.Env, want) {
			t.Errorf("env %q, want %q", cmd.Env, want)
		}
	}
	if _, err := kinds.Reopen("command", env, "x"); !errors.Is(err, kinds.ErrNoResume) {
		t.Error(err)
	}
	// Every kind whose table says that it resumes can be opened again.
	for _, c := range kinds.Listed() {
		_, err := kinds.Reopen(c.Name, env, "none")
		if errors.Is(err, kinds.ErrNoResume) != (c.Can.Resume == "") {
			t.Errorf("%s: %v, and the table says %q", c.Name, err, c.Can.Resume)
		}
	}
}
