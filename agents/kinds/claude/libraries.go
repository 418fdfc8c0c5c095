package claude

import (
	"path/filepath"
	"strings"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
)

// libraries returns the folders, each with a slash at its end, in which the tools of the
// agent's environment keep code that is published: their own and that of dependencies.
// Agents look things up there all the time, and no secrets are kept there.
func libraries(env []string) []string {
	dirs := []string{"/usr/include", "/usr/lib", "/usr/share", "/usr/local/include", "/usr/local/lib", "/usr/local/share", "/opt/homebrew/lib", "/opt/homebrew/include"}
	if program, err := agent.LookPath("go", env); err == nil {
		if real, err := filepath.EvalSymlinks(program); err == nil {
			dirs = append(dirs, filepath.Join(filepath.Dir(filepath.Dir(real)), "src"))
		}
	}
	home := proc.Getenv(env, "HOME")
	under := func(variable, usual string, names ...string) {
		dir := proc.Getenv(env, variable)
		if dir == "" && home != "" {
			dir = filepath.Join(home, usual)
		}
		if filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(append([]string{dir}, names...)...))
		}
	}
	under("GOMODCACHE", "go/pkg/mod")
	if path := proc.Getenv(env, "GOPATH"); proc.Getenv(env, "GOMODCACHE") == "" && path != "" {
		under("GOPATH", "go", "pkg", "mod")
	}
	under("CARGO_HOME", ".cargo", "registry", "src")
	under("RUSTUP_HOME", ".rustup", "toolchains")
	under("PYENV_ROOT", ".pyenv", "versions")
	under("NVM_DIR", ".nvm", "versions")
	var all []string
	for _, dir := range dirs {
		if dir = filepath.Clean(dir); dir != "/" && !strings.ContainsAny(dir, "*?[](){}!\\\n") { // what a rule would take for a pattern
			all = append(all, dir+"/")
		}
	}
	return all
}
