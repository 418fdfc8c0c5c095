package control

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/control/commands"
	"cmux/agents/control/logs"
	"cmux/agents/control/merging"
	"cmux/agents/control/project"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/hint"
)

func TestDiff(t *testing.T) {
	s := worked(t)
	diff := func(node string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if err := s.Runs().Diff(t.Context(), runs.Diff{Node: node, Output: &out, Errors: &errs}); err != nil || errs.Len() > 0 {
			t.Fatalf("%v, %s", err, &errs)
		}
		return out.String()
	}
	if got := diff("a"); !strings.Contains(got, "\n+one\n") {
		t.Errorf("the diff of a:\n%s", got)
	}
	if got := diff("b"); !strings.Contains(got, "\n+two\n") || strings.Contains(got, "+one") {
		t.Errorf("the diff of b:\n%s", got)
	}
	s.write(filepath.Join(s.Root, "..", "scratch-a", "untracked"), "three\n")
	if got := diff("a"); !strings.Contains(got, "\n+three\n") {
		t.Errorf("the diff of a:\n%s", got)
	}
	// Without its worktree, the branch is shown.
	s.gitIn(s.Root, "worktree", "remove", "--force", "../scratch-a")
	if got := diff("a"); !strings.Contains(got, "\n+one\n") || strings.Contains(got, "three") {
		t.Errorf("the diff of a without its worktree:\n%s", got)
	}
}

func TestDiffOfNothing(t *testing.T) {
	s := begun(t, "  - {name: api, task: 'true'}\n  - {name: web, task: 'true', role: build}\n")
	err := s.Runs().Diff(t.Context(), runs.Diff{Node: "api"})
	refused(t, err, "api is a review and has no branch to show", "")
	err = s.Runs().Diff(t.Context(), runs.Diff{Node: "web"})
	refused(t, err, "web has not started yet (ready)", "")
}

func TestLog(t *testing.T) {
	s := worked(t)
	for _, follow := range []bool{false, true} {
		var out bytes.Buffer
		if err := s.Logs().Node(t.Context(), logs.Log{Node: "a", Follow: follow}, func(agent bool) io.Writer {
			if agent {
				t.Error("a command is taken for an agent")
			}
			return &out
		}); err != nil || !strings.Contains(out.String(), "\ntold\n") {
			t.Errorf("%q, %v", &out, err)
		}
	}
	none := func(bool) io.Writer { return io.Discard }
	err := s.Logs().Node(t.Context(), logs.Log{Node: "a", Events: true}, none)
	refused(t, err, "a is a command: it has no events", "cmux agents logs a")
	s = begun(t, chain)
	err = s.Logs().Node(t.Context(), logs.Log{Node: "api"}, none)
	refused(t, err, "api has written nothing yet (ready: no runner: cmux agents resume)", "")
}

func TestVerify(t *testing.T) {
	s := worked(t)
	begun := ""
	all, err := s.Merging().Verify(t.Context(), merging.Verify{Node: "a", Output: io.Discard, Begun: func(c string) { begun = c }})
	if err == nil && len(all) == 1 {
		all[0].Took = 0
	}
	if err != nil || !reflect.DeepEqual(all, []merging.Checked{{Command: "test -e a"}}) || begun != "test -e a" {
		t.Errorf("%+v, %v; begun %q", all, err, begun)
	}
	if err := os.Remove(filepath.Join(s.Root, "..", "scratch-a", "a")); err != nil {
		t.Fatal(err)
	}
	if all, err = s.Merging().Verify(t.Context(), merging.Verify{Node: "a", Output: io.Discard}); err != nil || len(all) != 1 || all[0].Failed != "exit status 1" {
		t.Errorf("%+v, %v", all, err)
	}
	s.gitIn(s.Root, "worktree", "remove", "--force", "../scratch-a")
	if _, err := s.Merging().Verify(t.Context(), merging.Verify{Node: "a"}); err == nil || !strings.HasPrefix(err.Error(), "the worktree of a is gone: ") {
		t.Error(err)
	}
}

func TestMerge(t *testing.T) {
	s := worked(t)
	var told []string
	q := merging.Merge{Output: io.Discard, Begun: func(branch string) { told = append(told, branch) }, Tell: func(line string) { told = append(told, line) }}
	wrong := q
	wrong.Into = "mian"
	_, err := s.Merging().Merge(t.Context(), wrong)
	refused(t, err, `there is no branch "mian" (did you mean "main"?)`, "cmux agents merge --into main")
	wrong.Continue = true
	_, err = s.Merging().Merge(t.Context(), wrong)
	refused(t, err, worktree.ErrNoMerge.Error(), "cmux agents merge")
	got, err := s.Merging().Merge(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	want := &merging.Merged{Target: "main", Merged: []string{"scratch/a", "scratch/b"}, Commit: s.gitIn(s.Root, "rev-parse", "main")}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(told, want.Merged) {
		t.Errorf("%+v, told %q; want %+v", got, told, want)
	}
	if got := s.gitIn(s.Root, "ls-tree", "--name-only", "main"); got != "README\na\nb" {
		t.Errorf("merged is\n%s", got)
	}
	if got, err = s.Merging().Merge(t.Context(), q); err != nil || len(got.Merged) > 0 || len(got.Contained) != 2 {
		t.Errorf("again: %+v, %v", got, err)
	}
}

// A branch that moved later is merged as its node left it, and it is said.
func TestMergeOfABranchThatMoved(t *testing.T) {
	s := worked(t)
	s.gitIn(filepath.Join(s.Root, "..", "scratch-b"), "commit", "-q", "--allow-empty", "-m", "later")
	var told []string
	q := merging.Merge{Output: io.Discard, Begun: func(string) {}, Tell: func(line string) { told = append(told, line) }}
	got, err := s.Merging().Merge(t.Context(), q)
	if err != nil || len(got.Merged) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0], "scratch/b has moved since its node was done: ") {
		t.Errorf("told %q", told)
	}
	if got := s.gitIn(s.Root, "log", "--format=%s", "main"); strings.Contains(got, "later") {
		t.Errorf("merged is\n%s", got)
	}
}

func TestCleanup(t *testing.T) {
	s := worked(t)
	s.write(filepath.Join(s.Root, "..", "scratch-a", "untracked"), "three\n")
	c, err := s.Remains().PlanCleanup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, b := filepath.Join(filepath.Dir(s.Root), "scratch-a"), filepath.Join(filepath.Dir(s.Root), "scratch-b")
	if want := []remains.Tree{{Path: a, Branch: "scratch/a"}, {Path: b, Branch: "scratch/b"}}; !reflect.DeepEqual(c.Trees, want) || c.Session != "" || c.Open != nil || c.Empty() {
		t.Errorf("%+v; want the trees %+v", c, want)
	}
	var told []remains.Removal
	path, err := s.Remains().Cleanup(t.Context(), c, func(r remains.Removal) { told = append(told, r) })
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[0].Path != a || !strings.HasPrefix(told[0].Saved, "cmux snapshots restore ") || told[1] != (remains.Removal{Path: b}) {
		t.Errorf("told %+v", told)
	}
	for _, gone := range []string{a, b} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "\n## a: done\n") {
		t.Errorf("the changelog: %v\n%s", err, text)
	}
	if c, err = s.Remains().PlanCleanup(t.Context()); err != nil || !c.Empty() {
		t.Errorf("again: %+v, %v", c, err)
	}
}

func TestCleanupOfWhatRuns(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"))
	_, err := s.Remains().PlanCleanup(t.Context())
	refused(t, err, "api is still running", "cmux agents stop")
	s.hold()
	if _, err := s.Remains().PlanCleanup(t.Context()); err == nil || !strings.Contains(err.Error(), " is under way (pid ") {
		t.Error(err)
	}
}

func TestShared(t *testing.T) {
	s := worked(t)
	s.gitIn(s.Root, "config", "core.pager", "evil")
	var notes []string
	s.Note = func(line string) { notes = append(notes, line) }
	got, err := s.Commands().Shared(t.Context(), "")
	if err != nil || len(got.Changes) != 1 || got.Run != s.run.Plan.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.Remains().PlanCleanup(t.Context()); err != nil || len(notes) != 1 || !strings.Contains(notes[0], "core.pager") {
		t.Errorf("%v, notes %q", err, notes)
	}
	done, err := s.Commands().RestoreShared(t.Context(), got)
	if err != nil || len(done.Changes) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got, err = s.Commands().Shared(t.Context(), ""); err != nil || len(got.Changes) != 0 {
		t.Errorf("put back: %+v, %v", got, err)
	}
	if got, err = s.Commands().Shared(t.Context(), done.Kept); err != nil || len(got.Changes) != 1 {
		t.Errorf("beside what was kept: %+v, %v", got, err)
	}
	s.gitIn(s.Root, "config", "core.pager", "mine")
	if err := s.Commands().AcceptShared(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Commands().Shared(t.Context(), ""); err != nil || len(got.Changes) != 0 {
		t.Errorf("accepted: %+v, %v", got, err)
	}
}

func TestResume(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"), ended("api", dag.Done, ""))
	if _, err := s.Commands().Resumable(t.Context()); err != nil {
		t.Error(err)
	}
	for _, n := range []string{"web", "look"} {
		s.record(started(n), ended(n, dag.Done, ""))
	}
	s.record(run.Record{Type: run.RunEnded, How: string(dag.RunDone)})
	_, err := s.Commands().Resumable(t.Context())
	refused(t, err, "run "+s.run.Plan.ID+" has ended (done): there is nothing to resume", "cmux agents retry NAME, or cmux agents start")
	if _, err := s.Commands().Updatable(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUpdate(t *testing.T) {
	s := begun(t, chain)
	s.record(started("api"), ended("api", dag.Done, ""))
	plan := func() (*commands.Update, error) {
		t.Helper()
		v, err := s.Commands().Updatable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Commands().PlanUpdate(t.Context(), v)
	}
	if u, err := plan(); err != nil || len(u.Changes) != 0 {
		t.Errorf("unchanged: %+v, %v", u, err)
	}
	s.write(s.Configurations().Config(""), `session: scratch
max_parallel: 2
defaults: {agent: command, role: review}
agents:
  - {name: api, task: "echo"}
  - {name: web, task: "echo", depends_on: [api]}
  - {name: new, task: "true"}
`)
	u, err := plan()
	want := []commands.Change{{Name: "(run)", What: "max_parallel", Then: "at once"}, {Name: "api", What: "task", Then: "stays done"}, {Name: "web", What: "task", Then: "at its next attempt"},
		{Name: "new", What: "new", Then: "starts when it is ready"}, {Name: "look", What: "removed", Then: "is left out; its branch and worktree stay"}}
	if err != nil || !reflect.DeepEqual(u.Changes, want) {
		t.Fatalf("%+v, %v; want %+v", u.Changes, err, want)
	}
	if taken, err := s.Commands().Update(t.Context(), u); err != nil || taken.Done {
		t.Fatal(taken, err)
	}
	if got := s.pending(); got != "update" {
		t.Errorf("left for the runner: %q", got)
	}
	s.record(started("web"))
	s.write(s.Configurations().Config(""), "session: other\nagents:\n  - {name: api, agent: command, task: 'true'}\n")
	_, err = plan()
	text, try := hint.Explain(err)
	if !strings.Contains(text, "the session cannot be changed under a run") || try != "cmux agents start --new" {
		t.Errorf("%q, try %q", text, try)
	}
}

func TestPlanStart(t *testing.T) {
	s := newScratch(t, `session: scratch
max_parallel: 2
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "true"}
  - {name: b, task: "true"}
  - {name: c, task: "true", depends_on: [a, b]}
  - {name: go, role: gate, depends_on: [c]}
  - {name: d, task: "true", depends_on: [go]}
`)
	plan := func(o commands.Start) *commands.Starting {
		t.Helper()
		o.Headless, o.Binary = true, "/bin/true"
		got, err := s.Commands().PlanStart(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := plan(commands.Start{Dry: true})
	if want := []commands.Wave{{Start: []string{"a", "b"}}, {Start: []string{"c"}}, {Approve: []string{"go"}}, {Start: []string{"d"}}}; !reflect.DeepEqual(got.Waves(), want) {
		t.Errorf("%v, want %v", got.Waves(), want)
	}
	if lines := got.Remarks; len(lines) > 0 {
		t.Errorf("remarks %q", lines)
	}
	if _, _, err := got.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	// What is not finished is continued, which a dry start does not.
	if again := plan(commands.Start{}); again.Unfinished == nil {
		t.Error("another run would be started")
	}
	_, err := s.Commands().PlanStart(t.Context(), commands.Start{Headless: true, Dry: true})
	if _, try := hint.Explain(err); try != "cmux agents status, or --new with --dry-run" {
		t.Errorf("%v, try %q", err, try)
	}
	// What lies there by hand counts, and is said.
	s.write(filepath.Join(s.Root, ".cmux", "signals", "a.done"), "")
	s.write(filepath.Join(s.Root, ".cmux", "signals", "b.done"), "1\n")
	got = plan(commands.Start{Dry: true, New: true})
	if want := []commands.Wave{{Blocked: []string{"c", "go", "d"}}}; !reflect.DeepEqual(got.Waves(), want) {
		t.Errorf("%v, want %v", got.Waves(), want)
	}
	if want := "note: a starts as done (override): .cmux/signals/a.done was put there by hand"; len(got.Remarks) != 2 || got.Remarks[0] != want {
		t.Errorf("remarks %q", got.Remarks)
	}
}

func TestStartWithoutAConfiguration(t *testing.T) {
	s := newScratch(t, "")
	if err := os.Rename(s.Configurations().Config(""), filepath.Join(s.Root, "flow.yml")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Commands().PlanStart(t.Context(), commands.Start{Headless: true})
	refused(t, err, "there is no "+s.Configurations().Config(""), "cmux agents init")
	s.write(s.Configurations().Config(""), "")
	_, err = s.Commands().PlanStart(t.Context(), commands.Start{Headless: true, Config: "flwo.yml"})
	refused(t, err, "there is no "+filepath.Join(s.Root, "flwo.yml")+` (did you mean "flow.yml"?)`, "the same with --config flow.yml")
}

// A start in a linked worktree begins at its HEAD and reads its configuration.
func TestLinked(t *testing.T) {
	s := newScratch(t, "session: scratch\nagents:\n  - {name: a, agent: command, task: 'true'}\n")
	tree := filepath.Join(filepath.Dir(s.Root), "tree")
	s.gitIn(s.Root, "worktree", "add", "-q", "-b", "feature", tree)
	planned := func(dir string, o commands.Start) *commands.Starting {
		t.Helper()
		p, err := Open(t.Context(), project.Caller{Dir: dir, Env: s.Env, Now: s.Now, Kinds: s.Kinds})
		if err != nil || p.Root != s.Root {
			t.Fatal(p, err)
		}
		o.Headless = true
		got, err := p.Commands().PlanStart(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := planned(tree, commands.Start{}); got.Linked != tree || got.Branch != "feature" || got.Config != s.Configurations().Config("") {
		t.Errorf("the main worktree's configuration: %+v", got)
	}
	s.gitIn(tree, "commit", "-q", "--allow-empty", "-m", "more")
	s.write(filepath.Join(tree, ".cmux-agents.yml"), "session: other\nagents:\n  - {name: b, agent: command, task: 'true'}\n")
	head := s.gitIn(tree, "rev-parse", "HEAD")
	if got := planned(tree, commands.Start{}); got.Commit != head || got.Session != "other" || got.Config != ".cmux-agents.yml" {
		t.Errorf("%+v", got)
	}
	if got := planned(tree, commands.Start{Base: "HEAD~1"}); got.Commit != s.gitIn(tree, "rev-parse", "HEAD~1") {
		t.Errorf("%+v", got)
	}
	if got := planned(s.Root, commands.Start{}); got.Linked != "" || got.Commit == head || got.Session != "scratch" {
		t.Errorf("in the main worktree: %+v", got)
	}
}
