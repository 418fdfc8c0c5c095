package dag

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/dag/keys"
)

var update = flag.Bool("update", false, "rewrite golden files and generated documents")

// readTask stands for the project's files.
func readTask(name string) ([]byte, error) {
	switch name {
	case "sub/more.yml":
		return []byte("defaults: {timeout: 1h}\ninclude: deeper/most.yml\nagents:\n  - {name: more, task_file: ../t.md, depends_on: most}\n"), nil
	case "sub/deeper/most.yml":
		return []byte("x-a: &a {task: x}\nagents:\n  - <<: *a\n    name: most\n    timeout: 0\n"), nil
	case "again.yml":
		return []byte("include: [sub/more.yml, back.yml]\nagents: [{name: again, task: x}]\n"), nil
	case "back.yml":
		return []byte("include: again.yml\n"), nil
	case "itself.yml":
		return []byte("include: include.yml\n"), nil
	case "tidy.yml":
		return []byte("finally: [{name: tidy, task: x}]\nagents: [{name: made, task: x}]\n"), nil
	case "bad.yml":
		return []byte("session: s\nagent: []\nagents:\n  - {name: first, task: x, timeout: 5}\n  - {name: bad, task: x, depends_on: [nobody, bad]}\ndefaults: {name: x}\n"), nil
	case "no.yml":
		return []byte("agents:\n\t- x\n"), nil
	case "list.yml":
		return []byte("- x\n"), nil
	case "ring.yml":
		return []byte("agents: [{name: ring, task: x, depends_on: [main]}]"), nil
	case "tasks/a b.md":
		return []byte("read the changes\nand say what is wrong\n"), nil
	case "t.md":
		return []byte("task\n"), nil
	case "empty.md":
		return []byte(" \n"), nil
	case "binary.md":
		return []byte("a\x00b"), nil
	case "large.md":
		return make([]byte, keys.MaxSource+1), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func parseFile(t testing.TB, path string) (*Graph, []Warning, error) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(filepath.Base(path), src, ParseOptions{ReadFile: readTask})
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files at %s (%v)", pattern, err)
	}
	return paths
}

// golden compares with a file beside the test's input, or rewrites it.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test ./dag -update rewrites it)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestFaults(t *testing.T) {
	for _, path := range files(t, "testdata/fault/*.yml") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yml"), func(t *testing.T) {
			g, warnings, err := parseFile(t, path)
			var faults Faults
			if g != nil || !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("graph %v, error %v; want faults", g, err)
			}
			var b strings.Builder
			for _, w := range warnings {
				fmt.Fprintf(&b, "warning: %s\n", w.Error())
			}
			golden(t, strings.TrimSuffix(path, ".yml")+".golden", b.String()+err.Error()+"\n")
		})
	}
}

func TestWarnings(t *testing.T) {
	src := "session: s\nagents:\n" +
		"  - {name: a, role: gate, branch: x}\n" +
		"  - {name: b, task: x, depends_on: [a, a]}\n"
	g, warnings, err := Parse("f.yml", []byte(src), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Warning{
		{File: "f.yml", Line: 3, Column: 35, Message: "branch has no effect on a gate", Hint: "remove it"},
		{File: "f.yml", Line: 4, Column: 40, Message: `"b" names "a" twice in depends_on`, Hint: "remove one"},
	}
	if !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %v, want %v", warnings, want)
	}
	if g.Nodes[0].Branch != "" || len(g.Nodes[1].DependsOn) != 1 {
		t.Errorf("what was warned about is still there: %+v", g.Nodes)
	}
}

func TestSizeLimit(t *testing.T) {
	head := "session: s\nagents: [{name: a, task: x}]\n#"
	src := []byte(head + strings.Repeat("x", keys.MaxSource-len(head)+1))
	_, _, err := Parse("f.yml", src, ParseOptions{})
	if err == nil || !strings.Contains(err.Error(), "at most 10485760") {
		t.Errorf("error %v", err)
	}
	if _, _, err := Parse("f.yml", src[:keys.MaxSource], ParseOptions{}); err != nil {
		t.Errorf("a file of the largest size: %v", err)
	}
}

func TestDefaults(t *testing.T) {
	g, warnings, err := Parse("f.yml", []byte("session: shop\nagents:\n  - {name: auth, task: x}\n  - {name: look, role: review, agent: codex, task: y}\n"), ParseOptions{})
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	if g.WorktreeBase != ".." || !g.MainPane || g.MaxParallel != 8 || g.Base != "" {
		t.Errorf("graph %+v", g)
	}
	ten := Duration(10 * time.Minute)
	want := []Node{
		{Name: "auth", Branch: "shop/auth", Agent: "claude", Role: RoleBuild, Task: "x", When: AllSuccess, VerifyTimeout: ten, VerifyAttempts: 3, OnLost: Redo, OnLimit: Wake, Account: "claude", Line: 3},
		{Name: "look", Agent: "codex", Role: RoleReview, Task: "y", When: AllSuccess, VerifyTimeout: ten, VerifyAttempts: 3, OnLost: Redo, OnLimit: Wake, Account: "codex", Line: 4},
	}
	if !reflect.DeepEqual(g.Nodes, want) {
		t.Errorf("nodes %+v\nwant  %+v", g.Nodes, want)
	}
}

// The approve of defaults applies to gates, and each gate may override it.
func TestApprove(t *testing.T) {
	g, warnings, err := Parse("f.yml", []byte("session: s\ndefaults: {approve: code}\nagents:\n"+
		"  - {name: a, task: x}\n  - {name: b, role: gate}\n  - {name: c, role: gate, approve: any}\n  - {name: d, role: gate, approve: code}\n  - {name: e, role: gate, approve: }\n"), ParseOptions{})
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	for i, want := range []Approval{"", ApproveCode, "", ApproveCode, ApproveCode} {
		if n := &g.Nodes[i]; n.Approve != want || n.AsksCode() != (want == ApproveCode) {
			t.Errorf("%s: approve %q, asks for a code: %v", n.Name, n.Approve, n.AsksCode())
		}
	}
}

// A review is required only where the file says so.
func TestReview(t *testing.T) {
	const rest = "session: s\nagents:\n  - {name: a, task: x}\n"
	for _, c := range []struct {
		text string
		want Reviewing
	}{{"", ""}, {"review: optional\n", ""}, {"review: required\n", ReviewRequired}} {
		if g, _, err := Parse("f.yml", []byte(c.text+rest), ParseOptions{}); err != nil || g.Review != c.want {
			t.Errorf("%q: %q, %v", c.text, g.Review, err)
		}
	}
	for _, bad := range []string{"review: requird\n", "review: true\n", "review: [required]\n"} {
		_, _, err := Parse("f.yml", []byte(bad+rest), ParseOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "f.yml:1:9: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestGood(t *testing.T) {
	for _, path := range files(t, "testdata/good/*.yml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			g, warnings, err := parseFile(t, path)
			if err != nil || len(warnings) > 0 {
				t.Fatalf("warnings %v, error %v", warnings, err)
			}
			golden(t, strings.TrimSuffix(path, ".yml")+".golden", string(Format(g)))
			checkForms(t, g)
		})
	}
}

// failer is a testing.T or a rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// checkForms checks that a graph survives both written forms, without new warnings.
func checkForms(t failer, g *Graph, told ...Warning) {
	t.Helper()
	frozen, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Decode(frozen); err != nil || !reflect.DeepEqual(again, g) {
		t.Fatalf("Decode(Encode): %v\n%+v\nwant\n%+v", err, again, g)
	}
	text := Format(g)
	again, warnings, err := Parse("f.yml", text, ParseOptions{ReadFile: readTask})
	if err != nil {
		t.Fatalf("Parse(Format): %v\n%s", err, text)
	}
	for _, w := range warnings {
		if !slices.ContainsFunc(told, func(was Warning) bool { return was.Message == w.Message }) {
			t.Fatalf("Parse(Format): %v\n%s", w, text)
		}
	}
	want := *g // but for where nodes come from
	want.Nodes = append([]Node(nil), g.Nodes...)
	for i := range want.Nodes {
		want.Nodes[i].Line = again.Nodes[i].Line
		want.Nodes[i].Matrix, want.Nodes[i].File = nil, "" // each is written by itself
	}
	want.Included = nil
	if !reflect.DeepEqual(again, &want) {
		t.Fatalf("Parse(Format):\n%+v\nwant\n%+v\n%s", again, &want, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/fault/*.yml", "testdata/good/*.yml"} {
		for _, path := range files(f, pattern) {
			src, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Add([]byte("session: 0\nagents:\n  - {name: 0, task: 0, when: always}")) // warned of, and so is what Format makes of it
	f.Fuzz(func(t *testing.T, src []byte) {
		g, warnings, err := Parse("f.yml", src, ParseOptions{ReadFile: func(name string) ([]byte, error) {
			if name == "large.md" {
				return nil, fs.ErrNotExist // slow
			}
			return readTask(name)
		}})
		if (g == nil) != (err != nil) {
			t.Fatalf("graph %v, error %v", g, err)
		}
		if err == nil {
			checkForms(t, g, warnings...)
		}
	})
}
