package api_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/control/files"

	"cmux/agents/control"
	"cmux/agents/control/letters"
	"cmux/agents/control/logs"
	"cmux/agents/control/tasks"
	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/dag"
	"cmux/server/api"
	"cmux/worktree"
)

// repository makes a repository of the project, and returns how git is called there.
func (w *world) repository(t *testing.T) func(dir string, args ...string) string {
	t.Helper()
	t.Setenv("HOME", filepath.Dir(w.root))
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_SYSTEM", "/dev/null")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@localhost")
	}
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git(w.root, "init", "-q", "-b", "main")
	w.write("README", "hello\n")
	git(w.root, "add", "README")
	git(w.root, "commit", "-q", "-m", "first")
	w.p.Env, w.p.Kinds = os.Environ(), agent.NewKinds(command.Kind())
	return git
}

func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

// carried is a run of the configuration, which was carried to this end.
func (w *world) carried(t *testing.T, config string, want dag.RunState) *run.Run {
	t.Helper()
	w.write(runner.DefaultConfig, config)
	l, err := runner.Plan(t.Context(), runner.StartOptions{Headless: true, Root: w.root, Binary: "/bin/true", Env: w.p.Env, Kinds: w.p.Kinds})
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state, err := runner.Run(t.Context(), runner.Options{Run: r, How: runner.HowStart, Kinds: w.p.Kinds}); err != nil || state != want {
		t.Fatalf("the run is %s, %v; want %s", state, err, want)
	}
	return r
}

const twoNodes = `session: scratch
defaults: {agent: command}
agents:
  - {name: a, task: "echo told; echo one > a", verify: ["test -e a"]}
  - {name: b, task: "echo two > b", depends_on: [a]}
`

func TestWorkOfANode(t *testing.T) {
	w := newWorld(t)
	w.repository(t)
	r := w.carried(t, twoNodes, dag.RunDone)
	l, err := event.Open(r.Events("a"), "a", 2)
	if err != nil {
		t.Fatal(err)
	}
	l.Append(event.Event{Kind: event.Prompt, Text: "do it"})
	l.Append(event.Event{Kind: event.ToolUse, Tool: "Edit", ToolID: "t1", Input: []byte(`{"file_path":"a"}`)})
	l.Append(event.Event{Kind: event.ToolResult, ToolID: "t1", Text: "done"})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Ingest(t.Context()); err != nil {
		t.Fatal(err)
	}
	one := "/api/runs/" + r.Plan.ID + "/nodes/a"
	var c files.Changes
	if w.must("GET", one+"/files", "", &c); len(c.Files) != 1 || c.Files[0] != (worktree.FileChange{Path: "a", How: worktree.FileAdded, Added: 1}) || c.Live {
		t.Errorf("%+v", c)
	}
	var f files.FilePair
	if w.must("GET", one+"/files/content?path=a&committed=true", "", &f); f.Old != nil || f.New == nil || f.New.Text != "one\n" {
		t.Errorf("%+v", f)
	}
	if code, text := w.ask("GET", one+"/files/content?path=../x", ""); code != 404 {
		t.Errorf("%d %s", code, text)
	}
	var said items[api.Said]
	if w.must("GET", one+"/conversation?attempt=2&limit=2", "", &said); len(said.Items) != 2 || said.Items[0].Text != "done" || said.Items[1].Tool != "Edit" || said.Next == "" {
		t.Errorf("%+v", said)
	}
	if w.must("GET", one+"/conversation?attempt=2&cursor="+said.Next, "", &said); len(said.Items) != 1 || said.Items[0].Kind != event.Prompt {
		t.Errorf("%+v", said)
	}
	if w.must("GET", one+"/conversation?attempt=7", "", &said); len(said.Items) != 0 {
		t.Errorf("%+v", said)
	}
	var prompt logs.Prompt
	if w.must("GET", one+"/prompt?attempt=2", "", &prompt); prompt.Text != "do it" || !strings.Contains(prompt.Task, "echo told") {
		t.Errorf("%+v", prompt)
	}
	var part logs.LogPart
	if w.must("GET", one+"/log/part", "", &part); !strings.Contains(part.Text, "told\n") || part.Next != part.Size || part.Size == 0 {
		t.Errorf("%+v", part)
	}
	if w.must("GET", one+"/log/part?from=100000", "", &part); part.Text != "" || part.From != part.Size {
		t.Errorf("%+v", part)
	}
	// Nobody reads comments on what a command did.
	code, text := w.ask("POST", one+"/comments", `{"on":[{"path":"a","line":1,"text":"two is better"}]}`)
	if code != 409 || !strings.Contains(text, "a is not an agent that can read a comment") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := w.ask("POST", one+"/comments", `{}`); code != 400 {
		t.Errorf("%d %s", code, text)
	}
}

// organized gives the project an organization that nobody keeps, with one worker.
func (w *world) organized(t *testing.T) *standing.Org {
	t.Helper()
	if _, err := run.CreateOrganization(w.root, "scratch", "t", w.p.Env, "/bin/true"); err != nil {
		t.Fatal(err)
	}
	org, err := standing.Open(w.root)
	if err == nil {
		err = org.Set(t.Context(), standing.Settings{Integration: "main"})
	}
	if err == nil {
		err = org.Join(t.Context(), run.Member{ID: "ag_api", Name: "api", Role: standing.Worker, Dir: w.root}, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	return org
}

func TestWorkOfATask(t *testing.T) {
	w := newWorld(t)
	git := w.repository(t)
	org := w.organized(t)
	w.must("POST", "/api/tasks", `{"title":"write one"}`, nil)
	// Nobody has begun it: there is nothing to see or to comment on but the task.
	for method, path := range map[string]string{"GET": "/api/tasks/t1/files", "POST": "/api/tasks/t1/comments"} {
		code, text := w.ask(method, path, map[string]string{"POST": `{"text":"x"}`}[method])
		if code != 409 || !strings.Contains(text, `"try":"cmux tasks show t1"`) {
			t.Errorf("%d %s", code, text)
		}
	}
	if v, err := w.p.Tasks().Task("t1"); err != nil || v.Label != "open" {
		t.Errorf("%+v, %v", v, err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	git(w.root, "worktree", "add", "-q", "-b", "task/t1-write-one", tree, "main")
	if err := os.WriteFile(filepath.Join(tree, "one"), []byte("1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git(tree, "add", "one")
	git(tree, "commit", "-q", "-m", "one")
	tip := git(tree, "rev-parse", "HEAD")
	book, err := task.OpenBook(w.root, w.p.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	change := func(changes ...task.Change) {
		t.Helper()
		if _, _, err := book.Change(t.Context(), func(l *task.List) ([]task.Change, error) {
			for i := range changes {
				changes[i].Task, changes[i].Saw, changes[i].By = "t1", l.Get("t1").Version+i, task.Cmux
			}
			return changes, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	change(task.Change{Op: task.OpMove, To: task.Assigned, Agent: "api"}, task.Change{Op: task.OpMove, To: task.Working})
	// At work: its worktree as it stands, and comments are a message.
	if err := org.RecordOf(t.Context(), "api", run.Record{Type: run.Given, Work: &run.Work{ID: "t1", Attempt: 1, Def: &dag.Node{Name: "api"},
		Place: run.Place{Dir: tree, Tree: tree, Branch: "task/t1-write-one", Commit: git(w.root, "rev-parse", "main")}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "two"), []byte("2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var c files.Changes
	if w.must("GET", "/api/tasks/t1/files", "", &c); len(c.Files) != 2 || !c.Live {
		t.Errorf("%+v", c)
	}
	var f files.FilePair
	if w.must("GET", "/api/tasks/t1/files/content?path=two", "", &f); f.New.Text != "2\n" {
		t.Errorf("%+v", f)
	}
	var back control.Commented
	if w.must("POST", "/api/tasks/t1/comments", `{"text":"nearly","on":[{"path":"one","line":1,"quote":"1","text":"one is\nno number"},{"path":"two","text":"why?"}]}`, &back); back.How != control.CommentsTold || back.Sent == nil {
		t.Errorf("%+v", back)
	}
	if want := "nearly\n2 comments on your changes:\n\n1. one:1\n   > 1\n   one is\n   no number\n\n2. two\n   why?"; back.Text != want {
		t.Errorf("%q\nwant %q", back.Text, want)
	}
	var mail items[letters.Mail]
	if w.must("GET", "/api/messages?to=api", "", &mail); len(mail.Items) != 1 || mail.Items[0].Subject != "Comments on task t1" {
		t.Errorf("%+v", mail)
	}
	// Done: what it left, and comments are another task, which begins with its work.
	change(task.Change{Op: task.OpVerdict, Attempt: 1, End: &run.End{Outcome: dag.Done, Commits: 1, Tip: tip}})
	if w.must("GET", "/api/tasks/t1/files?committed=true", "", &c); len(c.Files) != 1 || c.Live || c.Tip != tip {
		t.Errorf("%+v", c)
	}
	back = control.Commented{}
	if w.must("POST", "/api/tasks/t1/comments", `{"text":"and a test"}`, &back); back.How != control.CommentsTask || back.Task.Agent != "api" || back.Task.Parent != "t1" || !strings.Contains(back.Task.Body, "git merge --no-edit "+tip) {
		t.Errorf("%+v", back)
	}
	// It would come in, and the look at that moves nothing.
	var queue tasks.MergedTasks
	if w.must("GET", "/api/tasks/merge/queue", "", &queue); len(queue.Tasks) != 1 || queue.Tasks[0].Outcome != tasks.TaskMerged || git(w.root, "rev-parse", "main") == queue.Commit {
		t.Errorf("%+v", queue)
	}
	w.must("GET", "/api/agents/api/log/part", "", nil)
	w.must("GET", "/api/agents/api/conversation", "", nil)
}
