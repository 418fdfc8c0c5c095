package fence

import (
	"os"
	"path/filepath"
	"strings"
)

// caches are where common tools keep what they can make again, below the home folder.
var caches = strings.Fields(".cache .npm .yarn .yarnrc .pnpm-store .local/share/pnpm .bun .deno .node-gyp .nvm " +
	"go .cargo .rustup .gradle .m2 .ivy2 .sbt .coursier .nuget .dotnet .local/share/NuGet .composer .gem .bundle .local/share/gem " +
	".local/share/uv .local/share/virtualenv .local/share/virtualenvs .conda .pyenv .mypy_cache .pub-cache .hex .mix .stack .cabal .ghcup .julia " +
	".android .cocoapods .swiftpm .zig .terraform.d .docker .gnupg .config/configstore .local/share/mise .asdf .local/state/nix " +
	"Library/Caches Library/Developer Library/pnpm")

// states are where agent programs keep their own state, below the home folder.
var states = strings.Fields(".claude .claude.json .claude.json.lock .claude.json.backup .codex .kimi .qwen .gemini .copilot .aider " +
	".config/opencode .local/share/opencode .local/state/opencode .config/claude .local/share/claude .local/state/claude")

// variables name folders that tools write to instead.
var variables = strings.Fields("TMPDIR XDG_CACHE_HOME XDG_RUNTIME_DIR GOCACHE GOMODCACHE GOPATH GOTMPDIR CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME GRADLE_USER_HOME " +
	"MAVEN_HOME NUGET_PACKAGES npm_config_cache NPM_CONFIG_CACHE YARN_CACHE_FOLDER PNPM_HOME BUN_INSTALL DENO_DIR PIP_CACHE_DIR UV_CACHE_DIR UV_PYTHON_INSTALL_DIR " +
	"POETRY_CACHE_DIR CONDA_PKGS_DIRS CCACHE_DIR SCCACHE_DIR PLAYWRIGHT_BROWSERS_PATH CYPRESS_CACHE_FOLDER PUPPETEER_CACHE_DIR GNUPGHOME " +
	"CLAUDE_CONFIG_DIR CODEX_HOME KIMI_HOME QWEN_HOME GEMINI_CLI_HOME")

// Usual returns what programs write beside their own work, as places that exist: temporary
// folders, devices, the caches of common tools and the state of agent programs. env looks
// up a variable of the program's environment.
func Usual(env func(name string) string) []string {
	places := []string{"/tmp", "/var/tmp"}
	devices, _ := os.ReadDir("/dev") // what is not known cannot be written
	for _, d := range devices {
		if d.Type()&os.ModeDevice == 0 || d.Type()&os.ModeCharDevice != 0 { // not a disk
			places = append(places, filepath.Join("/dev", d.Name()))
		}
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		for _, name := range append(append([]string(nil), caches...), states...) {
			places = append(places, filepath.Join(home, name))
		}
	}
	for _, name := range variables {
		if dir := env(name); filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			places = append(places, dir)
		}
	}
	var there []string
	for _, place := range places {
		if real, err := filepath.EvalSymlinks(place); err == nil {
			there = append(there, real)
		}
	}
	return there
}
