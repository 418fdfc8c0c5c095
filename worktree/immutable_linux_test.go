package worktree

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// immutable sets or clears the flag that keeps even root from changing a file.
func immutable(name string, on bool) error {
	const get, set, flag = 0x80086601, 0x40086602, 0x10 // FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_IMMUTABLE_FL
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var flags uint64
	if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), get, uintptr(unsafe.Pointer(&flags))); no != 0 {
		return no
	}
	flags &^= flag
	if on {
		flags |= flag
	}
	if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), set, uintptr(unsafe.Pointer(&flags))); no != 0 {
		return errors.Join(no)
	}
	return nil
}
