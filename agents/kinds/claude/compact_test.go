package claude

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/news"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/tmux"
	"cmux/agents/records/event"
	"cmux/agents/testkit/agenttest/until"
)

// A program that takes a command and says nothing of it, neither by a hook nor on
// its screen, is given it once.
func TestCommandIsTypedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, file := filepath.Join(dir, "got"), filepath.Join(dir, "command")
	program := `draw() { printf '\033[H\033[2J──────────\n❯ \n──────────\n\033[2;3H'; }
draw; while read -r line; do printf '%s\n' "$line" >>"$1"; draw; done`
	server := tmux.Server{Socket: filepath.Join(dir, "s")}
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("no tmux")
	}
	out, err := exec.Command(path, "-u", "-f", "/dev/null", "-S", server.Socket, "new-session", "-d", "-x", "40", "-y", "10", "sh", "-c", program, "sh", got).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { server.Exec(context.Background(), "kill-server") })
	p := &pane{server, "%0"}
	if !until.True(t.Context(), func() bool { // the program has drawn its prompt
		s, _, err := p.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Prompt
	}) {
		t.Fatal("its prompt did not come")
	}
	if err := os.WriteFile(file, []byte(compaction), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &instance{stage: new(agent.Stage), silence: newSilence(time.Now()), program: &agent.Program{Program: new(proc.Program)}}
	a.stage.MayType = func(_ context.Context, s news.Screen) (bool, error) {
		return s == news.EmptyPrompt{} || s == news.OwnDraft{}, nil
	}
	if err := a.typeCommand(t.Context(), p, file, compaction, make(chan struct{})); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(got); string(b) != compaction+"\n" {
		t.Errorf("it was given %q", b)
	}
}

// The transcript tells of summaries that no hook tells of: of those since the
// program was started.
func TestSummariesOfTheTranscript(t *testing.T) {
	t.Parallel()
	const summary = `{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual","preTokens":9,"postTokens":3}}` + "\n"
	path := filepath.Join(t.TempDir(), "s.jsonl")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	file.WriteString(summary)
	a := &instance{stage: &agent.Stage{Out: io.Discard, Lines: new(event.Printer)}, silence: newSilence(time.Now())}
	a.follow = newFollower(a)
	a.follow.from = int64(len(summary))
	if n := a.follow.summaries(); n != 0 {
		t.Errorf("%d before there is a transcript", n)
	}
	a.follow.at(path)
	for want, line := range []string{"", summary, summary} {
		file.WriteString(line)
		if n := a.follow.summaries(); n != want {
			t.Errorf("%d summaries, want %d", n, want)
		}
	}
}
