package wrapper

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// shortDir is a short name for dir that holds until release.
func shortDir(dir string) (short string, release func(), err error) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(fd), func() { unix.Close(fd) }, nil
}
