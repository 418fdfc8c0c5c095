package wrapper

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// peerPID is the process at the other end of a socket.
func peerPID(fd int) (int, error) {
	return unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
}

// shortDir is a short name for dir that holds until release.
func shortDir(dir string) (short string, release func(), err error) {
	tmp, err := os.MkdirTemp("/tmp", "cmux-")
	if err != nil {
		return "", nil, err
	}
	link := filepath.Join(tmp, "d")
	if err := os.Symlink(dir, link); err != nil {
		os.Remove(tmp)
		return "", nil, err
	}
	return link, func() { os.RemoveAll(tmp) }, nil
}
