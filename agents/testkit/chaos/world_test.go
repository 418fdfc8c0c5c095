package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cmux/agents/platform/proc"
	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/runs/run"
)

var binary string // of cmux, built once

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "chaos")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "cmux")
	if out, err := exec.Command("go", "build", "-o", binary, "cmux/cmd/cmux").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return sealtest.Main(m)
}

// world is a project with a home, an environment and a tmux server of its own.
// Every process that belongs to it has its HOME, by which it is found.
type world struct {
	t        testing.TB
	home     string
	root     string
	headless bool
	env      []string

	wg sync.WaitGroup
}

func newWorld(t testing.TB, headless bool, config string) *world {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the processes of a world are found in /proc")
	}
	home, err := os.MkdirTemp("/tmp", "c") // short: a socket's path ends near 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, root: filepath.Join(home, "p"), headless: headless}
	t.Cleanup(func() {
		w.kill(w.processes())
		w.wg.Wait()
		os.RemoveAll(home)
	})
	w.env = []string{
		"HOME=" + home, sealtest.Env(), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh",
		"TMUX_TMPDIR=" + home, "CMUX_TMUX_SOCKET=t", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost",
	}
	for _, dir := range []string{w.root, w.path("log")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.must("git", "init", "-q", "-b", "main")
	w.write("README", "hello\n")
	w.must("git", "add", ".")
	w.must("git", "commit", "-q", "-m", "first")
	w.write(".cmux-agents.yml", config)
	return w
}

// path is a file of the world outside the project.
func (w *world) path(name string) string { return filepath.Join(w.home, name) }

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) marker(node string) string {
	return filepath.Join(w.root, ".cmux/signals", node+".done")
}

func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = w.root, w.env
	return cmd
}

// try runs a program to its end.
func (w *world) try(name string, args ...string) (string, error) {
	out, err := w.command(name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (w *world) must(name string, args ...string) string {
	w.t.Helper()
	out, err := w.try(name, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) cmux(args ...string) (string, error) { return w.try(binary, args...) }

// carry starts or resumes the run: in tmux it returns when the runner is up;
// headless the runner goes on beside the test.
func (w *world) carry(args ...string) error {
	if !w.headless {
		_, err := w.cmux(append(append([]string{"agents"}, args...), "--detach")...)
		return err
	}
	if args[0] == "start" {
		args = append(args, "--headless")
	}
	cmd := w.command(binary, append([]string{"agents"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	w.wg.Go(func() {
		if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "killed") && !strings.Contains(err.Error(), "exit status 3") {
			w.t.Logf("%v: %v\n%s", args, err, out.Bytes())
		}
	})
	return nil
}

// process is one of the world's.
type process struct {
	proc.Identity
	what string // runner, wrapper, tmux, other
	args string
}

// processes are the live processes of the world.
func (w *world) processes() []process {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	var found []process
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		start, err := proc.StartTime(pid)
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, env...), []byte("\x00HOME="+w.home+"\x00")) {
			continue
		}
		p := process{Identity: proc.Identity{PID: pid, Start: start}, what: "other"}
		if !p.Alive() {
			continue
		}
		cmdline, _ := os.ReadFile("/proc/" + d.Name() + "/cmdline")
		p.args = strings.ReplaceAll(strings.TrimRight(string(cmdline), "\x00"), "\x00", " ")
		switch {
		case strings.Contains(p.args, "agents run --run"),
			w.headless && (strings.Contains(p.args, "agents start") || strings.Contains(p.args, "agents resume")):
			p.what = "runner"
		case strings.Contains(p.args, "agents exec --run"):
			p.what = "wrapper"
		case strings.HasPrefix(p.args, "tmux") || strings.Contains(p.args, "/tmux "):
			p.what = "tmux"
		}
		found = append(found, p)
	}
	// A copy of its parent is yet to become the program that it was started as:
	// killed then, that program is, by which cmux would do its work.
	for i := range found {
		p := &found[i]
		if slices.ContainsFunc(found, func(q process) bool { return q.PID == parentOf(p.PID) && q.args == p.args }) {
			p.what = "other"
		}
	}
	return found
}

// parentOf is the parent of a process; 0: it has gone.
func parentOf(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(f[1]))
	return parent
}

// kill kills processes at once, owners before what they own.
func (w *world) kill(ps []process) {
	for _, what := range []string{"tmux", "runner", "wrapper", "other"} {
		for _, p := range ps {
			if p.what == what && p.Alive() {
				syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	}
	w.gone(ps)
}

// gone waits until none of them is alive. processes alone does not tell: who dies
// loses its environment, by which it is found, a moment before it counts as dead.
func (w *world) gone(ps []process) {
	w.t.Helper()
	until(w.t, "the killed to be dead", 10*time.Second, func() bool {
		return !slices.ContainsFunc(ps, func(p process) bool { return p.Alive() })
	})
}

func (w *world) run() *run.Run {
	w.t.Helper()
	r, err := run.Latest(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) view() *run.View {
	w.t.Helper()
	v, err := w.run().View(context.Background(), time.Now())
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// labels is "name: label" for every node.
func labels(v *run.View) string {
	var b strings.Builder
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "%s: %s\n", n.Spec.Name, n.Status.Label)
	}
	return b.String()
}

// until waits for a fact.
func until(t testing.TB, what string, patience time.Duration, holds func() bool) bool {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Errorf("waited %s for: %s", patience, what)
			return false
		}
	}
	return true
}

// report is everything that helps to understand a failure.
func (w *world) report() string {
	var b strings.Builder
	for _, p := range w.processes() {
		fmt.Fprintf(&b, "%s %d %s\n", p.what, p.PID, p.args)
	}
	filepath.WalkDir(filepath.Join(w.root, ".git"), func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".lock") {
			fmt.Fprintf(&b, "left: %s\n", path)
		}
		return nil
	})
	files := []string{filepath.Join(w.root, ".cmux-agents.yml"), w.path("log/all")}
	if r, err := run.Latest(w.root); err == nil {
		files = append(files, r.Records(), r.RunnerLog())
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		fmt.Fprintf(&b, "── %s\n%s\n", name, content)
	}
	return b.String()
}
