package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	"cmux/agents/testkit/modeltest"
	"cmux/signals"
)

// shop is the example of that name in a repository of its own, with the real
// Claude Code and a scripted model.
type shop struct {
	*project
	t     *testing.T
	model *modeltest.Server
	home  *modeltest.Home
}

// work are the steps of each agent before its report, all of which cmux grants.
var work = map[string][]modeltest.Step{
	"auth":     slices.Concat(makes("src/auth/token.js"), makes("src/middleware/check.js")),
	"catalog":  slices.Concat(makes("src/catalog/items.js"), makes("src/catalog/search.js")),
	"admin":    slices.Concat([]modeltest.Step{modeltest.Shell("cat src/auth/token.js src/catalog/search.js")}, makes("src/admin/pages.js")),
	"reviewer": {modeltest.Shell("git log --oneline && git diff --stat main...feature/admin")},
}

var shopNodes = []string{"auth", "catalog", "admin", "reviewer"}

// makes are the steps that write a file and commit it.
func makes(file string) []modeltest.Step {
	return []modeltest.Step{
		modeltest.ToolUse{Name: "Write", Input: map[string]string{"file_path": file, "content": "// " + file + "\n"}},
		modeltest.Shell("git add -A && git commit -q -m 'Add " + file + "'"),
	}
}

// script makes an agent take one step for each tool that has succeeded in this
// conversation; a new conversation would repeat all steps. Then the agent
// reports, and reports again each time that it is sent back. The agents of the
// first rank wait at the gate before their third step.
func script(name string, steps []modeltest.Step) modeltest.Script {
	next := modeltest.Func(func(r modeltest.Request) modeltest.Turn {
		done := 0
		for _, b := range r.ToolResults() {
			if !b.IsError {
				done++
			}
		}
		switch {
		case done < len(steps) && done == 2 && (name == "auth" || name == "catalog"):
			return modeltest.Turn{modeltest.Hold("gate"), told(r, steps[done])}
		case done < len(steps):
			return modeltest.Turn{told(r, steps[done])}
		case reported(r):
			return modeltest.Turn{modeltest.Text("finished")}
		}
		return modeltest.Turn{modeltest.Report(name + " has made it")}
	})
	s := modeltest.Script{Name: name, Match: "You are " + name + ", a "}
	for range 40 {
		s.Turns = append(s.Turns, modeltest.Turn{next})
	}
	return s
}

// told is the step in the words of the program that asks: a file is written with
// the tool that it offers.
func told(r modeltest.Request, step modeltest.Step) modeltest.Step {
	use, ok := step.(modeltest.ToolUse)
	if !ok || slices.Contains(r.Tools, use.Name) {
		return step
	}
	in := use.Input.(map[string]string)
	var dir string
	for _, text := range r.UserTexts() {
		if m := ownTree.FindStringSubmatch(text); m != nil {
			dir = m[1]
		}
	}
	path := filepath.Join(dir, in["file_path"]) // some take no other
	if slices.Contains(r.Tools, "write_file") {
		return modeltest.ToolUse{Name: "write_file", Input: map[string]string{"file_path": path, "content": in["content"]}}
	}
	return modeltest.ToolUse{Name: "write", Input: map[string]string{"filePath": path, "content": in["content"]}}
}

// ownTree is where a prompt says that the agent works.
var ownTree = regexp.MustCompile(`- Directory: (.+), your own git worktree`)

// reported reports whether the agent has reported since it was last told to.
func reported(r modeltest.Request) bool {
	for _, m := range slices.Backward(r.Messages) {
		for _, b := range slices.Backward(m.Blocks) {
			switch {
			case b.Type == "tool_use":
				return strings.Contains(b.Input, "cmux done")
			case b.Type == "text" && m.Role == "user" && strings.Contains(b.Text, "with `done`"):
				return false
			}
		}
	}
	return false
}

// newShop makes the shop with the example's configuration, changed by change;
// without one it is the example's, byte for byte.
func newShop(t *testing.T, change func(config string) string, more ...modeltest.Step) *shop {
	t.Helper()
	var scripts []modeltest.Script
	for _, name := range shopNodes {
		steps := work[name]
		if name == "auth" {
			steps = slices.Concat(steps, more)
		}
		scripts = append(scripts, script(name, steps))
	}
	s := &shop{t: t, model: modeltest.New(t, scripts...), project: newProject(t, "shop")}
	s.home = modeltest.Env(t, s.model, s.dir)
	env := s.home.Env
	for _, e := range s.env {
		if name, _, _ := strings.Cut(e, "="); name == "TMUX_TMPDIR" || name == "CMUX_TMUX_SOCKET" || name == "LC_ALL" {
			env = append(env, e)
		}
	}
	path := built(t) + string(os.PathListSeparator) + filepath.Dir(modeltest.Claude(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
	s.env = append(env, "PATH="+path)
	config, err := os.ReadFile("shop/cmux-agents.yml")
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		was := config
		if config = []byte(change(string(was))); bytes.Equal(was, config) {
			t.Fatal("the configuration was not changed")
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".cmux-agents.yml"), config, 0o644); err != nil {
		t.Fatal(err)
	}
	s.mustRun(t, "git add -A && git commit -q -m 'Who does what'")
	t.Cleanup(func() {
		if t.Failed() {
			s.tell()
		}
	})
	return s
}

// tell logs what is known of a run that went wrong.
func (s *shop) tell() {
	out, _ := s.command(context.Background(), "cmux agents status; tail -n 30 .cmux/runs/*/*/log; cat .cmux/runs/*/records.jsonl").CombinedOutput()
	s.t.Logf("%s", out)
	for _, r := range s.model.Requests() {
		s.t.Logf("call %d of the model: %s, turn %d of %q, %d messages", r.Seq, r.Session, r.Turn, r.Script, len(r.Messages))
	}
}

// runs opens the gate and calls a command that carries the run on to its end,
// and checks the exit code that it ends with.
func (s *shop) runs(command string, headless bool, code int) {
	s.t.Helper()
	s.model.Release("gate")
	if headless {
		s.exits(code, command)
		return
	}
	s.mustRun(s.t, command+" --detach")
	s.exits(code, "cmux agents wait")
}

// atGate waits until both agents of the first rank are in the middle of their
// work, and have written down what they did: Claude Code does that a moment
// later, and what it has not is gone with it when it is killed.
func (s *shop) atGate() {
	s.t.Helper()
	s.model.WaitHeld(s.t, "gate", 2)
	for _, node := range []string{"auth", "catalog"} {
		eventually(s.t, "two results in the transcript of "+node, func() bool {
			paths, err := filepath.Glob(filepath.Join(s.home.Claude, "projects", "*-shop-"+node, "*.jsonl"))
			if err != nil || len(paths) != 1 {
				return false
			}
			b, err := os.ReadFile(paths[0])
			return err == nil && bytes.Count(b, []byte(`"type":"tool_result"`)) >= 2
		})
	}
}

// exits checks the exit code of a command.
func (s *shop) exits(code int, command string) {
	s.t.Helper()
	out, err := s.run(s.t, s.dir, command)
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		got = -1
	}
	if got != code {
		s.t.Fatalf("%s: %v, want exit %d\n%s", command, err, code, out)
	}
}

// bordered checks what stands in the borders of panes.
func (s *shop) bordered(labels ...string) {
	s.t.Helper()
	for _, label := range labels {
		eventually(s.t, "a pane labelled "+label, func() bool {
			return slices.Contains(strings.Split(s.mustRun(s.t, "tmux -L t list-panes -a -F '#{@cmux_node}: #{@cmux_state}'"), "\n"), label)
		})
	}
}

type shopNode struct {
	Name, Label, Branch, Reason string
	Attempts                    int
}

func (s *shop) status() (state string, nodes map[string]shopNode) {
	s.t.Helper()
	var report struct {
		Run   struct{ State string }
		Nodes []shopNode
	}
	out := s.mustRun(s.t, "cmux agents status --json")
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	nodes = map[string]shopNode{}
	for _, n := range report.Nodes {
		nodes[n.Name] = n
	}
	return report.Run.State, nodes
}

// labelled checks the labels of all nodes, in the table as in the JSON.
func (s *shop) labelled(state string, labels ...string) {
	s.t.Helper()
	got, nodes := s.status()
	if got != state {
		s.t.Errorf("the run is %s, want %s", got, state)
	}
	table := s.mustRun(s.t, "cmux agents status")
	for i, name := range shopNodes {
		if nodes[name].Label != labels[i] {
			s.t.Errorf("%s is %q, want %q", name, nodes[name].Label, labels[i])
		}
		if !slices.ContainsFunc(strings.Split(table, "\n"), func(line string) bool {
			return strings.HasPrefix(line, name+" ") && strings.Contains(line, " "+labels[i]+" ")
		}) {
			s.t.Errorf("the table does not say that %s is %s:\n%s", name, labels[i], table)
		}
	}
}

// committed checks the subjects of a branch's own commits, merges left out.
func (s *shop) committed(branch string, files ...string) {
	s.t.Helper()
	var want string
	for _, f := range files {
		want += "Add " + f + "\n"
	}
	if got := s.mustRun(s.t, "git log --no-merges --reverse --format=%s main..feature/"+branch); got != want {
		s.t.Errorf("feature/%s holds\n%swant\n%s", branch, got, want)
	}
}

// allMade checks the work of a run that went well.
func (s *shop) allMade() {
	s.t.Helper()
	s.labelled("done", "done", "done", "done", "done")
	auth, catalog := []string{"src/auth/token.js", "src/middleware/check.js"}, []string{"src/catalog/items.js", "src/catalog/search.js"}
	s.committed("auth", auth...)
	s.committed("catalog", catalog...)
	// Both of them lie below what admin starts from.
	got := strings.Split(strings.TrimSpace(s.mustRun(s.t, "git log --no-merges --format=%s main..feature/admin")), "\n")
	slices.Sort(got)
	var want []string
	for _, f := range slices.Concat(auth, catalog, []string{"src/admin/pages.js"}) {
		want = append(want, "Add "+f)
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		s.t.Errorf("feature/admin holds %q, want %q", got, want)
	}
	s.reviewed()
}

func (s *shop) records() (all []run.Record) {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.dir, ".cmux/runs/*/records.jsonl"))
	if err != nil || len(paths) != 1 {
		s.t.Fatalf("records: %q, %v", paths, err)
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if r, err := run.ParseRecord(bytes.TrimSpace(line)); err == nil {
			all = append(all, *r)
		}
	}
	return all
}

// reviewed checks that the reviewer began after the others had ended, and saw
// what they made.
func (s *shop) reviewed() {
	s.t.Helper()
	first := s.model.WaitFor(s.t, func(r modeltest.Request) bool { return r.Script == "reviewer" })
	ended := 0
	for _, r := range s.records() {
		if r.Type == run.AttemptEnd && r.Node != "reviewer" {
			if ended++; !r.At.Before(first.At) {
				s.t.Errorf("%s ended at %s, after the reviewer began at %s", r.Node, r.At, first.At)
			}
		}
	}
	if ended != 3 {
		s.t.Errorf("%d ends before the review", ended)
	}
	told := strings.Join(first.UserTexts(), "\n")
	base := strings.TrimSpace(s.mustRun(s.t, "git rev-parse --short=12 main"))
	for _, part := range []string{"feature/auth", "feature/catalog", "feature/admin", base + "..", "2 files, +2 -0", "1 file, +1 -0", "auth has made it"} {
		if !strings.Contains(told, part) {
			s.t.Errorf("the reviewer was not told %q:\n%s", part, told)
		}
	}
	saw := ""
	for _, r := range s.model.Requests() {
		if r.Script == "reviewer" {
			for _, b := range r.ToolResults() {
				saw += b.Text
			}
		}
	}
	// On a busy machine Qwen Code drops the end of what a command printed, and says that
	// the command ended well; its log comes first.
	cut := strings.Contains(saw, "\nProcess Group PGID: ") && strings.Contains(saw, " A shop\n")
	if (!strings.Contains(saw, "src/middleware/check.js") || !strings.Contains(saw, "src/admin/pages.js")) && !cut {
		s.t.Errorf("the reviewer saw %q", saw)
	}
}

// once checks that every agent had one conversation.
func (s *shop) once() {
	s.t.Helper()
	sessions := map[string]string{}
	for _, r := range s.model.Requests() {
		if r.Aside {
			continue
		}
		if before := sessions[r.Script]; before != "" && before != r.Session {
			s.t.Errorf("%s began a second conversation (call %d of the model)", r.Script, r.Seq)
		}
		sessions[r.Script] = r.Session
	}
	if len(sessions) != len(shopNodes) {
		s.t.Errorf("conversations: %v", sessions)
	}
	// Not every program tells the model which conversation it is.
	entered := map[string]string{}
	for _, r := range s.records() {
		if r.Type != run.Conversed {
			continue
		}
		if before := entered[r.Node]; before != "" && before != r.Conversation {
			s.t.Errorf("%s went on in conversation %s after %s", r.Node, r.Conversation, before)
		}
		entered[r.Node] = r.Conversation
	}
	if len(entered) != len(shopNodes) {
		s.t.Errorf("conversations on record: %v", entered)
	}
}

func start(headless bool) string {
	if headless {
		return "cmux agents start --yes --headless"
	}
	return "cmux agents start --yes"
}

var inPanesAndHeadless = map[string]bool{"in panes": false, "headless": true}

// TestShop: the example runs as it stands, and nobody is asked for anything.
func TestShop(t *testing.T) {
	t.Parallel()
	for name, headless := range inPanesAndHeadless {
		t.Run(name, func(t *testing.T) {
			if !headless {
				testall.Only(t) // make demo runs as many in panes
			}
			t.Parallel()
			s := newShop(t, nil)
			s.runs(start(headless), headless, 0)
			s.allMade()
			s.once()
			s.askedNobody()
		})
	}
}

// TestShopOfOthers: programs of the Agent Client Protocol do the same work side
// by side, and build on what each other made. In panes, as they are started by
// default: they go over the same pipe headless, and their packages show that.
func TestShopOfOthers(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	s := newShop(t, func(config string) string {
		for node, kind := range map[string]string{"auth": "qwen", "catalog": "opencode", "admin": "gemini", "reviewer": "qwen"} {
			config = regexp.MustCompile(`(?m)^  - name: `+node+`\b.*$`).ReplaceAllString(config, "$0\n    agent: "+kind)
		}
		return config
	})
	s.runs(start(false), false, 0)
	s.allMade()
	s.once()
	s.askedNobody()
	kinds := map[string]bool{}
	for _, r := range s.model.Requests() {
		kinds[r.Protocol] = true
	}
	if kinds[modeltest.Messages] || !kinds[modeltest.Chat] || !kinds[modeltest.Gemini] {
		t.Errorf("the model was spoken to in %v", kinds)
	}
}

// askedNobody checks that no node waited for a person.
func (s *shop) askedNobody() {
	s.t.Helper()
	for _, r := range s.records() {
		if r.Type == run.Active && r.Detail != "" {
			s.t.Errorf("%s asked: %s", r.Node, r.Detail)
		}
	}
}

// TestShopFails: what depends on a failure is blocked until a person overrides it.
func TestShopFails(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, headless := range inPanesAndHeadless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, func(config string) string {
				return strings.Replace(config, "    branch: feature/auth\n", "    branch: feature/auth\n    verify: [\"echo no tokens; exit 5\"]\n", 1)
			})
			s.runs(start(headless), headless, 3)
			s.labelled("failed", "failed (checks)", "done", "blocked (auth failed)", "blocked (auth failed)")
			s.mustRun(t, "touch .cmux/signals/auth.done")
			if headless {
				s.runs("cmux agents resume", headless, 0)
			} else { // its runner is there still
				s.exits(0, "cmux agents wait")
			}
			s.labelled("done", "done (override)", "done", "done", "done")
			s.committed("auth", "src/auth/token.js", "src/middleware/check.js")
			if out := s.mustRun(t, "git ls-tree -r --name-only feature/admin src"); out != "src/admin/pages.js\nsrc/auth/token.js\nsrc/catalog/items.js\nsrc/catalog/search.js\nsrc/middleware/check.js\n" {
				t.Errorf("feature/admin holds %q", out)
			}
			s.once()
		})
	}
}

// TestShopKilled: whatever is killed in the middle, each agent goes on in its
// conversation and does nothing twice.
func TestShopKilled(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for name, kill := range map[string]func(*shop){
		"runner": func(s *shop) {
			before := s.runner()
			s.kill(before)
			// tmux may be first to start another, which resume then says.
			eventually(s.t, "another runner", func() bool {
				s.run(s.t, s.dir, "cmux agents resume --detach")
				pid := s.runner()
				return pid != 0 && pid != before
			})
			s.atGate() // the agents never noticed
		},
		"wrapper": func(s *shop) {
			s.kill(s.wrapper("auth"))
			eventually(s.t, "auth is started again", func() bool { _, nodes := s.status(); return nodes["auth"].Attempts == 2 })
			s.atGate()
		},
		"tmux": func(s *shop) {
			var pid int
			fmt.Sscan(s.mustRun(s.t, "tmux -L t display-message -p '#{pid}'"), &pid)
			s.kill(pid)
			eventually(s.t, "no runner", func() bool { state, _ := s.status(); return state == "no runner" })
			s.mustRun(s.t, "cmux agents resume --detach")
			s.atGate()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, nil)
			s.mustRun(t, start(false)+" --detach")
			s.atGate()
			s.bordered("auth: running", "catalog: running")
			kill(s)
			s.model.Release("gate")
			s.exits(0, "cmux agents wait")
			s.allMade()
			s.once()
		})
	}
}

// runner is the process id of the runner; 0: there is none.
func (s *shop) runner() int {
	h, held, err := signals.ReadHolder(filepath.Join(s.dir, ".cmux/locks/shop"))
	if err != nil || !held {
		return 0
	}
	return h.PID
}

// wrapper is the process id of a node's newest wrapper.
func (s *shop) wrapper(node string) (pid int) {
	for _, r := range s.records() {
		if r.Type == run.Began && r.Node == node {
			pid = r.PID
		}
	}
	return pid
}

// kill kills a process that is this shop's, and the gate loses who waits there
// with it.
func (s *shop) kill(pid int) {
	s.t.Helper()
	if pid <= 1 {
		s.t.Fatalf("there is no process %d", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

// TestShopAsks: what cmux does not grant is asked of a person, who answers from
// elsewhere.
func TestShopAsks(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	s := newShop(t, nil, modeltest.Shell("cp /dev/null src/auth/made"), modeltest.Shell("git add -A && git commit -q -m 'Add src/auth/made'"))
	settings := `{"permissions":{"defaultMode":"manual"}}`
	if err := os.WriteFile(filepath.Join(s.home.Claude, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s.model.Release("gate")
	s.mustRun(t, start(false)+" --detach")
	eventually(t, "the question", func() bool {
		_, nodes := s.status()
		return nodes["auth"].Label == "needs input"
	})
	if _, nodes := s.status(); !strings.Contains(nodes["auth"].Reason, "may it use Bash? cp /dev/null src/auth/made") {
		t.Errorf("it asks %q", nodes["auth"].Reason)
	}
	if table := s.mustRun(t, "cmux agents status"); !strings.Contains(table, "cp /dev/null src/auth/made") || !strings.Contains(table, "cmux agents answer auth") {
		t.Errorf("the table does not say what is asked, and how to answer:\n%s", table)
	}
	s.bordered("auth: needs input")
	s.mustRun(t, "cmux agents answer auth yes")
	s.exits(0, "cmux agents wait")
	s.labelled("done", "done", "done", "done", "done")
	s.committed("auth", "src/auth/token.js", "src/middleware/check.js", "src/auth/made")
}
