package wrapper

import (
	"strconv"

	"cmux/signals"
)

// shortDir is a short name for dir that holds until release.
func shortDir(dir string) (short string, release func(), err error) {
	d, err := signals.OpenDir(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(d.Fd())), func() { d.Close() }, nil
}
