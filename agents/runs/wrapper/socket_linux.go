package wrapper

import (
	"strconv"

	"golang.org/x/sys/unix"

	"cmux/signals"
)

// peerPID is the process at the other end of a socket.
func peerPID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

// shortDir is a short name for dir that holds until release.
func shortDir(dir string) (short string, release func(), err error) {
	d, err := signals.OpenDir(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(d.Fd())), func() { d.Close() }, nil
}
