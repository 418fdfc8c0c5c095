package agent

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is the pane an attempt runs in.
type Terminal struct {
	In, Out *os.File
	Term    string          // its TERM
	Pane    string          // its id, for tmux
	Tmux    string          // path of the tmux server's socket
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

// leaveScreen undoes what a full-screen program that was killed leaves behind:
// the alternate screen, a hidden cursor, reports of the mouse, of focus and of
// pastes, keys in another encoding, colors; the next line is at the bottom.
const leaveScreen = "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[>4m\x1b[?25h\x1b[0m\x1b[999;1H\n"

// Muter is a Stage's Out that shows what is written to it in the terminal, and
// can keep from it for as long as a program has the terminal to itself.
type Muter interface{ Mute(on bool) }

// Foreground starts cmd in the terminal itself, as its foreground process
// group: its keys, signals and sizes are the terminal's. Until Finish nothing
// else is shown there; after it the terminal is as it was.
//
// A program that suspends itself is woken by Spawner.Continue.
func (s *Stage) Foreground(cmd *exec.Cmd) (*Program, error) {
	s.complete(cmd)
	t := s.Terminal
	fd := int(t.In.Fd())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = t.In, t.Out, t.Out
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: fd}
	if !term.IsTerminal(fd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	saved, _ := term.GetState(fd) // not a terminal: nothing to restore
	mute := func(bool) {}
	if o, ok := s.Out.(Muter); ok {
		mute = o.Mute
	}
	mute(true)
	started, err := s.Spawner.Start(cmd, s.Mark, s.Confine)
	if err != nil {
		mute(false)
		return nil, err
	}
	return &Program{Program: started, unrelay: func() {
		if saved != nil {
			takeBack(fd)
			if started.Exit().Signal != 0 {
				// Not otherwise: it would move the cursor to where it was before.
				io.WriteString(t.Out, leaveScreen)
			}
			term.Restore(fd, saved)
		}
		mute(false)
	}}, nil
}

// takeBack makes this process the one in front again. It is in the background,
// where the system would stop it for that, unless the signal is ignored; no
// program is started meanwhile that could inherit this.
func takeBack(fd int) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp()) // a terminal that is gone has no front
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
