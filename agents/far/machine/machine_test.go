package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/far"
	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/command"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/agents/runs/wrapper"
	"cmux/agents/testkit/agenttest/until"
	"cmux/agents/testkit/scripted"
	"cmux/dag"
	"cmux/signals/mailbox"
)

const patience = time.Minute

// TestMain lets the test binary be what shadow runs keep a copy of: the wrapper, its guard
// and the commands that agents call; and a worker of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "post" {
		_, err := wrapper.Post(context.Background(), os.Getenv, mailbox.Message{To: "user", Subject: "hello", Body: strings.Repeat("x", 5000)})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) < 3 || strings.HasPrefix(os.Args[1], "-") {
		os.Exit(withoutFence(m))
	}
	var err error
	switch os.Args[1] {
	case "agents":
		f := flag.NewFlagSet("exec", flag.ExitOnError)
		dir, n := f.String("run", "", ""), f.Int("attempt", 0, "")
		f.Parse(os.Args[3:])
		os.Exit(wrapper.Main(context.Background(), wrapper.Options{RunDir: *dir, Node: f.Arg(0), Attempt: *n, Kinds: testKinds()}))
	case "machines":
		pid, _ := strconv.Atoi(os.Args[5])
		err = Guard(context.Background(), os.Args[3], os.Args[4], pid, attempt.Limits{}.Patience())
	case "done":
		err = wrapper.Done(context.Background(), os.Getenv, os.Args[len(os.Args)-1])
	case "hook":
		out, code, err := wrapper.Hook(context.Background(), os.Getenv, os.Args[2], os.Stdin)
		fmt.Print(out)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	case "reach": // the sockets of a worker, as a program of an agent
		for _, path := range []string{Socket(os.Args[2]), controlSocket(os.Args[2])} {
			var c *net.UnixConn
			if c, err = dial(context.Background(), path); err != nil {
				continue // it is hidden
			}
			fmt.Fprintln(c, `"stop"`)
			if b, _ := io.ReadAll(c); len(b) > 0 {
				err = fmt.Errorf("the worker answered: %s", b)
				break
			}
			err = nil
		}
		if errors.Is(err, os.ErrPermission) {
			err = nil
		}
	case "worker":
		err = serve(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// withoutFence runs the tests as a person who wants no fence: their nodes write files that
// the tests wait for.
func withoutFence(m *testing.M) int {
	dir, err := os.MkdirTemp("", "cmux-machine-")
	if err == nil {
		defer os.RemoveAll(dir)
		file := filepath.Join(dir, "cmux", "config.yml")
		err = errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("fence: off\n"), 0o600), os.Setenv("XDG_CONFIG_HOME", dir))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func testKinds() agent.Kinds { return agent.NewKinds(command.Kind(), scripted.Kind(true)) }

func options(dir string) (Options, error) {
	self, err := os.Executable()
	return Options{
		Dir: dir, Machine: far.Machine{Name: "box", Labels: []string{"gpu"}, Slots: 2, Cmux: "test"},
		Agents: func(context.Context) map[string]string {
			return map[string]string{"command": "", "scripted": "", "claude": "not logged in"}
		},
		Kinds: testKinds(), Env: os.Environ(), Binary: self, Log: log.New(os.Stderr), batch: 20 * time.Millisecond,
	}, err
}

// serve is a worker that renews all leases until the test kills it.
func serve(dir string) error {
	o, err := options(dir)
	if err != nil {
		return err
	}
	w, err := Open(context.Background(), o)
	if err != nil {
		return err
	}
	for {
		w.renewAll()
		time.Sleep(50 * time.Millisecond)
	}
}

func (w *Worker) renewAll() {
	sent := time.Now()
	held, err := w.Held(context.Background(), "home")
	if err != nil {
		panic(err)
	}
	var refs []far.Ref
	for ref := range held {
		refs = append(refs, ref)
	}
	w.Renew(refs, sent)
}

// home is a home in a test: a repository, and a journal of what a machine sent.
type home struct {
	*testing.T
	root string
	dir  string // of the worker
	run  string // its id, which marks processes: another test has another one
	w    *Worker
	base string
}

func newHome(t *testing.T) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{T: t, root: filepath.Join(dir, "home", "app"), dir: filepath.Join(dir, "worker"), run: run.NewID(time.Now())}
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	t.Setenv("GIT_CONFIG_SYSTEM", "/dev/null")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "test")
		t.Setenv("GIT_"+who+"_EMAIL", "test@localhost")
	}
	h.must(os.MkdirAll(h.root, 0o755))
	h.git("init", "-q", "-b", "main")
	h.commit("README", "hello\n", "first")
	h.base = h.git("rev-parse", "HEAD")
	return h
}

func (h *home) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *home) git(args ...string) string {
	h.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = h.root
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func (h *home) commit(name, content, message string) {
	h.Helper()
	h.must(os.WriteFile(filepath.Join(h.root, name), []byte(content), 0o644))
	h.git("add", name)
	h.git("commit", "-q", "-m", message)
}

// open starts the worker in this process.
func (h *home) open(change ...func(*Options)) {
	h.Helper()
	o, err := options(h.dir)
	h.must(err)
	for _, c := range change {
		c(&o)
	}
	h.w, err = Open(context.Background(), o)
	h.must(err)
	h.Cleanup(h.end)
}

// end leaves no program behind, also after a failure.
func (h *home) end() {
	if h.w == nil {
		return
	}
	held, err := h.w.Held(context.Background(), "home")
	h.must(err)
	for ref, state := range held {
		if state != far.Ended {
			h.must(h.w.Close(context.Background(), ref, far.GivenUp))
			h.until("it is given up", h.w.job(ref).over)
		}
	}
	h.leave()
}

func (h *home) leave() {
	if h.w != nil {
		h.must(h.w.Leave())
		h.w = nil
	}
}

// job is a job of the last node of a configuration.
func (h *home) job(config string, change ...func(*far.Job)) (far.Ref, far.Need, far.Job) {
	h.Helper()
	g, _, err := dag.Parse("agents.yml", []byte("session: s\n"+config), dag.ParseOptions{Kinds: slices.Collect(maps.Keys(testKinds()))})
	h.must(err)
	g.Nodes = g.Nodes[len(g.Nodes)-1:] // the others are of home alone
	n := &g.Nodes[0]
	n.DependsOn = nil
	b, err := g.Encode()
	h.must(err)
	ref := far.Ref{Project: "app-1", Run: h.run, Node: n.Name, N: 1}
	j := far.Job{
		Version: far.Version, Cmux: "test", Graph: b, Base: h.base, LostAfter: time.Minute,
		Spec: run.Spec{
			Node: n.Name, Attempt: 1, Token: run.NewToken(), Def: n, Frame: &run.Frame{Run: ref.Run, Base: h.base, BaseBranch: "main"},
			Place: run.Place{Dir: "/home", Branch: n.Branch, Commit: h.base, Lent: h.base, Far: "pipe:"},
		},
	}
	for _, c := range change {
		c(&j)
	}
	return ref, far.Need{Kind: n.Agent}, j
}

// code returns home's bundle for a claim.
func (h *home) code(has []string, refs map[string]string) []far.Entry {
	h.Helper()
	args := []string{"bundle", "create", "--quiet", filepath.Join(h.T.TempDir(), "b")}
	for name, commit := range refs {
		h.git("update-ref", refFar+name, commit)
		args = append(args, refFar+name)
	}
	if len(has) > 0 { // the protocol's bundle has refs whose commits the mirror has, too
		parent := h.git("rev-list", "--max-parents=0", "HEAD")
		if parent != refs["start"] {
			args = append(args, "^"+parent)
		}
	}
	h.git(args...)
	b, err := os.ReadFile(args[3])
	h.must(err)
	return far.Parts(far.Code, "job", b)
}

func (h *home) send(ref far.Ref) {
	h.Helper()
	var claim *far.Claim
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got := errors.New("claimed")
	err := h.w.Follow(ctx, ref, 0, func(e far.Entry) error {
		if e.Kind == far.End {
			return fmt.Errorf("ended early: %s", e.Error)
		}
		if e.Kind == far.Claimed {
			claim = e.Claim
			return got
		}
		return nil
	})
	if !errors.Is(err, got) || claim.Machine != "box" {
		h.Fatalf("no claim: %v", err)
	}
	h.must(h.w.Put(ctx, ref, h.code(claim.Has, map[string]string{"start": h.base, "base": h.base})...))
}

// all follows to the end, or fails.
func (h *home) all(ref far.Ref) []far.Entry {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all []far.Entry
	err := h.w.Follow(ctx, ref, 0, func(e far.Entry) error {
		if e.Seq != uint64(len(all)+1) {
			return fmt.Errorf("entry %d came behind %d", e.Seq, len(all))
		}
		all = append(all, e)
		return nil
	})
	if err != nil {
		h.Fatalf("%v; so far:\n%s", err, told(all))
	}
	return all
}

func told(all []far.Entry) string {
	var b strings.Builder
	for _, e := range all {
		if len(e.Data) > 0 && e.Kind == far.Code {
			e.Data = nil
		}
		line, _ := json.Marshal(e)
		fmt.Fprintf(&b, "%s %s\n", line, e.Data)
	}
	return b.String()
}

// stream puts the pieces of a kind together, and fails at a gap or a repetition.
func (h *home) stream(kind far.Kind, all []far.Entry) string {
	h.Helper()
	var b bytes.Buffer
	for _, e := range all {
		if e.Kind == kind {
			if e.Offset != int64(b.Len()) {
				h.Fatalf("%s from byte %d came behind byte %d", kind, e.Offset, b.Len())
			}
			b.Write(e.Data)
		}
	}
	return b.String()
}

func records(all []far.Entry, t run.Type) (recs []*run.Record) {
	for _, e := range all {
		if e.Kind == far.Record && e.Record.Type == t {
			recs = append(recs, e.Record)
		}
	}
	return recs
}

// unpack takes the code at the end in, as home does.
func (h *home) unpack(all []far.Entry) {
	h.Helper()
	var whole far.Whole
	for i := range all {
		if all[i].Kind != far.Code {
			continue
		}
		data, done, err := whole.Add(&all[i])
		h.must(err)
		if done {
			path := filepath.Join(h.T.TempDir(), "bundle")
			h.must(os.WriteFile(path, data, 0o600))
			h.git("fetch", "-q", path, "+refs/cmux/*:refs/taken/*")
		}
	}
}

func (h *home) until(what string, fact func() bool) {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !until.True(ctx, fact) {
		h.Fatalf("never: %s", what)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// renewing renews all leases until the test ends or the returned function is called.
func (h *home) renewing() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	w := h.w
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			w.renewAll()
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	stop = func() { cancel(); <-done }
	h.Cleanup(stop)
	return stop
}

// A command works where the bundle says, its output, outputs and commits come home, and the
// attempt is forgotten afterwards.
func TestCommand(t *testing.T) {
	h := newHome(t)
	h.open()
	ref, need, job := h.job(`
copy: [local.txt]
link: [node_modules]
agents:
  - {name: web, agent: command, task: 'cat README local.txt; test "$NAME" = here && echo made > made && git add made && git commit -q -m made && echo "x=y" >> $CMUX_OUTPUT; echo end'}
`, func(j *far.Job) {
		j.Env = []string{"NAME=here"}
		j.Files = []far.File{{Path: "local.txt", Mode: 0o600, Data: []byte("secret\n")}}
	})
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("it is settled", func() bool { return exists(filepath.Join(h.w.job(ref).tree(), ".git")) })
	if exists(filepath.Join(h.w.jobDir(ref), "wrapper.log")) {
		t.Error("the program was started before a heartbeat was accepted")
	}
	h.renewing()
	all := h.all(ref)
	end := all[len(all)-1]
	if end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done || end.Record.End.Commits != 1 {
		t.Fatalf("the end:\n%s", told(all))
	}
	if got := h.stream(far.Log, all); !strings.Contains(got, "hello\nsecret\n") || !strings.Contains(got, "\nend\n") {
		t.Errorf("the log: %q", got)
	}
	if recs := records(all, run.Began); len(recs) != 1 || recs[0].PID != 0 || recs[0].PIDStart != 0 {
		t.Errorf("began: %+v", recs)
	}
	if recs := records(all, run.Output); len(recs) != 1 || recs[0].Key != "x" || recs[0].Value != "y" {
		t.Errorf("outputs: %+v", recs)
	}
	if recs := records(all, run.Noted); len(recs) != 1 || !strings.Contains(recs[0].Detail, "node_modules") {
		t.Errorf("notes: %+v", recs)
	}
	h.unpack(all)
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "made\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
	held, err := h.w.Held(t.Context(), "home")
	if err != nil || len(held) != 1 || held[ref] != far.Ended {
		t.Errorf("held: %v, %v", held, err)
	}
	h.must(h.w.Put(t.Context(), ref, far.Entry{ID: "c", Kind: far.Collected}))
	if held, err = h.w.Held(t.Context(), "home"); err != nil || len(held) != 0 {
		t.Errorf("held: %v, %v", held, err)
	}
	b, err := os.ReadFile(filepath.Join(h.w.jobDir(ref), jobFile))
	if err != nil || strings.Contains(string(b), "NAME=here") {
		t.Errorf("the environment is still there: %v", err)
	}
	if err := h.w.Open(t.Context(), "home", ref, need, job); !errors.Is(err, far.ErrClosed) {
		t.Errorf("opened again: %v", err)
	}
	h.w.sweep(t.Context(), time.Now().Add(keepCollected-time.Minute))
	if !exists(h.w.jobDir(ref)) {
		t.Error("removed too early")
	}
	h.w.sweep(t.Context(), time.Now().Add(keepCollected+time.Minute))
	if exists(h.w.jobDir(ref)) {
		t.Error("not removed")
	}
	if err := h.w.Follow(t.Context(), ref, 0, nil); !errors.Is(err, far.ErrUnknown) {
		t.Errorf("follow: %v", err)
	}
}
