package attempt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/testkit/agenttest/testall"
	"cmux/dag"
	"cmux/worktree"
	"cmux/worktree/merge"
)

// reaching are commands by which a program in a worktree reaches what others
// have too, and by which word each is found out. What git did for the node fails
// it. Without a trace, a person may have done the same meanwhile: it is told, and
// fails nobody, as what is written by hand.
var reaching = []struct {
	name, script, found string
	hand                bool
}{
	{"config", `git config user.name Mallory`, "setting user.name: none -> Mallory", false},
	{"config --add", `git config --add core.editor 'evil editor'`, "core.editor: none -> evil editor", false},
	{"config --unset", `git config --unset core.logallrefupdates`, "core.logallrefupdates: true -> none", false},
	{"config --local", `git config --local core.fsmonitor ./evil`, "core.fsmonitor: none -> ./evil", false},
	{"config -f", `git config -f "$(git rev-parse --git-common-dir)/config" core.pager evil`, "core.pager", false},
	{"config by editor", `GIT_EDITOR='printf "[alias]\nst = !evil\n" >>' git config --edit`, "alias.st: none -> !evil", false},
	{"config by hand", `printf '[core]\n\thooksPath = /tmp/evil\n' >> "$(git rev-parse --git-common-dir)/config"`, "core.hookspath: none -> /tmp/evil", true},
	{"config include", `git config include.path ../evil.inc`, "include.path", false},
	{"config included", `git config includeIf.gitdir:/.path /tmp/evil.inc`, "/tmp/evil.inc", false},
	{"config of the worktree", `git config extensions.worktreeConfig true; git config --worktree core.hooksPath /tmp/evil`, "/tmp/evil", false},
	{"config section", `git config --rename-section core kore || true; git config core.bare false`, "kore", false},
	{"config broken", `echo '[broken' >> "$(git rev-parse --git-common-dir)/config"`, ".git/config: readable -> fatal: bad config line", true},
	{"alias", `git config alias.status '!evil'`, "alias.status", false},
	{"pager with escapes", `git config core.pager "$(printf 'a\033]52;c;evil\007')"`, `core.pager: none -> "a\x1b]52;c;evil\a"`, false},
	{"remote add", `git remote add evil https://evil.example/x`, "remote.evil.url: none -> https://evil.example/x", false},
	{"remote set-url", `git remote set-url origin https://evil.example/x`, "https://evil.example/x", false},
	{"remote set-url --push", `git remote set-url --push origin https://evil.example/x`, "remote.origin.pushurl: none -> https://evil.example/x", false},
	{"pushurl", `git config remote.origin.pushurl https://me:secret@evil.example/x`, "remote.origin.pushurl: none -> https://me:hidden@evil.example/x", false},
	{"remote remove", `git remote remove origin`, "remote.origin.url", false},
	{"remote rename", `git remote rename origin upstream`, "remote.upstream.url", false},
	{"insteadOf", `git config url.https://evil.example/.insteadOf https://`, "insteadof: none -> https://", false},
	{"sshCommand", `git config core.sshCommand evil`, "core.sshcommand: none -> evil", false},
	{"credential helper", `git config credential.helper '!evil'`, "credential.helper: none -> !evil", false},
	{"filter", `git config filter.evil.clean 'touch /tmp/never'; echo '* filter=evil' > .gitattributes`, "filter.evil.clean", false},
	{"merge driver", `git config merge.evil.driver evil`, "merge.evil.driver", false},
	{"textconv", `git config diff.evil.textconv evil`, "diff.evil.textconv", false},
	{"gpg program", `git config gpg.program evil`, "gpg.program", false},
	{"push remote of another's branch", `git config branch.main.pushRemote https://evil.example/x`, "branch.main.pushremote", false},
	{"hook", `h="$(git rev-parse --git-common-dir)/hooks"; mkdir -p "$h"; printf '#!/bin/sh\n' > "$h/pre-commit"; chmod +x "$h/pre-commit"`, `.git/hooks/pre-commit: none -> "#!/bin/sh", executable`, true},
	{"hook as a link", `h="$(git rev-parse --git-common-dir)/hooks"; mkdir -p "$h"; ln -s /bin/true "$h/post-merge"`, ".git/hooks/post-merge: none -> link to /bin/true", true},
	{"hook removed", `rm "$(git rev-parse --git-common-dir)/hooks/pre-push"`, ".git/hooks/pre-push", true},
	{"hook changed", `echo evil >> "$(git rev-parse --git-common-dir)/hooks/pre-push"`, ".git/hooks/pre-push", true},
	{"hook not executable", `chmod -x "$(git rev-parse --git-common-dir)/hooks/pre-push"`, ".git/hooks/pre-push", true},
	{"hook as a pipe", `mkfifo "$(git rev-parse --git-common-dir)/hooks/post-commit"`, ".git/hooks/post-commit", true},
	{"exclude", `echo '*.secret' >> "$(git rev-parse --git-common-dir)/info/exclude"`, ".git/info/exclude", true},
	{"attributes", `echo '* -diff' > "$(git rev-parse --git-common-dir)/info/attributes"`, `.git/info/attributes: none -> "* -diff"`, true},
	{"grafts", `git rev-parse HEAD > "$(git rev-parse --git-common-dir)/info/grafts"`, ".git/info/grafts", true},
	{"alternates", `echo /tmp/evil > "$(git rev-parse --git-common-dir)/objects/info/alternates"`, ".git/objects/info/alternates", true},
	{"old remotes file", `d="$(git rev-parse --git-common-dir)/remotes"; mkdir -p "$d"; echo 'URL: https://evil' > "$d/origin"`, ".git/remotes/origin", true},
	{"replace", `git replace HEAD "$(git commit-tree -m x HEAD^{tree})"`, "refs/replace/", false},
	{"replace by update-ref", `git update-ref refs/replace/$(git rev-parse main) "$(git commit-tree -m x HEAD^{tree})"`, "refs/replace/", false},
	{"another's branch forced", `git branch -f other "$(git commit-tree -m x HEAD^{tree})"`, "branch other: ", false},
	{"another's branch deleted", `git branch -D other`, "branch other: ", false},
	{"another's branch by hand", `git commit-tree -m x HEAD^{tree} > "$(git rev-parse --git-common-dir)/refs/heads/other"`, "branch other: ", true},
	{"a snapshot deleted", `git update-ref -d refs/cmux/snapshots/x/1`, "refs/cmux/snapshots/x/1", false},
	{"base amended", `git commit --amend -q -m other`, "no longer holds the commit", false},
	{"base reset", `git checkout -q --orphan new; git commit -q -m new; git branch -f shop/a; git checkout -q shop/a`, "no longer holds the commit", false},
	{"its branch an alias of another", `git symbolic-ref refs/heads/shop/a refs/heads/other`, "its branch shop/a is another name for refs/heads/other", false},
	{"its branch an alias of the person's", `echo "ref: refs/heads/main" > "$(git rev-parse --git-common-dir)/refs/heads/shop/a"; echo x > b`, "its branch shop/a is another name for refs/heads/main", false},
	{"another's branch an alias", `git symbolic-ref refs/heads/other refs/heads/main`, "branch other: ", false},
	{"main moved", `git update-ref refs/heads/main "$(git commit-tree -m x -p main HEAD^{tree})"`, "branch main: ", false},
	{"branch by a push", `git push -q . "$(git commit-tree -m x -p main HEAD^{tree}):refs/heads/free"`, "branch free: ", false},
	{"branch by a fetch", `git update-ref refs/worktree/x "$(git commit-tree -m x -p main HEAD^{tree})"; git fetch -q . refs/worktree/x:refs/heads/free`, "branch free: ", false},
	{"commit at the root", `root="$(dirname "$(git rev-parse --git-common-dir)")"; git -C "$root" commit -q --allow-empty -m evil`, "branch main: ", false},
	{"branch deleted", `git branch -D free`, "branch free: ", false},
	{"branch renamed", `git branch -m free gone`, "branch free: ", false},
	{"branch added", `git branch evil`, "branch evil: ", false},
	{"switch at the root", `root="$(dirname "$(git rev-parse --git-common-dir)")"; git -C "$root" checkout -q free`, "HEAD of the main worktree: ", false},
	{"tag", `git tag v1`, "tag v1: none -> ", false},
	{"tag -a", `git tag -a -m x v2`, "tag v2: none -> ", false},
	{"tag moved", `git tag -f v0 "$(git commit-tree -m x HEAD^{tree})"`, "tag v0: ", false},
	{"tag deleted", `git tag -d v0`, "tag v0: ", false},
	{"tags removed as files", `rm -r "$(git rev-parse --git-common-dir)/refs/tags"; mkdir "$(git rev-parse --git-common-dir)/refs/tags"`, "tag v0: ", true},
	{"stash", `echo x >> src/a.txt; git stash -q`, "refs/stash: none -> ", false},
	{"notes", `git notes add -m evil main`, "refs/notes/commits: none -> ", false},
	{"a ref of its own making", `git update-ref refs/evil/x HEAD`, "refs/evil/x: none -> ", false},
	{"remote branch", `git update-ref refs/remotes/origin/main HEAD`, "remote branch origin/main: ", false},
}

// sharing is inTree with what the commands above reach: a remote, a hook, a tag
// and branches.
func sharing(t *testing.T, node dag.Node) *fixture {
	f := inTree(t, node)
	git(t, f.root, "remote", "add", "origin", filepath.Join(f.root, "..", "origin.git"))
	git(t, f.root, "tag", "v0")
	git(t, f.root, "branch", "other")
	git(t, f.root, "branch", "free")
	git(t, f.root, "update-ref", "refs/cmux/snapshots/x/1", "HEAD")
	hook := filepath.Join(f.root, ".git", "hooks", "pre-push")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.plan(func(p *run.Plan) {
		p.Graph = &dag.Graph{Nodes: []dag.Node{*f.job.Spec.Def, {Name: "other", Branch: "other", Role: dag.RoleBuild}}}
	})
	f.created()
	return f
}

func TestWhatReachesOthersIsFoundOut(t *testing.T) {
	ways := []struct {
		name   string
		wrap   func(script string) string
		traced bool
	}{
		{"plain", func(s string) string { return s }, true},
		{"hidden", func(s string) string {
			s = strings.ReplaceAll(s, "git ", "$(echo git) ")
			return "cat > ../script <<'SCRIPT'\n" + s + "\nSCRIPT\nsh ../script"
		}, true},
		{"untraced", func(s string) string { return "unset GIT_TRACE2_EVENT\n" + s }, false},
	}
	for _, c := range reaching {
		for _, w := range ways {
			t.Run(c.name+"/"+w.name, func(t *testing.T) {
				if w.name != "plain" {
					testall.Only(t)
				}
				f := sharing(t, dag.Node{Task: w.wrap(c.script)})
				end := f.run()
				always := strings.HasPrefix(c.found, "no longer holds") || strings.HasPrefix(c.found, "its branch ")
				own := strings.HasPrefix(c.found, "branch evil") || strings.HasPrefix(c.found, "remote branch") // takes nothing from anybody
				switch {
				case always || w.traced && !c.hand && !own:
					if end.Outcome != dag.Failed || end.Reason != dag.ReasonScope || !strings.Contains(end.Detail, c.found) {
						t.Errorf("end %+v\nnotes %s\nlog %s", end, f.notes(), f.log())
					}
				case c.name == "config broken": // git itself ends
					if end.Outcome != dag.Failed || !strings.Contains(f.notes(), c.found) {
						t.Errorf("end %+v\nnotes %s", end, f.notes())
					}
				case end.Outcome != dag.Done || !strings.Contains(f.notes(), c.found):
					t.Errorf("end %+v\nnotes %s", end, f.notes())
				}
				if strings.ContainsRune(end.Detail+f.notes(), '\x1b') {
					t.Errorf("what is told moves a terminal: %q", end.Detail)
				}
			})
		}
	}
}

// created gives the fixture a run with records.
func (f *fixture) created() {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	if f.r, err = run.Create(f.r.Plan, nil, nil, self); err != nil {
		f.t.Fatal(err)
	}
	f.job.Paths, f.job.Home = f.r.Paths, f.r
	if err := os.MkdirAll(f.r.NodeDir("a"), 0o755); err != nil {
		f.t.Fatal(err)
	}
}

// A node is failed by nothing but its own trace.
func TestOthersChangesFailNobody(t *testing.T) {
	f := sharing(t, dag.Node{Task: "git config core.editor evil; git tag v1; unset GIT_TRACE2_EVENT; git config core.pager evil; git branch -f other HEAD"})
	end := f.run()
	if end.Reason != dag.ReasonScope || !strings.Contains(end.Detail, "core.editor") || !strings.Contains(end.Detail, "tag v1") ||
		strings.Contains(end.Detail, "core.pager") {
		t.Errorf("end %+v", end)
	}
	if n := f.notes(); !strings.Contains(n, "core.pager: none -> evil") || strings.Contains(n, "tag v1") {
		t.Errorf("notes %s", n)
	}
}

// A person goes on working in the repository while the node looks at what is
// there: the node is done, and the person is told once of what can harm.
func TestThePersonGoesOnWorking(t *testing.T) {
	looks := []string{
		"git remote -v; git config --list; git config --get remote.up.url; git config alias.st; git config get alias.st",
		"git branch --all; git branch -vv; git branch --list mine; git tag -l 'v*'; git tag; git stash list; git worktree list; git notes list",
		"git log --all --oneline; git fetch -q --all; git checkout -q main -- src; git symbolic-ref HEAD; git -C ../'shop é' symbolic-ref HEAD",
	}
	for _, person := range []string{
		"git remote add up /srv/none", "git config alias.st status", "git config user.name Me",
		"echo scratch/ >> .git/info/exclude", "printf '#!/bin/sh\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
		"git tag v1", "git tag -d v0", "git branch mine", "git branch -D free", "git commit -q --allow-empty -m x", "git switch -q -c mine",
		"echo x >> src/a.txt; git stash -q", "git notes add -m x", "git fetch -q . main:refs/remotes/up/main",
		"git config core.hooksPath .githooks", "git lfs install --local || git config filter.lfs.clean 'git-lfs clean -- %f'",
		"git worktree add -q ../mine -b mine; git -C ../mine commit -q --allow-empty -m x",
	} {
		t.Run(person, func(t *testing.T) {
			task := "(cd ../'shop é' && env -u GIT_TRACE2_EVENT sh -c " + quote(person) + ")\n" + strings.Join(looks, "\n") + "\ntrue"
			f := sharing(t, dag.Node{Task: task})
			if end := f.run(); end.Outcome != dag.Done {
				t.Errorf("end %+v\nnotes %s\nlog %s", end, f.notes(), f.log())
			}
			if n := strings.Count(f.notes(), "none of this run's git commands"); n == 0 && !strings.Contains(person, "worktree add") && !strings.Contains(person, "refs/remotes") {
				t.Errorf("nobody is told: %s", f.notes())
			}
		})
	}
}

// What an agent program adds to info/exclude by itself is no news.
func TestProgramsExcludesAreNoNews(t *testing.T) {
	for line, news := range map[string]bool{"": false, "*.secret": true} {
		f := sharing(t, dag.Node{Task: "printf '%s\\n' '# claude-code-runtime' '**/.claude/worktrees/' " + quote(line) + " >> ../'shop é'/.git/info/exclude"})
		if end := f.run(); end.Outcome != dag.Done {
			t.Errorf("end %+v", end)
		}
		if n := f.notes(); strings.Contains(n, "info/exclude") != news {
			t.Errorf("with %q: notes %s", line, n)
		}
	}
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// What cmux makes and what other agents do on their branches is no news, and no
// undo is offered for it.
func TestWhatCmuxDoesIsNoNews(t *testing.T) {
	f := sharing(t, dag.Node{Task: "touch ../on; while ! test -e ../go; do sleep 0.1; done"})
	repo, err := worktree.Open(t.Context(), f.root)
	if err != nil {
		t.Fatal(err)
	}
	wait := f.start(t.Context())
	dir := filepath.Dir(f.job.Spec.Place.Tree)
	eventually(t, "the task runs", func() bool { return exists(filepath.Join(dir, "on")) })
	tree := filepath.Join(dir, "t2")
	head := git(t, f.root, "rev-parse", "main")
	if _, err := repo.Lend(t.Context(), worktree.LendSpec{Path: tree, Branch: "task/t1", Start: head, Owner: "o"}); err != nil {
		t.Fatal(err)
	}
	git(t, tree, "commit", "-q", "--allow-empty", "-m", "work")
	if _, err := repo.Switch(t.Context(), worktree.SwitchSpec{Path: tree, Branch: "task/t2-sell-milk", Start: head}); err != nil {
		t.Fatal(err)
	}
	git(t, tree, "commit", "-q", "--allow-empty", "-m", "milk")
	for _, branch := range []string{"task/t1", "task/t2-sell-milk"} {
		if _, _, err := repo.Join(t.Context(), "main", merge.Tip{Name: branch, Commit: git(t, f.root, "rev-parse", branch)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := repo.DropBranch(t.Context(), "other", git(t, f.root, "rev-parse", "other")); err != nil {
		t.Fatal(err)
	}
	if err := repo.Shared.Pushed(t.Context(), "task/t1", "origin", git(t, f.root, "rev-parse", "task/t1")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go"), "")
	if end, err := wait(); err != nil || end.Outcome != dag.Done {
		t.Errorf("end %+v, %v", end, err)
	}
	if n := f.notes(); strings.Contains(n, "changed") || strings.Contains(n, "undo") {
		t.Errorf("told: %s", n)
	}
}

// The settings that tools make in every clone fail no node. One that names a program
// does, and the ways out that the message names lead to a node that is done.
func TestSettingsOfTools(t *testing.T) {
	const lfs = `git config filter.lfs.clean "git-lfs clean -- %f"; git config filter.lfs.smudge "git-lfs smudge -- %f"; git config filter.lfs.process "git-lfs filter-process"; git config filter.lfs.required true`
	for _, c := range []struct {
		name, tool string
		fails      bool
	}{
		{"git-lfs", lfs + "; git config lfs.repositoryformatversion 0", false},
		{"blame", "git config blame.ignoreRevsFile .git-blame-ignore-revs; git config diff.lockb.binary true", false},
		{"sparse", "git sparse-checkout set src", false},
		{"textconv", "git config diff.lockb.textconv cat", true},
		{"filter", "git config filter.crypt.clean cat", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := c.tool + "; echo x > b"
			f := sharing(t, dag.Node{Task: task})
			end := f.run()
			if !c.fails {
				if end.Outcome != dag.Done || !strings.Contains(f.notes(), "its git commands also changed setting ") || !strings.Contains(f.notes(), "(undo: git config ") {
					t.Errorf("end %+v\nnotes %s", end, f.notes())
				}
				return
			}
			key, _, _ := strings.Cut(strings.TrimPrefix(c.tool, "git config "), " ")
			if end.Reason != dag.ReasonScope || !strings.Contains(end.Detail, "add git config "+key+" VALUE to setup: in the configuration, or run that in "+f.root+" before the run") {
				t.Errorf("end %+v", end)
			}
			before := sharing(t, dag.Node{Task: task})
			if out, err := exec.Command("sh", "-c", "cd "+quote(before.root)+"; "+c.tool).CombinedOutput(); err != nil {
				t.Fatal(err, string(out))
			}
			if end := before.run(); end.Outcome != dag.Done {
				t.Errorf("after the tool ran: %+v", end)
			}
			setup := sharing(t, dag.Node{Task: task})
			setup.plan(func(p *run.Plan) { p.Graph.Setup = []string{c.tool} })
			if end := setup.run(); end.Outcome != dag.Done {
				t.Errorf("with setup: %+v\nlog %s", end, setup.log())
			}
		})
	}
}

// among is a run in which other nodes are at work.
type among struct {
	attempt.Home
	nodes []string
}

func (w among) AtWork(string, time.Time) ([]string, error) { return w.nodes, nil }

// What another node's git commands did is told by that node, before and after it
// ends. Only where its attempt is lost does the one that finds the change tell it,
// and names whose commands they were. Those of long ago say nothing.
func TestAnotherNodesCommands(t *testing.T) {
	const config, branch = "git config alias.mine status", "git branch free2; git tag v9"
	for _, c := range []struct {
		name, script, trace string
		works               bool
		told                string // empty: nothing
	}{
		{"at work", config, "git-1.trace", true, ""},
		{"at work, refs", branch, "git-1.trace", true, ""},
		{"has ended", config, "git-1.taken", false, ""},
		{"has ended, refs", branch, "git-2.taken", false, ""},
		{"is lost", config, "git-1.trace", false, "by the git commands of other: setting alias.mine"},
		{"did another thing", "git tag v9; unset GIT_TRACE2_EVENT; " + config, "git-1.trace", true, "by none of this run's git commands: setting alias.mine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := sharing(t, dag.Node{})
			dir := f.r.NodeDir("other")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			f.job.Home = among{f.job.Home, map[bool][]string{true: {"other"}}[c.works]}
			f.job.Spec.Def.Task = "(cd " + quote(f.root) + "; export GIT_TRACE2_EVENT=" + quote(filepath.Join(dir, c.trace)) + "; " + c.script + ")"
			if end := f.run(); end.Outcome != dag.Done {
				t.Errorf("end %+v", end)
			}
			if n := f.notes(); c.told == "" && strings.Contains(n, "changed in the repository") || !strings.Contains(n, c.told) {
				t.Errorf("notes %s", n)
			}
		})
	}
}

// When an attempt has looked at what its git commands changed, the commands stay
// for the nodes that meet the change later.
func TestTakenCommandsStay(t *testing.T) {
	f := sharing(t, dag.Node{Task: "git log -1 >/dev/null; git config alias.mine status; git branch mine"})
	f.run()
	dir := f.r.NodeDir("a")
	if exists(filepath.Join(dir, "git-1.trace")) {
		t.Error("the trace is still there")
	}
	b, err := os.ReadFile(filepath.Join(dir, "git-1.taken"))
	if s := string(b); err != nil || !strings.Contains(s, `"alias.mine","status"`) || !strings.Contains(s, `"branch","mine"`) || strings.Contains(s, `"log"`) || !strings.Contains(s, `"exit"`) {
		t.Errorf("%s, %v", s, err)
	}
	// A later node meets a change like it: those commands were over before it began.
	if err := os.Rename(dir, f.r.NodeDir("other")); err != nil {
		t.Fatal(err)
	}
	next := sharing(t, dag.Node{})
	if err := os.Rename(f.r.NodeDir("other"), next.r.NodeDir("other")); err != nil {
		t.Fatal(err)
	}
	next.job.Spec.Def.Task = "cd " + quote(next.root) + "; env -u GIT_TRACE2_EVENT git config alias.mine status"
	if next.run(); !strings.Contains(next.notes(), "none of this run's git commands: setting alias.mine") {
		t.Errorf("notes %s", next.notes())
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// What a tool of setup sets for the node's own tree is put back, and what it sets
// for another place is not allowed.
func TestHooksOfTheOwnTree(t *testing.T) {
	for _, c := range []struct {
		value string
		fails bool
	}{
		{".husky/_", false}, {".husky", false}, {`"$PWD/.husky"`, false}, {"../evil", true}, {"/tmp/evil", true}, {"'~/evil'", true}, {`"$PWD-evil"`, true},
	} {
		f := sharing(t, dag.Node{Task: "git config core.hooksPath " + c.value + "; echo x > b", Verify: []string{"git config core.hooksPath .husky/_"}})
		end := f.run()
		if c.fails != (end.Reason == dag.ReasonScope) || !c.fails && (end.Outcome != dag.Done || !strings.Contains(f.notes(), "restored core.hooksPath")) {
			t.Errorf("%s: end %+v\nnotes %s", c.value, end, f.notes())
		}
		cmd := exec.Command("git", "-C", f.root, "config", "--local", "core.hooksPath")
		if out, _ := cmd.Output(); len(out) > 0 && !c.fails {
			t.Errorf("%s: left as %s", c.value, out)
		}
	}
}

// What was set up, pushed by the run itself or put back is nobody's fault.
func TestOrdinaryWorkReachesNobody(t *testing.T) {
	for _, script := range []string{
		"true",
		"git config core.editor evil; git config --unset core.editor",
		"git tag v1; git tag -d v1",
		"echo x >> src/a.txt; git stash -q; git stash pop -q; git commit -qam x",
		"git checkout -q -b side; echo x > b; git add b; git commit -qm x; git checkout -q shop/a; git merge -q side; git branch -D side",
		"echo x > b; git add b; git commit -qm x; git commit -q --amend -m y; git rebase -q HEAD~1",
		"git notes --ref ai-attribution add -m '{}'",
		"git config branch.shop/a.remote origin; git config branch.shop/a.merge refs/heads/shop/a",
		"git gc -q; git pack-refs --all; git update-index --refresh; git status; git log --oneline",
	} {
		f := sharing(t, dag.Node{Task: script})
		f.plan(func(p *run.Plan) { p.Graph.Nodes[0].Branch = "shop/a" })
		if end := f.run(); end.Outcome != dag.Done || strings.Contains(f.notes(), "changed while") {
			t.Errorf("%s: %+v\nnotes %s\nlog %s", script, end, f.notes(), f.log())
		}
	}
}

// A program that the agent names in the shared configuration is not run by
// cmux, whatever it still has to do: compare, save, report.
func TestNothingOfTheAgentsIsRun(t *testing.T) {
	f := sharing(t, dag.Node{})
	ran := filepath.Join(f.root, "..", "ran")
	evil := "touch '" + ran + "'; cat"
	f.job.Spec.Def.Task = `git config filter.evil.clean "` + evil + `"; git config filter.evil.process "` + evil + `"
git config core.fsmonitor "` + evil + `"; git config diff.external "` + evil + `"
echo '* filter=evil' > .gitattributes; echo two > src/a.txt; echo new > b`
	end := f.run()
	if end.Reason != dag.ReasonScope || end.Snapshot == "" {
		t.Errorf("end %+v", end)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("it was run")
	}
}

// A repository inside is named, whether it was left, added or committed, and
// the ways out that the message names work.
func TestNestedRepository(t *testing.T) {
	const nest = "mkdir lib; echo x > lib/f; cd lib; git init -q; git add f; git commit -q -m x; cd ..\n"
	for _, c := range []struct {
		name, task string
		fails      bool
	}{
		{"left", nest, true},
		{"deep", "mkdir -p a/b; cd a/b; " + nest, true},
		{"added", nest + "git add -A 2>/dev/null", true},
		{"committed", nest + "git add -A 2>/dev/null; git commit -q -m x", true},
		{"ignored", "mkdir ignored; cd ignored; " + nest, false},
		{"its .git removed", nest + "git add -A 2>/dev/null; git commit -q -m x; rm -rf lib/.git; git rm -q --cached lib; git add lib; git commit -q -m y", false},
		{"a submodule", nest + `mv lib ../lib; git -c protocol.file.allow=always submodule --quiet add "$(cd ../lib; pwd)" lib; git commit -q -m x`, false},
		{"moved out", nest + "mv lib ../lib; echo x > f; git add f; git commit -q -m x", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := inTree(t, dag.Node{Task: c.task})
			end := f.run()
			if c.fails && (end.Reason != dag.ReasonScope || !strings.Contains(end.Detail, "made a repository inside the worktree") || !strings.Contains(end.Detail, "lib")) ||
				!c.fails && end.Outcome != dag.Done {
				t.Errorf("end %+v\nlog %s", end, f.log())
			}
		})
	}
}

// What git is told not to look at is looked at: it is neither out of sight of
// the scope nor left out of the commit.
func TestHiddenInTheIndex(t *testing.T) {
	for _, mark := range []string{"assume-unchanged", "skip-worktree"} {
		for _, c := range []struct {
			name, task string
			scope      []string
			outside    bool
		}{
			{"out of scope", "echo two > src/a.txt; echo x > b", []string{"b"}, true},
			{"deleted", "rm src/a.txt; echo x > b", []string{"b"}, true},
			{"in scope", "echo two > src/a.txt", []string{"src/"}, false},
			{"without a scope", "echo two > src/a.txt", nil, false},
		} {
			t.Run(mark+"/"+c.name, func(t *testing.T) {
				f := inTree(t, dag.Node{Task: "git update-index --" + mark + " src/a.txt\n" + c.task, Scope: c.scope, Verify: []string{"! grep -qs one src/a.txt"}})
				end := f.run()
				if c.outside {
					if end.Reason != dag.ReasonScope || !strings.Contains(end.Detail, "src/a.txt") {
						t.Errorf("end %+v\nlog %s", end, f.log())
					}
					return
				}
				if got := git(t, f.root, "show", "shop/a:src/a.txt"); end.Outcome != dag.Done || got != "two" {
					t.Errorf("end %+v, committed %q\nlog %s", end, got, f.log())
				}
			})
		}
	}
}

// A worktree that was made one of another repository is judged in its own.
func TestWorktreeOfAnotherRepository(t *testing.T) {
	for _, c := range []struct {
		name, task, detail string
	}{
		{"its common folder", `g=$(git rev-parse --git-dir); c=$(git rev-parse --git-common-dir); cp -R "$c" "$g/../../../../copy.git"; echo "$(cd "$g/../../../../copy.git"; pwd)" > "$g/commondir"; echo x > b; git add b; git commit -qm x`, ""},
		{"no .git", "rm .git; echo x > b", ""},
		{"a repository", "rm .git; git init -q; echo x > b; git add b; git commit -qm x", "the .git of its worktree was replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := inTree(t, dag.Node{Task: c.task})
			end := f.run()
			if c.detail != "" {
				if end.Reason != dag.ReasonScope || !strings.Contains(end.Detail, c.detail) {
					t.Errorf("end %+v\nlog %s", end, f.log())
				}
				return
			}
			if end.Outcome != dag.Done || end.Commits != 1 {
				t.Fatalf("end %+v\nlog %s", end, f.log())
			}
			if got := git(t, f.root, "show", "shop/a:b"); got != "x" {
				t.Errorf("committed %q\nlog %s", got, f.log())
			}
		})
	}
}

// asked is a run that keeps since when it was asked who is at work.
type asked struct {
	*run.Run
	since []time.Time
}

func (a *asked) AtWork(node string, since time.Time) ([]string, error) {
	a.since = append(a.since, since)
	return a.Run.AtWork(node, since)
}

// A node that ends while another's beginning is read has changed what was read:
// it was at work then.
func TestWhoEndsWhileItIsReadWasAtWork(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read, began := filepath.Join(dir, "read"), filepath.Join(dir, "began")
	shim := fmt.Sprintf("#!/bin/sh\nfor a; do case $a in for-each-ref) date +%%s%%N >'%s';; esac; done\nexec '%s' \"$@\"\n", read, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(shim), 0o755); err != nil {
		t.Fatal(err)
	}
	f := sharing(t, dag.Node{Task: fmt.Sprintf("cat '%s' >'%s'; git tag v9", read, began)})
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	home := &asked{Run: f.r}
	f.job.Home = home
	f.run()
	b, err := os.ReadFile(began)
	if err != nil {
		t.Fatal(err)
	}
	at, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || len(home.since) == 0 {
		t.Fatal(err, home.since)
	}
	if since := home.since[0]; !since.Before(time.Unix(0, at)) {
		t.Errorf("counted from %v, read at %v", since, time.Unix(0, at))
	}
}
