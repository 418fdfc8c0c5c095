package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// caller is the calling process as /proc numbers it; /proc may belong to another pid
// namespace.
func caller() int {
	name, err := os.Readlink("/proc/self")
	if err != nil {
		return os.Getpid()
	}
	pid, err := strconv.Atoi(name)
	if err != nil {
		return os.Getpid()
	}
	return pid
}

// BootID identifies this boot of the machine; empty if the kernel does not tell.
func BootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

func subreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// statOf reads /proc/PID/stat, or returns ErrGone.
func statOf(pid int) (stat, error) {
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return stat{}, ErrGone
	}
	if err != nil {
		return stat{}, err
	}
	return parseStat(b)
}

// readProc reads a file of /proc. os.ReadFile registers with the poller and asks for the
// size first, which takes four times as many system calls.
func readProc(path string) ([]byte, error) {
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 1024)
	for {
		n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil || n == 0 {
			return b, err
		}
		if b = b[:len(b)+n]; len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
	}
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

// parseStat parses a line of /proc/PID/stat. The name in it may contain spaces and
// parentheses; it ends at the last parenthesis.
func parseStat(b []byte) (stat, error) {
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || shut < open {
		return stat{}, fmt.Errorf("not a line of /proc/PID/stat: %q", b)
	}
	f := bytes.Fields(b[shut+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("not a line of /proc/PID/stat: %q", b)
	}
	var st stat
	var errs [6]error
	var flags, tty uint64
	st.pid, errs[0] = strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	st.ppid, errs[1] = strconv.Atoi(string(f[1]))
	st.session, errs[2] = strconv.Atoi(string(f[3]))
	st.start, errs[3] = strconv.ParseUint(string(f[19]), 10, 64)
	flags, errs[4] = strconv.ParseUint(string(f[6]), 10, 64)
	tty, errs[5] = strconv.ParseUint(string(f[4]), 10, 64)
	if tty != 0 { // minor, major and more of the minor, in 8, 12 and 12 bits
		st.terminal = unix.Mkdev(uint32(tty>>8)&0xfff, uint32(tty&0xff|tty>>12&0xfff00))
	}
	st.exiting = flags&0x4 != 0 // PF_EXITING
	st.name = string(b[open+1 : shut])
	switch f[0][0] {
	case 'Z', 'X':
		st.zombie = true
	case 'T', 't':
		st.stopped = true
	}
	return st, errors.Join(errs[:]...)
}

// processes returns the process table without the processes of other users.
func processes() ([]stat, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	table := make([]stat, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if st, err := statOf(pid); err == nil {
				table = append(table, st)
			}
		}
	}
	return table, nil
}

// hasMark reports whether the process was started with one of the marks. The environment of
// another user's process cannot be read, so it is false there.
func hasMark(pid int, marks []Mark) bool {
	for entry := range bytes.SplitSeq(environment(pid), []byte{0}) {
		for _, m := range marks {
			if string(entry) == string(m) {
				return own(pid)
			}
		}
	}
	return false
}

// environment reads /proc/PID/environ. During an exec, a process shows neither environment
// nor arguments. A process that really has no environment still has arguments, or still has
// neither a moment later.
func environment(pid int) []byte {
	dir := "/proc/" + strconv.Itoa(pid)
	bare := 0
	for range 200 {
		b, err := os.ReadFile(dir + "/environ")
		if err != nil || len(b) > 0 {
			return b
		}
		if args, err := os.ReadFile(dir + "/cmdline"); err != nil {
			return nil
		} else if len(args) > 0 {
			if bare++; bare == 2 {
				return nil
			}
			continue
		}
		// Zombies and kernel threads have neither.
		if st, err := statOf(pid); err != nil || st.zombie || st.ppid == 2 || st.pid == 2 {
			return nil
		}
		time.Sleep(50 * time.Microsecond)
	}
	return nil
}

// own prevents root from ending another user's process that copied a mark.
func own(pid int) bool {
	fi, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// childless reports, without a scan of all processes, whether no child of this process
// belongs to the program. This process is the subreaper of its programs, so processes that
// an ended program left are descendants of such children. childless also collects ended
// orphans.
func (s *Spawner) childless(belongs func(stat) bool) bool {
	s.mu.Lock() // no Start may run at the same time
	defer s.mu.Unlock()
	// The kernel gives orphans to the first living thread of their reaper. That is the main
	// thread, which Go never ends.
	pid := strconv.Itoa(os.Getpid())
	b, err := readProc("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		return false // a kernel without CONFIG_PROC_CHILDREN
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	clear := true
	for f := range bytes.FieldsSeq(b) {
		pid, err := strconv.Atoi(string(f))
		if err != nil || s.leaders[pid] != nil {
			continue
		}
		st, err := statOf(pid)
		switch {
		case err != nil: // gone
		case st.zombie && st.session != session:
			// Other child processes (git) stay in this process's session and are collected
			// by their own Wait; nobody waits for a program's orphan.
			var ws syscall.WaitStatus
			syscall.Wait4(pid, &ws, syscall.WNOHANG, nil)
		case st.zombie:
		case belongs(st):
			clear = false
		}
	}
	return clear
}

// signalAndWait signals the processes and returns when all have ended, the timeout is over
// or the context ends. It uses pidfds, which never refer to another process.
func signalAndWait(ctx context.Context, ps []Process, sig syscall.Signal, patience time.Duration) {
	var fds []unix.PollFd
	defer func() {
		for _, f := range fds {
			unix.Close(int(f.Fd))
		}
	}()
	for _, p := range ps {
		fd, err := unix.PidfdOpen(p.PID, 0)
		if err != nil {
			continue
		}
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		if start, err := StartTime(p.PID); err == nil && start == p.Start {
			unix.PidfdSendSignal(fd, sig, nil, 0)
			// A stopped process gets TERM only after it continues.
			unix.PidfdSendSignal(fd, syscall.SIGCONT, nil, 0)
		}
	}
	deadline := time.Now().Add(patience)
	open := append([]unix.PollFd(nil), fds...)
	for len(open) > 0 && ctx.Err() == nil {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		// Poll in short intervals, to notice that the context has ended.
		if _, err := unix.Poll(open, int(min(left, 50*time.Millisecond)/time.Millisecond)+1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		alive := open[:0]
		for _, f := range open {
			if f.Revents == 0 {
				alive = append(alive, f)
			}
		}
		open = alive
	}
}

// Dying reports whether the process pid is gone or about to be: a zombie whose threads
// still exit, or a process with a pending SIGKILL. It holds its locks until it is gone.
func Dying(pid int) bool {
	if st, err := statOf(pid); errors.Is(err, ErrGone) || err == nil && (st.zombie || st.exiting) {
		return true
	}
	b, err := readProc("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	for line := range bytes.Lines(b) {
		name, mask, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t"))
		if string(name) != "SigPnd" && string(name) != "ShdPnd" {
			continue
		}
		if pending, err := strconv.ParseUint(string(mask), 16, 64); err == nil && pending&(1<<(syscall.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

// arguments returns the command line of a process.
func arguments(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// workingDir returns the working directory of a process; empty if unknown.
func workingDir(pid int) string {
	dir, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	return dir
}

// childrenNow returns the number of this process's children.
func childrenNow() (int, error) {
	self := "/proc/" + strconv.Itoa(os.Getpid()) + "/task"
	tasks, err := os.ReadDir(self)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, t := range tasks {
		b, err := readProc(self + "/" + t.Name() + "/children")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
		n += len(bytes.Fields(b))
	}
	return n, nil
}

// orphans returns the live children of this process in another session that it did not
// start. Children that it runs without its Spawner (git) stay in its own session.
func (s *Spawner) orphans() (map[Identity]bool, error) {
	s.mu.Lock() // no Start may run at the same time
	defer s.mu.Unlock()
	pid := strconv.Itoa(os.Getpid())
	// As in childless: the main thread adopts orphans.
	b, err := readProc("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		return nil, nil // a kernel without CONFIG_PROC_CHILDREN
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return nil, err
	}
	found := map[Identity]bool{}
	for f := range bytes.FieldsSeq(b) {
		pid, err := strconv.Atoi(string(f))
		if err != nil || s.leaders[pid] != nil || s.detached[pid] {
			continue
		}
		if st, err := statOf(pid); err == nil && !st.zombie && st.session != session {
			found[Identity{pid, st.start}] = true
		}
	}
	return found, nil
}
