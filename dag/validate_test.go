package dag

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// gitTakes asks git itself about a branch name.
func gitTakes(t testing.TB, name string) bool {
	t.Helper()
	cmd := exec.Command("git", "check-ref-format", "--branch", name)
	cmd.Dir = os.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=" + os.DevNull}
	err := cmd.Run()
	if _, ran := err.(*exec.ExitError); err != nil && !ran {
		t.Skipf("git: %v", err)
	}
	return err == nil
}

func TestBranchRulesAreGits(t *testing.T) {
	for _, name := range []string{
		"a", "feature/auth", "a.b", "a-b", "a_b", "é/ü", "日本", "a@b", "a/@", "@a", "a{b}", "a,b", "a=b", "a;b", "a&b", "$(id)", "`id`", "a'b", `a"b`, "(a)", "|", "<a>", "!a", "#a", "%a", "+a", "head", "a/HEAD", "refs/heads/a", "a.lockx", "lock", ".lock", "x.lock", "x.lock/y", "x/y.lock", "X.LOCK",
		"", "-a", "-", "--", "a/-b", "/", "/a", "a/", "a//b", ".", "..", ".a", "a/.b", "a.", "a./b", "a..b", "a...b", "@{", "a@{b", "@{-1}", "@{u}", "HEAD", "a b", " a", "a ", "a\tb", "a\nb", "a\x01b", "a\x7fb", "a~", "a^", "a:", "a?", "a*", "a[", "a]", `a\b`, "~", "^",
	} {
		if got, want := BadBranch(name) == "", gitTakes(t, name); got != want {
			t.Errorf("branch %q: taken %v (%s), git says %v", name, got, BadBranch(name), want)
		}
	}
}

// git expands @ to HEAD in some places, and so check-ref-format takes it.
func TestBranchAt(t *testing.T) {
	if BadBranch("@") == "" {
		t.Error(`"@" is taken`)
	}
}

func TestBranchRulesAreGitsForAny(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", ".", "..", "/", "-", "@", "{", "}", ".lock", "HEAD", "~", "é", " ", `\`, "[", "*"})
	rapid.Check(t, func(r *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 0, 5).Draw(r, "parts"), "")
		if name == "@" {
			return
		}
		if got, want := BadBranch(name) == "", gitTakes(t, name); got != want {
			r.Fatalf("branch %q: taken %v (%s), git says %v", name, got, BadBranch(name), want)
		}
	})
}

// Without the edges that cycles reports, no cycle is left; each reported path is a cycle.
func TestCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		deps := make([][]int, n)
		for i := range deps {
			deps[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1).Filter(func(j int) bool { return j != i || n == 1 }), 0, min(3, n-1), rapid.ID).Draw(t, "deps")
		}
		type edge struct{ from, to int }
		closing := make(map[edge]bool)
		cycles(deps, func(path []int) {
			for k, from := range path {
				if to := path[(k+1)%len(path)]; !slices.Contains(deps[from], to) {
					t.Fatalf("%v: no edge %d -> %d", path, from, to)
				}
			}
			closing[edge{path[len(path)-1], path[0]}] = true
		})
		acyclic := len(topological(deps, invert(deps))) == n
		if acyclic != (len(closing) == 0) {
			t.Fatalf("acyclic %v, closing edges %v", acyclic, closing)
		}
		left := make([][]int, n)
		for i, ds := range deps {
			for _, d := range ds {
				if !closing[edge{i, d}] {
					left[i] = append(left[i], d)
				}
			}
		}
		if len(topological(left, invert(left))) != n {
			t.Fatalf("%v without %v still has a cycle", deps, closing)
		}
	})
}

func invert(deps [][]int) [][]int {
	out := make([][]int, len(deps))
	for i, ds := range deps {
		for _, d := range ds {
			out[d] = append(out[d], i)
		}
	}
	return out
}

// A file full of mistakes gets an error for each, in one pass.
func TestManyFaults(t *testing.T) {
	const n = 5000
	var b strings.Builder
	b.WriteString("session: s\nagents:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: n%d, task: x, depends_on: [missing%d], tusk: y}\n", i, i)
	}
	_, _, err := Parse("f.yml", []byte(b.String()), ParseOptions{})
	if faults, ok := err.(Faults); !ok || len(faults) != 2*n {
		t.Errorf("%d faults, want %d", len(faults), 2*n)
	}
}

// What git would refuse only when the run starts stands in the file, with its line: the
// session once, and a branch of its own at that branch.
func TestBranchInTheWay(t *testing.T) {
	taken := func(branch string) string {
		if strings.HasPrefix(branch, "main/") {
			return "main"
		}
		return ""
	}
	_, _, err := Parse("x.yml", []byte(`session: main
agents:
  - {name: a, agent: command, task: "true"}
  - {name: b, agent: command, task: "true"}
  - {name: ok, role: gate, depends_on: [a, b]}
  - name: c
    agent: command
    task: "true"
    branch: main/more
  - {name: d, agent: command, task: "true", branch: other}
`), ParseOptions{InTheWay: taken})
	want := `x.yml:1:10: git cannot make the branch main/a while there is a branch main (name another session)
x.yml:9:13: git cannot make the branch main/more while there is a branch main (name another branch)`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}
