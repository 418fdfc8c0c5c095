package attempt

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is the pane an attempt runs in.
type Terminal struct {
	In, Out *os.File
	Term    string          // its TERM
	Resized <-chan struct{} // a tick per change of size; may be nil
}

// InPty starts cmd on a pty of its own, shown in the pane and copied to out.
// Until Finish, keys typed in the pane go to the program, so that ^C and ^Z
// mean what they always do there.
func (s *Stage) InPty(cmd *exec.Cmd, out io.Writer) (*Program, error) {
	s.complete(cmd)
	ptmx, tty, err := openPty()
	if err != nil {
		return nil, err
	}
	s.Terminal.fit(ptmx)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p, err := s.start(cmd, ptmx, out)
	tty.Close()
	if err != nil {
		return nil, err
	}
	p.unrelay = s.Terminal.relay(ptmx)
	return p, nil
}

// openPty opens a pty whose near end obeys deadlines. The file that pty.Open
// returns does not: it has been switched to blocking calls, so that a program
// that reads nothing would hang whoever writes to it.
func openPty() (ptmx, tty *os.File, err error) {
	opened, tty, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close()
	fd, err := unix.FcntlInt(opened.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		tty.Close()
		return nil, nil, err
	}
	return os.NewFile(uintptr(fd), opened.Name()), tty, nil
}

// fit gives ptmx the size of the pane. A pane that is no terminal has none.
func (t *Terminal) fit(ptmx *os.File) {
	size, err := unix.IoctlGetWinsize(int(t.In.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return
	}
	if c, err := ptmx.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, size) })
	}
}

// relay copies what is typed in the pane and its size to ptmx until the
// returned function is called.
func (t *Terminal) relay(ptmx *os.File) (stop func()) {
	var saved *term.State
	if term.IsTerminal(int(t.In.Fd())) {
		saved, _ = term.MakeRaw(int(t.In.Fd()))
	}
	wakeR, wakeW, err := os.Pipe()
	if err != nil {
		return func() { t.restore(saved) }
	}
	typed, sized, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(typed)
		buf := make([]byte, 4096)
		fds := []unix.PollFd{{Fd: int32(t.In.Fd()), Events: unix.POLLIN}, {Fd: int32(wakeR.Fd()), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); err == unix.EINTR {
				continue
			} else if err != nil || fds[1].Revents != 0 {
				return
			}
			n, err := unix.Read(int(t.In.Fd()), buf)
			if err == unix.EINTR || err == unix.EAGAIN {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			if _, err := ptmx.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	go func() {
		defer close(sized)
		for {
			select {
			case <-t.Resized:
				t.fit(ptmx)
			case <-over:
				return
			}
		}
	}()
	return func() {
		wakeW.Close() // the poll sees the hang-up
		close(over)
		// A program that reads nothing can block the write to its pty.
		ptmx.SetWriteDeadline(past)
		<-typed
		<-sized
		wakeR.Close()
		t.restore(saved)
	}
}

func (t *Terminal) restore(saved *term.State) {
	if saved != nil {
		term.Restore(int(t.In.Fd()), saved)
	}
}
