package places

import (
	"slices"
	"strings"
	"unicode"
)

// Spots are the places that a path may mean: with its links followed, and the
// link itself. ok says that all are the node's own and none holds state.
func (g *Places) Spots(dir, path string) (spots []Spot, ok bool) {
	all, ok := g.Wheres(dir, path)
	for _, p := range all {
		spots = append(spots, g.SpotOf(p))
	}
	if !ok {
		return nil, false
	}
	for _, s := range spots {
		if s.Whose != Own || s.State != "" || Odd(s.Rel) {
			return nil, false
		}
	}
	return spots, true
}

// programs are told what to run by these files and folders, without anyone
// asking for it: the agents themselves, editors, and the hooks of commits.
var programs = []string{
	".claude", ".mcp.json", ".codex", ".kimi", ".agents", ".gemini", ".qwen", ".cursor", ".windsurf", ".zed", ".opencode", ".opencode.json", "opencode.json", "opencode.jsonc",
	".kiro", ".roo", ".factory", ".crush", "crush.json", ".crush.json",
	".vscode", ".idea", ".run", ".vs", ".exrc", ".devcontainer", ".devcontainer.json", ".envrc", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", ".env",
	".husky", ".githooks", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".overcommit.yml", "prek.toml", ".lefthook",
	".gitmodules", ".gitconfig",
}

// beginnings of the names of such files, and an ending.
var beginnings = []string{"lefthook.", "lefthook-local.", ".lefthookrc", ".huskyrc", ".simple-git-hooks.", "simple-git-hooks.", ".lintstagedrc", "lint-staged.config."}

func Obeyed(rel string) bool {
	if strings.EqualFold(rel, ".cmux-agents.yml") || strings.Contains("/"+strings.ToLower(rel)+"/", "/.config/mise/") {
		return true
	}
	return slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool {
		low := strings.ToLower(name)
		return strings.HasSuffix(low, ".code-workspace") ||
			slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(low, b) || strings.HasPrefix(low, "."+b) }) ||
			slices.ContainsFunc(programs, func(p string) bool { return strings.EqualFold(name, p) })
	})
}

// Odd reports whether some file system takes a name for another one: by
// characters that it does not count, or by a short form of it.
func Odd(rel string) bool {
	if strings.HasPrefix(rel, "~") {
		return true // a home, to a program that looks for one
	}
	for _, name := range strings.Split(rel, "/") {
		if name != "." && name != strings.TrimRight(name, ". ") || strings.ContainsAny(name, `\:`) {
			return true
		}
		if i := strings.IndexByte(name, '~'); i >= 0 && i+1 < len(name) && '0' <= name[i+1] && name[i+1] <= '9' {
			return true
		}
	}
	return strings.ContainsFunc(rel, func(r rune) bool {
		return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == unicode.ReplacementChar || r != ' ' && unicode.IsSpace(r)
	})
}
