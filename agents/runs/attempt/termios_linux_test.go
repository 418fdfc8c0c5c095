package attempt_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

const getTermios = unix.TCGETS

// flush discards what was typed and not read.
func flush(t *testing.T, fd int) {
	t.Helper()
	if err := unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH); err != nil {
		t.Fatal(err)
	}
}
