package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cmux/agents/far"
	"cmux/agents/far/fartest"
	"cmux/agents/far/pipe"
	"cmux/agents/testkit/agenttest/until"
)

// machineEnv has this program be a machine on its stdin and stdout.
const machineEnv = "CMUX_TEST_FAR_MACHINE"

func TestMain(m *testing.M) {
	if os.Getenv(machineEnv) == "" {
		os.Exit(m.Run())
	}
	machine := fartest.NewMachine(&fartest.Witness{}, gpu)
	machine.Start()
	if err := pipe.Serve(context.Background(), stdio{}, machine, far.Beat); err != nil {
		os.Exit(1)
	}
}

type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

// fakeSSH puts a script in place of ssh, which finds its arguments in args.
func fakeSSH(t *testing.T, script string) (args func() []string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "args")
	text := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + file + ".new && mv " + file + ".new " + file + "\necho $$ >" + dir + "/pid\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("FAKE_SSH", dir)
	return func() []string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	}
}

func TestSSH(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := fakeSSH(t, `echo "Welcome to box"; for last; do :; done; exec sh -c "$last"`)
	d, err := pipe.SSH("ssh://me@box:2222", pipe.SSHOptions{Command: machineEnv + "=1 exec " + self})
	if err != nil {
		t.Fatal(err)
	}
	c := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1", Machines: []pipe.Dialer{d}})
	defer c.Stop()
	if err := c.Open(t.Context(), ref, far.Need{Kind: "claude"}, job); err != nil {
		t.Fatal(err)
	}
	if err := c.Put(t.Context(), ref, far.Entry{ID: "1", Kind: far.Order}); err != nil {
		t.Error(err)
	}
	var claim *far.Claim
	stop := errors.New("enough")
	if err := c.Follow(t.Context(), ref, 0, func(e far.Entry) error { claim = e.Claim; return stop }); !errors.Is(err, stop) || claim == nil || claim.Machine != "gpu" {
		t.Error(claim, err)
	}
	if err := c.Close(t.Context(), ref, far.GivenUp); err != nil {
		t.Error(err)
	}
	want := []string{"-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "-p", "2222", "me@box", machineEnv + "=1 exec " + self}
	if got := args(); !slices.Equal(got, want) {
		t.Errorf("ssh got %q, want %q", got, want)
	}
	pid := sshPID(t)
	c.Stop()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d outlives the carrier: %v", pid, err)
	}
}

func sshPID(t *testing.T) int {
	b, err := os.ReadFile(filepath.Join(os.Getenv("FAKE_SSH"), "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// What ssh says is why the machine cannot be reached.
func TestSSHSaysWhy(t *testing.T) {
	args := fakeSSH(t, `echo "Permission denied (publickey)." >&2; exit 255`)
	d, err := pipe.SSH("ssh://box", pipe.SSHOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := pipe.New(t.Context(), pipe.Options{Home: "home", Cmux: "1", Machines: []pipe.Dialer{d}})
	defer c.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const want = "Permission denied (publickey)."
	if !until.True(ctx, func() bool {
		all, err := c.Machines(ctx)
		return err == nil && all[0].Fault == want
	}) {
		all, err := c.Machines(ctx)
		t.Errorf("%+v %v, want the fault %q", all, err, want)
	}
	if got := args(); got[len(got)-1] != "cmux machines pipe" || got[len(got)-2] != "box" {
		t.Errorf("ssh got %q", got)
	}
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err == nil || err.Error() != "ssh://box: "+want {
		t.Error("Read fails with", err)
	}
	conn.Close()
	conn.Close()
}

// Close ends an ssh that ignores its input and its first signal.
func TestCloseEndsSSH(t *testing.T) {
	fakeSSH(t, `trap "" TERM; echo up; while :; do sleep 1; done`)
	d, err := pipe.SSH("ssh://box", pipe.SSHOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	pid := sshPID(t)
	conn.Close()
	if err := <-read; err == nil {
		t.Error("a blocked Read returns no error")
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is there: %v", pid, err)
	}
}

func TestWithoutSSH(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	d, err := pipe.SSH("ssh://box", pipe.SSHOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Dial(t.Context()); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
}

func TestSSHAddresses(t *testing.T) {
	for _, good := range []string{"ssh://box", "ssh://me@box", "ssh://me@box:22", "ssh://box/", "ssh://10.0.0.1", "ssh://[::1]:22", "ssh://my-box.example.org"} {
		if d, err := pipe.SSH(good, pipe.SSHOptions{}); err != nil || d.URL() != strings.TrimSuffix(good, "/") {
			t.Error(good, err)
		}
	}
	for _, bad := range []string{
		"", "box", "http://box", "ssh://", "ssh://-oProxyCommand=x", "ssh://-l@box", "ssh://me:secret@box", "ssh://me:secret@box:x", "ssh://me:secret@b%20x", "me:secret@box", "ssh://box/path", "ssh://box?x", "ssh://box#x",
		"ssh://box:0", "ssh://box:99999", "ssh://box:x", "ssh://a%20b", "ssh://a%3Bb", "ssh://a%0Ab", "ssh://x%40y@box", "ssh://$(id)@box", "ssh://%2DF@box", "ssh://%2Dbox",
	} {
		if d, err := pipe.SSH(bad, pipe.SSHOptions{}); err == nil {
			t.Errorf("%q is taken: %s", bad, d.URL())
		} else if strings.Contains(err.Error(), "secret") {
			t.Error("a password is shown:", err)
		}
	}
}

// A connection that is refused is logged once, not at each try.
func TestALogSaysAReasonOnce(t *testing.T) {
	fakeSSH(t, `echo tried >>"$FAKE_SSH/tries"; echo "No route to host" >&2; exit 255`)
	d, err := pipe.SSH("ssh://box", pipe.SSHOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := pipe.New(t.Context(), pipe.Options{Home: "home", Machines: []pipe.Dialer{d}, Log: log.New(&said, "", 0)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if !until.True(ctx, func() bool {
		b, _ := os.ReadFile(filepath.Join(os.Getenv("FAKE_SSH"), "tries"))
		return strings.Count(string(b), "\n") >= 3
	}) {
		t.Error("it was not tried three times")
	}
	c.Stop()
	if said.String() != "ssh://box: No route to host\n" {
		t.Errorf("the log has %q", said.String())
	}
}
