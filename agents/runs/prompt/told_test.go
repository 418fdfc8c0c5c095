package prompt

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/handover"
	"cmux/agents/records/event"
	"cmux/agents/records/mail"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// What hands a task over is recognized in a conversation, and nothing else is.
func TestTaskTold(t *testing.T) {
	for text, want := range map[string]string{
		handover.NewTask("t12", "Write it.\n\nWhole."):                            "t12",
		"You are a worker.\n\n" + handover.NewTask("t1", "Write it."):             "t1",
		Reminded(Memory{Task: "t1", Text: "Write it."}):                           "",
		WorkResumed("t1", ""):                                                     "",
		"Somebody says: New task t1. Only this task counts":                       "",
		"New task t1. Do it":                                                      "",
		"A new task for you, t4. Only this task counts from now on.\n\nWrite it.": "t4", // as an earlier cmux said it
	} {
		if got := handover.TaskTold(text); got != want {
			t.Errorf("%q tells of %q, want %q", text, got, want)
		}
	}
}

// What an agent was told last in the turn that was cut off is repeated: neither what was
// over, nor that it was cut off before.
func TestTold(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	told := func(text string) event.Event { return event.Event{Kind: event.Prompt, Text: text} }
	handed := func(text string) event.Event { return event.Event{Kind: event.HandBack, Text: text} }
	rests := event.Event{Kind: event.Status, State: dag.Resting.String()}
	works := event.Event{Kind: event.Status, State: dag.Working.String()}
	late := event.Event{Kind: event.Prompt, Text: "old", At: noon.Add(-time.Hour)}
	for _, c := range []struct {
		name string
		all  []event.Event
		want string
	}{
		{"nothing", nil, ""},
		{"a prompt", []event.Event{rests, works, told("plan")}, "plan"},
		{"a message after it", []event.Event{rests, told("plan"), works, handed("mail"), {Kind: event.Text, Text: "hm"}}, "mail"},
		{"it came to rest", []event.Event{told("plan"), rests}, ""},
		{"a new turn, and nothing of it is written down yet", []event.Event{told("plan"), rests, works, late}, ""},
		{"cut off twice", []event.Event{rests, told("plan"), told(CutOff(nil, "plan", "", false, false)), told("You are api.\n\n" + CutOff(nil, "plan", "", true, true))}, "plan"},
	} {
		var got Told
		for i, e := range c.all {
			if e.At.IsZero() {
				e.At = noon.Add(time.Duration(i) * time.Second)
			}
			got.Take(e)
		}
		if got.Text != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Text, c.want)
		}
	}
}

func TestCutOff(t *testing.T) {
	lead := &run.Member{Role: "supervisor"}
	long := strings.Repeat("word ", 1000)
	for _, c := range []struct {
		got        string
		has, never []string
	}{
		{CutOff(lead, "<message id=\"x1\">\nbuild it", "", false, false),
			[]string{"cut off in the middle of a turn", "the same conversation", "\n> <message id=\"x1\">\n> build it\n", "`cmux tasks list`", "without repeating it"}, []string{"gone", "git status", "A person says"}},
		{CutOff(&run.Member{Role: "worker"}, "", "use b", true, false), []string{"an earlier conversation, which is gone. Look at", "`git status`", "A person says:\nuse b"}, []string{"told last", "tasks list", "the same conversation"}},
		{CutOff(lead, long, "", false, true), []string{"bytes more)", "You were stopped in the middle of a turn and are started again; you are back in"}, []string{long, "cut off"}},
	} {
		for _, w := range c.has {
			if !strings.Contains(c.got, w) {
				t.Errorf("%q does not hold %q", c.got, w)
			}
		}
		for _, w := range c.never {
			if strings.Contains(c.got, w) {
				t.Errorf("%q holds %q", c.got, w)
			}
		}
		if len(c.got) > 2*maxTold || len(mail.Seen(c.got)) > 0 || handover.TaskTold(c.got) != "" {
			t.Errorf("%q is long, or hands something over", c.got)
		}
	}
}
