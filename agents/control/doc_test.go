package control

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/commands"
	"cmux/agents/control/finding"
	"cmux/agents/control/logs"
	"cmux/agents/control/merging"
	"cmux/agents/control/remains"
	"cmux/agents/control/runs"
	"cmux/agents/control/terminals"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// processes are what belongs to the process and its terminal: whoever calls
// hands in what they have of it.
var processes = map[string][]string{
	"os":  {"Args", "Getenv", "LookupEnv", "Environ", "Setenv", "ExpandEnv", "Stdin", "Stdout", "Stderr", "Getwd", "Chdir", "Exit", "Executable"},
	"fmt": {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
	"log": {"Print", "Println", "Printf", "Fatal", "Fatalf"},
}

func TestNothingOfTheProcess(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	looked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		looked++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(processes[pkg.Name], sel.Sel.Name) {
					t.Errorf("%s: %s.%s: the caller hands it in", fset.Position(n.Pos()), pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
	if looked < 20 {
		t.Errorf("only %d files were looked at", looked)
	}
}

// Requests and answers go through JSON as they are: a server is a face like the
// command line.
func TestValuesAreJSON(t *testing.T) {
	for _, v := range []any{
		&commands.Retry{Node: "a", Downstream: true, Fresh: true}, &commands.Decision{Node: "a"}, &commands.Answer{Node: "a", Text: "1"}, &merging.Verify{Node: "a"},
		&runs.Wait{Node: "a", Timeout: time.Minute}, &logs.Log{Node: "a", Follow: true}, &runs.Diff{Node: "a", Colour: true}, &merging.Merge{Into: "main", Tips: true},
		&terminals.Attach{Node: "a", Pane: true}, &remains.Restore{Snapshot: "a", To: "b", Branch: "c"}, &commands.Start{Config: "f", Base: "b", New: true, Dry: true},

		&commands.Taken{Done: true, Note: "n"}, &commands.Answered{Taken: commands.Taken{Done: true}, Asked: true}, &commands.Question{Node: "a", Question: question.New("t", "o")},
		&commands.Retried{Taken: commands.Taken{Note: "n"}, Again: []commands.Was{{Node: "a", Label: dag.EndLabel(dag.Failed, dag.ReasonExit, 3)}}, Moved: []commands.Moved{{Node: "b", Tip: "c", Detail: "d"}}},
		&commands.Cancelled{Stays: dag.EndLabel(dag.Override, "", 0)}, &commands.RunStopped{Run: "r", Ended: []string{"a"}, Stays: dag.RunDone},
		&commands.Opening{Gate: "g", After: []runs.Beside{{Name: "a", Branch: "b", Tip: "c"}}}, &commands.Update{Changes: []commands.Change{{Name: "a", What: "b", Then: "c"}}},
		&merging.Checked{Command: "c", Failed: "f", Took: time.Second}, &merging.Merged{Target: "main", Merged: []string{"a"}}, &remains.Cleanup{Trees: []remains.Tree{{Path: "p", Branch: "b"}}, LeftOut: []string{"x"}},
		&remains.Removal{Path: "p", Saved: "s"}, &terminals.Offer{Node: "a", Conversation: &terminals.Conversation{ID: "c", Dir: "d"}}, &remains.Snapshot{ID: "s"},
		&remains.Restored{Snapshot: "s", Kept: []remains.Kept{{ID: "a", From: "b"}}}, &runs.PastRun{ID: "r"}, &runs.Report{Nodes: []runs.NodeReport{}}, &runs.Notice{Text: "t"}, &finding.Finding{What: "w"},
		&commands.Starting{Nodes: []commands.Planned{{Name: "a"}}, Config: "c", Branch: "b", Linked: "d"}, &commands.Wave{Start: []string{"a"}},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
			continue
		}
		again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := json.Unmarshal(b, again); err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%T comes back as %+v, %v; want %+v", v, again, err, v)
		}
	}
}
