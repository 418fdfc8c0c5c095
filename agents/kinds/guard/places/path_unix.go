//go:build unix

package places

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// isNoLink reports whether readlink failed because there is no link: another
// kind of file, nothing at all, or a file where a folder would have to be.
func isNoLink(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Linked reports whether a regular file has more names than one, as far as can
// be told.
func Linked(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
