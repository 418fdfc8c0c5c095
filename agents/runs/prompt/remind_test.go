package prompt_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/golden"
)

// reminders are what agents are told when their conversation is gone.
func reminders() map[string]prompt.Memory {
	member := func(role string) *run.Member {
		return &run.Member{Role: role, Context: "/p/.cmux/worker-contexts/api-context.md", RoleFile: "/p/.cmux/roles/api.md"}
	}
	const text, file = "New task text.\n\n## How to report\n\n- `done`.\n", "/p/task-2.md"
	return map[string]prompt.Memory{
		"node":   {Name: "auth", Text: text, File: "/p/prompt-1.md", Dir: "/p/auth", Done: []string{"on the branch feature/auth, no commit yet since you began"}},
		"review": {Name: "reviewer", Text: text, File: "/p/prompt-1.md", Dir: "/p"},
		"worker": {Name: "api", Member: member("worker"), Task: "t3", Text: text, File: file, Dir: "/p/api",
			Done: []string{"on the branch task/t3, commits since you began: git log 111111111111..HEAD", "not committed: M a.go"}, Back: "The check `make` failed (exit 2).\n\nFAIL"},
		"long":    {Name: "api", Member: member("permanent-worker"), Task: "t3", Text: strings.Repeat("long ", 2000), File: file, Dir: "/p/api", Back: strings.Repeat(strings.Repeat("fault ", 30)+"\n", 50)},
		"idle":    {Name: "api", Member: member("worker"), Dir: "/p/api"},
		"leader":  {Name: "supervisor", Member: member("supervisor"), Dir: "/p"},
		"leading": {Name: "sup-auth", Member: member("project-supervisor"), Task: "t4", Text: text, File: file, Dir: "/p"},
		"member":  {Name: "design.claude", Member: member("member"), Dir: "/p"},
		"sentry":  {Name: "sentry", Member: member("sentry"), Dir: "/p"},
	}
}

func TestReminded(t *testing.T) {
	all := reminders()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := all[name]
		got := prompt.Reminded(m)
		b.WriteString("===== " + name + "\n" + got + "\n")
		if len(got) > 9_900 {
			t.Errorf("%s: %d bytes, of which the program cuts the end", name, len(got))
		}
		for _, want := range []string{m.Task, m.Dir} {
			if m.Text != "" && !strings.Contains(got, want) {
				t.Errorf("%s: it is not told %q", name, want)
			}
		}
		if m.Text != "" && !strings.Contains(got, m.Text) && !strings.Contains(got, m.File) {
			t.Errorf("%s: it is told neither its task nor where that is", name)
		}
		if m.Member != nil && (!strings.Contains(got, m.Member.Context) || !strings.Contains(got, m.Member.RoleFile)) {
			t.Errorf("%s: it is not told who it is", name)
		}
		if m.Text == "" && strings.Contains(got, "You are at work") {
			t.Errorf("%s: it has no task, and the reminder names one", name)
		}
	}
	golden.Equal(t, "reminders.txt", b.String())
}
