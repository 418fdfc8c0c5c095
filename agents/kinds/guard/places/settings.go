package places

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// orders are the files by which the agents' programs are told what they may
// do, which hooks speak and which servers they start: by folder and name. An
// empty folder is any.
var orders = []struct{ folder, name string }{
	{".claude", "settings*.json"}, {"", ".claude.json"}, {"", ".mcp.json"}, {"", "managed-settings*.json"}, {"", "managed-mcp.json"},
	{".codex", "*.toml"}, {".codex", "hooks.json"}, {".codex", "*.rules"},
	{".kimi", "config.*"}, {".kimi", "mcp.json"},
	{".qwen", "settings*.json"}, {".gemini", "settings*.json"}, {"", "opencode.json"}, {"", "opencode.jsonc"},
	{"", ".opencode.json"}, {".opencode", "config.*"}, {".opencode", "package.json"},
}

// openCode are the folders in .opencode whose files OpenCode runs, or reads what its
// agents may do from.
var openCode = []string{"agent", "agents", "mode", "modes", "plugin", "plugins", "tool", "tools"}

// homes are the folders of those files, and the variables that name another.
var homes = map[string]string{"CLAUDE_CONFIG_DIR": ".claude", "CODEX_HOME": ".codex", "KIMI_SHARE_DIR": ".kimi", "QWEN_HOME": ".qwen"}

// Env is a variable of the agent's environment, where that is known.
func (g *Places) Env(name string) string {
	if g.Machine == nil {
		return ""
	}
	return g.Machine.Env(name)
}

// OrdersAt reports whether a resolved path is such a file, or may be one of
// what a pattern of the shell names. whole says that the folder of one counts.
func (g *Places) OrdersAt(at string, whole bool) bool {
	at = filepath.ToSlash(at)
	for name, folder := range homes {
		home := g.Env(name)
		if home == "" || !filepath.IsAbs(home) {
			continue
		}
		if r, err := g.Resolved(home); err == nil {
			if rel, ok := Inside(r, filepath.FromSlash(at)); ok {
				at = path.Join("/", folder, rel)
			}
		}
	}
	parts := strings.Split(strings.ToLower(strings.Trim(at, "/")), "/")
	last := parts[len(parts)-1]
	for i, p := range parts[:len(parts)-1] {
		if Matches(p, ".opencode") && slices.ContainsFunc(openCode, func(f string) bool { return Matches(parts[i+1], f) }) {
			return true
		}
	}
	for _, o := range orders {
		if whole && o.folder != "" && Matches(last, o.folder) {
			return true
		}
		named, err := path.Match(o.name, last)
		if named = named && err == nil || Matches(last, o.name) || strings.ContainsAny(last, "*?[") && o.folder != ""; !named {
			continue
		}
		if o.folder == "" || len(parts) > 1 && Matches(parts[len(parts)-2], o.folder) {
			return true
		}
	}
	return false
}

func GivesOrders(what string) string {
	return what + " is refused: it tells an agent's program what it may do, and a person decides that. Continue without it. If the task is to change it, report `blocked` and say what should be in it"
}
