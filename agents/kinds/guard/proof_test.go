package guard_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/worktree/separate"
)

// everyGit is a text of each kind that is granted where git starts nothing.
var everyGit = []string{
	"git add -A && git commit -q -m work && git log -1", "git status", "git diff", "git diff --stat main...HEAD", "git log -p -3", "git log --oneline", "git show HEAD", "git rev-parse HEAD",
	"git log --format=evil -2", "git add -A && git status -s", "git commit -qam work && git show --stat HEAD", "git restore src/b.txt", "git restore --staged .", "git rm -q --cached src/b.txt", "git rm sub/c", "git stash list", "git branch -avv && git tag -n && git describe --tags --always; git rev-list --count HEAD && git worktree list -v && git log --grep=o --author=a --since=yesterday", "touch src/n && echo x >> src/b.txt && git add -A && git commit -q -F - <<'EOF'\nwork\nEOF", "git mv src/a.txt src/n && git add -A && git commit -q -m moved", "mkdir -p src/n && mv src/a.txt src/n && echo x > src/n/f && git add -A",
}

// TestGitIsAsked: whatever would have git start a program, a granted text does
// not start it. granted says whether a commit is granted even so.
func TestGitIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pwn, evil := filepath.Join(w.dir, "bin/pwn"), filepath.Join(w.dir, "root/.git/evil")
	config := func(key, value string) func() { return func() { w.git("tree", "config", key, value) } }
	global := func(key, value string) func() { return func() { w.git("tree", "config", "--global", key, value) } }
	hook := func(name string) func() {
		return func() {
			w.write("root/.git/hooks/"+name, "#!/bin/sh\nexec "+pwn+" hook\n")
			w.must(os.Chmod(filepath.Join(w.dir, "root/.git/hooks", name), 0o755))
		}
	}
	all := func(steps ...func()) func() {
		return func() {
			for _, s := range steps {
				s()
			}
		}
	}
	file := func(name, content string) func() { return func() { w.write(name, content) } }
	nested := func(link bool) func() {
		return func() {
			w.git("tree", "init", "-q", "sub/repo")
			w.git("tree/sub/repo", "commit", "-q", "--allow-empty", "-m", "x")
			w.git("tree/sub/repo", "config", "core.fsmonitor", pwn)
			w.write("tree/sub/repo/x", "x")
			if link {
				w.git("tree", "-c", "advice.addEmbeddedRepo=false", "add", "sub/repo")
			}
		}
	}
	signed := func() {
		tree := w.git("tree", "rev-parse", "HEAD^{tree}")
		w.write("home/commit", "tree "+tree+"\nauthor a <a@a> 1700000000 +0000\ncommitter a <a@a> 1700000000 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n")
		w.git("tree", "update-ref", "refs/heads/w", w.git("tree", "hash-object", "-t", "commit", "-w", filepath.Join(w.dir, "home/commit")))
		w.git("tree", "config", "gpg.program", pwn)
	}
	for _, c := range []struct {
		name    string
		make    func()
		env     []string
		granted bool
		silent  bool // it would not run here: without a terminal, or with nothing to fetch
	}{
		{name: "nothing", make: func() {}, granted: true},
		{name: "pre-commit", make: hook("pre-commit")}, {name: "commit-msg", make: hook("commit-msg")}, {name: "prepare-commit-msg", make: hook("prepare-commit-msg")},
		{name: "post-commit", make: hook("post-commit")}, {name: "reference-transaction", make: hook("reference-transaction")}, {name: "post-index-change", make: hook("post-index-change")},
		{name: "a sample", make: hook("pre-commit.sample"), granted: true},
		{name: "hooks of the repository", make: all(config("core.hooksPath", ".hooks"), file("tree/.hooks/pre-commit", "#!/bin/sh\n"+pwn+"\n"), func() { w.must(os.Chmod(filepath.Join(w.dir, "tree/.hooks/pre-commit"), 0o755)) })},
		{name: "a person's hooks", make: all(global("core.hooksPath", filepath.Join(w.dir, "root/.git/hooks")), hook("pre-commit"))},
		{name: "fsmonitor", make: config("core.fsmonitor", pwn)}, {name: "a person's fsmonitor", make: global("core.fsmonitor", pwn)}, {name: "no fsmonitor", make: config("core.fsmonitor", "false"), granted: true},
		{name: "included", make: all(config("include.path", evil), file("root/.git/evil", "[core]\n\tfsmonitor = "+pwn+"\n"))},
		{name: "included for a branch", make: all(config("includeIf.onbranch:w.path", evil), file("root/.git/evil", "[core]\n\tfsmonitor = "+pwn+"\n"))},
		{name: "of the worktree", make: all(config("extensions.worktreeConfig", "true"), func() { w.git("tree", "config", "--worktree", "core.fsmonitor", pwn) })},
		{name: "clean", make: all(config("filter.f.clean", pwn), file("tree/.gitattributes", "* filter=f\n"))},
		{name: "process", make: all(config("filter.f.process", pwn), file("tree/sub/.gitattributes", "* filter=f\n"))},
		{name: "smudge", make: all(config("filter.f.smudge", pwn), file("root/.git/info/attributes", "* filter=f\n"))},
		{name: "an attributes file", make: all(global("filter.f.clean", pwn), global("core.attributesFile", evil), file("root/.git/evil", "* filter=f\n"))},
		{name: "a filter that nothing uses", make: all(global("filter.lfs.clean", pwn), global("filter.lfs.process", pwn), file("tree/.gitattributes", "* -filter\n")), granted: true},
		{name: "external diff", make: config("diff.external", pwn)}, {name: "textconv", make: all(config("diff.d.textconv", pwn), file("tree/.gitattributes", "* diff=d\n"))}, {name: "diff command", make: all(config("diff.d.command", pwn), file("tree/.gitattributes", "* diff=d\n"))},
		{name: "signing", make: all(config("commit.gpgSign", "true"), config("gpg.program", pwn))}, {name: "signing without a value", make: all(file("home/.gitconfig", "[commit]\n\tgpgsign\n[gpg]\n\tprogram = "+pwn+"\n[user]\n\tname = a\n\temail = a\n"))},
		{name: "signatures shown", make: all(signed, config("log.showSignature", "true"))}, {name: "signatures in the format", make: all(signed, config("format.pretty", "%G?"))}, {name: "a format of that name", make: all(signed, config("pretty.evil", "%G?"))},
		{name: "a nested repository", make: nested(false)}, {name: "a submodule", make: nested(true)},
		{name: "elsewhere", silent: true, make: config("core.worktree", "../../outside")},
		{name: "a pager of the repository", silent: true, make: config("core.pager", pwn)}, {name: "a pager of a command", silent: true, make: config("pager.status", pwn)}, {name: "a person's pager", make: global("core.pager", pwn), granted: true},
		{name: "an alias", make: all(config("alias.status", "!"+pwn), config("alias.commit", "!"+pwn)), granted: true},
		{name: "an editor", make: global("core.editor", pwn), granted: true}, {name: "a trailer", make: config("trailer.x.command", pwn), granted: true}, {name: "tools", make: all(config("mergetool.x.cmd", pwn), config("credential.helper", "!"+pwn)), granted: true},
		{name: "partial clone", silent: true, make: all(config("remote.origin.url", "ext::"+pwn), config("remote.origin.promisor", "true"), config("protocol.ext.allow", "always"))},
		{name: "configuration in the environment", make: func() {}, env: []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + pwn}},
		{name: "a diff in the environment", make: func() {}, env: []string{"GIT_EXTERNAL_DIFF=" + pwn}},
		{name: "a trace in the worktree", make: func() {}, env: []string{"GIT_TRACE2_EVENT=" + filepath.Join(w.dir, "tree/trace")}},
		{name: "a trace of cmux's", make: func() {}, env: []string{"GIT_TRACE2_EVENT=" + filepath.Join(w.dir, "trace")}, granted: true},
		{name: "another repository", make: func() {}, env: []string{"GIT_DIR=" + filepath.Join(w.dir, "root/.git")}},
		{name: "a folder of the worktree in PATH", make: func() {}, env: []string{"PATH=" + filepath.Join(w.dir, "tree") + ":" + os.Getenv("PATH")}},
		{name: "a relative folder in PATH", make: func() {}, env: []string{"PATH=.:" + os.Getenv("PATH")}},
		{name: "orders for bash", make: file("tree/rc", pwn), env: []string{"BASH_ENV=rc"}}, {name: "a person's orders", make: file("home/rc", "true"), env: []string{"BASH_ENV=" + filepath.Join(w.dir, "home/rc")}, granted: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.make()
			made := w.before
			w.before = w.look()
			policy := w.policy
			w.policy.Machine = places.Here(w.policy.Tree, append(w.env("bin"), append([]string{"PATH=" + filepath.Join(w.dir, "cmux") + ":" + os.Getenv("PATH")}, c.env...)...))
			w.more = c.env
			for _, text := range everyGit {
				if !w.granted(text) {
					continue
				}
				if why := w.does(shells[0], text); why != "" {
					t.Errorf("%q: %s", text, why)
				}
			}
			if !c.granted && !c.silent && !slices.ContainsFunc(everyGit, func(text string) bool { return w.does(shells[0], text) != "" }) {
				t.Error("it starts nothing: this proves nothing")
			}
			if got := w.granted("git add -A && git commit -q -m work"); got != c.granted {
				t.Errorf("a commit is granted: %v", got)
			}
			w.more, w.policy, w.before = nil, policy, made
			w.told()
			w.changed()
		})
	}
}

// TestMergeOfAnothersWork: a worker brings in the commit that its task names, when that
// writes only plain files within its scope.
func TestMergeOfAnothersWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := filepath.Join(w.dir, "other")
	w.git("root", "worktree", "add", "-q", "-b", "t1", at, "w")
	tip := func(steps ...func()) string {
		w.git("other", "reset", "-q", "--hard", "w")
		for _, s := range steps {
			s()
		}
		w.git("other", "add", "-A", "-f")
		w.git("other", "commit", "-q", "-m", "work")
		return w.git("other", "rev-parse", "HEAD")
	}
	file := func(name, content string) func() { return func() { w.write("other/"+name, content) } }
	gone := func(name string) func() { return func() { w.must(os.Remove(filepath.Join(at, name))) } }
	link := func() { w.must(os.Symlink("/etc", filepath.Join(at, "src/etc"))) }
	for _, c := range []struct {
		name  string
		steps []func()
		want  bool
	}{
		{"in scope", []func(){file("src/a.txt", "merged\n"), file("src/deep/new", "new\n")}, true},
		{"outside of the scope", []func(){file("sub/c", "x\n")}, false},
		{"a program's orders", []func(){file("src/.claude/settings.json", "{}\n")}, false},
		{"attributes", []func(){file("src/.gitattributes", "* filter=x\n")}, false},
		{"a link", []func(){link}, false},
		{"a file for a link", []func(){gone("src/link2"), file("src/link2", "x\n")}, false},
		{"a renamed file", []func(){gone("src/a.txt"), file("src/n.txt", "one, later\n")}, false},
	} {
		if text := "git merge --no-edit " + tip(c.steps...); w.granted(text) != c.want {
			t.Errorf("%s: granted is %v", c.name, !c.want)
		}
	}
	w.write("tree/.gitmodules", "[submodule \"x\"]\n\tpath = src/sub\n\turl = x\n\tignore = all\n")
	if w.granted("git merge --no-edit " + tip(func() {
		w.must(os.MkdirAll(filepath.Join(at, "src/sub"), 0o755))
		w.git("other", "update-index", "--add", "--cacheinfo", "160000,"+w.old+",src/sub")
	})) {
		t.Error("another repository that git is told to ignore")
	}
	w.must(os.Remove(filepath.Join(w.dir, "tree/.gitmodules")))
	w.must(os.Remove(filepath.Join(at, "src/sub")))
	good := tip(file("src/a.txt", "merged\n"))
	for text, want := range map[string]bool{
		"git merge --no-edit " + good + " && git status": true, "git merge --no-edit " + good + " 2>&1 | tail -5": true, "git commit --no-edit": true, "git commit -q --no-edit": false,
		"git merge " + good: false, "git merge --no-edit t1": false, "git merge --no-edit " + good[:12]: false, "git merge --no-edit -s ours " + good: false, "git merge --no-edit " + good + " " + good: false,
		"git add -A && git merge --no-edit " + good: false, "git merge --no-edit " + strings.Repeat("0", 40): false, "cd src && git merge --no-edit " + good: false, "git commit --no-edit --amend": false,
	} {
		if w.granted(text) != want {
			t.Errorf("%q: granted is %v", text, !want)
		}
	}
	w.git("tree", "config", "merge.autostash", "yes")
	if w.granted("git merge --no-edit "+good) || !w.granted("git status") {
		t.Error("git would stash what is not committed")
	}
	w.git("tree", "config", "--unset", "merge.autostash")
	w.git("tree", "config", "branch.w.mergeoptions", "-s pwn")
	if w.granted("git merge --no-edit " + good) {
		t.Error("options of the branch may name a strategy, which is a program")
	}
}

// gofmt writes files that the agent may write with its file tools, and goes through no
// link.
func TestFormatsOwnFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Verify, w.policy.Linked = []string{"go vet ./... && go test ./..."}, places.Linked
	for _, name := range []string{"src/a.go", "src/deep/b.go", "top.go", ".claude/x.go", "src/folder.go/c.go"} {
		w.write("tree/"+name, "package  a\n")
	}
	w.must(os.Symlink("a.go", filepath.Join(w.dir, "tree/src/link.go")))
	w.must(os.Symlink("../../outside", filepath.Join(w.dir, "tree/src/out")))
	w.must(os.Symlink("../../outside/d.go", filepath.Join(w.dir, "tree/src/away.go")))
	w.write("outside/d.go", "package  d\n")
	w.must(os.Link(filepath.Join(w.dir, "outside/d.go"), filepath.Join(w.dir, "tree/src/second.go")))
	for text, want := range map[string]bool{
		"gofmt -w src/a.go": true, "gofmt -l -w src/a.go src/deep/b.go": true, "gofmt -s -w ./src/a.go && go test ./...": true,
		"gofmt -w .": false, "gofmt -w src": false, "gofmt -w top.go": false, "gofmt -w src/link.go": false, "gofmt -w src/out/d.go": false,
		"gofmt -w src/second.go": false, "gofmt -w src/folder.go": true, "gofmt -w ../outside/d.go": false, "gofmt -w .claude/x.go": false,
		"gofmt -w src/none.go": false, "gofmt -r 'a -> b' -w src/a.go": false, "gofmt -cpuprofile=x.go -w src/a.go": false,
	} {
		if got := w.granted(text); got != want {
			t.Errorf("%q: granted is %v", text, got)
		}
	}
	for text, want := range map[string]bool{
		"gofmt -w src/deep/*.go": true, "gofmt -l -w ./src/deep/*.go src/a.go && git status": true, "gofmt -w src/*.go": false, "gofmt -w src/out/*.go": false, "gofmt -w sub/*.go": false, "gofmt -w src/deep/*.go src/link.go": false, "go test ./... && gofmt -w src/deep/*.go": false, "echo x > src/deep/n.go && gofmt -w src/deep/*.go": false,
		"gofmt -w src/deep": true, "gofmt -l -w src/deep/ src/a.go": true, "go fmt ./src/deep/...": true, "go fmt ./src/deep": true, "gofmt -w src/deep && go vet ./... && go test ./...": true,
		"gofmt -w ./src/deep/../../top": false, "go fmt ./...": false, "go fmt": false, "go fmt example.com/x": false, "gofmt -w deep": false, "gofmt -w src/out": false, "gofmt -w /": false, "gofmt -w ..": false,
		"go test ./... && gofmt -w src/deep": false, "git restore src/b.txt && gofmt -w src/deep": false, "go fmt -x ./src/deep": false, "go fmt -mod=mod ./src/deep": false,
	} {
		if got := w.granted(text); got != want {
			t.Errorf("%q: granted is %v", text, got)
		}
	}
	// What it shows lies in the worktree; what it names may lead anywhere.
	for text, want := range map[string]bool{
		"gofmt -d src/a.go": true, "gofmt -d -s src/deep": true, "gofmt -l -d top.go src/a.go": true, "gofmt -d TREE/src/a.go": true, "gofmt -s -l .": true, "gofmt -l .": true, "gofmt -d src/link.go": true, "gofmt -d src/second.go": true, "gofmt src/a.go": true, "gofmt -d src/folder.go": true,
		"go test ./... && gofmt -l .": true, "go test ./...; gofmt -l .": true, "go vet ./... && go test ./... 2>&1 | tail -5; gofmt -s -l .": true, "go test ./... && gofmt -l . && git add -A && git commit -qm x": true,
		"gofmt -d .": false, "gofmt -d src": false, "gofmt .": false, "gofmt src": false, "gofmt -d src/away.go": false, "gofmt -d src/out/d.go": false, "gofmt -d src/out": false, "gofmt -d ../outside": false, "gofmt -d TREE": false, "gofmt -d /etc": false, "gofmt -d .git": false, "gofmt -d src/none.go": false,
		"go test ./... && gofmt -d .": false, "go test ./... && gofmt -l src": false, "go test ./... && gofmt -l ./": false, "go test ./... && gofmt -l . src/link.go": false, "go test ./... && gofmt -d src/a.go": false, "go test ./... && gofmt -l ..": false, "go test ./... && gofmt -w .": false, "go test ./... && cat .": true, "go test ./... && cat ./src/a.go": false, "git restore src/b.txt && gofmt -d src/deep": false,
		"gofmt -d": false, "gofmt -l": false, "gofmt": false, "gofmt -d=x src/a.go": false, "gofmt -d -w src/a.go": false, "gofmt -w -d .": false, "gofmt -d -r 'a -> b' src/a.go": false, "gofmt -d -cpuprofile=x src/a.go": false, "gofmt -e -d src/a.go": false, "gofmt -d src/*.go": false, "gofmt -d -- src/a.go": false, "gofmt -d src/a.go > src/x": false, "PATH=. gofmt -d src/a.go": false, "./gofmt -d src/a.go": false,
	} {
		if got := w.granted(strings.ReplaceAll(text, "TREE", w.policy.Tree)); got != want {
			t.Errorf("%q: granted is %v", text, got)
		}
	}
	for _, name := range []string{".hid.go", "B.GO", "dir.go/x.go", ".go"} {
		at := filepath.Join(w.dir, "tree/src/deep", strings.Split(name, "/")[0])
		w.write("tree/src/deep/"+name, "package  a\n")
		if w.granted("gofmt -w src/deep/*.go") {
			t.Errorf("%s may be among all Go files", name)
		}
		w.must(os.RemoveAll(at))
	}
	for _, name := range []string{"SRC", "src/Deep"} {
		at := filepath.Join(w.dir, "tree", name)
		w.must(os.Symlink("../outside", at))
		if w.granted("gofmt -w src/deep/*.go") {
			t.Errorf("a shell may take src/deep for %s", name)
		}
		w.must(os.Remove(at))
	}
	w.must(os.Symlink("../a.go", filepath.Join(w.dir, "tree/src/deep/link.go")))
	if w.granted("gofmt -w src/deep") {
		t.Error("gofmt writes through a link to a file")
	}
	w.must(os.Remove(filepath.Join(w.dir, "tree/src/deep/link.go")))
	w.must(os.Symlink("../../outside", filepath.Join(w.dir, "tree/src/deep/folder"))) // it goes through no link to a folder
	if !w.granted("gofmt -w src/deep") {
		t.Error("a link to a folder is not gone through")
	}
	w.policy.Scope = nil
	w.must(os.RemoveAll(filepath.Join(w.dir, "tree/.claude")))
	for _, name := range []string{"src/link.go", "src/second.go", "src/away.go"} {
		if w.granted("gofmt -w .") || w.granted("go fmt ./...") || w.granted("gofmt -w src") {
			t.Errorf("%s leads out", name)
		}
		w.must(os.Remove(filepath.Join(w.dir, "tree", name)))
	}
	for _, text := range []string{"gofmt -w .", "go fmt ./...", "gofmt -l -w src", "gofmt -d .", "gofmt src"} {
		if !w.granted(text) {
			t.Errorf("%q is not granted", text)
		}
	}
	w.policy.Role = "review"
	if w.granted("gofmt -w src/a.go") || w.granted("gofmt -w .") || w.granted("go fmt ./...") {
		t.Error("a review formats files")
	}
}

// A supervisor is shown of its agents' worktrees what one who reviews there is shown.
func TestLooksInWorktrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root, tree := filepath.Join(w.dir, "root"), filepath.Join(w.dir, "tree")
	path := filepath.Join(w.dir, "cmux") + ":" + os.Getenv("PATH")
	w.policy = places.Policy{
		Role: "review", Leads: true, Root: root, Beside: filepath.Join(w.dir, "tre"), Verify: []string{"check it"},
		Resolve: places.Follow, Linked: places.Linked, Machine: places.Here(root, append(w.env("bin"), "PATH="+path)),
	}
	granted := func(text string) bool {
		d := guard.Decide(w.policy, guard.Call{Tool: "Bash", Input: object("command", strings.NewReplacer("TREENEXT", tree+"next", "TREE", tree).Replace(text)), Dir: root})
		return d.Verdict == guard.Grant
	}
	w.git("root", "worktree", "add", "-q", "--detach", "../treenext")
	w.git("root", "worktree", "add", "-q", "--detach", "../treeless")
	w.must(os.RemoveAll(filepath.Join(w.dir, "treeless")))
	w.must(os.Symlink("tree", filepath.Join(w.dir, "tree2")))
	w.must(os.MkdirAll(filepath.Join(w.dir, "trees/src"), 0o755))
	looks := []string{
		"git -C TREE log --oneline -5", "git -C TREE status --short", "git -C TREE diff --stat main...HEAD", "git -C TREE --no-pager show HEAD", "git -C TREE diff -- src/b.txt",
		"git -C TREE log --oneline | head -3", "git -C TREE status && git -C TREE diff", "cd TREE && git status && git log -1", "cd TREE && cat src/b.txt",
		"git -C ../tree diff", "git -C ../tree log --oneline main..HEAD | head -3", "for t in tree; do git -C ../$t log --oneline -3; done", "for t in TREE; do echo \"--- $t\"; git -C $t status -s; done", "for t in ../tree TREE; do git -C $t log -1; done", "for t in src/b.txt src/a.txt; do git -C TREE diff -- $t | head -3; done",
	}
	for _, text := range looks {
		if !granted(text) {
			t.Errorf("%q is not granted", text)
		}
	}
	for _, text := range []string{
		"cat TREE/src/b.txt", "cat TREE/src/a.txt TREE/src/b.txt", "head -5 TREE/src/b.txt", "grep -n two TREE/src/b.txt", "ls -la TREE/src", "wc -l TREE/src/b.txt && git -C TREE status", "cat TREE/src/b.txt | head -3", "sed -n 1,5p TREE/src/b.txt", "for f in a.txt b.txt; do cat TREE/src/$f; done", "git worktree list", "git branch -a",
		"diff src/b.txt ../tree/src/b.txt", "diff -u src/a.txt TREE/src/a.txt | head -20", "diff -r sub ../tree/sub", "cat src/b.txt TREE/src/b.txt", "git -C ../tree diff && sleep 5", "cat TREE/src/a.txt TREENEXT/src/a.txt", "wc -l TREENEXT/src/a.txt TREE/README", "cat ../tree/src/b.txt", "head -3 ../treenext/src/a.txt", "ls ../tree ../treenext/src", "for t in tree treenext; do cat ../$t/src/a.txt; done", "grep -n one ../tree/src/a.txt TREENEXT/src/a.txt", "grep -rn one TREE/sub", "grep -rn one TREE/src/a.txt TREENEXT/sub", "grep -rni --include='*.txt' 'one' TREE/sub | head -3", "for t in tree treenext; do grep -rn one ../$t/sub; done",
	} {
		if !granted(text) {
			t.Errorf("%q is not granted", text)
		}
	}
	for _, text := range []string{
		"git -C TREE commit -qm x", "git -C TREE add -A", "git -C TREE restore src/b.txt", "git -C TREE merge --no-edit main", "git -C TREE -c core.pager=pwn log", "git -C TREE -C / log", "git -C TREE/src log", "git -C TREE/../outside log", "git -C TREE/ log",
		"git -C ../tree/ log", "git -C ./../tree log", "git -C ../root/../tree log", "git -C ../tree/src log", "git -C ../tree2 log", "git -C ../trees log", "git -C ../treeless log", "git -C .. log", "git -C . -C ../tree log", "git -C ../outside log", "git -C ../tree commit -qm x", "git -C ../tree log --output=x", "cd .. && git -C tree log", "cd src && git -C ../tree log", "git -C ~/tree log", "git -C $X log", "git -C ../t* log", "git -C ../tree -c core.pager=pwn log", "git -C ../tree log > x", "git -C ../tree log; cd .. && git log",
		"for t in tree tree2; do git -C ../$t log; done", "for t in tree outside; do git -C ../$t log; done", "for t in tree; do git -C ../$t/.. log; done", "for t in tree; do git -C ../$t add -A; done", "for t in tree; do git -C ../$t commit -qm x; done", "for t in tree; do cd ../$t; git log; done", "for t in b.txt ../../outside/secret; do cat TREE/src/$t; done", "for t in link2; do cat TREE/$t; done", "for t in b.txt; do rm TREE/src/$t; done", "for t in b.txt; do cat TREE/src/$t > x; done", "for t in tree; do git -C ../$t log --output=x; done", "for t in x; do git -C TREE -c core.pager=$t log; done", "for t in x; do git -C TREE $t; done", "for t in TREE /; do git -C $t log; done", "for t in ../tree ..; do git -C $t log; done", "for t in /etc/passwd; do cat $t; done", "for t in ..; do cat TREE/$t/outside/secret; done", "for t in .cmux .git; do cat TREE/$t; done",
		"diff src/b.txt ../outside/secret", "diff link2 ../tree/src/b.txt", "diff .git/config ../tree/src/b.txt", "diff .cmux/state TREE/src/b.txt", "diff ../tree/src/b.txt /etc/passwd", "diff -r . ../tree", "diff -r . ../tree/sub", "diff -r link ../tree/sub", "diff sub/../../outside/secret ../tree/sub/c", "diff ../root/README ../tree/src/b.txt", "diff src/b.txt ../tree/link2",
		"cat TREE/src/a.txt ../root/README", "cat TREE/src/a.txt ../outside/secret", "cat TREE/src/a.txt TREE2/src/a.txt", "cat TREENEXT/src/a.txt TREE/link2", "cat TREENEXT/src/a.txt /etc/passwd", "cat ../tree/link2", "cat ../tree/../outside/secret", "cat ../tree/./src/a.txt", "cat ./../tree/src/a.txt", "cat src/../../tree/src/a.txt", "cat ../tree/.git", "cat ../tree/.cmux/x", "cat ../tree2/src/a.txt", "cat ../treeless/x", "cat ../outside/secret", "cd src && cat ../tree/src/a.txt", "cat ../tree/src/a.txt > x", "head ../tree/src/a.txt ../tree/src/b.txt", "rm ../tree/src/a.txt", "mkdir ../tree/src/n", "mv ../tree/src/a.txt ../tree/src/n", "grep -n TREE/src/a.txt ../outside/secret", "grep -f TREE/src/a.txt TREE/src/b.txt", "sed -n 1w TREE/src/a.txt", "sed -i s/a/b/ TREE/src/a.txt", "check it && cat ../tree/src/b.txt",
		"grep -rn one TREE", "grep -rn one TREE/src", "grep -rn one TREE/link", "grep -rn one TREE/gitdir", "grep -rn one TREE/.git", "grep -rn one ..", "grep -rn one ../tree", "grep -rn one TREE/sub ../outside", "grep -Rn one TREE/sub", "grep -rn one TREE/sub /etc",
		"git worktree prune", "git worktree add ../x", "git branch x", "git -C TREE2 log", "git -C TREEs log", "git -C TREEless log", "git -C / log", "git -C TREE diff --no-index /etc/passwd x", "git -C TREE log --output=x", "git -C TREE show HEAD:link2 > x", "GIT_DIR=x git -C TREE log",
		"cat TREE/link2", "cat TREE/link/new", "cat TREE/../outside/secret", "cat TREE/.git", "cat TREE/.cmux/x", "cat TREE2/src/b.txt", "cat TREEs/src/x", "cat TREE/gitdir/config", "cat TREE/src/*", "grep -r x TREE", "rm TREE/src/b.txt", "mv TREE/src/a.txt TREE/src/n", "cat TREE/src/b.txt > x",
		"cd TREE && rm src/b.txt", "cd TREE && git add -A", "cd TREE && check it", "cd TREE && cmux done x", "cd TREE; git log", "cd TREE && cat link2", "cd TREE && cd .. && cat outside/secret", "cd TREE/src && cat b.txt", "cd TREE && for f in src/b.txt; do cat $f; done", "check it && git -C TREE log", "check it && cat TREE/src/b.txt", "sleep 5 && git -C ../tree diff", "sleep 5; cat ../tree/src/b.txt", "cd TREE && sleep 5 && git status", "for t in tree; do sleep 5; git -C ../$t log; done", "cd TREE || cat src/b.txt",
	} {
		if granted(text) {
			t.Errorf("%q is granted", text)
		}
	}
	for _, link := range []string{"link", "link2", "inlink", "gitdir", "olddir", "src/link2"} {
		w.must(os.Remove(filepath.Join(tree, link)))
	}
	if !granted("grep -rn one TREE") || !granted("grep -rn one ../tree/src") {
		t.Error("a folder without links is not read")
	}
	for name, put := range map[string]func() error{
		"src/deep/x": func() error { return os.Symlink("../../../outside/secret", filepath.Join(tree, "src/deep/x")) },
		"src/deep/d": func() error { return os.Symlink("../../../outside", filepath.Join(tree, "src/deep/d")) },
		"src/deep/a": func() error { return os.Symlink("../a.txt", filepath.Join(tree, "src/deep/a")) },
		"src/.git":   func() error { return os.Mkdir(filepath.Join(tree, "src/.git"), 0o755) },
		".cmux":      func() error { return os.Mkdir(filepath.Join(tree, ".cmux"), 0o755) },
	} {
		w.must(os.MkdirAll(filepath.Join(tree, "src/deep"), 0o755))
		w.must(put())
		if granted("grep -rn one TREE") || granted("for t in tree; do grep -rn one ../$t; done") {
			t.Errorf("%s is read with its folder", name)
		}
		w.must(os.Remove(filepath.Join(tree, name)))
	}
	w.git("tree", "config", "extensions.worktreeConfig", "true")
	w.git("tree", "config", "--worktree", "core.fsmonitor", filepath.Join(w.dir, "bin/pwn"))
	for _, text := range looks {
		if granted(text) && strings.Contains(text, "git") {
			t.Errorf("%q is granted where git starts a program", text)
		}
	}
	if !granted("git log") {
		t.Error("the person's folder has a configuration of its own")
	}
	w.policy.Leads = false
	if granted("git -C TREE log") || granted("cat TREE/src/b.txt") || granted("cd TREE && cat src/b.txt") {
		t.Error("who does not lead looks into others' worktrees")
	}
}

// What a worker puts in the place of its .git is not the project's repository: git there
// shows any file by a link, and writes another index. Nobody is granted git there.
func TestGitOfAnothersMaking(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(w *world, tree string){
		"a repository of its own": func(w *world, tree string) {
			w.git("tree", "init", "-q", ".")
			w.must(os.MkdirAll(filepath.Join(tree, ".git/objects/info"), 0o755))
			w.must(os.Symlink(filepath.Join(w.dir, "outside/secret"), filepath.Join(tree, ".git/objects/info/alternates")))
		},
		"the person's": func(w *world, _ string) { w.write("tree/.git", "gitdir: "+filepath.Join(w.dir, "root/.git")+"\n") },
		"another's": func(w *world, _ string) {
			w.git("root", "worktree", "add", "-q", "-b", "peer", "../treepeer")
			w.write("tree/.git", "gitdir: "+filepath.Join(w.dir, "root/.git/worktrees/treepeer")+"\n")
		},
		"another project's": func(w *world, _ string) {
			w.git(".", "init", "-q", "outside/other")
			w.write("tree/.git", "gitdir: "+filepath.Join(w.dir, "outside/other/.git")+"\n")
		},
		"one that names the tree": func(w *world, tree string) {
			w.git(".", "init", "-q", "outside/other")
			w.git("outside/other", "commit", "-q", "--allow-empty", "-m", "x")
			w.git("outside/other", "worktree", "add", "-q", "../../tree2")
			w.write("tree/.git", "gitdir: "+filepath.Join(w.dir, "outside/other/.git/worktrees/tree2")+"\n")
			w.write("outside/other/.git/worktrees/tree2/gitdir", filepath.Join(tree, ".git")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tree := filepath.Join(w.dir, "tree")
			if !w.granted("git status") || !w.leads("git -C "+tree+" status") {
				t.Fatal("git is not granted where all is well")
			}
			w.must(os.Remove(filepath.Join(tree, ".git")))
			put(w, tree)
			for _, text := range []string{"git status", "git log --oneline -3", "git show HEAD", "git diff"} {
				if w.granted(text) {
					t.Errorf("%q is granted to the worker", text)
				}
				for _, look := range []string{"git -C " + tree + strings.TrimPrefix(text, "git"), "cd " + tree + " && " + text} {
					if w.leads(look) {
						t.Errorf("%q is granted to the supervisor", look)
					}
				}
			}
		})
	}
}

// In a fence a worktree has a git directory of its own. What is granted elsewhere is granted
// there, and git that works elsewhere is not.
func TestGitInAFence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	of, err := separate.Find(filepath.Join(w.dir, "root/.git"), filepath.Join(w.dir, "tree"))
	w.must(err)
	w.must(of.Begin(t.Context()))
	for _, text := range []string{"git status", "git diff", "git add -A && git commit -q -m work", "git log --oneline -3"} {
		if !w.granted(text) {
			t.Errorf("%q is not granted", text)
		}
	}
	w.git("tree", "config", "core.worktree", filepath.Join(w.dir, "outside"))
	if w.granted("git add -A && git commit -q -m work") {
		t.Error("it is granted elsewhere")
	}
}

// leads reports whether a text is granted to a supervisor at the project's root.
func (w *world) leads(text string) bool {
	root := filepath.Join(w.dir, "root")
	p := places.Policy{Role: "review", Leads: true, Root: root, Beside: filepath.Join(w.dir, "tre"), Resolve: places.Follow, Linked: places.Linked,
		Machine: places.Here(root, append(w.env("bin"), "PATH="+filepath.Join(w.dir, "cmux")+":"+os.Getenv("PATH")))}
	return guard.Decide(p, guard.Call{Tool: "Bash", Input: object("command", text), Dir: root}).Verdict == guard.Grant
}

// A folder in the worktree that is called as an absolute path stands for nothing else,
// nobody formats a careful zone unasked, and no overlay has go format another file.
func TestFormatsNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tree := filepath.Join(w.dir, "tree")
	w.policy.Verify, w.policy.Linked = []string{"go test ./..."}, places.Linked
	for _, name := range []string{"src/deep/b.go", "src/careful/c.go", "top/t.go", "src/py/a.py"} {
		w.write("tree/"+name, "package  a\n")
	}
	w.must(os.MkdirAll(filepath.Join(tree, tree, "top"), 0o755))
	for _, text := range []string{"gofmt -w " + tree, "gofmt -w " + tree + "/", "gofmt -w " + tree + "/top", "gofmt -w " + tree + "/top/t.go"} {
		if w.granted(text) {
			t.Errorf("%q is granted", text)
		}
	}
	w.policy.Zones.Careful = []string{"src/careful/"}
	for text, want := range map[string]bool{"gofmt -w src/deep": true, "gofmt -w src/careful": false, "gofmt -w src/careful/c.go": false, "gofmt -w src": false, "go fmt ./src/...": false, "go fmt ./src/deep": true} {
		if got := w.granted(text); got != want {
			t.Errorf("%q: granted is %v", text, got)
		}
	}
	for _, env := range []string{"GOFLAGS=-overlay=" + tree + "/o.json", "GOENV=" + tree + "/env"} {
		w.policy.Machine = places.Here(tree, append(w.env("bin"), "PATH="+filepath.Join(w.dir, "cmux")+":"+os.Getenv("PATH"), env))
		if w.granted("go fmt ./src/deep") {
			t.Errorf("go fmt is granted with %s", env)
		}
	}
}

// go env asks the compiler for its options: one that an agent writes is not asked.
func TestAsksNoCompilerOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Verify = []string{"go test ./..."}
	tree, path := w.policy.Tree, os.Getenv("PATH")
	for env, want := range map[string]bool{
		"A=1": true, "CC=gcc -m64": true, "CC=/usr/bin/cc": true, "GOENV=off": true, "GOENV=" + w.dir + "/home/env": true,
		"PATH=" + path + ":" + tree + "/bin": false, "PATH=" + path + ":": false, "PATH=" + path + ":bin": false, "CC=" + tree + "/cc": false, "CC=./cc -O": false, "CC=ccache src/cc": false, "GOENV=" + tree + "/env": false,
	} {
		w.runsWith(env)
		for _, text := range []string{"go env", "go env GOGCCFLAGS"} {
			if got := w.granted(text); got != want {
				t.Errorf("%s: %q is granted: %v", env, text, got)
			}
		}
		if !w.granted("go list -m") {
			t.Errorf("%s: go list -m is not granted", env)
		}
	}
}

// A link that goes through /proc leads each program elsewhere: nothing is known of it.
func TestFollowsNoProc(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink("/proc/self/cwd/a", link); err != nil {
		t.Fatal(err)
	}
	if to, err := places.Follow(link); err == nil && to != link {
		t.Errorf("it leads to %s", to)
	}
}
