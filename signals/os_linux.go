package signals

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// publishLock sets the open-file-description lock that probe queries. Only the holder of
// the flock sets it, so it is always free.
func publishLock(f *os.File) error { return setOFD(f, unix.F_WRLCK) }

// withdraw removes the lock of publishLock.
func withdraw(f *os.File) error { return setOFD(f, unix.F_UNLCK) }

func setOFD(f *os.File, how int16) error {
	return retryEINTR(func() error {
		return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: how, Whence: io.SeekStart})
	})
}

// probe reports whether another open file holds the lock on f's file.
func probe(f *os.File) (bool, error) {
	l := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	err := retryEINTR(func() error { return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l) })
	return l.Type != unix.F_UNLCK, err
}

// datasync makes what was written to f durable, with its size.
func datasync(f *os.File) error {
	return retryEINTR(func() error { return unix.Fdatasync(int(f.Fd())) })
}

// openUnnamed opens a file in dir that has no name yet, for linkUnnamed. ok is false if the
// file system or the machine does not support that.
func openUnnamed(dir string) (fd int, ok bool) {
	err := retryEINTR(func() (err error) {
		fd, err = openFD(dir, unix.O_TMPFILE|unix.O_WRONLY, 0o644)
		return err
	})
	if err != nil {
		return -1, false
	}
	if err := unix.Faccessat(unix.AT_FDCWD, procPath(fd), unix.F_OK, 0); err != nil {
		unix.Close(fd)
		return -1, false
	}
	return fd, true
}

// linkUnnamed gives the file of openUnnamed a name, unless that name exists.
func linkUnnamed(fd int, path string) error {
	return retryEINTR(func() error {
		return unix.Linkat(unix.AT_FDCWD, procPath(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	})
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// renameNew renames unless the new name exists. It is for file systems without hard links,
// such as FAT and a Windows drive under WSL.
func renameNew(from, to string) error {
	return retryEINTR(func() error {
		return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	})
}

// openBelow opens path, which is rel below root, without following a link below root. If
// there is no link above root either, one call is enough.
func openBelow(path, root, rel string, flag int, perm uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_NO_SYMLINKS}
	if flag&(unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY) != 0 {
		how.Mode = uint64(perm)
	}
	fd, err := eintr(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	switch err {
	case unix.ELOOP:
		dir, err := eintr(func() (int, error) {
			return unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		return eintr(func() (int, error) { return unix.Openat2(dir, rel, &how) })
	case unix.ENOSYS, unix.EPERM: // an old kernel, or a sandbox that does not know the call
		return walk(root, rel, flag, perm)
	}
	return fd, err
}
