package proc

import (
	"bytes"
	"strconv"
)

// CPU is how long the processes have used a processor, in the kernel's ticks. One
// that has ended has used none.
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
		for _, n := range f[11:13] { // in user mode, and in the kernel
			t, _ := strconv.ParseUint(string(n), 10, 64)
			ticks += t
		}
	}
	return ticks
}
