package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cmux/agents/far"
	"cmux/agents/platform/proc"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/signals"
)

const (
	// launchGrace is how long a started wrapper may take to get its lock.
	launchGrace = 10 * time.Second
	probeTick   = 50 * time.Millisecond
)

// own are the variables of the worker's environment that attempts get: the machine's
// basics, and the logins of agents.
var own = strings.Fields(`PATH HOME USER LOGNAME SHELL LANG LANGUAGE TMPDIR TZ XDG_* LC_* SSH_AUTH_SOCK
	HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
	GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_SSH_COMMAND
	ANTHROPIC_* CLAUDE_* AWS_* GOOGLE_* GEMINI_* VERTEX_* AZURE_* OPENAI_* CODEX_* KIMI_* MOONSHOT_* QWEN_* DASHSCOPE_* OPENCODE_* OPENROUTER_* IS_SANDBOX`)

// basics returns what attempts get of an environment.
func basics(env []string) []string {
	var all []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		for _, o := range own {
			prefix, many := strings.CutSuffix(o, "*")
			if name == o || many && strings.HasPrefix(name, prefix) {
				all = append(all, kv)
				break
			}
		}
	}
	return all
}

// facts is what the records of the shadow run say about the attempt.
type facts struct {
	started bool
	began   bool
	end     *run.Record // how it ended or vanished
}

func (j *job) facts(r *run.Run) (f facts, err error) {
	err = r.EachRecord(func(rec *run.Record) {
		if rec.Node != j.ref.Node || rec.Attempt != j.ref.N {
			return
		}
		switch rec.Type {
		case run.Started:
			f.started = true
		case run.Began:
			f.began = true
		case run.AttemptEnd, run.Vanished:
			f.end = rec
		}
	})
	return f, err
}

// start starts the wrapper of the attempt, which outlives this process, and its guard. It
// returns a channel that is closed when the wrapper has ended. The attempt's fence cannot
// pass by meanwhile.
func (j *job) start(r *run.Run, spec *run.Spec) (<-chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unwanted || !j.lease.Begun() || j.lease.Over(now()) {
		return nil, errUnwanted
	}
	out, err := signals.OpenFile(j.path(wrapperLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	start := func(dir string, argv ...string) (*exec.Cmd, error) {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, basics(j.w.o.Env)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		return cmd, cmd.Start()
	}
	cmd, err := start(spec.Place.Dir, r.Binary(), "agents", "exec", "--run", r.Dir, "--attempt", fmt.Sprint(j.ref.N), "--", j.ref.Node)
	if err != nil {
		return nil, err
	}
	guard, err := start(j.dir, r.Binary(), "machines", "guard", j.dir, j.w.nodeDir(j.ref), fmt.Sprint(cmd.Process.Pid))
	if err != nil {
		cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("the guard of its lease: %w", err), cmd.Wait())
	}
	go guard.Wait() // it outlives this process, and ends by itself
	gone := make(chan struct{})
	go func() { // ends with the wrapper, which may outlive this process
		defer close(gone)
		cmd.Wait() // the result is in the records
	}()
	return gone, nil
}

// await returns when no process runs the attempt and none will: then its end is on record,
// or it is recorded as vanished. started is closed when the wrapper that this process
// started has ended; nil: another process started it.
func (j *job) await(ctx context.Context, r *run.Run, started <-chan struct{}) error {
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	grace := time.Now().Add(launchGrace)
	for {
		p, release, err := host.Find(r, j.host())
		if err != nil {
			return err
		}
		if p == host.Gone {
			f, err := j.facts(r)
			wait := err == nil && f.end == nil && !f.began && time.Now().Before(grace) && !done(started)
			if err == nil && !wait {
				err = j.conclude(ctx, r, &f)
			}
			if err := errors.Join(err, release()); err != nil || !wait {
				return err
			}
		} else if l, err := host.Dial(ctx, r, j.host()); err == nil {
			select {
			case <-l.Gone():
			case <-ctx.Done():
			}
			l.Close()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func done(c <-chan struct{}) bool {
	select {
	case <-c:
		return c != nil
	default:
		return false
	}
}

// conclude records that an attempt whose wrapper is gone has vanished, unless it has ended,
// and keeps later wrappers from taking it up. The caller holds the node's lock.
func (j *job) conclude(ctx context.Context, r *run.Run, f *facts) error {
	if f.end == nil {
		book, err := r.OpenBook()
		if err != nil {
			return err
		}
		err = book.Append(ctx, run.Record{Type: run.Vanished, Node: j.ref.Node, Attempt: j.ref.N, How: run.HowLost, Detail: "its wrapper is gone" + j.lastWords()})
		if err := errors.Join(err, book.Close()); err != nil {
			return err
		}
	}
	return r.DropSpec(j.ref.Node, j.ref.N)
}

// lastWords returns the last line that a wrapper said of itself.
func (j *job) lastWords() string {
	b, err := signals.ReadFile(j.path(wrapperLog), 1<<20)
	if err != nil {
		return "" // it has said nothing, or far too much
	}
	said := strings.TrimSpace(string(b))
	if said = said[strings.LastIndexByte(said, '\n')+1:]; said == "" {
		return ""
	}
	return ": " + said[:min(len(said), 300)]
}

// endProgram ends the wrapper of an attempt, its program and what both left running, and
// returns when no process runs the attempt and none will.
func endProgram(ctx context.Context, r *run.Run, ref host.Ref, patience time.Duration) error {
	tick := time.NewTicker(probeTick)
	defer tick.Stop()
	late := time.Now().Add(patience + patience/2)
	asked := 0
	for {
		p, release, err := host.Find(r, ref)
		if err != nil {
			return err
		}
		if p == host.Gone {
			if err := errors.Join(r.DropSpec(ref.Node, ref.N), release()); err != nil {
				return err
			}
			break
		}
		if holder, held, err := signals.ReadHolder(r.NodeLock(ref.Node)); err == nil && held && holder.PID > 0 {
			switch {
			case time.Now().After(late):
				syscall.Kill(holder.PID, syscall.SIGKILL)
			case asked != holder.PID:
				asked = holder.PID
				syscall.Kill(holder.PID, syscall.SIGTERM)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	left, err := host.EndLeft(ctx, r, []host.Ref{ref}, patience)
	if err != nil {
		return fmt.Errorf("%s of the attempt cannot be ended: %w", proc.Names(left), err)
	}
	return nil
}

// guardGrace is how much longer than the worker a guard waits.
const guardGrace = 5 * time.Second

// Guard ends the program of the attempt in the job's folder dir, whose node works in the
// folder node, when its lease is over and
// no worker has done so. It returns when the wrapper, the process pid, has ended. It needs
// nobody.
func Guard(ctx context.Context, dir, node string, pid int, patience time.Duration) error {
	start, err := proc.StartTime(pid)
	if errors.Is(err, proc.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	wrapper := proc.Identity{PID: pid, Start: start}
	var last far.Lease
	tick := time.NewTicker(look)
	defer tick.Stop()
	for wrapper.Alive() {
		if l, _, err := readLease(dir); err == nil && l.Begun() {
			last = l // it counts as well if somebody removes the folder
		}
		if last.Over(now().Add(-guardGrace)) {
			return endWrapper(ctx, dir, node, wrapper, patience)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// endWrapper ends a wrapper, its program and what both left running.
func endWrapper(ctx context.Context, dir, node string, wrapper proc.Identity, patience time.Duration) error {
	syscall.Kill(wrapper.PID, syscall.SIGTERM)
	late := time.Now().Add(patience + patience/2)
	for wrapper.Alive() && pause(ctx, probeTick) {
		if time.Now().After(late) {
			syscall.Kill(wrapper.PID, syscall.SIGKILL)
		}
	}
	n, err := strconv.Atoi(filepath.Base(dir))
	if err != nil {
		return err
	}
	r, err := run.Open(filepath.Join(node, "repo"), filepath.Base(filepath.Dir(node)))
	if err != nil {
		return err
	}
	_, err = host.EndLeft(ctx, r, []host.Ref{{Node: filepath.Base(node), N: n}}, patience)
	return err
}
