package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// process is one live process that runs a cmux binary.
type process struct {
	pid     int
	wrapper bool
}

// family lists the processes that run a binary named cmux on behalf of the
// project in dir.
func family(dir string) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || filepath.Base(exe) != "cmux" {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if strings.Contains(string(args), dir) || strings.HasPrefix(exe, dir) || cwd == dir {
			found = append(found, process{pid, strings.Contains(string(args), "\x00exec\x00")})
		}
	}
	return found, nil
}

// cpuTime is the time a process has used, of user and system, in ms.
func cpuTime(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	if err1 != nil || err2 != nil {
		return 0, fmt.Errorf("/proc/%d/stat: %q", pid, b)
	}
	return (user + system) * 10, nil // in hundredths of a second on every Linux
}

// memory is the resident and the proportional size of a process in MB.
func memory(pid int) (rss, pss float64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		v, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "Rss:":
			rss = v / 1024
		case "Pss:":
			pss = v / 1024
		}
	}
	return rss, pss, nil
}

// idleness is what a run costs whose nodes all wait.
type idleness struct {
	processes            int
	cpu                  float64 // ms, of all processes over the time
	over                 time.Duration
	runnerRSS, runnerPSS float64
	wrapRSS, wrapPSS     float64 // mean of the wrappers
	wrappers             int
}

// idle starts n nodes that sleep and watches the processes of cmux for a while.
func (b *bench) idle(ctx context.Context, n int, panes bool, over time.Duration) (idleness, error) {
	dir, err := os.MkdirTemp(b.scratch, "")
	if err != nil {
		return idleness{}, err
	}
	g := graph{deps: make([][]int, n)}
	if err := b.project(ctx, dir, g.cmux("exec sleep 100000", "review", n), 1); err != nil {
		return idleness{}, err
	}
	if panes {
		if _, _, err := timed(ctx, dir, b.env, b.cmux, "agents", "start", "--yes", "--detach"); err != nil {
			return idleness{}, err
		}
		defer b.killTmux()
	} else {
		cmd := exec.CommandContext(ctx, b.cmux, "agents", "start", "--yes", "--headless")
		cmd.Dir, cmd.Env = dir, b.env
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Start(); err != nil {
			return idleness{}, err
		}
		defer cmd.Wait()
		defer cmd.Process.Signal(os.Interrupt)
	}
	if err := b.until(ctx, 2*time.Minute, func() (bool, error) {
		_, out, err := timed(ctx, dir, b.env, b.cmux, "agents", "status", "--json")
		return err == nil && strings.Count(string(out), `"label": "running"`) >= n, nil
	}); err != nil {
		return idleness{}, err
	}
	// What the start left to do is not idleness.
	if err := wait(ctx, 5*time.Second); err != nil {
		return idleness{}, err
	}
	sum := func() (total float64, ps []process, err error) {
		if ps, err = family(dir); err != nil {
			return 0, nil, err
		}
		for _, p := range ps {
			t, err := cpuTime(p.pid)
			if err != nil {
				return 0, nil, err
			}
			total += t
		}
		return total, ps, nil
	}
	before, ps, err := sum()
	if err != nil {
		return idleness{}, err
	}
	if err := wait(ctx, over); err != nil {
		return idleness{}, err
	}
	after, _, err := sum()
	if err != nil {
		return idleness{}, err
	}
	r := idleness{processes: len(ps), cpu: after - before, over: over}
	for _, p := range ps {
		rss, pss, err := memory(p.pid)
		if err != nil {
			return r, err
		}
		if p.wrapper {
			r.wrappers++
			r.wrapRSS += rss
			r.wrapPSS += pss
		} else {
			r.runnerRSS, r.runnerPSS = max(r.runnerRSS, rss), max(r.runnerPSS, pss)
		}
	}
	if r.wrappers > 0 {
		r.wrapRSS /= float64(r.wrappers)
		r.wrapPSS /= float64(r.wrappers)
	}
	return r, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// until looks for a fact twenty times a second.
func (b *bench) until(ctx context.Context, patience time.Duration, fact func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if ok, err := fact(); ok || err != nil {
			return err
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("not within %s: %w", patience, err)
		}
	}
}
