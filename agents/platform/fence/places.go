package fence

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// caches are where common tools keep what they can make again, below the home folder.
// Folders of programs, settings and start-up files are not among them: what is written
// there runs outside the fence later.
var caches = strings.Fields(".cache .npm .yarn/berry .pnpm-store .local/share/pnpm/store .bun/install/cache .node-gyp .nvm/.cache " +
	"go/pkg .cargo/registry .cargo/git .cargo/.package-cache .cargo/.global-cache .gradle/caches .gradle/daemon .gradle/native .gradle/wrapper/dists " +
	".m2/repository .ivy2/cache .sbt/boot .coursier .nuget/packages .local/share/NuGet .composer/cache .bundle/cache " +
	".local/share/virtualenv .local/share/virtualenvs .conda/pkgs .mypy_cache .pub-cache/hosted .hex/packages .stack/pantry .cabal/packages " +
	".julia/packages .julia/compiled .android/cache .cocoapods/repos .terraform.d/plugin-cache .docker/buildx/activity .docker/buildx/refs .config/configstore " +
	"Library/Caches Library/Developer/Xcode/DerivedData Library/pnpm/store")

// states are where agent programs keep their own state, below the home folder.
var states = strings.Fields(".claude .codex .kimi .qwen .gemini .copilot .aider " +
	".local/share/opencode .local/state/opencode .local/state/claude")

// settings are the parts of the folders of states that say what such a program runs.
var settings = strings.Fields(".claude.json settings.json settings.local.json CLAUDE.md commands agents skills plugins hooks output-styles rules local bin " +
	"config.toml config.json mcp.json mcp-config.json hooks.json AGENTS.md prompts extensions GEMINI.md QWEN.md policies trustedFolders.json")

// made are folders that a tool makes at its first use: it could not make them in the
// fence. The tool is a program in PATH; empty: any. They lie below the folder that variable
// names, else below dir in the home folder.
var made = []struct{ tool, variable, dir, dirs string }{
	{"", "", "", ".cache"},
	{"npm", "", "", ".npm"},
	{"go", "", "", "go/pkg"},
	{"cargo", "", "", ".cargo/registry .cargo/git"},
	{"yarn", "", "", ".yarn/berry"},
	{"pnpm", "", "", ".local/share/pnpm/store"},
	{"gradle", "", "", ".gradle/caches .gradle/daemon .gradle/native .gradle/wrapper/dists"},
	{"mvn", "", "", ".m2/repository"},
	{"claude", "CLAUDE_CONFIG_DIR", ".claude", "projects todos shell-snapshots session-env file-history plans tasks debug sessions"},
	{"codex", "CODEX_HOME", ".codex", "sessions archived_sessions log tmp thread-writer-locks shell_snapshots " + CodexData},
}

// CodexData is where Codex keeps its databases in a fence, below its own folder: there it
// could not make the files that SQLite makes beside each.
const CodexData = "cmux"

// variables name folders that tools write to instead.
var variables = strings.Fields("TMPDIR XDG_CACHE_HOME GOCACHE GOMODCACHE GOTMPDIR CARGO_TARGET_DIR " +
	"NUGET_PACKAGES npm_config_cache NPM_CONFIG_CACHE YARN_CACHE_FOLDER DENO_DIR PIP_CACHE_DIR UV_CACHE_DIR " +
	"POETRY_CACHE_DIR CONDA_PKGS_DIRS CCACHE_DIR SCCACHE_DIR PLAYWRIGHT_BROWSERS_PATH CYPRESS_CACHE_FOLDER PUPPETEER_CACHE_DIR")

// Copies returns the files in which agent programs keep their own state together with what
// they run later, such as the servers of Claude Code: a program in a fence has copies of its
// own. They are also written by many at once, and whole, which in a fence cannot be done by
// renaming.
func Copies(env func(name string) string) (all []string) {
	for _, dir := range []string{env("HOME"), env("CLAUDE_CONFIG_DIR")} {
		if filepath.IsAbs(dir) {
			all = append(all, filepath.Join(dir, ".claude.json"))
		}
	}
	return all
}

// stateVariables name folders of agent programs' state instead.
var stateVariables = strings.Fields("CLAUDE_CONFIG_DIR CODEX_HOME KIMI_SHARE_DIR QWEN_HOME GEMINI_CLI_HOME")

// never is what no place below the home folder opens: a person's own settings, keys,
// programs, and what a shell, a session or a timer starts.
var never = strings.Fields(".claude.json .ssh .aws .kube .gnupg .netrc .npmrc .yarnrc .pypirc .gitconfig .config/git .config/cmux .config/fish .config/systemd .config/autostart " +
	".config/environment.d .profile .bashrc .bash_profile .bash_login .bash_logout .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .inputrc .tmux.conf .vimrc " +
	".config/nvim .vim .emacs .emacs.d bin .local/bin go/bin .cargo/bin .cargo/env .cargo/config.toml .nvm/nvm.sh .bun/bin .deno/bin Library/LaunchAgents")

// Usual returns what programs write beside their own work, as places that exist, without
// kept and without what a person's shell, tools and agent programs run later: temporary
// folders, devices, the caches of common tools, the state of agent programs, and more. env
// looks up a variable of the program's environment.
//
// A link is followed only where no place holds it: a program in a fence can have made
// one that lies in a place.
func Usual(env func(name string) string, kept, more []string) ([]string, error) {
	places := []string{"/tmp", "/var/tmp"}
	devices, _ := os.ReadDir("/dev") // what is not known cannot be written
	for _, d := range devices {
		if d.Type()&os.ModeDevice == 0 || d.Type()&os.ModeCharDevice != 0 { // not a disk
			places = append(places, filepath.Join("/dev", d.Name()))
		}
	}
	home, holders := env("HOME"), []string(nil)
	if filepath.IsAbs(home) {
		home = real(home)
		if err := prepareHome(home, env); err != nil {
			return nil, err
		}
		for _, name := range caches {
			places = append(places, filepath.Join(home, name))
		}
		for _, name := range states {
			places, holders = append(places, filepath.Join(home, name)), append(holders, filepath.Join(home, name))
		}
		for _, name := range never {
			kept = append(kept, filepath.Join(home, name))
		}
		kept = append(kept, filepath.Join(home, ".local/state/cmux"))
	}
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		kept = append(kept, filepath.Join(dir, "cmux"))
	}
	if dir := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		kept = append(kept, dir)
	}
	for _, name := range slices.Concat(variables, stateVariables) {
		dir := env(name)
		// One that holds the home folder is no folder of a tool.
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" || home != "" && within(home, real(dir)) {
			continue
		}
		places = append(places, dir)
		if slices.Contains(stateVariables, name) {
			holders = append(holders, dir)
		}
	}
	for _, dir := range holders {
		for _, name := range settings {
			kept = append(kept, filepath.Join(dir, name))
		}
	}
	if gopath := env("GOPATH"); filepath.IsAbs(gopath) {
		places = append(places, filepath.Join(gopath, "pkg"))
	}
	places = outermost(append(places, more...))
	var there []string
	for _, place := range places {
		if to, err := filepath.EvalSymlinks(place); err == nil {
			there = append(there, to)
		}
	}
	for _, place := range kept {
		kept = append(kept, real(place))
	}
	return Without(there, kept, List)
}

// outermost returns places without those that lie in another of them.
func outermost(places []string) []string {
	var all []string
	for _, p := range places {
		p = filepath.Clean(p)
		if !slices.ContainsFunc(places, func(q string) bool { q = filepath.Clean(q); return q != p && within(p, q) }) {
			all = append(all, p)
		}
	}
	return all
}

// prepareHome makes the folders that tools in PATH could not make in the fence.
func prepareHome(home string, env func(name string) string) error {
	if _, err := os.Stat(home); err != nil {
		return nil // nothing lies there
	}
	for _, m := range made {
		if m.tool != "" && !slices.ContainsFunc(filepath.SplitList(env("PATH")), func(dir string) bool {
			_, err := exec.LookPath(filepath.Join(dir, m.tool))
			return err == nil
		}) {
			continue
		}
		in := filepath.Join(home, m.dir)
		if dir := env(m.variable); m.variable != "" && filepath.IsAbs(dir) {
			in = dir
		}
		for _, dir := range strings.Fields(m.dirs) {
			if err := os.MkdirAll(filepath.Join(in, dir), 0o700); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// real is the place that path leads to; path itself where that is not there.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return path
}
