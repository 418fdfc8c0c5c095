package modeltest

import (
	"strings"
	"testing"
	"time"
)

func TestCodexAnswers(t *testing.T) {
	t.Parallel()
	s := New(t, Script{Name: "hello", Turns: []Turn{
		{Thinking("a greeting is due"), Text("hello there"), Usage{Input: 7, Output: 11, CacheRead: 300}},
		{Text("again")},
	}})
	dir := t.TempDir()
	h := Env(t, s, dir)
	all, code := codex(t, h, dir, "do #script:hello")
	if code != 0 {
		t.Fatalf("exit %d", code)
	}
	said := ""
	for _, l := range all {
		if l.Type == "item.completed" && l.Item.Type != "error" {
			said += l.Item.Type + ": " + l.Item.Text + "\n"
		}
	}
	if said != "reasoning: a greeting is due\nagent_message: hello there\n" {
		t.Error(said)
	}
	if u := last(t, all, "turn.completed").Usage; u["input_tokens"] != 307. || u["cached_input_tokens"] != 300. || u["output_tokens"] != 11. {
		t.Errorf("%v", u)
	}
	thread := last(t, all, "thread.started").ThreadID
	all, code = codex(t, h, dir, "resume", thread, "go on")
	if code != 0 || last(t, all, "item.completed").Item.Text != "again" {
		t.Errorf("resumed: exit %d, %+v", code, all)
	}
	rs := s.Requests()
	if len(rs) != 2 || rs[0].Session != thread || rs[1].Session != thread || rs[0].Protocol != Responses || rs[0].System == "" ||
		!strings.Contains(strings.Join(rs[0].Tools, " "), "exec_command") || rs[1].Turn != 1 {
		t.Errorf("thread %s; recorded %d: session %q, tools %v, turn %d", thread, len(rs), rs[0].Session, rs[0].Tools, rs[len(rs)-1].Turn)
	}
}

func TestCodexRunsACommand(t *testing.T) {
	t.Parallel()
	s := New(t, Script{Name: "work", Turns: []Turn{
		{Text("two commands"), Shell("echo one >a.txt; cat a.txt"), Shell("echo two")},
		{Text("finished")},
	}})
	dir := t.TempDir()
	all, code := codex(t, Env(t, s, dir), dir, "do #script:work")
	if item := last(t, all, "item.completed").Item; code != 0 || item.Text != "finished" {
		t.Errorf("exit %d, %+v", code, item)
	}
	if a := read(t, dir, "a.txt"); a != "one\n" {
		t.Errorf("a.txt %q", a)
	}
	rs := s.Requests()
	if len(rs) != 2 || rs[1].Turn != 1 {
		t.Fatalf("%d requests, want 2: two calls of one answer are one turn", len(rs))
	}
	if results := rs[1].ToolResults(); len(results) != 2 || !strings.Contains(results[0].Text, "one") || !strings.Contains(results[1].Text, "two") {
		t.Errorf("the results arrived as %+v", results)
	}
}

func TestCodexMeetsFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault Fault
		says  string
	}{
		{"429", RateLimited, "429 Too Many Requests"},
		{"500", ServerError, "high demand"},
		{"401", Unauthorized, "401 Unauthorized"},
		{"cut", Cut, "stream disconnected"},
		{"limit", UsageLimit(2 * time.Hour), "hit your usage limit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := New(t, Script{Name: "f", Turns: []Turn{{c.fault, Text("no fault")}}})
			dir := t.TempDir()
			all, code := codex(t, Env(t, s, dir), dir, "do #script:f")
			if failed := last(t, all, "turn.failed"); code != 1 || !strings.Contains(failed.Error.Message, c.says) {
				t.Errorf("exit %d, %+v; want %q", code, failed, c.says)
			}
		})
	}
}
