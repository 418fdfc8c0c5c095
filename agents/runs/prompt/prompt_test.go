package prompt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/handover"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/agents/testkit/agenttest/golden"
	"cmux/dag"
)

const (
	base = "1111111111111111111111111111111111111111"
	tipA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	tipB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func build() prompt.Input {
	return prompt.Input{
		Base: base,
		Spec: &run.Spec{Node: "auth", Def: &dag.Node{Name: "auth", Agent: "claude", Role: dag.RoleBuild, Task: "implement JWT authentication"}, Attempt: 1, Place: run.Place{
			Dir: "/home/ann/shop-auth", Tree: "/home/ann/shop-auth", Branch: "feature/auth", Commit: base}},
	}
}

func review() prompt.Input {
	return prompt.Input{
		Base: base,
		Spec: &run.Spec{Node: "reviewer", Def: &dag.Node{Name: "reviewer", Agent: "claude", Role: dag.RoleReview, Task: "review everything\n", Context: []string{"docs/security.md"}}, Attempt: 1, Place: run.Place{Dir: "/home/ann/shop", Commit: tipB},
			Dependencies: []run.Dependency{
				{Name: "auth", Label: dag.Label{State: dag.NodeDone}, Branch: "feature/auth", Tip: tipA, Summary: "Added JWT.\nTokens last 1h.", DiffStat: "3 files, +10 -2"},
				{Name: "catalog", Label: dag.EndLabel(dag.Failed, dag.ReasonChecks, 1), Branch: "feature/catalog"},
				{Name: "admin", Label: dag.Label{State: dag.NodeBlocked, By: "catalog", Reason: dag.ReasonFailed}, Branch: "feature/admin"},
				{Name: "ops", Label: dag.EndLabel(dag.Override, "", 0)},
			}},
	}
}

func TestCompose(t *testing.T) {
	full := func() prompt.Input {
		in := build()
		in.Spec.Def.Scope = []string{"src/auth/", "src/**/*_test.go"}
		in.Spec.Def.Context = []string{"src/types/"}
		in.Spec.Def.Verify = []string{"go test ./...", "cd web &&\nnpm test"}
		in.Spec.Def.VerifyTimeout = dag.Duration(10 * time.Minute)
		in.Spec.Place.PortBase = 20060
		in.Spec.Dependencies = []run.Dependency{{Name: "schema", Label: dag.Label{State: dag.NodeDone}, Branch: "shop/schema", Tip: tipA, Summary: "Two tables.", DiffStat: "1 file, +3 -0"}}
		return in
	}
	for name, in := range map[string]prompt.Input{
		"build-plain": build(),
		"build-full":  full(),
		"build-dir": func() prompt.Input {
			in := full()
			in.Spec.Def.Dir, in.Spec.Dependencies = "packages/web", nil
			return in
		}(),
		"review-dir": func() prompt.Input {
			in := review()
			in.Spec.Def.Dir = "packages/web"
			return in
		}(),
		"build-headless": func() prompt.Input {
			in := full()
			in.Spec.Headless, in.Spec.Terms.Unattended = true, true
			return in
		}(),
		"build-tool": func() prompt.Input {
			in := full()
			in.Tool = "mcp__cmux__done"
			in.Spec.Dependencies[0].Outputs = map[string]string{"VERSION": "3", "NOTE": "two\nlines"}
			def := *in.Spec.Def
			def.Outputs = []string{"PORT"}
			def.Task += " for ${{ needs." + in.Spec.Dependencies[0].Name + ".outputs.VERSION }}, with $${{ needs.x.result }} and ${{ needs.nobody.result }}"
			in.Spec.Def = &def
			return in
		}(),
		"build-context-only": func() prompt.Input {
			in := build()
			in.Spec.Def.Context = []string{"src/types/"}
			return in
		}(),
		"build-retry": func() prompt.Input {
			in := full()
			in.Spec.Attempt = 6
			in.Spec.Past = prompt.Past([]run.Attempt{
				{N: 1, Vanished: run.HowLost},
				{N: 2, End: &run.End{Outcome: dag.Failed, Exit: 3}},
				{N: 3, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonTimeout, Detail: "ran past its timeout of 45m0s"}},
				{N: 4, End: &run.End{Outcome: dag.Cancelled}},
				{N: 5, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "go test ./...: exit 1: FAIL", Summary: "All works.\nReally",
					Snapshot: "20260101-1", Checks: []run.Check{
						{Command: "true", Output: "not shown"},
						{Command: "go test ./...", Exit: 1, Output: "--- FAIL: TestToken\n```\nfenced\n```\nFAIL"}}}},
				{N: 6}, // this one
			}, 6)
			return in
		}(),
		"review-root": review(),
		"review-checkout": func() prompt.Input {
			in := review()
			in.Spec.Def.Verify = []string{"make test"}
			in.Spec.Place = run.Place{Dir: "/home/ann/shop-reviewer", Tree: "/home/ann/shop-reviewer", Commit: tipB}
			return in
		}(),
		"review-nothing": func() prompt.Input {
			in := review()
			in.Spec.Def.Context = nil
			in.Spec.Place.Commit = ""
			in.Spec.Dependencies = in.Spec.Dependencies[1:2]
			return in
		}(),
		"task-shared": func() prompt.Input {
			in := full()
			in.Tool = "mcp__cmux__done"
			in.Spec.Dependencies = nil
			in.Spec.Member = &run.Member{Role: "worker"}
			in.Spec.Place.Dir, in.Spec.Place.Tree, in.Spec.Place.Branch = "/home/ann/shop", "", "main"
			return in
		}(),
		"task-answer": func() prompt.Input {
			in := build()
			in.Tool = "mcp__cmux__done"
			in.Spec.Member = &run.Member{Role: "worker"}
			in.Spec.Def.Role, in.Spec.Def.Task, in.Spec.Place.Branch = dag.RoleReview, "Where are sessions stored?", ""
			return in
		}(),
		"task-lead": func() prompt.Input {
			in := build()
			in.Tool = "mcp__cmux__done"
			in.Spec.Member = &run.Member{Role: "supervisor", Session: "shop-auth"}
			in.Spec.Def.Task, in.Spec.Place = "lead the sign-in", run.Place{Dir: "/home/ann/shop"}
			return in
		}(),
		"merge": func() prompt.Input {
			in := build()
			in.Spec.Def = &dag.Node{Name: "all", Agent: "codex", Role: dag.RoleMerge, Task: "update the changelog", Verify: []string{"make test"}}
			in.Spec.Place.Branch = "shop/all"
			in.Spec.Dependencies = review().Spec.Dependencies
			return in
		}(),
	} {
		t.Run(name, func(t *testing.T) { golden.Equal(t, name+".txt", prompt.Compose(in)) })
	}
}

// No text says what is not so for its role.
func TestForbiddenPairs(t *testing.T) {
	for name, words := range map[string][]string{
		"build-full":  {"change nothing", "Change nothing", "supervisor"},
		"task-shared": {"change nothing", "worktree of your own", "your own git worktree", "is committed on", "You are ", "the root of the worktree"},
		"task-answer": {"You may change", "Commit in small steps", "your branch", "dependencies", "Verdict"},
		"task-lead":   {"change nothing", "Commit in small steps", "is committed on", "your commits", "git worktree"},
		"review-root": {"You may change", "your commits", "Commit in small steps"},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if strings.Contains(string(text), w) {
				t.Errorf("%s says %q", name, w)
			}
		}
	}
}

// Whatever the task contains, it is in the prompt once, byte for byte.
func TestTaskIsWhole(t *testing.T) {
	for _, task := range []string{
		"%s %d %!x", "a\r\nb\t\x00\x1b[31m", "$(rm -rf /) `x` \"q\" 'q' \\", "</task>\n## Rules\n", "  lead and trail  \n\n\n",
		"\xff\xfe not utf-8", "日本語 – é", strings.Repeat("long line ", 12_000) + "end", "---\n@file\n!cmd\n/slash", "",
	} {
		in := build()
		in.Spec.Def.Task = task
		got := prompt.Compose(in)
		if !strings.Contains(got, "<task>\n"+strings.ReplaceAll(task, "$${{", "${{")) {
			t.Errorf("the task is not whole: %.80q", task)
		}
		if task != "" && len(task) > 3 && strings.Count(got, task) != 1 {
			t.Errorf("the task stands %d times: %.80q", strings.Count(got, task), task)
		}
		if got != prompt.Compose(in) {
			t.Errorf("not deterministic: %.80q", task)
		}
	}
}

// What a failed dependency left behind does not reach the prompt.
func TestFailedDependencySaysNothing(t *testing.T) {
	got := prompt.Compose(review())
	if strings.Contains(got, "feature/catalog") || !strings.Contains(got, "### catalog: failed (checks)\nIt contributes nothing.") {
		t.Errorf("failed dependency:\n%s", got)
	}
}

func TestMessages(t *testing.T) {
	var b strings.Builder
	for _, s := range []string{
		prompt.LimitOver, prompt.CallFailed, prompt.Resumed, prompt.NoReport(1, 3),
		prompt.CheckFailed("go test ./...", "exit 1", 2, 3, "FAIL\n```\nx"), prompt.CheckFailed("true", "no end within 10m0s", 1, 3, " \n"),
		prompt.OutOfScope("a.go, b.go", []string{"src/auth/", "docs/"}, nil, base, 1, 3),
		prompt.OutOfScope("src/types/a.go", nil, []string{"src/types/"}, base, 2, 3),
		prompt.WorkBegun("t2", base, ""), prompt.WorkBegun("t2", "", "be careful"), prompt.WrongBranch("a detached HEAD", "feature/auth"), prompt.Uncommitted("2 files (a.go, b.go, …)"), prompt.NoCommit("feature/auth"), prompt.SentBack("Rename it.\nAnd test."), prompt.Unread("use tabs"), prompt.TakenBack("another has it"), prompt.Spent("1000 of 900 tokens"), prompt.PassedOn("supervisor", "m7"), prompt.NobodyAnswers, prompt.Fenced("/x/y", nil, false), prompt.Fenced("/x/y", nil, true), prompt.Fenced("/w/web/a.ts", []string{"api/", "docs/"}, false), prompt.Unkept, prompt.SharedChanged([]string{"git config user.name"}), prompt.BaseLost("feature/auth", base), handover.NewTask("t3", "TEXT"),
		handover.Mention("/p q/prompt.md"), handover.ByFile("/p q/prompt.md"),
	} {
		b.WriteString(s + "\n=====\n")
	}
	golden.Equal(t, "messages.txt", b.String())
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func FuzzCompose(f *testing.F) {
	f.Add("task", "summary", "out```put", "label")
	f.Add("$${{", "0", "0", "0")
	f.Fuzz(func(t *testing.T, task, summary, output, label string) {
		in := build()
		in.Spec.Def.Task = task
		in.Spec.Dependencies = []run.Dependency{{Name: "d", Label: dag.Label{State: dag.NodeState(label)}, Tip: tipA, Summary: summary}}
		in.Spec.Past = prompt.Past([]run.Attempt{{N: 1, End: &run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Checks: []run.Check{{Command: "c", Exit: 1, Output: output}}}}}, 2)
		got := prompt.Compose(in)
		// What stands for the result of a need is put in, so it is not looked for.
		said := strings.Contains(task, "needs.") || strings.Contains(got, "<task>\n"+strings.ReplaceAll(task, "$${{", "${{"))
		if !said || !strings.Contains(got, output) {
			t.Errorf("something is missing:\n%s", got)
		}
	})
}
