package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/far"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/seal"
	"cmux/agents/runs/attempt"
	"cmux/dag"
	"cmux/signals"
)

// Options configure a Worker.
type Options struct {
	Dir     string      // its folder: journals, jobs and sockets, which no agent may read
	Trees   string      // folder of mirrors, clones and worktrees, where agents work; empty: trees in Dir
	Machine far.Machine // Name, Labels, Slots, Accepts, Cmux, SSH
	// Projects are patterns of the remotes of projects that it works for, such as
	// github.com/acme/*; none: of all.
	Projects []string
	// Agents returns the kinds of agents of this machine, as far.Machine has them.
	Agents func(context.Context) map[string]string
	Kinds  agent.Kinds
	Env    []string // of this process
	Binary string   // of cmux
	Log    *log.Logger
	Limits attempt.Limits // as the wrapper's; for tests

	// For tests; zero: the constants.
	batch    time.Duration
	maxCode  int64
	maxLog   int64
	maxTries int
}

// batch is how long entries wait for others.
const batch = 2 * time.Second

// Dir returns the folder of this person's worker.
func Dir() (string, error) {
	dir, err := seal.Folder()
	return filepath.Join(dir, "worker"), err
}

// Trees returns the folder in which agents of this person's worker work. What cmux keeps
// of the person's own is elsewhere: agents are kept out of that.
func Trees(getenv func(string) string) string {
	data := getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		data = filepath.Join(getenv("HOME"), ".local/share")
	}
	return filepath.Join(data, "cmux", "worker")
}

const (
	lockFile  = "worker.lock" // is held by the worker
	treesFile = "trees.path"  // names Options.Trees of the last worker
	treesDir  = "trees"       // is that without the option
)

// ErrRuns means that another process is the worker.
var ErrRuns = errors.New("a worker runs already")

// Worker carries attempts out. It is a far.Worker.
type Worker struct {
	o     Options
	lock  *signals.Lock
	ctx   context.Context
	leave context.CancelFunc
	all   sync.WaitGroup
	epoch epoch
	awake awake
	slots bell // rings when a slot may be free

	mu       sync.Mutex
	left     bool
	draining bool
	jobs     map[far.Ref]*job
	waiting  []*job        // for a slot, in order
	busy     map[*job]bool // jobs with a slot
	mirrors  map[string]*sync.Mutex
	agents   map[string]string
	looked   time.Time // when agents was read
}

var _ far.Worker = (*Worker)(nil)

// Open takes the folder and continues the attempts in it. If another process has the
// folder, the error is ErrRuns and names it. Leave ends the Worker.
func Open(ctx context.Context, o Options) (*Worker, error) {
	if o.batch == 0 {
		o.batch = batch
	}
	if o.maxCode == 0 {
		o.maxCode = maxCode
	}
	if o.maxLog == 0 {
		o.maxLog = maxLog
	}
	if o.maxTries == 0 {
		o.maxTries = maxTries
	}
	if o.Machine.Name == "" || o.Machine.Slots < 1 {
		return nil, errors.New("a machine needs a name and at least one slot")
	}
	for _, l := range o.Machine.Labels {
		if err := far.CheckLabel(l); err != nil {
			return nil, err
		}
	}
	for _, p := range o.Projects {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("%q is no pattern of projects: %w", p, err)
		}
	}
	if err := signals.MkdirAll(filepath.Join(o.Dir, "jobs"), 0o700); err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if o.Trees == "" {
		o.Trees = filepath.Join(o.Dir, treesDir)
	}
	if err := signals.MkdirAll(o.Trees, 0o700); err != nil {
		return nil, err
	}
	if o.Trees, err = filepath.EvalSymlinks(o.Trees); err != nil {
		return nil, err
	}
	lock, err := signals.TryLock(filepath.Join(o.Dir, lockFile))
	var held *signals.HeldError
	if errors.As(err, &held) {
		return nil, fmt.Errorf("%w, pid %d since %s", ErrRuns, held.Holder.PID, held.Holder.Since.Format(time.DateTime))
	}
	if err != nil {
		return nil, err
	}
	w := &Worker{
		o: o, lock: lock, epoch: newEpoch(),
		jobs: make(map[far.Ref]*job), busy: make(map[*job]bool), mirrors: make(map[string]*sync.Mutex),
	}
	w.ctx, w.leave = context.WithCancel(ctx)
	if err = signals.WriteFile(filepath.Join(o.Dir, treesFile), []byte(o.Trees), 0o600); err == nil {
		err = w.adopt()
	}
	if err != nil {
		return nil, errors.Join(err, w.Leave())
	}
	w.all.Go(w.sweeping)
	return w, nil
}

// Leave ends the Worker. Attempts work on, and the next Worker continues them.
func (w *Worker) Leave() error {
	w.mu.Lock()
	w.left = true
	w.mu.Unlock()
	w.leave()
	w.all.Wait()
	return w.lock.Unlock()
}

// adopt continues the jobs in the folder.
func (w *Worker) adopt() error {
	found, err := w.folders()
	if err != nil {
		return err
	}
	for _, dir := range found {
		j, err := readJob(w, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // Open was interrupted, and home opens it again
		}
		if err != nil {
			w.o.Log.Error("an attempt cannot be continued", "folder", dir, "err", err)
			continue
		}
		w.jobs[j.ref] = j
	}
	order := slices.SortedFunc(maps.Values(w.jobs), func(a, b *job) int { return a.asked.At.Compare(b.asked.At) })
	for _, j := range order {
		if !j.over() {
			w.enter(j)
		}
	}
	return nil
}

// folders returns the folders of all jobs.
func (w *Worker) folders() ([]string, error) {
	found := []string{filepath.Join(w.o.Dir, "jobs")}
	for level := range 4 { // PROJECT/RUN/NODE/N
		var next []string
		for _, dir := range found {
			entries, err := signals.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if _, err := strconv.Atoi(e.Name()); e.IsDir() && (level < 3 || err == nil) {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		found = next
	}
	return found, nil
}

// nodeDir is the folder of a node's clone and worktree, which its attempts share.
func (w *Worker) nodeDir(ref far.Ref) string {
	return filepath.Join(w.o.Trees, "work", ref.Project, ref.Run, ref.Node)
}

func (w *Worker) jobDir(ref far.Ref) string {
	return filepath.Join(w.o.Dir, "jobs", ref.Project, ref.Run, ref.Node, strconv.Itoa(ref.N))
}

// enter has a job carried out. A job that has begun has a slot, however many there are;
// another waits for one.
func (w *Worker) enter(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left {
		return // the next worker continues it
	}
	if j.out.claimed() {
		w.busy[j] = true
	} else {
		w.waiting = append(w.waiting, j)
	}
	w.all.Go(func() { j.live(w.ctx) })
}

// slot waits for a slot for j, in order.
func (w *Worker) slot(ctx context.Context, j *job) error {
	for {
		free := w.slots.wait()
		if w.take(j) {
			return nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *Worker) take(j *job) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[j] {
		return true
	}
	if len(w.busy) >= w.o.Machine.Slots || len(w.waiting) == 0 || w.waiting[0] != j {
		return false
	}
	w.waiting, w.busy[j] = w.waiting[1:], true
	w.slots.ring() // the next may fit as well
	return true
}

// resume gives a slot to a job that had one, also when none is free: home has decided that
// the attempt continues.
func (w *Worker) resume(j *job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy[j] = true
}

// free gives the slot of j back.
func (w *Worker) free(j *job) {
	w.mu.Lock()
	delete(w.busy, j)
	w.waiting = slices.DeleteFunc(w.waiting, func(o *job) bool { return o == j })
	w.mu.Unlock()
	w.slots.ring()
}

// before reports whether an earlier attempt of the same node is still at work.
func (w *Worker) before(ref far.Ref) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, j := range w.jobs {
		if other.Project == ref.Project && other.Run == ref.Run && other.Node == ref.Node && other.N < ref.N && !j.over() {
			return true
		}
	}
	return false
}

// mirrorOf locks the mirror of a project until release is called.
func (w *Worker) mirrorOf(project string) (m mirror, release func()) {
	w.mu.Lock()
	if w.mirrors[project] == nil {
		w.mirrors[project] = new(sync.Mutex)
	}
	mu := w.mirrors[project]
	w.mu.Unlock()
	mu.Lock()
	return mirror{filepath.Join(w.o.Trees, "mirrors", project+".git")}, mu.Unlock
}

// agentsRest is how long what Options.Agents returned is believed.
const agentsRest = 5 * time.Minute

// Describe says what the machine offers.
func (w *Worker) Describe(ctx context.Context) (far.Machine, error) {
	w.mu.Lock()
	agents, fresh := w.agents, time.Since(w.looked) < agentsRest
	w.mu.Unlock()
	if agents == nil || !fresh {
		agents = w.o.Agents(ctx)
		if ctx.Err() != nil {
			return far.Machine{}, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !fresh {
		w.agents, w.looked = agents, time.Now()
	}
	m := w.o.Machine
	m.Agents, m.Version, m.Draining = maps.Clone(agents), far.Version, w.draining
	m.Busy = len(w.busy) + len(w.waiting)
	return m, nil
}

// Drain has the worker take no new attempts, or take them again.
func (w *Worker) Drain(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = on
}

// Open takes a job, or refuses it.
func (w *Worker) Open(ctx context.Context, home string, ref far.Ref, need far.Need, task far.Job) error {
	if err := ref.Check(); err != nil {
		return err
	}
	if j := w.job(ref); j != nil {
		switch {
		case j.asked.Home != home:
			return fmt.Errorf("attempt %s is carried out here for another home", ref)
		case j.closed():
			return far.ErrClosed
		}
		return nil
	}
	m, err := w.Describe(ctx)
	if err != nil {
		return err
	}
	if err := w.refuse(&m, ref, &need, &task); err != nil {
		return fmt.Errorf("%s does not carry out %s: %w", m.Name, ref, err)
	}
	j, err := makeJob(ctx, w, ref, request{home, need, task, time.Now()})
	if err != nil {
		return err
	}
	w.mu.Lock()
	if w.jobs[ref] != nil { // opened twice at the same time
		w.mu.Unlock()
		return nil
	}
	w.jobs[ref] = j
	w.mu.Unlock()
	w.enter(j)
	return nil
}

// refuse returns why the machine does not take a job.
func (w *Worker) refuse(m *far.Machine, ref far.Ref, need *far.Need, job *far.Job) error {
	if job.Version != far.Version {
		return fmt.Errorf("home speaks version %d of the protocol (cmux %s), and this machine version %d (cmux %s)", job.Version, job.Cmux, far.Version, m.Cmux)
	}
	if m.Draining {
		return errors.New("it is drained")
	}
	g, err := dag.Decode(job.Graph)
	if err != nil {
		return fmt.Errorf("its graph: %w", err)
	}
	s := &job.Spec
	if len(g.Nodes) != 1 || g.Nodes[0].Name != ref.Node || s.Node != ref.Node || s.Attempt != ref.N || s.Member != nil {
		return errors.New("its graph and its spec are not of that attempt alone")
	}
	n := &g.Nodes[0]
	all := *need
	all.Accept = all.Accept || n.AutoAccept
	if n.Agent != "" {
		all.Kind = n.Agent
	}
	if why := all.Lacks(m); why != "" {
		return errors.New(why)
	}
	if len(w.o.Projects) > 0 && !slices.ContainsFunc(w.o.Projects, func(p string) bool {
		ok, _ := path.Match(p, project(job.Remote))
		return ok
	}) {
		return fmt.Errorf("it works for the projects %s, and not for %s", strings.Join(w.o.Projects, ", "), project(job.Remote))
	}
	return checkFiles(job.Files)
}

// project returns the name of a project by the URL of its remote: github.com/acme/app.
func project(remote string) string {
	if remote == "" {
		return "one without a remote"
	}
	name := remote
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
		host, path, _ := strings.Cut(name, "/")
		host, _, _ = strings.Cut(host[strings.LastIndexByte(host, '@')+1:], ":")
		name = host + "/" + strings.TrimLeft(path, "/")
	} else if host, path, ok := strings.Cut(name, ":"); ok && !strings.Contains(host, "/") {
		name = host[strings.LastIndexByte(host, '@')+1:] + "/" + strings.TrimLeft(path, "/")
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".git")
}

// maxFiles bounds the bytes of files that travel with a job.
const maxFiles = 1 << 20

func checkFiles(all []far.File) error {
	size := 0
	for _, f := range all {
		size += len(f.Data)
		first, _, _ := strings.Cut(f.Path, "/")
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) || path.Clean(f.Path) != f.Path || strings.EqualFold(first, ".git") || strings.EqualFold(first, ".cmux") {
			return fmt.Errorf("copy: %q does not travel", f.Path)
		}
	}
	if size > maxFiles {
		return fmt.Errorf("copy: %d bytes travel, and %d may", size, maxFiles)
	}
	return nil
}

func (w *Worker) job(ref far.Ref) *job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.jobs[ref]
}

// Put adds entries of home to the journal of an attempt.
func (w *Worker) Put(ctx context.Context, ref far.Ref, entries ...far.Entry) error {
	j := w.job(ref)
	switch {
	case j == nil:
		return far.ErrUnknown
	case j.closed():
		return far.ErrClosed
	}
	if err := j.in.put(ctx, entries); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Kind == far.Collected {
			return w.Close(ctx, ref, far.WasCollected)
		}
	}
	return nil
}

// errNotYet stops a reader before entries that a power cut could still take back.
var errNotYet = errors.New("not durable yet")

// Follow calls f with the machine's entries behind number from.
func (w *Worker) Follow(ctx context.Context, ref far.Ref, from uint64, f func(far.Entry) error) error {
	j := w.job(ref)
	if j == nil {
		return far.ErrUnknown
	}
	var at int64
	for {
		news, over := j.out.news.wait(), j.closed()
		ended, safe := false, j.out.durable()
		_, err := j.out.each(at, func(e *far.Entry, next int64) error {
			if e.Seq > safe {
				return errNotYet
			}
			ended, at = ended || e.Kind == far.End, next
			if e.Seq <= from {
				return nil
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(*e); err != nil {
				return err
			}
			from = e.Seq
			return nil
		})
		switch {
		case err != nil && !errors.Is(err, errNotYet):
			return err
		case ended:
			return nil
		case over:
			return far.ErrClosed
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Held returns the attempts of a home that are not closed.
func (w *Worker) Held(_ context.Context, home string) (map[far.Ref]far.State, error) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.jobs))
	w.mu.Unlock()
	held := make(map[far.Ref]far.State)
	for _, j := range all {
		if j.asked.Home == home && !j.closed() {
			held[j.ref] = j.state()
		}
	}
	return held, nil
}

// Renew extends the leases of attempts.
func (w *Worker) Renew(refs []far.Ref, sent time.Time) {
	at, ok := w.awake.sent(w.epoch, sent)
	if !ok {
		return // the machine was suspended since; the next heartbeat counts
	}
	for _, ref := range refs {
		if j := w.job(ref); j != nil {
			j.renew(at)
		}
	}
}

// Close ends an attempt for this machine. If home does not want it any more, its program
// is ended first.
func (w *Worker) Close(ctx context.Context, ref far.Ref, why far.Why) error {
	j := w.job(ref)
	if j == nil {
		return far.ErrUnknown
	}
	return j.close(ctx, why)
}
