package seal

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
)

// covered reports whether the key is not at path because the folder, or one that holds it,
// is covered by an empty one that nobody can write.
func covered(path string, err error) bool {
	const tmpfs, readOnly = 0x01021994, 1
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		var st syscall.Statfs_t
		err := syscall.Statfs(dir, &st)
		if err == nil {
			return int64(st.Type) == tmpfs && st.Flags&readOnly != 0
		}
		if err != syscall.ENOENT || dir == filepath.Dir(dir) {
			return false
		}
	}
}
