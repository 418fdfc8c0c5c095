package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
)

// oldest is the version that cmux is tested with.
var oldest = [3]int{2, 1, 329}

// lookTime bounds how long the program may take to tell its version.
const lookTime = 30 * time.Second

// Preflight looks for what would keep Claude Code from working unattended: its
// files are read, and nothing but `claude --version` is started.
func Preflight(ctx context.Context, s agent.Setup) agent.Fitness {
	var f agent.Fitness
	path, err := agent.LookPath("claude", s.Env)
	if err != nil {
		f.Fatal("Claude Code is not installed: no claude in PATH", "npm install -g @anthropic-ai/claude-code")
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.WaitDelay = s.Env, time.Second
	if out, err := cmd.Output(); err != nil {
		f.Fatal(fmt.Sprintf("%s --version: %v", path, err), "install Claude Code again: npm install -g @anthropic-ai/claude-code")
	} else if v, ok := parseVersion(string(out)); ok {
		text := fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
		f.Fact(text)
		if slices.Compare(v[:], oldest[:]) < 0 {
			f.Warn(fmt.Sprintf("Claude Code %s is older than %d.%d.%d, with which cmux is tested", text, oldest[0], oldest[1], oldest[2]), "claude update")
		}
	}
	if s.AutoAccept && os.Geteuid() == 0 && proc.Getenv(s.Env, "IS_SANDBOX") != "1" {
		f.Fatal("Claude Code refuses auto_accept as root", "run as another user, or set IS_SANDBOX=1 inside a container")
	}
	if s.Headless && s.Asks {
		f.Warn("headless nobody answers Claude Code's permission dialogs, so what needs one is refused; writing in scope, committing, reading and the node's checks need none", "set auto_accept: true, or permissions.allow in the project's .claude/settings.json (docs/permissions.md)")
	}
	c := readConfig(s.Env)
	if loggedIn(s.Env, c) {
		f.Fact("logged in")
	} else {
		f.Fatal("Claude Code is not logged in", "run claude once and log in, or set ANTHROPIC_API_KEY")
	}
	if !s.Headless { // headless it shows no dialogs
		firstScreens(&f, s, c)
	}
	return f
}

// firstScreens looks for the dialogs that a terminal would show first.
func firstScreens(f *agent.Fitness, s agent.Setup, c config) {
	there, inside := "", ""
	if s.Root != "" {
		there, inside = " in "+s.Root, " in "+s.Root+" and answer Yes"
	}
	if !c.Onboarded {
		f.Fatal("Claude Code has not been set up: it would show its first-run screens", "run claude once"+there)
	}
	if key := proc.Getenv(s.Env, "ANTHROPIC_API_KEY"); key != "" && !slices.Contains(c.Keys.Approved, key[max(0, len(key)-20):]) {
		f.Fatal("Claude Code has not been told to use the API key of the environment, and would ask", "run claude once"+inside+", or unset ANTHROPIC_API_KEY")
	}
	switch {
	case s.Root == "":
	case proc.Getenv(s.Env, "CLAUDE_CODE_SANDBOXED") == "" && !c.trusts(s.Root):
		f.Fatal("Claude Code does not trust "+s.Root+" yet, and would ask", "run claude once"+inside)
	default:
		f.Fact("trusts " + s.Root)
	}
}

// parseVersion reads what `claude --version` prints.
func parseVersion(s string) (v [3]int, ok bool) {
	_, err := fmt.Sscanf(s, "%d.%d.%d", &v[0], &v[1], &v[2])
	return v, err == nil
}

// config is what is read of the program's own files.
type config struct {
	Onboarded bool `json:"hasCompletedOnboarding"`
	Keys      struct {
		Approved []string `json:"approved"`
	} `json:"customApiKeyResponses"`
	Account  json.RawMessage `json:"oauthAccount"`
	Projects map[string]struct {
		Trusted bool `json:"hasTrustDialogAccepted"`
	} `json:"projects"`
	helper bool // settings name a program that gives the key
}

// readConfig reads what can be read; what cannot counts as not there.
func readConfig(env []string) config {
	var c config
	file := filepath.Join(proc.Getenv(env, "HOME"), ".claude.json")
	if dir := proc.Getenv(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		file = filepath.Join(dir, ".claude.json")
	}
	if b, err := os.ReadFile(file); err == nil && json.Unmarshal(b, &c) != nil {
		c = config{}
	}
	var settings struct {
		Helper string `json:"apiKeyHelper"`
	}
	if b, err := os.ReadFile(filepath.Join(configDir(env), "settings.json")); err == nil {
		c.helper = json.Unmarshal(b, &settings) == nil && settings.Helper != ""
	}
	return c
}

// trusts reports whether the folder or one above it is trusted.
func (c *config) trusts(root string) bool {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	for dir := root; ; dir = filepath.Dir(dir) {
		if c.Projects[dir].Trusted {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// trustsProject reports whether the person trusts the project of a stage.
func trustsProject(env []string) bool {
	root, c := proc.Getenv(env, "CMUX_ROOT"), readConfig(env)
	return root != "" && c.trusts(root)
}

// loggedIn reports whether there are credentials. Those that macOS keeps in its
// keychain show in the account alone.
func loggedIn(env []string, c config) bool {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
	} {
		if proc.Getenv(env, name) != "" {
			return true
		}
	}
	if c.helper {
		return true
	}
	account := len(c.Account) > 0 && strings.TrimSpace(string(c.Account)) != "null"
	if runtime.GOOS == "darwin" && account {
		return true
	}
	_, err := os.Stat(filepath.Join(configDir(env), ".credentials.json"))
	return err == nil
}
