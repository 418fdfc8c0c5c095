package machine

import "golang.org/x/sys/unix"

// peerPID returns the process at the other end of a unix socket.
func peerPID(fd int) (int, error) { return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID) }
