package attempt_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
)

// inTree is a fixture whose node has a branch and a worktree of a real
// repository.
func inTree(t *testing.T, node dag.Node) *fixture {
	t.Helper()
	// worktree reads the process's own environment for git.
	for _, e := range cleanEnv(t)[1:] {
		k, v, _ := strings.Cut(e, "=")
		t.Setenv(k, v)
	}
	root := filepath.Join(t.TempDir(), "shop é")
	if err := os.MkdirAll(filepath.Join(root, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "src", "a.txt"), "one\n")
	write(t, filepath.Join(root, ".gitignore"), ".cmux\nignored\n")
	git(t, root, "init", "-q", "-b", "main")
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "-m", "start")
	if node.Role == "" {
		node.Role = dag.RoleBuild
	}
	f := fixtureIn(t, root, node)
	repo, err := worktree.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	start := git(t, root, "rev-parse", "HEAD")
	lent, err := repo.Lend(t.Context(), worktree.LendSpec{
		Path: filepath.Join(filepath.Dir(root), "tree"), Branch: "shop/a", Start: start, Owner: "s/r/a",
	})
	if err != nil {
		t.Fatal(err)
	}
	f.job.Repo = repo
	f.job.Spec.Place = run.Place{Dir: lent.Path, Tree: lent.Path, Branch: lent.Branch, Commit: start}
	f.plan(func(p *run.Plan) { p.Graph, p.Base = &dag.Graph{}, start })
	return f
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCommandInATree(t *testing.T) {
	const commit = "git add -A && git commit -q -m work"
	for _, c := range []struct {
		name    string
		node    dag.Node
		graph   dag.Graph
		reason  dag.Reason
		failed  bool
		detail  string
		commits int
		saved   bool // a snapshot was made
		log     string
		dirty   bool     // something is left that is not the node's
		not     []string // paths that are in no commit
	}{
		{name: "committed", node: dag.Node{Task: "echo x > new; " + commit}, commits: 1},
		{name: "left uncommitted", node: dag.Node{Task: "echo x > new; echo two >> src/a.txt"}, commits: 1, log: "committed what was left"},
		{name: "nothing to do", node: dag.Node{Task: "true"}},
		{name: "in scope", node: dag.Node{Task: "echo x > src/b", Scope: []string{"src/"}}, commits: 1},
		{name: "out of scope", node: dag.Node{Task: "echo x > src/b; echo y > other; " + commit, Scope: []string{"src/"}},
			failed: true, reason: dag.ReasonScope, detail: "other", commits: 1},
		{name: "in a folder with brackets", node: dag.Node{Task: "echo x > 'app/[id]/b'", Scope: []string{"app/[id]/**"}},
			graph: dag.Graph{Setup: []string{"mkdir -p 'app/[id]'"}}, commits: 1},
		{name: "in what its brackets match", node: dag.Node{Task: "mkdir app/i; echo x > app/i/b", Scope: []string{"app/[id]/"}},
			graph: dag.Graph{Setup: []string{"mkdir -p 'app/[id]'"}}, failed: true, reason: dag.ReasonScope, detail: "app/i/b", saved: true},
		{name: "out of scope, uncommitted", node: dag.Node{Task: "echo y > other", Scope: []string{"src/"}},
			failed: true, reason: dag.ReasonScope, detail: "other", saved: true},
		{name: "context is read-only", node: dag.Node{Task: "echo y > src/b", Context: []string{"src/"}},
			failed: true, reason: dag.ReasonScope, detail: "src/b", saved: true},
		{name: "failed with work", node: dag.Node{Task: "echo y > other; exit 4"}, failed: true, saved: true},
		{name: "failed to be retried", node: dag.Node{Task: "echo y > other; exit 4", Retries: dag.Retries{Max: 1}}, failed: true},
		{name: "checks see the work", node: dag.Node{Task: "echo y > other", Verify: []string{"test -e other"}}, commits: 1},
		{name: "checks fail", node: dag.Node{Task: "echo y > other", Verify: []string{"test ! -e other"}},
			failed: true, reason: dag.ReasonChecks, detail: "test ! -e other", saved: true},
		{name: "setup", node: dag.Node{Task: "cat ignored"}, graph: dag.Graph{Setup: []string{"echo ready > ignored; echo setting up"}}, log: "ready"},
		{name: "setup fails", node: dag.Node{Task: "true"}, graph: dag.Graph{Setup: []string{"echo no luck; sleep 1000 & exit 3"}},
			failed: true, reason: dag.ReasonSetup, log: "no luck"},
		{name: "what setup made and changed is not the node's", node: dag.Node{Task: "echo x > src/b", Scope: []string{"src/b"}},
			graph: dag.Graph{Setup: []string{"echo made > made; echo two >> src/a.txt; rm .gitignore; git init -q inside"}}, commits: 1, dirty: true, not: []string{"made", "inside"}},
		{name: "what setup made counts when it is changed", node: dag.Node{Task: "echo x > src/b; echo more >> made", Scope: []string{"src/"}},
			graph: dag.Graph{Setup: []string{"echo made > made"}}, failed: true, reason: dag.ReasonScope, detail: "made", saved: true},
		{name: "what setup changed is committed when it is changed", node: dag.Node{Task: "echo three >> src/a.txt; touch made"},
			graph: dag.Graph{Setup: []string{"echo made > made; echo two >> src/a.txt"}}, commits: 1, dirty: true, not: []string{"made"}},
		{name: "what is only staged is not committed", node: dag.Node{Task: "echo x > src/b; git add -A"},
			graph: dag.Graph{Copy: []string{"secret.local"}, Setup: []string{"echo made > made"}}, commits: 1, dirty: true, not: []string{"made", "secret.local"}},
		{name: "what was copied does not belong into a commit", node: dag.Node{Task: "echo x > src/b; " + commit},
			graph: dag.Graph{Copy: []string{"secret.local"}}, failed: true, reason: dag.ReasonScope, detail: "copy or link put into the worktree: secret.local", commits: 1},
		{name: "a check deletes everything", node: dag.Node{Task: "echo x > new; " + commit, Verify: []string{"rm -rf ./* ./.g*"}},
			failed: true, reason: dag.ReasonChecks, detail: "deleted or emptied .gitignore, new, src/a.txt", commits: 1, saved: true},
		{name: "a check empties files", node: dag.Node{Task: "echo x > new", Verify: []string{": > src/a.txt; : > new"}},
			failed: true, reason: dag.ReasonChecks, detail: "deleted or emptied new, src/a.txt", saved: true},
		{name: "a check removes the worktree", node: dag.Node{Task: "echo x > new; " + commit, Verify: []string{`rm -rf "$PWD"`}},
			failed: true, reason: dag.ReasonChecks, detail: "is gone", commits: 1},
		{name: "a check commits", node: dag.Node{Task: "echo x > new", Verify: []string{commit}},
			failed: true, reason: dag.ReasonChecks, detail: "moved HEAD from", commits: 1},
		{name: "a check switches the branch", node: dag.Node{Task: "echo x > new; " + commit, Verify: []string{"git checkout -q --detach"}},
			failed: true, reason: dag.ReasonChecks, detail: "moved the branch from shop/a", commits: 1},
		{name: "a check formats", node: dag.Node{Task: "echo x > new", Verify: []string{"grep -q formatted new || echo formatted >> new"}}, commits: 1, log: "run once more"},
		{name: "a check never leaves a file alone", node: dag.Node{Task: "echo x > new", Verify: []string{"date +%N >> new"}},
			failed: true, reason: dag.ReasonChecks, detail: "changed new", saved: true},
		{name: "a check leaves artifacts", node: dag.Node{Task: "echo x > src/b", Scope: []string{"src/"}, Verify: []string{"date +%N > report", "date +%N > report; mkdir -p out; echo y > out/y"}},
			commits: 1, dirty: true, not: []string{"report", "out/y"}, log: "made by the check"},
		{name: "a repository inside", node: dag.Node{Task: "git init -q lib/vendored; echo x > lib/vendored/x; echo y > src/y"},
			failed: true, reason: dag.ReasonScope, detail: "repository inside the worktree, whose content git cannot commit: lib/vendored", saved: false},
		{name: "a repository inside is a reference", node: dag.Node{Task: "git init -q sub; git -C sub commit -q --allow-empty -m x; " + commit},
			failed: true, reason: dag.ReasonScope, detail: "sub", commits: 1},
		{name: "another branch", node: dag.Node{Task: "git checkout -q -b elsewhere; echo x > new; " + commit},
			failed: true, reason: dag.ReasonChecks, detail: "elsewhere"},
		{name: "push without a remote", node: dag.Node{Task: "echo x > new; " + commit, OnComplete: []string{"push"}},
			failed: true, reason: dag.ReasonOnComplete, commits: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := inTree(t, c.node)
			write(t, filepath.Join(f.root, "secret.local"), "secret\n")
			f.plan(func(p *run.Plan) { p.Graph = &c.graph })
			end := f.run()
			want := dag.Done
			if c.failed {
				want = dag.Failed
			}
			if end.Outcome != want || end.Reason != c.reason || !strings.Contains(end.Detail, c.detail) {
				t.Errorf("end %+v", end)
			}
			if end.Commits != c.commits || (end.Commits > 0) != (end.DiffStat != "") {
				t.Errorf("%d commits (%s), want %d", end.Commits, end.DiffStat, c.commits)
			}
			if tip := git(t, f.root, "rev-parse", "shop/a"); end.Tip != tip {
				t.Errorf("tip %q, want %q", end.Tip, tip)
			}
			if (end.Snapshot != "") != c.saved {
				t.Errorf("snapshot %q, want one: %v", end.Snapshot, c.saved)
			}
			if !c.failed && (git(t, f.job.Spec.Place.Dir, "status", "--porcelain") != "") != c.dirty {
				t.Errorf("after done: %s", git(t, f.job.Spec.Place.Dir, "status", "--porcelain"))
			}
			if len(c.not) > 0 {
				if got := git(t, f.root, append([]string{"log", "--oneline", "shop/a", "--"}, c.not...)...); got != "" {
					t.Errorf("committed: %s", got)
				}
			}
			if !strings.Contains(f.log(), c.log) {
				t.Errorf("log:\n%s\nwant %q in it", f.log(), c.log)
			}
			f.leaveNothing()
		})
	}
}

func TestPushIsRepeatable(t *testing.T) {
	for _, mode := range []dag.FenceMode{dag.FenceOff, dag.FenceAuto} {
		t.Run(string(mode), func(t *testing.T) {
			f := inTree(t, dag.Node{Task: "[ -e new ] || { echo x > new; }", OnComplete: []string{"push"}, Fence: dag.Fence{Mode: mode}})
			remote := filepath.Join(t.TempDir(), "remote.git")
			git(t, f.root, "init", "-q", "--bare", remote)
			git(t, f.root, "remote", "add", "origin", remote)
			for range 2 {
				end := f.run()
				if end.Outcome != dag.Done {
					t.Fatalf("end %+v\n%s", end, f.log())
				}
				if got := git(t, remote, "rev-parse", "shop/a"); got != end.Tip {
					t.Errorf("remote has %s, want %s", got, end.Tip)
				}
				if got := git(t, f.root, "rev-parse", "shop/a@{upstream}", "origin/shop/a"); got != end.Tip+"\n"+end.Tip {
					t.Errorf("its upstream is at %s, want %s", got, end.Tip)
				}
				f.job.Spec.Attempt++
			}
		})
	}
}

// gh is stood in for by a script that keeps what it was told.
func TestPullRequest(t *testing.T) {
	f := inTree(t, dag.Node{Task: "echo x > new", OnComplete: []string{"pr"}})
	remote := filepath.Join(t.TempDir(), "remote.git")
	git(t, f.root, "init", "-q", "--bare", remote)
	git(t, f.root, "remote", "add", "origin", remote)
	bin := t.TempDir()
	write(t, filepath.Join(bin, "gh"), `#!/bin/sh
printf '%s\n' "$*" >> "$GH_LOG"
case "$1 $2" in
"pr list") cat "$GH_LOG.open" 2>/dev/null || true ;;
"pr create") cat >> "$GH_LOG"; echo https://example.org/1 | tee "$GH_LOG.open" ;;
esac
`)
	if err := os.Chmod(filepath.Join(bin, "gh"), 0o755); err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "gh.log")
	for i, e := range f.job.Env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			f.job.Env[i] = "PATH=" + bin + ":" + path
		}
	}
	f.job.Env = append(f.job.Env, "GH_LOG="+calls)
	f.plan(func(p *run.Plan) { p.BaseBranch = "main" })
	for range 2 {
		if end := f.run(); end.Outcome != dag.Done {
			t.Fatalf("end %+v\n%s", end, f.log())
		}
		f.job.Spec.Attempt++
	}
	b, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "pr create --head shop/a --title a --body-file - --base main"); n != 1 {
		t.Errorf("%d pull requests made:\n%s", n, b)
	}
}

func TestPullRequestWithoutGh(t *testing.T) {
	f := inTree(t, dag.Node{Task: "echo x > new", OnComplete: []string{"pr"}})
	remote := filepath.Join(t.TempDir(), "remote.git")
	git(t, f.root, "init", "-q", "--bare", remote)
	git(t, f.root, "remote", "add", "origin", remote)
	bin := t.TempDir()
	for _, program := range []string{"git", "sh"} {
		path, err := agent.LookPath(program, f.job.Env)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, program))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f.job.Env = append(f.job.Env, "PATH="+bin)
	end := f.run()
	if end.Outcome != dag.Failed || end.Reason != dag.ReasonOnComplete || !strings.Contains(end.Detail, "gh is not in the PATH") {
		t.Errorf("end %+v\n%s", end, f.log())
	}
	if git(t, remote, "branch", "--list", "shop/a") == "" {
		t.Error("the branch was not pushed")
	}
}

// Work that a commit cannot take in, as that inside a submodule, is a fault and
// not committed again and again.
func TestWorkThatNoCommitTakesIn(t *testing.T) {
	f := inTree(t, dag.Node{Task: "git init -q sub; git -C sub commit -q --allow-empty -m x; printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n' > .gitmodules; git add sub .gitmodules; git commit -q -m sub; echo x > sub/x; echo y > src/y"})
	end := f.run()
	if end.Outcome != dag.Failed || end.Reason != dag.ReasonChecks || !strings.Contains(end.Detail, "sub") || end.Commits != 2 {
		t.Errorf("end %+v\n%s", end, f.log())
	}
}

func TestMergeRole(t *testing.T) {
	for _, c := range []struct {
		name   string
		node   dag.Node
		reason dag.Reason
		failed bool
		detail []string
		has    []string
	}{
		{"all", dag.Node{Verify: []string{"test -e b"}}, "", false, nil, []string{"b", "c"}},
		{"with a task", dag.Node{Task: "ls > listing"}, "", false, nil, []string{"b", "c", "listing"}},
		{"breaks", dag.Node{Verify: []string{"test ! -e c"}}, dag.ReasonChecks, true, []string{"shop/c"}, []string{"b"}},
		{"conflict", dag.Node{Env: map[string]string{"conflict": "1"}}, dag.ReasonConflict, true, []string{"src/a.txt", "shop/c"}, []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.node.Role = dag.RoleMerge
			f := inTree(t, c.node)
			for _, b := range []string{"b", "c"} {
				git(t, f.root, "checkout", "-q", "-b", "shop/"+b, "main")
				write(t, filepath.Join(f.root, b), b+"\n")
				if c.name == "conflict" {
					write(t, filepath.Join(f.root, "src", "a.txt"), b+"\n")
				}
				git(t, f.root, "add", "-A")
				git(t, f.root, "commit", "-q", "-m", b)
				f.job.Spec.Branches = append(f.job.Spec.Branches, run.Dependency{Name: b, Branch: "shop/" + b, Tip: git(t, f.root, "rev-parse", "HEAD")})
			}
			end := f.run()
			if (end.Outcome == dag.Failed) != c.failed || end.Reason != c.reason {
				t.Errorf("end %+v\n%s", end, f.log())
			}
			for _, d := range c.detail {
				if !strings.Contains(end.Detail, d) {
					t.Errorf("%q does not name %s", end.Detail, d)
				}
			}
			for _, name := range c.has {
				if _, err := os.Stat(filepath.Join(f.job.Spec.Place.Dir, name)); err != nil {
					t.Error(err)
				}
			}
			if status := git(t, f.job.Spec.Place.Dir, "status", "--porcelain"); status != "" {
				t.Errorf("something half-merged is left:\n%s", status)
			}
		})
	}
}

// A merge whose checks are broken off is taken back.
func TestCancelWhileMerging(t *testing.T) {
	f := inTree(t, dag.Node{Role: dag.RoleMerge, Verify: []string{"echo checking now; sleep 1000"}})
	git(t, f.root, "checkout", "-q", "-b", "shop/b")
	write(t, filepath.Join(f.root, "b"), "b\n")
	git(t, f.root, "add", "-A")
	git(t, f.root, "commit", "-q", "-m", "b")
	f.job.Spec.Branches = []run.Dependency{{Name: "b", Branch: "shop/b", Tip: git(t, f.root, "rev-parse", "HEAD")}}
	wait := f.start(t.Context())
	eventually(t, "the check runs", func() bool { return strings.Contains(f.log(), "\nchecking now\n") })
	f.say(attempt.Message{Op: attempt.OpCancel})
	end, err := wait()
	if err != nil || end.Outcome != dag.Cancelled || end.Tip != f.job.Spec.Place.Commit {
		t.Errorf("%+v, %v", end, err)
	}
	f.leaveNothing()
}

// A quiet program that changes files is not idle: it writes until long after the
// idle timeout, which only the file changes put off.
func TestFileChangesAreLife(t *testing.T) {
	f := inTree(t, dag.Node{
		Task:        "while [ ! -e stop ]; do echo >> ignored; sleep 0.02; done; rm stop",
		IdleTimeout: dag.Duration(2 * time.Second),
	})
	began := time.Now()
	wait := f.start(t.Context())
	eventually(t, "twice the idle timeout is over", func() bool { return time.Since(began) > 4*time.Second })
	write(t, filepath.Join(f.job.Spec.Place.Dir, "stop"), "")
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("end %+v, %v", end, err)
	}
}
