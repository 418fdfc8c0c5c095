package runner

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"cmux/agents/platform/proc"
	"cmux/agents/runs/host"
)

// What is typed at a terminal shows in the time by which atTerminal goes, and
// the terminal of an attempt's program is known as such.
func TestTerminals(t *testing.T) {
	for _, mark := range []string{"", proc.AttemptVar + "=run/api/1"} {
		cmd := exec.Command("sh", "-c", "read line; echo read $line; read line")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "A=b"}
		if mark != "" {
			cmd.Env = append(cmd.Env, mark)
		}
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer master.Close()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		// As of one that nobody has typed at for long.
		long := time.Now().Add(-time.Hour)
		if err := os.Chtimes(slave.Name(), long, long); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		read := func() time.Time {
			if err := unix.Stat(slave.Name(), &st); err != nil {
				t.Fatal(err)
			}
			return time.Unix(0, st.Atim.Nano())
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if at := read(); time.Since(at) < recent {
			t.Fatalf("read at %v, before anybody typed", at)
		}
		now := time.Now()
		if _, err := master.WriteString("x\n"); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(master)
		for lines.Scan() && lines.Text() != "read x" {
		}
		if at := read(); !typed([]terminal{{uint64(st.Rdev), at}}, nil, now) {
			t.Errorf("typed at %v and read at %v", now, at)
		}
		programs, err := proc.Terminals()
		if err != nil || programs[uint64(st.Rdev)] != (mark != "") {
			t.Errorf("with %q: %v, %v", mark, programs, err)
		}
		r := &Runner{screen: host.Blank{}}
		if mark == "" {
			if there, err := r.atTerminal(t.Context(), now); err != nil || !there {
				t.Errorf("at the terminal: %v, %v", there, err)
			}
		}
		if _, err := master.WriteString("y\n"); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		slave.Close()
	}
}
