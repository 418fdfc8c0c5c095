package footprint

import (
	"io/fs"
	"strconv"
	"syscall"
)

// changed tells two contents of a file apart that have one size and one time.
func changed(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatInt(st.Ctim.Nano(), 10) + " " + strconv.FormatUint(st.Ino, 10)
}
