package examples

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/testkit/agenttest/until"
)

// deadline bounds every wait for a fact. It is generous: a fact that does not
// come is a failure however long one waits.
const deadline = 4 * time.Minute

var (
	buildOnce sync.Once
	binDir    string // holds the built programs
	buildErr  error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if binDir != "" {
		os.RemoveAll(binDir)
	}
	os.Exit(code)
}

// built is the folder that holds cmux and the scripted model, built once.
func built(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		if binDir, buildErr = os.MkdirTemp("", "cmux-bin"); buildErr != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", binDir+string(filepath.Separator), "../cmd/cmux", "../agents/testkit/modeltest/modeld").CombinedOutput()
		if err != nil {
			buildErr = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return binDir
}

// project is a scratch repository with a home, a git identity and a tmux
// server of its own.
type project struct {
	dir string // the repository; worktrees go beside it
	env []string
}

// newProject makes a project called name, with one commit. At the end of the
// test its run is stopped and its tmux server ended.
func newProject(t *testing.T, name string) *project {
	t.Helper()
	bin := built(t)
	// The path of a socket ends near 100 bytes.
	base, err := os.MkdirTemp("/tmp", "cxe")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		t.Fatal(err)
	}
	p := &project{dir: filepath.Join(base, name)}
	for _, dir := range []string{"home", "tmux", name} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range os.Environ() {
		switch key, _, _ := strings.Cut(e, "="); {
		case strings.HasPrefix(key, "CMUX_"), strings.HasPrefix(key, "GIT_"), strings.HasPrefix(key, "TMUX"), key == "TERM":
		default:
			p.env = append(p.env, e)
		}
	}
	p.env = append(p.env,
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+filepath.Join(base, "home"), "XDG_STATE_HOME=", "SHELL=/bin/sh",
		"TMUX_TMPDIR="+filepath.Join(base, "tmux"), "CMUX_TMUX_SOCKET=t", "TERM=xterm-256color", "LC_ALL=C.UTF-8",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com")
	t.Cleanup(func() {
		// Both fail where there is nothing left to end.
		p.command(context.Background(), "cmux agents stop").Run()
		p.command(context.Background(), "tmux -L t kill-server").Run()
		eventually(t, "the end of the tmux server", func() bool {
			return p.command(context.Background(), "tmux -N -L t list-sessions").Run() != nil
		})
		// A process on its way out may still write a last line.
		eventually(t, "the removal of "+base, func() bool { return os.RemoveAll(base) == nil })
	})
	p.mustRun(t, "git init -q -b main . && echo 'A shop.' > README && git add README && git commit -q -m 'A shop'")
	return p
}

// command is a shell script to be run in the project.
func (p *project) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a shell script in dir and returns what it wrote, both streams as
// they came.
func (p *project) run(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	cmd := p.command(ctx, script)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("not ended after %s: %w", deadline, err)
	}
	return out.String(), err
}

func (p *project) mustRun(t *testing.T, script string) string {
	t.Helper()
	out, err := p.run(t, p.dir, script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// eventually waits until fact holds.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if !until.True(ctx, fact) {
		t.Errorf("%s did not come within %s", what, deadline)
	}
}
