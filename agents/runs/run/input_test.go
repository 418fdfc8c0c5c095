package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTaskFileStaysInTheProject(t *testing.T) {
	parent := t.TempDir()
	root := filepath.Join(parent, "project")
	for _, dir := range []string{"tasks", "sub", ".git", ".cmux/runs"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"key": "secret", "project-2/key": "secret", "project/tasks/a.md": "task a", "project/.git/config": "secret", "project/.cmux/runs/env": "secret",
		"project/large": strings.Repeat("x", maxTaskFile+1), "project/full": strings.Repeat("x", maxTaskFile),
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(parent, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(parent, name), []byte(content))
	}
	for from, to := range map[string]string{
		"in": "tasks/a.md", "tasks/up": "../tasks/a.md", "absolute": filepath.Join(root, "tasks/a.md"), "dir": "tasks",
		"out": "../key", "abs-out": filepath.Join(parent, "key"), "beside": "../project-2/key", "out-dir": "..", "zero": "/dev/zero", "two": "out",
		"git": ".git/config", "loop": "loop", "proc": "/proc/self/environ",
	} {
		if err := os.Symlink(to, filepath.Join(root, from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ config, name, want, fault string }{
		{"c.yml", "tasks/a.md", "task a", ""},
		{"c.yml", "in", "task a", ""},
		{"c.yml", "tasks/up", "task a", ""},
		{"c.yml", "absolute", "task a", ""},
		{"c.yml", "dir/a.md", "task a", ""},
		{"c.yml", filepath.Join(root, "tasks/a.md"), "task a", ""},
		{"c.yml", "full", strings.Repeat("x", maxTaskFile), ""},
		{"sub/c.yml", "../tasks/a.md", "task a", ""},
		{"../project-2/c.yml", "key", "secret", ""}, // the person named that folder
		{"c.yml", "../key", "", "leads out of"},
		{"c.yml", "../../../../../../etc/passwd", "", "leads out of"},
		{"c.yml", "/etc/passwd", "", "leads out of"},
		{"c.yml", "tasks/../../key", "", "leads out of"},
		{"c.yml", "../project-2/key", "", "leads out of"},
		{"c.yml", "out", "", "leads out of"},
		{"c.yml", "abs-out", "", "leads out of"},
		{"c.yml", "beside", "", "leads out of"},
		{"c.yml", "two", "", "leads out of"},
		{"c.yml", "out-dir/key", "", "leads out of"},
		{"c.yml", "zero", "", "leads out of"},
		{"c.yml", "proc", "", "leads out of"},
		{"../project-2/c.yml", "../key", "", "leads out of"},
		{"../project-2/c.yml", "../project/tasks/a.md", "", "leads out of"},
		{"c.yml", "git", "", "whose files are not for a configuration"},
		{"c.yml", ".git/config", "", "whose files are not for a configuration"},
		{"c.yml", ".cmux/runs/env", "", "whose files are not for a configuration"},
		{"c.yml", "pipe", "", "not a regular file"},
		{"c.yml", "tasks", "", "not a regular file"},
		{"c.yml", ".", "", "not a regular file"},
		{"c.yml", "large", "", "more than 1048576 bytes"},
		{"c.yml", "none", "", "there is no"},
		{"c.yml", "loop", "", "loop"},
	} {
		b, err := ReadTask(root, filepath.Join(root, c.config), c.name)
		if string(b) != c.want || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s of %s: got %.20q, %v; want %.20q, %q", c.name, c.config, b, err, c.want, c.fault)
		}
	}
}

func TestConfigIsAFile(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe, large := filepath.Join(dir, "f"), filepath.Join(dir, "l"), filepath.Join(dir, "p"), filepath.Join(dir, "large")
	write(t, file, []byte("session: s"))
	write(t, large, nil)
	if err := os.Truncate(large, maxConfig+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{file: true, link: true, pipe: false, dir: false, "/dev/zero": false, large: false} {
		if _, err := ReadConfig(name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
