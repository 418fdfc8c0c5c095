package codex_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/kinds/codex"
	"cmux/agents/records/event"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, attempt.Limits{}, codex.Kind())
}

// fixture is a node of the real Codex before a scripted model.
func fixture(t *testing.T, change func(*dag.Node), turns ...mt.Turn) (*agenttest.Fixture, *mt.Server) {
	t.Helper()
	server := mt.New(t, mt.Script{Name: "work", Turns: turns})
	base := t.TempDir()
	home := mt.Env(t, server, base)
	n := agenttest.Node(codex.Name, "Do the whole task. #script:work", change)
	// Each sandbox mounts on /tmp/.git. They take turns by a register among the temporary
	// files, so that must be one.
	return agenttest.New(t, base, n, append(home.Env, "TMPDIR=/tmp")), server
}

func auto(n *dag.Node) { n.AutoAccept = true }

func TestBuild(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dag.Node){"auto_accept": auto, "sandboxed": func(*dag.Node) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, server := fixture(t, func(n *dag.Node) {
				change(n)
				n.Verify = []string{"test -e a.txt || { echo no a.txt; exit 3; }"}
			},
				mt.Turn{mt.Thinking("a file is missing"), mt.Shell("cmux done 'too early'")},
				mt.Turn{mt.Text("reported")},
				mt.Turn{mt.Shell("echo made > a.txt && git add -A && git commit -q -m work; git status --short"), mt.Usage{Input: 7, Output: 11, CacheRead: 300}},
				mt.Turn{mt.Report("made it")},
				mt.Turn{mt.Text("finished")},
			)
			_, wait := f.Start()
			if code := wait(); code != 0 {
				t.Fatalf("exit %d", code)
			}
			end := f.Ended()
			if end.Outcome != dag.Done || end.Summary != "made it" || end.Commits != 1 || end.Conversation == "" || end.Used.CacheRead != 300 || end.Used.Input < 107 || end.Used.Output < 31 {
				t.Errorf("%+v", end)
			}
			if f.Activities() != "checking, running, checking, running" {
				t.Error(f.Activities())
			}
			for _, part := range []string{"~ a file is missing", "* shell cmux done", "The check `test -e a.txt", "> You are a, a coding agent"} {
				if !strings.Contains(f.Log(), part) {
					t.Errorf("the log lacks %q", part)
				}
			}
			prompt, err := os.ReadFile(filepath.Join(f.Run.NodeDir("a"), "prompt-1.md"))
			if texts := server.Requests()[0].UserTexts(); err != nil || strings.TrimSpace(string(prompt)) != texts[0] {
				t.Errorf("the prompt is not what was sent: %v", err)
			}
			if s := server.Strays(); len(s) > 0 {
				t.Errorf("it asked for %q", s)
			}
		})
	}
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q", what, p)
		}
	}
}

var nothing = mt.Turn{mt.Report("nothing was needed")}

func TestResume(t *testing.T) {
	t.Parallel()
	f, server := fixture(t, auto,
		mt.Turn{mt.Shell("echo made > a.txt"), mt.Usage{Input: 1_000, CacheRead: 50_000}},
		mt.Turn{mt.Shell("true"), mt.Usage{Input: 20_000}},
		mt.Turn{mt.Hold("gate"), mt.Shell("git add -A && git commit -q -m work")},
		mt.Turn{mt.Report("made it")})
	cmd, wait := f.Start()
	server.WaitHeld(t, "gate", 1)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait()
	id := f.Last(run.Conversed).Conversation
	f.Again(id)
	_, wait = f.Start()
	server.WaitFor(t, func(r mt.Request) bool { return strings.HasPrefix(r.UserTexts()[0], "You were interrupted") })
	server.Release("gate")
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if end := f.Ended(); end.Conversation != id || end.Commits != 1 || end.Summary != "made it" {
		t.Errorf("%+v", end)
	}
	// What the killed attempt used is counted once, whether it had recorded it or
	// not. The answers in which the commit and the report came count 100 each, and
	// one that came after the report may.
	n := f.Recorded()
	if used := n.Used; used.CacheRead != 50_000 || used.Input < 21_100 || used.Input > 21_300 {
		t.Errorf("used %+v, by attempt %+v and %+v", used, n.Attempts[0].Used, n.Attempts[1].Used)
	}
	for _, r := range server.Requests() {
		if r.Session != id {
			t.Errorf("request %d is of conversation %s, not %s", r.Seq, r.Session, id)
		}
	}
}

// If the conversation is gone, a new one begins with the whole prompt.
func TestResumeOfNothing(t *testing.T) {
	t.Parallel()
	f, _ := fixture(t, auto, nothing)
	f.Again("01a1fc13-d5d8-7113-be85-c40b680c5eaf")
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	contains(t, "the log", f.Log(), "cannot be resumed", "> You are a, a coding agent")
}

func TestFailures(t *testing.T) {
	t.Parallel()
	times := func(n int, f mt.Fault) mt.Fault { f.Times = n; return f }
	for _, c := range []struct {
		name       string
		turns      []mt.Turn
		code       int
		activities string
		log        string
	}{
		{"rate limit", []mt.Turn{append(mt.Turn{times(1, mt.RateLimited)}, nothing...)}, 0, "limited, running", "> The limit is over"},
		{"usage limit", []mt.Turn{append(mt.Turn{times(1, mt.UsageLimit(0))}, nothing...)}, 0, "limited, running", "usage limit"},
		{"service", []mt.Turn{append(mt.Turn{times(4, mt.ServerError)}, nothing...)}, 0, "", "> The call of the model failed"},
		{"account", []mt.Turn{{mt.Unauthorized}}, 1, "", "codex login"},
		{"blocked", []mt.Turn{{mt.Blocked("no access")}}, 1, "", "no access"},
		{"never reports", []mt.Turn{{mt.Text("one")}, {mt.Text("two")}, {mt.Text("three")}, {mt.Text("four")}}, 1, "", "ended 4 turns without a report"},
		{"never passes", []mt.Turn{{mt.Report("one")}, {mt.Text("end")}, {mt.Report("two")}, {mt.Text("end")}, {mt.Report("three")}, {mt.Text("end")}}, 1,
			"checking, running, checking, running, checking, running", "check failed (exit 5)"},
		{"too dear", []mt.Turn{{mt.Shell("true"), mt.Usage{Input: 600, Output: 10}}, {mt.Hold("never")}}, 1, "", "tokens"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, _ := fixture(t, func(n *dag.Node) {
				auto(n)
				switch c.name {
				case "never passes":
					n.Verify = []string{"exit 5"}
				case "too dear":
					n.Budget.Tokens = 500
				}
			}, c.turns...)
			_, wait := f.Start()
			if code := wait(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if c.activities != "" && f.Activities() != c.activities {
				t.Error(f.Activities())
			}
			contains(t, "the log", f.Log(), c.log)
		})
	}
}

// What is refused is refused before it happens, and the model is told why.
func TestGuard(t *testing.T) {
	t.Parallel()
	patch := "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: other.txt\n+hi\n*** End Patch\nEOF"
	for _, c := range []struct {
		name    string
		change  func(*dag.Node)
		command string
		why     string
	}{
		{"git stash", auto, "git stash", "git stash"},
		{"a patch out of scope", func(n *dag.Node) { auto(n); n.Scope = []string{"src/"} }, patch, "src/"},
		{"git stash in the sandbox", func(*dag.Node) {}, "git stash", "git stash"},
		{"a patch out of scope in the sandbox", func(n *dag.Node) { n.Scope = []string{"src/"} }, patch, "src/"},
		{"a command that writes out of scope in the sandbox", func(n *dag.Node) { n.Scope = []string{"src/"} }, "git -C . stash && touch other.txt", "git stash"},
		{"a review", func(n *dag.Node) { auto(n); n.Role, n.Branch = dag.RoleReview, "" }, "sh -c 'touch other.txt'", "change nothing"},
		{"a review's sandbox", func(n *dag.Node) { auto(n); n.Role, n.Branch = dag.RoleReview, "" }, `awk 'BEGIN { print "x" > "other.txt" }'`, "Read-only file system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, server := fixture(t, c.change, mt.Turn{mt.Shell(c.command)}, nothing)
			_, wait := f.Start()
			if code := wait(); code != 0 {
				t.Fatalf("exit %d", code)
			}
			second := server.Requests()[1]
			told := strings.Join(second.UserTexts(), "\n")
			for _, r := range second.ToolResults() {
				told += "\n" + r.Text
			}
			if !strings.Contains(told, c.why) {
				t.Errorf("it was told %q", told)
			}
			if _, err := os.Stat(filepath.Join(f.Spec.Place.Dir, "other.txt")); err == nil {
				t.Error("it was written")
			}
			if denied := f.Events(event.Denied); c.name != "a review's sandbox" && (len(denied) != 1 || !strings.Contains(denied[0].Text, c.why)) {
				t.Errorf("the events tell of %+v", denied)
			}
		})
	}
}

// What is granted may leave the sandbox though nobody is asked; the rest may not.
func TestGranted(t *testing.T) {
	t.Parallel()
	escalated := func(command string) mt.Turn {
		return mt.Turn{mt.ToolUse{Name: "exec_command", Input: map[string]any{"cmd": command, "sandbox_permissions": "require_escalated", "justification": "may I?"}}}
	}
	outside := filepath.Join(t.TempDir(), "outside")
	f, server := fixture(t, nil, escalated("git commit -q --allow-empty -m work"), escalated("echo no > "+outside), mt.Turn{mt.Report("made it")})
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if end := f.Ended(); end.Outcome != dag.Done || end.Commits != 1 {
		t.Errorf("%+v", end)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside")
	}
	rs := server.Requests()
	if told := strings.Join(rs[len(rs)-1].UserTexts(), "\n"); !strings.Contains(told, "nobody can allow this") {
		t.Errorf("it was told %q", told)
	}
}

// Where hooks are turned off, what Codex asks leave for is judged all the same.
func TestWithoutHooks(t *testing.T) {
	t.Parallel()
	f, server := fixture(t, auto, mt.Turn{mt.Shell("git stash")}, nothing)
	var config string
	for _, e := range f.Env {
		if home, ok := strings.CutPrefix(e, "CODEX_HOME="); ok {
			config = filepath.Join(home, "config.toml")
		}
	}
	b, err := os.ReadFile(config)
	if err == nil {
		off := strings.Replace(string(b), "[features]\n", "[features]\nhooks = false\n", 1)
		if off == string(b) {
			t.Fatalf("no [features] in\n%s", b)
		}
		err = os.WriteFile(config, []byte(off), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	contains(t, "the log", f.Log(), "this version of codex has no hooks", "  ! refused")
	contains(t, "what it was told", strings.Join(server.Requests()[1].UserTexts(), "\n"), "git stash")
	if denied := f.Events(event.Denied); len(denied) != 1 {
		t.Errorf("%+v", denied)
	}
}

// What happened is told in order, and the same way as by the other kinds.
func TestEvents(t *testing.T) {
	t.Parallel()
	f, _ := fixture(t, func(n *dag.Node) { n.Verify = []string{"test -e a.txt || exit 3"} },
		mt.Turn{mt.Thinking("hm"), mt.Shell("git stash")},
		mt.Turn{mt.Report("too early")},
		mt.Turn{mt.Text("reported")},
		mt.Turn{mt.Shell("echo made > a.txt && git add -A && git commit -q -m work")},
		mt.Turn{mt.Report("made it")})
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	var told []string
	for _, e := range f.Events("") {
		switch e.Kind {
		case event.Session, event.Denied, event.Report, event.Check, event.HandBack, event.End:
			told = append(told, strings.TrimSpace(string(e.Kind)+" "+e.State))
		}
	}
	want := "session began, denied, report done, check, hand_back, report done, check, session ended, end done"
	// The turn that reported may end, and be sent on, after the hand-back.
	if got := strings.Join(slices.Compact(told), ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if thoughts := f.Events(event.Thought); len(thoughts) != 1 || thoughts[0].Text != "hm" {
		t.Errorf("%+v", thoughts)
	}
}

func TestPane(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	f, server := fixture(t, nil,
		mt.Turn{mt.ToolUse{Name: "exec_command", Input: map[string]any{"cmd": "echo no > " + outside, "sandbox_permissions": "require_escalated", "justification": "may I?"}}},
		mt.Turn{mt.ToolUse{Name: "exec_command", Input: map[string]any{"cmd": "echo yes > " + outside, "sandbox_permissions": "require_escalated", "justification": "and now?"}}},
		mt.Turn{mt.Hold("gate"), mt.Text("late")},
		mt.Turn{mt.Text("as you say")},
		mt.Turn{mt.Shell("git commit -q --allow-empty -m work")},
		mt.Turn{mt.Report("made it")})
	_, wait := f.StartOnTerminal()
	c := f.Dial()
	f.Becomes("needs input")
	if a := f.Last(run.Active); !strings.Contains(a.Detail, "may it run: echo no") {
		t.Errorf("%+v", a)
	}
	f.Type("not outside of it\n")
	server.WaitFor(t, func(r mt.Request) bool {
		return strings.Contains(strings.Join(r.UserTexts(), "\n"), "not outside of it")
	})
	f.Eventually("it asks again", func() bool {
		a := f.Last(run.Active)
		return a.Activity == dag.NeedsInput && strings.Contains(a.Detail, "and now?")
	})
	if err := c.Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	server.WaitHeld(t, "gate", 1)
	if b, err := os.ReadFile(outside); err != nil || string(b) != "yes\n" {
		t.Errorf("%q, %v", b, err)
	}
	f.Type("half a li\x03")
	f.Becomes("taken over")
	f.Eventually("the turn is broken off", func() bool { return strings.Contains(f.Log(), "! interrupted") })
	server.Release("gate")
	f.Type("go on\n")
	f.Eventually("it has the line", func() bool { return strings.Contains(f.Log(), "> go on\n") })
	f.Eventually("it answers", func() bool { return strings.Contains(f.Log(), "as you say") || strings.Contains(f.Log(), "late") })
	if strings.Contains(f.Log(), "half a li") || strings.Contains(f.Log(), "> You ended your turn") {
		t.Error("it was given what nobody sent")
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if end := f.Ended(); end.Summary != "made it" || end.Commits != 1 {
		t.Errorf("%+v", end)
	}
}

func TestLeave(t *testing.T) {
	t.Parallel()
	f, _ := fixture(t, nil, mt.Turn{mt.Text("hello"), mt.Shell("sleep 1000")})
	_, wait := f.StartOnTerminal()
	f.Eventually("it works", func() bool { return strings.Contains(f.Log(), "* shell sleep 1000") })
	f.Type("\x04")
	f.Becomes("needs input")
	if d := f.Last(run.Active).Detail; !strings.Contains(d, "without a report") {
		t.Errorf("it says %q", d)
	}
	if err := f.Dial().Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 130 {
		t.Errorf("exit %d, %+v", code, f.Ended())
	}
}

// The verdict on a report by tool is the tool's answer, in its sandbox too.
func TestReportByTool(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dag.Node){
		"auto_accept":         auto,
		"sandboxed":           func(*dag.Node) {},
		"review":              func(n *dag.Node) { n.Role = dag.RoleReview },
		"review, auto_accept": func(n *dag.Node) { n.Role, n.AutoAccept = dag.RoleReview, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := mt.ToolUse{Name: "mcp__cmux__done", Input: map[string]string{"summary": "nothing was needed"}}
			f, server := fixture(t, func(n *dag.Node) {
				change(n)
				n.Verify = []string{"test -e ../again || { touch ../again; exit 3; }"}
			}, mt.Turn{report}, mt.Turn{report}, mt.Turn{mt.Text("finished")})
			_, wait := f.Start()
			if code := wait(); code != 0 {
				t.Fatalf("exit %d", code)
			}
			if end := f.Ended(); end.Outcome != dag.Done || end.Summary != "nothing was needed" {
				t.Errorf("%+v", end)
			}
			rs := server.Requests()
			if len(rs) < 2 || len(rs) > 3 { // it is interrupted once the report is accepted
				t.Fatalf("the model was called %d times", len(rs))
			}
			said := rs[1].ToolResults()
			if len(said) != 1 || !strings.Contains(said[0].Text, "The check `test -e ../again") {
				t.Errorf("the verdict was %+v", said)
			}
		})
	}
}

// Codex's sandbox leaves an empty folder .git among the temporary files when it is
// killed, in which go would look for a repository.
func TestSandboxLeavesNoGit(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	server := mt.New(t, mt.Script{Name: "work", Turns: []mt.Turn{{mt.Shell("ls -ad $TMPDIR/.git >seen; sleep 1000")}}})
	base := t.TempDir()
	// With temporary files of its own: in /tmp another test's sandbox would keep it.
	f := agenttest.New(t, base, agenttest.Node(codex.Name, "Do the whole task. #script:work", nil), mt.Env(t, server, base).Env)
	seen := filepath.Join(f.Tree, "seen")
	_, wait := f.Start()
	var left string
	f.Eventually("its sandbox to be up", func() bool {
		b, _ := os.ReadFile(seen)
		left = strings.TrimSpace(string(b))
		return left != ""
	})
	if _, err := os.Stat(left); err != nil {
		t.Fatalf("its sandbox made nothing: %v", err)
	}
	if err := f.Dial().Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait()
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is left", left)
	}
}
