package claude

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/transcript"
)

// What speaks against the hooks, and what does not however long it takes.
func TestSilenceOfHooks(t *testing.T) {
	type step func(s *silence, now time.Time) string
	hook := func(event, id string) step {
		return func(s *silence, now time.Time) string { s.hook(event, id, now); return "" }
	}
	sign := func(what transcript.Signed, id, text string) step {
		return func(s *silence, now time.Time) string {
			return s.read(transcript.Sign{What: what, At: now, ID: id, Tool: "Bash", Text: text}, now)
		}
	}
	old := func(what transcript.Signed, id string) step {
		return func(s *silence, now time.Time) string {
			return s.read(transcript.Sign{What: what, At: now.Add(-time.Hour), ID: id, Tool: "Bash"}, now)
		}
	}
	sub := func(s *silence, now time.Time) string {
		return s.read(transcript.Sign{What: transcript.Answered, At: now, Sub: true}, now)
	}
	shown := func(yes bool) step {
		return func(s *silence, now time.Time) string { s.standing(yes, now); return "" }
	}
	sent := func(s *silence, now time.Time) string { s.sent(); return "" }
	started := []step{hook("SessionStart", ""), hook("UserPromptSubmit", "")}
	seq := func(more ...step) []step { return append(append([]step(nil), started...), more...) }
	answered, called, ran := sign(transcript.Answered, "", ""), sign(transcript.Called, "1", ""), sign(transcript.Ran, "1", "")
	for _, c := range []struct {
		name  string
		steps []step
		after time.Duration // of the last step
		want  string        // in what speaks against them; empty: nothing does
	}{
		{"nothing at all, as before the program has drawn its screen", nil, time.Hour, ""},
		{"the prompt stands", []step{shown(true)}, 8 * time.Second, "prompt stands"},
		{"the prompt has just come", []step{shown(true)}, 3 * time.Second, ""},
		{"a dialog stands", []step{shown(true), shown(false)}, time.Hour, ""},
		{"the prompt stands after the first hook", []step{shown(true), hook("SessionStart", ""), shown(true)}, time.Hour, ""},
		{"the model thinks", started, time.Hour, ""},
		{"the model answers", []step{hook("SessionStart", ""), answered}, 6 * time.Second, "the model answers"},
		{"the model has just answered", []step{hook("SessionStart", ""), answered}, 2 * time.Second, ""},
		{"a hook is late", []step{answered, hook("UserPromptSubmit", "")}, time.Hour, ""},
		{"an answer of an earlier attempt", []step{hook("SessionStart", ""), old(transcript.Answered, "")}, time.Hour, ""},
		{"an earlier attempt used tools", seq(old(transcript.Called, "1"), old(transcript.Ran, "1")), time.Hour, ""},
		{"the outcome of a tool of an earlier attempt", seq(ran), time.Hour, ""},
		{"a tool has run unheard", seq(answered, called, ran), 0, "it ran Bash"},
		{"a tool runs unheard", seq(answered, called), 9 * time.Second, "uses Bash"},
		{"a tool was just called", seq(answered, called), 4 * time.Second, ""},
		{"a tool runs for hours", seq(answered, hook("PreToolUse", "1"), called), time.Hour, ""},
		{"the transcript is late", seq(hook("PreToolUse", "1"), hook("PostToolUse", "1"), called, ran), time.Hour, ""},
		{"a call waits for the one before it", seq(called, sign(transcript.Called, "2", ""), hook("PreToolUse", "1")), time.Hour, ""},
		{"and then is not heard of", seq(called, sign(transcript.Called, "2", ""), hook("PreToolUse", "1"), hook("PostToolUse", "1")), 9 * time.Second, "uses Bash"},
		{"a call is no valid one", seq(called, sign(transcript.NotRun, "1", "<tool_use_error>InputValidationError")), time.Hour, ""},
		{"a call is refused", seq(hook("PreToolUse", "1"), called, sign(transcript.NotRun, "1", "PreToolUse:Bash hook error: [x]: no")), time.Hour, ""},
		{"the guard cannot be run", seq(called, sign(transcript.NotRun, "1", "PreToolUse:Bash hook error: [x]: not found\nmore")), 0, "cannot be run"},
		{"a prompt was sent and is heard", seq(sent, hook("UserPromptSubmit", ""), answered), time.Hour, ""},
		{"a prompt was sent and is not heard", seq(sent, answered), 6 * time.Second, "the model answers"},
		{"a prompt was sent while a sub-agent works", seq(sent, sub), time.Hour, ""},
	} {
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		s := newSilence(now)
		got := ""
		for _, step := range c.steps {
			now = now.Add(time.Second)
			if why := step(s, now); why != "" {
				got = why
			}
			if why := s.against(now); why != "" {
				t.Errorf("%s: at once: %s", c.name, why)
			}
		}
		if why := s.against(now.Add(c.after)); got == "" {
			got = why
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestTurnOverUnheard(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	s := newSilence(now)
	over := func(at time.Time) { s.read(transcript.Sign{What: transcript.TurnOver, At: at}, now) }
	s.hook("Stop", "", now.Add(2*time.Second))
	over(now.Add(time.Second))
	if s.turnOver(now.Add(time.Hour)) {
		t.Error("a hook has told of a later turn already")
	}
	over(now.Add(3 * time.Second))
	if s.turnOver(now.Add(time.Second)) || !s.turnOver(now.Add(5*time.Second)) {
		t.Error("the end of a turn without its hook is believed at once, or not at all")
	}
	s.hook("UserPromptSubmit", "", now.Add(4*time.Second))
	if s.turnOver(now.Add(time.Hour)) {
		t.Error("another turn has begun")
	}
}
