package fence

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"cmux/agents/testkit/agenttest/testall"
)

// typesKeys types a key into its own terminal.
const typesKeys = `
import fcntl, os, pty, termios
m, s = pty.openpty()
fcntl.ioctl(s, termios.TIOCSCTTY, 0)
fcntl.ioctl(s, termios.TIOCSTI, b"x")
print("typed")
`

// setsClock sets the clock to what it shows.
const setsClock = "import time; time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME))"

// limits386 lowers a limit of a process as a program of another architecture.
const limits386 = `package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

func main() {
	pid, _ := strconv.Atoi(os.Args[1])
	limit := [2]uint64{30, 30}
	_, _, errno := syscall.RawSyscall6(340, uintptr(pid), 7, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	fmt.Println("errno", int(errno))
}
`

// A program changes its own limits and nobody else's, types into no
// terminal, and sets no clock.
func TestShield(t *testing.T) {
	t.Parallel()
	h := newHideout(t)
	victim := exec.Command("sleep", "600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	pid := strconv.Itoa(victim.Process.Pid)
	limit := func() string {
		said, _ := h.run(nil, "prlimit", "--pid", pid, "--nofile", "--raw", "--noheadings", "-o", "SOFT,HARD")
		return strings.TrimSpace(said)
	}
	if said, code := h.run(nil, "prlimit", "--pid", pid, "--nofile=50:50"); code != 0 || limit() != "50 50" {
		t.Fatalf("without a fence: %s", said)
	}
	typed, _ := h.run(nil, "python3", "-c", typesKeys)
	h.fence.Write = append(h.fence.Write, "/dev/ptmx", "/dev/pts")
	landlock := &Fence{Write: h.fence.Write}
	for name, f := range map[string]*Fence{"hiding": h.fence, "writing": landlock} {
		if said, code := h.run(f, "prlimit", "--pid", pid, "--nofile=40:40"); code == 0 || limit() != "50 50" {
			t.Errorf("%s: its limits are %s: %s", name, limit(), said)
		}
		if said, code := h.run(f, "sh", "-c", "ulimit -n 30 && ulimit -n"); code != 0 || strings.TrimSpace(said) != "30" {
			t.Errorf("%s: its own limits: %s", name, said)
		}
		if said, _ := h.run(f, "python3", "-c", typesKeys); strings.Contains(typed, "typed") && !strings.Contains(said, "not permitted") {
			t.Errorf("%s: it types: %s", name, said)
		}
	}
	if said, _ := h.run(h.fence, "python3", "-c", setsClock); !strings.Contains(said, "not permitted") {
		t.Errorf("it sets the clock: %s", said)
	}
	asOrdinary(t)
}

// A program of the machine's other architecture calls the kernel by other numbers.
func TestShieldOfOtherPrograms(t *testing.T) {
	testall.Only(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("no program for another architecture")
	}
	t.Parallel()
	h := newHideout(t)
	source, program := filepath.Join(t.TempDir(), "main.go"), filepath.Join(h.dir, "in", "limits")
	if err := os.WriteFile(source, []byte(limits386), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	victim := exec.Command("sleep", "600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { victim.Process.Kill(); victim.Wait() })
	pid := strconv.Itoa(victim.Process.Pid)
	if said, err := exec.Command(program, pid).CombinedOutput(); err != nil {
		t.Skipf("no such program runs here: %v: %s", err, said)
	} else if string(said) != "errno 0\n" {
		t.Fatalf("without a fence: %s", said)
	}
	for name, f := range map[string]*Fence{"hiding": h.fence, "writing": {Write: h.fence.Write}} {
		if said, _ := h.run(f, program, pid); said != "errno 1\n" {
			t.Errorf("%s: %s", name, said)
		}
	}
}
