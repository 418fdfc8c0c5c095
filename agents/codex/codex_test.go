package codex_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/codex"
	mt "cmux/agents/modeltest"
	"cmux/agents/stdio/stdiotest"
	"cmux/dag"
)

func TestMain(m *testing.M) {
	stdiotest.Main(codex.Kind())
	os.Exit(m.Run())
}

// fixture is a node of the real Codex before a scripted model.
func fixture(t *testing.T, change func(*dag.Node), turns ...mt.Turn) (*stdiotest.Fixture, *mt.Server) {
	t.Helper()
	server := mt.New(t, mt.Script{Name: "work", Turns: turns})
	base := t.TempDir()
	home := mt.Env(t, server, base)
	n := stdiotest.Node(codex.Name, "Do what is to be done. #script:work", change)
	return stdiotest.New(t, base, n, home.Env), server
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
			if end.Outcome != dag.Done || end.Summary != "made it" || end.Commits != 1 || end.Conversation == "" || end.Tokens < 300 {
				t.Errorf("%+v", end)
			}
			if f.Activities() != "checking, running, checking, running" {
				t.Error(f.Activities())
			}
			for _, part := range []string{"~ a file is missing", "* shell cmux done", "The check `test -e a.txt", "> You are the agent"} {
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
