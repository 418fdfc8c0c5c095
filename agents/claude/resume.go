package claude

import (
	"fmt"
	"path/filepath"

	"cmux/agents/proc"
)

// configDir is the program's configuration folder in env.
func configDir(env []string) string {
	if dir := proc.Getenv(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(proc.Getenv(env, "HOME"), ".claude")
}

// Transcript is the path of a conversation's transcript; empty when there is
// none to resume.
func Transcript(env []string, conversation string) string {
	// The folder is named after the directory that the conversation began in.
	if conversation == "" || filepath.Base(conversation) != conversation {
		return ""
	}
	found, _ := filepath.Glob(filepath.Join(globLiteral(configDir(env)), "projects", "*", globLiteral(conversation)+".jsonl"))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// globLiteral protects a path from being read as a pattern.
func globLiteral(path string) string {
	var out []rune
	for _, r := range path {
		if r == '*' || r == '?' || r == '[' || r == '\\' {
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}

// Reopen is the command line that shows a conversation again in the terminal
// program. Without hooks of cmux's it is the person's alone.
func Reopen(env []string, conversation string) ([]string, error) {
	if Transcript(env, conversation) == "" {
		return nil, fmt.Errorf("Claude Code has no conversation %s in %s", conversation, configDir(env))
	}
	return []string{"claude", "--resume", conversation}, nil
}
