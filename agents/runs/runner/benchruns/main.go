// Command benchruns measures whole runs of the built cmux beside make, ninja
// and go-task, and beside Claude Code started by hand (section agents, which
// needs .ci/agents), in turns on the same machine, and writes docs/benchmarks.md.
// Every figure on that page is written by this program.
//
//	go run ./agents/runs/runner/benchruns [-rounds N] [-quick] [-only SECTION,...] [-o FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// goTask is the version that is installed where there is none.
const goTask = "github.com/go-task/task/v3/cmd/task@v3.45.4"

// bench is what all measurements share.
type bench struct {
	scratch string   // a new directory, removed at the end
	cmux    string   // the binary under measurement
	stamp   string   // the command stamp
	task    string   // go-task; empty: not to be had
	socket  string   // of the tmux server
	env     []string // of every process that is measured
	n       int      // rounds
	quick   bool
	commit  string          // of cmux
	page    strings.Builder // the part under way
}

func main() {
	b := &bench{}
	flag.IntVar(&b.n, "rounds", 5, "rounds of each comparison")
	flag.BoolVar(&b.quick, "quick", false, "small sizes and short times, to see that everything works")
	only := flag.String("only", "", "sections to measure, separated by commas (default: all)")
	out := flag.String("o", "docs/benchmarks.md", "page in which the measured sections are replaced; - for none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.all(ctx, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "benchruns:", err)
		os.Exit(1)
	}
}

type section struct {
	name, title string
	measure     func(context.Context) error
	peers       bool // runs make, ninja and go-task too
}

// sections are all, in the order of the page.
func (b *bench) sections() []section {
	return []section{
		{"floors", "Floors", b.floors, false},
		{"graphs", "Whole runs, headless", b.graphs, true},
		{"latency", "From the end of a node to the start of its dependent", b.latency, true},
		{"panes", "Whole runs through tmux", b.panes, false},
		{"worktrees", "Worktrees", b.worktrees, false},
		{"load", "Load, check and schedule", b.load, false},
		{"commands", "Commands", b.commands, false},
		{"idle", "Waiting", b.idling, false},
		{"agents", "Agents", b.agents, false},
		{"organization", "A standing organization", b.organization, false},
		{"rooms", "Rooms", b.rooms, false},
	}
}

// all measures the chosen sections and puts each into the page as soon as it is
// measured; what is not measured stays as it was. A section that fails does not
// keep the others from being measured.
func (b *bench) all(ctx context.Context, only, out string) (err error) {
	sections := b.sections()
	var known []string
	for _, s := range sections {
		known = append(known, s.name)
	}
	chosen := known
	if only != "" {
		chosen = strings.Split(only, ",")
		for _, c := range chosen {
			if !slices.Contains(known, c) {
				return fmt.Errorf("no section %q; there are %s", c, strings.Join(known, ", "))
			}
		}
	}
	if b.scratch, err = os.MkdirTemp("", "cmux-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.scratch)
	if err := b.prepare(ctx); err != nil {
		return err
	}
	page := page{titles: titles(sections), parts: map[string]string{}}
	if old, err := os.ReadFile(out); err == nil {
		page.read(string(old))
	}
	peers := slices.ContainsFunc(sections, func(s section) bool { return s.peers && slices.Contains(chosen, s.name) })
	if peers {
		if err := b.findPeers(ctx); err != nil {
			return err
		}
	}
	b.commit = firstLine(ctx, "git", "rev-parse", "--short", "HEAD")
	if peers || page.parts[""] == "" {
		b.head(ctx)
		page.parts[""] = b.page.String()
	}
	var errs []error
	for _, s := range sections {
		if !slices.Contains(chosen, s.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, s.name)
		b.page.Reset()
		b.f("\nMeasured with `go run ./agents/runs/runner/benchruns -only %s -rounds %d` on %s, cmux %s, load of the machine before: %s.\n\n",
			s.name, b.n, time.Now().Format("2006-01-02 15:04"), b.commit, load())
		if err := s.measure(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.name, err))
			continue
		}
		page.parts[s.title] = b.page.String()
		fmt.Print("\n## " + s.title + "\n" + b.page.String())
		if out != "-" && !b.quick {
			if err := os.WriteFile(out, []byte(page.String()), 0o644); err != nil {
				return err
			}
		}
	}
	return errors.Join(errs...)
}

// notes is the section that people write about the figures.
const notes = "Where the time goes"

// titles are the headings of the page, in order.
func titles(sections []section) []string {
	var all []string
	for _, s := range sections {
		all = append(all, s.title)
	}
	return append(all, notes)
}

// page is the page of figures: a head and sections by title.
type page struct {
	titles []string
	parts  map[string]string // what stands below each title; the head's is empty
}

func (p *page) read(text string) {
	for i, part := range strings.Split(text, "\n## ") {
		title, body, _ := strings.Cut(part, "\n")
		if i == 0 {
			p.parts[""] = strings.TrimRight(part, "\n") + "\n"
		} else if slices.Contains(p.titles, title) {
			p.parts[title] = strings.TrimRight(body, "\n") + "\n"
		}
	}
}

func (p *page) String() string {
	var b strings.Builder
	b.WriteString(p.parts[""])
	for _, t := range p.titles {
		if part, ok := p.parts[t]; ok {
			b.WriteString("\n## " + t + "\n" + part)
		}
	}
	return b.String()
}

// load is the average number of runnable processes of the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// prepare builds the binaries and makes the environment of what is measured.
func (b *bench) prepare(ctx context.Context) error {
	b.cmux, b.stamp = filepath.Join(b.scratch, "bin", "cmux"), filepath.Join(b.scratch, "bin", "stamp")
	b.socket = fmt.Sprintf("cmux-bench-%d", os.Getpid())
	for path, pkg := range map[string]string{b.cmux: "./cmd/cmux", b.stamp: "./agents/runs/runner/benchruns/stamp"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as in the Makefile
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go build %s: %w", pkg, err)
		}
	}
	for _, name := range []string{"tmux", "git"} {
		if _, err := exec.LookPath(name); err != nil {
			return err
		}
	}
	home := filepath.Join(b.scratch, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	b.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm-256color", "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost",
		"CMUX_TMUX_SOCKET=" + b.socket,
	}
	return nil
}

// findPeers finds the tools beside which cmux is measured, and installs go-task
// where there is none.
func (b *bench) findPeers(ctx context.Context) error {
	for _, name := range []string{"make", "ninja"} {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%w; try: .ci/tools %s", err, name)
		}
	}
	var err error
	if b.task, err = exec.LookPath("task"); err != nil {
		cmd := exec.CommandContext(ctx, "go", "install", goTask)
		cmd.Dir = b.scratch // outside of this module
		cmd.Env = append(os.Environ(), "GOBIN="+filepath.Join(b.scratch, "bin"), "GOFLAGS=-mod=mod")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "go-task is left out:", err)
		} else {
			b.task = filepath.Join(b.scratch, "bin", "task")
		}
	}
	return nil
}

func (b *bench) f(format string, a ...any) { fmt.Fprintf(&b.page, format, a...) }

// head says where and how the page was made.
func (b *bench) head(ctx context.Context) {
	say := func(argv ...string) string { return firstLine(ctx, argv...) }
	cpu := "unknown"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				cpu = strings.TrimSpace(v)
			}
		}
	}
	b.f("# Benchmarks\n\nThe figures are written by `make bench`, which repeats them all; the notes at the end are written by hand.\n\n")
	b.f("Machine: %s, %s cores, %s %s, %s. ", cpu, say("nproc"), say("uname", "-s"), say("uname", "-r"), say("stat", "-f", "-c", "%T", b.scratch))
	b.f("%s, %s, %s, %s, ninja %s", say("git", "--version"), say("tmux", "-V"), say("go", "version"), say("make", "--version"), say("ninja", "--version"))
	if b.task != "" {
		b.f(", go-task %s", say(b.task, "--version"))
	}
	b.f(".\n\nWhat else runs on the machine slows all contestants alike, so look at ratios; each is the median of the ratios within a round. ")
	b.f("Contestants take turns, in directories of their own; other figures are medians of the rounds. ")
	b.f("All of them run two nodes at a time. \"CPU\" is user and system time of all processes.\n")
}

// firstLine is the first line of what a command prints.
func firstLine(ctx context.Context, argv ...string) string {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// table prints contestants with their price per node beside a reference.
func (b *bench) table(nodes int, cs []contestant, costs [][]cost, reference string) {
	ref := slices.IndexFunc(cs, func(c contestant) bool { return c.name == reference })
	b.f("\n| | wall | per node | ratio to %s | CPU per node | ratio |\n|---|--:|--:|--:|--:|--:|\n", reference)
	for i, c := range cs {
		wall, cpu := median(walls(costs[i])), median(cpus(costs[i]))
		// The ratio of each round, as the load differs between rounds.
		var rw, rc []float64
		for k := range costs[i] {
			rw = append(rw, costs[i][k].wall/costs[ref][k].wall)
			rc = append(rc, costs[i][k].cpu/costs[ref][k].cpu)
		}
		b.f("| %s | %.0f ms | %.2f ms | %.2f |", c.name, wall, wall/float64(nodes), median(rw))
		if cpu == 0 {
			b.f(" | |\n")
		} else {
			b.f(" %.2f ms | %.2f |\n", cpu/float64(nodes), median(rc))
		}
	}
}

func (b *bench) size(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}
