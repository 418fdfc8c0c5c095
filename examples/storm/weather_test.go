//go:build linux

package storm_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience ends broken runs only.
const patience = 3 * time.Minute

// process is one that came of the run.
type process struct {
	pid, parent int
	args        string
	node        bool // a node, or what it started
	copy        bool // has not yet become the program that it is to be, which may be a node's
}

// processes are all that have the storm's mark in their environment.
func (w *world) processes() []process {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		w.t.Fatal(err)
	}
	mark := []byte("STORM=" + w.id + "\x00")
	var all []process
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || pid == os.Getpid() || !bytes.Contains(append([]byte{0}, env...), append([]byte{0}, mark...)) {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(args) > 0 { // else it is a zombie
			all = append(all, process{
				pid: pid, parent: parentOf(dir), args: strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " ")),
				node: bytes.Contains(env, []byte("\x00CMUX_NODE=")),
			})
		}
	}
	for i := range all {
		p := &all[i]
		p.copy = slices.ContainsFunc(all, func(q process) bool { return q.pid == p.parent && q.args == p.args })
	}
	return all
}

// parentOf is the parent of the process whose folder in /proc is dir.
func parentOf(dir string) int {
	stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(f) < 2 {
		return 0 // it has gone
	}
	parent, _ := strconv.Atoi(string(f[1]))
	return parent
}

// cmux reports whether a process is cmux or its tmux: what a node runs is not,
// as its death by a signal is that node's own end.
func (p process) cmux() bool {
	name, _, _ := strings.Cut(p.args, " ")
	return !p.node && !p.copy && (filepath.Base(name) == "cmux" || filepath.Base(name) == "tmux")
}

// start starts the run, and resume resumes it in any state.
func (w *world) start() { w.launch("start", "--yes") }

func (w *world) launch(args ...string) {
	w.reap(0)
	if !w.headless {
		args = append(args, "--detach")
		out, err := w.run(append([]string{"agents"}, args...)...)
		w.tell("%v: %v %s", args, err, lastLine(out))
		return
	}
	if args[0] == "start" {
		args = append(args, "--headless")
	}
	cmd := w.command(append([]string{"agents"}, args...)...)
	log, err := os.OpenFile(filepath.Join(w.base, "headless.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.tell("%v: pid %d", args, cmd.Process.Pid)
	waited := make(chan struct{})
	w.runner, w.waited = cmd, waited
	go func() { defer close(waited); cmd.Wait() }()
}

// reap waits for the headless runner for a while, or not at all.
func (w *world) reap(d time.Duration) bool {
	if w.runner == nil {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.waited:
		w.tell("headless: %v", w.runner.ProcessState)
		w.runner = nil
		return true
	case <-timer.C:
		return false
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// strike starts the run and lets so many blows fall on it.
func (w *world) strike(blows int, shutdown bool) {
	w.start()
	for range blows {
		w.lull()
		switch k := w.r.IntN(10); {
		case shutdown && k < 4:
			w.shutdown()
		case k < 7:
			w.killOne()
		default:
			w.killAll()
		}
		if w.r.IntN(2) == 0 {
			w.order()
		}
		if w.r.IntN(3) > 0 {
			w.launch("resume")
		}
	}
	if shutdown && w.sum.shutdowns == 0 {
		w.shutdown()
	}
}

// lull lets the run work for a random while; it is the moment of a blow that is
// random, so there is no fact to wait for.
func (w *world) lull() {
	<-time.After(time.Duration(w.r.IntN(600)) * time.Millisecond)
}

func (w *world) signal(p process, s syscall.Signal) { syscall.Kill(p.pid, s) }

func (w *world) killOne() {
	all := slices.DeleteFunc(w.processes(), func(p process) bool { return !p.cmux() })
	if len(all) == 0 {
		return
	}
	p := all[w.r.IntN(len(all))]
	w.tell("kill -9 %d %.60s", p.pid, p.args)
	w.signal(p, syscall.SIGKILL)
	w.sum.kills++
}

// killAll is a power cut: all at once, as far as that can be.
func (w *world) killAll() {
	all := w.processes()
	// Those that start others first, or they would.
	slices.SortStableFunc(all, func(a, b process) int {
		rank := func(p process) int {
			if p.cmux() {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	for _, p := range all {
		w.signal(p, syscall.SIGSTOP)
	}
	for _, p := range all {
		w.signal(p, syscall.SIGKILL)
	}
	w.tell("kill -9 of all %d", len(all))
	if len(all) > 0 {
		w.sum.kills++
	}
	w.gone(all)
}

// shutdown is that of a machine: TERM to every process, in any order, and after
// a while KILL to those that are left.
func (w *world) shutdown() {
	all := w.processes()
	w.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, p := range all {
		w.signal(p, syscall.SIGTERM)
		syscall.Kill(p.pid, syscall.SIGCONT)
	}
	w.tell("TERM to all %d", len(all))
	deadline := time.Now().Add(time.Duration(500+w.r.IntN(2500)) * time.Millisecond)
	for time.Now().Before(deadline) && len(w.processes()) > 0 {
		<-time.After(20 * time.Millisecond)
	}
	left := w.processes()
	for _, p := range left {
		w.signal(p, syscall.SIGKILL)
	}
	w.tell("KILL to the %d that are left", len(left))
	if len(all) > 0 {
		w.sum.shutdowns++
	}
	w.gone(left)
}

// gone waits until the processes are.
func (w *world) gone(all []process) {
	deadline := time.Now().Add(patience)
	for _, p := range all {
		for syscall.Kill(p.pid, 0) == nil && time.Now().Before(deadline) {
			if w.runner != nil && w.runner.Process.Pid == p.pid {
				<-w.waited
			}
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid)); err != nil || bytes.Contains(stat, []byte(") Z ")) {
				break
			}
			<-time.After(5 * time.Millisecond)
		}
	}
}

// endAll leaves nothing behind.
func (w *world) endAll() {
	for range 20 {
		all := w.processes()
		if len(all) == 0 {
			break
		}
		for _, p := range all {
			w.signal(p, syscall.SIGKILL)
		}
		w.gone(all)
	}
	w.reap(patience)
}

// order is something that a person does meanwhile.
func (w *world) order() {
	i := w.r.IntN(len(w.jobs))
	j := &w.jobs[i]
	w.sum.orders++
	switch w.r.IntN(5) {
	case 0: // calls it done
		w.force(j)
		out, err := w.run("agents", "override", j.name)
		w.tell("override %s: %v %s", j.name, err, lastLine(out))
		if err != nil {
			j.free = true
		}
	case 1: // the same by hand
		path := filepath.Join(w.root, ".cmux/signals", j.name+".done")
		w.force(j)
		now := time.Now()
		err := os.WriteFile(path, nil, 0o644)
		if err == nil {
			err = os.Chtimes(path, now, now)
		}
		w.tell("emptied the marker of %s: %v", j.name, err)
		j.free = true // as it may have been put back since, or be a done one's
	case 2:
		out, err := w.run("agents", "retry", j.name)
		w.tell("retry %s: %v %s", j.name, err, lastLine(out))
		if err == nil {
			j.free = j.free || j.forced
		}
	case 3:
		out, err := w.run("agents", "stop")
		w.tell("stop: %v %s", err, lastLine(out))
	case 4:
		for _, args := range [][]string{{"agents", "status"}, {"agents", "logs", j.name}, {"doctor"}, {"agents", "list"}} {
			w.run(args...)
		}
	}
}

func (w *world) force(j *job) {
	j.forced = true
	if err := os.WriteFile(filepath.Join(w.ledger, j.name+".forced"), nil, 0o644); err != nil {
		w.t.Fatal(err)
	}
}
