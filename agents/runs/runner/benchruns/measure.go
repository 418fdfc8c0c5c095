package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cost is what one run took, in milliseconds.
type cost struct{ wall, cpu float64 }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timed runs a command to its end. CPU time is that of all its processes that
// were waited for.
func timed(ctx context.Context, dir string, env []string, argv ...string) (cost, []byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err := cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return cost{}, nil, fmt.Errorf("%s in %s: %w\n%s", strings.Join(argv, " "), dir, err, tail(errs.Bytes()))
	}
	return cost{ms(wall), ms(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())}, out.Bytes(), nil
}

func tail(b []byte) []byte {
	return b[max(0, len(b)-2000):]
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return v[min(int(q*float64(len(v))), len(v)-1)]
}

func median(v []float64) float64 { return quantile(v, 0.5) }

// contestant is one of several ways to do the same, measured in turns.
type contestant struct {
	name string
	run  func(ctx context.Context, dir string) (cost, error)
}

// rounds measures contestants in turns, each time in a directory of its own,
// and returns their costs by contestant. Directories are kept until the end:
// ext4 gives a new file no inode that was freed a moment ago, and the search
// for another takes longer than everything else.
func (b *bench) rounds(ctx context.Context, n int, cs []contestant) ([][]cost, error) {
	costs := make([][]cost, len(cs))
	for round := range n {
		for k := range cs {
			i := (k + round) % len(cs) // nobody always comes first
			dir, err := os.MkdirTemp(b.scratch, "")
			if err != nil {
				return nil, err
			}
			c, err := cs[i].run(ctx, dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", cs[i].name, err)
			}
			costs[i] = append(costs[i], c)
			fmt.Fprintf(os.Stderr, "    %-20s %9.1f ms, %9.1f ms of CPU\n", cs[i].name, c.wall, c.cpu)
		}
	}
	return costs, nil
}

func walls(cs []cost) (v []float64) {
	for _, c := range cs {
		v = append(v, c.wall)
	}
	return v
}

func cpus(cs []cost) (v []float64) {
	for _, c := range cs {
		v = append(v, c.cpu)
	}
	return v
}

// project makes a repository with one commit of some files and a configuration.
func (b *bench) project(ctx context.Context, dir, config string, files int) error {
	if err := write(dir, ".cmux-agents.yml", config); err != nil {
		return err
	}
	for i := range files {
		if err := write(dir, fmt.Sprintf("file%d.txt", i), fmt.Sprintf("file %d\n", i)); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "files"}} {
		if _, _, err := timed(ctx, dir, b.env, append([]string{"git"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// headless is a run of g by cmux in a new project.
func (b *bench) headless(g graph, task string) contestant {
	return contestant{"cmux", func(ctx context.Context, dir string) (cost, error) {
		if err := b.project(ctx, dir, g.cmux(task, "review", 2), 1); err != nil {
			return cost{}, err
		}
		c, _, err := timed(ctx, dir, b.env, b.cmux, "agents", "start", "--yes", "--headless")
		return c, err
	}}
}

// by is a run of g by another tool.
func (b *bench) by(t tool, g graph, task string) contestant {
	return contestant{t.name, func(ctx context.Context, dir string) (cost, error) {
		argv, err := t.prepare(dir, g, task)
		if err != nil {
			return cost{}, err
		}
		c, _, err := timed(ctx, dir, b.env, argv...)
		return c, err
	}}
}

// stamps reads what the command stamp wrote: the time in microseconds from
// each end to the start that followed it.
func stamps(dir string) ([]float64, error) {
	text, err := os.ReadFile(filepath.Join(dir, "stamps"))
	if err != nil {
		return nil, err
	}
	var (
		gaps []float64
		end  int64
	)
	for line := range strings.Lines(string(text)) {
		var s, e int64
		if _, err := fmt.Sscan(line, &s, &e); err != nil {
			return nil, err
		}
		if end != 0 {
			gaps = append(gaps, float64(s-end)/1000)
		}
		end = e
	}
	return gaps, nil
}
