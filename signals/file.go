package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrDiskFull is wrapped by every error of this package that means a full disk or a used-up
// quota. The file keeps its earlier content.
var ErrDiskFull = errors.New("the disk is full: free some space and try again")

// ErrReadOnly is wrapped by every error of this package that means that this user cannot
// write to the folder.
var ErrReadOnly = errors.New("the folder is not writable: check its owner, its mode and its mount")

// explain adds advice to an error of the operating system.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", err, ErrDiskFull)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", err, ErrReadOnly)
	}
	return err
}

// Explain wraps the error of a write in ErrDiskFull or ErrReadOnly, which say what to do,
// if one of them applies.
func Explain(err error) error { return explain(err) }

// WriteFile replaces the file name by data, durably: after a crash or a power cut it holds
// all of the old content or all of the new. On failure the old file stays and no other file
// is left. A symbolic link is replaced, not followed.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	return WriteFiles(filepath.Dir(name), File{filepath.Base(name), data, perm})
}

// File is a file to write into a folder.
type File struct {
	Name string
	Data []byte
	Perm fs.FileMode
}

// WriteFiles is WriteFile for several files of the folder dir. All of them are durable when
// it returns; their names share one sync.
func WriteFiles(dir string, files ...File) error {
	d, err := dirFD(dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, files[0].Name), explain(err))
	}
	defer unix.Close(d)
	for _, f := range files {
		if err := replace(d, dir, f); err != nil {
			return err
		}
	}
	if err := syncFD(d); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(dir, files[0].Name), explain(err))
	}
	return nil
}

// replace is WriteFile in the open folder d, without syncing the folder.
func replace(d int, dir string, file File) error {
	name := filepath.Join(dir, file.Name)
	temp := hidden(file.Name)
	fd, err := createFD(d, temp, file.Perm)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, explain(err))
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(file.Data)
	if err == nil {
		err = f.Chmod(file.Perm)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(bare(err), bare(f.Close()))
	if err == nil {
		err = retryEINTR(func() error { return unix.Renameat(d, temp, d, file.Name) })
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, explain(errors.Join(err, unix.Unlinkat(d, temp, 0))))
	}
	return nil
}

// syncDir makes the entries of dir durable.
func syncDir(dir string) error {
	fd, err := dirFD(dir)
	if err != nil {
		return err
	}
	return errors.Join(syncFD(fd), unix.Close(fd))
}

// syncFD makes the entries of an open folder durable. It ignores EINVAL and ENOTSUP, which
// file systems return that cannot sync a folder.
func syncFD(dir int) error {
	err := retryEINTR(func() error { return unix.Fsync(dir) })
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// retryEINTR repeats a system call that a signal interrupted.
func retryEINTR(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
