package codex

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"cmux/agents/kinds/agent"
)

func TestSandbox(t *testing.T) {
	for _, c := range []struct {
		s        agent.Stage
		approval string
		mode     string
	}{
		{agent.Stage{}, "on-request", "workspace-write"},
		{agent.Stage{Automatic: true}, "never", "workspace-write"},
		{agent.Stage{AutoAccept: true}, "untrusted", "danger-full-access"},
		{agent.Stage{Review: true}, "on-request", "read-only"},
		{agent.Stage{Review: true, Automatic: true}, "never", "read-only"},
		{agent.Stage{Review: true, AutoAccept: true}, "never", "read-only"},
	} {
		c.s.Dir = t.TempDir()
		fenced := c.s
		fenced.Confine = func(*exec.Cmd) error { return nil }
		if got := sandboxOf(&fenced); got.approval != c.approval || got.mode != "danger-full-access" {
			t.Errorf("in a fence: %s, %s", got.approval, got.mode)
		}
		if got := sandboxOf(&c.s); got.approval != c.approval || got.mode != c.mode {
			t.Errorf("review %v, automatic %v, auto_accept %v: %s, %s", c.s.Review, c.s.Automatic, c.s.AutoAccept, got.approval, got.mode)
		}
	}
}

// What a killed sandbox leaves is removed, except while another one runs or begins: that
// may be about to mount on it.
func TestClearTemp(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pid   int
		held  bool
		stays bool
	}{
		"nobody registered":  {},
		"a killed one":       {pid: dead.Process.Pid},
		"one that runs":      {pid: os.Getpid(), stays: true},
		"one that registers": {held: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			register := filepath.Join(dir, "codex-bwrap-synthetic-mount-targets-1", "0a")
			for _, d := range []string{register, filepath.Join(dir, ".git"), filepath.Join(dir, ".codex", "kept")} {
				if err := os.MkdirAll(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			lock, err := os.Create(filepath.Join(filepath.Dir(register), "lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			if c.pid != 0 {
				if err := os.WriteFile(filepath.Join(register, strconv.Itoa(c.pid)), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.held {
				if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
					t.Fatal(err)
				}
			}
			clearTemp([]string{dir})
			if _, err := os.Stat(filepath.Join(dir, ".git")); (err == nil) != c.stays {
				t.Errorf("the empty .git: %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, ".codex", "kept")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A sandbox that runs with other temporary files keeps nothing of a killed one.
func TestClearTempBesideOthers(t *testing.T) {
	own, theirs := t.TempDir(), t.TempDir()
	register := filepath.Join(theirs, "codex-bwrap-synthetic-mount-targets-1", "0a")
	for _, d := range []string{register, filepath.Join(own, ".git"), filepath.Join(theirs, ".git")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filepath.Join(filepath.Dir(register), "lock"), filepath.Join(register, strconv.Itoa(os.Getpid()))} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clearTemp([]string{theirs, own})
	if _, err := os.Stat(filepath.Join(own, ".git")); err == nil {
		t.Error("its own is left")
	}
	if _, err := os.Stat(filepath.Join(theirs, ".git")); err != nil {
		t.Error(err)
	}
}

// What is in the folder that all sandboxes share stays while any Codex runs: the register
// of another one's mount points is in a folder that nobody else knows.
func TestCodexRuns(t *testing.T) {
	for name, want := range map[string]bool{"": true, "bash": false, "bwrap": true, "codex": true, "codex-linux-san": true, "bwraps": false} {
		proc := t.TempDir()
		if name != "" {
			if err := os.Mkdir(filepath.Join(proc, "12"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(proc, "12", "comm"), []byte(name+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := codexRuns(proc); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
