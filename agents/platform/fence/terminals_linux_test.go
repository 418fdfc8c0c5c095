package fence

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// newTerminal opens a pseudoterminal: what holds it, the terminal, and its name.
func newTerminal(t *testing.T) (holder, terminal *os.File) {
	t.Helper()
	holder, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { holder.Close() })
	fd := int(holder.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { terminal.Close() })
	return holder, terminal
}

// opensTerminals is a program that makes a terminal and uses it by its name.
const opensTerminals = `import os, pty
m, s = pty.openpty()
name = os.ttyname(s)
os.write(os.open(name, os.O_RDWR | os.O_NOCTTY), b"by its name")
print(name.startswith("/dev/pts/"), os.read(m, 99))
pid, m = pty.fork()
if pid == 0: os.execvp("sh", ["sh", "-c", "echo x > /dev/tty && tty"])
print(os.read(m, 99)[:1])
`

// A program in a fence has its own terminal and makes new ones; others of its user are not
// there.
func TestTerminals(t *testing.T) {
	t.Parallel()
	asOrdinary(t)
	h := newHideout(t)
	h.fence.Write = append(h.fence.Write, "/dev/ptmx", "/dev/pts", "/dev/tty", "/dev/console")
	_, other := newTerminal(t)
	_, own := newTerminal(t)
	for name, c := range map[string]struct {
		program string
		says    string // what it says without its fence as well; empty: it fails in the fence
	}{
		"reads another":   {`cat < ` + other.Name() + ` & sleep 0; kill $!; test -r ` + other.Name(), ""},
		"writes another":  {`echo x > ` + other.Name(), ""},
		"its own":         {`echo x > $(tty <&9) && test -t 9`, "ok"},
		"its own, by fd":  {`echo x >&9`, "ok"},
		"new ones":        {"python3 -c '" + opensTerminals + "'", "True b'by its name'"},
		"a session there": {`script -qec 'echo x > /dev/tty; tty' /dev/null </dev/null`, "/dev/pts/"},
		"node": {`node -e 'const tty = require("tty"), i = new tty.ReadStream(9); i.setRawMode(true); i.setRawMode(false); i.destroy(); console.log(tty.isatty(8), new tty.WriteStream(8).columns >= 0)'`,
			"true true"},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.T = t
			argv := []string{"sh", "-c", "exec 9<&0 8>&0; (" + c.program + ") && echo ok"}
			run := func(f *Fence) (string, int) { return h.runOn(own, f, argv...) }
			if out, code := run(nil); code != 0 {
				t.Skipf("without a fence: exit %d: %s", code, out)
			}
			out, code := run(h.fence)
			if c.says == "" && code == 0 || c.says != "" && (code != 0 || !strings.Contains(out, c.says)) {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}

// runOn is run of a program that reads from a terminal.
func (h *hideout) runOn(stdin *os.File, f *Fence, argv ...string) (string, int) {
	h.Helper()
	return h.start(f, exec.Command(argv[0], argv[1:]...), stdin)
}
