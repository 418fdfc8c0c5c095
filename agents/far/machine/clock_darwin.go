package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// now is the time since the machine booted, with the time that it was suspended, as a
// time.Time. It goes by the machine's date: a date that is set forward ends leases early,
// and one that is set back moves the boot time as well.
func now() time.Time {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Unix(0, time.Now().UnixNano())
	}
	return time.Unix(0, time.Now().UnixNano()-boot.Nano())
}
