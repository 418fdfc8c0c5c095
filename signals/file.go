package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrDiskFull is wrapped by every error of this package that means a full
// disk or a used-up quota. What was in the file before is still there.
var ErrDiskFull = errors.New("the disk is full: free some space and try again")

// ErrReadOnly is wrapped by every error of this package that means the folder
// cannot be written by this user.
var ErrReadOnly = errors.New("the folder is not writable: check its owner, its mode and its mount")

// explain adds to an error of the operating system what to do about it.
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

// Explain makes the error of a write tell, with ErrDiskFull and ErrReadOnly,
// what to do about it.
func Explain(err error) error { return explain(err) }

// WriteFile replaces the file name by data, durably: after a crash or a power
// cut it holds all of the old content or all of the new. On failure the old
// file stands and nothing is left beside it. A file that exists as a symbolic
// link is replaced, not followed.
func WriteFile(name string, data []byte, perm fs.FileMode) error {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, explain(err))
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, explain(errors.Join(err, os.Remove(f.Name()))))
	}
	if err := syncDir(dir); err != nil {
		return fmt.Errorf("write %s: %w", name, explain(err))
	}
	return nil
}

// syncDir makes the entries of dir durable. File systems that cannot sync a
// directory say EINVAL or ENOTSUP; they need no help or accept none.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// retryEINTR repeats a system call that a signal cut short.
func retryEINTR(call func() error) error {
	for {
		if err := call(); err != syscall.EINTR {
			return err
		}
	}
}
