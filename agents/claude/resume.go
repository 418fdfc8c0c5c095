package claude

import (
	"path/filepath"
)

// configDir is the program's configuration folder in env.
func configDir(env []string) string {
	if dir := getenv(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(getenv(env, "HOME"), ".claude")
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

// ResumeArgs is the command that offers a finished node's conversation again,
// to be run in its worktree with the run's environment. Without hooks of
// cmux's, it is the person's alone.
func ResumeArgs(conversation string) []string {
	return []string{"claude", "--resume", conversation}
}
