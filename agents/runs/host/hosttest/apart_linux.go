package hosttest

import (
	"fmt"
	"os"
	"syscall"
)

// apart is how a machine is started: what is hidden there stays where it is
// here. Nobody but root can do so; for others it is out of the way by its place
// alone.
func apart() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}

// mortal is how a process is started that goes with its machine.
func mortal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// hide puts an empty folder over one that another machine would not have.
func hide(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("hiding %s: %w", path, err)
	}
	return syscall.Mount("hidden", path, "tmpfs", syscall.MS_RDONLY, "size=1k")
}
