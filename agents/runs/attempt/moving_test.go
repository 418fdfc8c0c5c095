package attempt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
)

// An agent, or what it left running, may commit between a check and the moment
// when its branch is read: then another commit is judged than was checked.
func TestJudgedIsWhatWasChecked(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		moves string // what comes in between, in the worktree
		times int    // at most
		want  run.End
		tip   string // the last subject
	}{
		"breaks what was checked": {"echo x > broken", 1, run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "broken"}, "moved"},
		"leaves its scope":        {"echo x > outside", 1, run.End{Outcome: dag.Failed, Reason: dag.ReasonScope, Detail: "outside"}, "moved"},
		"adds good work":          {"echo x > src/more", 1, run.End{Outcome: dag.Done}, "moved"},
		"never stops":             {"echo $n > src/more", 1000, run.End{Outcome: dag.Failed, Reason: dag.ReasonChecks, Detail: "kept changing"}, "moved"},
	} {
		t.Run(name, func(t *testing.T) {
			f := inTree(t, dag.Node{
				Agent: scripted.Name, Task: "echo x > src/in; git add src; git commit -q -m in; while read -r line; do echo \"told: $line\"; done; sleep 1000",
				Scope: []string{"src/", "broken"}, Verify: []string{"if test -e broken; then echo broken; exit 1; fi"}, VerifyAttempts: 1,
			})
			f.job.Kinds = agent.NewKinds(scripted.Kind(true))
			// Stands in for git, and moves the branch whenever it is read once armed.
			bin, armed := t.TempDir(), filepath.Join(t.TempDir(), "armed")
			script := fmt.Sprintf(`#!/bin/sh
case $* in *"--end-of-options refs/heads/shop/a^{commit}")
	n=$(cat '%[1]s' 2>/dev/null) && [ "$n" -gt 0 ] && {
		echo $((n - 1)) > '%[1]s'
		cd '%[2]s' && %[3]s && '%[4]s' add -A && '%[4]s' commit -q -m moved >/dev/null
	} ;;
esac
exec '%[4]s' "$@"
`, armed, f.job.Spec.Place.Dir, c.moves, real)
			if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			wait := f.start(t.Context())
			eventually(t, "it has committed", func() bool {
				out, err := exec.Command(real, "-C", f.root, "log", "-1", "--format=%s", "shop/a").Output()
				return err == nil && strings.TrimSpace(string(out)) == "in"
			})
			write(t, armed, fmt.Sprint(c.times))
			f.done("ok")
			end, err := wait()
			if err != nil || end.Outcome != c.want.Outcome || end.Reason != c.want.Reason || !strings.Contains(end.Detail, c.want.Detail) {
				t.Errorf("%+v, %v\n%s", end, err, f.log())
			}
			if b, err := os.ReadFile(armed); err != nil || strings.TrimSpace(string(b)) == fmt.Sprint(c.times) {
				t.Errorf("nothing moved: %q, %v", b, err)
			}
			if got := git(t, f.root, "log", "-1", "--format=%s", "shop/a"); got != c.tip || end.Outcome == dag.Done && end.Tip != git(t, f.root, "rev-parse", "shop/a") {
				t.Errorf("the tip is %q, recorded %s", got, end.Tip)
			}
		})
	}
}

// git reads its settings while it pushes: no program of the agent's is there to
// change them in between.
func TestAgentIsGoneBeforeAPush(t *testing.T) {
	f := inTree(t, dag.Node{
		Agent: scripted.Name, Task: "echo $$ > ../pid; (exec setsid sleep 1001) & echo $! > ../left; echo x > src/in; git add src; git commit -q -m in; sleep 1000",
		OnComplete: []string{"push"},
	})
	f.job.Kinds = agent.NewKinds(scripted.Kind(true))
	remote := filepath.Join(t.TempDir(), "remote.git")
	git(t, f.root, "init", "-q", "--bare", remote)
	git(t, f.root, "remote", "add", "origin", remote)
	write(t, filepath.Join(f.root, ".git", "hooks", "pre-push"), "#!/bin/sh\nfor f in pid left; do ! kill -0 $(cat \"$(git rev-parse --git-common-dir)/../../$f\") || { echo $f is there; exit 1; }; done\n")
	if err := os.Chmod(filepath.Join(f.root, ".git", "hooks", "pre-push"), 0o755); err != nil {
		t.Fatal(err)
	}
	wait := f.start(t.Context())
	eventually(t, "it has committed", func() bool { return git(t, f.root, "log", "-1", "--format=%s", "shop/a") == "in" })
	f.done("ok")
	if end, err := wait(); err != nil || end.Outcome != dag.Done || git(t, remote, "rev-parse", "shop/a") != end.Tip {
		t.Errorf("%+v, %v\n%s", end, err, f.log())
	}
}
