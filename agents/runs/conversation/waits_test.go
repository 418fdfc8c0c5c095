package conversation

import (
	"strings"
	"testing"

	"cmux/agents/kinds/news"
	"cmux/agents/kinds/question"
)

// A message that was not read waits for something in every phase, and Waits names it.
func TestWaits(t *testing.T) {
	mail := func(id string, u Urgency) Message { return Message{Why: FromMail, ID: id, Urgency: u} }
	asking := func(inPane bool) Open {
		q := question.New("Delete it?")
		q.InPane = inPane
		return Open{Question: q}
	}
	for _, c := range []struct {
		name string
		s    State
		want string // of the message "m"
	}{
		{"its program starts", State{Phase: Preparing}, "its program starts"},
		{"its program starts again", State{Phase: Reviving}, "its program starts"},
		{"its program has ended", State{Phase: Left}, "its program, which has ended"},
		{"a person types", State{Phase: Working, Taken: true}, "the end of a takeover"},
		{"a draft", State{Phase: Hindered, Screen: news.Draft{}}, "a line is begun in its prompt: send or clear it there"},
		{"its program shows no prompt yet", State{Phase: Hindered, Screen: news.UnknownScreen{}}, "its program starts"},
		{"its program shows no prompt any more", State{Phase: Hindered, Screen: news.UnknownScreen{}, Shown: true}, "its pane shows no prompt"},
		{"copy mode", State{Phase: Hindered, Screen: news.CopyMode{}}, "its pane is in copy mode: q leaves it"},
		{"a dialog of its program on the screen", State{Phase: Hindered, Screen: news.Dialog{Name: "auto", Says: "Claude Code offers its auto mode"}}, "Claude Code offers its auto mode: answer or close it there"},
		{"a question in its pane", State{Phase: Asking, Open: asking(true)}, "a dialog of its program: Delete it?"},
		{"a question for a person", State{Phase: Asking, Open: asking(false)}, "the answer to its question: Delete it?"},
		{"a limit", State{Phase: Limited}, "the end of a limit"},
		{"a slot", State{Phase: Regaining}, "a slot"},
		{"the model", State{Phase: BackingOff}, "the model, whose last call failed"},
		{"its report is checked", State{Phase: Judging}, "the checks of its report"},
		{"a turn", State{Phase: Working}, "the end of its turn"},
		{"the end of a conversation", State{Phase: Closing}, "its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.s.Pending = []Message{mail("m", Patient)}
			if got := c.s.Waits()["m"]; got != c.want {
				t.Errorf("Waits() = %q, want %q", got, c.want)
			}
		})
	}
	for p := range phases {
		s := State{Phase: p, Pending: []Message{mail("m", Patient)}}
		if s.Waits()["m"] == "" {
			t.Errorf("phase %d: a message waits for nothing", p)
		}
	}
}

// What is urgent takes along what stands before it, and not what stands behind it.
func TestWaitsOfUrgent(t *testing.T) {
	mail := func(id string, u Urgency) Message { return Message{Why: FromMail, ID: id, Urgency: u} }
	s := State{Phase: Working, CanBreak: true, Pending: []Message{mail("a", Patient), mail("b", Breaking), mail("c", Patient), mail("d", Urgent), mail("e", Patient)}}
	for id, want := range map[string]string{
		"a": "its turn to be broken off", "b": "its turn to be broken off",
		"c": "its next tool call", "d": "its next tool call", "e": "the end of its turn",
	} {
		if got := s.Waits()[id]; got != want {
			t.Errorf("%s waits for %q, want %q", id, got, want)
		}
	}
}

// What was handed over waits for a sign until its conversation shows it.
func TestWaitsOfUnseen(t *testing.T) {
	both := Message{parts: []Message{{Why: FromMail, ID: "a"}, {Why: FromMail, ID: "b"}}}
	s := State{Phase: Working, Unseen: []Message{both}}
	for _, id := range []string{"a", "b"} {
		if got := s.Waits()[id]; got != "its conversation to show it" {
			t.Errorf("%s waits for %q", id, got)
		}
	}
	s.Unseen, s.Unproven = []Message{{Why: FromMail, ID: "x", tries: maxTries - 1}}, []Message{{Why: FromMail, ID: "h"}}
	if got := s.Waits(); !strings.Contains(got["x"], "after 3 deliveries") || got["h"] != "a sign that it has read it" {
		t.Errorf("%q", got)
	}
}
