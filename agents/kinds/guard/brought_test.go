package guard_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cmux/agents/kinds/guard"
	"cmux/agents/kinds/guard/places"
)

// TestUnplaced: where nobody said in which folder a command is to run, that is
// granted which is the same in all of them, or goes to the worktree itself.
func TestUnplaced(t *testing.T) {
	for command, want := range map[string]bool{
		"cmux done 'all good'": true, "cmux blocked why && cmux done x": true, "cd " + tree + " && git status": true, "cd " + tree + " && cat README": true,
		"git status": false, "cat README": false, "pwd": false, "go test ./...": false, "cd src && git status": false, "cmux done x && git status": false, "cd " + tree + "; git status": false,
	} {
		c := bash(command)
		c.Unplaced = true
		if got := granted(checked(), c); got != want {
			t.Errorf("%s: granted %v", command, got)
		}
		if c.Unplaced = false; !want && command != "cd src && git status" && command != "cd "+tree+"; git status" && !granted(checked(), c) {
			t.Errorf("%s: not granted in the worktree", command)
		}
	}
}

// runsWith gives the agent an environment with further variables.
func (w *world) runsWith(more ...string) {
	w.policy.Machine = places.Here(w.policy.Tree, append(append(w.env("bin"), "PATH="+filepath.Join(w.dir, "cmux")+":"+os.Getenv("PATH")), more...))
}

// A number that cmux did not set may be a pattern, which a shell replaces by files.
func TestNumbersOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for env, want := range map[string]bool{"A=1": true, "CMUX_PORT_BASE=20000": true, "CMUX_PORT_BASE=/*": false, "CMUX_PORT_BASE=a b": false} {
		w.runsWith(env)
		for _, text := range []string{"echo $CMUX_PORT_BASE", "echo ${CMUX_PORT_BASE}"} {
			if got := w.granted(text); got != want {
				t.Errorf("%s: %q is granted: %v", env, text, got)
			}
		}
		if !w.granted(`echo "$CMUX_PORT_BASE"`) {
			t.Errorf("%s: in quotes nothing is replaced", env)
		}
	}
	w.write("tree/.env", "export CMUX_PORT_BASE='/*'\n")
	w.runsWith()
	if w.granted("echo $CMUX_PORT_BASE") {
		t.Error("a .env says what is shown")
	}
}

// TestBroughtBack: what commands of a text bring back from the index and from
// commits is not known when the text is judged, and nothing that git does not keep
// goes to make room for it.
func TestBroughtBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		make func(w *world)
		no   []string // are not granted
		yes  []string
	}{
		{"a folder where a file was", func(w *world) {
			w.write("tree/conflict", "a file")
			w.git("tree", "add", "-A")
			w.git("tree", "commit", "-q", "-m", "with")
			w.git("tree", "tag", "with")
			w.git("tree", "rm", "-q", "conflict")
			w.git("tree", "commit", "-q", "-m", "without")
			w.write("tree/conflict/deep/work", "precious")
		}, []string{"git restore --source=with conflict", "git restore -s with conflict"}, []string{"git restore src/b.txt", "git restore --source=with src/b.txt"}},
		{"a file where a folder was", func(w *world) {
			w.must(os.RemoveAll(filepath.Join(w.dir, "tree/sub")))
			w.write("tree/sub", "precious")
		}, []string{"git restore --source=" + "HEAD" + " sub/c", "git restore sub/c"}, nil},
		{"an untracked file", func(w *world) {
			w.git("tree", "rm", "-q", "--cached", "sub/c")
			w.git("tree", "commit", "-q", "-m", "untracked")
		}, []string{"git restore --source=HEAD~1 sub/c"}, []string{"git status"}},
		{"a filter to come back", func(w *world) {
			w.git("tree", "config", "filter.f.clean", filepath.Join(w.dir, "bin/pwn"))
			w.git("tree", "config", "filter.f.smudge", filepath.Join(w.dir, "bin/pwn"))
			w.write("tree/.gitattributes", "sub/gone filter=f\n")
			w.git("tree", "add", "-A")
			w.git("tree", "-c", "filter.f.clean=cat", "commit", "-q", "-m", "attributes")
		}, []string{"git restore .gitattributes && git add -A", "git rm -q .gitattributes && git add -A", "git restore --source=HEAD .gitattributes", "git restore --source=HEAD sub/gone"},
			[]string{"git add -A && git commit -q -m x && git status", "git restore src/b.txt && git status", "git rm -q sub/c && git add -A", "git restore --staged . && git status"}},
		{"attributes to come back to the index", func(w *world) {
			w.git("tree", "config", "filter.f.clean", filepath.Join(w.dir, "bin/pwn"))
			w.write("tree/.gitattributes", "src/b.txt filter=f\n")
			w.git("tree", "add", "-A")
			w.git("tree", "-c", "filter.f.clean=cat", "commit", "-q", "-m", "attributes")
			w.git("tree", "rm", "-q", "--cached", ".gitattributes")
			w.must(os.Remove(filepath.Join(w.dir, "tree/.gitattributes")))
			w.write("tree/src/b.txt", "changed")
		}, []string{"git restore --staged . && git status", "git restore --staged .gitattributes && git add -A"}, []string{"git status"}},
		{"a filter for nothing", func(w *world) {
			w.git("tree", "config", "filter.lfs.clean", filepath.Join(w.dir, "bin/pwn"))
			w.git("tree", "config", "filter.lfs.smudge", filepath.Join(w.dir, "bin/pwn"))
			w.git("tree", "config", "filter.lfs.process", filepath.Join(w.dir, "bin/pwn"))
		}, nil, []string{"git restore --staged . && git status", "git restore src/b.txt && git add -A && git commit -q -m x", "git rm -q sub/c && git status"}},
		{"a repository that is ignored", func(w *world) {
			w.git("tree", "init", "-q", "lib")
			w.git("tree/lib", "commit", "-q", "--allow-empty", "-m", "x")
			w.write("tree/.gitignore", "lib/\n")
		}, []string{"git restore --staged . && git status", "git restore .gitignore && git status"},
			[]string{"git add -A && git commit -q -m x && git status", "git restore src/b.txt && git status", "git rm -q sub/c && git add -A"}},
		{"a repository around a tracked file", func(w *world) {
			w.git("tree", "init", "-q", "sub")
			w.git("tree/sub", "config", "core.fsmonitor", filepath.Join(w.dir, "bin/pwn"))
			w.git("tree/sub", "-c", "core.fsmonitor=", "commit", "-q", "--allow-empty", "-m", "x")
		}, []string{"git status", "git add -A && git status", "git rm -q sub/c && git add -A && git status", "git rm -q --cached sub/c && git add -A && git status"}, nil},
		{"a repository where a tracked file was", func(w *world) {
			w.git("tree", "init", "-q", "sub")
			w.git("tree/sub", "commit", "-q", "--allow-empty", "-m", "x")
			w.must(os.Remove(filepath.Join(w.dir, "tree/sub/c")))
		}, []string{"git add -A && git add -A && git status", "git commit -qam x && git add -A && git status", "git add -A; git add -A; git diff"}, nil},
		{"a repository around a new file", func(w *world) {
			w.write("tree/src/n/f", "x")
			w.git("tree", "add", "src/n/f")
			w.git("tree", "init", "-q", "src/n")
			w.git("tree/src/n", "commit", "-q", "--allow-empty", "-m", "x")
		}, []string{"git restore --staged . && git add -A && git status", "git restore --staged src/n/f && git add -A && git status"}, nil},
		{"a link where a folder was", func(w *world) {
			w.write("tree/conf/x", "tracked")
			w.git("tree", "add", "-A")
			w.git("tree", "commit", "-q", "-m", "with")
			w.git("tree", "tag", "with")
			w.git("tree", "rm", "-q", "conf/x")
			w.git("tree", "commit", "-q", "-m", "without")
			w.must(os.Symlink("src", filepath.Join(w.dir, "tree/conf")))
		}, []string{"git restore --source=with conf/x", "git restore -s with conf/x"}, []string{"git status"}},
		{"a link where a folder is", func(w *world) {
			w.must(os.RemoveAll(filepath.Join(w.dir, "tree/sub")))
			w.must(os.Symlink("src", filepath.Join(w.dir, "tree/sub")))
		}, []string{"git restore sub/c", "git rm sub/c"}, []string{"git status"}},
		{"a file that git does not look at", func(w *world) {
			w.git("tree", "update-index", "--assume-unchanged", "sub/c")
			w.write("tree/sub/c", "precious")
		}, []string{"git rm -q sub/c", "git restore sub/c"}, []string{"git status"}},
		{"variables from a file", func(w *world) {
			w.write("tree/.env", "A=1\n export GIT_DIR = 'src/repo' # mine\n")
			w.runsWith()
		}, []string{"git status"}, []string{"cat src/b.txt"}},
		{"variables that are hard to see", func(w *world) {
			w.write("tree/.qwen/.env", "\ufeffGIT_DIR=src/repo\n")
			w.runsWith()
		}, []string{"git status"}, nil},
		{"variables on a line of Macintosh", func(w *world) {
			w.write("tree/.env", "A=1\rGIT_DIR=src/repo")
			w.runsWith()
		}, []string{"git status"}, nil},
		{"files to leave out, in the worktree", func(w *world) {
			w.git("tree", "config", "core.excludesFile", "src/ign")
		}, []string{"git status"}, nil},
		{"attributes of a person, in the worktree", func(w *world) {
			w.write("home/.gitconfig", "[core]\n\tattributesFile = src/attrs\n")
		}, []string{"git status"}, nil},
		{"attributes of a person", func(w *world) {
			w.write("home/.gitconfig", "[core]\n\tattributesFile = ~/attrs\n\texcludesFile = "+w.dir+"/home/ignore\n")
		}, nil, []string{"git status"}},
		{"a file that git was told to keep an eye on", func(w *world) {
			w.write("tree/nn", "precious")
			w.git("tree", "add", "-N", "nn")
		}, []string{"git restore nn", "git restore -s HEAD nn"}, nil},
		{"a folder of that name", func(w *world) {
			w.write("tree/.env/GIT_DIR", "x")
			w.write("tree/.qwen", "GIT_DIR=x")
			w.runsWith()
		}, nil, []string{"git status"}},
		{"a pipe of that name", func(w *world) {
			w.must(syscall.Mkfifo(filepath.Join(w.dir, "tree/.env"), 0o600))
			w.runsWith()
		}, []string{"git status"}, nil},
		{"a configuration in the worktree", func(w *world) {
			w.runsWith("GIT_CONFIG_GLOBAL=" + filepath.Join(w.dir, "tree/src/gc"))
		}, []string{"git status"}, nil},
		{"a trace out of the worktree", func(w *world) {
			w.runsWith("GIT_TRACE_REFS=tree/trace")
		}, []string{"git log -1"}, nil},
		{"a file of another time", func(w *world) {}, []string{"git restore --staged src/b.txt && git restore src/b.txt", "git commit -q --allow-empty -m x && git restore -s HEAD~1 src/b.txt", "git add -A && git rm sub/c"},
			[]string{"git restore --staged src/b.txt && git status", "git restore src/b.txt && git status"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.make(w)
			for _, text := range c.no {
				if w.granted(text) {
					t.Errorf("%s is granted", text)
				}
			}
			for _, text := range c.yes {
				if !w.granted(text) {
					t.Errorf("%s is not granted: %v", text, guard.Decide(w.policy, guard.Call{Tool: "Bash", Input: object("command", text), Dir: w.policy.Tree}))
				}
				w := newWorld(t)
				c.make(w)
				w.before = w.look()
				w.told()
				if why := w.does(shells[0], text); why != "" {
					t.Errorf("%s: %s", text, why)
				}
			}
		})
	}
}

// TestLentNames: a folder that is a link lends its name to what is written in another
// one, and who looks for the name finds that.
func TestLentNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.policy
	p.Scope, p.Zones = nil, places.Zones{Forbidden: []string{"conf/"}, Careful: []string{"care/"}}
	for _, name := range []string{".claude", ".opencode", ".vscode", ".husky", "conf", "care", "other"} {
		w.must(os.Symlink("src", filepath.Join(p.Tree, name)))
	}
	w.must(os.Symlink(".", filepath.Join(p.Tree, "self")))
	for path, want := range map[string]guard.Verdict{
		".claude/settings.json": guard.Deny, "self/.claude/settings.json": guard.Deny, ".opencode/plugin/x.ts": guard.Deny, "conf/x": guard.Deny,
		".vscode/tasks.json": guard.Allow, ".husky/pre-commit": guard.Allow, "self/.husky/x": guard.Allow, "care/x": guard.Allow, "other/x": guard.Allow, "src/x": guard.Allow, "self/src/x": guard.Allow,
		"src/settings.json": guard.Deny, "other/settings.local.json": guard.Deny, "src/plugin/x.ts": guard.Deny, "sub/x": guard.Grant, "self/sub/x": guard.Grant, "README": guard.Grant,
	} {
		for _, path := range []string{path, filepath.Join(p.Tree, path), "src/../" + path} {
			if d := guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: p.Tree}); d.Verdict != want {
				t.Errorf("%s: %s %s, want %s", path, d.Verdict, d.Reason, want)
			}
		}
	}
	for text, want := range map[string]guard.Verdict{"git rm conf/x": guard.Deny, "git restore -s HEAD conf/x": guard.Deny, "git restore conf/x": guard.Deny, "git restore .vscode/x": guard.Allow} {
		if d := guard.Decide(p, guard.Call{Tool: "Bash", Input: object("command", text), Dir: p.Tree}); d.Verdict != want {
			t.Errorf("%s: %s %s, want %s", text, d.Verdict, d.Reason, want)
		}
	}
}

// TestMessageOfAnother: a message by a here-document is printed by a cat that is
// the person's.
func TestMessageOfAnother(t *testing.T) {
	p := checked()
	message := "git commit --allow-empty -m \"$(cat <<'EOF'\nhello\nEOF\n)\""
	if !granted(p, bash(message)) {
		t.Error("is not granted")
	}
	p.Machine = foreignCat{}
	if granted(p, bash(message)) {
		t.Error("is granted, with a cat of the agent's")
	}
	if p.Machine = (clean{env: map[string]string{"HOME": tree + "/home"}}); granted(p, bash("git status")) {
		t.Error("is granted, with a home of the agent's")
	}
}

// foreignCat is a machine on which cat is found in the worktree.
type foreignCat struct{ clean }

func (foreignCat) Program(name string) ([]string, bool) {
	if name == "cat" {
		return []string{tree + "/tools"}, true
	}
	return []string{"/usr/bin"}, true
}

// TestOrdersOfOpenCode: what OpenCode runs or takes its permissions from is a
// person's, and so is what else tools take orders from.
func TestOrdersOfOpenCode(t *testing.T) {
	p := builder()
	p.Scope, p.Context = nil, nil
	for path, want := range map[string]guard.Verdict{
		".opencode/plugin/x.ts": guard.Deny, ".opencode/plugins/deep/x.ts": guard.Deny, "sub/.opencode/tool/x.ts": guard.Deny, ".opencode/agent/build.md": guard.Deny, ".opencode/mode/x.md": guard.Deny,
		".opencode/package.json": guard.Deny, ".opencode/config.json": guard.Deny, ".opencode.json": guard.Deny, ".OpenCode/Agent/build.md": guard.Deny,
		".opencode/command/x.md": guard.Allow, ".cmux-agents.yml": guard.Allow, "examples/.cmux-agents.yml": guard.Grant, "cmd/mise/main.go": guard.Grant, ".env": guard.Allow, ".env.example": guard.Grant, "mise.local.toml": guard.Allow, ".config/mise/config.toml": guard.Allow, ".huskyrc.json": guard.Allow, "x.code-workspace": guard.Allow,
		".lefthook/pre-commit/x.sh": guard.Allow, "~/.bashrc": guard.Allow, "\u00a0/x": guard.Allow, "src/plugin/x.ts": guard.Grant, "plugins/x": guard.Grant, "docs/agent/x.md": guard.Grant,
	} {
		if d := guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: tree}); d.Verdict != want {
			t.Errorf("%s: %s %s, want %s", path, d.Verdict, d.Reason, want)
		}
	}
}
