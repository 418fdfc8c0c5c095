package claude_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cmux/agents/run"
	"cmux/agents/tmux"
)

// terminal is a real tmux server with the wrapper in its only pane.
type terminal struct {
	f      *fixture
	server tmux.Server
	pane   string
}

// inPane starts the wrapper in a pane.
func (f *fixture) inPane() *terminal {
	f.t.Helper()
	f.spec.Headless = false
	f.writeSpec()
	if f.tmux == nil {
		dir, err := os.MkdirTemp("", "cl") // a socket's path must be short
		if err != nil {
			f.t.Fatal(err)
		}
		f.tmux = &terminal{f: f, server: tmux.Server{Socket: filepath.Join(dir, "s"), Env: f.home.Env}}
		conf := filepath.Join(dir, "conf")
		f.write(dir, "conf", "set -g remain-on-exit on\nset -g default-terminal screen-256color\n")
		f.t.Cleanup(func() {
			if f.t.Failed() {
				f.t.Logf("screen:\n%s", f.tmux.screen())
			}
			f.tmux.exec("kill-server")
			f.endProcesses()
			os.RemoveAll(dir)
		})
		f.tmux.tmux("-f", conf, "new-session", "-d", "-x", "160", "-y", "50", "-s", "s", "-c", f.root, "--", "sh", "-c", "while :; do read x; done")
	}
	f.tmux.tmux("new-window", "-d", "-c", f.spec.Place.Dir, "-P", "-F", "#{pane_id}", "--",
		f.run.Binary(), "exec", f.run.Dir, f.node.Name, fmt.Sprint(f.spec.Attempt))
	return f.tmux
}

// tmux runs a command that must succeed; a new-window's pane is the terminal's.
func (p *terminal) tmux(args ...string) {
	p.f.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", p.server.Socket}, args...)...)
	cmd.Env, cmd.Dir = p.f.home.Env, "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.f.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	if args[0] == "new-window" {
		p.pane = strings.TrimSpace(string(out))
	}
}

func (p *terminal) exec(args ...string) string {
	out, _ := p.server.Exec(context.Background(), args...)
	return out
}

func (p *terminal) screen() string { return p.exec("capture-pane", "-p", "-t", p.pane) }

func (p *terminal) shows(text string) {
	p.f.t.Helper()
	p.f.eventually("the pane shows "+text, func() bool { return strings.Contains(p.screen(), text) })
}

// rests waits until no turn is under way: the program says so in its title.
func (p *terminal) rests() {
	p.f.t.Helper()
	p.f.eventually("the program rests", func() bool {
		return strings.HasPrefix(p.exec("display-message", "-p", "-t", p.pane, "#{pane_title}"), "✳")
	})
}

// keys presses keys by tmux's names.
func (p *terminal) keys(keys ...string) {
	p.exec(append([]string{"send-keys", "-t", p.pane, "--"}, keys...)...)
}

// types types text and presses Enter when the program has drawn it.
func (p *terminal) types(text string) {
	p.f.t.Helper()
	p.exec("send-keys", "-l", "-t", p.pane, "--", text)
	p.shows(text)
	p.keys("Enter")
}

// chooses moves through a dialog to the option with text and confirms it. A
// dialog is drawn before it hears keys, so one that did nothing is pressed
// again, but not so soon that both count.
func (p *terminal) chooses(text string) {
	p.f.t.Helper()
	chosen := regexp.MustCompile("(?m)^ *❯.*" + text)
	open := false
	var pressed time.Time
	p.f.eventually("the dialog is answered with "+text, func() bool {
		screen := p.screen()
		shown := strings.Contains(screen, "Enter to confirm")
		if open && !shown {
			return true
		}
		open = open || shown
		// A key that comes too soon is lost, and one that comes late moves on.
		if open && time.Since(pressed) > 10*time.Second {
			pressed = time.Now()
			if chosen.MatchString(screen) {
				p.keys("Enter")
			} else {
				p.keys("Up")
				pressed = pressed.Add(-9 * time.Second)
			}
		}
		return false
	})
}

// ends waits for the attempt's end and returns it.
func (p *terminal) ends() *run.End {
	p.f.t.Helper()
	p.f.eventually("the attempt ends", func() bool { return p.f.last(run.AttemptEnd) != nil })
	p.shows(", log: ")
	return p.f.ended()
}
