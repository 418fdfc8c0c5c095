package notice

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/dag"
)

func TestFormat(t *testing.T) {
	for _, test := range []struct{ url, format, want string }{
		{"https://hooks.slack.com/services/T/B/x", "", "slack"},
		{"https://HOOKS.slack.com:443/services/T/B/x", "", "slack"},
		{"https://discord.com/api/webhooks/1/x", "", "discord"},
		{"https://ptb.discord.com/api/webhooks/1/x", "", "discord"},
		{"https://discordapp.com/api/webhooks/1/x", "", "discord"},
		{"https://discord.com/api/webhooks/1/x/slack", "", "slack"},
		{"https://hooks.slack.com.example.org/x", "", "json"},
		{"https://notdiscord.com/x", "", "json"},
		{"https://example.org/hooks.slack.com", "", "json"},
		{"https://chat.example.org/hooks/x", "slack", "slack"},
		{"https://hooks.slack.com/services/T/B/x", "json", "json"},
	} {
		if got := FormatOf(dag.Notify{Webhook: test.url, Format: test.format}); got != test.want {
			t.Errorf("%s, format %q: %s, want %s", test.url, test.format, got, test.want)
		}
	}
}

func TestPayload(t *testing.T) {
	n := News{Session: "shop", Event: "needs_input", Node: "api", Text: "api: <!channel> a & b\x1b[31m " + strings.Repeat("é", 3000)}
	shown := func(format string) (text string, all map[string]any) {
		b, err := json.Marshal(payload(dag.Notify{Format: format}, n))
		if err != nil || json.Unmarshal(b, &all) != nil {
			t.Fatal(err)
		}
		text, _ = all[map[string]string{"slack": "text", "discord": "content", "json": "text"}[format]].(string)
		return text, all
	}
	if text, all := shown("slack"); !strings.HasPrefix(text, "cmux shop: api: &lt;!channel&gt; a &amp; b") || strings.Contains(text, "\x1b") || len(all) != 1 {
		t.Errorf("Slack is told %.80q", text)
	}
	text, all := shown("discord")
	mentions, _ := all["allowed_mentions"].(map[string]any)
	if parse, ok := mentions["parse"].([]any); !strings.HasPrefix(text, "cmux shop: api: <!channel>") || len([]rune(text)) != maxDiscord || !ok || len(parse) != 0 {
		t.Errorf("Discord is told %.80q, with %v", text, mentions)
	}
	if text, all := shown("json"); text != n.Text || all["node"] != "api" {
		t.Errorf("the webhook is told %v", all)
	}
}

// TestFailures keeps what failed until it succeeds.
func TestFailures(t *testing.T) {
	status := http.StatusNotFound
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, "no_\x1bservice\nat all")
	}))
	defer s.Close()
	root, dir := t.TempDir(), t.TempDir()
	to := To{Notify: dag.Notify{Webhook: s.URL + "/secret", Command: `cat > in; printf %s "$CMUX_TEXT" > text; echo "cannot send" >&2; exit $(cat exit)`}, Root: root, Dir: dir, Log: log.New(io.Discard)}
	exit := func(code string) {
		if err := os.WriteFile(filepath.Join(root, "exit"), []byte(code), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := `api: $(touch pwned) "; touch pwned; '`
	exit("3")
	to.Tell(t.Context(), News{Event: "needs_input", Node: "api", Text: text})
	all := Failures(dir)
	if len(all) != 2 || all[0].Way != "webhook" || all[1].Way != "command" {
		t.Fatalf("%v", all)
	}
	for i, want := range []string{"answered 404 Not Found: no_", "exit status 3: cannot send"} {
		if e := all[i].Error; !strings.Contains(e, want) || strings.ContainsAny(e, "\x1b\n") || strings.Contains(e, "secret") || time.Since(all[i].At) > time.Minute {
			t.Errorf("%q, want %q", e, want)
		}
	}
	if b, err := os.ReadFile(filepath.Join(root, "text")); err != nil || string(b) != text {
		t.Errorf("the command is told %q, %v", b, err)
	}
	var n News
	if b, err := os.ReadFile(filepath.Join(root, "in")); err != nil || json.Unmarshal(b, &n) != nil || n.Text != text || n.Node != "api" {
		t.Errorf("the command reads %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(root, "pwned")); err == nil {
		t.Error("the text was run")
	}
	status = http.StatusNoContent
	exit("0")
	to.Tell(t.Context(), News{Text: "again"})
	if all := Failures(dir); len(all) != 0 {
		t.Errorf("they got through: %v", all)
	}
	s.Close()
	to.Tell(t.Context(), News{Text: "gone"})
	if all := Failures(dir); len(all) != 1 || !strings.Contains(all[0].Error, "connection refused") || strings.Contains(all[0].Error, "secret") {
		t.Errorf("%v", all)
	}
}

// TestCommandEnds ends a command, and what it started, with the context.
func TestCommandEnds(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	to := To{Notify: dag.Notify{Command: "sleep 1000 & echo > begun; wait"}, Root: dir, Dir: dir, Log: log.New(io.Discard)}
	done := make(chan struct{})
	go func() { defer close(done); to.Tell(ctx, News{}) }()
	for _, err := os.Stat(filepath.Join(dir, "begun")); err != nil; _, err = os.Stat(filepath.Join(dir, "begun")) {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if all := Failures(dir); len(all) != 1 || !strings.Contains(all[0].Error, "10s at most") {
		t.Errorf("%v", all)
	}
}
