package kimi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/kinds/kimi"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest"
	"cmux/dag"
)

// The test binary is also the stand-in, where it is called kimi.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kimi" {
		os.Exit(playKimi(os.Args[1:]))
	}
	agenttest.Main(m, attempt.Limits{}, kimi.Kind())
}

// standinEnv is the environment of a stand-in that plays the script. What it
// keeps is in base.
func standinEnv(t testing.TB, base string, plays script) []string {
	t.Helper()
	bin := filepath.Join(base, "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "kimi")); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(plays)
	if err != nil {
		t.Fatal(err)
	}
	return append(agenttest.GitEnv(),
		"PATH="+bin+":"+os.Getenv("PATH"), "HOME="+base, "KIMI_SHARE_DIR="+filepath.Join(base, "kimi"), "STANDIN_SCRIPT="+string(b))
}

func fixture(t *testing.T, change func(*dag.Node), turns ...[]step) *agenttest.Fixture {
	t.Helper()
	base := t.TempDir()
	return agenttest.New(t, base, agenttest.Node(kimi.Name, "Do the whole task.", change), standinEnv(t, base, script{Turns: turns}))
}

func auto(n *dag.Node) { n.AutoAccept = true }

// received is what the stand-in was sent in the conversation.
func received(t *testing.T, f *agenttest.Fixture, conversation string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(f.Root), "kimi", conversation, "received.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q", what, p)
		}
	}
}

var finish = []step{{Shell: "git add -A && git commit -q -m work"}, {Shell: "cmux done 'made it'"}, {Say: "finished"}}

// Without auto_accept the same goes: none of it needs a person's leave.
func TestBuild(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dag.Node){"auto_accept": auto, "granted": func(*dag.Node) {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build(t, change)
		})
	}
}

func build(t *testing.T, change func(*dag.Node)) {
	f := fixture(t, func(n *dag.Node) { change(n); n.Verify = []string{"test -e a.txt || { echo no a.txt; exit 3; }"} },
		[]step{{Think: "it is soon done", Say: "a start"}, {Shell: "cmux done early"}, {Steered: true}, {Say: "oh"}},
		append([]step{{Write: "a.txt"}}, finish...))
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	end := f.Ended()
	// The end comes while the last of the steps is played: its tokens may count or not.
	if end.Outcome != dag.Done || end.Summary != "made it" || end.Commits != 1 || end.Conversation == "" || end.Used.Input < 6*100 || end.Used != (dag.Usage{Input: end.Used.Input, Output: end.Used.Input / 5, CacheRead: end.Used.Input / 20}) {
		t.Errorf("%+v", end)
	}
	if f.Activities() != "checking, running, checking, running" {
		t.Error(f.Activities())
	}
	contains(t, "the log", f.Log(), "~ it is soon done\na start\n", "* Shell cmux done early\n", "> The check `test -e a.txt", "> You ended your turn without reporting", "* WriteFile a.txt\n", "> You are a, a coding agent")
	contains(t, "what kimi was sent", received(t, f, end.Conversation), `"supports_question":false`, `"method":"steer"`, `"action":"allow"`, `"response":"approve"`)
}

func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		env    string
		change func(*dag.Node)
		turn   []step
		log    []string
	}{
		{"outside of its scope", "", func(n *dag.Node) { auto(n); n.Scope = []string{"src/"} },
			[]step{{Write: "a.txt"}, {Shell: "git stash"}, {Shell: "cmux done 'nothing was needed'"}}, []string{"  ! Blocked: ", "git stash"}},
		{"without hooks", "STANDIN_OLD=1", func(n *dag.Node) { auto(n); n.Scope = []string{"src/"} },
			[]step{{Write: "a.txt"}, {Shell: "cmux done 'nothing was needed'"}}, []string{"has no hooks", "  ! Rejected. "}},
		{"without leave", "", func(n *dag.Node) {},
			[]step{{Shell: "cp /dev/null b"}, {Shell: "cmux done 'nothing was needed'"}}, []string{"  ! Rejected. refused: nobody can allow this"}},
		{"a review", "", func(n *dag.Node) { auto(n); n.Role, n.Branch = dag.RoleReview, "" },
			[]step{{Write: "a.txt"}, {Shell: "touch b"}, {Shell: "cmux done 'all is well'"}}, []string{"  ! Blocked: WriteFile is refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fixture(t, func(n *dag.Node) {
				c.change(n)
				if c.env != "" {
					n.Env = map[string]string{"STANDIN_OLD": "1"}
				}
			}, c.turn)
			_, wait := f.Start()
			if code := wait(); code != 0 {
				t.Fatalf("exit %d", code)
			}
			contains(t, "the log", f.Log(), c.log...)
			for _, name := range []string{"a.txt", "b"} {
				if _, err := os.Stat(filepath.Join(f.Spec.Place.Dir, name)); err == nil {
					t.Errorf("%s was written", name)
				}
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		script     [][]step
		code       int
		activities string
		log        string
	}{
		{"a limit", [][]step{{{Fail: -32003, Message: "Error code: 429 rate limit reached"}}, {{Shell: "cmux done 'nothing was needed'"}}}, 0, "limited, running", "> The limit is over"},
		{"the service", [][]step{{{Fail: -32003, Message: "Error code: 503 - unavailable"}}, {{Shell: "cmux done 'nothing was needed'"}}}, 0, "", "> The call of the model failed"},
		{"no model", [][]step{{{Fail: -32001, Message: "LLM is not set"}}}, 1, "", "LLM is not set"},
		{"too many steps", [][]step{{{MaxSteps: true}}, {{Shell: "cmux done 'nothing was needed'"}}}, 0, "", "greatest number of steps"},
		{"never reports", [][]step{{{Say: "hm"}}}, 1, "", "ended 4 turns without a report"},
		{"blocked", [][]step{{{Shell: "cmux blocked 'no access'"}}}, 1, "", "no access"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fixture(t, auto, c.script...)
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

func TestResume(t *testing.T) {
	t.Parallel()
	f := fixture(t, auto, []step{{Say: "begun"}, {Forever: true}}, append([]step{{Write: "a.txt"}}, finish...))
	cmd, wait := f.Start()
	f.Eventually("it has begun", func() bool { return strings.Contains(f.Log(), "begun") })
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wait()
	id := f.Last(run.Conversed).Conversation
	f.Again(id)
	_, wait = f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if end := f.Ended(); end.Conversation != id || end.Commits != 1 {
		t.Errorf("%+v", end)
	}
	_, second, _ := strings.Cut(f.Log(), "attempt 2")
	contains(t, "the log of attempt 2", second, "> You were interrupted and are back")
	if strings.Contains(second, "begun") {
		t.Error("what was before is shown again")
	}
}

// A conversation that never had a prompt gets the whole one.
func TestResumeOfNothing(t *testing.T) {
	t.Parallel()
	f := fixture(t, auto, append([]step{{Write: "a.txt"}}, finish...))
	f.Again("no-such-conversation")
	_, wait := f.Start()
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	contains(t, "the log", f.Log(), "> You are a, a coding agent")
}

func TestPane(t *testing.T) {
	t.Parallel()
	f := fixture(t, nil,
		[]step{{Write: ".envrc"}, {Shell: "cp /dev/null secret"}, {Ask: "which way?"}, {Ask: "and now?"}, {Forever: true}},
		[]step{{Say: "as you say"}, {Steered: true}, {Say: "hm"}},
		[]step{{Shell: "git add -A && git commit -q -m work"}, {Shell: "cmux done 'made it'"}})
	_, wait := f.StartOnTerminal()
	c := f.Dial()
	f.Becomes("needs input")
	if a := f.Last(run.Active); !strings.Contains(a.Detail, "WriteFile") {
		t.Errorf("%+v", a)
	}
	if err := c.Answer(t.Context(), "yes"); err != nil {
		t.Fatal(err)
	}
	f.Eventually("it asks for the command", func() bool { return strings.Contains(f.Shown(), "use Shell") })
	f.Type("not this one\n")
	f.Eventually("it was told why", func() bool { return strings.Contains(f.Log(), "Rejected. not this one") })
	f.Eventually("it asks", func() bool { return strings.Contains(f.Shown(), "2. right") })
	f.Type("2\n")
	f.Eventually("it is answered", func() bool { return strings.Contains(f.Log(), `{"which way?":"right"}`) })
	f.Eventually("it asks again", func() bool {
		return strings.Contains(f.Activities(), "needs input") && strings.Contains(f.Shown(), "and now?")
	})
	f.Eventually("it waits for the answer", func() bool {
		a := f.Last(run.Active)
		return a.Activity == dag.NeedsInput && strings.Contains(a.Detail, "and now?")
	})
	if err := c.Answer(t.Context(), "up"); err != nil {
		t.Fatal(err)
	}
	f.Eventually("it is answered", func() bool { return strings.Contains(f.Log(), `{"and now?":"up"}`) })
	// ^C breaks the turn off, and a line is a prompt.
	f.Type("half a li\x03")
	f.Becomes("taken over")
	f.Eventually("the turn is broken off", func() bool { return strings.Contains(f.Log(), "! interrupted") })
	f.Type("go on\n")
	f.Eventually("it has the line", func() bool { return strings.Contains(f.Log(), "> go on\nas you say") })
	f.Type("and steer\n")
	f.Eventually("it is steered", func() bool { return strings.Contains(f.Log(), "> and steer\nhm") })
	if strings.Contains(f.Log(), "half a li") || strings.Contains(f.Log(), "> You ended your turn") {
		t.Error("it was given what nobody sent")
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The commit and the report need no leave.
	if code := wait(); code != 0 {
		t.Fatalf("exit %d", code)
	}
	if end := f.Ended(); end.Summary != "made it" || end.Commits != 1 {
		t.Errorf("%+v", end)
	}
}

// A person who closes the conversation ends the agent, and decides what becomes
// of the node.
func TestLeave(t *testing.T) {
	t.Parallel()
	f := fixture(t, nil, []step{{Say: "hello"}, {Forever: true}})
	_, wait := f.StartOnTerminal()
	f.Eventually("it speaks", func() bool { return strings.Contains(f.Log(), "hello") })
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

func TestMissing(t *testing.T) {
	t.Parallel()
	f := fixture(t, auto)
	if err := os.Remove(filepath.Join(filepath.Dir(f.Root), "bin", "kimi")); err != nil {
		t.Fatal(err)
	}
	_, wait := f.Start()
	if code := wait(); code != 1 || !strings.Contains(f.Ended().Detail, "install Kimi") {
		t.Errorf("exit %d, %+v", code, f.Ended())
	}
}

// What does not get as far as a conversation says why in the log.
func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	f := fixture(t, func(n *dag.Node) { auto(n); n.Env = map[string]string{"STANDIN_SCRIPT": "no JSON"} })
	_, wait := f.Start()
	if code := wait(); code != 1 {
		t.Errorf("exit %d", code)
	}
	contains(t, "the log", f.Log(), "! usage: kimi")
}
