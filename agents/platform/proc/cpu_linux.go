package proc

import (
	"bytes"
	"strconv"
)

// CPU returns the processor time that the processes have used, in the kernel's ticks. A
// process that has ended counts as 0.
func CPU(ps []Process) (ticks uint64) {
	for _, p := range ps {
		b, err := readProc("/proc/" + strconv.Itoa(p.PID) + "/stat")
		if err != nil {
			continue
		}
		f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
		if len(f) < 13 {
			continue
		}
		for _, n := range f[11:13] { // user and kernel mode
			t, _ := strconv.ParseUint(string(n), 10, 64)
			ticks += t
		}
	}
	return ticks
}
