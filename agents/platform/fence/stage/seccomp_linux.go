package stage

import (
	"runtime"
	"syscall"
	"unsafe"
)

// A filterStep is an instruction of a seccomp filter (struct sock_filter).
type filterStep struct {
	code   uint16
	jt, jf uint8 // how many instructions to pass over
	k      uint32
}

const (
	load  = 0x20 // a word of seccomp_data
	equal = 0x15
	and   = 0x54
	ret   = 0x06
	allow = 0x7fff0000
	deny  = 0x00050000 | uint32(syscall.EPERM)

	number  = 0 // offsets in seccomp_data, on machines with the low word first
	machine = 4
	first   = 16
	second  = 24
	third   = 32

	tiocsti = 0x5412
	fsopen  = 430 // on every architecture

	prSetSeccomp  = 22
	seccompFilter = 2
)

// A caller is how programs of one architecture call the kernel: the numbers of prlimit64
// and of ioctl, which may have two.
type caller struct{ arch, prlimit, ioctl, ioctl2 uint32 }

// callers returns the machine's architectures: its own and the one with half its bits.
func callers() []caller {
	switch runtime.GOARCH {
	case "amd64":
		return []caller{{0xc000003e, 302, 16, 514}, {0x40000003, 340, 54, 54}}
	case "arm64":
		return []caller{{0xc00000b7, 261, 29, 29}, {0x40000028, 369, 54, 54}}
	}
	return nil
}

// filter is the program of Shield.
func filter() []filterStep {
	steps := []filterStep{
		{load, 0, 0, number},
		{and, 0, 0, 0xbfffffff},
		{equal, 0, 1, fsopen},
		{ret, 0, 0, deny},
	}
	for _, c := range callers() {
		steps = append(steps,
			filterStep{load, 0, 0, machine},
			filterStep{equal, 0, 15, c.arch}, // else the next caller
			filterStep{load, 0, 0, number},
			filterStep{and, 0, 0, 0xbfffffff}, // amd64 with short pointers adds a bit
			filterStep{equal, 0, 6, c.prlimit},
			filterStep{load, 0, 0, first}, // whose limits: 0 is its own
			filterStep{equal, 8, 0, 0},
			filterStep{load, 0, 0, third}, // null: they are only read
			filterStep{equal, 0, 7, 0},
			filterStep{load, 0, 0, third + 4},
			filterStep{equal, 4, 5, 0},
			filterStep{equal, 1, 0, c.ioctl},
			filterStep{equal, 0, 2, c.ioctl2},
			filterStep{load, 0, 0, second},
			filterStep{equal, 1, 0, tiocsti},
			filterStep{ret, 0, 0, allow},
			filterStep{ret, 0, 0, deny},
		)
	}
	return append(steps, filterStep{ret, 0, 0, allow})
}

// Shield keeps the calling thread, and what it executes, from calls to the kernel that
// Landlock does not know: changing the limits of other processes, which ends those that
// want more; typing into a terminal; and making file systems. The kernel copies files into
// the upper folder of an overlay without asking Landlock, which answers for mount(2) alone.
func Shield() error {
	steps := filter()
	prog := struct {
		n     uint16
		steps *filterStep
	}{uint16(len(steps)), &steps[0]}
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSeccomp, seccompFilter, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(steps)
	if errno != 0 {
		return failed("seccomp", errno)
	}
	return nil
}
