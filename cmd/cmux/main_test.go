package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/control/runs"
	"cmux/agents/kinds"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/fence"
	"cmux/agents/testkit/agenttest/golden"
	"cmux/agents/testkit/agenttest/until"
	"cmux/agents/testkit/modeltest"
	"cmux/agents/testkit/scripted"
	"cmux/cmd/cmux/cli"
	"cmux/dag"
	"cmux/worktree/hint"
)

// TestMain lets this binary be cmux wherever it is called by that name: in
// scripts, and as the copy that a run keeps of it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"cmux": func() {
			all := kinds.All()
			all[scripted.Name] = scripted.Kind(true)
			os.Exit(Main(all))
		},
	})
}

// deadline bounds every wait for a fact. It is generous: a fact that does not
// come is a failure however long one waits.
const deadline = 3 * time.Minute

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       golden.Updates(),
		RequireExplicitExec: true,
		Setup:               setUpScript,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"waitfor":   waitFor,
			"repo":      makeRepo,
			"selfclone": cloneSelf,
			"model":     serveModel,
			"release":   releaseModel,
			"only":      onlyPrograms,
			"person":    atTerminal,
			"http":      request,
			"terminal":  typeIn,
		},
	})
}

// condition says whether scripts that cost much are to run: day is the day of an
// organization with the real Claude Code.
func condition(name string) (bool, error) {
	switch name {
	case "day":
		return os.Getenv("CMUX_DAY") != "", nil
	case "fence":
		_, err := fence.Support()
		return err == nil, nil
	case "hides":
		_, err := fence.Hides()
		return err == nil, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// setUpScript gives a script a home, a git identity and a tmux server of its own.
func setUpScript(e *testscript.Env) error {
	// The path of a socket ends near 100 bytes.
	short, err := os.MkdirTemp("/tmp", "cx")
	if err != nil {
		return err
	}
	home := filepath.Join(e.WorkDir, "home")
	// The nodes of most scripts write beside their worktrees what the script looks at: those
	// that are about the fence ask for one.
	own := filepath.Join(home, ".config", "cmux", "config.yml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o755), os.WriteFile(own, []byte("fence: off\n"), 0o600)); err != nil {
		return err
	}
	installer, err := filepath.Abs("../../scripts/install.sh")
	if err != nil {
		return err
	}
	for k, v := range map[string]string{
		"INSTALLER": installer,
		"HOME":      home, "XDG_STATE_HOME": "", "TMUX_TMPDIR": short, "CMUX_TMUX_SOCKET": "t", "TMUX": "", "TERM": "xterm-256color", "NO_COLOR": "1",
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "CMUX_HOME": "", "SHELL": "/bin/sh",
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com",
		"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com",
		// With the race detector every cmux of a script would sleep for a second
		// before it exits.
		"GORACE": "atexit_sleep_ms=10",
	} {
		e.Setenv(k, v)
	}
	e.Values[testKey{}] = e.T()
	e.Defer(func() {
		killServer(short)
		endDetached(e.WorkDir)
		os.RemoveAll(short)
	})
	return nil
}

// endDetached ends what the script left running without tmux: a monitor, and the agents that
// have no window.
func endDetached(dir string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		b, _ := os.ReadFile(file)
		argv := strings.Split(string(b), "\x00")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && strings.HasPrefix(argv[0], dir+"/") && len(argv) > 1 && (argv[1] == "keep" || argv[1] == "agents") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// killServer ends the script's own tmux servers, cmux's and that of a person in
// it, and waits until they are gone.
func killServer(dir string) {
	for _, socket := range []string{"t", "own"} {
		tmux := func(args ...string) error {
			cmd := exec.Command("tmux", append([]string{"-L", socket}, args...)...)
			cmd.Env = append(os.Environ(), "TMUX_TMPDIR="+dir, "TMUX=")
			return cmd.Run()
		}
		tmux("kill-server")
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		until.True(ctx, func() bool { return tmux("-N", "list-sessions") != nil })
		cancel()
	}
}

// waitFor is the script command
//
//	waitfor REGEXP PROGRAM ARGS...
//
// which runs a program again and again until its output matches, or, negated,
// no longer does.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: waitfor REGEXP PROGRAM ARGS...")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	var seen string
	ok := until.True(ctx, func() bool {
		err := ts.Exec(args[1], args[2:]...)
		seen = ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if err != nil {
			seen += "\n[" + err.Error() + "]"
		}
		return re.MatchString(seen) != neg
	})
	if !ok {
		ts.Fatalf("%q after %s; last seen:\n%s", strings.Join(args, " "), deadline, seen)
	}
}

// testKey is where a script's own test is found.
type testKey struct{}

// serveModel is the script command `model SCRIPTS PROJECT`: from here on the
// real Claude Code and Codex are in the PATH, are set up, trust the project and
// are answered as the file of scripts says (see modeltest.Load).
func serveModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: model SCRIPTS PROJECT")
	}
	t := ts.Value(testKey{}).(testing.TB)
	scripts, err := modeltest.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	server := modeltest.New(t, scripts...)
	ts.Setenv("MODEL", server.URL)
	path := filepath.Dir(modeltest.Claude(t)) + string(os.PathListSeparator) + ts.Getenv("PATH")
	h, err := modeltest.Prepare(ts.Getenv("HOME"), server.URL, path, ts.MkAbs(args[1]))
	ts.Check(err)
	for _, e := range h.Env {
		name, value, _ := strings.Cut(e, "=")
		ts.Setenv(name, value)
	}
}

// releaseModel is the script command `release GATE`: the model goes on behind the steps
// that hold there.
func releaseModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: release GATE")
	}
	res, err := http.Post(ts.Getenv("MODEL")+"/gates/"+args[0], "", nil)
	ts.Check(err)
	ts.Check(res.Body.Close())
}

// onlyPrograms is the script command `only PROGRAM...`: from here on the PATH,
// $WORK/bin, holds these programs and none that the machine may have besides.
func onlyPrograms(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: only PROGRAM...")
	}
	bin := filepath.Join(ts.Getenv("WORK"), "bin")
	ts.Check(os.MkdirAll(bin, 0o755))
	for _, name := range args {
		path, err := agent.LookPath(name, []string{"PATH=" + ts.Getenv("PATH")})
		ts.Check(err)
		ts.Check(os.Symlink(path, filepath.Join(bin, name)))
	}
	ts.Setenv("PATH", bin)
}

// makeRepo is the script command `repo DIR`: a repository with one commit.
func makeRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: repo DIR")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(ts.Exec("git", "init", "-q", "-b", "main", dir))
	ts.Check(os.WriteFile(filepath.Join(dir, "README"), []byte("hello\n"), 0o644))
	ts.Check(ts.Exec("git", "-C", dir, "add", "README"))
	ts.Check(ts.Exec("git", "-C", dir, "commit", "-q", "-m", "first"))
}

// cloneSelf is the script command
//
//	selfclone DIR
//
// which clones the repository that these tests stand in, and lets go build there from
// the caches of the machine. CMUX_TEST_SELF names the program to build in it instead of
// a small one.
func cloneSelf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: selfclone DIR")
	}
	root, err := filepath.Abs("../..")
	ts.Check(err)
	if _, err := os.Lstat(filepath.Join(root, ".git")); err != nil {
		ts.Value(testKey{}).(testing.TB).Skip("these tests stand in no repository")
	}
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOFLAGS").Output()
	ts.Check(err)
	dirs := strings.Split(string(out), "\n")
	for k, v := range map[string]string{"GOCACHE": dirs[0], "GOMODCACHE": dirs[1], "GOFLAGS": strings.TrimSpace(dirs[2] + " -buildvcs=false"), "GOPROXY": "off", "GOTOOLCHAIN": "local", "SELF": os.Getenv("CMUX_TEST_SELF")} {
		ts.Setenv(k, v)
	}
	ts.Check(ts.Exec("git", "clone", "-q", root, ts.MkAbs(args[0])))
	ts.Check(ts.Exec("git", "-C", ts.MkAbs(args[0]), "checkout", "-q", "-B", "main"))
}

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"fine", nil, 0},
		{"anything else", errors.New("x"), 1},
		{"usage", project.Usage("", "x"), 2},
		{"usage behind a hint", hint.New(project.Usage("", "x"), "y"), 2},
		{"a faulty configuration", fmt.Errorf("reading: %w", dag.Faults{{File: "f"}}), 2},
		{"a node not done", cli.Silent(runs.ErrUnfinished), 3},
		{"interrupted", context.Canceled, 130},
		{"interrupted and wrong usage", errors.Join(project.Usage("", "x"), commands.ErrInterrupted), 130},
		{"a command's own code", cli.Silent(cli.ExitStatus(75)), 75},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, got, c.want)
		}
	}
}

// What a signal ended is told as that alone, besides what was found before.
func TestInterruption(t *testing.T) {
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(commands.ErrInterrupted)
	killed := exec.Command("sh", "-c", "kill -INT $$").Run()
	late := fmt.Errorf("the runner is not there (see log): %w", context.Canceled)
	found := errors.New("worktree api is broken")
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"where the context ended", gone, context.Canceled, "cmux: interrupted\n"},
		{"and an error that follows from it", gone, late, "cmux: interrupted\n"},
		{"several times", gone, errors.Join(context.Canceled, late), "cmux: interrupted\n"},
		{"a program that ^C reached as well", gone, fmt.Errorf("git config: %w", killed), "cmux: interrupted\n"},
		{"what was found before", gone, errors.Join(found, context.Canceled), "cmux: interrupted\ncmux: worktree api is broken\n"},
		{"something else", gone, found, "cmux: worktree api is broken\n"},
		{"said already", gone, commands.ErrNothing, "cmux: interrupted: nothing was started\n"},
		{"no signal", t.Context(), fmt.Errorf("git config: %w", killed), "cmux: git config: signal: interrupt\n"},
		{"nothing", gone, nil, ""},
	} {
		var b bytes.Buffer
		err := cli.Interruption(c.ctx, c.err)
		if cli.Report(&b, err); b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
		if strings.Contains(c.want, "interrupted\n") && exitCode(err) != 130 {
			t.Errorf("%s: exit code %d", c.name, exitCode(err))
		}
	}
}
