package kimi

import (
	"context"
	"os"
	"path/filepath"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/proc"
)

// Preflight looks for what would keep Kimi from working unattended. Nothing is
// started: what is known of the program is its documentation, so what seems
// amiss is a warning.
func Preflight(_ context.Context, s agent.Setup) agent.Fitness {
	var f agent.Fitness
	if _, err := agent.LookPath("kimi", s.Env); err != nil {
		f.Fatal("Kimi is not installed: no kimi in PATH", "uv tool install kimi-cli")
		return f
	}
	f.Fact("installed")
	if file := configured(s.Env); file != "" {
		f.Fact("configured by " + file)
	} else {
		f.Warn("Kimi seems not to be configured (judged by its documentation: cmux was not run with the real program)", "run kimi once and set it up, or set KIMI_API_KEY")
	}
	return f
}

// configured is what gives the program its model; empty: nothing that is known.
func configured(env []string) string {
	get := func(name string) string { return proc.Getenv(env, name) }
	dir := get("KIMI_SHARE_DIR")
	if dir == "" {
		dir = filepath.Join(get("HOME"), ".kimi")
	}
	for _, name := range []string{"config.toml", "config.json"} {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return file
		}
	}
	if get("KIMI_API_KEY") != "" {
		return "KIMI_API_KEY"
	}
	return ""
}
