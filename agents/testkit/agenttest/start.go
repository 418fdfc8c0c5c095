package agenttest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"cmux/agents/kinds/agent"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/wrapper"
	"cmux/agents/testkit/agenttest/calls"
)

// Main is TestMain: it lets the test binary be what the released one is, the
// wrapper and the commands that agents call. Limits that are not set and matter
// to tests are short.
func Main(m *testing.M, limits attempt.Limits, kinds ...agent.Kind) {
	if len(os.Args) > 1 {
		play(limits, kinds)
	}
	os.Exit(withProgram(m))
}

// play returns when the binary is called for nothing but its tests.
func play(l attempt.Limits, kinds []agent.Kind) {
	calls.Answer()
	switch os.Args[1] {
	case "exec":
		var n int
		fmt.Sscan(os.Args[4], &n)
		set := func(d *time.Duration, short time.Duration) {
			if *d == 0 {
				*d = short
			}
		}
		set(&l.Grace, 2*time.Second)
		set(&l.Retry, 20*time.Millisecond)
		set(&l.Pause, 10*time.Millisecond)
		os.Exit(wrapper.Main(context.Background(), wrapper.Options{
			RunDir: os.Args[2], Node: os.Args[3], Attempt: n, Spare: os.Args[3] == "", Kinds: agent.NewKinds(kinds...), Limits: l,
		}))
	}
}

// Start starts the wrapper headless.
func (f *Fixture) Start() (cmd *exec.Cmd, wait func() int) {
	f.T.Helper()
	cmd = f.wrapper()
	cmd.Stdout, cmd.Stderr = &screen{f}, &screen{f}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, f.begin(cmd)
}

// StartOnTerminal starts the wrapper on a terminal, where Type types. A
// terminal multiplexer is not part of it: that is Pane.
func (f *Fixture) StartOnTerminal() (cmd *exec.Cmd, wait func() int) {
	f.T.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		f.T.Fatal(err)
	}
	f.tty, f.Spec.Headless, f.Spec.Terms.Unattended = ptmx, false, false
	cmd = f.wrapper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	shown := make(chan struct{})
	f.T.Cleanup(func() { <-shown; ptmx.Close() })
	ended := f.begin(cmd)
	tty.Close()
	go func() { defer close(shown); io.Copy(&screen{f}, ptmx) }() // its end is EIO
	return cmd, func() int {
		f.T.Helper()
		code := ended()
		<-shown
		return code
	}
}

func (f *Fixture) wrapper() *exec.Cmd {
	f.T.Helper()
	f.WriteSpec()
	f.began = f.Spec.Attempt
	cmd := exec.Command(f.wrapperProgram(), "exec", f.Run.Dir, f.Node.Name, fmt.Sprint(f.Spec.Attempt))
	cmd.Env, cmd.Dir = append([]string{"TERM=xterm"}, f.Env...), f.Spec.Place.Dir
	if f.Spare {
		cmd.Args[3], cmd.Dir = "", "/"
	}
	return cmd
}

func (f *Fixture) begin(cmd *exec.Cmd) (wait func() int) {
	f.T.Helper()
	if err := cmd.Start(); err != nil {
		f.T.Fatal(err)
	}
	waited := make(chan struct{})
	go func() { defer close(waited); cmd.Wait() }()
	f.T.Cleanup(func() {
		cmd.Process.Kill()
		f.endProcesses() // what holds the other end of its output open would hold Wait
		<-waited
	})
	return func() int {
		f.T.Helper()
		select {
		case <-waited:
		case <-time.After(patience(f.T)):
			f.T.Fatal("the wrapper does not end")
		}
		return cmd.ProcessState.ExitCode()
	}
}

// Type types on the terminal.
func (f *Fixture) Type(keys string) {
	f.T.Helper()
	if _, err := io.WriteString(f.tty, keys); err != nil {
		f.T.Fatal(err)
	}
}
