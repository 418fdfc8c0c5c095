package agenttest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cmux/agents/platform/tmux"
	"cmux/agents/runs/run"
)

// Pane is a real tmux server with the wrapper in its newest pane.
type Pane struct {
	F      *Fixture
	Server tmux.Server
	ID     string // of the pane
}

// InPane starts the wrapper in a pane.
func (f *Fixture) InPane() *Pane {
	f.T.Helper()
	f.Spec.Headless, f.Spec.Terms.Unattended = false, false
	f.WriteSpec()
	f.began = f.Spec.Attempt
	if f.tmux == nil {
		dir, err := os.MkdirTemp("", "cl") // a socket's path must be short
		if err != nil {
			f.T.Fatal(err)
		}
		f.tmux = &Pane{F: f, Server: tmux.Server{Socket: filepath.Join(dir, "s"), Env: f.Env}}
		f.Write(dir, "conf", "set -g remain-on-exit on\nset -g default-terminal screen-256color\n")
		f.T.Cleanup(func() {
			if f.T.Failed() {
				f.T.Logf("screen:\n%s", f.tmux.Screen())
			}
			f.tmux.Exec("kill-server")
			f.endProcesses()
			os.RemoveAll(dir)
		})
		f.tmux.must("-f", filepath.Join(dir, "conf"), "new-session", "-d", "-x", "160", "-y", "50", "-s", "s", "-c", f.Root, "--", "sh", "-c", "while :; do read x; done")
	}
	f.tmux.ID = f.tmux.must("new-window", "-d", "-c", f.Spec.Place.Dir, "-P", "-F", "#{pane_id}", "--",
		f.wrapperProgram(), "exec", f.Run.Dir, f.Node.Name, fmt.Sprint(f.Spec.Attempt))
	return f.tmux
}

// must runs a command of tmux that has to succeed, and returns what it printed.
func (p *Pane) must(args ...string) string {
	p.F.T.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", p.Server.Socket}, args...)...)
	cmd.Env, cmd.Dir = p.F.Env, "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.F.T.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Exec runs a command of tmux and returns what it printed.
func (p *Pane) Exec(args ...string) string {
	out, _ := p.Server.Exec(context.Background(), args...)
	return out
}

// Screen is what the pane shows.
func (p *Pane) Screen() string { return p.Exec("capture-pane", "-p", "-t", p.ID) }

// Shows waits until the pane shows the text.
func (p *Pane) Shows(text string) {
	p.F.T.Helper()
	p.F.Eventually("the pane shows "+text, func() bool { return strings.Contains(p.Screen(), text) })
}

// Keys presses keys by tmux's names.
func (p *Pane) Keys(keys ...string) {
	p.Exec(append([]string{"send-keys", "-t", p.ID, "--"}, keys...)...)
}

// Types types text and presses Enter when it is drawn.
func (p *Pane) Types(text string) {
	p.F.T.Helper()
	p.Exec("send-keys", "-l", "-t", p.ID, "--", text)
	p.Shows(text)
	p.Keys("Enter")
}

// Ends waits for the attempt's end and returns it.
func (p *Pane) Ends() *run.End {
	p.F.T.Helper()
	p.F.Eventually("the attempt ends", func() bool { return p.F.Last(run.AttemptEnd) != nil })
	p.Shows(", log: ")
	return p.F.Ended()
}
