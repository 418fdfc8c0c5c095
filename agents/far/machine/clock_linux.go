package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// now is the time since the machine booted, with the time that it was suspended, as a
// time.Time. All processes of one boot have the same. Go's own monotonic clock stands
// still while the machine is suspended, and home's does not.
func now() time.Time {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("no clock: " + err.Error()) // every kernel since 2.6.39 has it
	}
	return time.Unix(0, t.Nano())
}
