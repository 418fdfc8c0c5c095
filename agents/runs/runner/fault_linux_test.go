package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/runs/run"
	"cmux/dag"
)

// mounted makes .cmux a small file system of its own, where that is permitted.
func (p *project) mounted() string {
	p.t.Helper()
	dir := filepath.Join(p.root, ".cmux")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := unix.Mount("cmux-test", dir, "tmpfs", 0, "size=8m"); err != nil {
		p.t.Skipf("cannot mount a file system of its own: %v", err)
	}
	p.t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// started waits for the file that a task makes next to the project: running is
// recorded before the program starts, and starting it needs space.
func (p *project) started() {
	p.t.Helper()
	p.until("the program of the node", func() bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(p.root), "up"))
		return err == nil
	})
}

// A disk that is full when a node ends loses nothing: its end is recorded and
// its marker is there once there is space again, and the node ran once.
func TestDiskFullWhileANodeEnds(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "touch ../up; while ! test -e ../go; do sleep 0.1; done; exit 3"}
  - {name: b, task: "true", depends_on: a}
  - {name: c, task: "true", depends_on: a, when: all_done}
`)
	dir := p.mounted()
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "a: running\nb: waiting\nc: waiting")
	p.started()
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 4096); err == nil; {
		_, err = f.Write(buf)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	f.Close()
	// The page that the records end in has room left: fill it up.
	records, err := os.OpenFile(r.Records(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = records.WriteString("\n")
	}
	records.Close()
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.root), "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// The program ends, and nobody can write that down.
	p.until("the runner to find no space", func() bool { return strings.Contains(c.said.String(), "the disk is full") })
	if p.marker("a") != "none" || strings.Contains(p.records(r), `"ended"`) {
		t.Errorf("marker %q, records\n%s", p.marker("a"), p.records(r))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if s := c.wait(); s != dag.RunFailed {
		t.Fatalf("state %s, %v", s, c.err)
	}
	p.want(r, "a: failed (exit 3)\nb: blocked (a failed)\nc: done")
	for node, text := range map[string]string{"a": "3", "b": "99", "c": "0"} {
		p.has(node, text)
	}
	if n := p.starts(r, "a"); n != 1 {
		t.Errorf("a was started %d times", n)
	}
}

// A run whose last marker finds no space ends when there is space again: nobody
// would put the marker back afterwards.
func TestDiskFullAtTheEnd(t *testing.T) {
	p := newProject(t, `
session: s
defaults: {agent: command, role: review}
agents:
  - {name: a, task: "touch ../up; while ! test -e ../go; do sleep 0.1; done; exit 3"}
`)
	dir := p.mounted()
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, "a: running")
	p.started()
	// The records get a page of their own to go on in; a marker needs another.
	info, err := os.Stat(r.Records())
	if err != nil {
		t.Fatal(err)
	}
	records, err := os.OpenFile(r.Records(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = records.WriteString(strings.Repeat("\n", 4097-int(info.Size()%4096)))
	if err := errors.Join(err, records.Close()); err != nil {
		t.Fatal(err)
	}
	free := p.fill(dir)
	if err := os.WriteFile(filepath.Join(filepath.Dir(p.root), "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tries := func() int { return strings.Count(c.said.String(), "a marker could not be put right") }
	p.until("the marker to find no space", func() bool {
		select {
		case <-c.over:
			return true
		default:
			return tries() > 0
		}
	})
	// It is tried now and then: the log is on the full disk too, and would take the
	// space that somebody frees.
	began := time.Now()
	p.until("two more tries", func() bool { return tries() > 2 })
	if d := time.Since(began); d < rescan {
		t.Errorf("two more tries within %s", d)
	}
	if !strings.Contains(p.records(r), `"ended"`) || p.marker("a") != "none" {
		t.Errorf("marker %q, records\n%s", p.marker("a"), p.records(r))
	}
	free()
	if s := c.wait(); s != dag.RunFailed {
		t.Fatalf("state %s, %v", s, c.err)
	}
	p.has("a", "3")
}

// A folder that cannot be written to ends the runner with a word, and loses
// nothing.
func TestReadOnlyFolder(t *testing.T) {
	p := newProject(t, failing)
	dir := p.mounted()
	r := p.create()
	c := p.live(r, HowStart)
	p.becomes(r, failed)
	c.interrupt()
	remount := func(flags uintptr) {
		if err := unix.Mount("cmux-test", dir, "tmpfs", unix.MS_REMOUNT|flags, "size=8m"); err != nil {
			t.Skip(err)
		}
	}
	remount(unix.MS_RDONLY)
	c = p.live(r, HowResume)
	<-c.over
	if c.err == nil || !strings.Contains(c.err.Error(), "read-only") {
		t.Errorf("a read-only folder: %v", c.err)
	}
	p.want(r, failed)
	remount(0)
	c = p.live(r, HowResume)
	p.ask(r, run.Request{Op: run.OpOverride, Node: "a"})
	p.touch("hold")
	if s := c.wait(); s != dag.RunDone {
		t.Errorf("state %s, %v", s, c.err)
	}
}

// fill leaves no room on the disk of dir; the returned function frees it.
func (p *project) fill(dir string) (free func()) {
	p.t.Helper()
	ballast := filepath.Join(dir, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	for buf := make([]byte, 4096); err == nil; {
		_, err = f.Write(buf)
	}
	if !errors.Is(err, unix.ENOSPC) {
		p.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			p.t.Error(err)
		}
	}
}

// A disk that is full when a node is to begin costs it no try: it waits, is
// seen to, and goes on by itself. So with the worktrees' disk.
func TestDiskFullWhenANodeBegins(t *testing.T) {
	for _, where := range []string{".cmux", "worktrees"} {
		t.Run(where, func(t *testing.T) {
			p := newProject(t, `
session: s
worktree_base: trees
setup: ["echo made > made.txt"]
defaults: {agent: command, retries: 3}
agents:
  - {name: a, role: review, task: "touch ../up; while ! test -e ../go; do sleep 0.1; done"}
  - {name: b, task: "echo b > b.txt", depends_on: a}
  - {name: c, role: review, task: "true", depends_on: a}
`)
			dir := p.mounted()
			if where == "worktrees" {
				unix.Unmount(dir, unix.MNT_DETACH)
				dir = filepath.Join(p.root, "trees")
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := unix.Mount("cmux-test", dir, "tmpfs", 0, "size=8m"); err != nil {
					t.Skip(err)
				}
				t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
			}
			r := p.create()
			c := p.live(r, HowStart)
			p.becomes(r, "a: running\nb: waiting\nc: waiting")
			p.started()
			free := p.fill(dir)
			if err := os.WriteFile(filepath.Join(filepath.Dir(p.root), "go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			p.until("the wait to be told", func() bool {
				v, err := r.View(t.Context(), time.Now())
				return err == nil && v.Full != "" && strings.Contains(c.said.String(), "the disk is full")
			})
			free()
			if s := c.wait(); s != dag.RunDone {
				t.Fatalf("state %s, %v\n%s", s, c.err, c.said.String())
			}
			p.want(r, "a: done\nb: done\nc: done")
			for _, node := range []string{"a", "b", "c"} {
				if n := p.starts(r, node); n != 1 {
					t.Errorf("%s was started %d times\n%s", node, n, p.records(r))
				}
			}
		})
	}
}
