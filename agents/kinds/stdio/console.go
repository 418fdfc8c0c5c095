package stdio

import (
	"bytes"
	"context"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const interrupt = 0x03 // ^C

// watchConsole reads the lines that a person types in the pane until the
// returned function is called, which waits for what it called last. ^C calls
// broke and drops the line it ends; ^D at the beginning of a line of a terminal
// calls left.
//
// The terminal edits and shows the line. Its signals are turned off, so that
// ^C is for the agent's turn and ^Z stops nothing.
func watchConsole(ctx context.Context, in *os.File, typed func(context.Context, string), broke func(context.Context), left func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	fd := int(in.Fd())
	restore, terminal := lineMode(fd)
	wakeR, wakeW, err := os.Pipe()
	if err != nil {
		return func() { cancel(); restore() }
	}
	var task sync.WaitGroup
	task.Go(func() {
		var line []byte
		buf := make([]byte, 4096)
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wakeR.Fd()), Events: unix.POLLIN}}
		for {
			if _, err := unix.Poll(fds, -1); err == unix.EINTR {
				continue
			} else if err != nil || fds[1].Revents != 0 {
				return
			}
			n, err := unix.Read(fd, buf)
			if err == unix.EINTR || err == unix.EAGAIN {
				continue
			}
			if err != nil || n == 0 {
				if err == nil && terminal {
					left()
				}
				return
			}
			for _, b := range buf[:n] {
				switch b {
				case interrupt:
					line = line[:0]
					broke(ctx)
				case '\n':
					text := string(bytes.TrimRight(line, "\r"))
					line = line[:0]
					typed(ctx, text)
				default:
					line = append(line, b)
				}
			}
		}
	})
	return func() {
		cancel()
		wakeW.Close() // the poll sees the hang-up
		task.Wait()
		wakeR.Close()
		restore()
	}
}

// lineMode has the terminal hand over whole lines, and ^C at once as the end of
// one. The returned function brings it back; what is no terminal stays as it is.
func lineMode(fd int) (restore func(), terminal bool) {
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return func() {}, false
	}
	t := *before
	t.Iflag |= unix.ICRNL
	t.Oflag |= unix.OPOST | unix.ONLCR
	t.Lflag |= unix.ICANON | unix.ECHO | unix.ECHOE | unix.ECHOK
	t.Lflag &^= unix.ISIG
	t.Cc[unix.VEOL] = interrupt
	if err := unix.IoctlSetTermios(fd, setTermios, &t); err != nil {
		return func() {}, true
	}
	return func() { unix.IoctlSetTermios(fd, setTermios, before) }, true // a terminal that is gone needs nothing
}
