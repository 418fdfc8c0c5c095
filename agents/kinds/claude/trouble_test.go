package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	mt "cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// inBackground runs a command in the background.
func inBackground(command string) mt.ToolUse {
	return mt.ToolUse{Name: "Bash", Input: map[string]any{"command": command, "description": "in the background", "run_in_background": true}}
}

// delegated starts a sub-agent that follows a script.
func delegated(script string) mt.ToolUse {
	return mt.ToolUse{Name: "Agent", Input: map[string]any{"description": script, "prompt": "do #script:" + script, "subagent_type": "general-purpose", "run_in_background": true}}
}

// tooLong is met once: the program compacts the conversation and asks again.
var tooLong = mt.Fault{Status: 400, Message: mt.PromptTooLong.Message, Times: 1}

// troubles are conversations in which something goes wrong that is not the
// agent's fault, or not only.
var troubles = []scenario{
	{name: "is cut off before and in the middle of an answer",
		turns: []mt.Turn{{mt.Fault{Times: 2}, mt.Shell("echo made > a.txt; " + commit)}, {mt.Text("half an ans"), mt.Fault{Times: 2}, mt.Report("made it")}, {mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, log: []string{"the model failed"}},
	{name: "meets an error in a tool loop",
		turns: []mt.Turn{{mt.Shell("echo made > a.txt")}, {mt.Fault{Status: 500, Times: 2}, mt.Shell(commit)}, {mt.Fault{Status: 400, Times: 1, Message: "bad things"}, mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, log: []string{"the model failed"}},
	{name: "is compacted in the middle", always: true,
		turns: []mt.Turn{{mt.Shell("echo made > a.txt; " + commit)}, {mt.Shell("true")}, {tooLong, mt.Text("I stop here")}, {mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1},
		log:   []string{"the conversation was compacted", "You ended your turn without reporting"},
		more: func(f *fixture) {
			f.remembers("Your task is the one that you were given at the start")
			f.spent()
		}},
	{name: "runs a command in the background as it reports", anywhere: true, always: true,
		turns: []mt.Turn{{inBackground("while :; do sleep 1; done")}, {mt.Report("nothing was needed")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "nothing was needed"}},
	{name: "waits for a command in the background", before: func(f *fixture) {
		f.Write(f.home.Claude, "settings.json", `{"skipDangerousModePermissionPrompt":true,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"touch \"$HOME/stopped\""}]}]}}`)
	},
		turns: []mt.Turn{{inBackground("until test -e \"$HOME/stopped\"; do sleep 0.1; done; echo made > a.txt; " + commit)}, {mt.Text("waiting for it")}, {mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1},
		more:  func(f *fixture) { f.unsaid("You ended your turn without reporting") }},
	{name: "waits too long for a command in the background", before: func(f *fixture) { f.setenv("TEST_SETTLE=500ms") },
		turns: []mt.Turn{{inBackground("while :; do sleep 1; done")}, {mt.Text("waiting for it")}, {mt.Report("nothing was needed")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "nothing was needed"}, log: []string{"You ended your turn without reporting"}},
	{name: "reports while sub-agents work",
		turns: []mt.Turn{{delegated("late1"), delegated("late2")}, {mt.Shell("touch reported; cmux done 'with help'")}, {mt.Text("end")},
			{mt.Shell("rm reported; " + commit)}, {mt.Report("with help")}, {mt.Text("end")}, {mt.Text("end")}, {mt.Text("end")}},
		want: run.End{Outcome: dag.Done, Summary: "with help", Commits: 1}, files: []string{"late1", "late2"}},
	{name: "has a sub-agent that reports for it", anywhere: true,
		turns: []mt.Turn{{delegated("eager")}, {mt.Shell("until test -e tried; do sleep 0.1; done; rm tried; echo made > a.txt; " + commit)}, {mt.Text("so far")}, {mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, files: []string{"a.txt"}},
	{name: "has a sub-agent whose model fails", before: func(f *fixture) {
		f.Write(f.home.Claude, "settings.json", `{"skipDangerousModePermissionPrompt":true,"hooks":{"StopFailure":[{"hooks":[{"type":"command","command":"touch \"$HOME/failed\""}]}]}}`)
	},
		turns: []mt.Turn{{delegated("failing")}, {mt.Shell("until test -e \"$HOME/failed\"; do sleep 0.1; done; echo made > a.txt; " + commit)}, {mt.Report("made it")}, {mt.Text("end")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1},
		more:  func(f *fixture) { f.unsaid("the model failed") }},
	{name: "reviews by a sub-agent", anywhere: true, change: reviewing,
		turns: []mt.Turn{{delegated("writer")}, {mt.Shell("until test -e ../tried; do sleep 0.1; done; echo x >> README; cp README new.txt")}, {mt.Text("waiting")}, {mt.Report("looks good")}, {mt.Text("end")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "looks good"},
		more: func(f *fixture) {
			if s := f.Git(f.Root, "status", "--porcelain"); s != "" {
				f.T.Errorf("a review changed the project: %s", s)
			}
		}},
	{name: "writes out of its scope again and again", anywhere: true, change: func(n *dag.Node) { n.Scope, n.VerifyAttempts = []string{"src/"}, 2 },
		turns: []mt.Turn{{mt.Shell(`echo > 'a b'; echo > "$(printf 'new\nline')"; echo > "$(printf 'é\033[2J')"; ` + commit)}, {mt.Report("one")}, {mt.Text("end")}, {mt.Report("two")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Failed, Reason: dag.ReasonScope, Detail: "a b", Commits: 1},
		more: func(f *fixture) {
			if d := f.Ended().Detail; strings.ContainsAny(d, "\n\x1b") {
				f.T.Errorf("names as they are in %q", d)
			}
			f.told("a b", 0)
		}},
	{name: "has a check that says too much", change: func(n *dag.Node) {
		n.Verify = []string{`test -e fixed || { i=0; while [ $i -lt 5000 ]; do printf 'ééééééé %s\n' $i; i=$((i+1)); done; printf '\033[2J\033]0;x\007\0\r\377 the end\n'; exit 1; }`}
	},
		turns: []mt.Turn{{mt.Report("one")}, {mt.Text("end")}, {mt.Shell("touch fixed; " + commit)}, {mt.Report("two")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "two", Commits: 1},
		more:  func(f *fixture) { f.told("the end", 9<<10) }},
	{name: "has a check that does not end", anywhere: true, change: func(n *dag.Node) {
		n.Verify, n.VerifyTimeout, n.VerifyAttempts = []string{"while :; do sleep 1; done"}, dag.Duration(1e9), 1
	},
		turns: []mt.Turn{{mt.Report("one")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "no end within 1s"}},
	{name: "finds hooks turned off in every settings file", always: true, before: func(f *fixture) {
		f.Write(f.home.Claude, "settings.json", `{"skipDangerousModePermissionPrompt":true,"disableAllHooks":true}`)
		f.projectSettings("settings.json", hooksOff)
		f.projectSettings("settings.local.json", hooksOff)
	},
		turns: []mt.Turn{{strayWrite}, {mt.Shell("echo made > a.txt; git add a.txt; git commit -qm work")}, {mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, files: []string{"!../stray"}},
	{name: "turns hooks off by a script", before: func(f *fixture) { f.projectSettings("settings.local.json", "{}") },
		turns: []mt.Turn{
			{mt.Shell("for f in .claude/settings.local.json \"$CLAUDE_CONFIG_DIR/settings.json\" \"$CMUX_RUN_DIR/a/settings-1.json\"; do echo '" + hooksOff + "' > \"$f\"; done")},
			{mt.Shell("i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done")}, // in which the program reads them again
			{strayWrite}, {mt.Shell("echo made > a.txt; git add a.txt; git commit -qm work")}, {mt.Report("made it")}, {mt.Text("end")}},
		want: run.End{Outcome: dag.Done, Summary: "made it", Commits: 1}, files: []string{"!../stray"}},
	{name: "leaves a person's settings and hooks alone", before: ownHooks,
		turns: []mt.Turn{{mt.Shell("echo made > a.txt; git add a.txt; git commit -qm work")}, {mt.Report("made it")}, {mt.Text("end")}},
		want:  run.End{Outcome: dag.Done, Summary: "made it", Commits: 1},
		more:  ownHooksRan},
}

const hooksOff = `{"disableAllHooks":true}`

// strayWrite is what the guard refuses.
var strayWrite = mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/../stray", "content": "no\n"}}

// projectSettings writes settings of the project, which git is told to overlook.
func (f *fixture) projectSettings(name, content string) {
	f.T.Helper()
	dir := filepath.Join(f.Tree, ".claude")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		f.T.Fatal(err)
	}
	f.Write(dir, name, content)
	f.Write(f.Git(f.Tree, "rev-parse", "--absolute-git-dir")+"/../../info", "exclude", ".claude\n")
}

func reviewing(n *dag.Node) { n.Role, n.Branch = dag.RoleReview, "" }

// helpers are the scripts of sub-agents.
var helpers = []mt.Script{
	spender,
	sub, late("late1"), late("late2"),
	{Name: "eager", Turns: []mt.Turn{{mt.Report("nothing was needed, says a sub-agent")}, {mt.Shell("touch tried")}, {mt.Text("tried")}}},
	{Name: "failing", Turns: []mt.Turn{{mt.ServerError}}},
	{Name: "writer", Turns: []mt.Turn{{mt.ToolUse{Name: "Write", Input: map[string]string{"file_path": "{tree}/new.txt", "content": "no\n"}}}, {mt.Shell("echo x >> README")}, {mt.Shell("touch ../tried")}, {mt.Text("tried")}}},
}

// late writes a file when its agent has reported.
func late(name string) mt.Script {
	return mt.Script{Name: name, Turns: []mt.Turn{{mt.Shell("until test -e reported; do sleep 0.1; done; sleep 0.3; echo late > " + name)}, {mt.Text("finished")}}}
}

func TestTroubleHeadless(t *testing.T) {
	t.Parallel()
	for _, c := range troubles {
		c.test(t, false)
	}
}

func TestTroubleInAPane(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	for _, c := range troubles {
		c.test(t, true)
	}
}

func (f *fixture) setenv(e string) { f.Env = append(f.Env, e) }

// remembers checks that the model was given the text after a compaction.
func (f *fixture) remembers(text string) {
	f.T.Helper()
	compacted := false
	for _, r := range f.server.Requests() {
		if r.Compaction() {
			compacted = true
		} else if compacted && strings.Contains(string(r.Body), text) {
			return
		}
	}
	f.T.Errorf("compacted %v, and the model was not told %q", compacted, text)
}

// spent checks the tokens: each answered request counts once.
func (f *fixture) spent() {
	f.T.Helper()
	failed := 1
	if got, want := f.Ended().Used.Counted(), int64(120*(len(f.server.Requests())-failed)); got > want || got < want-2*120 {
		f.T.Errorf("%d tokens, want about %d", got, want)
	}
}

// unsaid checks that the log has no such text.
func (f *fixture) unsaid(text string) {
	f.T.Helper()
	if strings.Contains(f.Log(), text) {
		f.T.Errorf("in the log: %s", text)
	}
}

// told checks what the model was handed back: it has the text, is no longer
// than most, and is text.
func (f *fixture) told(text string, most int) {
	f.T.Helper()
	for _, r := range f.server.Requests() {
		for _, said := range r.UserTexts() {
			if strings.Contains(said, "<task>") || !strings.Contains(said, text) || !strings.Contains(said, "report again") {
				continue
			}
			if i := strings.IndexFunc(said, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
				f.T.Errorf("told %q", said[max(0, i-50):min(len(said), i+50)])
			}
			if most > 0 && len(said) > most {
				f.T.Errorf("told %d bytes", len(said))
			}
			return
		}
	}
	f.T.Errorf("the model was not told %q", text)
}

const hookFile = `{"skipDangerousModePermissionPrompt":true,"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"echo x >> \"$HOME/%s\""}]}]}}` + "\n"

// ownHooks gives a person hooks of their own, for themselves and in the project.
func ownHooks(f *fixture) {
	f.Write(f.home.Claude, "settings.json", strings.Replace(hookFile, "%s", "theirs", 1))
	f.projectSettings("settings.local.json", strings.Replace(hookFile, "%s", "project", 1))
}

func ownHooksRan(f *fixture) {
	for name, path := range map[string]string{"theirs": f.home.Claude + "/settings.json", "project": f.Tree + "/.claude/settings.local.json"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != strings.Replace(hookFile, "%s", name, 1) {
			f.T.Errorf("%s: %v %s", path, err, got)
		}
		if b, err := os.ReadFile(filepath.Join(f.home.Dir, name)); err != nil || len(b) == 0 {
			f.T.Errorf("the hook of %s did not run: %v", path, err)
		}
	}
}
