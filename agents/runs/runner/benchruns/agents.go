package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cmux/agents/kinds/claude"
	"cmux/agents/testkit/modeltest"
)

// agents is what cmux takes and adds where nodes are Claude Code: the real
// program, with a scripted model on loopback.
func (b *bench) agents(ctx context.Context) error {
	program, err := modeltest.Installed("claude")
	if err != nil {
		return err
	}
	program, err = filepath.EvalSymlinks(program)
	if err != nil {
		return err
	}
	// The environment is a clean one, as for everything that is measured.
	_, version, err := timed(ctx, b.scratch, b.env, program, "--version")
	if err != nil {
		return err
	}
	b.f("Claude Code %s, the real program, with a scripted model on loopback that answers at once.\n\n", strings.Fields(string(version))[0])
	perHook, err := b.hooks(ctx, program)
	if err != nil {
		return err
	}
	if err := b.firstRequest(ctx, program); err != nil {
		return err
	}
	if err := b.reports(ctx, program); err != nil {
		return err
	}
	return b.crowd(ctx, program, perHook)
}

// site is a project of its own, a model, and a home of Claude Code for both.
type site struct {
	*bench
	program string // Claude Code
	dir     string
	home    *modeltest.Home
	env     []string
	model   *modeltest.Server
}

// heldScript keeps whoever marks it at the gate of that name from its first
// request on.
const heldScript = "held"

func held() modeltest.Script {
	return modeltest.Script{Name: heldScript, Turns: []modeltest.Turn{{modeltest.Hold(heldScript)}}}
}

// team is a configuration of n Claude Code agents that follow the script.
func team(n int, script string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "session: bench%d\nmax_parallel: %d\ndefaults: {agent: claude, auto_accept: true}\nagents:\n", os.Getpid(), n)
	for i := range n {
		fmt.Fprintf(&s, "  - {name: a%d, task: \"Do the whole task. #script:%s\"}\n", i, script)
	}
	return s.String()
}

// site makes one in a new directory; close ends its model.
func (b *bench) site(ctx context.Context, program, config string, scripts ...modeltest.Script) (*site, error) {
	base, err := os.MkdirTemp(b.scratch, "")
	if err != nil {
		return nil, err
	}
	s := &site{bench: b, program: program, dir: filepath.Join(base, "project")}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	if err := b.project(ctx, s.dir, config, 1); err != nil {
		return nil, err
	}
	if s.model, err = modeltest.Serve("127.0.0.1:0", scripts...); err != nil {
		return nil, err
	}
	bin := filepath.Join(base, "bin")
	path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
	if s.home, err = modeltest.Prepare(filepath.Join(base, "home"), s.model.URL, path, s.dir); err == nil {
		s.env = append(s.home.Env, "CMUX_TMUX_SOCKET="+b.socket)
		if err = os.Mkdir(bin, 0o755); err == nil {
			err = os.Symlink(program, filepath.Join(bin, "claude"))
		}
	}
	if err != nil {
		s.model.Close()
		return nil, err
	}
	return s, nil
}

// start starts a program that runs until the function it returns is called,
// which tells it to end and waits for that.
func (s *site) start(ctx context.Context, stdin io.Reader, argv ...string) (end func(), err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, s.env, stdin
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait() // it was told to end
	}, nil
}

// headless starts the run of the site headless; the function it returns ends it.
func (s *site) headless(ctx context.Context) (end func(), err error) {
	leave, err := s.start(ctx, nil, s.cmux, "agents", "start", "--yes", "--headless")
	if err != nil {
		return nil, err
	}
	return func() { s.stop(ctx); leave() }, nil
}

// detached starts the run of the site in panes; the function it returns ends it.
func (s *site) detached(ctx context.Context) (end func(), err error) {
	_, _, err = timed(ctx, s.dir, s.env, s.cmux, "agents", "start", "--yes", "--detach")
	return func() { s.stop(ctx); s.killTmux() }, err
}

// stop ends the agents of the site's run, which outlive whoever started them.
func (s *site) stop(ctx context.Context) {
	if _, _, err := timed(context.WithoutCancel(ctx), s.dir, s.env, s.cmux, "agents", "stop"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// atGate waits until n requests are held at the gate.
func (s *site) atGate(ctx context.Context, gate string, n int) error {
	err := s.until(ctx, 5*time.Minute, func() (bool, error) { return s.model.Held(gate) == n, nil })
	if err != nil {
		return fmt.Errorf("%d of %d agents at the gate %s: %w", s.model.Held(gate), n, gate, err)
	}
	return nil
}

// hookPayload is what Claude Code hands to a hook.
func hookPayload(event, session, transcript, dir string) ([]byte, error) {
	p := map[string]any{"hook_event_name": event, "session_id": session, "transcript_path": transcript, "cwd": dir, "permission_mode": "bypassPermissions"}
	switch event {
	case "SessionStart":
		p["source"] = "startup"
	case "PostToolUse":
		p["tool_response"] = map[string]any{"type": "create", "filePath": filepath.Join(dir, "a.txt")}
		fallthrough
	case "PreToolUse":
		p["tool_name"], p["tool_use_id"] = "Write", "toolu_bench"
		p["tool_input"] = map[string]string{"file_path": filepath.Join(dir, "a.txt"), "content": strings.Repeat("a line of the file\n", 100)}
	}
	return json.Marshal(p)
}

// agentAt is where a process of Claude Code runs, and in which conversation.
type agentAt struct {
	env          []string
	dir, session string
}

// onlyAgent finds the one agent of the site.
func (s *site) onlyAgent() (at agentAt, err error) {
	pids, err := s.agentPrograms()
	if err != nil || len(pids) != 1 {
		return at, fmt.Errorf("%d processes of Claude Code, not one: %w", len(pids), err)
	}
	if at.env, err = environ(pids[0]); err != nil {
		return at, err
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pids[0]))
	if err != nil {
		return at, err
	}
	_, session, _ := strings.Cut(string(args), "\x00--session-id\x00")
	at.session, _, _ = strings.Cut(session, "\x00")
	at.dir, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", pids[0]))
	return at, err
}

// hooks measures hook commands as Claude Code runs them, answered by the
// wrapper of an agent at work, beside a hook that does nothing. It returns the
// CPU time that one takes above that.
func (b *bench) hooks(ctx context.Context, program string) (cpu float64, err error) {
	s, err := b.site(ctx, program, team(1, heldScript), held())
	if err != nil {
		return 0, err
	}
	defer s.model.Close()
	end, err := s.headless(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	if err := s.atGate(ctx, heldScript, 1); err != nil {
		return 0, err
	}
	at, err := s.onlyAgent()
	if err != nil {
		return 0, err
	}
	binary, err := filepath.Glob(filepath.Join(s.dir, ".cmux/bin/*/cmux"))
	if err != nil || len(binary) != 1 {
		return 0, fmt.Errorf("binaries of the project: %q, %v", binary, err)
	}

	type hook struct {
		name, command string
		stdin         []byte
	}
	hooks := []hook{{"an empty hook", "exit 0", nil}}
	for _, event := range []string{"PreToolUse", "PostToolUse", "SessionStart"} {
		payload, err := hookPayload(event, at.session, claude.Transcript(at.env, at.session), at.dir)
		if err != nil {
			return 0, err
		}
		hooks = append(hooks, hook{"`cmux hook " + event + "`", "'" + binary[0] + "' hook " + event, payload})
	}
	hooks[0].stdin = hooks[1].stdin
	call := func(h hook) (cost, error) {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", h.command)
		cmd.Dir, cmd.Env, cmd.Stdin = at.dir, at.env, bytes.NewReader(h.stdin)
		began := time.Now()
		out, err := cmd.CombinedOutput()
		wall := time.Since(began)
		if err != nil || bytes.Contains(out, []byte(`"deny"`)) {
			return cost{}, fmt.Errorf("%s: %v\n%s", h.name, err, out)
		}
		return cost{ms(wall), ms(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())}, nil
	}
	b.f("### Hooks\n\n")
	b.f("`sh -c` with the payload on standard input, as Claude Code runs its hooks, answered by the wrapper of a real agent whose model is held; beside it a hook that does nothing (`sh -c 'exit 0'`) with the same input and environment. Goal: within 30 ms of our own time.\n")
	for _, at := range []struct {
		name         string
		once, rounds int
	}{{"One at a time", 1, b.size(200, 10)}, {"Ten at once", 10, b.size(20, 2)}} {
		took := make([][]cost, len(hooks))
		for range at.rounds {
			for i, h := range hooks {
				costs, err := atOnce(at.once, func() (cost, error) { return call(h) })
				if err != nil {
					return 0, err
				}
				took[i] = append(took[i], costs...)
			}
		}
		b.f("\n%s, %d calls of each:\n\n| | median | p95 | ratio to an empty hook | above it | CPU |\n|---|--:|--:|--:|--:|--:|\n", at.name, at.rounds*at.once)
		for i, h := range hooks {
			b.f("| %s | %.1f ms | %.1f ms | %.1f | %.1f ms | %.1f ms |\n", h.name, median(walls(took[i])), quantile(walls(took[i]), 0.95),
				median(ratios(walls(took[i]), walls(took[0]))), median(walls(took[i]))-median(walls(took[0])), median(cpus(took[i])))
		}
		if at.once == 1 {
			cpu = median(cpus(took[1])) - median(cpus(took[0]))
		}
	}
	return cpu, nil
}

// atOnce calls do n times at once and returns what each took.
func atOnce(n int, do func() (cost, error)) ([]cost, error) {
	costs, errs := make([]cost, n), make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { costs[i], errs[i] = do() })
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// ratios are those of a to b, one by one.
func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

// agentPrograms are the processes of Claude Code that work for the site's run.
func (s *site) agentPrograms() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || exe != s.program {
			continue
		}
		if env, err := environ(pid); err == nil && value(env, "CMUX_ROOT") == s.dir {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func environ(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), err
}

func value(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// firstRequest measures the time from a start to the first request that the
// model sees, by cmux and by hand.
func (b *bench) firstRequest(ctx context.Context, program string) error {
	const prompt = "Do the whole task. #script:" + heldScript
	line, err := json.Marshal(map[string]any{"type": "user", "message": map[string]string{"role": "user", "content": prompt}})
	if err != nil {
		return err
	}
	ways := []struct {
		name  string
		start func(context.Context, *site) (end func(), err error)
	}{
		{"`claude -p`, by hand", func(ctx context.Context, s *site) (func(), error) {
			r, w, err := os.Pipe()
			if err != nil {
				return nil, err
			}
			defer r.Close()
			end, err := s.start(ctx, r, program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
			if err == nil {
				_, err = w.Write(append(line, '\n'))
			}
			return func() { end(); w.Close() }, err
		}},
		{"`cmux agents start --headless`", func(ctx context.Context, s *site) (func(), error) { return s.headless(ctx) }},
		{"`tmux new-session claude`, by hand", func(ctx context.Context, s *site) (func(), error) {
			_, _, err := timed(ctx, s.dir, s.env, "tmux", "-L", b.socket, "-f", os.DevNull, "new-session", "-d", "-x", "220", "-y", "60", program, "--dangerously-skip-permissions", "--", prompt)
			return b.killTmux, err
		}},
		{"`cmux agents start --detach`", func(ctx context.Context, s *site) (func(), error) { return s.detached(ctx) }},
	}
	cs := make([]contestant, len(ways))
	for i, way := range ways {
		cs[i] = contestant{way.name, func(ctx context.Context, _ string) (cost, error) {
			s, err := b.site(ctx, program, team(1, heldScript), held())
			if err != nil {
				return cost{}, err
			}
			defer s.model.Close()
			began := time.Now()
			end, err := way.start(ctx, s)
			if end != nil {
				defer end()
			}
			if err == nil {
				err = s.atGate(ctx, heldScript, 1)
			}
			if err != nil {
				return cost{}, err
			}
			return cost{wall: ms(s.model.Requests()[0].At.Sub(began))}, nil
		}}
	}
	rounds := b.size(max(7, b.n), 1)
	costs, err := b.rounds(ctx, rounds, cs)
	if err != nil {
		return err
	}
	b.f("\n### From the start to the first request\n\n")
	b.f("From the call to the moment the model has read the first request, %d rounds, each in a project and with a home of Claude Code of its own. `cmux agents start` checks the configuration and Claude Code, makes a run and a worktree, and sets hooks, two of which Claude Code runs before it asks the model.\n\n", rounds)
	b.f("| | median | slowest | ratio to by hand | above it |\n|---|--:|--:|--:|--:|\n")
	for i := range ways {
		w, hand := walls(costs[i]), walls(costs[i/2*2])
		b.f("| %s | %.0f ms | %.0f ms | %.2f | %.0f ms |\n", ways[i].name, median(w), quantile(w, 1), median(ratios(w, hand)), median(w)-median(hand))
	}
	return nil
}

// share is what processes of one sort use.
type share struct {
	n        int
	rss, pss float64 // MB
	waiting  float64 // ms of CPU while all wait
	working  float64 // ms of CPU while all work
}

// sorts of processes, as they stand in the table.
const (
	theRunner = iota
	theWrappers
	theServers // of the tools by which agents report
	theTmux
	theAgents
	sorts
)

// processes are those of the site's run, by sort; hooks that come and go are
// left out.
func (s *site) processes(ctx context.Context) (pids [sorts][]int, err error) {
	ours, err := family(s.dir)
	if err != nil {
		return pids, err
	}
	for _, p := range ours {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		switch {
		case err != nil || strings.Contains(string(args), "\x00hook\x00"):
		case strings.Contains(string(args), "\x00mcp\x00"):
			pids[theServers] = append(pids[theServers], p.pid)
		case p.wrapper:
			pids[theWrappers] = append(pids[theWrappers], p.pid)
		default:
			pids[theRunner] = append(pids[theRunner], p.pid)
		}
	}
	_, out, err := timed(ctx, s.dir, s.env, "tmux", "-L", s.socket, "display-message", "-p", "#{pid}")
	if err != nil {
		return pids, err
	}
	server, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return pids, err
	}
	pids[theTmux] = []int{server}
	pids[theAgents], err = s.agentPrograms()
	return pids, err
}

// used is the CPU time of each sort.
func used(pids [sorts][]int) (cpu [sorts]float64, err error) {
	for i := range pids {
		for _, pid := range pids[i] {
			t, err := cpuTime(pid)
			if err != nil {
				return cpu, err
			}
			cpu[i] += t
		}
	}
	return cpu, nil
}

// crowd measures everything that runs while many agents wait for their model
// and while they work.
func (b *bench) crowd(ctx context.Context, program string, perHook float64) error {
	n, calls, over := b.size(20, 2), b.size(20, 3), time.Duration(b.size(30, 2))*time.Second
	work := modeltest.Script{Name: "crowd"}
	for i := range calls {
		turn := modeltest.Turn{modeltest.Thinking("on to the next"), modeltest.Shell(fmt.Sprintf("echo line %d >>work.txt", i))}
		if i == 0 {
			turn = append(modeltest.Turn{modeltest.Hold("begin")}, turn...)
		}
		work.Turns = append(work.Turns, turn)
	}
	work.Turns = append(work.Turns, modeltest.Turn{modeltest.Hold("end")})
	s, err := b.site(ctx, program, team(n, work.Name), work)
	if err != nil {
		return err
	}
	defer s.model.Close()
	end, err := s.detached(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := s.atGate(ctx, "begin", n); err != nil {
		return err
	}
	// What the start left to do is not waiting.
	if err := wait(ctx, time.Duration(b.size(10, 1))*time.Second); err != nil {
		return err
	}
	pids, err := s.processes(ctx)
	if err != nil {
		return err
	}
	if len(pids[theRunner]) != 1 || len(pids[theWrappers]) != n || len(pids[theAgents]) != n {
		return fmt.Errorf("%d runners, %d wrappers and %d of Claude Code; want 1 and twice %d", len(pids[theRunner]), len(pids[theWrappers]), len(pids[theAgents]), n)
	}
	before, err := used(pids)
	if err != nil {
		return err
	}
	if err := wait(ctx, over); err != nil {
		return err
	}
	waited, err := used(pids)
	if err != nil {
		return err
	}
	began := time.Now()
	s.model.Release("begin")
	if err := s.atGate(ctx, "end", n); err != nil {
		return err
	}
	took := time.Since(began)
	worked, err := used(pids)
	if err != nil {
		return err
	}
	var shares [sorts]share
	for i := range shares {
		shares[i] = share{n: len(pids[i]), waiting: waited[i] - before[i], working: worked[i] - waited[i]}
		for _, pid := range pids[i] {
			rss, pss, err := memory(pid)
			if err != nil {
				return err
			}
			shares[i].rss += rss
			shares[i].pss += pss
		}
	}
	b.crowdTable(shares, n*calls, perHook, over, took)
	return nil
}

// crowdTable prints what the sorts of processes used, and ours beside Claude Code.
func (b *bench) crowdTable(shares [sorts]share, calls int, perHook float64, over, took time.Duration) {
	agents := shares[theAgents]
	hooks := share{working: float64(2*calls) * perHook}
	ours := share{}
	for _, s := range []share{shares[theRunner], shares[theWrappers], shares[theServers], hooks} {
		ours = share{ours.n + s.n, ours.rss + s.rss, ours.pss + s.pss, ours.waiting + s.waiting, ours.working + s.working}
	}
	b.f("\n### Many agents at once\n\n")
	b.f("%d agents in panes. First the model holds all of them for %s (waiting); then each calls its shell %d times, as fast as the machine goes, which took %.0f s (working). ", agents.n, over, calls/agents.n, took.Seconds())
	b.f("Memory is that at the end of the work (RSS: resident; PSS: shared pages divided among their users). Processes are counted without their children; for hooks, two for each call, the CPU time measured above is taken. What a person's tools take is in none of these.\n\n")
	b.f("| | processes | RSS | PSS | CPU per minute, waiting | CPU per call, working |\n|---|--:|--:|--:|--:|--:|\n")
	row := func(name string, s share) {
		b.f("| %s | %d | %.0f MB | %.0f MB | %.2f s | %.1f ms |\n", name, s.n, s.rss, s.pss, s.waiting/1000/over.Minutes(), s.working/float64(calls))
	}
	row("runner and its live table", shares[theRunner])
	row("wrappers", shares[theWrappers])
	row("servers of the report tools", shares[theServers])
	b.f("| hooks | | | | | %.1f ms |\n", hooks.working/float64(calls))
	row("all of cmux", ours)
	row("tmux", shares[theTmux])
	row("Claude Code", agents)
	b.f("| cmux beside Claude Code | | %.3f | %.3f | %.3f | %.3f |\n", ours.rss/agents.rss, ours.pss/agents.pss, ours.waiting/max(agents.waiting, 1), ours.working/max(agents.working, 1))
	b.f("\nAn agent costs cmux %.1f MB (PSS) beside %.0f MB of Claude Code.\n", ours.pss/float64(agents.n), agents.pss/float64(agents.n))
}
