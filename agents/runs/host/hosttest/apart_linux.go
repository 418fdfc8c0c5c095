package hosttest

import (
	"fmt"
	"os"
	"syscall"
)

// apart starts a process as another machine: a folder hidden there stays visible here. That
// needs root; otherwise only its different directory separates it.
func apart() *syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return nil
	}
	return &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
}

// mortal makes a process end with its machine.
func mortal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// hide mounts an empty folder over one that another machine would not have.
func hide(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("hiding %s: %w", path, err)
	}
	return syscall.Mount("hidden", path, "tmpfs", syscall.MS_RDONLY, "size=1k")
}
