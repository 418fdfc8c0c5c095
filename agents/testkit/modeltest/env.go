package modeltest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Home is a home folder of the agent programs and the environment to run them in.
type Home struct {
	Dir    string   // HOME
	Claude string   // CLAUDE_CONFIG_DIR
	Codex  string   // CODEX_HOME
	Env    []string // all of the environment, as for exec.Cmd
}

// key is what the programs show the server. Claude Code compares the last 20
// characters with what was approved.
const key = "dummy"

// Env prepares a home of the test's own for the server. The programs trust the
// project directories and everything below them.
func Env(t testing.TB, s *Server, projects ...string) *Home {
	t.Helper()
	bin := filepath.Dir(Claude(t))
	h, err := Prepare(t.TempDir(), s.URL, bin+string(os.PathListSeparator)+os.Getenv("PATH"), projects...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Prepare makes a home in the directory for a model served at url. The
// environment has the PATH that is given and nothing of the caller's.
func Prepare(dir, url, path string, projects ...string) (*Home, error) {
	h := &Home{Dir: dir, Claude: filepath.Join(dir, ".claude"), Codex: filepath.Join(dir, ".codex")}
	tmp := filepath.Join(dir, "tmp")
	for _, d := range []string{h.Claude, h.Codex, tmp} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	trusted, toml := object{}, strings.Builder{}
	fmt.Fprintf(&toml, codexConfig, url+"/v1")
	for _, p := range projects {
		// The programs know a project by its real path.
		p, err := filepath.EvalSymlinks(p)
		if err != nil {
			return nil, err
		}
		if p, err = filepath.Abs(p); err != nil {
			return nil, err
		}
		trusted[p] = object{"hasTrustDialogAccepted": true}
		fmt.Fprintf(&toml, "\n[projects.%q]\ntrust_level = \"trusted\"\n", p)
	}
	for name, content := range map[string]object{
		// What it does beside its work would ask the model beside the script.
		".qwen/settings.json": {"memory": object{"enableManagedAutoMemory": false, "enableManagedAutoDream": false}, "general": object{"enableAutoUpdate": false},
			"model": object{"generationConfig": object{"maxRetries": 0}}}, // by default it waits for minutes
		".config/opencode/opencode.json": {
			"provider": object{"modeltest": object{"npm": "@ai-sdk/openai-compatible", "name": "modeltest",
				"options": object{"baseURL": url + "/v1", "apiKey": key},
				"models":  object{"fake": object{"name": "fake", "limit": object{"context": 1_000_000, "output": 32_000}}}}},
			"model": "modeltest/fake", "autoupdate": false, "share": "disabled",
			"snapshot": false, // a repository of its own beside the project's, after each step
		},
		// It would install this from a registry at each start, and cannot: it is told
		// that it has.
		".config/opencode/package-lock.json": {"lockfileVersion": 3,
			"packages": object{"": object{"dependencies": object{"@opencode-ai/plugin": "*"}}}},
		".config/opencode/node_modules/.package-lock.json": {"lockfileVersion": 3, "packages": object{}},
		".claude/.claude.json": {
			"hasCompletedOnboarding": true,
			"customApiKeyResponses":  object{"approved": []string{key}, "rejected": []string{}},
			"projects":               trusted,
		},
		".claude/settings.json": {"skipDangerousModePermissionPrompt": true},
	} {
		b, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(h.Codex, "config.toml"), []byte(toml.String()), 0o600); err != nil {
		return nil, err
	}
	h.Env = []string{
		"HOME=" + dir, "PATH=" + path, "TMPDIR=" + tmp, "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh",
		"CLAUDE_CONFIG_DIR=" + h.Claude,
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1",
		"CLAUDE_CODE_MAX_RETRIES=1",
		"CODEX_HOME=" + h.Codex, "MODELTEST_KEY=" + key,
		"OPENAI_API_KEY=" + key, "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=fake",
		"GEMINI_API_KEY=" + key, "GOOGLE_GEMINI_BASE_URL=" + url,
		"GEMINI_MODEL=fake", // by default it asks a model which model to ask
		// Each would restart itself to get more memory, and so start twice.
		"QWEN_CODE_NO_RELAUNCH=true", "GEMINI_CLI_NO_RELAUNCH=true",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_PURE=1",
		// What asks for another address all the same asks the server, which refuses it.
		"HTTP_PROXY=" + url, "HTTPS_PROXY=" + url, "NO_PROXY=127.0.0.1,localhost",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@localhost",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@localhost",
	}
	if os.Geteuid() == 0 {
		h.Env = append(h.Env, "IS_SANDBOX=1") // else it refuses to skip permissions as root
	}
	return h, nil
}

// Subscribe makes Claude Code's account a subscription instead of an API key.
// Only then does it take a usage limit for one: it says when it is lifted and
// does not try again.
func (h *Home) Subscribe() {
	for i, e := range h.Env {
		if strings.HasPrefix(e, "ANTHROPIC_API_KEY=") {
			h.Env[i] = "CLAUDE_CODE_OAUTH_TOKEN=" + key
		}
	}
}

const codexConfig = `model = "gpt-5-codex"
model_provider = "modeltest"
check_for_update_on_startup = false
[model_providers.modeltest]
name = "modeltest"
base_url = %q
wire_api = "responses"
env_key = "MODELTEST_KEY"
request_max_retries = 1
stream_max_retries = 1
[analytics]
enabled = false
[tui]
show_tooltips = false     # else it asks raw.githubusercontent.com for announcements
[features]
plugins = false           # else it asks github.com
daemon_auto_start = false # else the terminal leaves a server and its updater behind
`

// Claude is the path of the Claude Code that .ci/agents installed.
func Claude(t testing.TB) string {
	t.Helper()
	return installed(t, "claude")
}

// Codex is the path of the Codex that .ci/agents installed. It needs node in the PATH.
func Codex(t testing.TB) string {
	t.Helper()
	return installed(t, "codex")
}

func installed(t testing.TB, program string) string {
	t.Helper()
	path, err := Installed(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Installed is the path of a program, such as claude, that .ci/agents
// installed into the project which this process works in.
func Installed(program string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		cli := filepath.Join(d, ".agents-cli")
		path := filepath.Join(cli, "node_modules", ".bin", program)
		// .ci/agents writes the first of these when the second is whole.
		if exists(filepath.Join(cli, "installed")) && exists(path) {
			return path, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%s is not installed in .agents-cli of the project; run .ci/agents", program)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
