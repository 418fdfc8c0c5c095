package guard_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/grant"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

var update = flag.Bool("update", false, "rewrite the table in the docs")

// TestDocs keeps the table of grants in the docs as the code has it.
func TestDocs(t *testing.T) {
	const (
		page  = "../../../docs/grants.md"
		begin = "<!-- grants: made by go test ./agents/kinds/guard -update -->\n"
		end   = "<!-- end of grants -->\n"
	)
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	want := before + begin + grant.Grants() + end + after
	switch {
	case want == string(b):
	case *update:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("the table in %s is not what the code says; go test ./agents/kinds/guard -update rewrites it", page)
	}
}

const (
	root = "/p/shop"
	tree = "/p/shop-auth"
	peer = "/p/shop-catalog"
)

// links are the symbolic links of the table tests.
var links = map[string]string{
	tree + "/src/auth/out":   "/p/shop/src",
	tree + "/src/auth/types": tree + "/src/types",
	tree + "/src/auth/state": "/p/shop/.cmux",
	tree + "/secret":         "/h/.local/state/cmux",
	tree + "/docs":           tree + "/src/auth/docs",
}

// follow is a Resolve over links: a link before a ".." counts.
func follow(path string) (string, error) {
	if strings.HasPrefix(path, tree+"/loop") {
		return "", errors.New("too many symbolic links")
	}
	done := ""
	for _, name := range strings.Split(path, "/") {
		switch name {
		case "", ".":
		case "..":
			done = filepath.Dir("/" + done)
		default:
			done = strings.TrimSuffix(done, "/") + "/" + name
		}
		if to, ok := links[done]; ok {
			done = to
		}
	}
	return "/" + strings.TrimPrefix(done, "/"), nil
}

func builder() places.Policy {
	return places.Policy{
		Role: dag.RoleBuild, Root: root, Tree: tree, Peers: []string{tree, peer}, Branch: "feature/auth",
		Scope: []string{"src/auth/", "src/**/*_test.go"}, Context: []string{"src/types/"}, Resolve: follow,
	}
}

func reviewer() places.Policy {
	return places.Policy{Role: dag.RoleReview, Root: root, Peers: []string{tree, peer}, Resolve: follow}
}

func object(kv ...any) json.RawMessage {
	m := make(map[string]any)
	for i := 0; i < len(kv); i += 2 {
		m[kv[i].(string)] = kv[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// check compares a decision; want is empty for allow, or a part of the reason.
// What is granted is allowed too: TestGrants tells them apart.
func check(t *testing.T, got guard.Decision, verdict guard.Verdict, part string) {
	t.Helper()
	if got.Verdict == guard.Grant && verdict == guard.Allow {
		got.Verdict = guard.Allow
	}
	if got.Verdict != verdict || !strings.Contains(got.Reason, part) {
		t.Errorf("got %s %q, want %s with %q", got.Verdict, got.Reason, verdict, part)
	}
	if verdict == guard.Allow && got.Reason != "" {
		t.Errorf("allowed with a reason: %q", got.Reason)
	}
}

func TestWriteTools(t *testing.T) {
	noScope := builder()
	noScope.Scope = nil
	patch := "*** Begin Patch\n*** Update File: src/auth/a.go\n*** Move to: src/admin/a.go\n*** End Patch\n"
	for _, c := range []struct {
		tool   string
		input  json.RawMessage
		policy places.Policy
		want   string // part of the reason; empty: allowed
	}{
		{"Write", object("file_path", tree+"/src/auth/jwt.go"), builder(), ""},
		{"Write", object("file_path", "src/auth/new/deep/jwt.go"), builder(), ""},
		{"Edit", object("file_path", tree+"/src/admin/x_test.go"), builder(), ""},
		{"Edit", object("file_path", tree+"/src/admin/x.go"), builder(), "outside your scope (src/auth/, src/**/*_test.go)"},
		{"MultiEdit", object("file_path", tree+"/README.md"), builder(), "outside your scope"},
		{"NotebookEdit", object("notebook_path", tree+"/a.ipynb"), builder(), "a.ipynb is refused"},
		{"Write", object("file_path", tree+"/src/auth/../admin/x.go"), builder(), "outside your scope"},
		{"Write", object("file_path", "../shop/src/auth/x.go"), builder(), "project's own checkout"},
		{"Write", object("file_path", root+"/src/auth/x.go"), builder(), "project's own checkout"},
		{"Write", object("file_path", peer+"/src/auth/x.go"), builder(), "another agent's worktree"},
		{"Write", object("file_path", "/etc/passwd"), builder(), "outside your directory"},
		{"Write", object("file_path", "/p/shop-auth2/src/auth/x.go"), builder(), "outside your directory"},
		{"Write", object("file_path", tree+"/src/auth/out/x.go"), builder(), "which is /p/shop/src/x.go"},
		{"Write", object("file_path", tree+"/src/auth/out/../x.go"), builder(), "project's own checkout"},
		{"Write", object("file_path", tree+"/src/auth/types/t.go"), builder(), "outside your scope"},
		{"Write", object("file_path", tree+"/src/auth/state/signals/auth.done"), builder(), "cmux's own state"},
		{"Write", object("file_path", tree+"/docs/a.md"), builder(), ""},
		{"Write", object("file_path", tree+"/loop/a.md"), builder(), "cannot be told"},
		{"Write", object("file_path", root+"/.cmux/signals/auth.done"), builder(), "never by a file"},
		{"Write", object("file_path", tree+"/.cmux/x"), noScope, "cmux's own state"},
		{"Write", object("file_path", tree+"/.CMUX/x"), noScope, "cmux's own state"},
		{"Write", object("file_path", tree+"/.git"), noScope, "git's own state"},
		{"Write", object("file_path", tree+"/vendor/x/.git/config"), noScope, "git's own state"},
		{"Write", object("file_path", tree+"/.gitignore"), noScope, ""},
		{"Write", object("file_path", tree+"/.github/workflows/ci.yml"), noScope, ""},
		{"Write", object("file_path", tree+"/src/types/t.go"), noScope, "may read but not change src/types/"},
		{"Write", object("file_path", tree+"/anything"), noScope, ""},
		{"Write", object("file_path", "a\x00b"), builder(), "no file name"},
		{"Write", object("content", "no path"), builder(), ""},
		{"Write", json.RawMessage(`{`), builder(), ""},
		{"Read", object("file_path", "/etc/passwd"), builder(), ""},
		{"apply_patch", object("input", patch), builder(), "src/admin/a.go is refused"},
		{"apply_patch", json.RawMessage(`"*** Begin Patch\n*** Add File: src/auth/a.go\n*** End Patch"`), builder(), ""},
		{"apply_patch", json.RawMessage(`"*** Begin Patch\n*** Delete File: go.mod\n*** End Patch"`), builder(), "go.mod is refused"},
		{"fileChange", json.RawMessage(`{"changes":[{"path":"src/auth/a.go","kind":{"type":"update","move_path":"b.go"}}]}`), builder(), "b.go is refused"},
		{"fileChange", json.RawMessage(`{"changes":{"/p/shop-auth/b.go":{"type":"add"},"/p/shop-auth/src/auth/a.go":{}}}`), builder(), "b.go is refused"},
		{"WriteFile", object("path", tree+"/main.go"), builder(), "main.go is refused"},
		{"StrReplaceFile", object("path", tree+"/src/auth/main.go"), builder(), ""},
		{"mcp__filesystem__write_file", object("path", "/etc/x"), builder(), "outside your directory"},
		{"mcp__filesystem__move_file", object("source", "src/auth/a", "destination", "b"), builder(), "b is refused"},
		{"mcp__other__task", object("isolation", "worktree"), builder(), ""},
		{"Task", object("isolation", "worktree"), builder(), "without isolation"},
		{"Agent", object("prompt", "x"), builder(), ""},
		{"EnterWorktree", object(), builder(), "manages the worktrees"},
		{"Write", object("file_path", "/tmp/x"), reviewer(), "change nothing in this task"},
		{"Edit", object("file_path", root+"/a.go"), reviewer(), "Describe the change"},
		{"apply_patch", object("input", ""), reviewer(), "change nothing"},
		{"Read", object("file_path", root+"/a.go"), reviewer(), ""},
	} {
		t.Run(c.tool+" "+string(c.input), func(t *testing.T) {
			verdict := guard.Allow
			if c.want != "" {
				verdict = guard.Deny
			}
			check(t, guard.Decide(c.policy, guard.Call{Tool: c.tool, Input: c.input, Dir: c.policy.Tree}), verdict, c.want)
		})
	}
}

// shellRow is a command; want is a part of the reason, empty: allowed.
type shellRow struct{ command, want string }

func runShell(t *testing.T, p places.Policy, rows []shellRow) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.command, func(t *testing.T) {
			verdict := guard.Allow
			if r.want != "" {
				verdict = guard.Deny
			}
			check(t, guard.Decide(p, guard.Call{Tool: "Bash", Input: object("command", r.command), Dir: p.Tree}), verdict, r.want)
		})
	}
}

// A function of the script hides no program.
func TestShellFunctions(t *testing.T) {
	runShell(t, builder(), []shellRow{
		{"git() { command git -c a=b \"$@\"; }; git stash", "stash"}, {"git() { :; }; command git stash", "stash"}, {"(git() { :; }); git stash", "stash"}, {"git() { :; }; unset -f git; git stash", "stash"}, {"f() { git \"$@\"; }; f stash", "stash"},
		{"f() { git \"$@\"; }; f status", ""}, {"f() { f; }; f", ""},
	})
}

func TestShell(t *testing.T) {
	runShell(t, builder(), []shellRow{
		// What work needs.
		{"go test ./... && git add -A && git commit -m 'x; git stash'", ""},
		{"echo git stash", ""}, {"git log --grep='git worktree add'", ""}, {"# git stash\nls", ""},
		{`git commit -m "use $(cat msg) git gc"`, ""}, {"git push -u origin feature/auth", ""},
		{"git push --force-with-lease origin HEAD", ""}, {"git push", ""}, {"git push origin HEAD:feature/auth", ""},
		{"git branch", ""}, {"git branch -vv --contains HEAD", ""}, {"git branch backup", ""}, {"git tag", ""}, {"git tag -l", ""}, {"git config user.name", ""}, {"git config --get-regexp x", ""}, {"git config -f .gitmodules a.b", ""}, {"git remote -v", ""}, {"git remote get-url origin", ""},
		{"git checkout -- src/auth/a.go", ""}, {"git checkout HEAD~1 -- a", ""}, {"git checkout main src/a.go", ""},
		{"git checkout .", ""}, {"git checkout go.mod", ""}, {"git checkout feature/auth", ""}, {"git switch feature/auth", ""},
		{"git stash list", ""}, {"git worktree list --porcelain", ""}, {"git reflog", ""}, {"git reset --hard HEAD~1", ""},
		{"git fetch origin && git rebase origin/main", ""}, {"git fetch origin main", ""}, {"git symbolic-ref HEAD", ""},
		{"git merge main", ""}, {"git clean -fdx", ""}, {"git -c user.name=x commit -m y", ""}, {"git stash --help", ""},
		{"git update-ref refs/heads/feature/auth HEAD~1", ""}, {"git bisect start", ""}, {"git -c a.b=c config user.name", ""},
		{"rm -rf node_modules build/", ""}, {"rm -rf *", ""}, {"sed -i s/a/b/ src/auth/*.go", ""}, {"echo x > src/admin/a.go", ""},
		{"make 2>&1 | tee /tmp/log", ""}, {"cat .cmux/config.yml", ""}, {"cp .cmux/config.yml /tmp/", ""}, {"ls /p/shop/.cmux/signals", ""},
		{"sed -i 's/.git/x/' README.md", ""}, {"touch .gitignore", ""}, {"grep -r tmux kill-server .", ""},
		{"cmux done 'All good; git stash removed'", ""}, {"cmux blocked why", ""}, {"cmux hook Stop </dev/null", ""}, {"cmux agents status --json", ""},
		{"cmux --help", ""}, {"cmux agents retry --help", ""},
		{"tmux -L mytest kill-server", ""}, {"kill 1234", ""}, {"kill -1 1234", ""}, {"pkill -f 'vite dev'", ""},
		{"cd /tmp/x && git init && git stash && rm -rf .git", ""}, {"git -C /tmp/x stash", ""}, {"GIT_DIR=/tmp/x/.git git gc", ""},
		{`cd "$(mktemp -d)" && git stash`, ""}, {"$GIT stash", ""}, {`eval "$CMD"`, ""}, {"bash script.sh", ""}, {"git $SUB", ""},
		{`rm -rf "$DIR"`, ""}, {`rm -rf "$DIR"/.cmux`, ""}, {"command -v git stash", ""}, {"(cd /tmp/x; git stash)", ""},
		{"if true; then echo 'unclosed", ""}, {"", ""}, {"docker run --rm x git gc", ""},

		// What reaches others.
		{"git stash", "Commit to your branch instead"}, {"git stash push -m x", "stash"}, {"git   stash pop", "stash"}, {"git 'stash'", "stash"},
		{`g\it st"as"h`, "stash"}, {"true && git stash; ls", "stash"}, {"false || git stash", "stash"}, {"ls | git stash", "stash"}, {"(git stash)", "stash"},
		{"{ git stash; }", "stash"}, {"echo $(git stash)", "stash"}, {"echo `git stash`", "stash"}, {`echo "x $(git stash)"`, "stash"},
		{"cat <(git stash)", "stash"}, {"if git stash; then :; fi", "stash"}, {"for i in 1 2; do git stash; done", "stash"}, {"while git stash; do :; done", "stash"},
		{"f() { git stash; }; f", "stash"}, {"FOO=1 git stash", "stash"}, {"env A=1 git stash", "stash"}, {"env -i -u X PATH=/bin git stash", "stash"},
		{"env -S 'git stash'", "stash"}, {"sudo -u bob git stash", "stash"}, {"command git stash", "stash"}, {"exec git stash", "stash"}, {"nohup git stash &", "stash"},
		{"time git stash", "stash"}, {"timeout -k 5 10s git stash", "stash"}, {"nice -n 5 git stash", "stash"}, {"xargs -n 1 git stash", "stash"},
		{"find . -name x -exec git stash \\;", "stash"}, {"sh -c 'git stash'", "stash"}, {"bash -lc \"cd src && git stash\"", "stash"}, {"bash -c \"bash -c 'git stash'\"", "stash"},
		{"bash -o pipefail -c 'git stash'", "stash"}, {"bash <<'EOF'\ngit stash\nEOF", "stash"}, {"sh <<< 'git stash'", "stash"}, {"eval git stash", "stash"}, {"eval 'git stash'", "stash"},
		{"/usr/bin/git stash", "stash"}, {"git -C src stash", "stash"}, {"git -C src -c a.b=c --no-pager stash", "stash"}, {"git --git-dir=/p/shop/.git stash", "stash"},
		{"git -C /p/shop stash", "stash"}, {"cd /p/shop && git stash", "stash"}, {"cd /tmp/x || exit 1; cd /p/shop-catalog; git stash", "stash"}, {"(cd /tmp/x); git stash", "stash"},
		{`cd "$(git rev-parse --show-toplevel)" && git stash`, "stash"}, {`cd "$PWD" && git stash`, "stash"}, {"cd $CMUX_ROOT && git stash", "stash"},
		{"git -c alias.s=stash s", "stash"}, {"git -c 'alias.s=!git stash' s", "stash"}, {"D=stash; git $D", "stash"}, {"ls\ngit stash\n'", "stash"}, {"! git stash", "stash"},
		{"flock /tmp/l git stash", "stash"}, {"flock /tmp/l -c 'git stash'", "stash"}, {"coproc git stash", "stash"}, {"watch -n 1 'git stash'", "stash"},
		{"git worktree add ../x", "worktree add"}, {"git worktree remove --force ../shop-catalog", "manages the worktrees"}, {"git worktree prune", "worktree"},
		{"git gc --prune=now", "gc is refused"}, {"git prune", "prune is refused"}, {"git reflog expire --expire=now --all", "reflog expire"}, {"git repack -ad", "repack"}, {"git maintenance run", "maintenance"},
		{"git filter-branch -- --all", "filter-branch"},
		{"git branch -D feature/catalog", "branch is refused"}, {"git branch -d x", "branch"}, {"git branch --delete x", "branch"}, {"git branch --del x", "branch"}, {"git branch -m new", "branch"},
		{"git branch -f main HEAD", "branch"}, {"git branch -qD $B", "branch"}, {"git branch --force main", "branch"}, {"for b in a b; do git branch -D \"$b\"; done", "branch"},
		{"git branch | grep x | xargs git branch -D", "branch"}, {"git tag -d v1", "tag"},
		{"git push --force origin main", "only your own branch (feature/auth)"}, {"git push origin +main", "push"}, {"git push origin :main", "push"}, {"git push origin :feature/auth", "push"}, {"git push --delete origin x", "push"},
		{"git push --mirror", "push"}, {"git push origin HEAD:main", "push"}, {"git push origin feature/auth main", "push"}, {"git push -f origin HEAD:refs/heads/main", "push"}, {"git push --all", "push"},
		{"git checkout main", "git checkout -- PATH"}, {"git checkout -b other", "checkout"}, {"git checkout -", "checkout"}, {"git checkout --detach", "checkout"}, {"git checkout -f main", "checkout"}, {"git switch main", "switch"}, {"git switch -c x", "switch"}, {"git switch --detach HEAD", "switch"},
		{"git update-ref refs/heads/main HEAD", "update-ref"}, {"git update-ref -d refs/heads/feature/auth", "update-ref"}, {"git update-ref --stdin", "update-ref"}, {"git symbolic-ref HEAD refs/heads/main", "symbolic-ref"}, {"git fetch . +main:other", "fetch"},
		{"git -C /p/shop commit -m x", "project's own checkout"}, {"git -C ../shop-catalog reset --hard", "another agent's worktree"}, {"git --work-tree /p/shop add .", "own checkout"},
		{"tmux kill-server", "kill-server is refused"}, {"tmux kill-session -t x", "kill-session"}, {"tmux kill-ser", "kill-server"}, {"tmux new -d \\; kill-server", "kill-server"}, {"tmux -L cmux kill-server", "cmux's own server"}, {"tmux -Lcmux send-keys x", "cmux's own server"}, {"tmux -S /tmp/tmux-0/cmux list-panes", "cmux's own server"}, {"tmux -S /tmp/tmux-0/default kill-server", "kill-server"},
		{"pkill tmux", "process id"}, {"pkill -f claude", "process id"}, {"killall -9 cmux", "process id"}, {"kill -9 -1", "every process"},
		{"cmux agents stop", "steered by a person"}, {"cmux agents override auth", "agents override"}, {"./bin/cmux agents retry x", "agents retry"}, {"cmux stop", "cmux stop"}, {"cmux mailbox retry x", "steered"}, {"cmux mailbox send a x", ""}, {"cmux tasks assign t1 a", "steered"}, {"cmux tasks done t1", "steered"}, {"cmux tasks $X", "steered"},
		{"cmux tasks foo", "cmux tasks foo is refused: there is no such command. See `cmux tasks --help`"}, {"cmux frobnicate", "no such command. Of `cmux` you have blocked, done, output. See `cmux --help`"}, {"cmux --help", ""}, {"cmux completion bash", ""}, {"cmux help tasks", ""},
		{"cmux journal add x y", ""},

		// State and the places of others.
		{"touch /p/shop/.cmux/signals/catalog.done", "cmux's own state"}, {"echo 0 > /p/shop/.cmux/signals/auth.done", "never by a file"}, {"echo 0 >> ../shop/.cmux/signals/auth.done", ".cmux"},
		{"echo 0 | tee -a $CMUX_ROOT/.cmux/signals/auth.done", ".cmux"}, {"rm -rf /p/shop/.cmux", ".cmux"}, {"rm -f ../shop/.cmux/signals/*.done", ".cmux"}, {"mv /p/shop/.cmux /tmp", ".cmux"}, {"cp x /p/shop/.cmux/signals/a.done", ".cmux"}, {"cp -t /p/shop/.cmux x", ".cmux"},
		{"ln -s /dev/null .cmux/x", ".cmux"}, {"mkdir -p .cmux/signals", ".cmux"}, {"dd if=/dev/zero of=.cmux/x", ".cmux"}, {"sed -i s/1/0/ /p/shop/.cmux/signals/a.done", ".cmux"}, {"perl -pi -e s/1/0/ .cmux/x", ".cmux"}, {"truncate -s 0 .cmux/x", ".cmux"}, {": > .cmux/x", ".cmux"}, {"echo x &> .cmux/x", ".cmux"}, {"install -m 644 x .cmux/", ".cmux"},
		{"cd /p/shop/.cmux && touch signals/a.done", ".cmux"}, {"find /p/shop/.cmux -name '*.done' -delete", ".cmux"}, {"find .cmux -exec rm {} +", ".cmux"}, {"D=/p/shop/.cmux; rm -rf $D/signals", ".cmux"}, {"for f in .cmux/signals/*; do rm \"$f\"; done", ".cmux"}, {"rm -rf .cm*", ".cmux"}, {"rm -rf .[a-z]*", "own state"}, {"touch .cmux/signals/$N.done", ".cmux"}, {"cd $X && rm -rf .cmux", ".cmux"},
		{"rm .git/index.lock", "git's own state"}, {"echo x > /p/shop/.git/HEAD", "git's own state"}, {"rm -rf /p/shop/.git/refs/heads/x", "git's own"}, {"echo x > src/auth/state/x", ".cmux"},
		{"rm -rf ../*", "lie in it"}, {"rm -rf /p", "lie in it"}, {"rm -rf /p/shop", "lie in it"}, {"rm -rf \"$PWD\"", "your whole worktree"}, {"chmod -R u+w .", "your whole worktree"}, {"chmod -R u+w ..", "lie in it"}, {"mv /p/shop-auth /tmp/", "your whole worktree"}, {"rm -rf /", "lie in it"},
		{"rm -rf ../shop-catalog", "another agent's worktree"}, {"echo x > /p/shop/main.go", "project's own checkout"}, {"cp a.go /p/shop/", "own checkout"}, {"echo x > src/auth/out/a.go", "own checkout"}, {"git mv .cmux x", ".cmux"}, {"git mv src/auth/a .git/hooks/pre-commit", "git's own state"}, {"cd src && git mv auth/a ../.git/hooks/pre-commit", "git's own state"}, {"git mv src/auth/a src/auth/out/x", "own checkout"}, {"git mv -- src/auth/a src/auth/state/x", ".cmux"}, {"git -C src mv auth/a auth/out/x", "own checkout"}, {"git mv src/auth/a src/auth/b", ""}, {"git mv -n src/auth/a .git/x", ""},
		{"git checkout-index -a --prefix=../shop/", "own checkout"}, {"git checkout-index --prefix=../shop/a- src/x", "own checkout"}, {"git checkout-index --prefix src/auth/out/ src/x", "own checkout"}, {"git checkout-index --prefix=/tmp/x/ -a", ""}, {"git clone . ../shop/x", "own checkout"}, {"git clone --depth 1 -b main x /tmp/x", ""}, {"git clone ../shop", ""}, {"git clone --depth 1 u ../shop-catalog/x", "another agent's worktree"}, {"git init ../shop/x", "own checkout"}, {"git init -b main src/auth/x", ""}, {"git merge-file ../shop/a b c", "own checkout"}, {"git merge-file -p ../shop/a b c", ""}, {"git merge-file src/auth/a b c", ""}, {"git interpret-trailers --in-place --trailer x ../shop/a", "own checkout"}, {"git interpret-trailers --trailer x ../shop/a", ""},
		{"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: other/a.go\n+x\n*** End Patch\nEOF", "outside your scope"}, {"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: src/auth/a.go\n+x\n*** End Patch\nEOF", ""},
	})
}

// What an agent's program takes orders from is a person's, wherever it lies, and
// so is what all worktrees share.
func TestOrders(t *testing.T) {
	p := builder()
	p.Scope, p.Context = nil, nil
	p.Machine = clean{env: map[string]string{"HOME": "/h", "CLAUDE_CONFIG_DIR": "/cfg/claude", "CODEX_HOME": "/cfg/codex", "QWEN_HOME": "/cfg/qwen"}}
	const orders, shared = "tells an agent's program", "all worktrees of the repository share"
	runShell(t, p, []shellRow{
		{"echo '{\"disableAllHooks\": true}' > .claude/settings.local.json", orders}, {"tee .claude/settings.json < x", orders}, {"cd .claude && touch settings.json", orders}, {"cd $X && echo x > .claude/settings.json", orders},
		{"echo x > .CLAUDE/Settings.json", orders}, {"echo x > ~/.claude/settings.json", orders}, {"echo x > $HOME/.claude/settings.json", orders}, {"echo x >> \"$HOME\"/.claude.json", orders}, {"cp x /cfg/claude/settings.json", orders}, {"cp x /cfg/qwen/settings.json", orders}, {"cp x $CLAUDE_CONFIG_DIR/settings.json", orders}, {"sed -i s/a/b/ $CODEX_HOME/config.toml", orders}, {"echo x > ~/.codex/config.toml", orders},
		{"mv x .mcp.json", orders}, {"ln -sf x .mcp.json", orders}, {"rm -rf .claude", orders}, {"mv other .claude", orders}, {"ln -s /tmp/x .claude", orders}, {"rm .claude/*", orders}, {"rm -rf /cfg/claude", orders}, {"git rm .mcp.json", orders}, {"git mv x .claude/settings.json", orders}, {"perl -pi -e 1 src/../.claude/settings.json", orders}, {"echo x > /etc/claude-code/managed-settings.json", orders}, {"(cd /tmp && echo x > /h/.claude/settings.json)", orders},
		{"claude mcp add x -- y", orders}, {"claude config set -g a b", orders}, {"codex mcp add x", orders},
		{"cat .claude/settings.json", ""}, {"mkdir -p .claude/skills/x", ""}, {"echo x > .claude/skills/x/SKILL.md", ""}, {"echo x > settings.json", ""}, {"echo x > src/config.toml", ""}, {"claude mcp list", ""}, {"rm -rf ~/x", ""}, {"cp .mcp.json /tmp/x", ""},

		{"git config core.hooksPath .hooks", shared}, {"git config --add a.b c", shared}, {"git config set a.b c", shared}, {"git config --local user.name x", shared}, {"git config --worktree a.b c", shared}, {"git config --unset a.b", shared}, {"git config -e", shared}, {"git config edit", shared}, {"git -C . config a.b c", shared}, {"cd src && git config a.b c", shared}, {"env git config a.b c", shared},
		{"git config --global core.hooksPath x", "a person's own configuration"}, {"cd /tmp/x && git config --global a.b c", "a person's own"}, {"git config --system a.b c", "a person's own"}, {"git config -f .git/config a.b c", "git's own state"}, {"git config --file=/p/shop/.git/config a.b c", "git's own state"},
		{"cd /tmp/x && git init && git config user.name x && git tag v1", ""}, {"git config -f /tmp/c a.b c", ""}, {"git -c user.name=x -c user.email=y commit -m z", ""},
		{"git remote add x /tmp/y", shared}, {"git remote set-url --push origin /tmp/y", shared}, {"git remote rm origin", shared}, {"git remote rename a b", shared}, {"git tag v1", shared}, {"git tag -a v1 -m x", shared}, {"git tag -f v1", shared}, {"git lfs install", shared},
		{"pre-commit install", "share its hooks"}, {"lefthook install", "share its hooks"}, {"npx husky init", ""}, {"husky install", "share its hooks"}, {"pre-commit run -a", ""}, {"cp x .git/hooks/pre-commit", "git's own state"}, {"ln -s ../x .git/hooks/pre-commit", "git's own state"},
		{"git push https://elsewhere/x feature/auth", "to a remote of the repository"}, {"git push ../other feature/auth", "to a remote"}, {"git push git@host:x HEAD", "to a remote"}, {"git -c remote.origin.pushurl=/x push", "another place"}, {"git -c url.x.insteadOf=y push origin feature/auth", "another place"}, {"git push --tags", "only your own branch"}, {"git push --repo=/x", "only your own"}, {"git push -u origin feature/auth", ""},
	})
	for path, want := range map[string]string{
		".claude/settings.json": orders, ".claude/settings.local.json": orders, "sub/.claude/settings.json": orders, ".mcp.json": orders, ".codex/config.toml": orders, "src/auth/../../.mcp.json": orders, "/cfg/claude/settings.json": orders,
		".claude/agents/a.md": "", "settings.json": "", ".vscode/settings.json": "",
	} {
		verdict := guard.Deny
		if want == "" {
			verdict = guard.Allow
		}
		check(t, guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: tree}), verdict, want)
	}
}

// The folder of a person's key is neither read nor written.
func TestPrivate(t *testing.T) {
	p := builder()
	p.Scope, p.Context = nil, nil
	p.Private = []string{"/h/.local/state/cmux"}
	p.Machine = clean{env: map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/h/.local/state"}}
	const key = "keeps a person's key"
	runShell(t, p, []shellRow{
		{"cat ~/.local/state/cmux/key", key}, {"cat /h/.local/state/cmux/key", key}, {"cat $HOME/.local/state/cmux/key", key}, {"cat \"$XDG_STATE_HOME\"/cmux/key", key},
		{"cd ~/.local/state/cmux && cat key", key}, {"cd ~/.local/state && cat cmux/key", key}, {"cd /h/.local; cd state; head -c9 cmux/key", key}, {"cat ~/.local/state/*/key", key}, {"cat ~/.local/state/c?ux/k*", key}, {"cat /h/x/../.local/state/cmux/key", key},
		{"cat < ~/.local/state/cmux/key", key}, {"x=~/.local/state/cmux; cat $x/key", key}, {"env -i cat ~/.local/state/cmux/key", key}, {"sh -c 'cat ~/.local/state/cmux/key'", key}, {"dd if=/h/.local/state/cmux/key", key}, {"grep --file=/h/.local/state/cmux/key x", key},
		{"python3 -c 'print(open(\"/h/.local/state/cmux/key\").read())'", key}, {"ln -s ~/.local/state/cmux here", key}, {"ln ~/.local/state/cmux/key here", key}, {"cp -r ~/.local/state/cmux /tmp/x", key}, {"cat " + tree + "/secret/key", key}, {"cat secret/key", key}, {"ls ~/.local/state/cmux", key},
		{"echo x > ~/.local/state/cmux/key", key}, {"rm -rf ~/.local/state/cmux", key}, {"rm -rf ~/.local/state", key}, {"mv ~/.local/state/cmux /tmp/x", key}, {"touch ~/.local/state/cmux/x", key}, {"find ~/.local/state/cmux -type f", key}, {"git --no-pager diff --no-index /dev/null ~/.local/state/cmux/key", key},
		{"cat ~/.local/state/other/key", ""}, {"ls ~/.local/state", ""}, {"cat key", ""}, {"cat src/cmux/key", ""}, {"mkdir -p ~/.local/share/cmux", ""}, {"cmux done 'the key in /h/.local/state/cmux is as it was'", ""}, {"git commit -m 'keep /h/.local/state/cmux/key secret'", ""}, {"grep -r key .", ""}, {"cat ~/.local/state/cmux2/key", ""},
	})
	for _, c := range []struct {
		tool  string
		input json.RawMessage
		want  string
	}{
		{"Read", object("file_path", "/h/.local/state/cmux/key"), key},
		{"Read", object("file_path", "secret/key"), key},
		{"Grep", object("pattern", ".", "path", "/h/.local/state/cmux"), key},
		{"Grep", object("pattern", ".", "path", "/h/.local"), key},
		{"Grep", object("pattern", "."), ""},
		{"Write", object("file_path", "/h/.local/state/cmux/key"), key},
		{"apply_patch", object("input", "*** Begin Patch\n*** Update File: /h/.local/state/cmux/key\n*** End Patch\n"), key},
		{"mcp__files__read_file", object("path", "/h/.local/state/cmux/key"), key},
		{"mcp__files__move_file", object("source", "/h/.local/state/cmux/key", "destination", "x"), key},
		{"Read", object("file_path", "/h/.local/state/other"), ""},
		{"Read", object("file_path", "src/key"), ""},
	} {
		verdict := guard.Deny
		if c.want == "" {
			verdict = guard.Allow
		}
		check(t, guard.Decide(p, guard.Call{Tool: c.tool, Input: c.input, Dir: tree}), verdict, c.want)
	}
}

// Who was given the task reports, nobody on their behalf.
func TestSubAgentDoesNotReport(t *testing.T) {
	for command, want := range map[string]string{
		"cmux done 'all good'": "that agent reports", "cd src && /r/bin/cmux blocked why": "that agent reports", "cmux agents status": "", "grep -rn 'cmux done' .": "",
	} {
		verdict := guard.Allow
		if want != "" {
			verdict = guard.Deny
		}
		check(t, guard.Decide(builder(), guard.Call{Tool: "Bash", Input: object("command", command), Sub: true}), verdict, want)
		check(t, guard.Decide(builder(), guard.Call{Tool: "Bash", Input: object("command", command)}), guard.Allow, "")
	}
}

func TestShellOfAReview(t *testing.T) {
	runShell(t, reviewer(), []shellRow{
		{"git diff main..x && git log -p && git show HEAD:a", ""}, {"go test ./... && go vet ./...", ""}, {"npm test && npm run build", ""}, {"git branch --list; git branch; git branch -a", ""}, {"git tag -l", ""},
		{"grep -rn x . > /tmp/out", ""}, {"cd /tmp/x && npm install && touch a && git commit -m x", ""}, {"sed -n 1,5p a", ""}, {"git apply --check x.patch", ""}, {"cargo fmt --check", ""}, {"gofmt -l .", ""}, {"git config --get user.name", ""}, {"git stash list", ""}, {"git add -n .", ""}, {"cmux done 'Looks fine'", ""}, {"git ls-files | xargs wc -l", ""}, {"yarn --version", ""}, {"echo x 2>/dev/null", ""}, {"git remote -v", ""},
		{"echo x > a.go", "change nothing in this task"}, {"rm a.go", "change nothing"}, {"mv a b", "change nothing"}, {"touch src/x", "change nothing"}, {"mkdir x", "change nothing"}, {"sed -i s/a/b/ a.go", "change nothing"}, {"cat > a <<EOF\nx\nEOF", "change nothing"}, {"ls | tee out", "change nothing"},
		{"git commit -am x", "change nothing"}, {"git checkout main", "change nothing"}, {"git checkout -- a", "change nothing"}, {"git reset --hard", "change nothing"}, {"git merge x", "change nothing"}, {"git rebase x", "change nothing"}, {"git push", "you have no branch to push"}, {"git add .", "change nothing"}, {"git branch x", "change nothing"}, {"git tag v1", "tag"}, {"git fetch", "change nothing"}, {"git config user.name x", "configuration"}, {"git apply x.patch", "change nothing"}, {"git clean -fdx", "change nothing"}, {"git stash", "stash"}, {"git restore a", "change nothing"},
		{"npm install", "change nothing"}, {"npm i x", "change nothing"}, {"pnpm add x", "change nothing"}, {"yarn", "change nothing"}, {"pip install -r r.txt", "change nothing"}, {"go mod tidy", "change nothing"}, {"go get x", "change nothing"}, {"cargo fmt", "change nothing"}, {"gofmt -w .", "change nothing"}, {"npx prettier --write .", ""}, {"prettier --write .", "change nothing"}, {"patch -p1 < x", "change nothing"}, {"black .", "change nothing"}, {"eslint --fix .", "change nothing"}, {"echo x > .cmux/x", ".cmux"}, {"echo x > /p/shop-auth/a", "another agent's"}, {"cd sub && echo x > a", "change nothing"},
	})
}

func TestShellTools(t *testing.T) {
	for _, c := range []struct {
		tool, input, want string
	}{
		{"shell", `{"command":["bash","-lc","git stash"]}`, "stash"},
		{"shell", `{"command":["git","stash"]}`, "stash"},
		{"shell", `{"command":["git","log"]}`, ""},
		{"exec_command", `{"cmd":"git stash"}`, "stash"},
		{"exec_command", `{"cmd":"git stash","workdir":"/tmp/x"}`, ""},
		{"exec_command", `{"cmd":"touch signals/x","workdir":"../shop/.cmux"}`, ".cmux"},
		{"commandExecution", `{"command":"git stash","cwd":"/p/shop-auth"}`, "stash"},
		{"Shell", `{"command":"git stash"}`, "stash"},
		{"Shell", `"git stash"`, "stash"},
		{"Shell", `[1]`, ""},
		{"Shell", ``, ""},
	} {
		t.Run(c.tool+c.input, func(t *testing.T) {
			verdict := guard.Allow
			if c.want != "" {
				verdict = guard.Deny
			}
			check(t, guard.Decide(builder(), guard.Call{Tool: c.tool, Input: json.RawMessage(c.input)}), verdict, c.want)
		})
	}
}

// A script that would grow without bound when run does not do so here.
func TestScriptsAreBounded(t *testing.T) {
	bombs := []string{
		"a=xxxxxxxxxxxxxxxx\n" + strings.Repeat("a=$a$a$a$a\n", 200) + "touch $a",
		strings.Repeat("(", 2000) + "git stash" + strings.Repeat(")", 2000),
		strings.Repeat("env ", 5000) + "git stash",
		strings.Repeat("$(", 500) + strings.Repeat(")", 500),
	}
	for _, b := range bombs {
		guard.Decide(builder(), guard.Call{Tool: "Bash", Input: object("command", b), Dir: tree})
	}
	check(t, guard.Decide(builder(), guard.Call{Tool: "Bash", Input: object("command", strings.Repeat("x", 2<<20)), Dir: tree}), guard.Deny, "to a file")
	check(t, guard.Decide(builder(), guard.Call{Tool: "Bash", Input: object("command", bombs[0]+"\ngit stash"), Dir: tree}), guard.Deny, "stash")
}

func TestInteractiveTools(t *testing.T) {
	question := json.RawMessage(`{"questions":[{"question":"Which colour?","header":"c","options":[{"label":"Red","description":"like fire"},{"label":"Blue"}]},{"question":"Why?"}]}`)
	headless := builder()
	headless.Headless = true
	for _, c := range []struct {
		tool    string
		input   json.RawMessage
		p       places.Policy
		verdict guard.Verdict
		want    string
	}{
		{"AskUserQuestion", question, headless, guard.Deny, "report `blocked`"},
		{"AskUserQuestion", question, builder(), guard.Ask, "(1 of 2) Which colour?\n  1. Red: like fire\n  2. Blue\n(2 of 2) Why?"},
		{"AskUserQuestion", object(), builder(), guard.Ask, "asks a question"},
		{"request_user_input", question, builder(), guard.Ask, "Which colour?"},
		{"EnterPlanMode", object(), headless, guard.Deny, "carry it out"},
		{"EnterPlanMode", object(), builder(), guard.Deny, "carry it out"},
		{"ExitPlanMode", object("plan", "1. x"), headless, guard.Deny, "carry it out"},
		{"ExitPlanMode", object("plan", "1. x"), builder(), guard.Ask, "1. x"},
		{"WebSearch", object("query", "x"), headless, guard.Allow, ""},
	} {
		check(t, guard.Decide(c.p, guard.Call{Tool: c.tool, Input: c.input, Dir: tree}), c.verdict, c.want)
	}
}

// Follow agrees with the system about links, also where nothing is there yet.
func TestFollow(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "a/file"), nil, 0o644))
	must(os.Symlink("a/b", filepath.Join(dir, "rel")))
	must(os.Symlink(filepath.Join(dir, "elsewhere/none"), filepath.Join(dir, "dangling")))
	must(os.Symlink("loop2", filepath.Join(dir, "loop")))
	must(os.Symlink("loop", filepath.Join(dir, "loop2")))
	for in, want := range map[string]string{
		"a/b": "a/b", "a/./b//c/d": "a/b/c/d", "rel/x": "a/b/x", "rel/../x": "a/x", "dangling": "elsewhere/none",
		"dangling/x": "elsewhere/none/x", "none/../x": "x", "a/file/x": "a/file/x", "rel": "a/b",
	} {
		got, err := places.Follow(dir + "/" + in)
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("Follow(%s) = %s, %v; want %s", in, got, err, want)
		}
	}
	for _, bad := range []string{dir + "/loop/x", "relative"} {
		if got, err := places.Follow(bad); err == nil {
			t.Errorf("Follow(%s) = %s, want an error", bad, got)
		}
	}
}

// The policy holds with real links, under a root that is itself reached by one.
func TestDecideOnDisk(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"real/shop/.cmux/signals", "real/auth/src"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"p": "real", "real/auth/src/out": "../../shop", "real/auth/src/new": "/nowhere/x"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := places.Policy{Role: dag.RoleBuild, Root: dir + "/p/shop", Tree: dir + "/p/auth", Scope: []string{"src/"}, Resolve: places.Follow}
	for path, want := range map[string]string{
		dir + "/p/auth/src/a.go":              "",
		dir + "/real/auth/src/deep/er/a.go":   "",
		dir + "/real/auth/b.go":               "outside your scope",
		dir + "/p/auth/src/out/a.go":          "project's own checkout",
		dir + "/p/auth/src/out/.cmux/signals": "cmux's own state",
		dir + "/p/auth/src/new":               "outside your directory",
	} {
		verdict := guard.Allow
		if want != "" {
			verdict = guard.Deny
		}
		check(t, guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: p.Tree}), verdict, want)
	}
}

// A denied write tool call always has a reason, nothing panics, and the same
// call gets the same answer.
func FuzzDecide(f *testing.F) {
	for _, s := range []string{"git stash", "rm -rf .cmux", "sh -c 'git -C x worktree'", "a=(1 2); ${a[0]} <<E\nx\nE", "tmux -L", "find . -exec", "git -c", "xargs -I", "sed -i -e", "env -S", "flock x -c", "watch x", "bash -c", "git push : +", "$'\\x41' >&2", "{a,b} ~/x", "${x:-$(git stash)}"} {
		f.Add("Bash", s, true, false)
		f.Add("Write", s, false, true)
	}
	f.Add("apply_patch", "*** Add File: \n*** Move to: ../x", true, true)
	f.Fuzz(func(t *testing.T, tool, text string, review, headless bool) {
		p := builder()
		if review {
			p = reviewer()
		}
		p.Headless = headless
		for _, in := range []json.RawMessage{json.RawMessage(text), object("command", text), object("file_path", text), object("input", text)} {
			c := guard.Call{Tool: tool, Input: in, Dir: p.Tree}
			d := guard.Decide(p, c)
			if asks := d.Verdict == guard.Deny || d.Verdict == guard.Ask; asks != (d.Reason != "") {
				t.Errorf("%s with the reason %q", d.Verdict, d.Reason)
			}
			if d != guard.Decide(p, c) {
				t.Error("not deterministic")
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	p := builder()
	c := guard.Call{Tool: "Bash", Input: object("command", "cd src && go test ./... 2>&1 | tail -20 && git add -A && git commit -m 'x'"), Dir: tree}
	b.ReportAllocs()
	for b.Loop() {
		guard.Decide(p, c)
	}
}

func TestQuestions(t *testing.T) {
	two := guard.Call{Tool: "AskUserQuestion", Input: object("questions", []any{
		map[string]any{"question": "Which?", "options": []any{map[string]any{"label": "Red", "description": "like fire"}, map[string]any{"label": "Blue", "description": "Blue"}}},
		map[string]any{"question": "How many?"},
	})}
	d := guard.Decide(builder(), two)
	want := question.Question{Parts: []question.Part{{Text: "Which?", Options: []string{"Red: like fire", "Blue"}}, {Text: "How many?"}}}
	if got := d.Question(two); d.Verdict != guard.Ask || !reflect.DeepEqual(got, want) || got.String() != d.Reason {
		t.Errorf("%+v: %+v", d, got)
	}
	for _, c := range []struct {
		call guard.Call
		want func(string, ...string) question.Question
	}{
		{guard.Call{Tool: "AskUserQuestion", Input: object("questions", "of another shape")}, question.New},
		{guard.Call{Tool: "ExitPlanMode", Input: object("plan", "1. do it")}, func(text string, _ ...string) question.Question { return question.Agree(text) }},
	} {
		d := guard.Decide(builder(), c.call)
		if got := d.Question(c.call); d.Verdict != guard.Ask || !reflect.DeepEqual(got, c.want(d.Reason)) {
			t.Errorf("%s: %+v: %+v", c.call.Tool, d, got)
		}
	}
}
