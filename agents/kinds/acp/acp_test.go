package acp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/acp"
	"cmux/agents/kinds/agent"
	"cmux/agents/records/event"
	"cmux/agents/testkit/agenttest"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// fixture is a node of a real program before a scripted model.
func fixture(t *testing.T, kind agent.Kind, change func(*dag.Node), turns ...mt.Turn) (*agenttest.Fixture, *mt.Server) {
	t.Helper()
	server := mt.New(t, mt.Script{Name: "work", Turns: turns})
	base := t.TempDir()
	home := mt.Env(t, server, agenttest.Project(t, base))
	n := agenttest.Node(kind.Name, "Do the whole task. #script:work", change)
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
		in    func(folder string) mt.Step // runs what is granted in the worktree
	}{
		{acp.Qwen(), func(path string) mt.Step {
			return mt.ToolUse{Name: "write_file", Input: map[string]string{"file_path": path, "content": "no\n"}}
		}, func(folder string) mt.Step {
			return mt.ToolUse{Name: "run_shell_command", Input: map[string]any{"command": "git add -A", "directory": folder, "is_background": false}}
		}},
		{acp.OpenCode(), func(path string) mt.Step {
			return mt.ToolUse{Name: "write", Input: map[string]string{"filePath": path, "content": "no\n"}}
		}, func(folder string) mt.Step {
			return mt.ToolUse{Name: "bash", Input: map[string]string{"command": "git add -A", "workdir": folder, "description": "look"}}
		}},
		{acp.Gemini(), func(path string) mt.Step {
			return mt.ToolUse{Name: "write_file", Input: map[string]string{"file_path": path, "content": "no\n"}}
		}, func(folder string) mt.Step {
			return mt.ToolUse{Name: "run_shell_command", Input: map[string]string{"command": "git add -A", "dir_path": folder}}
		}},
	} {
		type try struct {
			step func(dir string) mt.Step
			why  string
		}
		touch := func(string) mt.Step { return mt.Shell("cp /dev/null other.txt; true") }
		for _, c := range []struct {
			name   string
			change func(*dag.Node)
			tries  []try
		}{
			{"a write out of scope", func(n *dag.Node) { auto(n); n.Scope = []string{"src/"} }, []try{
				{func(string) mt.Step { return mt.Shell("git stash") }, "git stash"},
				{func(dir string) mt.Step { return p.write(filepath.Join(dir, "other.txt")) }, "src/"},
			}},
			{"a review", func(n *dag.Node) { auto(n); n.Role, n.Branch = dag.RoleReview, "" }, []try{{touch, "change nothing"}}},
			{"without leave", nil, []try{
				{touch, "nobody can allow this"},
				// In a folder of its own a command may be another one: there a repository
				// of the agent's making would have git start programs.
				{func(dir string) mt.Step { return p.in(filepath.Join(dir, "src")) }, "nobody can allow this"},
			}},
		} {
			t.Run(p.kind.Name+" "+c.name, func(t *testing.T) {
				t.Parallel()
				var f *agenttest.Fixture
				// What was refused is known by what the model is told. Some programs end
				// the turn with a refusal, others go on.
				tried, told, reported := 0, 0, false
				turn := mt.Func(func(r mt.Request) mt.Turn {
					texts := r.UserTexts()
					if tried > told && strings.Contains(strings.Join(texts, "\n"), c.tries[told].why) && !strings.Contains(texts[0], "#script") {
						told++
					}
					switch {
					case tried > told || reported:
						return mt.Turn{mt.Text("hm")}
					case tried < len(c.tries):
						tried++
						return mt.Turn{c.tries[tried-1].step(f.Spec.Place.Dir)}
					}
					reported = true
					return mt.Turn{mt.Report("nothing was needed")}
				})
				f, _ = fixture(t, p.kind, c.change, slices.Repeat([]mt.Turn{{turn}}, 2+3*len(c.tries))...)
				_, wait := f.Start()
				if code := wait(); code != 0 {
					t.Fatalf("exit %d", code)
				}
				if _, err := os.Stat(filepath.Join(f.Spec.Place.Dir, "other.txt")); err == nil {
					t.Error("it was written")
				}
				denied := f.Events(event.Denied)
				if !slices.EqualFunc(denied, c.tries, func(e event.Event, try try) bool { return strings.Contains(e.Text, try.why) }) {
					t.Errorf("the events tell of %+v", denied)
				}
			})
		}
	}
}
