package prompt

import (
	"testing"

	"cmux/agents/kinds/handover"
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
