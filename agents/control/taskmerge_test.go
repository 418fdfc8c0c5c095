package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmux/agents/control/tasks"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree/hint"
)

// organized is a scratch with an organization that nobody keeps, and its agents.
func organized(t *testing.T, set standing.Settings, agents ...string) *scratch {
	t.Helper()
	s := newScratch(t, "session: scratch\nagents: []\n")
	if err := os.Remove(filepath.Join(s.Root, ".cmux-agents.yml")); err != nil {
		t.Fatal(err)
	}
	set.Integration = "main"
	_, err := run.CreateOrganization(s.Root, "scratch", "t", s.Env, "/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	org, err := standing.Open(s.Root)
	if err == nil {
		err = org.Set(t.Context(), set)
	}
	for _, name := range agents {
		err = errors.Join(err, org.Join(t.Context(), run.Member{ID: "ag_" + name, Name: name, Role: standing.Worker, Dir: s.Root}, ""))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// did has an agent do a task: files, each with a content, are committed on its
// branch, which begins at from.
func (s *scratch) did(agent, title, from string, verify []string, files ...string) (id string) {
	s.t.Helper()
	v, err := s.Tasks().Add(s.t.Context(), task.Fields{Title: &title, Verify: &verify})
	if err != nil {
		s.t.Fatal(err)
	}
	s.does(agent, v.ID, from, files...)
	return v.ID
}

func (s *scratch) does(agent, id, from string, files ...string) {
	s.t.Helper()
	v, err := s.Tasks().Task(id)
	if err != nil {
		s.t.Fatal(err)
	}
	dir := filepath.Join(s.Root, "..", "work")
	s.gitIn(s.Root, "worktree", "add", "-q", "-b", v.WorkBranch(), dir, from)
	for i := 0; i < len(files); i += 2 {
		if name, content := files[i], files[i+1]; name == "merge" {
			s.gitIn(dir, "merge", "-q", "--no-edit", "-X", "theirs", content)
		} else {
			s.write(filepath.Join(dir, name), content)
		}
	}
	s.gitIn(dir, "add", ".")
	s.gitIn(dir, "commit", "-q", "--allow-empty", "-m", id)
	tip := s.gitIn(dir, "rev-parse", "HEAD")
	s.gitIn(s.Root, "worktree", "remove", dir)
	s.clock(1e9)
	s.attempts(agent, id, run.End{Outcome: dag.Done, Commits: 1, Tip: tip})
}

// attempts has an agent work on a task, and end so.
func (s *scratch) attempts(agent, id string, end run.End) {
	s.t.Helper()
	_, err := s.Tasks().Write(s.t.Context(), func(l *task.List) ([]task.Change, error) {
		t := l.Get(id)
		n := t.Version
		var all []task.Change
		if t.State != task.Assigned {
			all = append(all, task.Change{Task: id, Saw: n, Op: task.OpMove, To: task.Assigned, Agent: agent})
			n++
		}
		return append(all, task.Change{Task: id, Saw: n, Op: task.OpMove, To: task.Working},
			task.Change{Task: id, Saw: n + 1, Op: task.OpVerdict, Attempt: len(t.Attempts) + 1, End: &end}), nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *scratch) merged(o tasks.MergeTasks) string {
	s.t.Helper()
	res, err := s.Tasks().Merge(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	var lines []string
	for _, m := range res.Tasks {
		lines = append(lines, strings.TrimRight(strings.Join([]string{m.ID, m.Outcome, strings.Join(m.Conflict, "+"), m.Check, m.Task, m.Agent}, " "), " "))
	}
	if tip := s.gitIn(s.Root, "rev-parse", "main"); !o.DryRun && res.Commit != tip {
		s.t.Errorf("it says that main is at %s, and it is at %s", res.Commit, tip)
	}
	return strings.Join(lines, "; ")
}

func (s *scratch) file(name string) string {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.Root, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func TestMergeTasks(t *testing.T) {
	s := organized(t, standing.Settings{}, "api", "web")
	if got := s.merged(tasks.MergeTasks{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	base := s.gitIn(s.Root, "rev-parse", "main")
	s.did("api", "one", base, []string{"test -e a"}, "a", "1\n")
	s.did("web", "two", base, nil, "a", "2\n")
	s.did("gone", "three", base, []string{"test -e never"}, "c", "3\n")
	s.did("web", "four", base, []string{"test -e d"}, "d", "4\n")
	if got, want := s.merged(tasks.MergeTasks{DryRun: true}), "t1 merged; t2 conflict a; t3 merged; t4 merged"; got != want {
		t.Errorf("dry: %s; want %s", got, want)
	}
	if tip := s.gitIn(s.Root, "rev-parse", "main"); tip != base {
		t.Errorf("a dry run moved main to %s", tip)
	}
	if got, want := s.merged(tasks.MergeTasks{}), "t1 merged; t2 conflict a  t5 web; t3 check  test -e never t6; t4 merged"; got != want {
		t.Fatalf("%s; want %s", got, want)
	}
	if s.file("a") != "1\n" || s.file("d") != "4\n" {
		t.Error("the checkout of main did not come along")
	}
	if out := s.gitIn(s.Root, "status", "--porcelain"); out != "" {
		t.Errorf("it is left with %s", out)
	}
	if out := s.gitIn(s.Root, "worktree", "list"); strings.Contains(out, "merge-tasks") {
		t.Errorf("the worktree of the merge stays: %s", out)
	}

	// What became of each stands in the task, with who is to mend it.
	for id, want := range map[string]string{"t1": "done, merged", "t2": "done, not merged (conflict)", "t3": "done, not merged (check)", "t5": "assigned, web is down", "t6": "open"} {
		if v, err := s.Tasks().Task(id); err != nil || v.Label != want {
			t.Errorf("%s: %s, %v; want %s", id, v.Label, err, want)
		}
	}
	five, _ := s.Tasks().Task("t5")
	two, _ := s.Tasks().Task("t2")
	if five.Parent != "t2" || five.Agent != "web" || !strings.Contains(five.Body, "git merge --no-edit "+two.Result.Tip) || !strings.Contains(five.Body, "the same places meanwhile: a.") {
		t.Errorf("t5 is %+v", five.Task)
	}
	six, _ := s.Tasks().Task("t6")
	if !slices.Contains(six.Verify, "test -e never") || six.Agent != "" {
		t.Errorf("t6 is %+v", six.Task)
	}
	if got, want := s.merged(tasks.MergeTasks{}), "t2 waits   t5 web; t3 waits   t6"; got != want {
		t.Errorf("again: %s; want %s", got, want)
	}

	// The repair brings the work in, and with it the task.
	s.does("web", "t5", "main", "merge", two.Result.Tip)
	if got, want := s.merged(tasks.MergeTasks{IDs: []string{"t2", "t5"}}), "t5 merged; t2 contained"; got != want {
		t.Errorf("repaired: %s; want %s", got, want)
	}
	// A repair that was given up leaves the work to be tried again.
	if _, err := s.Tasks().Move(t.Context(), "t6", task.Cancelled, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := s.merged(tasks.MergeTasks{}), "t3 check  test -e never t7"; got != want {
		t.Errorf("given up: %s; want %s", got, want)
	}
	_, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{IDs: []string{"t7"}})
	refused(t, err, "task t7 is open: only what is done is merged", "cmux tasks show t7")
	_, err = s.Tasks().Merge(t.Context(), tasks.MergeTasks{IDs: []string{"t9"}})
	refused(t, err, `there is no task "t9"`, "cmux tasks list --all")
}

// The branch is never moved over what a person has not committed, and a merge that
// was cut off anywhere goes on.
func TestMergeTasksGoesOn(t *testing.T) {
	s := organized(t, standing.Settings{})
	base := s.gitIn(s.Root, "rev-parse", "main")
	s.did("api", "one", base, nil, "a", "1\n")
	s.write(filepath.Join(s.Root, "a"), "mine\n")
	_, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{})
	if _, try := hint.Explain(err); err == nil || try != "commit these changes there, or put them aside (git stash -u), then cmux tasks merge" || s.file("a") != "mine\n" {
		t.Fatalf("over what is not committed: %v", err)
	}
	if v, _ := s.Tasks().Task("t1"); v.Label != "done" {
		t.Errorf("t1 is %s", v.Label)
	}
	s.did("api", "two", base, []string{"test ! -e b || kill -9 $$"}, "b", "1\n") // a verdict of its own
	s.gitIn(s.Root, "stash", "-q", "-u")
	if got, want := s.merged(tasks.MergeTasks{IDs: []string{"t2"}}), "t2 check  test ! -e b || kill -9 $$ t3"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	if tip := s.gitIn(s.Root, "rev-parse", "main"); tip != base {
		t.Error("a merge that nobody asked for was made with it")
	}
	if got, want := s.merged(tasks.MergeTasks{}), "t1 merged; t2 waits   t3"; got != want {
		t.Errorf("%s; want %s", got, want)
	}

	// Killed between the branch and the record.
	id := s.did("api", "three", "main", nil, "c", "1\n")
	v, _ := s.Tasks().Task(id)
	s.gitIn(s.Root, "merge", "-q", "--ff-only", v.Result.Tip)
	if got, want := s.merged(tasks.MergeTasks{}), "t2 waits   t3; t4 contained"; got != want {
		t.Errorf("%s; want %s", got, want)
	}

	// Cut off in a check.
	ctx, cancel := context.WithCancel(t.Context())
	s.did("api", "four", base, []string{"true"}, "e", "1\n")
	_, err = s.Tasks().Merge(ctx, tasks.MergeTasks{Begun: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cut off: %v", err)
	}
	if got, want := s.merged(tasks.MergeTasks{IDs: []string{"t5"}}), "t5 merged"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// A check of the configuration that fails on the branch as it is blames nobody.
func TestMergeTasksOnABrokenBranch(t *testing.T) {
	s := organized(t, standing.Settings{Verify: []string{"test ! -e broken"}}, "api")
	base := s.gitIn(s.Root, "rev-parse", "main")
	s.did("api", "one", base, nil, "broken", "1\n")
	if got, want := s.merged(tasks.MergeTasks{}), "t1 check  test ! -e broken t2 api"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	s.write(filepath.Join(s.Root, "broken"), "")
	s.gitIn(s.Root, "add", ".")
	s.gitIn(s.Root, "commit", "-q", "-m", "broken")
	s.did("api", "two", base, nil, "b", "1\n")
	_, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{})
	refused(t, err, "on main as it is, without task t3, this fails already: test ! -e broken (of config.yml): exit status 1", "mend it there, then cmux tasks merge")
	if v, _ := s.Tasks().Task("t3"); v.Merged != nil {
		t.Errorf("t3 is blamed: %s", v.Merged)
	}
	s.gitIn(s.Root, "rm", "-q", "broken")
	s.gitIn(s.Root, "commit", "-q", "-m", "mended")
	if got, want := s.merged(tasks.MergeTasks{}), "t1 waits   t2 api; t3 merged"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// What a person called done is merged from its branch, and without commits there is
// nothing to merge, which is written down.
func TestMergeTasksCalledDone(t *testing.T) {
	s := organized(t, standing.Settings{}, "api")
	base := s.gitIn(s.Root, "rev-parse", "main")
	by := func(title, branch string, end run.End) string {
		v, err := s.Tasks().Add(t.Context(), task.Fields{Title: &title})
		if err != nil {
			t.Fatal(err)
		}
		if end.Outcome != dag.NoOutcome {
			s.attempts("api", v.ID, end)
		}
		if branch != "" {
			s.gitIn(s.Root, "branch", v.WorkBranch(), branch)
		}
		if v, err = s.Tasks().Override(t.Context(), v.ID, "by hand"); err != nil {
			t.Fatal(err)
		}
		return v.Label
	}
	failed := run.End{Outcome: dag.Failed}
	had := run.End{Outcome: dag.Failed, Commits: 2, Tip: base}
	commit := s.gitIn(s.Root, "commit-tree", "-p", "main", "-m", "by hand", "main^{tree}")
	for i, c := range []struct {
		branch      string
		end         run.End
		label, then string
	}{
		{"", run.End{}, "done (override), nothing to merge", "done (override), nothing to merge"}, // nobody began
		{"", failed, "done (override), nothing to merge", "done (override), nothing to merge"},
		{base, failed, "done (override)", "done (override), nothing to merge"},
		{base, had, "done (override)", "done (override), merged"}, // a person brought it in
		{"", had, "done (override)", "done (override)"},
		{commit, run.End{}, "done (override)", "done (override), merged"},
	} {
		if got := by("x", c.branch, c.end); got != c.label {
			t.Errorf("%d: %s, want %s", i, got, c.label)
		}
		s.merged(tasks.MergeTasks{DryRun: true})
		s.merged(tasks.MergeTasks{})
		if v, err := s.Tasks().Task(fmt.Sprintf("t%d", i+1)); err != nil || v.Label != c.then {
			t.Errorf("%d: after a merge %s, %v; want %s", i, v.Label, err, c.then)
		}
	}
}

func TestUnmerged(t *testing.T) {
	s := organized(t, standing.Settings{})
	parent, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("parent")})
	if err != nil {
		t.Fatal(err)
	}
	child, err := s.Tasks().Add(t.Context(), task.Fields{Title: titleOf("child"), Parent: &parent.ID})
	if err != nil {
		t.Fatal(err)
	}
	s.does("api", child.ID, "main", "b", "1\n")
	other := s.did("api", "other", "main", nil, "c", "1\n")
	s.does("api", parent.ID, "main", "a", "1\n")
	l, err := s.TaskList()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range l.Unmerged() {
		got = append(got, u.ID)
	}
	if want := []string{parent.ID, child.ID, other}; !reflect.DeepEqual(got, want) {
		t.Errorf("the order is %v; want %v", got, want)
	}
}

func titleOf(s string) *string { return &s }

// What a merge driver drops of a task's work is told before the merge and with it.
func TestMergeTasksNotesWhatIsDropped(t *testing.T) {
	s := organized(t, standing.Settings{}, "api", "web")
	s.gitIn(s.Root, "config", "merge.ours.driver", "true")
	s.write(filepath.Join(s.Root, ".gitattributes"), "list merge=ours\n")
	s.write(filepath.Join(s.Root, "list"), "1\n")
	s.gitIn(s.Root, "add", ".gitattributes", "list")
	s.gitIn(s.Root, "commit", "-q", "-m", "a list")
	base := s.gitIn(s.Root, "rev-parse", "main")
	s.did("api", "one", base, nil, "list", "api\n")
	s.did("web", "two", base, nil, "list", "web\n")
	for _, dry := range []bool{true, false} {
		res, err := s.Tasks().Merge(t.Context(), tasks.MergeTasks{DryRun: dry})
		if err != nil || len(res.Tasks) != 2 {
			t.Fatalf("%+v, %v", res, err)
		}
		if notes := res.Tasks[0].Notes; len(notes) > 0 {
			t.Errorf("dry %v: the first: %q", dry, notes)
		}
		if notes := res.Tasks[1].Notes; len(notes) != 1 || !strings.Contains(notes[0], "merge=ours in git's attributes drops one side of list") {
			t.Errorf("dry %v: the second: %q", dry, notes)
		}
	}
}
