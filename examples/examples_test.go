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

	"cmux/agents/testkit/agenttest/testall"
	"cmux/agents/testkit/modeltest"
	"cmux/dag"
)

// TestExamplesLoad loads every configuration of this folder, without a warning.
func TestExamplesLoad(t *testing.T) {
	paths, err := filepath.Glob("*/cmux-agents.yml")
	if err != nil || len(paths) < 4 {
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
		for _, o := range dag.Overlaps(g, nil) {
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

// demo is the command that `make demo` ends in, with the demo's folder at dir.
func demo(t *testing.T, p *project, dir string) *exec.Cmd {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*deadline)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "run.sh"), filepath.Join(built(t), "cmux"), filepath.Join(built(t), "modeld"))
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// asTold checks how a demo ended that nobody interrupted.
func asTold(t *testing.T, out []byte, err error) {
	t.Helper()
	if err != nil || !bytes.Contains(out, []byte("All as told, in ")) {
		t.Errorf("the demo ended otherwise than told: %v\n%s", err, out)
	}
	demoIsGone(t, scratchOf.FindString(string(out)))
}

// TestDemo runs what `make demo` runs, on a terminal, where a start would attach
// and ask, for somebody whose own account and proxy it must leave alone. Without
// Claude Code it runs without a terminal.
func TestDemo(t *testing.T) {
	t.Parallel()
	modeltest.Claude(t)
	p := newProject(t, "elsewhere")
	home := filepath.Join(filepath.Dir(p.dir), "home")
	p.env = append(p.env, "ANTHROPIC_AUTH_TOKEN=mine", "ANTHROPIC_BASE_URL=http://127.0.0.1:9", "CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CONFIG_DIR="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home, "HTTP_PROXY=http://127.0.0.1:9", "CMUX_HOME="+p.dir)
	cmd := demo(t, p, "demo")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // a pty ends with an error
	asTold(t, out, cmd.Wait())
	for _, act := range []string{"Act two: four Claude Code agents", "Act three: an organization that stays", "Act four: a room"} {
		if !bytes.Contains(out, []byte(act)) {
			t.Errorf("Claude Code is installed and was not run:\n%s", out)
		}
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("the home of who called it holds %v, %v", left, err)
	}
}

// withoutClaude is the PATH of this process with other folders in the place of
// those that hold a Claude Code, with links to all else that is in them.
func withoutClaude(t *testing.T) []string {
	t.Helper()
	path := filepath.SplitList(os.Getenv("PATH"))
	for i, dir := range path {
		if _, err := os.Stat(filepath.Join(dir, "claude")); err != nil {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		path[i] = t.TempDir()
		for _, e := range entries {
			if e.Name() == "claude" {
				continue
			}
			if err := os.Symlink(filepath.Join(dir, e.Name()), filepath.Join(path[i], e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	return path
}

// TestDemoWithoutClaude: where Claude Code is missing or does not work, the
// demo says so, what it would show, and where to get it.
func TestDemoWithoutClaude(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ program, says string }{
		"none":   {"", "Claude Code is not installed. In act two four Claude Code agents would "},
		"old":    {"echo '2.1.99 (Claude Code)'", "/claude is version 2.1.99, and 2.1.329 is needed. In act two "},
		"broken": {"echo '2.1.329 (Claude Code)'; exit 1", "/claude --version says no version. In act two "},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "none" {
				testall.Only(t)
			}
			t.Parallel()
			p := newProject(t, "elsewhere")
			// Away from this repository's .agents-cli, with a PATH that has no other Claude Code.
			there, bin := filepath.Join(filepath.Dir(p.dir), "examples"), filepath.Join(filepath.Dir(p.dir), "bin")
			if err := os.CopyFS(there, os.DirFS(".")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.program != "" {
				if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"+c.program+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			path := append([]string{bin}, withoutClaude(t)...)
			p.env = append(p.env, "PATH="+strings.Join(path, string(os.PathListSeparator)))
			out, err := demo(t, p, filepath.Join(there, "demo")).CombinedOutput()
			asTold(t, out, err)
			for _, want := range []string{"\nActs two to four are left out: ", c.says, "npm install -g @anthropic-ai/claude-code"} {
				if !strings.Contains(string(out), want) {
					t.Errorf("it does not say %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestDemoInterrupted interrupts the demo while nodes run.
func TestDemoInterrupted(t *testing.T) {
	testall.Only(t)
	t.Parallel()
	modeltest.Claude(t)
	for name, c := range map[string]struct {
		at     string // the line that is waited for
		signal syscall.Signal
		alone  bool // Ctrl-C goes to the whole process group, a kill to the script alone
		exit   int
	}{
		"commands":     {": running", syscall.SIGINT, false, 130}, // whichever is seen: they are quick
		"agents":       {"price: running", syscall.SIGINT, false, 130},
		"organization": {"It made two workers", syscall.SIGINT, false, 130},
		"agents, kill": {"receipt: running", syscall.SIGTERM, true, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "elsewhere")
			cmd := demo(t, p, "demo")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var errs bytes.Buffer
			cmd.Stderr = &errs
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
				if !interrupted && strings.Contains(lines.Text(), c.at) {
					interrupted = true
					pid := cmd.Process.Pid
					if !c.alone {
						pid = -pid
					}
					if err := syscall.Kill(pid, c.signal); err != nil {
						t.Error(err)
					}
				}
			}
			err = cmd.Wait()
			var exit *exec.ExitError
			if !interrupted || !errors.As(err, &exit) || exit.ExitCode() != c.exit {
				t.Errorf("interrupted: %v; the demo ended with %v, not with %d\n%s", interrupted, err, c.exit, errs.String())
			}
			demoIsGone(t, scratch)
		})
	}
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
