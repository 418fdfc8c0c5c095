package codex

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"cmux/agents/kinds/transcript"
	"cmux/agents/platform/proc"
)

// home is the program's folder in env.
func home(env []string) string {
	if dir := proc.Getenv(env, "CODEX_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(proc.Getenv(env, "HOME"), ".codex")
}

// Reopen is the command line that shows a conversation again in the terminal
// program, which the guard of cmux is not part of.
func Reopen(env []string, conversation string) ([]string, error) {
	if rollout(home(env), conversation) == "" {
		return nil, fmt.Errorf("Codex has no conversation %s in %s", conversation, home(env))
	}
	return []string{"codex", "resume", "-C", ".", conversation}, nil // else it asks which directory to use
}

// lastTurn is Kind.LastTurn.
func lastTurn(env []string, conversation string) (given []string, said string, over bool) {
	return transcript.LastCodexTurn(rollout(home(env), conversation))
}

// rollout returns the file of a conversation, whose name ends in the id, or "" if
// there is none.
func rollout(home, conversation string) string {
	found := ""
	for _, dir := range []string{"sessions", "archived_sessions"} {
		// What cannot be read holds nothing that could be resumed.
		_ = filepath.WalkDir(filepath.Join(home, dir), func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case conversation != "" && !e.IsDir() && strings.HasSuffix(e.Name(), "-"+conversation+".jsonl"):
				found = path
				return fs.SkipAll
			}
			return nil
		})
	}
	return found
}
