package examples

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"cmux/dag"
)

// TestExamplesLoad loads every configuration of this folder, without a warning.
func TestExamplesLoad(t *testing.T) {
	paths, err := filepath.Glob("*/cmux-agents.yml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("examples: %q, %v", paths, err)
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(src, []byte("# ")) {
			t.Errorf("%s does not say what it is in a comment at its beginning", path)
		}
		g, warnings, err := dag.Parse(path, src, dag.ParseOptions{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, w := range warnings {
			t.Errorf("%v", w)
		}
		for _, o := range dag.Overlaps(g) {
			t.Errorf("%s: %s and %s may both write %s", path, g.Nodes[o.A].Name, g.Nodes[o.B].Name, o.PatternA)
		}
	}
}

// TestCI runs the CI example headless, twice: on branches of its own and on
// those that the first run left.
func TestCI(t *testing.T) {
	t.Parallel()
	p := newProject(t, "shop")
	config, err := filepath.Abs("ci/cmux-agents.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"first", "second"} {
		out := p.mustRun(t, "cmux agents start --headless --yes --config '"+config+"'")
		for _, node := range []string{"lint", "build", "test-manifest", "test-objects", "package"} {
			if !regexp.MustCompile(`(?m)^` + node + ` .* done `).MatchString(out) {
				t.Errorf("%s run: %s is not done:\n%s", run, node, out)
			}
		}
		if !strings.Contains(out, "build         | 1 files\n") {
			t.Errorf("%s run: build did not count one file:\n%s", run, out)
		}
	}
	if out := p.mustRun(t, "git ls-tree -r --name-only ci/package"); out != "README\nci-out/manifest\nci-out/version\n" {
		t.Errorf("ci/package holds %q", out)
	}
}

// TestShopWithoutClaude: what a kind needs is looked for before anything is
// made.
func TestShopWithoutClaude(t *testing.T) {
	t.Parallel()
	p := newProject(t, "shop")
	config, err := filepath.Abs("shop/cmux-agents.yml")
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.run(t, p.dir, "cmux agents start --headless --yes --config '"+config+"'")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out, "claude: ") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Lstat(filepath.Join(p.dir, ".cmux")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf(".cmux was made: %v", err)
	}
}

// scratchOf finds the demo's folder in what it printed.
var scratchOf = regexp.MustCompile(`/tmp/cmux-demo\.[A-Za-z0-9]+`)

// TestDemo runs what `make demo` runs, without a terminal.
func TestDemo(t *testing.T) {
	t.Parallel()
	p := newProject(t, "elsewhere")
	script, err := filepath.Abs("demo/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	out := p.mustRun(t, "'"+script+"' '"+filepath.Join(built(t), "cmux")+"'")
	if !strings.Contains(out, "\nAll as told, in ") {
		t.Errorf("the demo ended otherwise than told:\n%s", out)
	}
	demoIsGone(t, scratchOf.FindString(out))
}

// TestDemoOnTerminal runs it where a start would attach and ask.
func TestDemoOnTerminal(t *testing.T) {
	t.Parallel()
	p := newProject(t, "elsewhere")
	script, err := filepath.Abs("demo/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, script, filepath.Join(built(t), "cmux"))
	cmd.Env, cmd.Dir = p.env, p.dir
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // a pty ends with an error
	if err := cmd.Wait(); err != nil || !strings.Contains(string(out), "All as told, in ") {
		t.Errorf("the demo ended otherwise than told: %v\n%s", err, out)
	}
	demoIsGone(t, scratchOf.FindString(string(out)))
}

// TestDemoInterrupted interrupts the demo while nodes run, as Ctrl-C does: with
// a signal to its process group.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	p := newProject(t, "elsewhere")
	script, err := filepath.Abs("demo/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, filepath.Join(built(t), "cmux"))
	cmd.Env, cmd.Dir = p.env, p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scratch, interrupted := "", false
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if s := scratchOf.FindString(lines.Text()); scratch == "" {
			scratch = s
		}
		if !interrupted && strings.Contains(lines.Text(), "schema: running") {
			interrupted = true
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !interrupted || !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("interrupted: %v; the demo ended with %v, not with 130", interrupted, err)
	}
	demoIsGone(t, scratch)
}

// demoIsGone checks that neither a file nor a process of the demo is left.
func demoIsGone(t *testing.T, scratch string) {
	t.Helper()
	if scratch == "" {
		t.Fatal("the demo did not say where it works")
	}
	if _, err := os.Lstat(scratch); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", scratch, err)
	}
	eventually(t, "the end of every process in "+scratch, func() bool {
		out, err := exec.Command("ps", "-A", "-o", "args").Output()
		return err == nil && !strings.Contains(string(out), scratch)
	})
}
