package prompt

import "testing"

// What hands a task over is recognized in a conversation, and nothing else is.
func TestTaskTold(t *testing.T) {
	for text, want := range map[string]string{
		NewTask("t12", "Write it.\n\nWhole."):                "t12",
		"You are a worker.\n\n" + NewTask("t1", "Write it."): "t1",
		Reminded(Memory{Task: "t1", Text: "Write it."}):      "",
		WorkResumed("t1", ""):                                "",
		"Somebody says: A new task for you, t1. Do it":       "",
	} {
		if got := TaskTold(text); got != want {
			t.Errorf("%q tells of %q, want %q", text, got, want)
		}
	}
}
