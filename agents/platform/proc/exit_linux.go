package proc

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitExit returns nil when the process pid has ended; it need not be a child. The wait
// uses no processor time. An error means that ctx ended it, or that the system has no way
// to wait.
func AwaitExit(ctx context.Context, pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "pidfd") // non-blocking, so Go's poller waits for it
	defer f.Close()
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return err // not supported
	}
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, 0)
		if err != nil && err != unix.EINTR {
			failed = err
			return true
		}
		return n > 0
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(err, failed)
}
