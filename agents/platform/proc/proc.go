package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Identity identifies one process uniquely: its pid and its start time, in the kernel's
// ticks since boot on Linux and in microseconds since 1970 on macOS.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
}

// ErrGone means that there is no such process.
var ErrGone = errors.New("no such process")

// StartTime returns when the process pid started, or ErrGone.
func StartTime(pid int) (uint64, error) {
	st, err := statOf(pid)
	return st.start, err
}

// Self returns the calling process.
func Self() (Identity, error) {
	start, err := StartTime(os.Getpid())
	return Identity{os.Getpid(), start}, err
}

// Alive reports whether the process still runs; a zombie does not.
func (id Identity) Alive() bool {
	st, err := statOf(id.PID)
	return err == nil && st.start == id.Start && !st.zombie
}

// Stopped reports whether a signal, such as SIGSTOP or ^Z, has stopped the process pid: it
// does nothing until SIGCONT.
func Stopped(pid int) bool {
	st, err := statOf(pid)
	return err == nil && st.stopped
}

// Process is one process found in the process table.
type Process struct {
	Identity
	Command string // its name, for people
}

func (p Process) String() string { return fmt.Sprintf("%s (pid %d)", p.Command, p.PID) }

// Mark is an environment entry, NAME=VALUE, that every process of a program inherits and
// that proves which program it belongs to.
type Mark string

// AttemptVar is the environment variable that marks the processes of an attempt.
const AttemptVar = "CMUX_ATTEMPT"

// Attempt returns the mark of attempt n of a node.
func Attempt(run, node string, n int) Mark {
	return Mark(fmt.Sprintf("%s=%s/%s/%d", AttemptVar, run, node, n))
}

// stat is one line of the process table.
type stat struct {
	pid, ppid, session int
	start              uint64
	terminal           uint64 // device number of its controlling terminal; 0: none
	zombie, stopped    bool
	exiting            bool // Linux: it has begun to end
	name               string
}

func (s stat) process() Process { return Process{Identity{s.pid, s.start}, s.name} }

// Descendants returns the live processes with one of the marks in their environment, and
// their descendants.
func Descendants(marks ...Mark) ([]Process, error) {
	return prove(func(st stat) bool { return hasMark(st.pid, marks) })
}

// prove returns the live processes for which root holds and all their
// descendants, but never the caller or one of its ancestors.
func prove(root func(stat) bool) ([]Process, error) {
	table, err := processes()
	if err != nil {
		return nil, err
	}
	byPID := make(map[int]stat, len(table))
	for _, st := range table {
		byPID[st.pid] = st
	}
	mine := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !mine[pid]; pid = byPID[pid].ppid {
		mine[pid] = true
	}
	proven := map[int]bool{}
	var is func(pid, depth int) bool
	is = func(pid, depth int) bool {
		if known, ok := proven[pid]; ok {
			return known
		}
		st, ok := byPID[pid]
		// The bound protects against a table that changed while it was read.
		if !ok || pid <= 1 || mine[pid] || depth > len(table) {
			return false
		}
		yes := root(st) || is(st.ppid, depth+1)
		proven[pid] = yes
		return yes
	}
	var found []Process
	for _, st := range table {
		if !st.zombie && is(st.pid, 0) {
			found = append(found, st.process())
		}
	}
	return found, nil
}

// End ends the processes with one of the marks: TERM, the grace period, KILL. It also ends
// processes that appear in between, and returns what it ended.
func End(ctx context.Context, grace time.Duration, marks ...Mark) ([]Process, error) {
	return end(ctx, grace, func() ([]Process, error) { return Descendants(marks...) }, nil)
}

// killWait bounds how long end waits for killed processes: one in an
// uninterruptible system call dies only when that returns.
const killWait = 10 * time.Second

// end signals the processes that find returns until there are none.
func end(ctx context.Context, grace time.Duration, find func() ([]Process, error), reap func(Process)) ([]Process, error) {
	var ended []Process
	seen := map[Identity]bool{}
	sig := syscall.SIGTERM
	deadline := time.Now().Add(grace)
	for {
		found, err := find()
		if err != nil {
			return ended, err
		}
		if len(found) == 0 {
			return ended, nil
		}
		for _, p := range found {
			if !seen[p.Identity] {
				seen[p.Identity] = true
				ended = append(ended, p)
			}
		}
		if sig == syscall.SIGKILL && time.Now().After(deadline) {
			return ended, fmt.Errorf("still alive %s after SIGKILL: %s", killWait, list(found))
		}
		if sig == syscall.SIGTERM && (time.Now().After(deadline) || ctx.Err() != nil) {
			sig = syscall.SIGKILL
			deadline = time.Now().Add(killWait)
		}
		// If the context ends, the grace period is cut short, but all processes still end.
		patience := ctx
		if sig == syscall.SIGKILL {
			patience = context.WithoutCancel(ctx)
		}
		signalAndWait(patience, found, sig, time.Until(deadline))
		if reap != nil {
			for _, p := range found {
				reap(p)
			}
		}
	}
}

func list(ps []Process) string {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.String()
	}
	return strings.Join(names, ", ")
}

// Names lists processes for people.
func Names(ps []Process) string { return list(ps) }

// Spawner starts programs that die with this process.
//
// Linux ties the parent-death signal to the thread that forked, not to the process: when Go
// retires a thread, the kernel would kill its children. So a Spawner starts all programs
// from one thread that lives as long as the Spawner.
type Spawner struct {
	requests chan request
	done     chan struct{}

	null *os.File // standard input for programs without one

	mu      sync.Mutex
	leaders map[int]*os.Process // programs not yet waited for

	detached map[int]bool // children that are not its programs
	sole     bool         // see EndOrphans
}

type request struct {
	cmd   *exec.Cmd
	reply chan error
}

// NewSpawner makes this process adopt the orphans of its programs. Close ends the Spawner.
func NewSpawner() (*Spawner, error) {
	sole := soleOwner()
	if err := subreaper(); err != nil {
		return nil, fmt.Errorf("becoming a child subreaper: %w", err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	s := &Spawner{requests: make(chan request), done: make(chan struct{}), null: null, leaders: map[int]*os.Process{}, detached: map[int]bool{}, sole: sole}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		// Without the unlock, Go would end the thread, and the kernel would kill every
		// program that is still alive.
		defer runtime.UnlockOSThread()
		for r := range s.requests {
			r.reply <- s.start(r.cmd)
		}
	}()
	return s, nil
}

func (s *Spawner) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		s.leaders[cmd.Process.Pid] = cmd.Process
	}
	return err
}

// startConfined starts a program from a thread of its own, which lives as long as the
// program. Nothing else may run on it afterwards: it ends with this goroutine.
func (s *Spawner) startConfined(r request, confine func(*exec.Cmd) error, exited <-chan struct{}) {
	runtime.LockOSThread()
	err := confine(r.cmd)
	if err == nil {
		err = s.start(r.cmd)
	}
	r.reply <- err
	if err == nil {
		<-exited
	}
}

// Close ends the Spawner's thread. All programs must have ended and been waited for; no
// Start may follow.
func (s *Spawner) Close() {
	close(s.requests)
	<-s.done
	s.null.Close()
}

// Exit is how a program ended.
type Exit struct {
	Code   int            // its exit code, 128+N when signal N ended it
	Signal syscall.Signal // 0: it exited by itself
	Err    error          // why the end is unknown
}

func (e Exit) String() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit %d", e.Code)
}

// Program is a started program with all its descendants.
type Program struct {
	Identity
	spawner *Spawner
	cmd     *exec.Cmd
	mark    Mark
	session bool // it leads its own session
	exited  chan struct{}
	exit    Exit
}

// Start starts cmd, whose environment must hold the mark. The caller chooses the session
// (cmd.SysProcAttr.Setsid); an own session proves more. confine, which may be nil, changes
// the thread that starts cmd, or cmd, so that the program is restricted.
func (s *Spawner) Start(cmd *exec.Cmd, mark Mark, confine func(*exec.Cmd) error) (*Program, error) {
	if !slices.Contains(cmd.Env, string(mark)) {
		return nil, fmt.Errorf("starting %s: its environment lacks its mark %s", cmd.Path, mark)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	dieWithParent(cmd.SysProcAttr)
	if cmd.Stdin == nil {
		cmd.Stdin = s.null
	}
	p := &Program{spawner: s, cmd: cmd, mark: mark, session: cmd.SysProcAttr.Setsid, exited: make(chan struct{})}
	r := request{cmd, make(chan error, 1)}
	if confine == nil {
		s.requests <- r
	} else {
		go s.startConfined(r, confine, p.exited)
	}
	if err := <-r.reply; err != nil {
		return nil, err
	}
	p.PID = cmd.Process.Pid
	p.Start, _ = StartTime(p.PID) // it exists until it is waited for
	go func() {
		defer close(p.exited)
		p.exit = exitOf(cmd.Wait(), cmd.ProcessState)
		s.mu.Lock()
		delete(s.leaders, p.PID)
		s.mu.Unlock()
	}()
	return p, nil
}

func exitOf(err error, st *os.ProcessState) Exit {
	if st == nil {
		return Exit{Code: 1, Err: err}
	}
	ws := st.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	return Exit{Code: ws.ExitStatus()}
}

// Exited is closed when the program itself has ended; its descendants may still live.
func (p *Program) Exited() <-chan struct{} { return p.exited }

// Exit returns how the program ended; call it after Exited is closed.
func (p *Program) Exit() Exit { return p.exit }

// Signal sends sig to the program itself.
func (p *Program) Signal(sig os.Signal) error {
	err := p.cmd.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// belongs is the proof without looking at parents.
func (p *Program) belongs(st stat) bool {
	if st.pid == p.PID && st.start == p.Start {
		return true
	}
	if p.session && st.session == p.PID {
		return true
	}
	return hasMark(st.pid, []Mark{p.mark})
}

// Survivors returns the live processes of the program, including itself. If the program has
// ended and left no process, Survivors knows that without a scan of the process table.
func (p *Program) Survivors() ([]Process, error) {
	select {
	case <-p.exited:
		if p.spawner.childless(p.belongs) {
			return nil, nil
		}
	default:
	}
	return prove(p.belongs)
}

// End ends what is left of the program: TERM, the grace period, KILL. If the context ends,
// the grace period is cut short. End returns the processes it ended, without the program
// itself.
func (p *Program) End(ctx context.Context, grace time.Duration) ([]Process, error) {
	ended, err := end(ctx, grace, p.Survivors, p.spawner.reap)
	ended = slices.DeleteFunc(ended, func(q Process) bool { return q.Identity == p.Identity })
	return ended, err
}

// reap collects an ended orphan that this process adopted. Programs are collected by their
// own Wait.
func (s *Spawner) reap(q Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := statOf(q.PID)
	if err == nil && st.start == q.Start && st.zombie && st.ppid == os.Getpid() && s.leaders[q.PID] == nil {
		var ws syscall.WaitStatus
		syscall.Wait4(q.PID, &ws, syscall.WNOHANG, nil)
	}
}

// Continue resumes every suspended program, because there is no shell for fg.
func (s *Spawner) Continue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, p := range s.leaders {
		if st, err := statOf(pid); err != nil || !st.stopped {
			continue
		}
		// ^Z stops a process group, and a program may suspend itself.
		if group, err := syscall.Getpgid(pid); err == nil && group == pid {
			syscall.Kill(-pid, syscall.SIGCONT)
			continue
		}
		p.Signal(syscall.SIGCONT)
	}
}
