package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// direct are the functions that follow links and wait for pipes. What is in a
// project's folder is reached by package signals alone, which does not.
var direct = map[string][]string{
	"os": {"Open", "OpenFile", "OpenInRoot", "OpenRoot", "ReadFile", "WriteFile", "Create", "CreateTemp", "Mkdir", "MkdirAll", "MkdirTemp", "ReadDir",
		"Rename", "Remove", "RemoveAll", "Symlink", "Link", "Chmod", "Chown", "Chtimes", "Truncate", "Stat", "DirFS", "CopyFS"},
	"filepath": {"Walk", "WalkDir", "Glob"},
	"unix":     {"Open", "Openat", "Creat", "Mkdir", "Link", "Linkat", "Unlink", "Rename", "Mknod", "Mkfifo", "Stat", "Truncate", "Chmod"},
	"syscall":  {"Open", "Creat", "Mkdir", "Link", "Unlink", "Rename", "Mknod", "Mkfifo", "Stat", "Truncate", "Chmod"},
	"ioutil":   {"ReadFile", "WriteFile", "ReadDir", "TempDir", "TempFile"},
}

// elsewhere says which files of ours may use them, and on what: never on what
// is in a project's folder.
var elsewhere = map[string]string{
	"agents/platform/fence/fence.go":            "the names beside what is kept back, which are not opened",
	"agents/platform/fence/fence_linux.go":      "whether it is a folder, for the kernel",
	"agents/platform/fence/doors.go":            "folders of sockets in temporary folders, and a person's runtime folder",
	"agents/platform/fence/hide_linux.go":       "/proc, what ssh includes, and a temporary folder",
	"agents/platform/fence/places.go":           "the devices in /dev, and folders of tools in the home folder",
	"agents/runs/attempt/scoped.go":             "the worktree",
	"agents/runs/attempt/fence.go":              "what the fence leaves of the repository's .git, and a temporary folder",
	"agents/kinds/claude/oneshot.go":            "an empty temporary folder",
	"agents/kinds/claude/silence.go":            "the program's own settings",
	"agents/kinds/claude/preflight.go":          "the program's own configuration",
	"agents/kinds/claude/resume.go":             "the program's own transcripts",
	"agents/kinds/claude/claude.go":             "the size of the program's own transcript",
	"agents/control/terminals/run.go":           "the worktree",
	"agents/far/machine/code.go":                "the size of a bundle, in the user's own folder for state",
	"agents/far/machine/control.go":             "Chmod of the socket it just bound",
	"agents/far/machine/sweep.go":               "the folder of an attempt, in the user's own folder for state",
	"agents/control/doctor.go":                  "the configuration and worktrees",
	"agents/control/runs/progress.go":           "the worktree, and git's folder",
	"agents/control/commands/shared.go":         "what the person named with --from",
	"agents/control/merging/verify.go":          "the worktree",
	"agents/control/configfile/config.go":       "the person's project",
	"agents/control/remains/prune.go":           "a run's folder that is given up, by names in it",
	"agents/control/project/project.go":         "the person's project",
	"agents/kinds/codex/git.go":                 "the repository's own files, in a worktree",
	"agents/kinds/codex/resume.go":              "the program's own transcripts",
	"agents/kinds/codex/sandbox.go":             "temporary files of the program's own sandbox",
	"agents/far/farhost/code.go":                "what copy names in the project",
	"agents/runs/host/hosttest/far.go":          "the folder of a test's own machine, and the binary that it gets",
	"agents/runs/host/hosttest/elsewhere.go":    "a test's own machine",
	"agents/control/files/files.go":             "the person's project, of which it shows what is no secret",
	"agents/control/crew/workers.go":            "the folder that the person named",
	"agents/control/crew/projects.go":           "the folder of another project",
	"agents/org/standing/archive.go":            "an agent's folder that is given up, moved by its name",
	"agents/control/rooms/attach.go":            "what the person named with --attach",
	"agents/control/rooms/start.go":             "the folder of a room, in the project",
	"agents/room/book/book.go":                  "a room's folder, moved by its name",
	"agents/org/standing/life.go":               "the worktree",
	"agents/org/treewatch/change.go":            "how long a member's events are",
	"agents/org/standing/rooms.go":              "when a member's events were written last",
	"agents/kinds/kimi/preflight.go":            "the program's own configuration",
	"agents/platform/proc/proc.go":              "/dev/null",
	"agents/runs/wrapper/client.go":             "the file that the command itself was given for its outputs",
	"agents/platform/proc/proc_linux.go":        "/proc",
	"agents/runs/runner/witness.go":             "the terminals in /dev",
	"agents/runs/run/input.go":                  "the configuration, which the person named, and what it names in the project",
	"agents/runs/run/program.go":                "this program, to be copied; what is not believed or used, moved or removed by name in a folder that was looked at",
	"agents/runs/run/stand.go":                  "the worktree that start was called in",
	"agents/runs/run/spec.go":                   "the worktree",
	"agents/runs/run/trust.go":                  "what is not believed, moved by name out of a folder that was looked at",
	"agents/control/files/span.go":              "the worktree, and a copy of its index in /tmp",
	"agents/control/merges.go":                  "the repository's .git",
	"agents/control/seen.go":                    "an archive, whose path its removal recorded",
	"agents/runs/origin/terminal.go":            "/dev/tty",
	"agents/platform/seal/seal.go":              "the user's own folder for state",
	"agents/platform/lease/lease.go":            "the user's own folder for state",
	"agents/platform/lease/seats.go":            "the user's own folder for state",
	"agents/platform/settings/settings.go":      "the user's own configuration",
	"agents/platform/limits/limits.go":          "the user's own folder for state",
	"agents/platform/seal/sealtest/sealtest.go": "a folder of a test's own",
	"agents/runs/attempt/doubt.go":              "whether the machine shuts down",
	"agents/kinds/guard/places/machine.go":      "the programs in PATH, and the worktree",
	"agents/runs/attempt/workspace/tree.go":     "the worktree",
	"agents/platform/tmux/config.go":            "the user's own folder for tmux",
	"agents/platform/tmux/panes.go":             "the user's own folder for tmux",
	"agents/platform/tmux/proxy/proxy.go":       "the user's own folder for tmux's sockets",
	"agents/kinds/transcript/answer.go":         "the program's own transcript",
	"agents/kinds/transcript/follow.go":         "the program's own transcript",
	"agents/runs/wrapper/socket.go":             "Chmod of the socket it just bound",
	"agents/runs/wrapper/socket_darwin.go":      "a short name in /tmp",
	"agents/control/checks/checks.go":           "the person's project",
	"cmd/cmux/help/man.go":                      "the folder that the person named",
	"signals/folder.go":                         "the repository's .git, which tells where info/exclude is",
	"signals/marker.go":                         "the hidden name that a marker was prepared under a moment before, as the folder was opened",
	"signals/os_linux.go":                       "here the rules are kept",
	"signals/scan.go":                           "an entry of the folder it has open",
	"signals/open.go":                           "here the rules are kept",
	"signals/powercut/powercut.go":              "a disk of a test's own",

	"agents/platform/fence/stage/stage_linux.go":     "what is covered in a mount namespace of its own, and what ssh includes",
	"agents/platform/fence/stage/terminals_linux.go": "terminals below /dev",
}

func TestFilesOfTheFolderAreOpenedInOnePlace(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	files := 0
	for _, room := range []string{"agents", "cmd", "server", "signals"} {
		err := filepath.WalkDir(filepath.Join(root, room), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(root, path)
			if d.IsDir() {
				switch name { // in no released binary
				case "agents/testkit/modeltest", "agents/testkit/chaos", "agents/testkit/scripted", "agents/runs/runner/benchruns", "agents/testkit/agenttest":
					return fs.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return nil
			}
			files++
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			imported := map[string]string{} // as it is called in the file -> last element of its path
			for _, i := range f.Imports {
				p, _ := strconv.Unquote(i.Path.Value)
				as := filepath.Base(p)
				if i.Name != nil {
					as = i.Name.Name
				}
				imported[as] = filepath.Base(p)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				pkg, ok := sel.X.(*ast.Ident)
				if !ok || !slices.Contains(direct[imported[pkg.Name]], sel.Sel.Name) {
					return true
				}
				if used[name] = true; elsewhere[name] == "" {
					t.Errorf("%s: %s.%s: use what package signals has for files under .cmux, or say in this test what else it is used on",
						fset.Position(n.Pos()), pkg.Name, sel.Sel.Name)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were looked at", files)
	}
	for name := range elsewhere {
		if !used[name] {
			t.Errorf("%s needs no exception any more", name)
		}
	}
}
