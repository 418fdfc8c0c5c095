//go:build unix

package guard

import (
	"errors"
	"io/fs"
	"syscall"
)

// isNoLink reports whether readlink failed because there is no link: another
// kind of file, nothing at all, or a file where a folder would have to be.
func isNoLink(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
