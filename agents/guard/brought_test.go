package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"cmux/agents/guard"
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
		}, []string{"git restore .gitattributes && git add -A", "git restore src/b.txt && git status", "git rm -q sub/c && git add -A", "git restore --staged . && git status", "git restore --source=HEAD .gitattributes", "git restore --source=HEAD sub/gone"},
			[]string{"git add -A && git commit -q -m x && git status", "git restore src/b.txt"}},
		{"a repository that is ignored", func(w *world) {
			w.git("tree", "init", "-q", "lib")
			w.git("tree/lib", "commit", "-q", "--allow-empty", "-m", "x")
			w.write("tree/.gitignore", "lib/\n")
		}, []string{"git restore src/b.txt && git status", "git restore --staged . && git status", "git rm -q sub/c && git add -A"},
			[]string{"git add -A && git commit -q -m x && git status", "git restore src/b.txt"}},
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
			}
		})
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
		".opencode/command/x.md": guard.Allow, ".cmux-agents.yml": guard.Allow, "mise.local.toml": guard.Allow, ".config/mise/config.toml": guard.Allow, ".huskyrc.json": guard.Allow, "x.code-workspace": guard.Allow,
		".lefthook/pre-commit/x.sh": guard.Allow, "~/.bashrc": guard.Allow, "\u00a0/x": guard.Allow, "src/plugin/x.ts": guard.Grant, "plugins/x": guard.Grant, "docs/agent/x.md": guard.Grant,
	} {
		if d := guard.Decide(p, guard.Call{Tool: "Write", Input: object("file_path", path), Dir: tree}); d.Verdict != want {
			t.Errorf("%s: %s %s, want %s", path, d.Verdict, d.Reason, want)
		}
	}
}
