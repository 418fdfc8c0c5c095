package stage

import (
	"strconv"
	"syscall"
	"unsafe"
)

const (
	// Terminals is where the system has its pseudoterminals.
	Terminals = "/dev/pts"
	// console is where a program finds its own terminal when that lies outside of Terminals:
	// programs look for its name below /dev.
	console = "/dev/console"
)

// terminals mounts pseudoterminals of the program's own. Where the system does not let it,
// the program has those of everybody.
func (p *Plan) terminals() error {
	own := ownTerminal()
	options := "newinstance,ptmxmode=0666,mode=0620"
	if p.Powers {
		options += ",gid=5" // tty, as everywhere
	}
	err := syscall.Mount("devpts", Terminals, "devpts", syscall.MS_NOSUID|syscall.MS_NOEXEC, options)
	if err == nil && own >= 0 && syscall.Mount("/proc/self/fd/"+strconv.Itoa(own), console, "", syscall.MS_BIND, "") == nil {
		if err := p.allow(console); err != nil {
			return err
		}
	}
	if own >= 0 {
		syscall.Close(own)
	}
	return p.allow(Terminals)
}

// ownTerminal opens the pseudoterminal that the program reads or writes, only to mount it;
// below zero: there is none.
func ownTerminal() int {
	for fd := range 3 {
		var st syscall.Stat_t
		if syscall.Fstat(fd, &st) != nil || st.Mode&syscall.S_IFMT != syscall.S_IFCHR {
			continue
		}
		if major := st.Rdev >> 8 & 0xfff; major < ptyMajors || major >= ptyMajorsEnd {
			continue
		}
		if own, err := syscall.Open("/proc/self/fd/"+strconv.Itoa(fd), oPath|syscall.O_CLOEXEC, 0); err == nil {
			return own
		}
	}
	return -1
}

// allow lets the program write what is at path now, and in it.
func (p *Plan) allow(path string) error {
	ruleset, err := strconv.Atoi(p.Ruleset)
	if err != nil {
		return nil // no ruleset: nothing is restricted
	}
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil // not there
	}
	defer syscall.Close(fd)
	// struct landlock_path_beneath_attr is packed.
	var rule [12]byte
	*(*uint64)(unsafe.Pointer(&rule[0])) = writes
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)
	const pathBeneath = 1 // LANDLOCK_RULE_PATH_BENEATH
	if _, _, errno := syscall.RawSyscall6(landlockAddRule, uintptr(ruleset), pathBeneath, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0); errno != 0 {
		return failed("a rule for "+path, errno)
	}
	return nil
}
