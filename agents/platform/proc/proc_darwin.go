package proc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func caller() int { return os.Getpid() }

// BootID identifies this boot of the machine; empty if the kernel does not tell.
func BootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// macOS has neither a subreaper nor a parent-death signal: a process that outlives its
// owner is found by its mark.
func subreaper() error { return nil }

func dieWithParent(*syscall.SysProcAttr) {}

const (
	stateStopped = 4 // SSTOP
	stateZombie  = 5 // SZOMB
)

func statOfKinfo(k *unix.KinfoProc) stat {
	name := k.Proc.P_comm[:]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	st := stat{
		pid:     int(k.Proc.P_pid),
		ppid:    int(k.Eproc.Ppid),
		start:   uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		zombie:  k.Proc.P_stat == stateZombie,
		stopped: k.Proc.P_stat == stateStopped,
		name:    string(name),
	}
	if k.Eproc.Tdev != -1 {
		st.terminal = uint64(k.Eproc.Tdev)
	}
	if sid, err := unix.Getsid(st.pid); err == nil {
		st.session = sid
	}
	return st
}

// statOf asks the kernel for one process, or returns ErrGone.
func statOf(pid int) (stat, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) {
			return stat{}, ErrGone
		}
		return stat{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return stat{}, ErrGone
	}
	return statOfKinfo(k), nil
}

// processes returns the process table of this user.
func processes() ([]stat, error) {
	ks, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Getuid())
	if err != nil {
		return nil, err
	}
	table := make([]stat, len(ks))
	for i := range ks {
		table[i] = statOfKinfo(&ks[i])
	}
	return table, nil
}

// hasMark reports whether the process was started with one of the marks.
func hasMark(pid int, marks []Mark) bool {
	for entry := range bytes.SplitSeq(environment(pid), []byte{0}) {
		for _, m := range marks {
			if string(entry) == string(m) {
				return true
			}
		}
	}
	return false
}

// environment returns the environment with which the process was started, each entry ended
// by a NUL. In the kernel's block, the argument count, the path, padding and the arguments
// precede it.
func environment(pid int) []byte {
	_, env := procargs(pid)
	return env
}

func arguments(pid int) []string {
	args, _ := procargs(pid)
	return args
}

// workingDir needs a private interface, so it is not supported.
func workingDir(int) string { return "" }

func procargs(pid int) (args []string, env []byte) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil, nil
	}
	argc := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = bytes.TrimLeft(b[i:], "\x00")
	}
	for ; argc > 0; argc-- {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return args, nil
		}
		args = append(args, string(b[:i]))
		b = b[i+1:]
	}
	return args, b
}

// childless has no cheap test here: launchd adopts orphans.
func (s *Spawner) childless(func(stat) bool) bool { return false }

// signalAndWait signals the processes and returns when all have ended, the
// patience is over or the context ends.
func signalAndWait(ctx context.Context, ps []Process, sig syscall.Signal, patience time.Duration) {
	for _, p := range ps {
		if p.Alive() {
			syscall.Kill(p.PID, sig)
			syscall.Kill(p.PID, syscall.SIGCONT)
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(patience)
	defer over.Stop()
	for {
		alive := false
		for _, p := range ps {
			alive = alive || p.Alive()
		}
		if !alive {
			return
		}
		select {
		case <-tick.C:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Dying reports whether the process pid is gone, or a zombie.
func Dying(pid int) bool {
	st, err := statOf(pid)
	return errors.Is(err, ErrGone) || err == nil && st.zombie
}

// childrenNow returns an error: without a subreaper there are no orphans to tell apart.
func childrenNow() (int, error) { return 0, errors.ErrUnsupported }

func (s *Spawner) orphans() (map[Identity]bool, error) { return nil, nil }

// own reports true: the process table has only this user's processes.
func own(int) bool { return true }
