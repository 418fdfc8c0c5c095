package acp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/acp"
	"cmux/agents/agent"
	"cmux/agents/agenttest"
	"cmux/agents/event"
	mt "cmux/agents/modeltest"
	"cmux/dag"
)

// fixture is a node of a real program before a scripted model.
func fixture(t *testing.T, kind agent.Kind, change func(*dag.Node), turns ...mt.Turn) (*agenttest.Fixture, *mt.Server) {
	t.Helper()
	server := mt.New(t, mt.Script{Name: "work", Turns: turns})
	base := t.TempDir()
	home := mt.Env(t, server, agenttest.Project(t, base))
	n := agenttest.Node(kind.Name, "Do what is to be done. #script:work", change)
	return agenttest.New(t, base, n, home.Env), server
}

func auto(n *dag.Node) { n.AutoAccept = true }

// Any program may be the one of a node.
func TestByCommand(t *testing.T) {
	t.Parallel()
	f, _ := fixture(t, acp.Kind(), func(n *dag.Node) {
		auto(n)
		n.Command = []string{"opencode", "acp"}
		n.Env = map[string]string{"OPENCODE_PERMISSION": `{"bash":"ask"}`}
	}, mt.Turn{mt.Report("nothing was needed")}, mt.Turn{mt.Text("end")})
	_, wait := f.Start()
	if code := wait(); code != 0 || f.Ended().Summary != "nothing was needed" {
		t.Errorf("exit %d, %+v", code, f.Ended())
	}
	for name, c := range map[string]struct {
		kind    agent.Kind
		command []string
		says    string
	}{
		"none":        {acp.Kind(), nil, "command: [qwen, --acp]"},
		"not there":   {acp.Kind(), []string{"no-such-program"}, "no-such-program: executable file not found"},
		"by its name": {acp.Qwen(), nil, "install Qwen Code"},
	} {
		f, _ := fixture(t, c.kind, func(n *dag.Node) {
			n.Command = c.command
			n.Env = map[string]string{"PATH": filepath.Dir(os.Args[0])}
		})
		_, wait := f.Start()
		if code := wait(); code != 1 || !strings.Contains(f.Ended().Detail, c.says) {
			t.Errorf("%s: exit %d, %+v", name, code, f.Ended())
		}
	}
}

// What is refused is refused before it happens, and the model is told why when
// its turn has ended.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		kind  agent.Kind
		write func(path string) mt.Step
	}{
		{acp.Qwen(), func(path string) mt.Step {
			return mt.ToolUse{Name: "write_file", Input: map[string]string{"file_path": path, "content": "no\n"}}
		}},
		{acp.OpenCode(), func(path string) mt.Step {
			return mt.ToolUse{Name: "write", Input: map[string]string{"filePath": path, "content": "no\n"}}
		}},
		{acp.Gemini(), func(path string) mt.Step {
			return mt.ToolUse{Name: "write_file", Input: map[string]string{"file_path": path, "content": "no\n"}}
		}},
	} {
		for _, c := range []struct {
			name   string
			change func(*dag.Node)
			step   func(dir string) mt.Step
			why    string
		}{
			{"git stash", auto, func(string) mt.Step { return mt.Shell("git stash") }, "git stash"},
			{"a write out of scope", func(n *dag.Node) { auto(n); n.Scope = []string{"src/"} }, func(dir string) mt.Step { return p.write(filepath.Join(dir, "other.txt")) }, "src/"},
			{"a review", func(n *dag.Node) { auto(n); n.Role, n.Branch = dag.RoleReview, "" }, func(string) mt.Step { return mt.Shell("touch other.txt") }, "changes nothing"},
			{"without leave", nil, func(string) mt.Step { return mt.Shell("touch other.txt; true") }, "nobody can allow this"},
		} {
			t.Run(p.kind.Name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				var f *agenttest.Fixture
				step := mt.Func(func(mt.Request) mt.Turn { return mt.Turn{c.step(f.Spec.Place.Dir)} })
				// Some programs end the turn with a refusal, others go on.
				report := mt.Func(func(r mt.Request) mt.Turn {
					if strings.Contains(strings.Join(r.UserTexts(), "\n"), c.why) && !strings.Contains(r.UserTexts()[0], "#script") {
						return mt.Turn{mt.Report("nothing was needed")}
					}
					return mt.Turn{mt.Text("hm")}
				})
				f, _ = fixture(t, p.kind, c.change, mt.Turn{step}, mt.Turn{report}, mt.Turn{report}, mt.Turn{mt.Text("end")})
				_, wait := f.Start()
				if code := wait(); code != 0 {
					t.Fatalf("exit %d", code)
				}
				if _, err := os.Stat(filepath.Join(f.Spec.Place.Dir, "other.txt")); err == nil {
					t.Error("it was written")
				}
				if denied := f.Events(event.Denied); len(denied) != 1 || !strings.Contains(denied[0].Text, c.why) {
					t.Errorf("the events tell of %+v", denied)
				}
			})
		}
	}
}
