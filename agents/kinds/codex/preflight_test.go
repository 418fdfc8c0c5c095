package codex_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/codex"
	"cmux/agents/testkit/modeltest"
)

// TestPreflight asks the real program.
func TestPreflight(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	h := modeltest.Env(t, modeltest.New(t, modeltest.Script{Name: "none"}), root)
	look := func(env []string) agent.Fitness {
		return codex.Preflight(t.Context(), agent.Setup{Env: env, Root: root})
	}
	is := func(what string, f agent.Fitness, facts, problem string) {
		t.Helper()
		if got := strings.Join(f.Facts, ", "); !strings.Contains(got, facts) {
			t.Errorf("%s: facts %q, want %q", what, got, facts)
		}
		var got []string
		for _, p := range f.Problems {
			got = append(got, p.What)
		}
		if (problem == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "; "), problem) {
			t.Errorf("%s: problems %q, want %q", what, got, problem)
		}
	}
	is("a provider with its key", look(h.Env), "works with the provider modeltest, trusts "+root, "")
	keyless := slices.DeleteFunc(slices.Clone(h.Env), func(e string) bool { return strings.HasPrefix(e, "MODELTEST_KEY=") })
	is("a provider without its key", look(keyless), "trusts", "takes its key from MODELTEST_KEY")

	config := filepath.Join(h.Codex, "config.toml")
	write := func(file, text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(config, "[features]\nplugins = false\ndaemon_auto_start = false\n[analytics]\nenabled = false\n")
	is("nobody is logged in", look(h.Env), "", "not logged in")
	is("a key in the environment is not enough for it", look(append(slices.Clone(h.Env), "OPENAI_API_KEY=x")), "", "not logged in")
	write(filepath.Join(h.Codex, "auth.json"), `{"auth_mode": "apikey", "OPENAI_API_KEY": "sk-x"}`)
	f := look(h.Env)
	is("logged in with a key", f, "logged in", "")
	if slices.Contains(f.Facts, "trusts "+root) {
		t.Errorf("trust from nowhere: %q", f.Facts)
	}
	write(config, "model = [\n")
	is("a broken configuration", look(h.Env), "", "does not tell about itself")

	bin := t.TempDir()
	is("not installed", look([]string{"PATH=" + bin}), "", "not installed")
	// By a process of its own: a program that another test starts at this moment would
	// inherit the open file, and the kernel does not execute what somebody writes.
	program := func(text string) {
		cmd := exec.Command("sh", "-c", `cat > "$0" && chmod 755 "$0"`, filepath.Join(bin, "codex"))
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	program("#!/bin/sh\necho no >&2\nexit 1\n")
	is("another program", look([]string{"PATH=" + bin}), "", "does not tell about itself: no")
	answer := func(agent string) string {
		return "#!/bin/sh\nread l; echo '{\"id\":1,\"result\":{\"userAgent\":\"cmux/" + agent + " (x)\"}}'; read l; read l\n" +
			"echo '{\"method\":\"noise\"}'; echo '{\"id\":2,\"result\":{\"account\":null,\"requiresOpenaiAuth\":false}}'; read l; echo '{\"id\":3,\"result\":{\"config\":{}}}'\n"
	}
	program(answer("0.200.1"))
	is("another version", look([]string{"PATH=" + bin}), "0.200.1", "this is 0.200.1")
	program("#!/bin/sh\nread l; : > \"$HOME/asked\"; exec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := os.Stat(filepath.Join(bin, "asked")); err == nil || ctx.Err() != nil {
				return
			}
		}
	}()
	is("one that never answers", codex.Preflight(ctx, agent.Setup{Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin}}), "", "canceled")
	program(answer("0.169.7"))
	cancel()
	is("another patch of the same", look([]string{"PATH=" + bin}), "0.169.7", "")
}
