package proc

// CPU is not supported here: it is always 0.
func CPU([]Process) (ticks uint64) { return 0 }
