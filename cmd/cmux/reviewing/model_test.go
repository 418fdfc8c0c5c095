package reviewing

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"cmux/agents/control/commands"
	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/worktree/hint"
)

// session is a model that a test talks to.
type session struct {
	t *testing.T
	model
	last effect
}

func open(t *testing.T, width, height int) *session {
	id := strings.Repeat("c", 40)
	s := &session{t: t, model: newModel([]runs.Delivery{
		{Node: "api", Label: "done", Branch: "s/api", State: runs.ReviewOpen, Commit: id, Start: id, Summary: "Two routes.",
			Commits: []runs.DeliveredCommit{{ID: id, Subject: "routes"}}, Checks: []runs.DeliveredCheck{{Command: "go test", Passed: true}},
			Files: []runs.DeliveredFile{{Path: "api.go", Added: 10, Deleted: 2}, {Path: "logo.png", Binary: true}}},
		{Node: "web", Label: "done", Branch: "s/web", State: runs.ReviewMoved, Commit: id, Start: id,
			Files: []runs.DeliveredFile{{Path: "a \x1b[31mfile", Added: 1}}},
	}, false)}
	return s.send(tea.WindowSizeMsg{Width: width, Height: height})
}

func (s *session) send(msg tea.Msg) *session {
	s.model, s.last = s.step(msg)
	return s
}

// keys presses keys, named as bubbletea names them; other words are typed.
func (s *session) keys(names ...string) *session {
	special := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft,
		"right": tea.KeyRight, "pgdown": tea.KeyPgDown, "end": tea.KeyEnd, "home": tea.KeyHome, "ctrl+j": tea.KeyCtrlJ, "tab": tea.KeyTab}
	for _, n := range names {
		if typ, ok := special[n]; ok {
			s.send(tea.KeyMsg{Type: typ})
		} else {
			s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(n)})
		}
	}
	return s
}

func (s *session) screen() string { return strings.Join(s.frame(), "\n") }

func (s *session) shows(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if got := s.screen(); !strings.Contains(got, w) {
			s.t.Errorf("no %q in\n%s", w, got)
		}
	}
}

func TestDecisions(t *testing.T) {
	commit := strings.Repeat("c", 40)
	for _, c := range []struct {
		name string
		keys []string
		want commands.Judgement
	}{
		{"approve", []string{"a"}, commands.Judgement{Node: "api", Verdict: run.VerdictApproved, Commit: commit}},
		{"drop", []string{"d"}, commands.Judgement{Node: "api", Verdict: run.VerdictDropped, Commit: commit}},
		{"from a file", []string{"right", "a"}, commands.Judgement{Node: "api", Verdict: run.VerdictApproved, Commit: commit}},
		{"another node", []string{"n", "d"}, commands.Judgement{Node: "web", Verdict: run.VerdictDropped, Commit: commit}},
		{"there and back", []string{"n", "p", "d"}, commands.Judgement{Node: "api", Verdict: run.VerdictDropped, Commit: commit}},
		{"send back", []string{"s", "use tabs", "enter"}, commands.Judgement{Node: "api", Verdict: run.VerdictSentBack, Comment: "use tabs"}},
		{"send back, in lines", []string{"s", "one", "ctrl+j", "two", "enter"}, commands.Judgement{Node: "api", Verdict: run.VerdictSentBack, Comment: "one\ntwo"}},
		{"a comment of letters that are keys", []string{"s", "q", "a", "enter"}, commands.Judgement{Node: "api", Verdict: run.VerdictSentBack, Comment: "qa"}},
		{"a comment given up", []string{"s", "no", "esc", "a"}, commands.Judgement{Node: "api", Verdict: run.VerdictApproved, Commit: commit}},
	} {
		s := open(t, 80, 24).keys(c.keys...)
		if s.last.kind != judge || s.last.judgement != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, s.last, c.want)
		}
		if s.keys("a"); s.last.kind == judge {
			t.Errorf("%s: a second decision before the first was taken in", c.name)
		}
	}
	s := open(t, 80, 24).keys("s", " ", "enter")
	if s.last.kind != nothing || s.comment == nil {
		t.Errorf("an empty comment was sent: %+v", s.last)
	}
	s.shows("the comment is empty")
}

// After a decision the next node that waits is shown, and after the last one it
// is over. One that could not be given is told, and stands to be given.
func TestOnward(t *testing.T) {
	s := open(t, 80, 24).keys("n", "a")
	s.send(judged{s.last.judgement, "", hint.New(errors.New("it has moved"), "look again")})
	s.shows("web  changed since it was approved  (2 of 2)", "it has moved (try: look again)")
	s.keys("a").send(judged{s.last.judgement, "web: approved at cccccccccccc\n", nil})
	s.shows("api  to review  (1 of 2)", "web: approved at cccccccccccc")
	if s.last.kind == leave {
		t.Fatal("it left before all was decided")
	}
	s.keys("d").send(judged{s.last.judgement, "api: dropped at cccccccccccc\n", nil})
	if s.last.kind != leave || strings.Join(s.said, "") != "web: approved at cccccccccccc\napi: dropped at cccccccccccc\n" {
		t.Errorf("%+v, said %q", s.last, s.said)
	}
	for _, key := range []string{"q", "esc"} {
		if s := open(t, 80, 24).keys(key); s.last.kind != leave {
			t.Errorf("%s does not end it", key)
		}
	}
}

func TestPages(t *testing.T) {
	s := open(t, 80, 12)
	s.shows("overview, 2 files", "api: done, to review")
	s.keys("right")
	if s.last.kind != read || s.last.file != "api.go" {
		t.Fatalf("%+v", s.last)
	}
	s.shows("file 1 of 2: +10 -2 api.go", "…")
	var b strings.Builder
	b.WriteString("diff --git a/api.go b/api.go\n--- a/api.go\n+++ b/api.go\n@@ -1 +1 @@\n")
	for i := range 30 {
		fmt.Fprintf(&b, "+\tline %d \x1b[2J\n", i)
	}
	s.send(patch{"api", s.now().Commit, "api.go", b.String(), nil})
	s.shows("@@ -1 +1 @@", "+    line 0")
	if strings.Contains(s.screen(), "diff --git") || strings.Contains(s.screen(), "\x1b") {
		t.Errorf("%q", s.screen())
	}
	s.keys("end")
	s.shows("line 29")
	s.keys("down", "pgdown")
	s.shows("line 29")
	s.keys("home")
	s.shows("line 0")
	if s.keys("left", "right"); s.last.kind != nothing {
		t.Errorf("what is there is read again: %+v", s.last)
	}
	s.keys("right").send(patch{"api", s.now().Commit, "logo.png", "", errors.New("git is gone")})
	s.shows("file 2 of 2: binary logo.png", "git is gone")
	s.keys("right")
	s.shows("overview")
	s.keys("?")
	s.shows("approve this commit")
}

// Whatever the size, a screen has its lines and none is too wide.
func TestSizes(t *testing.T) {
	for _, width := range []int{20, 80, 250} {
		for _, height := range []int{5, 24, 70} {
			for _, keys := range [][]string{nil, {"n"}, {"n", "right"}, {"?"}, {"s"}} {
				s := open(t, width, height).keys(keys...)
				lines := strings.Split(s.screen(), "\n")
				if len(lines) > max(height, chrome+commentLines) {
					t.Errorf("%dx%d after %q: %d lines", width, height, keys, len(lines))
				}
				for _, l := range lines {
					if ansi.StringWidth(l) > width {
						t.Errorf("%dx%d after %q: %q is too wide", width, height, keys, l)
					}
				}
			}
		}
	}
}
