package attempt_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TIOCGETA

// flush discards what was typed and not read.
func flush(t *testing.T, fd int) {
	t.Helper()
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH); err != nil {
		t.Fatal(err)
	}
}
