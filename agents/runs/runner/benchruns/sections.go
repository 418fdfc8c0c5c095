package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// floors is what the kernel and the disk take, by hand and without a scheduler.
func (b *bench) floors(ctx context.Context) error {
	n := b.size(300, 20)
	dir, err := os.MkdirTemp(b.scratch, "")
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	spawn := func(argv ...string) error {
		return (&exec.Cmd{Path: argv[0], Args: argv}).Run()
	}
	record := func(i int) error {
		if _, err := log.Write(make([]byte, 400)); err != nil {
			return err
		}
		if err := log.Sync(); err != nil {
			return err
		}
		return write(dir, fmt.Sprint(i, ".done"), "0\n")
	}
	floors := []struct {
		name string
		do   func(i int) error
	}{
		{"start and wait for `/bin/true`", func(int) error { return spawn("/bin/true") }},
		{"start and wait for `sh -c /bin/true`", func(int) error { return spawn("/bin/sh", "-c", "/bin/true") }},
		{"a synced record and a marker", record},
		{"`/bin/true`, a synced record and a marker", func(i int) error {
			if err := spawn("/bin/true"); err != nil {
				return err
			}
			return record(n + i)
		}},
	}
	took := make([][]float64, len(floors))
	for i := range n {
		for k, f := range floors {
			start := time.Now()
			if err := f.do(i); err != nil {
				return err
			}
			took[k] = append(took[k], ms(time.Since(start)))
		}
	}
	b.f("One after the other, without a scheduler, median of %d:\n\n| | ms |\n|---|--:|\n", n)
	for k, f := range floors {
		b.f("| %s | %.2f |\n", f.name, median(took[k]))
	}
	return ctx.Err()
}

// graphs is whole runs of /bin/true, headless.
func (b *bench) graphs(ctx context.Context) error {
	b.f("Nodes are `/bin/true` with `role: review`. cmux keeps a synced record, a log and a marker of every node; make and go-task keep nothing but where markers are named, ninja a log that is not synced. ")
	b.f("The wall time is that of the whole command, with its start, checks of the repository and the final table. Goal: 1.15 times ninja.\n")
	one := chain(1)
	costs, err := b.rounds(ctx, b.n, []contestant{b.headless(one, "/bin/true")})
	if err != nil {
		return err
	}
	fixed := median(walls(costs[0]))
	for _, g := range []graph{
		chain(b.size(200, 20)), fan(b.size(1000, 30)), layered(b.size(1000, 40), 2), layered(b.size(10000, 100), 2),
	} {
		rounds, tools := b.n, others(b.task)
		if g.len() > 5000 {
			rounds = 1
			tools = slices.DeleteFunc(tools, func(t tool) bool { return t.name == "go-task" }) // it takes minutes
		}
		cs := []contestant{b.headless(g, "/bin/true")}
		for _, t := range tools {
			cs = append(cs, b.by(t, g, "/bin/true"))
		}
		fmt.Fprintln(os.Stderr, "  "+g.name)
		costs, err := b.rounds(ctx, rounds, cs)
		if err != nil {
			return err
		}
		b.f("\n### %s%s\n\n%d rounds.\n", strings.ToUpper(g.name[:1]), g.name[1:], rounds)
		b.table(g.len(), cs, costs, "ninja")
		b.f("\nA run of a single node takes cmux %.0f ms; without that, %.2f ms per node here.\n", fixed, (median(walls(costs[0]))-fixed)/float64(g.len()))
	}
	return nil
}

// latency is the time from the end of a node to the start of its dependent.
func (b *bench) latency(ctx context.Context) error {
	g := chain(b.size(200, 20))
	gaps := map[string][]float64{}
	var cs []contestant
	add := func(with func(task string) contestant) {
		c := with("")
		name := c.name
		c.run = func(ctx context.Context, dir string) (cost, error) {
			took, err := with(b.stamp+" "+filepath.Join(dir, "stamps")).run(ctx, dir)
			if err != nil {
				return took, err
			}
			found, err := stamps(dir)
			if len(found) != g.len()-1 {
				return took, fmt.Errorf("%d gaps, want %d (%v)", len(found), g.len()-1, err)
			}
			gaps[name] = append(gaps[name], found...)
			return took, err
		}
		cs = append(cs, c)
	}
	add(func(task string) contestant { return b.headless(g, task) })
	for _, t := range others(b.task) {
		add(func(task string) contestant { return b.by(t, g, task) })
	}
	add(func(task string) contestant { return b.throughTmux(g, task) })
	add(func(task string) contestant {
		return contestant{"nobody", func(ctx context.Context, dir string) (cost, error) {
			argv := strings.Fields(task)
			for range g.len() {
				if err := (&exec.Cmd{Path: argv[0], Args: argv}).Run(); err != nil {
					return cost{}, err
				}
			}
			return cost{}, nil
		}}
	})
	if _, err := b.rounds(ctx, b.n, cs); err != nil {
		return err
	}
	b.f("A %s of a small program that writes down when it began and when it ended. \"nobody\" starts it again and again without a scheduler: the time that the program's own end and start take is in all figures. Goals: 1.2 ms headless, 8 ms in panes.\n\n", g.name)
	b.f("| | median | p99 | above nobody |\n|---|--:|--:|--:|\n")
	floor := median(gaps["nobody"])
	for _, c := range cs {
		b.f("| %s | %.2f ms | %.2f ms | %.2f ms |\n", c.name, median(gaps[c.name])/1000, quantile(gaps[c.name], 0.99)/1000, (median(gaps[c.name])-floor)/1000)
	}
	return nil
}

// panes is whole runs through tmux.
func (b *bench) panes(ctx context.Context) error {
	b.f("\"tmux alone\" opens a window per node through one control connection and waits for a marker that its process leaves: no wrapper, no record, no log, no layout. Goal: tmux alone and 2 ms per node.\n")
	for _, g := range []graph{chain(b.size(200, 10)), layered(b.size(1000, 20), 2)} {
		cs := []contestant{b.throughTmux(g, "/bin/true"), b.tmuxFloor(g, "/bin/true")}
		fmt.Fprintln(os.Stderr, "  "+g.name)
		costs, err := b.rounds(ctx, max(1, b.n/2), cs)
		if err != nil {
			return err
		}
		b.f("\n### %s%s\n", strings.ToUpper(g.name[:1]), g.name[1:])
		b.table(g.len(), cs, costs, "tmux alone")
		b.f("\nAbove tmux alone: %.2f ms per node.\n", (median(walls(costs[0]))-median(walls(costs[1])))/float64(g.len()))
	}
	return nil
}

// worktrees is a run in which every node has a worktree.
func (b *bench) worktrees(ctx context.Context) error {
	n, files := b.size(50, 5), 100
	g := graph{name: "worktrees", deps: make([][]int, n)}
	cs := []contestant{
		{"cmux", func(ctx context.Context, dir string) (cost, error) {
			if err := b.project(ctx, dir, g.cmux("/bin/true", "build", 2), files); err != nil {
				return cost{}, err
			}
			c, _, err := timed(ctx, dir, b.env, b.cmux, "agents", "start", "--yes", "--headless")
			return c, err
		}},
		{"git worktree add", func(ctx context.Context, dir string) (cost, error) {
			if err := b.project(ctx, dir, g.cmux("/bin/true", "build", 2), files); err != nil {
				return cost{}, err
			}
			var total cost
			for i := range n {
				c, _, err := timed(ctx, dir, b.env, "git", "worktree", "add", "-q", "-b", fmt.Sprint("b", i), fmt.Sprint("trees/n", i), "main")
				if err != nil {
					return total, err
				}
				total.wall += c.wall
				total.cpu += c.cpu
			}
			return total, nil
		}},
	}
	costs, err := b.rounds(ctx, b.n, cs)
	if err != nil {
		return err
	}
	b.f("%d nodes with a worktree and a branch each in a repository of %d files, beside as many calls of `git worktree add`, one after the other. cmux also asks git at the end of each node what it did.\n", n, files)
	b.table(n, cs, costs, "git worktree add")
	return nil
}

// load is reading, checking and ordering a configuration.
func (b *bench) load(ctx context.Context) error {
	sizes := []int{1000, 10000, 100000}
	if b.quick {
		sizes = []int{100, 1000}
	}
	cs := make([]contestant, len(sizes))
	for i, n := range sizes {
		cs[i] = contestant{fmt.Sprint(n), func(ctx context.Context, dir string) (cost, error) {
			if err := b.project(ctx, dir, layered(n, 2).cmux("/bin/true", "review", 2), 1); err != nil {
				return cost{}, err
			}
			c, _, err := timed(ctx, dir, b.env, b.cmux, "agents", "start", "--dry-run")
			return c, err
		}}
	}
	costs, err := b.rounds(ctx, b.n, cs)
	if err != nil {
		return err
	}
	b.f("`cmux agents start --dry-run`: the configuration read and checked, the repository looked at, the table and the schedule of all nodes printed. Goal: linear.\n\n| nodes | wall | per node |\n|--:|--:|--:|\n")
	for i, n := range sizes {
		w := median(walls(costs[i]))
		b.f("| %d | %.0f ms | %.1f µs |\n", n, w, w/float64(n)*1000)
	}
	return nil
}

// commands is how fast the commands answer that people type.
func (b *bench) commands(ctx context.Context) error {
	dir, err := os.MkdirTemp(b.scratch, "")
	if err != nil {
		return err
	}
	g, n := layered(b.size(1000, 50), 2), b.size(50, 5)
	if _, err := b.headless(g, "/bin/true").run(ctx, dir); err != nil {
		return err
	}
	commands := [][]string{
		{"/bin/true"}, {b.cmux, "version"}, {b.cmux, "agents", "status"}, {b.cmux, "agents", "status", "--json"},
	}
	took := make([][]float64, len(commands))
	for range n {
		for i, argv := range commands {
			c, _, err := timed(ctx, dir, b.env, argv...)
			if err != nil {
				return err
			}
			took[i] = append(took[i], c.wall)
		}
	}
	b.f("Median and p99 of %d calls, in a project with a run of %d nodes. Goal: `status` in 50 ms.\n\n| | median | p99 |\n|---|--:|--:|\n", n, g.len())
	for i, argv := range commands {
		name := strings.Replace(strings.Join(argv, " "), b.cmux, "cmux", 1)
		b.f("| `%s` | %.1f ms | %.1f ms |\n", name, median(took[i]), quantile(took[i], 0.99))
	}
	return nil
}

// idling is what waiting costs, and what memory it takes.
func (b *bench) idling(ctx context.Context) error {
	n, over := b.size(100, 5), time.Duration(b.size(60, 2))*time.Second
	var found [2]idleness
	for i, panes := range []bool{false, true} {
		var err error
		if found[i], err = b.idle(ctx, n, panes, over); err != nil {
			return err
		}
	}
	b.f("%d nodes that sleep, watched for %s: CPU time of all processes of cmux, and what memory they hold (RSS: resident; PSS: shared pages divided among their users). Goal: no measurable CPU.\n\n", n, over)
	b.f("| | processes | CPU | of one core | runner RSS / PSS | wrapper RSS / PSS |\n|---|--:|--:|--:|--:|--:|\n")
	for i, name := range []string{"headless", "in panes"} {
		f := found[i]
		wrapper := "none"
		if f.wrappers > 0 {
			wrapper = fmt.Sprintf("%.1f / %.1f MB", f.wrapRSS, f.wrapPSS)
		}
		b.f("| %s | %d | %.0f ms | %.3f %% | %.1f / %.1f MB | %s |\n", name, f.processes, f.cpu, f.cpu/ms(f.over)*100, f.runnerRSS, f.runnerPSS, wrapper)
	}
	return nil
}
