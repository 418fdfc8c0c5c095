package claude

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"cmux/agents/kinds/transcript"
	"cmux/agents/platform/proc"
)

// configDir is the program's configuration folder in env.
func configDir(env []string) string {
	if dir := proc.Getenv(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(proc.Getenv(env, "HOME"), ".claude")
}

// Transcript returns the path of a conversation's transcript, or "" if there is
// none.
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

// Resumable reports whether the program can go on in a conversation. A transcript
// alone proves nothing: the program writes header lines as it starts, and says "No
// conversation found" of a transcript that holds no more. The first answer of the
// model proves that the whole first prompt is there.
func Resumable(env []string, conversation string) bool {
	path := Transcript(env, conversation)
	return path != "" && transcript.HoldsAnswer(path)
}

// lastTurn is Kind.LastTurn.
func lastTurn(env []string, conversation string) (given []string, said string, over bool) {
	return transcript.LastTurn(Transcript(env, conversation))
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
	if !Resumable(env, conversation) {
		return nil, fmt.Errorf("Claude Code has no conversation %s in %s", conversation, configDir(env))
	}
	return []string{"claude", "--resume", conversation}, nil
}

// Refused implements agent.Refuser.
func (a *instance) Refused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.start.Resume && a.heard.IsZero()
}

// ownLine begins a line of cmux's own in the pane.
const ownLine = "── cmux:"

// LastWords implements agent.Speaker: in a pane the program prints its error on
// the screen.
func (a *instance) LastWords(ctx context.Context) string {
	p, err := a.pane()
	if err != nil || a.start.Headless {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	out, err := p.server.Exec(ctx, "capture-pane", "-p", "-t", p.id)
	if err != nil {
		return ""
	}
	return lastWords(out)
}

// lastWords returns what a program printed on a screen after cmux's last line.
func lastWords(screen string) string {
	if i := strings.LastIndex(screen, ownLine); i >= 0 {
		_, screen, _ = strings.Cut(screen[i:], "\n")
	}
	return strings.TrimSpace(screen)
}
