package guard_test

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/rights"
	"cmux/agents/testkit/agenttest/fuzzing"
)

// clean is a machine on which git starts nothing but itself.
type clean struct {
	env map[string]string
	top string
}

func (c clean) Env(name string) string { return c.env[name] }

func (clean) Program(name string) ([]string, bool) { return []string{"/usr/bin"}, true }

func (clean) Names(folder string) ([]string, error) {
	if strings.HasSuffix(folder, "/hooks") {
		return []string{"pre-commit.sample"}, nil
	}
	return nil, nil
}

func (clean) Exists(string) bool { return false }

func (clean) Public(path string) bool { return path == "/etc/hosts" || path == "/usr/include/stdio.h" }

func (clean) Text(path string) (string, error) {
	switch {
	case strings.HasSuffix(path, "/kept/a.go"):
		return "//go:build ignore\n\npackage x\n", nil
	case strings.HasSuffix(path, ".go"):
		return "package x\n", nil
	case path == "/p/shop/.git/worktrees/auth/gitdir":
		return tree + "/.git\n", nil
	}
	return "", fs.ErrNotExist
}

func (c clean) Git(_ string, args ...string) (string, error) {
	switch last := args[len(args)-1]; {
	case last == "*.go":
		return "main.go\x00src/auth/a.go\x00api/a.go\x00api/x/a.go\x00tool/a.go\x00tool/testdata/a.go\x00tool/_x/a.go\x00tool/kept/a.go\x00tool/os/a_linux.go\x00", nil
	case slices.Contains(args, "-C"):
		return ".git\n", nil
	case slices.Contains(args, "rev-parse"):
		return cmp.Or(c.top, tree) + "\n/p/shop/.git/hooks\n/p/shop/.git/worktrees/auth\n/p/shop/.git\n", nil
	case slices.Contains(args, "cat-file") && last != "tree0":
		return "commit\n", nil
	}
	return "", nil
}

// checked is the builder with checks.
func checked() places.Policy {
	p := builder()
	p.Machine = clean{}
	p.Verify = []string{"go test ./...", "make lint && make test", "cd sub && make", "printf 'a\\n'; ./check"}
	return p
}

func bash(command string) guard.Call {
	return guard.Call{Tool: "Bash", Input: object("command", command), Dir: tree}
}

func granted(p places.Policy, c guard.Call) bool { return guard.Decide(p, c).Verdict == guard.Grant }

func TestGrantedCommands(t *testing.T) {
	message := func(body string) string { return "git commit -m \"$(cat <<'EOF'\n" + body + "\nEOF\n)\"" }
	for _, command := range []string{
		"cmux done 'All good'", `cmux blocked "which one?"`, "cmux done -- x", `cmux done -- 'it'\''s done'`, "cmux done done\n", "cmux done x && cmux done y", "cmux done \"two\nlines\"", "cmux done -- --x",

		"git add -A", "git add .", "git add -u src/auth/a.go", "git add -- src/auth", "git add src/admin/x.go", "git add 'with blank'",
		"git commit -m 'x'", "git commit -qam x", `git commit -m "a" -m "b"`, "git commit --message=x", "git commit --message='x y'", "git commit -q --allow-empty -m work",
		message("Add it\n\nBecause."), message("It's \"done\" (really).\nAgain."), message("$HOME `id` don't (x)"), message(" a EOF\nb"), message("x") + " && git status --short", message("\n"), message("x \\"),
		"git commit -m \"$(cat <<'MSG'\nIt's $HOME (x)\nMSG\n)\"", "git commit -m \"$(cat <<EOF\nIt's plain.\nEOF\n)\"", "cmux done \"x\" && git commit -q -m \"$(cat <<'END'\nx\nEND\n)\" && git status",
		"git commit -F - <<'MSG'\nAdd `it` $HOME\n\n\\ \"why\"\nMSG", "git commit -q -F - <<EOF\nx (it's)\nEOF\ngit log -1", "git add -A && git commit -F - -a <<\"END\"\n$x\nEND\n", "git commit -a -F - <<-'EOF'\n\tx\n\tEOF\ngit status",
		"cat > src/auth/f <<EOF\nx\nEOF", "cat >> src/auth/f <<\"END\"\n$x\nEND", "cat <<-EOF >> src/auth/f\n\tx\n\tEOF\ngit status",
		"git add -A && git commit -q -m work", "git add -A; git commit -m 'x; git stash' || git status", "git add -A\ngit commit -m x\n", "git add -A  &&  git commit -m x",
		"git status", "git status -sb", "git status --porcelain=v2 -uno", "git diff", "git diff 'HEAD~1' -- src/auth", "git diff --stat main...HEAD", "git diff main..feature/auth",
		"git log --oneline -5", "git log -n 3 --format=%h", "git log --format='%h %s' main..HEAD", "git log -p -- src/auth", "git show HEAD:src/auth/a.go", "git show --stat 'HEAD^'",
		"git diff HEAD~1", "git diff HEAD~2 HEAD~1 --stat", "git log HEAD~3.. --oneline", "git log main~1..HEAD~1", "git show HEAD~1:src/auth/a.go", "git show HEAD~ --stat", "git diff HEAD~1 -- src/auth && git add -A", "echo about~10",
		"git show HEAD --stat", "git log main..HEAD --oneline", "git diff main --stat -- src", "git log HEAD -n 3 --format=%h", "git log -n5", "git log --date=short -3", "git diff HEAD --stat main", "head -n5 a", "ls -lah", "git branch --show-current", "git branch", "git branch -a", "git branch -vv --all", "git branch --list | head -3", "git --no-pager branch -v", "git worktree list", "git worktree list --porcelain | grep -c worktree", "git merge-base main HEAD", "git ls-files", "git ls-files src -- a", "git ls-files -- src/auth",
		"cat a && echo --- && cat b", "echo '--- b ---'", "for f in src/auth/a.go src/auth/b.go; do echo \"--- $f\"; cat \"$f\" | head -20; done",
		"git log --pretty=format:'%h %s' -5", "git log --pretty=format:\"%h - %an, %ar : %s\" -3", "git diff -U5 -- src", "git diff --color=never", "git log --since=yesterday --oneline", "git log --since='2 days ago' --author=a --grep='fix: x'", "git show --no-patch --format=%h HEAD", "git rev-list --count HEAD", "git rev-list --count main..HEAD", "git tag", "git tag -l", "git describe --tags --always", "diff -u src/auth/a.go src/auth/b.go", "diff -rq src api | head -3", "go list -m", "go env",
		"git stash list", "git --no-pager stash list", "for i in a; do ls; done", "for f in a b; do git show HEAD:$f | head -3; done", "for d in src api; do ls $d/auth; cat \"$d/a.go\"; done", "for d in ./src " + tree + "; do ls ${d}/auth; done", "for f in a.go b.go\ndo cat src/auth/$f; done && git status", "git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git --no-pager log",
		"git restore src/auth/a.go", "git restore --staged .", "git restore --source=1a2b3c --staged --worktree -- other/x.go", "git restore -s HEAD a", "git restore a && git status",
		"git rm -q stray", "git rm --cached src/auth/a.go",

		"echo x > src/auth/a.go", "mkdir -p src/auth/new && printf 'x\n' >> src/auth/new/a.go", "mkdir -p src/auth/new/deep", "mkdir src/auth/new", "mkdir x", "mkdir -p src/auth/a src/auth/b && git status", "mkdir -p " + tree + "/src/auth/new",

		"ls", "ls -la src", "cat src/auth/a.go", "cat " + tree + "/README.md", "head -20 a", "head -n 5 a", "tail -n 5 a", "wc -l a", "pwd", "cat a | head -3",
		"echo hello", "echo 'a b' \"c's\"", "ls 2>&1", "ls missing 2>/dev/null", "ls > /dev/null 2>&1 || echo no",
		"cd " + tree + " && git add -A && git commit -m x", "cd " + tree, "cd " + tree + "; git status", "cd " + tree + "\ngit status",

		"pwd; cd " + tree + "/src && ls", "cd " + tree + "/src/auth && ls && cat a.go", "pwd && cd " + tree + " && git status", "git status; cd ./src && ls | head -3", "cd ./src && cat ../README && cd " + tree + " && git log -1", "cd ./src/auth && echo x > f", "cd " + tree + "/sub", "cd ./src", "git status || ls && cd ./src && ls",
		"mkdir -p src/auth/new && cd ./src/auth/new && echo x > f", "ls; cd " + tree + " && go test ./...", "cd ./src 2>/dev/null && ls",

		"go test ./...", "go test ./... && git commit -m x", "go test ./... 2>&1 | tail -20", "make lint && make test", "cd sub && make", "printf 'a\\n'; ./check", "  go test ./...\n",

		// Parts of what they print, and of what a check runs.
		"go test", "go test .", "go test ./api", "go test -v -run TestX ./api/...", "go test ./api/ -run 'TestX|TestY' -count=1 -race 2>&1 | tail -5", "go test ./... -timeout 60s", "go build ./...", "go vet ./... && go test ./...", "go build ./... && go test ./... 2>&1 | grep -v 'no test files'", "go list ./...", "go doc ./api", "go version", "go env GOVERSION", "gofmt -l .", "gofmt -l src/auth",
		"make lint", "make test", "make -s lint && make -j4 test 2>&1 | tail", "make lint && make test 2>&1 | tail -20", "cd sub && make 2>&1 | tail -20", "cd sub && make | grep -n warning | head -5", "cd " + tree + " && cd sub && make", "cd " + tree + " && cd sub && make 2>&1 | tail -3", "cd sub && make; echo $?", "go test ./... ; echo \"exit: $?\"", "cd sub && make 2>&1 | tail -5; echo \"exit $?\"", "go vet ./...; echo exit=$?", "cd " + tree + " && go test ./api 2>&1 | tail -3; echo \"EXIT: $?\"", "git status\necho $?",
		"git checkout -- src/auth/a.go", "git checkout -q -- src/auth/a.go a && git status", "head -c 100 a", "tail -c20 a", "ls -R", "ls -R src | head", "ls -R -1 src", "tree", "tree -L 2 src", "tree src -L 2 -d -I 'node_modules|dist'",
		"find . -name '*.go'", "find src -type f -name '*_test.go' -not -path '*/vendor/*' | head -20", "find . -maxdepth 2 -type d", "find src api -iname 'a*' -print", "grep -rn x src --include='*.go'", "grep -r --include='*.go' x src -n -i | head -3", "grep x -r .",
		"time go test ./...", "time go test ./api -run X 2>&1 | tail -5", "timeout 60 go test ./...", "timeout 2m go vet ./... && time timeout 90s go test ./api", "GOFLAGS=-count=1 go test ./...", "GOFLAGS=-race go test ./api | tail -3", "git status && GOFLAGS=-v go test ./...", "time make lint && time make test", "timeout 300 make lint; echo $?", "cd ./src && time go test .",
		"echo $CMUX_PORT_BASE", "echo \"$CMUX_NODE\" \"$CMUX_BRANCH\" && git status", "echo ${CMUX_PORT_BASE} | cat",
		"sleep 5; cmux done x", "sleep 600 && git status", "sleep 0",
		"which go", "which go gofmt", "which -a python3", "command -v go", "type go", "type -a go make", "which go; go version", "which go && go version", "command -v go >/dev/null 2>&1 || echo none", "for p in go make; do command -v $p; done",
		"sed -n 1p a", "sed -n '1,40p' src/auth/a.go", "sed -n '1p;5,$p' a", "git log --oneline | grep -c x", "cat a | grep -n -A 3 'x.*y'", "grep -n TODO src/auth/a.go", "git diff --name-only | sort | uniq -c", "uniq", "sort -rn", "git log --oneline | sed -n 1,5p", "grep -rn 'a.*b' src", "grep -nr x .", "grep -rl -i x src README", "grep -rn --include='*.go' x src/auth | head -5",
	} {
		t.Run(command, func(t *testing.T) {
			if d := guard.Decide(checked(), bash(command)); d.Verdict != guard.Grant {
				t.Errorf("%s %q", d.Verdict, d.Reason)
			}
		})
	}
}

func TestCommandsThatAreNotGranted(t *testing.T) {
	for _, command := range []string{
		"", " ", "touch made", "mkdir", "mkdir -p", "mkdir -m 777 src/auth/x", "mkdir -pv src/auth/x", "mkdir --parents src/auth/x", "mkdir -p src/auth/.git", "mkdir -p src/auth/.git/hooks", "mkdir -p .git/hooks", "mkdir -p .claude", "mkdir -p src/auth/.claude/skills", "mkdir -p .cmux/x", "mkdir ../x", "mkdir -p src/auth/../../../x", "mkdir -p src/auth/out/x", "mkdir /tmp/x", "mkdir -p src/auth/{a,b}", "mkdir -p $X", "mkdir src/auth/*", "mkdir -p .", "mkdir -p src/auth/.husky", "cd src && mkdir auth/x", "mkdir -p 'src/auth/git~1'", "./mkdir src/auth/x", "rm a", "make", "./check", "npm install", "python3 -c 1", "curl x", "true; make", "ls && touch x", "touch x | ls", "exec ls", "command ls", "env ls", "time ls", "eval ls", "source a", ". a", "xargs ls", "nohup ls", "sudo ls", "test -v 'a[$(x)]'", "[ -f a ]", "[[ -f a ]]", "let x=1", "sleep", "sleep 601", "sleep 1000", "sleep 1h", "sleep inf", "sleep 5 5", "sleep -5", "sleep 007", "sleep $X", "sleep 5 & ls", "awk 1 a", "find . -exec rm {} +",
		"cmux", "cmux agents status", "cmux --x done y", "./cmux done x", "/tmp/cmux done x", "cmux done $(x)", `cmux done "$(x)"`, "cmux done `x`", `cmux done "$X"`, "cmux done $X", "cmux done *", "cmux done {a,b}", "cmux done ~", "cmux done =ls", "cmux done x # y", "cmux done x &", "cmux done x; x", "cmux done <(x)", "cmux done $'x'", "cmux done $\"x\"", "cmux done \"$(cat <<EOF\n$(x)\nEOF\n)\"", "cmux done \"$(cat a)\"", "cmux done \"$(cat <<'EOF'\nx\nEOF\nrm a)\"", "cmux done \"$(cat <<'EOF' > b\nx\nEOF\n)\"", "cmux done \"$(A=1 cat <<'EOF'\nx\nEOF\n)\"", "cmux done $(cat <<'EOF'\nx\nEOF\n)",

		"A=1", "A=1 git status", "GIT_DIR=x git status", "PATH=. ls", "export A=1", "declare A=1", "GIT_EXTERNAL_DIFF=./x git diff", "git() { x; }; git status", "alias git=x", "if true; then ls; fi", "for i in a; do touch i; done", "while true; do ls; done", "case a in a) ls;; esac", "(ls)", "{ ls; }", "coproc ls", "ls &", "trap ls EXIT", "set -x", "printf -v PATH x", "printf -- x", "read A", "mapfile A", "cd", "cd -", "cd ..", "cd ~", "cd /", "cd /tmp && ls", "cd src/.. && git status", "cd src/auth/out && ls", "pushd src", "$GIT status", "g\"i\"t $X",

		"git", "git -c core.pager=x log", "git -c alias.s=x s", "git --git-dir=/x status", "git --work-tree=/ status", "git -C /p/shop status", "git -C .. status", "git -C src status", "git --exec-path=. status", "git -p log", "git --paginate log", "git --config-env=a=B log", "git --namespace=x status", "cd src && git status", "cd src; git status", "git s", "git foo", "/usr/bin/git status", "./git status",
		"git push", "git pull", "git fetch", "git checkout .", "git reset --hard", "git clean -fd", "git branch x", "git stash", "git stash list -p", "git stash list x", "git stash list --output=x", "git stash show", "git stash pop", "git -c core.pager=x stash list", "git stash list > x", "for f in link; do cat src/auth/out/$f; done", "for f in x; do cat ../$f; done", "for f in passwd; do cat /etc/$f; done", "git config a.b c", "git grep -Ox y", "git bisect run x", "git rebase -x y", "git merge main", "git apply x", "git submodule foreach x", "git difftool", "git ls-remote", "git help log", "git log --help", "git update-index --add x", "git tag x", "git archive HEAD", "git hash-object -w x", "git notes add",
		"git diff --output=x", "git diff --outpu=x", "git diff --ext-diff", "git diff --textconv", "git diff --no-index /etc/passwd /dev/null", "git diff /etc/passwd /dev/null", "git diff ../shop/a b", "git diff -O/etc/x", "git diff -U /etc/passwd src/a", "git log --output=x", "git log --show-signature", "git show --output x", "git show -- /etc/passwd", "git show -- src/auth/out", "git log --exec=x", "git log -- :/", "git rev-parse --parseopt", "git diff .git/../../x",
		"git diff ~1", "git diff ~/a", "git diff ~root", "git diff HEAD ~", "git diff HEAD:~1", "git diff HEAD:~/a", "git log --format=~root", "git log --format=a~b", "git diff HEAD~~", "git diff HEAD-~1", "git diff HEAD~$X", "git diff HEAD~*", "git diff HEAD~{1,2}", "git diff HEAD~1^", "git diff a/b~1", "git diff HEAD~1:../x", "git diff '~'root", "cat a~1", "cat src/auth/a~root", "ls git~1", "git add git~1", "mkdir -p src/auth/git~1", "echo x > src/auth/git~1", "A=a~b", "for f in HEAD~1; do git show $f; done", "git restore -s HEAD~1:src a", "HEAD~1", "git~1 status",
		"git show HEAD --output=x", "git log HEAD --ext-diff", "git log main -n x", "git diff main --no-index a", "git diff HEAD -Ox", "git log HEAD --stat -- :x", "git add a -A -f", "git restore a --staged", "git log --pretty=format:$X", "git log --pretty=format:~root", "git log --pretty=format:'%G?'", "git log --pretty=format:'%(trailers)'", "git log --pretty=x:y:'%h'", "git log --pretty='format:'%h", "git log --pretty=format:'%h'x", "git log --pretty=format:~'%h'", "git log --pretty==format:'%h'", "git diff -U", "git diff -Ux", "git diff -U5x", "git diff --color=always", "git diff --color-words", "git log --since yesterday", "git log --since=-n --output=x", "git log --author=$X", "git log --author=`x`", "git log --grep=x --output=y", "git log --grep", "git log -G x", "git log -S x", "git rev-list HEAD", "git rev-list --all", "git rev-list --count", "git rev-list --count --stdin", "git rev-list --count --all", "git rev-list --count HEAD --use-bitmap-index", "git rev-list --count -- /etc", "git tag v1", "git tag -d v1", "git tag -l v1", "git tag -n v1", "git tag -a -m x v1", "git tag -s v1", "git tag -v v1", "git tag --sort=x", "git tag --format=x", "git tag --list --delete v1", "git describe --dirty", "git describe HEAD", "git describe --broken", "git describe --match=x",
		"diff a", "diff a b c", "diff -l a b", "diff a /etc/passwd", "diff ../x a", "diff src/auth/out a", "diff .git/config a", "diff --output=x a b", "diff --from-file=/etc/passwd a", "diff -x /etc a b", "diff -X /etc/x a b", "diff --to-file=a b c", "diff - a", "diff a b > c", "diff <(ls) a", "diff -S x a b", "diff --line-format=x a b", "diff a *", "go test ./... && diff a b",
		"touch", "touch src/admin/x", "touch a.go", "touch -t 1 src/auth/x", "touch -r a src/auth/x", "touch -c src/auth/x", "touch -m src/auth/x", "touch -d now src/auth/x", "touch -- src/auth/x", "touch src/auth/", "touch src/auth/.env", "touch src/auth/.git", "touch src/auth/.claude/x", "touch .mcp.json", "touch ../x", "touch /tmp/x", "touch src/auth/../x", "touch src/auth/out/x", "touch src/auth/*", "touch $X", "touch src/auth/{a,b}", "touch src/auth/a src/admin/b", "touch src/auth/x src/auth/x", "touch 'src/auth/git~1'", "touch src/auth/x > src/auth/y", "go test ./... && touch src/auth/x", "git add -A && touch src/auth/x", "for f in a; do touch src/auth/$f; done", "echo x > src/auth/f && touch src/auth/f", "go list -m all", "go list -m -u", "go list -m -json", "go list -m -mod=mod", "go env -u X", "go env -json", "go env -changed",
		"git branch x", "git branch -v x", "git branch --list x", "git branch -a --list 'x*'", "git branch -d x", "git branch -D x", "git branch -m x", "git branch -M x", "git branch -c x", "git branch -f x", "git branch -u x", "git branch --set-upstream-to=x", "git branch --unset-upstream", "git branch --edit-description", "git branch --track x", "git branch -t x", "git branch --format=x", "git branch --sort=x", "git branch --column", "git branch -vd x", "git branch --delete x", "git branch --create-reflog x", "git branch -a > x", "git -c core.pager=x branch", "git worktree", "git worktree add x", "git worktree list x", "git worktree prune", "git worktree remove x", "git worktree repair", "git worktree lock x", "git worktree move x y", "git worktree list --porcelain -z x", "git worktree list --expire=now", "git branch --show-current x", "git branch -d --show-current x", "git branch --show-current -D x", "git merge-base HEAD", "git merge-base main HEAD --x", "git merge-base --fork-point main", "git ls-files -o", "git ls-files --with-tree=x", "git ls-files -X/etc/passwd", "git ls-files /etc", "git ls-files :/", "echo -e x", "echo --", "echo --x", "echo --- $X", "printf ---", "cat ---", "cmux done ---", "for f in ../x; do cat $f; done", "for f in /etc/passwd; do cat $f; done", "for f in etc/passwd; do cat /$f; done", "for f in a/../../x; do cat $f; done", "for f in src/auth/out/x; do cat $f; done", "for f in src/auth/a; do cat $f; done > x",
		"git add -f a", "git add -p", "git add -e", "git add -i", "git add --chmod=+x a", "git add --pathspec-from-file=/x", "git add /etc/passwd", "git add ../x", "git add :/", "git add .git", "git add src/*.go", "git add src/auth/out/x",
		"git commit", "git commit -a", "git commit --amend", "git commit -n -m x", "git commit --no-verify -m x", "git commit -e -m x", "git commit -C HEAD", "git commit -c HEAD", "git commit -S -m x", "git commit -F /etc/passwd", "git commit -F ../x", "git commit --template=x -m y", "git commit --mess=x", "git commit --author=x -m y", "git commit -m \"$(x)\"", "git commit -m `x`", "git commit -m x ../y", "git commit -m x -- /p/shop/y", "git commit --fixup=HEAD", "git commit --file", "git commit -m",
		"git restore ../x", "git restore .git", "git restore --source=../x a", "git restore -p a", "git restore --pathspec-from-file=x", "git rm -r .", "git rm -rf a", "git rm -f a", "git rm 'x*'", "git rm .claude/settings.json", "git rm .cmux/x", "git mv a.go .claude", "git mv src/auth/a.go .husky/pre-commit", "git mv src/auth/a.go src/admin/b.go", "git mv -f src/auth/a src/auth/b", "git mv .mcp.json src/auth/x", "git mv src/auth/a .git/hooks/x",

		"cat /etc/passwd", "cat ../shop/a", "cat " + root + "/a", "cat " + peer + "/a", "cat .git/config", "cat .cmux/x", "cat src/auth/out/x", "cat *", "cat src/*.go", "cat $X", "ls /", "ls ..", "ls ~", "head -f a", "tail -f a", "tail -F a", "tail --retry a", "wc --files0-from=/etc/x", "sort -o x a", "sort -ox a", "sort --output=x a", "sort --compress-program=x a", "sort -T / a", "uniq a b", "uniq a", "cut -f1 /etc/passwd", "grep x /etc/passwd", "grep -f /etc/passwd a", "grep -rR x .", "grep --file=/etc/x a", "grep -e x /etc/passwd", "grep -ne x /etc/passwd", "grep --regexp=x /etc/passwd", "grep -C /x/ /etc/passwd b", "grep", "rg --pre ./x y", "rg --pre=x y", "rg -z x", "rg --search-zip x", "rg --hostname-bin=x y", "rg -f /etc/x y", "rg --files /etc", "rg -L x", "rg x /etc", "cat --show-all /etc/passwd", "echo x | tee a", "tr --help",
		"echo x > a.go", "echo x > docs/a.go", "echo x > src/admin/a.go", "echo x > /tmp/x", "echo x > $F", "echo x > \"$F\"", "echo x > src/auth/*", "echo x >! src/auth/x", "echo x >> ../x", "echo x > src/auth/out/x", "cat <> src/auth/a", "cat < /etc/passwd", "cat < ../x", "echo x >&src/auth/y", "ls {fd}> src/auth/x", "ls 2> x", "cat > src/auth/a <<EOF\n$(x)\nEOF", "cat > src/auth/a <<EOF\n`x`\nEOF", "cat <<< $(x)", "cat > src/auth/a. <<'EOF'\nEOF", "echo x > 'src/auth/git~1'", "> src/auth/a", "cd src && echo x > auth/../../../y", "cat <(ls)", "ls > >(cat)",
		"! cd sub/no && cat ../x", "! cd sub && git status; cat x", "cd sub && false && cd " + tree + " || git status", "cd sub && false && cd " + tree + " || true && git status",
		"true | cd sub; git status", "true | cd sub && git status", "cd sub && make | true && git status", "true | cd " + tree + "/sub\ngit status",
		"printf %d 'a[$(x)]'", "printf '%*s' 'a[$(x)]' b", "printf '%5.2f' 'a[$(x)]'", "printf '%s %i' b 'a[$(x)]'", "printf '\\045d' 'a[$(x)]'", "printf ''",
		"pwd; cd src && ls", "pwd; cd ./src; ls", "pwd; cd ./src\nls", "pwd; cd ./src || ls", "pwd | cd ./src && cat x", "cd ./src | cat x", "true || cd ./src && cat x", "cd ./src && ls; cat x", "cd ./src && ls || cat x", "cd ./src && cat ../../shop/a", "cd ./src/../.. && ls", "cd ./.. && ls", "pwd; cd .. && ls", "cd ./src/auth/out && ls", "cd ./docs && ls", "pwd; cd " + root + " && ls", "pwd; cd " + peer + " && ls", "pwd; cd / && ls", "cd ./.git && ls", "cd ./.cmux && ls", "cd " + tree + "/.git && cat config", "cd ./src && git status", "cd ./src && git add -A", "cd ./src && rm a", "cd ./src && make lint && make test", "cd ./src && check", "cd ./src/auth && echo x > ../x", "cd ./src && echo x > f", "cd ./src/auth && echo x > .env", "cd ./src && touch x", "cd ./src x && ls", "cd -P ./src && ls", "cd -- ./src && ls", "cd ./$X && ls", "cd ./s* && ls", "cd ./{src,x} && ls", "cd ./~ && ls", "cd './src:x' && ls", "cd ./src > x && ls", "cd ./src & ls", "(cd ./src && ls)", "for d in src; do cd ./$d; done", "for d in src; do cd ./$d && ls; done", "cd ./src && for f in a b; do cat $f; done", "go test ./... && cd ./src && ls", "git restore a && cd ./src && cat x", "CDPATH=/ cd ./src && ls", "pushd ./src && ls", "cd +1 && ls", "cd =ls && ls", "cd ./src && cat <<'EOF'\nx\nEOF", "ls && cd ./src && x", "pwd; cd 'git~1' && ls",
		"cd sub; cat ../../shop/a", "cd sub || cat x; cat ../y", "cd sub && ls | wc; cat ../x", "true || cd sub; git status",

		"go test ./... -exec x", "go test ./...; x", "cd src && go test ./...", "cd src; go test ./...", "go test ./... && x", "A=1 go test ./...", "make lint && make test && x", "go test ./... & ", "(go test ./...)", "bash -c 'go test'", "cd sub && make\ngit status",

		"go test ./... | tee x", "go test ./... | sh", "go test ./... | xargs rm", "go test ./... | tail -5 a", "go test ./... | sed -n 1w/tmp/x", "go test ./... | sort -o x", "go test ./... | uniq - a", "go test ./... | grep x /etc/passwd", "go test ./... 2>&1 | tail > x", "go test ./... | tail && x", "go test ./... | tail; x", "go vet ./...; echo $?x", "go vet ./...; echo $? > x", "go vet ./...; echo $?; x", "go vet ./... && echo $?", "echo $?", "; echo $?", "git log 'x; echo $?", "ls;; echo $?", "x; echo $?", "ls &; echo $?", "ls \\; echo $?", "go test ./... | tail\nx", "cd sub && make | sh", "cd sub && make; rm a", "cd sub && make | tail $(x)", "cd sub && make 2>&1 | tail; echo $?; x", "cd sub && make x", "cd sub && make-x", "cd sub && make -f x", "cd src && cd sub && make", "make -C sub lint", "make lint test", "make test lint", "make", "make lint -f x", "make lint X=1", "make deploy", "make -j4", "./check", "printf 'a\\n' ; ./check x",
		"go test ./... -exec x", "go test ./api -exec x", "go test ./api -o x", "go test ./api -toolexec=x", "go test ./api -coverprofile=x", "go test ./api -tags e2e", "go test ./api -bench .", "go test ../x", "go test /x", "go test ./../x", "go test ./src/auth/out", "go test example.com/x", "go test all", "go test a.go", "go test ./api -args -x", "go test -C .. ./...", "go test -modfile=x ./...", "go vet -vettool=x ./...", "go build ./api", "go build -o x ./...", "go build", "go list -f x ./...", "go list -toolexec x ./...", "go env -w A=b", "go env A=b", "go doc ../x", "go doc /etc", "go run ./api", "go generate ./...", "go install ./...", "go get x", "go mod tidy", "go fmt ./...", "gofmt -w .", "gofmt -l /etc", "gofmt -l ..", "A=1 go test ./api", "for p in a b; do go test ./$p; done", "go test ./api > x",
		"time", "time -o x go test ./...", "time -p go test ./...", "time make deploy", "time go run ./api", "time git status", "time time go test ./...", "ls | time go test ./...", "time x=1 go test ./...", "time cd src", "timeout", "timeout 60", "timeout 60 make", "timeout 60 git status", "timeout -s KILL 60 go test ./...", "timeout -k 5 60 go test ./...", "timeout 0 go test ./...", "timeout 60 sh -c x", "timeout x go test ./...", "timeout 60 timeout 60 go test ./...", "timeout 60 time go test ./...", "timeout 60 ./check", "gtimeout 60 go test ./...", "/usr/bin/time go test ./...",
		"GOFLAGS=-exec=x go test ./...", "GOFLAGS=-toolexec=x go test ./...", "GOFLAGS=-vettool=x go vet ./...", "GOFLAGS=-v", "GOFLAGS=-v; go test ./...", "GOFLAGS=-v && go test ./...", "GOFLAGS=-v make lint", "GOFLAGS=-v git status", "GOFLAGS=-verbose go test ./...", "GOFLAGS=-count=10 go test ./...", "GOFLAGS=-mod=mod go test ./...", "GOFLAGS=-overlay=x go test ./...", "GOFLAGS='-v -exec=x' go test ./...", "GOFLAGS=-v -exec x go test ./...", "GOFLAGS= go test ./...", "GOFLAGS=$X go test ./...", "GOFLAGS=-v GOFLAGS=-race go test ./...", "GOFLAGS=-v go run ./api", "time GOFLAGS=-v go test ./...", "timeout 60 GOFLAGS=-v go test ./...", "GOFLAGS=-v sh -c x", "PATH=-v go test ./...", "goflags=-v go test ./...", "export GOFLAGS=-v", "for f in a; do time go test ./...; done", "go test ./... -bench=.",
		"echo $CMUX_TOKEN", "echo \"$CMUX_TOKEN\"", "echo $CMUX_SOCKET", "echo $CMUX_NODE", "echo $HOME", "echo $CMUX_PORT_BASEX", "echo ${CMUX_PORT_BASE:-x}", "echo ${CMUX_PORT_BASE:=x}", "echo \"$CMUX_PORT_BASE$HOME\"", "echo $CMUX_PORT_BASE > src/auth/x", "cmux done $CMUX_PORT_BASE", "cmux done \"$CMUX_NODE\"", "git commit -m \"$CMUX_NODE\"", "cat \"$CMUX_ROOT\"", "cd \"$CMUX_ROOT\" && ls", "git -C \"$CMUX_ROOT\" log", "grep \"$CMUX_NODE\" a", "\"$CMUX_NODE\"", "head -n $CMUX_SLOT a", "go test ./... -run \"$CMUX_NODE\"", "env | grep CMUX", "printenv CMUX_NODE", "for f in a; do echo $CMUX_SLOT; done", "echo src/*.go", "cat src/*.go", "git add src/*.go", "rm src/*.go", "gofmt -w *.go", "gofmt -w ../x/*.go", "gofmt -w /p/x/*.go", "gofmt -w src/*/*.go", "gofmt -w src/*.g*", "gofmt -w src/**.go", "gofmt -w none/*.go", "src/*.go",
		"git checkout", "git checkout main", "git checkout src/auth/a.go", "git checkout --", "git checkout -- .", "git checkout -- ../x", "git checkout HEAD -- src/auth/a.go", "git checkout -f -- a", "git checkout -b x", "git checkout -- .claude/settings.json", "git checkout -- :/", "git checkout -- 'src/*'", "git checkout -p -- a", "git checkout -- src/auth/out/x", "git checkout -- a && cat b",
		"find", "find -name x", "find . -delete", "find . -name x -delete", "find . -exec rm x", "find . -execdir x", "find . -ok x", "find . -fprint x", "find . -fprintf x y", "find . -fls x", "find . -type l", "find . -type", "find -L . -name x", "find -H . -name x", "find . -follow", "find .. -name x", "find / -name x", "find /etc -name x", "find src/auth/out", "find .git", "find .cmux", "find . -name *.go", "find . -name $X", "find . -files0-from x", "find . -newer /etc/x", "find . -regex x", "find . -printf x", "find . -name x > y", "find . -name x | xargs rm", "find . -maxdepth x", "go test ./... && find . -name x", "git add -A && find .", "find ~ -name x",
		"grep -rn x . --include=*.go", "grep -rn x . -R", "grep -rn x . --file=y", "grep -rn x . --exclude-from=y", "grep -rn x /etc --include=y", "ls -R ..", "ls -R /etc", "ls -Ra", "ls -R -a", "ls -RL", "ls -R -L", "ls -R .git", "tree /", "tree ..", "tree -o x", "tree -l", "tree -a", "tree -L x", "tree --fromfile x", "tree --gitignore", "tree src -o x", "tree -L 2 > x", "tree --info", "tree -R -L 1 -H x", "head -c x a", "head -c 5 /etc/passwd", "tail -c +5 a", "head -c5 a b",
		"which", "which ./go", "which /usr/bin/go", "which -x go", "which $X", "command", "command go", "command -v", "command -p go", "command -v x/y", "command -V go", "command -v -p go", "command -v=x go", "type", "type -p go", "type ../go", "type -x go", "builtin type go", "which go > x",
		"sed -n 1w a", "sed -n '1e x'", "sed -n 's/a/b/w x' a", "sed -n 1p /etc/passwd", "sed -i 1p a", "sed 1p a", "sed -n -i 1p a", "sed -n 1p -i a", "sed -n -e 1p a", "sed -n '1p\nw x' a", "sed -n 1r/etc/passwd a", "sed -n 1p -n 2p", "sed -n 1p -n 2p a", "sed -n 1p -- a", "sed -n '/x/w y' a", "sed -n '1p;1e' a", "sed -n '1p;w y' a", "sed -n '1{p;w y' a", "sed -n 1F a", "sed -n '1p\n1e x' a", "sed -n '1~2p' a", "sed -n --in-place 1p a", "sed -n 1p a b", "sed -nE 1p a", "grep -e x -f /etc/passwd", "grep x -f /etc/passwd", "grep --fil=/etc/x a", "grep -nf /etc/x a", "grep -- x a", "grep --exclude-from=/etc/x y", "grep -d recurse x .", "grep $'x' a", "grep \"$X\" a", "grep x a*", "grep x {a,b}", "grep x ~/.ssh/id", "sort -T/ x", "sort -no x", "sort -n --o=x", "sort --files0-from=/etc/x", "sort --compress-prog=x", "sort -n -- a", "uniq -c a b", "uniq - x", "uniq -D", "grep x .git/config", "grep x ../a", "grep -l x /etc/passwd", "sort -rno x", "sort --parallel=1", "grep -P x a",

		"bash -c 'touch x'", "bash -c \"bash -c 'ls'\"", "bash -c ls x", "bash x", "bash", "bash -ic ls", "./bash -c ls", "/tmp/bash -c ls", "bash -lc 'ls' > src/auth/x", "A=1 bash -c ls", "bash -c ls && ls", "python -c ls", "bash --rcfile x -c ls", "perl -c ls",

		// What is granted no more.
		`cmux done don\'t`, "cmux done \"$(cat <<'EOF'\nx\nEOF\n)\"", "cmux done \"x!\"", "cmux done 'a''b'", "cmux done a'b'", "cmux done ''", "cmux done -x", "cmux done a b", "git commit --amend --no-edit", "git commit -F src/auth/message", "git show HEAD^", "git show '^HEAD'", "git -C " + tree + " status", "git mv src/auth/a.go src/auth/b.go",
		"go test ./... | grep -rn x /etc", "go test ./... | grep -r x .", "grep -rn x", "for f in etc; do cat /$f/passwd; done", "for f in ..; do cat $f/x; done", "for f in a; do cat $f//../../x; done", "for f in a; do cat ~$f/x; done", "grep -r", "grep -R x .", "grep -rn x ..", "grep -rn x /etc", "grep -rn x .git", "grep -rn x .cmux", "grep -rn x src/auth/out", "grep -rn x ../shop", "grep -rn x " + peer, "grep -rnf a x .", "grep -rn -f a x .", "grep -rn -e x .", "grep -rn x . -f a", "grep -rnP x .", "grep -rn --exclude-from=a x .", "grep -rn --include=$X x .", "grep -rn --include=*.go x .", "grep -rn x *", "grep -rn x . > a", "grep -rn x ~", "go test ./... && grep -rn x .", "git add -A && grep -rn x .", "git restore a && grep -rn x .", "rg x", "sort a", "cut -f1", "tr a b", "printf done", "cd src && ls", "cd .; git status", "cat < a", "cat <<< x", "! git status", "bash -lc 'git status'", "sh -c 'cmux done x'",
		// Here-documents.
		"git commit -m \"$(cat <<'EOF'\nEOF id > /tmp/p )\nEOF\n)\"", "git commit -m \"$(cat <<'EOF'\n\tEOFx\nEOF\n)\"", "git commit -m \"$(cat <<'EOF'\nx) \"; id; \"\nEOF\n)\"", "git commit -m \"$(cat <<'EOF'\nx) `id`\nEOF\n)\"", "git commit -m \"$(cat <<EOF\n$(id)\nEOF\n)\"", "git commit -m \"$(cat <<EOF\n`id`\nEOF\n)\"", "git commit -m \"$(cat <<EOF\nx \\\nEOF\n)\"", "git commit -m \"$(cat <<'END'\nx\nEOF\n)\"", "git commit -m \"$(cat <<'END'\nENDx\nEND\n)\"", "git commit -m \"$(cat <<\"EOF\"\nx\nEOF\n)\"", "git commit -m \"$(cat <<-'EOF'\nx\nEOF\n)\"", "git commit -m \"$(cat <<'E'OF\nx\nEOF\n)\"", "git commit -m \"$(cat <<end\nx\nend\n)\"", "git commit -m \"$(cat << EOF\nx\nEOF\n)\"",
		"for t in a; do x; done ls", "for t in a; do rm -rf b; done  true", "ls\nfor t in a; do ls; done pwd", "for t in E; do git commit -F - <<$t\nx\nE\ndone ls\necho 'a\n$t\nid\ndone\ntrue '", "for t in E; do cat > src/auth/f <<\"$t\"\nx\nE\ndone pwd\ncmux done 'a\n$t\nid\ndone\n'",
		"cat > src/auth/f <<EOF\nx\nEOF \necho $?", "cat > src/auth/f <<EOF\nx\nEOF ", "git commit -F - <<'EOF'\nx\nEOF\t\n\n", "cat > src/auth/f <<-EOF\nx\n\tEOF \n ", "git commit -F - <<'EOF'\nx\nEOF  \n echo \"exit $?\"", "cat > src/auth/f <<-EOF\nx\n\tEOF; echo $?", "cat > src/auth/f <<EOF\nx\nEOF ; echo $?",
		"git commit -F - <<EOF\n$(id)\nEOF", "git commit -F - <<EOF\nx `id`\nEOF", "git commit -F - <<EOF\nx\\\nEOF", "git commit -F - <<EOF\n$HOME\nEOF", "git commit -F - <<'EOF'\nx", "git commit -F - <<'EOF'\nx\n EOF\nid\nEOF", "git commit -F - <<-'EOF'\nx\n \tEOF\nid", "git commit -F - <<'EOF'\nx\nEOFx\nEOF", "git commit -F - <<'EOF'\nx\nEOF\nid", "git commit -F - <<'EOF' && id\nx\nEOF", "git commit -F - <<'EOF' | id\nx\nEOF", "git commit -F - <<'EOF' > x\nx\nEOF", "git commit -F - > src/auth/f <<'EOF'\nx\nEOF", "git commit -F -", "git commit -F - < a", "git commit -F - <<< x", "git commit -F x <<'EOF'\nx\nEOF", "git commit -F - --amend <<'EOF'\nx\nEOF", "git commit -n -F - <<'EOF'\nx\nEOF", "git commit -F - -e <<'EOF'\nx\nEOF", "git commit -F - a <<'EOF'\nx\nEOF", "git commit -m <<'EOF'\nx\nEOF", "git status <<'EOF'\nx\nEOF", "git log --stdin <<'EOF'\nx\nEOF", "cat <<'EOF'\nx\nEOF", "cmux done <<'EOF'\nx\nEOF", "cmux done - <<'EOF'\nx\nEOF", "sh <<'EOF'\nid\nEOF", "go test ./... <<'EOF'\nid\nEOF", "make test <<'EOF'\nid\nEOF", "cd " + tree + " <<'EOF'\nx\nEOF\ngit status", "git commit -F - <<'EOF' <<'END'\nx\nEOF\ny\nEND", "git commit -F - <<'EOF\"\nx\nEOF", "git commit -F - << 'EOF'\nx\nEOF", "git commit -F - 3<<'EOF'\nx\nEOF", "for f in a; do git commit -F - <<EOF\n$f\nEOF\ndone", "for f in a; do git commit -F - <<EOF\nx\nEOF\ndone", "git -C " + peer + " commit -F - <<'EOF'\nx\nEOF", "cd sub && git commit -F - <<'EOF'\nx\nEOF", "cat >> a.go <<'EOF'\nx\nEOF", "cat >> src/auth/f <<EOF\n$(x)\nEOF", "cat > src/auth/f <<EOF\n\\`x`\nEOF", "cat > src/auth/f <<\"E'F\"\nx\nE'F", "cat > src/auth/f >> src/auth/g <<EOF\nx\nEOF", "cat > src/auth/f <<EOF >> src/auth/g\nx\nEOF", "cat > src/auth/f <<EOF\nx\nEOF\nEOF", "cat a > src/auth/f <<EOF\nx\nEOF",
		"git commit -m \"$(cat <<'EOF'\nIt's\nEOF\n)\" && git commit -m 'x) \"; id; \"'", "git commit -m $(cat <<'EOF'\nx\nEOF\n)", "git commit -m \"$(cat <<'EOF'\nx\nEOF\n) $(id)\"", "git commit -m \"$(cat <<'EOF'\nx\nEOF\n)\"y",
		// What git or a shell reads otherwise.
		"git log -1 --format=CMD --until -n --output=FILE", "git log -iS --output=x", "git log --format='%G?'", "git log --format='%(trailers)'", "git commit -m x --", "git diff a b c", "git diff -- :x", "git diff =ls", "git diff --format==ls", "git log --format=%h=ls", "git status x", "git show 'HEAD:../x'", "git restore --source=HEAD:src a", "git restore --source=HEAD~1 a", "git restore '--source=a..b' a", "git restore -s tree0 a", "git restore .claude/settings.json", "git restore .", "git rm .", "git restore a && cat b", "git restore a && git add b", "git rm a && git diff -- b", "git restore a; git log x/y",
		"go test ./... && cat a", "go test ./... > /dev/null && cat a", "ls >/dev/null x", "2>&1 ls", "2>&1", "ls 2>&1x", "ls 2>&1&", "ls > /dev/nullx", "ls 1>&2", "ls &>/dev/null", "ls >& /dev/null", "cd " + tree + " || git status; cat x /", "cd " + tree + " x", "ls;", "ls &&", "ls && \nls", "; ls", "| ls", "ls || | ls", "ls\\\nls", "ls\tx", "x='y'", "a=b ls", "ls -la -- a", "ls --color=x",

		"\u00a0true", "true\u00a0", "\vtrue", "true\r", "\u2003git status", "ls\x00", "ls\r\nls", "ls \x1b", "ls \xff", "ls '", "ls \"", "ls )", "if", "cat <<", "ls ;;", "ls \u200b",
	} {
		t.Run(command, func(t *testing.T) {
			if granted(checked(), bash(command)) {
				t.Error("granted")
			}
		})
	}
}

func TestGrantedWrites(t *testing.T) {
	noScope := builder()
	noScope.Scope, noScope.Context = nil, nil
	atRoot := builder()
	atRoot.Tree = ""
	for _, c := range []struct {
		tool  string
		input json.RawMessage
		p     places.Policy
		want  bool
	}{
		{"Write", object("file_path", tree+"/src/auth/jwt.go", "content", "x"), builder(), true},
		{"Edit", object("file_path", "src/auth/new/jwt.go"), builder(), true},
		{"Write", object("file_path", tree+"/docs/a.md"), builder(), true}, // a link into the scope; see below
		{"NotebookEdit", object("notebook_path", tree+"/src/auth/a.ipynb"), builder(), true},
		{"WriteFile", object("path", tree+"/src/auth/a.go"), builder(), true},
		{"StrReplaceFile", object("path", "src/auth/a.go"), builder(), true},
		{"apply_patch", json.RawMessage(`{"changes":[{"path":"src/auth/a.go","kind":{"type":"update","move_path":"src/auth/b.go"}}]}`), builder(), true},
		{"Write", object("file_path", tree+"/anything/at/all.txt"), noScope, true},
		{"Write", object("file_path", tree+"/.github/workflows/ci.yml"), noScope, true},
		{"Write", object("file_path", tree+"/.gitignore"), noScope, true},

		{"apply_patch", json.RawMessage(`{"changes":[{"path":"src/auth/a.go"}],"grantRoot":"/p/shop-auth"}`), builder(), false},
		{"apply_patch", json.RawMessage(`{"changes":[{"path":"src/auth/a.go"},{"path":".claude/x"}]}`), builder(), false},
		{"Write", object("file_path", tree+"/src/admin/a.go"), builder(), false},
		{"Write", object("file_path", tree+"/src/auth/out/a.go"), builder(), false},
		{"Write", object("file_path", tree+"/src/auth/state/a.done"), builder(), false},
		{"Write", object("file_path", "/etc/passwd"), noScope, false},
		{"Write", object("file_path", tree+"/.git/config"), noScope, false},
		{"Write", object("file_path", tree+"/.GIT/config"), noScope, false},
		{"Write", object("file_path", tree+"/sub/.git"), noScope, false},
		{"Write", object("file_path", tree+"/.git./config"), noScope, false},
		{"Write", object("file_path", tree+"/git~1/config"), noScope, false},
		{"Write", object("file_path", tree+"/.g\u200cit/config"), noScope, false},
		{"Write", object("file_path", tree+"/.cmux/x"), noScope, false},
		{"Write", object("file_path", tree+"/.claude/settings.json"), noScope, false},
		{"Write", object("file_path", tree+"/.Claude/settings.local.json"), noScope, false},
		{"Write", object("file_path", tree+"/.mcp.json"), noScope, false},
		{"Write", object("file_path", tree+"/.vscode/x"), noScope, false},
		{"Write", object("file_path", tree+"/.v\u017fcode/x"), noScope, false}, // some file systems fold more than ASCII
		{"Write", object("file_path", tree+"/.hus\u212ay/x"), noScope, false},
		{"Write", object("file_path", tree+"/sub/.husky/pre-commit"), noScope, false},
		{"Write", object("file_path", tree+"/.pre-commit-config.yaml"), noScope, false},
		{"Write", object("file_path", tree+"/.vscode/tasks.json"), noScope, false},
		{"Write", object("content", "x"), noScope, false},
		{"Write", json.RawMessage(`{`), noScope, false},
		{"Write", object("file_path", root+"/src/auth/a.go"), atRoot, false},
		{"Write", object("file_path", root+"/a.go"), reviewer(), false},
		{"mcp__filesystem__write_file", object("path", tree+"/src/auth/a.go"), builder(), false},
		{"Read", object("file_path", tree+"/src/auth/a.go"), builder(), false},
		{"Unknown", object("file_path", tree+"/src/auth/a.go"), builder(), false},
		{"AskUserQuestion", object("question", "x"), builder(), false},
	} {
		t.Run(c.tool+string(c.input), func(t *testing.T) {
			if got := granted(c.p, guard.Call{Tool: c.tool, Input: c.input, Dir: c.p.Tree}); got != c.want {
				t.Errorf("granted: %v", got)
			}
		})
	}
}

func TestGrantsOfAReview(t *testing.T) {
	for command, want := range map[string]bool{
		"git log main..x": true, "git diff --stat a...b && cat README.md": true, "cmux done ok": true, "ls": true,
		"git add -A": false, "git commit -m x": false, "git restore a": false, "echo x > a": false, "cat " + tree + "/a": false, "git -C " + tree + " log": false,
	} {
		p := reviewer()
		p.Machine = clean{top: root}
		if got := granted(p, guard.Call{Tool: "Bash", Input: object("command", command), Dir: root}); got != want {
			t.Errorf("%s: granted %v", command, got)
		}
	}
}

// What else stands in a call may change what a command may do.
func TestGrantsLookAtTheWholeCall(t *testing.T) {
	for _, c := range []struct {
		tool, input, dir string
		want             bool
	}{
		{"Bash", `{"command":"git status","description":"x","timeout":5,"run_in_background":true}`, tree, true},
		{"Bash", `{"command":"git status","dangerouslyDisableSandbox":false}`, tree, true},
		{"shell", `{"command":"git status"}`, tree, true},
		{"shell", `{"command":"/bin/bash -lc 'git status'"}`, tree, false}, // whose kind wraps it, takes it off
		{"Bash", `{"command":"git status"}`, "", true},                     // where the node works
		{"Bash", `{"command":"git status","dangerouslyDisableSandbox":true}`, tree, false},
		{"Bash", `{"command":"git status","cwd":"/tmp"}`, tree, false},
		{"Bash", `{"command":["git","status"]}`, tree, false},
		{"Bash", `{"command":"git status"}`, tree + "/src", false},
		{"Bash", `{"command":"git status"}`, root, false},
		{"Bash", `{"command":"ls"}`, peer, false},
		{"Bash", `{"command":"ls"}`, tree + "/.git", false},
		{"Bash", `{"command":"cmux done x"}`, "/tmp", true},
		{"Bash", `"git status"`, tree, false},
		{"PowerShell", `{"command":"ls"}`, tree, false},
		{"mcp__x__bash", `{"command":"ls"}`, tree, false},
		{"Monitor", `{"command":"ls"}`, tree, false},
	} {
		if got := granted(checked(), guard.Call{Tool: c.tool, Input: json.RawMessage(c.input), Dir: c.dir}); got != c.want {
			t.Errorf("%s %s in %s: granted %v", c.tool, c.input, c.dir, got)
		}
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// A granted write is one that is not refused, for every policy and path.
func FuzzGrantedWrite(f *testing.F) {
	for _, s := range []string{"src/auth/a", tree + "/x", "../shop/a", ".git/x", "src/auth/out/../x", "a\x00b", ".claude/x", "/"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, path string, scoped bool) {
		p := builder()
		if !scoped {
			p.Scope, p.Context = nil, nil
		}
		if !granted(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: tree}) {
			return
		}
		abs := path
		if !filepath.IsAbs(abs) {
			abs = tree + "/" + abs
		}
		at, err := follow(abs)
		rel, inside := strings.CutPrefix(at, tree+"/")
		if err != nil || !inside || scoped && !strings.HasPrefix(rel, "src/") {
			t.Errorf("%q is %s, %v", path, at, err)
		}
		for _, name := range strings.Split(strings.ToLower(rel), "/") {
			if name == ".git" || name == ".cmux" || name == ".claude" {
				t.Errorf("%q is %s", path, at)
			}
		}
	})
}

// Where options end at the first argument, one behind it would be a file.
func TestOptionsBehindArguments(t *testing.T) {
	for _, env := range []map[string]string{nil, {"POSIXLY_CORRECT": "1"}} {
		p := checked()
		p.Machine = clean{env: env}
		for command, want := range map[string]bool{"grep -rn x src --include=y": env == nil, "git show HEAD --stat": true, "tree src -L 2": env == nil, "grep -n x src/a.go": true} {
			if got := granted(p, bash(command)); got != want {
				t.Errorf("%q with %v: granted is %v", command, env, got)
			}
		}
	}
}

// What makes a loader or an interpreter take code from the worktree keeps every
// command from being granted; what is a person's own does not.
func TestOrdersInTheEnvironment(t *testing.T) {
	const own = "/usr/lib/own"
	for _, c := range []struct {
		name, value string
		granted     bool
	}{
		{"BASH_ENV", tree + "/rc", false}, {"BASH_ENV", "rc", false}, {"BASH_ENV", own, true}, {"ENV", tree + "/rc", false}, {"ZDOTDIR", tree, false},
		{"LD_PRELOAD", tree + "/evil.so", false}, {"LD_PRELOAD", "./evil.so", false}, {"LD_PRELOAD", own + ".so:" + tree + "/evil.so", false}, {"LD_PRELOAD", own + ".so " + tree + "/evil.so", false},
		{"LD_PRELOAD", own + ".so", true}, {"LD_PRELOAD", "libjemalloc.so.2", true}, {"LD_AUDIT", tree + "/evil.so", false},
		{"LD_LIBRARY_PATH", own + ":" + tree + "/lib", false}, {"LD_LIBRARY_PATH", own + ":", false}, {"LD_LIBRARY_PATH", ".", false}, {"LD_LIBRARY_PATH", own, true},
		{"DYLD_INSERT_LIBRARIES", tree + "/evil.dylib", false}, {"DYLD_LIBRARY_PATH", tree, false},
		{"PYTHONPATH", tree, false}, {"PYTHONPATH", "src", false}, {"PYTHONPATH", own, true}, {"PYTHONSTARTUP", tree + "/rc.py", false}, {"PYTHONHOME", tree, false},
		{"PERL5LIB", tree, false}, {"PERL5OPT", "-Mevil", false}, {"RUBYLIB", tree, false}, {"RUBYOPT", "-r./evil", false}, {"RUBYOPT", "-W0", true},
		{"NODE_PATH", tree, false}, {"NODE_OPTIONS", "--require ./evil.js", false}, {"NODE_OPTIONS", "--require=" + tree + "/evil.js", false}, {"NODE_OPTIONS", "--import data:text/javascript,evil", false},
		{"NODE_OPTIONS", "--max-old-space-size=4096", true}, {"NODE_OPTIONS", "--require " + own + ".js --no-warnings", true},
		{"GIT_EXEC_PATH", tree, false}, {"GIT_TEMPLATE_DIR", tree, false}, {"PROMPT_COMMAND", "./evil", false},
		{"EDITOR", tree + "/evil", true},
	} {
		p := checked()
		p.Machine = clean{env: map[string]string{c.name: c.value}}
		for _, command := range []string{"go test ./...", "cat src/a.go"} {
			if got := granted(p, bash(command)); got != c.granted {
				t.Errorf("%s=%s: %s is granted: %v", c.name, c.value, command, got)
			}
		}
	}
}

// An agent that works in a folder of its worktree is granted there what it is at the
// root, as long as git finds no other repository there.
func TestGrantedBelow(t *testing.T) {
	p := checked()
	p.Dir = tree + "/packages/web"
	below := func(p places.Policy, dir, command string) bool {
		return granted(p, guard.Call{Tool: "Bash", Input: object("command", command), Dir: dir})
	}
	for _, command := range []string{
		"git add -A && git commit -q -m x", "git add src/a.ts ../api/b.ts", "git status", "git diff main..HEAD -- src", "git log -3", "git restore --staged .",
		"go test ./...", "go test ./... 2>&1 | tail -3", "cat ../../README.md", "ls", "cd " + tree + " && git status", "cd " + tree + "/packages/web && go test ./...",
	} {
		if !below(p, p.Dir, command) {
			t.Errorf("%q is not granted where the node works", command)
		}
	}
	for _, command := range []string{
		"git restore src/a.ts", "git rm src/a.ts", "go test ./... && git status", "cat ../../../shop/a", "git add ../../../shop/a", "cd " + tree + " && go test ./...", "git -C . status",
	} {
		if below(p, p.Dir, command) {
			t.Errorf("%q is granted where the node works", command)
		}
	}
	for dir, commands := range map[string][]string{
		tree + "/packages/api": {"git status", "go test ./..."},
		tree:                   {"go test ./..."},
		peer:                   {"git status", "go test ./..."},
	} {
		for _, command := range commands {
			if below(p, dir, command) {
				t.Errorf("%q is granted in %s", command, dir)
			}
		}
	}
	if !below(p, tree, "cd "+tree+"/packages/web && go test ./...") {
		t.Error("the way to where the node works is not granted")
	}
	for _, name := range []string{"/packages/web/.git", "/packages/.git", "/packages/web/HEAD"} {
		p.Machine = holding{tree + name}
		if below(p, p.Dir, "git status") {
			t.Errorf("git is granted below %s", name)
		}
		if !below(p, tree, "git status") {
			t.Errorf("git is not granted at the root with %s", name)
		}
	}
}

// holding is a clean machine with one more thing on it.
type holding struct{ path string }

func (holding) Env(string) string                             { return "" }
func (holding) Program(name string) ([]string, bool)          { return clean{}.Program(name) }
func (holding) Names(folder string) ([]string, error)         { return clean{}.Names(folder) }
func (h holding) Exists(path string) bool                     { return path == h.path }
func (holding) Public(path string) bool                       { return clean{}.Public(path) }
func (holding) Text(path string) (string, error)              { return clean{}.Text(path) }
func (holding) Git(in string, args ...string) (string, error) { return clean{}.Git(in, args...) }

// pythonic is a machine with packages of tests.
type pythonic struct{ clean }

func (pythonic) Exists(path string) bool {
	return slices.Contains([]string{tree + "/tests/__init__.py", tree + "/tests/test_fare.py", tree + "/e2e/test_all.py", tree + "/fares/__init__.py", tree + "/fares/deploy.py"}, path)
}

func TestRunsOfAChecksTests(t *testing.T) {
	for _, row := range []struct {
		check       string
		grants, not []string
	}{
		{"python3 -m unittest", []string{"python3 -m unittest -v", "python3 -m unittest tests.test_fare", "python3 -m unittest -v tests.test_fare.TestFare.test_one 2>&1 | tail -20", "python3 -m unittest tests/test_fare.py -k one", "python3 -m unittest discover -s tests -v 2>&1 | tail -20", "python3 -m unittest discover -v", "python3 -m unittest discover -s tests -p test_fare.py", "python3 -m unittest discover -p 'test_f*.py'", "python3 --version", "python3 -m py_compile tests/test_fare.py"},
			[]string{"python3 -m py_compile /etc/x.py", "python3 -m py_compile ../x.py", "python3 -m http.server", "python -m unittest", "python3 -m unittest os.system", "python3 -m unittest e2e.test_all", "python3 -m unittest e2e/test_all.py", "python3 -m unittest fares.deploy", "python3 -m unittest fares.deploy.test_main", "python3 -m unittest tests.test_fare.main", "python3 -m unittest discover -s /x", "python3 -m unittest discover -s e2e", "python3 -m unittest discover -s fares", "python3 -m unittest discover -s tests -p x", "python3 -m unittest discover tests", "python3 -m unittest -s x", "python3 -m pytest", "python3 x.py", "python3 -c 1", "python3 -m unittest ../x.py"}},
		{"python3 -m unittest discover -s tests -v", []string{"python3 -m unittest discover -s tests -v -f", "python3 -m unittest discover -s tests -v -k one | tail -3", "python3 -m unittest discover -s tests -v -p test_a.py", "python3 -m unittest discover -s tests -v -p 'test_*.py' -k one", "python3 --version"},
			[]string{"python3 -m unittest discover -s e2e -v", "python3 -m unittest discover -s tests -v -s e2e", "python3 -m unittest discover -s tests -v -p x", "python3 -m unittest discover -s tests -v -p '*'", "python3 -m unittest discover -s tests -v -p '*.py'", "python3 -m unittest discover -s tests -v -p 'test*'", "python3 -m unittest discover -s tests -v -p 'tes*.py'", "python3 -m unittest discover -s tests -v -p 'test[ab].py'", "python3 -m unittest discover -s tests -v -p e2e_test.py", "python3 -m unittest discover -s tests -v -p test/../x.py", "python3 -m unittest discover -s tests -v -p", "python3 -m unittest discover -s tests -v -ptest_a.py", "python3 -m unittest discover -s tests -v --pattern test_a.py", "python3 -m unittest discover", "python3 -m unittest tests.test_fare"}},
		{"python3 -m unittest discover -p check_all.py", []string{"python3 -m unittest discover -p check_all.py -v"}, []string{"python3 -m unittest discover -p check_all.py -p test_a.py", "python3 -m unittest discover"}},
		{"python3 -m unittest discover", []string{"python3 -m unittest discover -p test_a.py"}, []string{"python3 -m unittest discover -p a.py", "python3 -m unittest discover -s tests -p test_a.py"}},
		{"python3 -m unittest -k quick", []string{"python3 -m unittest -k quick 2>&1 | tail -3"}, []string{"python3 -m unittest", "python3 -m unittest -k slow"}},
		{"pytest", []string{"pytest -q", "pytest -x -vv tests/test_fare.py::TestFare::test_one", "pytest tests/ -k 'one or two' --tb=short 2>&1 | tail -20"},
			[]string{"pytest -p x", "pytest -c x", "pytest --rootdir=/x", "pytest e2e/test_all.py", "pytest /x/tests", "pytest tests/../x", "pytest -m e2e", "pytest --pdb", "pytest --basetemp=x", "pytest conftest.py"}},
		{"pytest tests/unit", []string{"pytest tests/unit -v", "pytest tests/unit/test_a.py"}, []string{"pytest", "pytest tests", "pytest tests/unit2/test_a.py", "pytest tests/e2e"}},
		{"go test -short ./api/...", []string{"go test -short ./api/x -v", "go test ./api -short -run X", "go build ./api/..."}, []string{"go test ./api/...", "go test -short ./...", "go test -short ./apix", "go test -short"}},
		{"go test -run Quick ./...", []string{"go vet ./..."}, []string{"go test ./...", "go test -run Slow ./...", "go test -run Quick -run Slow ./..."}},
		{"go test -tags e2e ./...", []string{"go test -tags e2e ./... | tail -3"}, []string{"go test ./...", "go vet ./..."}},
		{"make check", []string{"make check", "make -s check", "make check -j4 2>&1 | tail -20"}, []string{"make", "make install", "make check install", "make -n -f x check"}},
		{"npm test", []string{"npm test --silent", "npm run test", "node --version"}, []string{"npm run deploy", "npm test -- --x", "npm run", "npm install"}},
		{"npm run lint && npm run build", []string{"npm run build", "npm run -s lint", "npm run build 2>&1 | tail -5"}, []string{"npm test", "npm run deploy"}},
		{"cargo test", []string{"cargo test -q", "cargo test parses", "cargo build", "cargo check -q"}, []string{"cargo test -p x", "cargo run", "cargo build --manifest-path x", "cargo test --config x"}},
		{"test -f safe && make check", []string{"test -f safe", "test -f safe && make check 2>&1 | tail"}, []string{"make check"}},
		{"go vet ./... && ./deploy --dry", []string{"./deploy --dry"}, []string{"./deploy"}},
		{"make a; make b", []string{"cd " + tree + " && make a; make b"}, []string{"make a", "make b"}},
		{"echo x # y", []string{"echo x # y"}, []string{"echo x # y | sh", "echo x # y; x"}},
		{"for f in tests/*.sh; do sh $f; done", []string{"for f in tests/*.sh; do sh $f; done", "for f in tests/*.sh; do sh $f; done 2>&1 | tail -5"}, []string{"sh tests/a.sh", "for f in tests/*.sh; do sh $f; done | sh"}},
		{"make x &", []string{"make x &"}, []string{"make x & | tail", "make x", "make x &; echo $?"}},

		// What a part or a narrower run would do beside the check.
		{"make x & make y", []string{"make x & make y"}, []string{"make y"}},
		{"make x 2>&1", []string{"make x 2>&1", "cd " + tree + " && make x 2>&1"}, nil},
		{"make \\", []string{"make \\"}, []string{"make \\; echo $?", "make \\ | tail"}},
		{"cat <<EOF\nx\nEOF", []string{"cat <<EOF\nx\nEOF"}, []string{"cat <<EOF\nx\nEOF; echo $?", "cat <<EOF\nx\nEOF | tail"}},
		{"cargo test --lib", []string{"cargo test --lib -q", "cargo test --lib parses", "cargo check"}, []string{"cargo test", "cargo test -q", "cargo test e2e"}},
		{"python3 -m unittest discover -k quick", []string{"python3 -m unittest discover -k quick -v"}, []string{"python3 -m unittest discover -k quick -k slow", "python3 -m unittest discover"}},
		{"python3 -m unittest", []string{"python3 -m unittest tests.test_fare.FareTest", "python3 -m unittest tests.test_fare.FareTestCase.test_one"}, []string{"python3 -m unittest tests.test_fare.Deploy", "python3 -m unittest tests.test_fare.Client.testing"}},
		{"python3 scripts/on_ci.py && make e2e", []string{"python3 scripts/on_ci.py"}, []string{"make e2e"}},
		{"node on-ci.js && make e2e", nil, []string{"make e2e"}}, {"go run ./onci && make e2e", nil, []string{"make e2e"}}, {"uv run on_ci.py && make e2e", nil, []string{"make e2e"}}, {"poetry run python on_ci.py && make e2e", nil, []string{"make e2e"}}, {"deno run x && make e2e", nil, []string{"make e2e"}}, {"bun on-ci.ts && make e2e", nil, []string{"make e2e"}},
		{"uv run ruff check && make e2e", []string{"make e2e"}, nil}, {"python3 -m ruff check && pytest -q", []string{"pytest -q -x"}, nil}, {"node --test && make e2e", []string{"make e2e"}, nil},
		{"env -i go test ./...", []string{"env -i go test ./..."}, []string{"go test ./...", "go vet ./..."}}, {"timeout 60 go test ./...", nil, []string{"go test ./..."}}, {"sudo -u nobody go test ./...", nil, []string{"go test ./..."}}, {"nice go test ./...", nil, []string{"go test ./..."}}, {"docker run --rm x go test ./...", nil, []string{"go test ./...", "go build ./..."}},
		{"FOO=1 go test ./...", []string{"FOO=1 go test ./..."}, []string{"go test ./...", "FOO=1 go test ./api"}}, {"FOO=1 go vet ./... && go test ./...", nil, []string{"go test ./..."}}, {"(cd sub && go test ./...)", nil, []string{"go test ./...", "cd sub"}}, {"sh -c 'go test ./...'", nil, []string{"go test ./..."}}, {"go test ./... || true", []string{"go test ./... || true | tail -3"}, []string{"go test ./api", "go vet ./..."}}, {"go test ./... > log", nil, []string{"go test ./...", "go test ./api"}}, {"go test ./... # all", nil, []string{"go test ./...", "go test ./... # all | sh"}}, {"go \\\ntest ./...", nil, []string{"go test ./..."}}, {"time make a && make b", []string{"time make a"}, []string{"make b"}}, {". ./env && make b", nil, []string{"make b", ". ./env"}}, {"export A=1 && make b", nil, []string{"make b"}}, {"nvm use 18 && npm test", nil, []string{"npm test"}}, {"make `x` && make b", nil, []string{"make b"}}, {"if make a; then make b; fi", nil, []string{"make a", "make b"}}, {"make a && ! make b", nil, []string{"make a", "make b"}},
		{"go build -o /tmp/x . && /tmp/x --selftest", []string{"go build -o /tmp/x ."}, []string{"/tmp/x --selftest"}}, {"make && ../shop/x", nil, []string{"../shop/x"}}, {"go install ./cmd/x && x --check", nil, []string{"x --check"}}, {"make tools && ./bin/x", []string{"./bin/x"}, nil},
		{"go test ./...", []string{"go test ./tool", "go build ./api/...", "go build -v ./...", "go build -o /dev/null .", "go doc ./api.Handler", "go doc -all ./api Handler", "go doc net/http Get"},
			[]string{"go test ./testdata/x", "go test ./tool/testdata", "go test ./vendor/x/y", "go test ./_e2e", "go test ./api/_x/...", "go test ./a...", "go test ./api/v...", "go test ./a.../b", "go build ./api/x/...", "go build ./tool/...", "go build ./src/...", "go build ./no/...", "go build -o x .", "go build -o /dev/null -o x .", "go build -o /dev/nullx .", "go build -o=/dev/null ../x", "go doc ./src/auth/out", "go doc ./src/auth/out.X", "go doc ./src/auth/out.X.Y", "go doc ./src/auth/out/x", "go doc -C /", "go doc -src x", "go list ./src/auth/out/...", "go vet ./src/auth/out"}},
		{"go test ./testdata/x", []string{"go test ./testdata/x -v"}, []string{"go test ./testdata/x/y"}}, {"go test ./testdata/x ./...", []string{"go test ./testdata/x"}, []string{"go test ./testdata/y"}},
		{"pytest", []string{"pytest tests/deep/test_a.py"}, []string{"pytest build/tests/test_a.py", "pytest node_modules/x/tests/test_a.py", "pytest venv/lib/x/tests", "pytest dist/tests/"}},
	} {
		p := checked()
		p.Machine, p.Verify = pythonic{}, []string{row.check}
		for _, c := range row.grants {
			if d := guard.Decide(p, bash(c)); d.Verdict != guard.Grant {
				t.Errorf("check %q: %s of %q %s", row.check, d.Verdict, c, d.Reason)
			}
		}
		for _, c := range row.not {
			if granted(p, bash(c)) {
				t.Errorf("check %q: granted %q", row.check, c)
			}
		}
	}
}

// Python by its other name is the same program only where it is the same file, from the
// same folder.
func TestPythonByAnotherName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("tree/tests/__init__.py", "")
	w.write("tree/tests/test_a.py", "")
	for _, at := range []string{"same/python3.12", "apart/python", "apart/python3", "shims/mise", "exec/python-exec2", "tree/bin/python3.12", "over/python3.12"} {
		w.write(at, "#!/bin/sh\n")
		w.must(os.Chmod(filepath.Join(w.dir, at), 0o755))
	}
	for link, to := range map[string]string{"same/python": "python3", "same/python3": "python3.12", "shims/python": "mise", "shims/python3": "mise", "exec/python": "python-exec2", "exec/python3": "python-exec2", "tree/bin/python": "python3.12", "tree/bin/python3": "python3.12", "over/python": "../same/python3.12", "over/python3": "python3.12", "venv/python": "../same/python3.12"} {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(w.dir, link)), 0o755))
		w.must(os.Symlink(to, filepath.Join(w.dir, link)))
	}
	for path, same := range map[string]bool{"same": true, "apart": false, "shims": false, "exec": false, "tree/bin": false, "over": false, "venv:same": false, "apart:same": false, "same:apart": true, "tree/bin:same": false, "none": false} {
		folders := ""
		for _, f := range strings.Split(path, ":") {
			folders += filepath.Join(w.dir, f) + ":"
		}
		w.runsWith("PATH=" + folders + "/usr/bin:/bin")
		for check, texts := range map[string][]string{
			"python3 -m unittest": {"python -m unittest", "python -m unittest tests.test_a", "python -m unittest discover -s tests 2>&1 | tail -3", "python --version", "cd " + w.policy.Tree + " && python -m unittest -v"},
			"python -m unittest":  {"python3 -m unittest", "python3 -m unittest tests/test_a.py"},
		} {
			w.policy.Verify = []string{check}
			for _, text := range texts {
				if w.granted(text) != same {
					t.Errorf("PATH=%s, check %q: %q is granted: %v", path, check, text, !same)
				}
			}
			for _, text := range []string{"python -m http.server", "python2 -m unittest", "python3.12 -m unittest", "python x.py", "python -c 1", "./python -m unittest", "python", "python3 -c 1"} {
				if w.granted(text) {
					t.Errorf("PATH=%s, check %q: %q is granted", path, check, text)
				}
			}
		}
	}
}

// filed is a machine with files that configure tests.
type filed struct {
	clean
	files map[string]string
}

func (f filed) Exists(path string) bool {
	_, ok := f.files[strings.TrimPrefix(path, tree+"/")]
	return ok
}

func (f filed) Text(path string) (string, error) {
	if text, ok := f.files[strings.TrimPrefix(path, tree+"/")]; ok && text != "unreadable" {
		return text, nil
	}
	return f.clean.Text(path)
}

// What the configuration keeps a check from running, no narrower run has.
func TestChecksAreConfigured(t *testing.T) {
	for _, row := range []struct {
		check, file, text string
		grants, not       []string
	}{
		{"pytest", "pyproject.toml", "[tool.pytest.ini_options]\ntestpaths = [\"tests/unit\"]\naddopts = \"-ra --strict-markers\"\n", []string{"pytest -q", "pytest tests/unit/test_a.py", "pytest -k one"}, []string{"pytest tests/e2e/test_a.py", "pytest tests", "pytest tests/unit/test_a.py tests/e2e"}},
		{"pytest", "pyproject.toml", "testpaths = [\n  \"tests\",\n]\n", []string{"pytest tests", "pytest tests/e2e/test_a.py::test_x"}, []string{"pytest sub/tests/test_a.py"}},
		{"pytest", "pytest.ini", "[pytest]\ntestpaths =\n    tests/unit\n    lib\n", []string{"pytest tests/unit/test_a.py"}, []string{"pytest tests/e2e/test_a.py"}},
		{"pytest", "setup.cfg", "testpaths = a b", []string{"pytest -x"}, []string{"pytest tests"}},
		{"pytest", "tox.ini", "norecursedirs = e2e", []string{"pytest -x"}, []string{"pytest tests/e2e"}},
		{"pytest", "pytest.ini", "addopts = -q -k 'not e2e'", []string{"pytest -x", "pytest tests"}, []string{"pytest -k e2e"}},
		{"pytest", "pytest.ini", "addopts = -qk 'not e2e'", nil, []string{"pytest -k e2e"}},
		{"pytest", "pytest.ini", "unreadable", nil, []string{"pytest -k e2e", "pytest tests"}},
		{"pytest", "tests/e2e/pytest.ini", "x", []string{"pytest tests/unit"}, []string{"pytest tests/e2e/test_a.py", "pytest tests/e2e/deep/test_a.py::test_x"}},
		{"python3 -m unittest", "py_compile.py", "x", nil, []string{"python3 -m py_compile a.py"}},
		{"python3 -m unittest", "a", "x", []string{"python3 -m py_compile src/auth/a.py src/auth/b.py", "git status && python3 -m py_compile a.py"}, []string{"python3 -m py_compile a", "python3 -m py_compile src/auth/out/a.py", "python3 -m py_compile -q a.py", "python3 -m py_compile -", "mkdir -p src/auth/py_compile && python3 -m py_compile a.py"}},
		{"pytest tests", "pytest.ini", "testpaths = x", []string{"pytest tests/test_a.py"}, nil},
		{"go test ./...", "e2e/go.mod", "module e2e", []string{"go test ./api", "go vet ./..."}, []string{"go test ./e2e", "go test ./e2e/...", "go test ./e2e/x", "go vet ./e2e/x", "go build ./e2e/..."}},
		{"go test ./...", "api/go.mod", "module api", nil, []string{"go build ./api/..."}},
		{"go test ./...", "go.mod", "module x\n\nignore ./e2e\n", []string{"go test .", "go test ./... -v"}, []string{"go test ./e2e"}},
		{"go test ./...", "go.mod", "module x\n\ngo 1.26\n", []string{"go test ./e2e"}, nil},
		{"go test ./...", "go.mod", "unreadable", nil, []string{"go test ./e2e"}},
	} {
		p := checked()
		p.Machine, p.Verify = filed{files: map[string]string{row.file: row.text}}, []string{row.check}
		for _, c := range row.grants {
			if !granted(p, bash(c)) {
				t.Errorf("%s %q: %q is not granted", row.file, row.text, c)
			}
		}
		for _, c := range row.not {
			if granted(p, bash(c)) {
				t.Errorf("%s %q: granted %q", row.file, row.text, c)
			}
		}
	}
}

func TestCheckElsewhere(t *testing.T) {
	for command, want := range map[string]bool{
		"go test ./api": true, "go test ./... | tail": true, "go version": true, "make lint": false, "make lint && make test": false, "sed -n 1p a": true, "cd " + tree + " && go test ./... 2>&1 | tail -3": true, "cd " + tree + " && go test ./api": true,
		"cd " + tree + " && go test ./...; echo $?": true, "cd " + tree + " && printf 'a\\n'; ./check": false,
	} {
		c := bash(command)
		c.Dir = tree + "/src"
		if got := granted(checked(), c); got != want {
			t.Errorf("%q below the worktree: granted is %v", command, got)
		}
	}
	for check, want := range map[string]bool{"make x & make y": false, "make x &": false, "make x && make y": true, "make x 2>&1": true, "make x || make y": false, "make x |& cat": false, "make x; make y": false} {
		p, c := checked(), bash("cd "+tree+" && "+check)
		p.Verify, c.Dir = []string{check}, tree+"/src"
		if got := granted(p, c); got != want {
			t.Errorf("%q from below the worktree: granted is %v", check, got)
		}
	}
}

// Who leads the work of a project runs its checks in the person's folder. Who leads
// that of another project, and a sentry, do not.
func TestChecksOfWhoLeads(t *testing.T) {
	lead := checked()
	lead.Tree, lead.Leads, lead.Holder = "", true, rights.Holder{Stays: true, Leads: true}
	sentry, other := lead, lead
	sentry.Holder = rights.Holder{Stays: true, Sentry: true}
	other.Led, other.Dir = "/p/other", "/p/other"
	for command, want := range map[string]bool{
		"go test ./...": true, "go test ./... 2>&1 | tail -20": true, "go test -run TestX ./api": true, "go vet ./...": true, "go build ./... && go vet ./...": true, "go build -v ./...": true, "make lint && make test": true,
		"go test ./... > out": false, "go run ./cmd": false, "go build .": false, "go build ./api": false, "go build -o x ./...": false, "go build": false, "go test -exec ./pwn ./...": false, "go test ./...; git commit -am x": false,
	} {
		for name, p := range map[string]places.Policy{"lead": lead, "sentry": sentry, "lead of another project": other} {
			c := bash(command)
			if c.Dir = root; p.Dir != "" {
				c.Dir = p.Dir
			}
			if got := granted(p, c); got != (want && name == "lead") {
				t.Errorf("%s: %q: granted is %v", name, command, got)
			}
		}
	}
}
