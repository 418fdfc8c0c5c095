package common

import (
	"io/fs"
	"syscall"
)

// changeTime is the time of the inode's last change, which no program sets.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}
