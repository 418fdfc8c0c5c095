package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
	"cmux/dag"
)

// A supervisor leads workers; what takes force, and everything else that steers,
// stays a person's. Everybody may look.
func TestLeading(t *testing.T) {
	looks := []shellRow{
		{"cmux status", ""}, {"cmux status --json", ""}, {"cmux logs api", ""}, {"cmux workers list", ""}, {"cmux workers status api", ""}, {"cmux workers logs api --tail 3", ""},
		{"cmux workers send api hi", ""}, {"cmux projects list", ""}, {"cmux sessions list", ""}, {"cmux sessions end --force auth", "cmux sessions end is refused"}, {"cmux projects add ../x", "cmux projects add is refused"}, {"cmux workers demote api", "cmux workers demote is refused"}, {"cmux workers take api", "cmux workers take is refused"}, {"cmux workers wake api", "steered by a person"}, {"cmux start", "steered by a person"}, {"cmux restart", "steered"},
		{"cmux agents stop", "steered by a person"}, {"cmux workers kill --force api", "cmux workers kill is refused"}, {"cmux workers kill api --for", "cmux workers kill is refused"},
	}
	orders := []string{"cmux workers spawn api 'add the endpoint'", "cmux workers reset api", "cmux tasks merge t1", "cmux workers assign api t1", "cmux workers clone api", "cmux sessions spawn auth 'sign-in'", "cmux sessions end auth", "cmux workers merge-clone api-clone-1", "cd /tmp && cmux workers kill api"}
	p := builder()
	runShell(t, p, looks)
	for _, o := range orders {
		runShell(t, p, []shellRow{{o, "is refused: the run is steered by a person"}})
	}
	p.Tree, p.Leads = "", true
	runShell(t, p, looks)
	for _, o := range orders {
		runShell(t, p, []shellRow{{o, ""}})
	}
}

// leader is a supervisor at the project's root, whose workers' worktrees lie
// beside it.
func leader() places.Policy {
	return places.Policy{
		Role: dag.RoleBuild, Root: root, Leads: true, Beside: "/p/shop-", Resolve: follow,
		Private: []string{root + "/.cmux/agents", root + "/.cmux/token", "/h/.local/state/cmux"}, Mine: []string{root + "/.cmux/agents/supervisor"},
		Machine: clean{env: map[string]string{"HOME": "/h"}},
	}
}

// A supervisor writes what is to be remembered and nothing else, by tool or shell.
func TestLeaderWrites(t *testing.T) {
	const code, key = "leads and changes no files", "keeps a person's key"
	for path, want := range map[string]string{
		"MEMORY.md": "", root + "/MEMORY.md": "", "memory/a/b.md": "", "reflection.md": "",
		".cmux/journal/2026-11-22/reflection.md": "", ".cmux/journal/2026-11-22/artifacts/x.json": "", ".cmux/roles/worker.md": "", ".cmux/worker-contexts/api-context.md": "",
		"main.go": code, root + "/src/a.go": code, "./src/../main.go": code, "memory": code, "memory.md": code, "src/MEMORY.md": code, "MEMORY.md/x": code, "memory2/x": code,
		".cmux/config.yml": code, ".cmux/roles/../config.yml": code, ".cmux/journal/../tasks.jsonl": code, ".cmux/mailbox": code, ".cmux/audit.log": code, ".cmux/signals/a.done": code, ".cmux": key, ".cmux/journal": code,
		".cmux/Roles/x": code, ".CMUX/roles/x": code, ".cmux/roles/.cmux/x": code, ".cmux/roles/{../config.yml,x}": code, ".cmux/journal/x. ": code, ".cmux-agents.yml": code,
		".cmux/agents/api/records.jsonl": key, ".cmux/token": key, "memory/.git/config": "git's own state", ".git/config": "git's own state",
		".cmux/journal/.mcp.json": "is refused", "memory/.claude/settings.json": "tells an agent's program", ".claude/settings.json": "tells an agent's program",
		tree + "/src/a.go": code, "/p/shop-api/src/a.go": code, "/p/shop-new/deep/a.go": code, "/etc/passwd": "outside your directory", "/h/.claude/CLAUDE.md": "outside your directory",
		// Links: out of what is its own, and into it.
		"memory/link/a.go": code, "docs/journal/x": "",
	} {
		for _, tool := range []string{"Write", "Edit", "MultiEdit", "mcp__fs__write_file"} {
			verdict := guard.Deny
			if want == "" {
				verdict = guard.Allow
			}
			p := leader()
			p.Resolve = func(path string) (string, error) {
				switch {
				case strings.HasPrefix(path, root+"/memory/link/"):
					path = root + "/src/" + strings.TrimPrefix(path, root+"/memory/link/")
				case strings.HasPrefix(path, root+"/docs/journal/"):
					path = root + "/.cmux/journal/" + strings.TrimPrefix(path, root+"/docs/journal/")
				}
				return follow(path)
			}
			check(t, guard.Decide(p, guard.Call{Tool: tool, Input: object("file_path", path), Dir: root}), verdict, want)
			if t.Failed() {
				t.Fatalf("%s %s", tool, path)
			}
		}
	}
	check(t, guard.Decide(leader(), guard.Call{Tool: "NotebookEdit", Input: object("notebook_path", "a.ipynb"), Dir: root}), guard.Deny, code)
	check(t, guard.Decide(leader(), guard.Call{Tool: "apply_patch", Input: object("input", "*** Begin Patch\n*** Update File: memory/a.md\n*** Move to: main.go\n*** End Patch\n"), Dir: root}), guard.Deny, code)
	if d := guard.Decide(leader(), guard.Call{Tool: "Write", Input: object("file_path", ".cmux/journal/x.md"), Dir: root}); d.Verdict != guard.Grant {
		t.Errorf("a note in the journal is %s, want grant", d.Verdict)
	}

	p := leader()
	p.Tree = root
	runShell(t, p, []shellRow{
		{"echo x >> MEMORY.md", ""}, {"mkdir -p memory/x && echo y > memory/x/y.md", ""}, {"cat > .cmux/journal/$(date +%F)/reflection.md <<'EOF'\nx\nEOF", ""}, {"sed -i s/a/b/ .cmux/roles/worker.md", ""}, {"mv memory/a.md memory/b.md", ""}, {"rm .cmux/worker-contexts/old.md", ""}, {"cp main.go memory/", ""},
		{"git log --oneline", ""}, {"git -C ../shop-api diff", ""}, {"git diff main...shop/api", ""}, {"ls -la", ""}, {"go test ./...", ""}, {"go test -count=1 -cover ./...", ""}, {"go test ./... -count=1 -o /dev/null", ""}, {"cat .cmux/config.yml", ""}, {"d=$(mktemp -d) && echo x > $d/a", ""}, {"echo x > /tmp/a", ""}, {"cat .cmux/agents/supervisor/prompt-1.md", ""}, {"cat " + root + "/.cmux/agents/supervisor/prompt-1.md", ""},

		{"echo x > main.go", code}, {"cat > src/a.go <<'EOF'\nx\nEOF", code}, {"sed -i s/a/b/ main.go", code}, {"perl -pi -e 1 main.go", code}, {"tee main.go < x", code}, {"cp memory/a.go main.go", code}, {"mv main.go memory/", code}, {"rm main.go", code}, {"rm -rf .", key}, {"touch src/new", code}, {"mkdir newdir", code}, {"dd of=main.go", code}, {"patch -p1 < x", code}, {"cd src && echo x > a.go", code}, {"sh -c 'echo x > main.go'", code}, {"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch\nEOF", code},
		{"echo x > ../shop-api/a.go", code}, {"cd ../shop-api && sed -i s/a/b/ main.go", code}, {"echo x > /p/shop-later/a.go", code}, {"git -C ../shop-api commit -am x", code}, {"rm -rf ../shop-api", code},
		{"git commit -am x", code}, {"git add .", code}, {"git checkout main.go", code}, {"git merge shop/api", code}, {"git reset --hard", code}, {"git apply x", code}, {"git stash", "stash"}, {"go fmt ./...", code}, {"gofmt -w .", code}, {"npm install", code}, {"prettier --write .", code},
		{"echo x >> .cmux/config.yml", code}, {"rm .cmux/audit.log", code}, {"echo 0 > .cmux/signals/a.done", code}, {"rm -rf .cmux/journal", code}, {"mv .cmux/roles /tmp/x", code}, {"rm -rf .cmux", key}, {"echo x > .cmux/journal/../config.yml", code}, {"cp x .cmux/journal/{../config.yml,y}", code}, {"ln .cmux/config.yml .cmux/journal/c", code}, {"ln -s ../config.yml .cmux/roles/c", "makes no links"},
		{"cat .cmux/agents/api/spec-1.json", key}, {"cat .cmux/token", key}, {"cat .cmux/agents/supervisor/../api/spec-1.json", key}, {"cat .cmux/agents/*/spec-1.json", key}, {"python3 -c 'open(\"" + root + "/.cmux/agents/api/x\")'", key}, {"cat ~/.local/state/cmux/key", key},
		{"cmux tasks add 'write it' --verify 'go test ./...'", ""}, {"cmux tasks assign t1 api", ""}, {"cmux config apply", "steered"}, {"cmux stop", "steered"}, {"cmux agents approve x", "steered"},
	})
}

// What programs write by the way is judged as what an editor writes, through a
// function, a default and a pipe too.
func TestWritesByTheWay(t *testing.T) {
	const code = "leads and changes no files"
	p := leader()
	p.Tree = root
	for _, c := range []string{
		"sort -o main.go x", "sort -u -omain.go x", "sort --output=main.go x", "curl -so main.go http://x", "curl --output main.go http://x", "wget http://x", "wget -O main.go http://x", "wget -P src http://x",
		"tar xf /tmp/a.tar", "tar -xzf /tmp/a.tgz -C src", "tar x -C src", "tar --extract --directory=src -f /tmp/a", "tar cf src/a.tar memory", "unzip /tmp/a.zip", "unzip -o /tmp/a.zip -d src",
		"awk -i inplace 1 main.go", "gawk -iinplace -f x.awk main.go", "ed -s main.go", "ex -sc x main.go", "vim -es main.go", "gzip main.go", "xz -k main.go", "split -l 3 /tmp/a src/x", "uniq a src/b", "xxd -r a src/b", "iconv -f a -t b -o main.go x", "openssl rand -out main.go 9", "go build -o src/x .", "go test -coverprofile=src/c ./...", "go build -o=src/x .", "go test -count=1 -o src/x ./...", "go test -trace src/t ./...", "patch main.go /tmp/x", "sponge main.go",
		"f() { rm \"$1\"; }; f main.go", "f() { echo x > main.go; }; f", "f() { sed -i s/a/b/ \"$1\"; }; g() { f \"$1\"; }; g main.go", "f() { rm \"$@\"; }; f main.go", "f() { \"$@\"; }; f rm main.go", "f() { $*; }; f rm main.go", "rm() { command rm \"$@\"; }; rm main.go", "if false; then rm() { :; }; fi; rm main.go", "(rm() { :; }); rm main.go", "rm() { :; }; xargs rm main.go", "curl -O http://x/main.go", "curl --remote-name http://x", "git ls-files | while read -r f; do rm \"$f\"; done", "find src | while IFS= read -r f; do sed -i s/a/b/ $f; done",
		"rm ${f:-main.go}", "echo x > \"${f:-main.go}\"", "f=main.go; rm ${f:-x}", "rm ${f:=main.go}", "rm ${f+main.go}",
		"find . -name '*.go' | xargs sed -i s/a/b/", "find src | grep -v x | xargs rm", "git ls-files | xargs sed -i s/a/b/", "grep -rl x src | xargs -n1 sed -i s/a/b/", "rg -l x | xargs perl -pi -e 1",
		"export GIT_DIR=/p/shop-api/.git GIT_WORK_TREE=/p/shop-api; cd /tmp && git checkout x", "GIT_WORK_TREE=/p/shop-api; export GIT_WORK_TREE; cd /tmp; git reset --hard",
	} {
		runShell(t, p, []shellRow{{c, code}})
	}
	runShell(t, p, []shellRow{{"f() { " + strings.Repeat("f x; ", 1000) + "}; f x", ""}}) // and comes to an end
	for _, c := range []string{
		"sort main.go", "sort -k2 -t: main.go", "curl -s http://x", "curl -o /tmp/x http://x", "curl -H 'a: -o' http://x", "tar tf a.tar", "tar xOf a.tar x", "tar -xf a.tar -C /tmp/x", "tar cf /tmp/a.tar src", "unzip -l a.zip", "awk 1 main.go", "gzip -c main.go", "zcat a.gz", "uniq main.go", "vim -R main.go", "go build -o /tmp/x .", "go build ./...", "go test -run x ./...", "split -l 3 main.go /tmp/x", "patch --dry-run -p1 < x", "patch --dry-run main.go /tmp/x",
		"f() { cat \"$1\"; }; f main.go", "cat ${f:-main.go}", "f() { cat \"$@\"; }; f main.go", "find /tmp/x | while read f; do rm $f; done", "git ls-files | while read f; do wc -l $f; done", "find . -name '*.go' | xargs grep x", "find /tmp/x | xargs rm", "git ls-files | xargs wc -l", "d=$(mktemp -d); echo x > ${d:-/tmp}/a", "sort -o memory/a.md memory/a.md",
	} {
		runShell(t, p, []shellRow{{c, ""}})
	}
}

// The folders of other agents are nobody's to read; its own prompt is.
func TestOthersFolders(t *testing.T) {
	p := leader()
	for path, want := range map[string]bool{
		root + "/.cmux/agents/supervisor/prompt-1.md": true, ".cmux/journal/2026-11-22/journal.md": true, root + "/.cmux/config.yml": true,
		root + "/.cmux/agents/api/spec-1.json": false, root + "/.cmux/agents/supervisor/../api/x": false, root + "/.cmux/agents": false, root + "/.cmux/token": false, root + "/.cmux/agents/s*/x": false,
	} {
		d := guard.Decide(p, guard.Call{Tool: "Read", Input: object("file_path", path), Dir: root})
		if (d.Verdict == guard.Allow) != want {
			t.Errorf("%s: %s %s", path, d.Verdict, d.Reason)
		}
	}
}

// No form of the shell names a person's key, and none takes the folder it is in.
func TestKeyByShell(t *testing.T) {
	const key = "keeps a person's key"
	p := leader()
	p.Tree = root
	rows := []shellRow{
		{"cat .cmux/{token,x}", key}, {"head .cmux/tok{en,}", key}, {"cat {.cmux/token,x}", key}, {"cat " + root + "/{.cmux,x}/token", key}, {"cat .cmux/{a..z}{a..z}{a..z}", key}, {"cat < .cmux/{token,}", key},
		{"grep -r '' .cmux", key}, {"grep -rn Bearer .cmux/", key}, {"rg Bearer .cmux", key}, {"cp -r .cmux memory/c", key}, {"cp -al .cmux memory/c", key}, {"tar c .cmux", key}, {"tar cf memory/x.tar .cmux", key}, {"rsync -a .cmux/ memory/c", key}, {"find .cmux -type f -exec cat {} +", key}, {"cd .cmux && cat t*", key}, {"ls -R .cmux | xargs cat", key}, {"tar c .cm*", key},
		{"git grep --no-index '' -- .cmux", key}, {"git -C .cmux grep --no-index ''", key}, {"xargs cat <<< .cmux/token", key}, {"while read f; do cat $f; done <<< .cmux/token", key},
		{`python3 -c "print(open('.cmux/token').read())"`, key}, {"node -e 'fs.readFileSync(`./.cmux/token`)'", key}, {"awk 1 .cmux/token", key}, {"python3 -c 'open(\".cmux/agents/api/x\")'", key},

		{"python3 -c 'open(\".cmux/agents/supervisor/x\")'", ""}, {"python3 -c 'open(\".cmux/tokens.md\")'", ""}, {"ls .cmux", ""}, {"ls -la .cmux/", ""}, {"cat .cmux/config.yml", ""}, {"cat .cmux/journal/{a,b}.md", ""}, {"grep -r x .cmux/journal", ""}, {"grep -q .cmux .gitignore", ""}, {"grep -rn x .", ""}, {"find . -name '*.go'", ""}, {"find .cmux/roles -name x", ""}, {"git log -- .cmux", ""}, {"test -d .cmux", ""}, {"cd .cmux/journal && cat a.md", ""}, {"echo .cmux", ""}, {"cmux tasks add 'x .cmux/tokens'", ""},
	}
	runShell(t, p, rows)
	w := builder()
	w.Private = p.Private
	runShell(t, w, []shellRow{{"cat " + root + "/.cmux/{token,x}", key}, {"grep -r '' " + root + "/.cmux", key}, {"cp -r ../shop/.cmux x", key}, {"cat " + root + "/.cmux/config.yml", ""}})
}

// Git is judged by the worst of the places that it is led to, and what it prints
// to a file is a write.
func TestGitLedElsewhere(t *testing.T) {
	p := leader()
	p.Tree = root
	for _, c := range []string{
		"git --work-tree=/p/shop -C /tmp/evil checkout -f", "git -C /tmp/evil --work-tree=/p/shop checkout -f", "GIT_WORK_TREE=/p/shop GIT_DIR=/tmp/evil/.git git checkout -f", "GIT_DIR=/tmp/evil/.git GIT_WORK_TREE=/p/shop git checkout -f",
		"env GIT_WORK_TREE=/p/shop GIT_DIR=/tmp/evil/.git git checkout -f", "git -c core.worktree=/p/shop -C /tmp/evil checkout -f", "git -c core.workTree=../../p/shop -C /tmp/evil reset --hard", "git --git-dir=/p/shop/.git -C /tmp/evil reset --soft HEAD~1", "cd /tmp/evil && git --work-tree /p/shop clean -fdx",
		"cd /p/shop && GIT_DIR=/tmp/evil/.git git checkout -f", "cd /p/shop && git --git-dir /tmp/evil/.git restore .",
		"git diff --output=/p/shop/main.go", "git diff --output /p/shop/main.go", "git log --outpu=/p/shop/main.go", "cd /p/shop && git archive -o main.go HEAD", "git archive -o/p/shop/main.go HEAD", "git format-patch -o /p/shop/src HEAD~1", "git format-patch --output-directory=/p/shop/src HEAD~1", "git bundle create /p/shop/main.go HEAD",
	} {
		runShell(t, p, []shellRow{{c, "leads and changes no files"}})
		runShell(t, builder(), []shellRow{{c, "own checkout"}})
	}
	for _, q := range []places.Policy{p, builder()} {
		runShell(t, q, []shellRow{
			{"git -C /tmp/x --work-tree=/tmp/x commit -am x", ""}, {"GIT_DIR=/tmp/x/.git git gc", ""}, {"GIT_WORK_TREE=/tmp/x GIT_DIR=/tmp/x/.git git checkout -f", ""}, {"git diff --output=/tmp/a", ""}, {"git archive -o /tmp/a.tar HEAD", ""}, {"git log -- --output=main.go", ""}, {"git grep -o x", ""}, {"GIT_DIR=/p/shop/.git git log", ""},
		})
	}
}

// A supervisor makes no second names among its notes, by which it would write
// code, and none of the other forms of copying leads out of them.
func TestLeaderCopies(t *testing.T) {
	p := leader()
	p.Tree = root
	for _, c := range []string{
		"cp -l main.go memory/m.md", "cp -al src memory/s", "cp --link main.go memory/", "cp -s /p/shop/main.go memory/x", "cp --symbolic-link /p/shop/main.go memory/", "cp -lt memory main.go", "ln -s ../main.go memory/x && echo evil > memory/x", "ln -s /tmp/a memory/x", "ln -st memory /tmp/a", "cd memory && ln -s ../main.go", "cd memory && ln -s ../main.go .", "ln -sf /tmp/a MEMORY.md",
		"cp -rt src /tmp/a.go", "cp -tsrc /tmp/a.go", "cp --target-dir=src /tmp/a.go", "mv -tsrc /tmp/a.go", "rsync --remove-source-files main.go memory/",
		"chmod -x main.go", "chmod -rw main.go", "chmod --reference=/tmp/a main.go", "chmod +x main.go", "chown root main.go", "chmod -R -w src",
	} {
		runShell(t, p, []shellRow{{c, "is refused: a supervisor"}})
	}
	runShell(t, p, []shellRow{
		{"cp main.go memory/", ""}, {"cp -r src memory/s", ""}, {"cp -t memory main.go", ""}, {"cp -rtmemory src", ""}, {"rsync -at main.go memory/", ""}, {"ln -s /tmp/a /tmp/b", ""}, {"chmod 600 memory/a.md", ""}, {"chmod -x memory/a.md", ""}, {"chmod 644 /tmp/a", ""},
	})
}

// A file among a supervisor's notes that has another name is not its to write.
func TestLinkedNotes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "memory"), 0o755), os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "memory/n.md"), nil, 0o644), os.Link(filepath.Join(dir, "main.go"), filepath.Join(dir, "memory/m.md"))); err != nil {
		t.Fatal(err)
	}
	p := leader()
	p.Root, p.Resolve, p.Linked = dir, places.Follow, places.Linked
	for name, want := range map[string]guard.Verdict{"memory/m.md": guard.Deny, "memory/n.md": guard.Grant, "memory/new.md": guard.Grant} {
		if d := guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", name), Dir: dir}); d.Verdict != want {
			t.Errorf("%s: %s %s, want %s", name, d.Verdict, d.Reason, want)
		}
	}
	runIn(t, p, dir, []shellRow{{"echo x > memory/m.md", "has another name"}, {"echo x > memory/n.md", ""}})
}

// A file that has another name is not written into, as that name may be anybody's. The
// way out that the refusal names works.
func TestHardLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(dir, "tree")
	if err := errors.Join(os.Mkdir(tree, 0o755), os.WriteFile(filepath.Join(dir, "store"), nil, 0o644),
		os.Link(filepath.Join(dir, "store"), filepath.Join(tree, "linked")), os.WriteFile(filepath.Join(tree, "plain"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	p := builder()
	p.Tree, p.Dir, p.Scope, p.Resolve, p.Linked = tree, "", nil, places.Follow, places.Linked
	writes := func(name string, denied bool) {
		t.Helper()
		for _, tool := range []string{"Write", "Edit"} {
			if d := guard.Decide(p, guard.Call{Tool: tool, Input: object("file_path", name), Dir: tree}); (d.Verdict == guard.Deny) != denied {
				t.Errorf("%s %s: %s %s", tool, name, d.Verdict, d.Reason)
			}
		}
	}
	writes("linked", true)
	writes("plain", false)
	writes("new", false)
	const refused = "another name (a hard link)"
	runIn(t, p, tree, []shellRow{{"echo x > linked", refused}, {"echo x >> ./linked", refused}, {"tee linked", refused}, {"chmod 600 linked", refused}, {"dd of=linked", refused}, {"cp plain linked", refused},
		{"cat linked", ""}, {"rm linked", ""}, {"mv linked elsewhere", ""}, {"cp -p linked COPY && mv COPY linked", ""}, {"sed -i s/a/b/ linked", ""}, {"echo x > plain", ""}})
	b, err := os.ReadFile(filepath.Join(tree, "linked"))
	if err := errors.Join(err, os.WriteFile(filepath.Join(tree, "COPY"), b, 0o644), os.Rename(filepath.Join(tree, "COPY"), filepath.Join(tree, "linked"))); err != nil {
		t.Fatal(err)
	}
	writes("linked", false)
}

// Forms of the shell that hide a name by little.
func TestLeaderShellForms(t *testing.T) {
	p := leader()
	p.Tree = root
	for _, c := range []string{
		"for f in main.go src/a.go; do echo x > $f; done", "for f in memory/a main.go; do tee $f < /tmp/x; done", "for d in src; do for f in a b; do echo > $d/$f; done; done", "for f in $(tee main.go); do :; done",
		"trap 'echo x > main.go' EXIT", "trap -- 'rm main.go' INT TERM", "env '-Stee main.go'", "xargs rm <<< main.go", "xargs tee <<< 'memory/a main.go'",
	} {
		runShell(t, p, []shellRow{{c, "leads and changes no files"}})
	}
	runShell(t, p, []shellRow{{"for f in a b; do echo x > memory/$f; done", ""}, {"for f in *.go; do wc -l $f; done", ""}, {"trap - EXIT", ""}, {"trap 'rm -rf /tmp/mine' EXIT", ""}})
}

// A forbidden zone is refused to every tool, a careful one is reported, and a safe
// one grants what a tool for files writes, and never a text of the shell.
func TestZones(t *testing.T) {
	p := builder()
	p.Scope, p.Context = nil, nil
	p.Zones = places.Zones{Forbidden: []string{"deploy/", "**/*.lock", "core/health.go"}, Careful: []string{"core/", "man"}, Safe: []string{"man/", "deploy/notes.md"}}
	const no = "forbidden zone"
	for path, want := range map[string]string{
		"deploy/x.sh": no, "DEPLOY/x.sh": no, tree + "/a/b/x.lock": no, "core/health.go": no, "src/../deploy/x": no, "deploy/notes.md": no, "core/other.go": "", "main.go": "", "deployer/x": "",
	} {
		verdict := guard.Deny
		if want == "" {
			verdict = guard.Allow
		}
		check(t, guard.Decide(p, guard.Call{Tool: "Edit", Input: object("file_path", path), Dir: tree}), verdict, want)
	}
	runShell(t, p, []shellRow{
		{"echo x > deploy/x", no}, {"rm -rf deploy", no}, {"rm -rf core", no}, {"sed -i s/a/b/ core/health.go", no}, {"cp x deploy/", no}, {"mv a.lock b", no}, {"rm -rf *", no}, {"mv core elsewhere", no},
		{"cat deploy/x", ""}, {"echo x > core/a.go", ""}, {"echo x > man/a.md", ""},
		{"git rm deploy/x", no}, {"git rm -r core", no}, {"git mv core/health.go x", no}, {"git restore --source=HEAD~1 deploy/x", no}, {"git restore -s HEAD core/health.go", no}, {"git checkout HEAD~1 -- core", no}, {"git checkout HEAD -- .", no}, {"git checkout -- .", ""}, {"git checkout -- a.lock", no}, {"git restore .", ""}, {"git restore deploy/x", no}, {"git restore -s HEAD~1 .", no}, {"git restore --so=HEAD~1 .", no}, {"git restore --staged -s HEAD~1 deploy/x", no}, {"git restore --theirs deploy/x", no},
		{"git restore --staged deploy/x", ""}, {"git add deploy/x", ""}, {"git restore core/a.go", ""},
	})
	own := p
	own.Machine = clean{}
	for command, want := range map[string]guard.Verdict{"git restore core/a.go": guard.Allow, "git rm core/a.go": guard.Allow, "git restore main.go": guard.Grant, "git status": guard.Grant} {
		if d := guard.Decide(own, bash(command)); d.Verdict != want {
			t.Errorf("%s: %s, want %s", command, d.Verdict, want)
		}
	}
	for path, want := range map[string]guard.Decision{
		"main.go": {Verdict: guard.Grant}, "core/a.go": {Tell: "careful zone (core/)"}, "man/a.md": {Tell: "careful zone (man)"},
	} {
		d := guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: tree})
		if d.Verdict != want.Verdict || !strings.Contains(d.Tell, want.Tell) || (d.Tell == "") != (want.Tell == "") {
			t.Errorf("%s: %s, told %q", path, d.Verdict, d.Tell)
		}
	}
	// One that shares a folder is granted what is safe, and nothing by the shell.
	shares := places.Policy{Role: dag.RoleBuild, Root: root, Resolve: follow, Zones: places.Zones{Safe: []string{"man/"}}, Machine: clean{}}
	for path, want := range map[string]guard.Verdict{"man/a.md": guard.Grant, "main.go": guard.Allow, "man/../main.go": guard.Allow, "man/.mcp.json": guard.Deny, "man/.vscode/x": guard.Allow} {
		if d := guard.Decide(shares, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: root}); d.Verdict != want {
			t.Errorf("%s: %s %s, want %s", path, d.Verdict, d.Reason, want)
		}
	}
	for _, command := range []string{"echo x > man/a.md", "touch man/a", "cat > man/a.md <<'EOF'\nx\nEOF", "rm man/a"} {
		if d := guard.Decide(shares, guard.Call{Tool: "Bash", Input: object("command", command), Dir: root}); d.Verdict != guard.Allow {
			t.Errorf("%s: %s, want allow", command, d.Verdict)
		}
	}
	reviews := shares
	reviews.Role = dag.RoleReview
	if d := guard.Decide(reviews, guard.Call{Tool: "Write", Input: object("file_path", "man/a.md"), Dir: root}); d.Verdict != guard.Deny {
		t.Errorf("a review writes man: %s", d.Verdict)
	}
}

// A supervisor of another project changes nothing there either, wherever it
// stands, and reads none of its keys.
func TestLeadingElsewhere(t *testing.T) {
	const site, code = "/other/site", "a supervisor leads and changes no files"
	p := leader()
	p.Led, p.Private = site, append(p.Private, site+"/.cmux/token")
	runShell(t, p, []shellRow{
		{"echo x > /other/site/index.html", code}, {"cat /other/site/index.html", ""},
		{"echo x > /other/sites.txt", ""}, {"rm -r /other/site/pages", code}, {"rm -rf /other", "is refused"},
	})
	runIn(t, p, site, []shellRow{
		{"git commit -am x", code}, {"git checkout -f main", code}, {"git reset --hard HEAD~3", code}, {"git push origin main", "git push is refused"}, {"git branch -D feature", "git branch is refused"}, {"git branch new", code}, {"git clean -fdx", code},
		{"git stash", "git stash is refused"}, {"git config user.name x", "git config is refused"}, {"git worktree remove --force ../x", "git worktree remove is refused"}, {"git merge dev", code}, {"cd sub && git add .", code}, {"git -C /other/site rm x", code}, {"git -C " + root + " commit -am x", code}, {"git -C ../site-api commit -am x", code},
		{"npm install", code}, {"gofmt -w .", code}, {"patch -p1 < x", code}, {"pre-commit install", "is refused"}, {"rm index.html", code}, {"echo x > a", code}, {"echo x > $(git rev-parse --show-toplevel)/a", code}, {"echo x > .cmux/config.yml", code}, {"sed -i s/a/b/ .git/config", code},
		{"cat .cmux/token", "keeps a person's key"}, {"git status", ""}, {"git log --oneline", ""}, {"npm test", ""}, {"cd /tmp/mine && git commit -am x", ""}, {"echo x > " + root + "/memory/a.md", ""},
	})
}

func runIn(t *testing.T, p places.Policy, dir string, rows []shellRow) {
	t.Helper()
	for _, r := range rows {
		d := guard.Decide(p, guard.Call{Tool: "Bash", Input: object("command", r.command), Dir: dir})
		if got := d.Verdict == guard.Deny; got != (r.want != "") || !strings.Contains(d.Reason, r.want) {
			t.Errorf("in %s, %s: %s %q, want %q", dir, r.command, d.Verdict, d.Reason, r.want)
		}
	}
}

// listing is a machine on which git lists worktrees.
type listing struct{ clean }

func (l listing) Git(in string, args ...string) (string, error) {
	if slices.Contains(args, "worktree") {
		return "worktree " + root + "\nHEAD 0\nbranch refs/heads/main\n\nworktree /p/shop-api\nHEAD 0\nbranch refs/heads/api\n\nworktree /p/shop-gone\nHEAD 0\ndetached\nprunable gitdir file points to non-existent location\n\nworktree /p/other-x\nHEAD 0\ndetached\n\n", nil
	}
	return l.clean.Git(in, args...)
}

// A supervisor reads what its workers wrote, and no folder that only begins as theirs.
func TestReadsInWorktrees(t *testing.T) {
	for path, want := range map[string]bool{
		"/p/shop-api/a.go": true, "/p/shop-api": true, "../shop-api/src/a.go": true, "/p/shop-api/../shop-api/a.go": true,
		"/p/shop-secrets/key": false, "/p/shop-gone/a.go": false, "/p/other-x/a.go": false, "/p/shop-api2/a.go": false, "/p/shop-api/../shop-x/a": false, "/p/shop-api/../../etc/passwd": false,
		"/p/shop-": false, "/p/shop": false, "/p/shop-api/.git": false, "/p/shop-api/.git/config": false, "/p/shop-api/.cmux/x": false, "/p/shop-*/a": false, "/p/shop-{api,x}/a": false, "/p/SHOP-api/a": false,
		"/p/shop-api/link/a": false, "/p/shop-api/link/../a.go": false, "": false, "/etc/passwd": false, "file:///p/shop-secrets/key": false,
	} {
		p := leader()
		p.Machine = listing{clean{env: map[string]string{"HOME": "/h"}}}
		p.Resolve = func(path string) (string, error) {
			if strings.HasPrefix(path, "/p/shop-api/link/") {
				path = "/p/shop-secrets/" + strings.TrimPrefix(path, "/p/shop-api/link/")
			}
			return follow(path)
		}
		if d := guard.Decide(p, guard.Call{Tool: "Read", Input: object("file_path", path), Dir: root}); (d.Verdict == guard.Grant) != want {
			t.Errorf("%s: %s", path, d.Verdict)
		}
		p.Leads = false
		if granted(p, guard.Call{Tool: "Read", Input: object("file_path", path), Dir: root}) {
			t.Errorf("%s is granted to who does not lead", path)
		}
	}
	p := leader()
	p.Machine = listing{}
	for tool, want := range map[string]bool{"Read": true, "Grep": true, "Glob": false, "mcp__fs__read_file": false, "LS": false} {
		if got := granted(p, guard.Call{Tool: tool, Input: object("path", "/p/shop-api"), Dir: root}); got != want {
			t.Errorf("%s: granted is %v", tool, got)
		}
	}
}

// A refusal says of a call with several commands that the others did not run either.
func TestRefusalSaysThatNothingRan(t *testing.T) {
	for command, want := range map[string]bool{
		"git gc": false, "git gc --auto 2>&1": false, "git commit -am x ; git gc": true, "make && git gc": true, "git gc | tail -1": true, "make\ngit gc": true, "for i in 1 2; do git gc; done": false,
	} {
		d := guard.Decide(builder(), guard.Call{Tool: "Bash", Input: object("command", command), Dir: tree})
		if d.Verdict != guard.Deny || strings.HasSuffix(d.Reason, "(Nothing else in this call was run either.)") != want {
			t.Errorf("%q: %s %q", command, d.Verdict, d.Reason)
		}
	}
}

// Every agent looks at what is no secret to it outside of its directory: what git
// tracks in the project's checkout, what the system shows to all, what mktemp made.
func TestReadsOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root, tree, temp := filepath.Join(w.dir, "root"), filepath.Join(w.dir, "tree"), filepath.Join(w.dir, "temp")
	w.write("root/.env", "key\n")
	w.write("root/.cmux-agents.yml", "agents:\n")
	w.write("root/:(top)README", "key\n")
	w.write("home/.ssh/id", "key\n")
	w.write("temp/tmp.Ab3dE6gh1J/out.log", "x\n")
	w.write("temp/out.log", "x\n")
	w.write("temp/kept", "x\n")
	w.must(os.Chmod(filepath.Join(temp, "kept"), 0o600))
	for _, dir := range []string{filepath.Dir(w.dir), w.dir, temp} {
		w.must(os.Chmod(dir, 0o755))
	}
	w.must(os.Chmod(filepath.Join(temp, "out.log"), 0o644))
	w.must(os.Symlink(filepath.Join(w.dir, "home/.ssh"), filepath.Join(temp, "tmp.Ab3dE6gh1J/link")))
	w.must(os.Symlink(filepath.Join(w.dir, "home/.ssh/id"), filepath.Join(tree, "outward")))
	for _, leads := range []bool{false, true} {
		p := places.Policy{Role: dag.RoleBuild, Root: root, Tree: tree, Leads: leads, Resolve: places.Follow, Linked: places.Linked,
			Machine: places.Here(tree, append(w.env("bin"), "PATH="+os.Getenv("PATH"), "TMPDIR="+temp))}
		for path, want := range map[string]bool{
			root + "/README": true, root + "/src/a.txt": true, root + "/with blank": true, root + "/.cmux-agents.yml": true, "../root/README": true, "/etc/hosts": true,
			temp + "/tmp.Ab3dE6gh1J/out.log": true, temp + "/out.log": true, temp + "/none": true, temp + "/tmp.Ab3dE6gh1J/../out.log": true,
			root + "/.env": false, root + "/new": true, root: false, root + "/src": false, root + "/*": false, root + "/:(top)README": false, root + "/.git/config": false, root + "/../root/.git/HEAD": false,
			root + "/link": false, root + "/src/link2": false, tree + "/outward": false,
			temp + "/kept": false, temp + "/tmp.Ab3dE6gh1J": false, temp + "/tmp.Ab3dE6gh1J/link/id": false, temp: false,
			w.dir + "/home/.ssh/id": false, w.dir + "/outside/secret": false, "/etc": false, "/etc/shadow": false, "/etc/no-such-file": false, "/etc/../proc/self/environ": false, "/proc/self/environ": false, "~/.ssh/id": false, "": false,
		} {
			if got := granted(p, guard.Call{Tool: "Read", Input: object("file_path", path), Dir: tree}); got != want {
				t.Errorf("leads %v, %s: granted is %v", leads, path, got)
			}
		}
	}
}

// In its shell too, who leads writes what is to be remembered, when the text is literal.
func TestLeaderIsGrantedNotes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := filepath.Join(w.dir, "root")
	w.policy = places.Policy{
		Role: dag.RoleBuild, Root: root, Tree: root, Leads: true, Beside: filepath.Join(w.dir, "tre"), Private: []string{filepath.Join(root, ".cmux/state")}, Resolve: places.Follow, Linked: places.Linked,
		Machine: places.Here(root, append(w.env("bin"), "PATH="+filepath.Join(w.dir, "cmux")+":"+os.Getenv("PATH"))),
	}
	w.write("root/MEMORY.md", "kept\n")
	w.write("root/memory/a.md", "kept\n")
	w.write("root/.cmux/config.yml", "x\n")
	w.must(os.MkdirAll(filepath.Join(root, ".cmux/journal"), 0o755))
	w.must(os.Symlink("../src", filepath.Join(root, "memory/link")))
	w.must(os.Symlink("../../README", filepath.Join(root, ".cmux/journal/link.md")))
	w.must(os.Link(filepath.Join(root, "src/a.txt"), filepath.Join(root, "memory/two")))
	w.before = w.look()
	for text, want := range map[string][]string{
		"echo 'text' >> MEMORY.md": {"root/MEMORY.md"}, "cat >> MEMORY.md <<'EOF'\n$(pwn) x\nEOF": {"root/MEMORY.md"}, "mkdir -p memory && echo x > memory/f.md": {"root/memory/f.md", "root/memory"}, "mkdir -p memory/deep && printf 'x\\n' > memory/deep/f.md": {"root/memory", "root/memory/deep", "root/memory/deep/f.md"},
		"echo x > .cmux/journal/n.md": {"root/.cmux/journal", "root/.cmux/journal/n.md"}, "echo x > reflection.md && ls": {"root", "root/reflection.md"}, "echo x >> memory/a.md; pwd": {"root/memory/a.md"},
	} {
		if !w.granted(text) {
			t.Errorf("%q is not granted", text)
			continue
		}
		for _, sh := range shells {
			cmd := "cd '" + root + "' && eval \"$1\""
			_, err := w.shell(sh, "bin", cmd, "x", text)
			if names, _ := w.changed(); err != nil || foreign(ran(w.told())) != "" || len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(want, n) }) {
				t.Errorf("%v: %q changes %q, %v", sh, text, names, err)
			}
		}
	}
	for _, text := range []string{
		"echo x > MEMORY.md", "echo x > memory/a.md", "echo x >> README", "echo x > new", "echo x > src/n", "echo x > memory/link/n", "echo x >> memory/two", "echo x >> .cmux/config.yml", "echo x > .cmux/n", "echo x >> .cmux/state", "echo x >> .cmux/journal/link.md", "echo x > .cmux/journal/.mcp.json", "echo x > .cmux/journal/../n", "echo x > memory/.claude/x", "echo x > .claude/x", "echo x > ../tree/MEMORY.md", "echo x > ../tree/src/n",
		"mkdir -p src/n", "mkdir -p memory2", "mkdir -p memory src/n", "mkdir -p memory/../src/n", "mkdir -p memory/link/n", "mkdir -p memory/.git", "touch memory/n", "rm memory/a.md", "sed -i s/a/b/ memory/a.md", "git mv memory/a.md memory/b.md", "echo $(pwn) >> MEMORY.md", "cat README >> MEMORY.md", "git diff >> MEMORY.md", "echo x >> MEMORY.md && git add MEMORY.md", "for t in a; do echo $t > memory/$t; done", "check it && echo x >> MEMORY.md",
	} {
		if w.granted(text) {
			t.Errorf("granted %q", text)
		}
	}
	w.policy.Role = dag.RoleReview
	if w.granted("echo x >> MEMORY.md") || w.granted("mkdir -p memory/n") {
		t.Error("a review writes notes")
	}
}
