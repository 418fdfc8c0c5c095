package treewatch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree/footprint"
)

// A call that may have written what changed says who it was; one that reads, that was made
// before the turn, or that names something else does not.
func TestReportNamesCalls(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		calls map[string]string // by agent: the input of a tool
		at    time.Time
		head  bool
		title string
	}{
		"writes":        {calls: map[string]string{"r.ann": `{"command":"echo x > dir/a.txt"}`}, at: at.Add(time.Second), title: "room r: ann changed dir/a.txt"},
		"reads":         {calls: map[string]string{"r.ann": `{"command":"cat dir/a.txt"}`}, at: at.Add(time.Second), title: "room r: ann or bob (or you) changed dir/a.txt"},
		"reads quietly": {calls: map[string]string{"r.ann": `{"command":"grep -n 'a -> b' dir/a.txt 2>/dev/null; sed -n 1,5p dir/a.txt 2>&1; git diff dir/a.txt"}`}, at: at.Add(time.Second), title: "room r: ann or bob (or you) changed dir/a.txt"},
		"edits":         {calls: map[string]string{"r.ann": `{"command":"sed -i s/a/b/ dir/a.txt"}`}, at: at.Add(time.Second), title: "room r: ann changed dir/a.txt"},
		"looks at git":  {calls: map[string]string{"r.bob": `{"command":"git log -1"}`}, at: at.Add(time.Second), head: true, title: "room r: ann or bob (or you) changed dir/a.txt, moved main from 111 to 222"},
		"before":        {calls: map[string]string{"r.ann": `{"command":"rm dir/a.txt"}`}, at: at.Add(-time.Second), title: "room r: ann or bob (or you) changed dir/a.txt"},
		"another file":  {calls: map[string]string{"r.bob": `{"command":"touch b.txt"}`}, at: at.Add(time.Second), title: "room r: ann or bob (or you) changed dir/a.txt"},
		"both may have": {calls: map[string]string{"r.ann": `{"command":"rm a.txt"}`, "r.bob": `{"command":"touch a.txt"}`}, at: at.Add(time.Second), title: "room r: ann or bob (or you) changed dir/a.txt"},
		"git":           {calls: map[string]string{"r.bob": `{"command":"git commit -qm x"}`}, at: at.Add(time.Second), head: true, title: "room r: bob changed dir/a.txt, moved main from 111 to 222"},
		"nobody":        {at: at, title: "room r: ann or bob (or you) changed dir/a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := signals.Init(root); err != nil {
				t.Fatal(err)
			}
			events := func(agent string) string { return filepath.Join(root, agent) }
			for agent, input := range test.calls {
				line, err := json.Marshal(event.Event{At: test.at, Kind: event.ToolUse, Tool: "Bash", Input: json.RawMessage(input)})
				if err == nil {
					err = os.WriteFile(events(agent), append(line, '\n'), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			before := &footprint.Print{Branch: "refs/heads/main", Commit: "111"}
			after := *before
			if test.head {
				after.Commit = "222"
			}
			f := Change{
				Root: root, Since: at, Until: at.Add(time.Minute), before: before, after: &after,
				what:  footprint.Change{Files: []string{"dir/a.txt"}, Head: test.head},
				Turns: []Turn{{Room: "r", Turn: "t1", Member: "ann", Agent: "r.ann", Began: at}, {Room: "r", Turn: "t2", Member: "bob", Agent: "r.bob", Began: at}},
			}
			r, err := f.Report(root, "r", events)
			if err != nil {
				t.Fatal(err)
			}
			if r.Title != test.title {
				t.Errorf("%q", r.Title)
			}
			m := UndoSum().FindStringSubmatch(r.Evidence[0].Text)
			if m == nil || !strings.HasSuffix(r.Advice.Command, " "+UndoID(m[1])) {
				t.Fatalf("%q, %+v", r.Evidence[0].Text, r.Advice)
			}
			if _, err := os.Stat(UndoFile(root, "r", m[1])); err != nil {
				t.Error(err)
			}
		})
	}
}

// A fence of this attempt that lets nothing of it be written explains that it was not the
// member; one of another attempt, one that is open there, and none do not.
func TestKeptOut(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "fence.json")
	f := Change{Root: root, what: footprint.Change{Files: []string{"a.txt"}}}
	if f.KeptOut(file, 1) {
		t.Error("kept out by no fence")
	}
	for _, test := range []struct {
		fence   run.Fence
		keptOut bool
	}{{run.Fence{Attempt: 1}, true}, {run.Fence{Attempt: 2}, false}, {run.Fence{Attempt: 1, Write: []string{root}}, false}, {run.Fence{Attempt: 1, Write: []string{t.TempDir()}}, true}} {
		b, err := json.Marshal(test.fence)
		if err == nil {
			err = os.WriteFile(file, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := f.KeptOut(file, 1); got != test.keptOut {
			t.Errorf("%+v: %v", test.fence, got)
		}
	}
}
