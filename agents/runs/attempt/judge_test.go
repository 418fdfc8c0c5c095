package attempt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

// agentInTree is an agent that only listens; the test reports for it.
func agentInTree(t *testing.T, node dag.Node) (f *fixture, wait func() (run.End, error)) {
	t.Helper()
	node.Agent, node.Task = scripted.Name, `while read -r line; do echo "told: $line"; done; sleep 1000`
	node.VerifyAttempts = max(node.VerifyAttempts, 2)
	f = inTree(t, node)
	f.job.Kinds = agent.NewKinds(scripted.Kind(true))
	return f, f.start(t.Context())
}

func (f *fixture) done(summary string) {
	f.t.Helper()
	if r := f.say(attempt.Message{Op: attempt.OpDone, Token: "secret", Text: summary}); r.Error != "" {
		f.t.Error(r.Error)
	}
}

// told waits until the agent was handed back for the n-th time, with text in it.
func (f *fixture) told(n int, text string) {
	f.t.Helper()
	eventually(f.t, "the hand-back says "+text, func() bool { return strings.Count(f.log(), "told: ") == n })
	all := strings.Split(f.log(), "told: ")
	if !strings.Contains(all[n], text) {
		f.t.Errorf("hand-back %d: %q, want %q in it", n, all[n], text)
	}
}

func (f *fixture) file(name string) string { return filepath.Join(f.job.Spec.Place.Dir, name) }

func TestUncommittedIsHandedBackOnce(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{Verify: []string{"echo x >> ignored"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	write(t, f.file("new"), "x\n")
	f.done("made new")
	f.told(1, "Not committed")
	f.done("made new")
	end, err := wait()
	if err != nil || end.Outcome != dag.Done || end.Commits != 1 || end.Summary != "made new" {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
	if subject := git(t, f.root, "log", "-1", "--format=%s", "shop/a"); subject != "a: made new" {
		t.Errorf("subject %q", subject)
	}
	// The content did not change, so the checks ran once.
	if b, err := os.ReadFile(f.file("ignored")); err != nil || string(b) != "x\n" {
		t.Errorf("checks ran %d times, %v", strings.Count(string(b), "x"), err)
	}
	f.leaveNothing()
}

func TestNoCommit(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{})
	f.done("all fine")
	f.told(1, "no commit")
	f.done("it was so already")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || end.Commits != 0 {
		t.Errorf("%+v, %v", end, err)
	}
	f, wait = agentInTree(t, dag.Node{})
	f.done("Nothing was needed: it was so already")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || strings.Contains(f.log(), "told:") {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}

func TestScopeIsHandedBack(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{Scope: []string{"src/"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	write(t, f.file("outside"), "x\n")
	write(t, f.file("src/in"), "x\n")
	f.done("x")
	f.told(1, "outside")
	if err := os.Remove(f.file("outside")); err != nil {
		t.Fatal(err)
	}
	git(t, f.job.Spec.Place.Dir, "add", "-A")
	git(t, f.job.Spec.Place.Dir, "commit", "-q", "-m", "in")
	f.done("y")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || end.Commits != 1 {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}

	f, wait = agentInTree(t, dag.Node{Scope: []string{"src/"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	write(t, f.file("outside"), "x\n")
	f.done("x")
	f.told(1, "outside")
	f.done("still")
	end, err := wait()
	if err != nil || end.Outcome != dag.Failed || end.Reason != dag.ReasonScope || end.Snapshot == "" {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}

func TestAnotherBranchIsHandedBack(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	dir := f.job.Spec.Place.Dir
	git(t, dir, "checkout", "-q", "-b", "elsewhere")
	write(t, f.file("new"), "x\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "new")
	f.done("x")
	f.told(1, "shop/a")
	git(t, dir, "checkout", "-q", "shop/a")
	git(t, dir, "merge", "-q", "elsewhere")
	f.done("x")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || end.Commits != 1 {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}

// A change after the checks passed has them run again.
func TestChecksRunAgainAfterAChange(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{Verify: []string{"echo x >> ignored"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	write(t, f.file("new"), "x\n")
	f.done("x")
	f.told(1, "Not committed")
	write(t, f.file("new"), "y\n")
	f.done("y")
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("%+v, %v", end, err)
	}
	if b, err := os.ReadFile(f.file("ignored")); err != nil || string(b) != "x\nx\n" {
		t.Errorf("checks ran %d times, %v", strings.Count(string(b), "x"), err)
	}
}

// A repository inside is named with the ways out, as often as any fault.
func TestRepositoryInsideIsHandedBack(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{VerifyAttempts: 3})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	dir := f.job.Spec.Place.Dir
	git(t, dir, "init", "-q", "lib/vendored")
	git(t, f.file("lib/vendored"), "commit", "-q", "--allow-empty", "-m", "its own")
	write(t, f.file("lib/vendored/x"), "x\n")
	write(t, f.file("src/y"), "y\n")
	f.done("one")
	f.told(1, "repository of its own, whose files no commit of yours takes in: lib/vendored")
	git(t, dir, "add", "-A")
	f.done("two")
	f.told(2, "git rm --cached -- lib/vendored")
	git(t, dir, "rm", "-q", "-r", "--cached", "-f", "lib/vendored")
	if err := os.RemoveAll(f.file("lib/vendored/.git")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "vendored")
	f.done("three")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || end.Commits != 1 {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}

// What a check does to the work is handed back, and what copy brought stays out
// of commits.
func TestWhatIsNotTheAgentsIsHandedBack(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{VerifyAttempts: 3, Verify: []string{"test ! -e spoil || { rm spoil src/a.txt; }"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	dir := f.job.Spec.Place.Dir
	write(t, f.file("spoil"), "x\n")
	f.done("one")
	f.told(1, "it deleted or emptied spoil, src/a.txt")
	git(t, dir, "restore", "src/a.txt")
	write(t, f.file("new"), "x\n")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "new")
	f.done("two")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || end.Commits != 1 {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}

// What a person said comes first: a report made without it is handed back with it, even
// during the examination, and nothing of it is lost.
func TestReportWithoutTheAnswer(t *testing.T) {
	f, wait := agentInTree(t, dag.Node{Verify: []string{"touch ../checking; until test -e ../go; do sleep 0.1; done"}})
	eventually(t, "it runs", func() bool { return f.log() != "" })
	write(t, f.file("new"), "x\n")
	git(t, f.job.Spec.Place.Dir, "add", "-A")
	git(t, f.job.Spec.Place.Dir, "commit", "-q", "-m", "new")
	f.done("one")
	eventually(t, "it is judged", func() bool {
		_, err := os.Stat(filepath.Join(f.job.Spec.Place.Dir, "../checking"))
		return err == nil
	})
	for _, text := range []string{"use tabs", "and no semicolons"} {
		if r := f.say(attempt.Message{Op: attempt.OpAnswer, Text: text}); r.Error != "" {
			t.Error(r.Error)
		}
	}
	write(t, f.file("../go"), "")
	f.told(1, "use tabs and no semicolons")
	f.done("two")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || end.Summary != "two" {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}
