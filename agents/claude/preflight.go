package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"cmux/agents/attempt"
)

// Setup is where and how nodes of this kind are to run.
type Setup struct {
	Env        []string // that the run is frozen with
	Root       string   // the project's; its worktrees inherit its trust
	Headless   bool
	AutoAccept bool // some node has it
	Asks       bool // some node has not
}

// Problem is something that would keep Claude Code from working unattended.
type Problem struct {
	What  string
	Try   string // the way out
	Fatal bool   // no node of this kind can run; otherwise it is worth a warning
}

// oldest is the version that cmux is tested with.
var oldest = [3]int{2, 1, 329}

// Preflight looks for what would keep Claude Code from working unattended: its
// files are read, and nothing but `claude --version` is started.
func Preflight(ctx context.Context, s Setup) []Problem {
	path, err := attempt.LookPath("claude", s.Env)
	if err != nil {
		return []Problem{{"Claude Code is not installed: no claude in PATH", "npm install -g @anthropic-ai/claude-code", true}}
	}
	var found []Problem
	add := func(fatal bool, what, try string) { found = append(found, Problem{what, try, fatal}) }
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = s.Env
	if out, err := cmd.Output(); err != nil {
		add(true, fmt.Sprintf("%s --version: %v", path, err), "install Claude Code anew: npm install -g @anthropic-ai/claude-code")
	} else if v, ok := parseVersion(string(out)); ok && slices.Compare(v[:], oldest[:]) < 0 {
		add(false, fmt.Sprintf("Claude Code %d.%d.%d is older than %d.%d.%d, with which cmux is tested", v[0], v[1], v[2], oldest[0], oldest[1], oldest[2]), "claude update")
	}
	if s.AutoAccept && os.Geteuid() == 0 && getenv(s.Env, "IS_SANDBOX") != "1" {
		add(true, "Claude Code refuses auto_accept as root", "run as another user, or set IS_SANDBOX=1 inside a container")
	}
	if s.Headless && s.Asks {
		add(false, "headless nobody answers Claude Code's permission dialogs, so what needs one is refused", "set auto_accept: true, or permissions.allow in the project's .claude/settings.json")
	}
	c := readConfig(s.Env)
	if !loggedIn(s.Env, c) {
		add(true, "Claude Code is not logged in", "run claude once and log in, or set ANTHROPIC_API_KEY")
	}
	if s.Headless {
		return found // it shows no dialogs
	}
	if !c.Onboarded {
		add(true, "Claude Code has not been set up: it would show its first-run screens", "run claude once in "+s.Root)
	}
	if key := getenv(s.Env, "ANTHROPIC_API_KEY"); key != "" && !slices.Contains(c.Keys.Approved, key[max(0, len(key)-20):]) {
		add(true, "Claude Code has not been told to use the API key of the environment, and would ask", "run claude once in "+s.Root+" and answer Yes, or unset ANTHROPIC_API_KEY")
	}
	if getenv(s.Env, "CLAUDE_CODE_SANDBOXED") == "" && !c.trusts(s.Root) {
		add(true, "Claude Code does not trust "+s.Root+" yet, and would ask", "run claude once in "+s.Root+" and answer Yes")
	}
	return found
}

var versionRE = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

func parseVersion(s string) (v [3]int, ok bool) {
	m := versionRE.FindStringSubmatch(s)
	if m == nil {
		return v, false
	}
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits
	}
	return v, true
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
	file := filepath.Join(getenv(env, "HOME"), ".claude.json")
	if dir := getenv(env, "CLAUDE_CONFIG_DIR"); dir != "" {
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

// loggedIn reports whether there are credentials. Those that macOS keeps in its
// keychain show in the account alone.
func loggedIn(env []string, c config) bool {
	for _, name := range []string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
		"CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
	} {
		if getenv(env, name) != "" {
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
