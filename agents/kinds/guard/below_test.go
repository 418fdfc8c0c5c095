package guard_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A text may go on in a folder by its plain name where no CDPATH leads elsewhere, and come
// back. There it may run less than a check does.
func TestGoesOn(t *testing.T) {
	grants := []string{
		"cd price && go test . && cd .. && git status --short", "cd price && gofmt -l . && go test ./... && go vet . && go build -o /dev/null . && cd ..", "cd price && go test", "cd price/ && go test -run TestX . 2>&1 | tail -3", "cd price && cd deep && go test && cd ../.. && git status",
		"cd price && echo x > new && cd .. && go test ./...", "cd ./price && go list ./... && go doc Total && go env GOVERSION", "cd price && gofmt -w x.go && cd .. && git add -A", "cd " + tree + "/price && go vet ./deep/... && cd .. && git diff --stat",
		"sed -i -e s/a/b/ price/x.go && cd price && go test .", "cd price && cat x.go && cd .. && cat price/x.go",
	}
	hostile := []string{
		"cd price && go test -exec x .", "cd price && go test ../other", "cd price && go test ./../..", "cd price && go build -o x .", "cd price && go build .", "cd price && make lint", "cd price && go doc ./x", "cd price && gofmt -l ../../shop", "cd price && gofmt -l ..", "cd price && go test /p/shop/price",
		"cd price && cd ../..", "cd price && cd ../../shop && ls", "cd price; cd .. && ls", "cd price && cd ..; ls", "cd price && ls || cd ..", "cd ..", "cd .. && ls", "cd . && cd .. && ls", "cd price && cd .. && cd .. && ls", "cd price/deep && cd .. && ls", "cd price | cd .. && ls", "cd +1 && ls", "cd none && ls", "cd price other && ls", "cd -P price && ls",
		"git mv price/x.go y.go && cd price && ls", "git restore price/x.go && cd price && ls", "go test ./... && cd price && ls", "cd price && git status", "cd price && git mv x.go y.go", "mkdir -p none && cd none && ls", "for d in price; do cd $d; done", "cd price && go test . && cat x.go", "cd price && echo x > go.mod && go test .", "cd price && touch go.work && go vet ./...", "touch price/go.mod && cd price && time go test .", "mv price/x.go price/go.work && cd ./price && go test .", "rm price/go.mod && cd ./price && go build -o /dev/null .", "cd price/../../shop && ls", "cd .git && ls",
	}
	world := func(env map[string]string, more ...string) filed {
		files := map[string]string{"price": "unreadable", "price/": "unreadable", "price/deep": "unreadable", "price/x.go": "package price\n"}
		for _, f := range more {
			files[f] = "export CDPATH=/x\n"
		}
		return filed{clean{env: env}, files}
	}
	p := checked()
	p.Scope, p.Context = nil, nil
	p.Machine = world(nil)
	for _, c := range grants {
		if !granted(p, bash(c)) {
			t.Errorf("%q is not granted", c)
		}
	}
	for _, c := range hostile {
		if granted(p, bash(c)) {
			t.Errorf("granted %q", c)
		}
	}
	// Where a person's shell, or a file that programs read, may lead a name elsewhere.
	for _, m := range []filed{
		world(map[string]string{"CDPATH": "/x"}), world(map[string]string{"CDPATH": ":/x"}), world(map[string]string{"BASH_ENV": "/etc/rc"}), world(map[string]string{"ENV": "/etc/rc"}),
		world(map[string]string{"HOME": "/h"}, "/h/.zshenv"), world(map[string]string{"HOME": "/h"}, "/h/.bashrc"), world(map[string]string{"HOME": "/h", "ZDOTDIR": "/z"}, "/z/.zshrc"),
	} {
		p.Machine = m
		for c, want := range map[string]bool{"cd price && go test .": false, "cd ./price && go test . && cd ..": true, "cd " + tree + "/price && go test .": true} {
			if got := granted(p, bash(c)); got != want {
				t.Errorf("%q with %v, %v: granted is %v", c, m.env, m.files, got)
			}
		}
	}
	// What Go itself takes from the folder in which it stands.
	for _, m := range []filed{world(nil, "price/go.mod"), world(nil, "price/go.work"), world(map[string]string{"GOFLAGS": "-modfile=x"}), world(map[string]string{"GOFLAGS": "-toolexec=./x"}), world(map[string]string{"GOFLAGS": "-overlay=x"})} {
		p.Machine = m
		for _, c := range []string{"cd price && go test .", "cd price && go vet ./...", "cd price/deep && go test", "cd price && go build -o /dev/null ."} {
			if granted(p, bash(c)) {
				t.Errorf("granted %q with %v, %v", c, m.env, m.files)
			}
		}
	}
}

// Flags that a person has set are not taken away, and no program is timed by another one.
func TestTimedChecks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Verify = []string{"GOFLAGS=-v go test ./..."}
	for text, want := range map[string]bool{"GOFLAGS=-v go test ./...": true, "time GOFLAGS=-v go test ./...": false, "timeout 60 GOFLAGS=-v go test ./...": false} {
		if got := w.granted(text); got != want {
			t.Errorf("%q: granted is %v", text, got)
		}
	}
	w.policy.Verify = []string{"go test ./..."}
	texts := []string{"GOFLAGS=-count=1 go test ./...", "time go test ./...", "timeout 60 go test ./..."}
	are := func(why string, want ...bool) {
		t.Helper()
		for i, text := range texts {
			if w.granted(text) != want[i] {
				t.Errorf("%s: %q is granted: %v", why, text, !want[i])
			}
		}
	}
	w.runsWith()
	are("as it is", true, true, true)
	w.runsWith("GOFLAGS=-short")
	are("flags", false, true, true)
	w.runsWith("GOENV=" + filepath.Join(w.dir, "home/env"))
	are("another file of flags", false, true, true)
	w.runsWith("PATH=" + filepath.Join(w.policy.Tree, "bin") + ":" + os.Getenv("PATH"))
	are("a folder of the worktree in PATH", true, false, false) // word for word, a check is run as it is
	w.write("home/.config/go/env", "GOFLAGS=-short\n")
	w.runsWith()
	are("flags for good", false, true, true)
	w.runsWith("CDPATH=")
	if w.granted("cd ./sub && go test .") {
		t.Error("flags for good may name files from where go stands")
	}
	w.must(os.RemoveAll(filepath.Join(w.dir, "home/.config")))
	w.write("goroot/go.env", "GOFLAGS=-short\n")
	if !w.granted("cd ./sub && go test .") {
		t.Error("no flags are set")
	}
	w.runsWith("CDPATH=", "GOROOT="+filepath.Join(w.dir, "goroot"))
	are("flags of the installation", false, true, true)
}

// go build writes no program where it finds none.
func TestBuildsNoProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Verify = []string{"go test ./..."}
	w.more = []string{"CDPATH="}
	w.runsWith(w.more...)
	for text, want := range map[string]bool{"package lib\n": true, "package main_test\n": true, "package main\n": false, "package main": false, "// x\npackage\tmain // y\n": false, "package /* x\n*/ main;": false, "package // x\nmain\n": false} {
		w.write("tree/sub/lib/x.go", text)
		for _, c := range []string{"go build ./...", "go build ./sub/...", "cd sub && go build ./...", "cd sub/lib && go build ./..."} {
			if got := w.granted(c); got != want {
				t.Errorf("%q with %q: granted is %v", c, text, got)
			}
		}
		if w.granted("go build ./sub/lib") || w.granted("echo x > src/f.go && go build ./...") {
			t.Error("granted what may write a program")
		}
	}
}

// Packages that the text itself takes away are none of those that go build finds.
func TestBuildsWhatIsLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy.Verify, w.policy.Scope = []string{"go test ./..."}, []string{"lib/", "lib2/", "lib3/"}
	for name, text := range map[string]string{"lib/l.go": "package lib\n", "lib2/l.go": "package lib2\n", "lib3/l.go": "package lib3\n", "prog/p.go": "package main\n"} {
		w.write("tree/"+name, text)
	}
	w.git("tree", "add", "lib", "lib2", "lib3", "prog")
	w.git("tree", "commit", "-q", "-m", "module")
	for text, want := range map[string]bool{
		"go build ./lib/... ./prog/...": true, "sed -i s/a/b/ lib/l.go && go build ./...": true, "rm lib/l.go && go build ./...": true, "go test ./... && go build ./...": true, "git restore lib/l.go && go build ./...": true,
		"rm lib/l.go && go build ./lib/... ./prog/...": false, "mv lib/l.go lib/l.txt && go build ./lib/... ./prog/...": false, "sed -i 's|^|//|' lib/l.go && go build ./lib/... ./prog/...": false, "echo x > lib/go.mod && go build ./lib/... ./prog/...": false, "touch lib/x.go; go build ./lib/... ./prog/...": false,
		"git rm -q lib/l.go && go build ./lib/... ./prog/...": false, "git restore --source=HEAD lib/l.go && go build ./lib/... ./prog/...": false, "rm lib/l.go lib2/l.go lib3/l.go && go build ./...": false,
	} {
		if got := w.granted(text); got != want {
			t.Errorf("%q: granted is %v", text, got)
		}
	}
}

// The shells themselves go where the guard says, and nowhere else.
func TestGoesOnInShells(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.Symlink("../outside", filepath.Join(w.policy.Tree, "price")))
	texts := []string{"cd sub && cat c && cd .. && cat src/a.txt", "cd src && ls && cd .. && git status --short", "cd src && cat a.txt", "cd sub && cd .. && cd src && ls"}
	for _, text := range texts {
		if w.granted(text) {
			t.Errorf("CDPATH is set, and %q is granted", text)
		}
	}
	w.more = []string{"CDPATH="}
	w.runsWith(w.more...)
	for _, text := range texts {
		if !w.granted(text) {
			t.Errorf("%q is not granted", text)
		}
	}
	w.try(texts, 0)
	for _, text := range []string{"cd price && cat secret", "cd src && cd ../.. && ls", "cd price && cd .. && cat secret", "cd gitdir && cat config", "cd inlink && cd .. && ls"} {
		if w.granted(text) {
			t.Errorf("granted %q", text)
		}
	}
	w.write("home/.zshenv", "cdpath=(~/x)\n")
	w.runsWith(w.more...)
	for _, text := range texts {
		if w.granted(text) {
			t.Errorf("a shell's own file sets cdpath, and %q is granted", text)
		}
	}
}
