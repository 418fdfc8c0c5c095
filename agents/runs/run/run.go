package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"cmux/agents/platform/seal"
	"cmux/dag"
	"cmux/signals"
)

// Plan is what a run was started with, frozen: an edited configuration, an
// upgraded binary or a changed environment does not reach a run that is under
// way.
type Plan struct {
	Version    int        `json:"version"` // of this format, 1
	ID         string     `json:"id"`
	Root       string     `json:"root"`           // absolute path of the main worktree
	From       string     `json:"from,omitempty"` // root of the linked worktree that start was called in; empty: Root
	Config     string     `json:"config"`         // absolute path of the configuration
	ConfigSum  string     `json:"config_sum"`     // sha256 of its content when frozen
	BaseRef    string     `json:"base_ref"`       // as the person named it
	BaseBranch string     `json:"base_branch"`    // empty when the base is no branch
	Base       string     `json:"base"`           // commit
	Headless   bool       `json:"headless,omitempty"`
	Fresh      bool       `json:"fresh,omitempty"`  // --fresh: no branch or worktree is continued
	Socket     string     `json:"socket,omitempty"` // tmux socket name
	CreatedAt  time.Time  `json:"created_at"`
	Program    Program    `json:"program"`           // the copy of cmux that the run is carried out by
	Watched    bool       `json:"watched,omitempty"` // WriteShared was called
	Session    string     `json:"session,omitempty"` // the graph's; empty: of an earlier cmux, which had one lock for the project
	Tmux       string     `json:"tmux,omitempty"`    // the tmux session, if another project has one of the session's name; empty: the session's
	On         []string   `json:"on,omitempty"`      // the carriers that far nodes are carried out over; empty: all nodes run at home
	By         string     `json:"by,omitempty"`      // the standing agent that ordered it; empty: a person
	Order      string     `json:"order,omitempty"`   // by which request
	Graph      *dag.Graph `json:"-"`
}

// BaseName is what git and people call the base: its branch, or else its commit.
func (p *Plan) BaseName() string { return cmp.Or(p.BaseBranch, p.Base) }

// Run is the folder of one run.
type Run struct {
	Paths
	Plan Plan

	key   *seal.Key // seals what is written here, and opens what is read
	ahead aheadOf
}

// TmuxSession returns the name of the run's tmux session.
func (p *Plan) TmuxSession() string { return cmp.Or(p.Tmux, p.Graph.Session) }

// ErrNone says that the project has no run yet.
var ErrNone = errors.New("no run yet in this project")

const (
	planFile    = "plan.json"
	graphFile   = "graph.json"
	envFile     = "env"
	namesFile   = "env-names"
	recordsFile = "records.jsonl"
	configFile  = "config.yml"
	binDir      = "bin"
	requestsDir = "requests"
)

// Folder is the .cmux folder of the project at root.
func Folder(root string) string { return filepath.Join(root, ".cmux") }

// legacyLock is the lock of runs whose plan names no session: those of an
// earlier cmux.
func legacyLock(root string) string { return filepath.Join(Folder(root), "run.lock") }

// LockPath is the lock that the runner of a session of the project at root holds
// for its life.
func LockPath(root, session string) string {
	if session == "" {
		return legacyLock(root)
	}
	return filepath.Join(Folder(root), signals.Locks, session)
}

// organizationLock is the lock of the organization. No session can have its name. Its
// spelling stays: programs of earlier releases hold that lock.
const organizationLock = "organisation.lock"

// LockPath is the lock that a runner of r holds for its life.
func (r *Run) LockPath() string {
	if r.IsOrganization() {
		return filepath.Join(Folder(r.Plan.Root), signals.Locks, organizationLock)
	}
	return LockPath(r.Plan.Root, r.Plan.Session)
}

// TryLock takes the lock of r's session for a runner of r, or for who acts in
// the place of one.
func (r *Run) TryLock() (*signals.Lock, error) {
	lock, err := signals.TryLockFor(r.LockPath(), r.Plan.ID)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the folder
		if err := signals.MkdirAll(filepath.Dir(r.LockPath()), 0o755); err != nil {
			return nil, err
		}
		lock, err = signals.TryLockFor(r.LockPath(), r.Plan.ID)
	}
	return lock, err
}

// lockPatience bounds the wait for a runner that was told to end and has not yet,
// and mostPatience that for commands: each holds the lock for a moment, and many
// may come one after the other.
const (
	lockPatience = 3 * time.Second
	mostPatience = 20 * time.Second
)

// AwaitLock is TryLock for a new runner, which may have been started in the place of
// one that is about to leave, or while commands look at the run.
func (r *Run) AwaitLock(ctx context.Context) (*signals.Lock, error) {
	late := time.NewTimer(lockPatience)
	defer late.Stop()
	most := time.NewTimer(mostPatience)
	defer most.Stop()
	var since time.Time // when whoever has it took it
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		lock, err := r.TryLock()
		var held *signals.HeldError
		if !errors.As(err, &held) {
			return lock, err
		}
		if !held.Holder.Since.Equal(since) {
			since = held.Holder.Since
			late.Reset(lockPatience)
		}
		select {
		case <-again.C:
		case <-late.C:
			return nil, err
		case <-most.C:
			return nil, err
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// SignalsDir is where the markers of the project at root stand.
func SignalsDir(root string) string { return filepath.Join(Folder(root), "signals") }

// Dir is the folder of the run with this id.
func Dir(root, id string) string { return filepath.Join(runsDir(root), id) }

func runsDir(root string) string { return filepath.Join(Folder(root), "runs") }

// NewID makes a run id that sorts by time.
func NewID(now time.Time) string {
	var b [3]byte
	rand.Read(b[:])
	return now.UTC().Format("20060102-150405.000") + "-" + hex.EncodeToString(b[:])
}

func (r *Run) Records() string  { return filepath.Join(r.Dir, recordsFile) }
func (r *Run) Requests() string { return filepath.Join(r.Dir, requestsDir) }
func (r *Run) Signals() string  { return SignalsDir(r.Plan.Root) }

// RunnerLog is where a runner writes what it did and what went wrong.
func (r *Run) RunnerLog() string { return filepath.Join(r.Dir, "runner.log") }

// NodeLock is held by the wrapper for as long as it lives.
func (r *Run) NodeLock(node string) string { return nodeLock(r.Dir, node) }

func nodeLock(dir, node string) string { return filepath.Join(dir, node, "lock") }

// Socket is where the wrapper of a node listens.
func (r *Run) Socket(node string) string { return filepath.Join(r.Dir, node, "sock") }

// SpecPath is where the runner leaves what attempt n of a node is to do.
func (r *Run) SpecPath(node string, n int) string {
	return filepath.Join(r.Dir, node, fmt.Sprintf("attempt-%d.json", n))
}

// Create makes the folder of a new run: configuration, environment, binary,
// graph and, last, the plan. A folder without a plan is not a run, so an
// interrupted Create leaves nothing that counts.
func Create(p Plan, config []byte, env []string, binary string) (*Run, error) {
	p.Version, p.Session = 1, p.Graph.Session
	r := &Run{Paths: Paths{Dir: Dir(p.Root, p.ID)}, Plan: p}
	own, err := seal.Own()
	if err != nil {
		return nil, err
	}
	r.key = keyOf(own, &p)
	if err := makeFolder(p.Root, r); err != nil {
		return nil, err
	}
	if err := r.keepProgram(own, binary); err != nil {
		return nil, fmt.Errorf("copying cmux into %s: %w", programsDir(p.Root), err)
	}
	sealedEnv, err := r.sealed(envPlace, frozenEnv{env})
	if err != nil {
		return nil, err
	}
	if err := r.freeze(p.Graph, config, signals.File{Name: envFile, Data: sealedEnv, Perm: 0o600}, signals.File{Name: recordsFile, Perm: 0o600}); err != nil {
		return nil, err
	}
	if err := r.writePlan(); err != nil {
		return nil, err
	}
	PrunePrograms(p.Root, time.Now()) // else they take space until the next one
	return r, nil
}

// makeFolder makes the folder of r, which is for its owner alone: what is in it
// holds what agents are told, are given as environment and print.
func makeFolder(root string, r *Run) error {
	if err := signals.MkdirAll(runsDir(root), 0o755); err != nil {
		return err
	}
	return signals.MkdirAll(r.Requests(), 0o700)
}

func (r *Run) writePlan() error {
	b, err := json.MarshalIndent(r.Plan, "", "  ")
	if err != nil {
		return err
	}
	own, err := seal.Find()
	if err != nil {
		return err
	}
	if b, err = own.Seal(planPlace(r.Plan.ID), b); err != nil {
		return err
	}
	return signals.WriteFile(filepath.Join(r.Dir, planFile), append(b, '\n'), 0o600)
}

// freeze writes the graph and the configuration, and what goes with them.
func (r *Run) freeze(g *dag.Graph, config []byte, with ...signals.File) error {
	b, err := g.Encode()
	if err != nil {
		return err
	}
	if b, err = r.key.Seal(graphPlace, b); err != nil {
		return err
	}
	return signals.WriteFiles(r.Dir, append(with,
		signals.File{Name: configFile, Data: config, Perm: 0o600}, signals.File{Name: graphFile, Data: b, Perm: 0o600})...)
}

// Refreeze replaces the frozen graph, and the configuration, which is nil where
// the graph takes in only a part of it. The caller holds the run lock.
func (r *Run) Refreeze(g *dag.Graph, config []byte) error {
	sum := Sum(config)
	if config == nil {
		var err error
		if config, err = signals.ReadFile(filepath.Join(r.Dir, configFile), signals.MaxFile); err != nil {
			return err
		}
		sum = r.Plan.ConfigSum
	}
	if err := r.freeze(g, config); err != nil {
		return err
	}
	r.Plan.Graph, r.Plan.ConfigSum = g, sum
	return r.writePlan()
}

// Sum is the fingerprint of a configuration's content.
func Sum(config []byte) string {
	s := sha256.Sum256(config)
	return hex.EncodeToString(s[:])
}

// ConfigChanged reports whether the configuration on disk, with the files that it
// includes, is not the frozen one.
func (r *Run) ConfigChanged() bool {
	b, err := ReadConfig(r.Plan.Config)
	return err == nil && (Sum(b) != r.Plan.ConfigSum || r.includedChanged())
}

// includedChanged reports whether a file that the frozen configuration included
// holds something else by now.
func (r *Run) includedChanged() bool {
	return slices.ContainsFunc(r.Plan.Graph.Included, func(f dag.Included) bool {
		b, err := ReadTask(r.Plan.Root, r.Plan.Config, f.Path)
		return err == nil && Sum(b) != f.Sum
	})
}

// WriteEnv freezes the environment that the run's nodes get, readable by its
// owner alone.
func (r *Run) WriteEnv(env []string) error {
	return r.writeSealed(filepath.Join(r.Dir, envFile), envPlace, frozenEnv{env}, 0o600)
}

// frozenEnv is the environment as it is kept.
type frozenEnv struct {
	Env []string `json:"env"`
}

// Env reads the frozen environment.
func (r *Run) Env() ([]string, error) {
	b, err := signals.ReadFile(filepath.Join(r.Dir, envFile), signals.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("run %s has ended and its environment is deleted: cmux agents start --new begins another", r.Plan.ID)
	}
	if err != nil {
		return nil, err
	}
	var f frozenEnv
	if err = r.unseal(envPlace, b, &f); err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(r.Dir, envFile), err)
	}
	return f.Env, err
}

// DropEnv deletes the frozen environment once nobody retries a node of the run, and
// keeps the names of its variables.
func (r *Run) DropEnv() error {
	if env, err := r.Env(); err == nil {
		var names []string
		for _, kv := range env {
			name, _, _ := strings.Cut(kv, "=")
			names = append(names, name)
		}
		if err := r.writeSealed(filepath.Join(r.Dir, namesFile), namesPlace, frozenEnv{names}, 0o600); err != nil {
			return err
		}
	}
	err := signals.RemoveFile(filepath.Join(r.Dir, envFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// EnvNames returns the names of the variables of an environment that DropEnv deleted.
func (r *Run) EnvNames() ([]string, error) {
	b, err := signals.ReadFile(filepath.Join(r.Dir, namesFile), signals.MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // of an earlier version
	}
	if err != nil {
		return nil, err
	}
	var f frozenEnv
	if err := r.unseal(namesPlace, b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(r.Dir, namesFile), err)
	}
	return f.Env, nil
}

// Open reads the run with the given id.
func Open(root, id string) (*Run, error) { return OpenDir(filepath.Join(runsDir(root), id)) }

// OpenDir reads the run in dir.
func OpenDir(dir string) (*Run, error) {
	r, err := OpenPlan(dir)
	if err == nil {
		err = r.LoadGraph()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// OpenPlan reads the run in dir without its graph, whose size a wrapper should
// not pay for. What this person's cmux did not write, or wrote for another
// project, is a *Refusal.
func OpenPlan(dir string) (*Run, error) {
	r := &Run{Paths: Paths{Dir: dir}}
	if err := Vouch(projectOf(dir)); err != nil {
		return nil, err
	}
	b, err := signals.ReadFile(filepath.Join(dir, planFile), signals.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", filepath.Base(dir), err)
	}
	if err := r.trust(b); err != nil {
		return nil, err
	}
	return r, nil
}

// LoadGraph reads the graph of a run that OpenPlan opened.
func (r *Run) LoadGraph() error {
	path := filepath.Join(r.Dir, graphFile)
	g, err := signals.ReadFile(path, signals.MaxFile)
	if err == nil {
		if err = r.key.Open(graphPlace, g); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err == nil {
		r.Plan.Graph, err = dag.Decode(g)
	}
	if err != nil {
		return graphless(r.Dir, err)
	}
	return nil
}

// List returns the ids of the project's runs, oldest first.
func List(root string) ([]string, error) {
	entries, err := signals.ReadDir(runsDir(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(runsDir(root), e.Name(), planFile)); err == nil {
			ids = append(ids, e.Name())
		}
	}
	sort.Strings(ids)
	return ids, nil
}

// Latest opens the newest run of the project, or says ErrNone.
func Latest(root string) (*Run, error) {
	ids, err := List(root)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, ErrNone
	}
	return Open(root, ids[len(ids)-1])
}
