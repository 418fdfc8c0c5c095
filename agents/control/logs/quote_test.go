package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// pieces writes text to what newWriter makes, in pieces of every size, and
// checks what comes out at the end.
func pieces(t *testing.T, text, want string, newWriter func(out *strings.Builder) (write func([]byte) (int, error), end func() error)) {
	t.Helper()
	for size := 1; size <= len(text)+1; size++ {
		var out strings.Builder
		write, end := newWriter(&out)
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if k, err := write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("in pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}

// The prompt of each attempt is left out of an agent's log, and nothing else:
// not what it was told later, and not what it quotes itself.
func TestUnprompted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	var printer event.Printer
	var log strings.Builder
	attempt := 0
	show := func(kind event.Kind, text string) {
		l, err := event.Open(path, "api", attempt)
		if err != nil {
			t.Fatal(err)
		}
		e := event.Event{Kind: kind, Text: text}
		l.Append(e)
		log.WriteString(printer.Lines(e))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() {
		attempt++
		fmt.Fprintf(&log, "── api: attempt %d ──\n", attempt)
	}
	long := "# Task\n\n" + strings.Repeat("A long line of the prompt.\n", 300)
	begin()
	show(event.Prompt, "# Task\n\nServe it.\n> as quoted\n")
	show(event.Text, "> # Task\n> as quoted\n> \nThat is clear.")
	show(event.Prompt, "also the tests")
	show(event.HandBack, "the check failed")
	begin()
	show(event.Prompt, long)
	show(event.Text, "done")
	begin()
	show(event.Prompt, long) // repeated
	log.WriteString("> # Ta")
	order := "cmux agents logs api --prompt"
	left := func(lines int) string { return fmt.Sprintf("── the prompt, %d lines: %s ──\n", lines, order) }
	want := "── api: attempt 1 ──\n" + left(4) + "> # Task\n> as quoted\n> \nThat is clear.\n> also the tests\n> the check failed\n" +
		"── api: attempt 2 ──\n" + left(302) + "done\n── api: attempt 3 ──\n" + left(302) + "> # Ta"
	if !strings.Contains(log.String(), " bytes more)\n") || strings.Count(log.String(), "A long line") > 400 {
		t.Fatalf("no long prompt was cut: %q", log.String())
	}
	pieces(t, log.String(), want, func(out *strings.Builder) (func([]byte) (int, error), func() error) {
		u := &unprompted{w: out, order: order, path: path}
		return u.Write, u.flush
	})

	// Without events nothing is known to be a prompt.
	var out strings.Builder
	u := &unprompted{w: &out, path: filepath.Join(t.TempDir(), "none")}
	if _, err := u.Write([]byte(log.String())); err != nil || u.flush() != nil || out.String() != log.String() {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		n          int
		text, want string
	}{
		{2, "one\ntwo\nthree\nfour\n", "three\nfour\n"},
		{2, "one\ntwo\nthree\nfou", "three\nfou"},
		{9, "one\ntwo\n", "one\ntwo\n"},
		{1, "\n\n\n", "\n"},
		{1, "", ""},
	} {
		pieces(t, c.text, c.want, func(out *strings.Builder) (func([]byte) (int, error), func() error) {
			l := &lastLines{w: out, n: c.n}
			return l.Write, l.release
		})
	}
	var out strings.Builder
	l := &lastLines{w: &out, n: 1}
	for _, text := range []string{"one\n", "two\n"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.release(); err != nil || out.String() != "two\n" {
		t.Errorf("%v: %q", err, out.String())
	}
	if _, err := l.Write([]byte("three\n")); err != nil || out.String() != "two\nthree\n" {
		t.Errorf("after that: %v: %q", err, out.String())
	}
}

func TestQuotedIsHowItIsShown(t *testing.T) {
	for _, text := range []string{"one", "one\ntwo\n", " \n x \x1b[31m\n", strings.Repeat("é\n", 3000), strings.Repeat("x", 5000)} {
		e := event.Event{Kind: event.Prompt, Text: text}
		q, shown := event.Quoted(e), new(event.Printer).Lines(e)
		if !strings.HasPrefix(shown, q.Text) || q.More != strings.HasSuffix(shown, " bytes more)\n") || !q.More && shown != q.Text {
			t.Errorf("%.20q: %+v is not how %.40q begins", text, q, shown)
		}
	}
}

// The end of an agent's log is not its prompt either.
func TestLogEndOfAnAgent(t *testing.T) {
	g, _, err := dag.Parse("f.yml", []byte("session: s\nagents:\n  - {name: api, agent: claude, task: serve}\n"), dag.ParseOptions{Kinds: []string{"claude"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &run.Run{Paths: run.Paths{Dir: t.TempDir()}, Plan: run.Plan{Graph: g}}
	if err := os.MkdirAll(r.NodeDir("api"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := event.Open(r.Events("api"), "api", 1)
	if err != nil {
		t.Fatal(err)
	}
	prompt := event.Event{Kind: event.Prompt, Text: "# Task\n\n" + strings.Repeat("serve it\n", 50)}
	l.Append(prompt)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	log := "── api: attempt 1 ──\n" + new(event.Printer).Lines(prompt) + "Looking around.\nFound it.\n"
	if err := os.WriteFile(r.Log("api"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]string{
		1 << 20: "── api: attempt 1 ──\n── the prompt, 52 lines: cmux agents logs api --prompt ──\nLooking around.\nFound it.\n",
		40:      "Looking around.\nFound it.\n",
		12:      "Found it.\n",
		10:      "Found it.\n",
	} {
		if got, err := End(r, "api", n); err != nil || string(got) != want {
			t.Errorf("of %d bytes: %q, %v, want %q", n, got, err, want)
		}
	}
}
