package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"cmux/agents/records/event"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals"
	"cmux/worktree"
	"cmux/worktree/git"
)

// elsewhere is the environment variable of a process that simulates another machine.
const elsewhere = "CMUX_TEST_ELSEWHERE"

// Main must be called first by TestMain of packages that use a Far: it returns unless the
// process simulates another machine.
func Main() {
	if os.Getenv(elsewhere) == "" {
		return
	}
	os.Unsetenv(elsewhere)
	runtime.LockOSThread() // its children die with this thread: a machine leaves no process behind
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "elsewhere:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// leasePeriod is how often a machine reports that it lives.
const leasePeriod = 100 * time.Millisecond

// machine carries out an attempt.
type machine struct {
	*wire
	dir  string
	work *work
	run  *run.Run
	repo *worktree.Repo
	tree *worktree.Tree // nil: the node has none
	ref  host.Ref
	sent int // number of records sent or present before
}

// serve carries out the attempt that it receives, in its start directory.
func serve(ctx context.Context) error {
	// The end of input means that the host is gone; child processes have other pipes.
	wire := newWire(os.Stdin, os.Stdout)
	var env []string
	secrets := os.NewFile(3, "secrets")
	if err := errors.Join(json.NewDecoder(secrets).Decode(&env), secrets.Close()); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	m := &machine{wire: wire, dir: dir}
	if err := m.settle(ctx, env); err != nil {
		return errors.Join(err, m.send(parcel{What: hasEnd, Error: err.Error()}, nil))
	}
	return m.carry(ctx, env)
}

// settle makes the repository, the run and the worktree of the attempt.
func (m *machine) settle(ctx context.Context, env []string) error {
	f, _, err := m.expect(hasWork)
	if err != nil {
		return err
	}
	m.work = f.Work
	_, bundle, err := m.expect(hasBundle)
	if err != nil {
		return err
	}
	_, program, err := m.expect(hasBinary)
	if err != nil {
		return err
	}
	for _, path := range m.work.Hidden {
		if err := hide(path); err != nil {
			return err
		}
	}
	home := filepath.Join(m.dir, "home")
	os.Setenv("HOME", home)
	os.Unsetenv("XDG_STATE_HOME")
	binary := filepath.Join(m.dir, "cmux")
	if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(binary+".new", program, 0o755), os.Rename(binary+".new", binary)); err != nil {
		return err
	}
	if err := m.fetch(ctx, bundle); err != nil {
		return err
	}
	if err := m.open(here(env, home), binary); err != nil {
		return err
	}
	return m.lend(ctx)
}

// here adapts the environment of a run to this machine.
func here(env []string, home string) []string {
	var own []string
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); name != "HOME" && name != "XDG_STATE_HOME" {
			own = append(own, e)
		}
	}
	return append(own, "HOME="+home)
}

func (m *machine) root() string { return filepath.Join(m.dir, "repo") }

// fetch adds the commits to the repository, which an earlier attempt may have made.
func (m *machine) fetch(ctx context.Context, bundle []byte) error {
	path := filepath.Join(m.dir, "work.bundle")
	if err := os.WriteFile(path, bundle, 0o600); err != nil {
		return err
	}
	_, err := os.Stat(m.root())
	fresh := errors.Is(err, os.ErrNotExist)
	if fresh {
		if _, err := runGit(ctx, m.dir, "init", "--quiet", m.root()); err != nil {
			return err
		}
	}
	if _, err := runGit(ctx, m.root(), "fetch", "--quiet", path, "+refs/cmux/far/*:refs/cmux/far/*"); err != nil {
		return err
	}
	if fresh {
		if _, err := runGit(ctx, m.root(), "checkout", "--quiet", "--detach", refBase); err != nil {
			return err
		}
	}
	m.repo, err = worktree.Open(ctx, m.root())
	return err
}

// open creates or opens the run of the attempt on this machine.
func (m *machine) open(env []string, binary string) error {
	graph, err := dag.Decode(m.work.Graph)
	if err != nil {
		return err
	}
	if err := signals.Init(m.root()); err != nil {
		return err
	}
	frame := m.work.Spec.Frame
	m.run, err = run.Open(m.root(), frame.Run)
	if errors.Is(err, os.ErrNotExist) {
		m.run, err = run.Create(run.Plan{
			ID: frame.Run, Root: m.root(), Base: frame.Base, BaseRef: frame.Base, BaseBranch: frame.BaseBranch,
			Headless: true, CreatedAt: time.Now(), Graph: graph,
		}, nil, env, binary)
	}
	if err == nil {
		m.work.Spec.Frame = m.run.Frame()
	}
	return err
}

// lend creates the worktree of the attempt here, and puts its path into the spec.
func (m *machine) lend(ctx context.Context) error {
	s := &m.work.Spec
	m.ref = host.Ref{Node: s.Node, N: s.Attempt}
	s.Place.Dir, s.Place.Child = m.root(), ""
	if !s.Def.HasTree() {
		return nil
	}
	tip, err := m.repo.Resolve(ctx, refBranch)
	if err == nil && s.Place.Branch != "" {
		if _, err := m.repo.Tip(ctx, s.Place.Branch); errors.Is(err, git.ErrBadRef) {
			if err := m.repo.UpdateRef(ctx, "refs/heads/"+s.Place.Branch, tip, ""); err != nil {
				return err
			}
		}
	}
	m.tree, err = m.repo.Lend(ctx, worktree.LendSpec{
		Path: filepath.Join(m.dir, "tree"), Branch: s.Place.Branch, Start: s.Place.Commit, Owner: s.Node,
	})
	if err == nil {
		s.Place.Dir, s.Place.Tree = m.tree.Path, m.tree.Path
	}
	return err
}

// carry starts the wrapper and forwards messages in both directions.
func (m *machine) carry(ctx context.Context, env []string) error {
	lock, err := m.run.TryLock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := m.begin(ctx); err != nil {
		return err
	}
	from := map[string]int64{}
	for _, path := range []string{m.run.Events(m.ref.Node), m.run.Log(m.ref.Node)} {
		if info, err := os.Stat(path); err == nil {
			from[path] = info.Size()
		}
	}
	cmd := exec.Command(m.run.Binary(), "agents", "exec", "--run", m.run.Dir, "--attempt", fmt.Sprint(m.ref.N), "--", m.ref.Node)
	cmd.Dir, cmd.Env = m.work.Spec.Place.Dir, here(env, filepath.Join(m.dir, "home"))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = mortal()
	if err := cmd.Start(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { m.live(ctx) })
	all.Go(func() { m.records(ctx) })
	all.Go(func() { m.events(ctx, from[m.run.Events(m.ref.Node)]) })
	go m.listen(ctx, cmd) // ends with the pipe
	cmd.Wait()            // the result is in the records
	cancel()
	all.Wait()
	if b, err := os.ReadFile(m.run.Log(m.ref.Node)); err == nil {
		if err := m.send(parcel{What: hasOutput}, b[min(from[m.run.Log(m.ref.Node)], int64(len(b))):]); err != nil {
			return err
		}
	}
	return m.conclude(context.WithoutCancel(ctx))
}

// begin repeats here what the host has recorded.
func (m *machine) begin(ctx context.Context) error {
	book, err := m.run.OpenBook()
	if err != nil {
		return err
	}
	defer book.Close()
	s := &m.work.Spec
	if err := book.Append(ctx, append(m.work.Limits,
		run.Record{Type: run.RunnerUp, How: "elsewhere", PID: os.Getpid()},
		run.Record{Type: run.Started, Node: s.Node, Attempt: s.Attempt, Place: &s.Place, Trial: s.Trial})...); err != nil {
		return err
	}
	if err := m.run.EachRecord(func(*run.Record) { m.sent++ }); err != nil {
		return err
	}
	return m.run.WriteSpec(s)
}

// live reports periodically that this machine lives.
func (m *machine) live(ctx context.Context) {
	tick := time.NewTicker(leasePeriod)
	defer tick.Stop()
	for m.send(parcel{What: hasLease}, nil) == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// listen forwards messages. When the host is gone, the attempt is not wanted any more.
func (m *machine) listen(ctx context.Context, wrapper *exec.Cmd) {
	for {
		f, _, err := m.receive()
		if err != nil {
			wrapper.Process.Signal(syscall.SIGTERM)
			return
		}
		if f.What != hasSaid {
			continue
		}
		reply := parcel{What: hasReply, ID: f.ID}
		l, err := m.reach(ctx)
		if err == nil {
			r, e := l.Say(ctx, *f.Message)
			reply.Reply, err = &r, e
			l.Close()
		}
		if err != nil {
			reply.Reply = &attempt.Reply{Error: err.Error()}
		}
		m.send(reply, nil)
	}
}

// reach waits for the starting wrapper.
func (m *machine) reach(ctx context.Context) (host.Link, error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := host.Dial(ctx, m.run, m.ref)
		if err == nil {
			return l, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// records sends the attempt's records, without those that the host writes.
func (m *machine) records(ctx context.Context) {
	w := signals.Watch(ctx, m.run.Records())
	defer w.Close()
	for {
		over := ctx.Err() != nil
		n := 0
		m.run.EachRecord(func(rec *run.Record) {
			if n++; n <= m.sent {
				return
			}
			m.sent = n
			switch rec.Type {
			case run.AttemptEnd, run.Vanished, run.Published:
			default:
				m.send(parcel{What: hasRecord, Record: rec}, nil)
			}
		})
		if over {
			return
		}
		select {
		case <-w.C:
		case <-ctx.Done():
		}
	}
}

// events sends the agent's events.
func (m *machine) events(ctx context.Context, from int64) {
	event.Follow(ctx, m.run.Events(m.ref.Node), from, func(e event.Event, _ int64) error {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return m.send(parcel{What: hasEvent, Line: line}, nil)
	})
}

// conclude sends commits, snapshots and the end.
func (m *machine) conclude(ctx context.Context) error {
	var end *run.Record
	if err := m.run.EachRecord(func(rec *run.Record) {
		if rec.Attempt == m.ref.N && (rec.Type == run.AttemptEnd || rec.Type == run.Vanished) {
			end = rec
		}
	}); err != nil {
		return err
	}
	if m.tree != nil {
		bundle, err := m.pack(ctx)
		if err != nil {
			return err
		}
		if bundle != nil {
			if err := m.send(parcel{What: hasBundle}, bundle); err != nil {
				return err
			}
		}
	}
	f := parcel{What: hasEnd, Record: end}
	if end == nil {
		f.Error = "the wrapper left no record"
	}
	return m.send(f, nil)
}

// pack returns a bundle of the attempt's work; nil: there is none.
func (m *machine) pack(ctx context.Context) ([]byte, error) {
	start, err := m.repo.Resolve(ctx, refStart)
	if err != nil {
		return nil, err
	}
	tip := start
	if m.tree.Branch != "" {
		if tip, err = m.repo.Tip(ctx, m.tree.Branch); err != nil {
			return nil, err
		}
	}
	out, err := runGit(ctx, m.root(), "for-each-ref", "--format=%(refname)", "refs/cmux/snapshots/")
	if err != nil {
		return nil, err
	}
	refs := strings.Fields(string(out))
	if tip == start && len(refs) == 0 {
		return nil, nil
	}
	if _, err := runGit(ctx, m.root(), "update-ref", refBranch, tip); err != nil {
		return nil, err
	}
	return runGit(ctx, m.root(), append([]string{"bundle", "create", "--quiet", "-", refBranch}, refs...)...)
}
