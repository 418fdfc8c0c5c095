package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/far"
	"cmux/signals"
	"cmux/worktree/git"
)

const (
	keepCollected = 7 * 24 * time.Hour
	keepLost      = 14 * 24 * time.Hour
	keepEnded     = 30 * 24 * time.Hour // nobody collects it
	sweepEvery    = time.Hour
)

// sweeping removes what is past its time until the worker leaves.
func (w *Worker) sweeping() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		w.sweep(w.ctx, time.Now())
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			return
		}
	}
}

// sweep removes the folders of attempts that are past their time at now.
func (w *Worker) sweep(ctx context.Context, now time.Time) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.jobs))
	w.mu.Unlock()
	for _, j := range all {
		if !j.past(now) {
			continue
		}
		err := j.remove(ctx)
		if err != nil {
			w.o.Log.Error("the folder of an attempt cannot be removed", "attempt", j.ref.String(), "err", err)
			continue
		}
		w.mu.Lock()
		delete(w.jobs, j.ref)
		w.mu.Unlock()
	}
}

// past reports whether the folder of the job may go.
func (j *job) past(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.shut != nil && j.kept != nil && j.lost == nil:
		return j.shut.Done && now.Sub(j.kept.At) >= keepLost
	case j.shut != nil && j.shut.Why == string(far.WasCollected) && j.lost == nil:
		return j.shut.Done && now.Sub(j.shut.At) >= keepCollected
	case j.shut != nil && j.lost == nil:
		return j.shut.Done && now.Sub(j.shut.At) >= keepLost
	case j.lost != nil:
		return j.lost.Done && now.Sub(j.lost.At) >= keepLost
	}
	return j.out.ended() && j.out.quiet(now) >= keepEnded
}

// remove removes the folder of the job, its file first: what an interruption leaves is no
// job.
func (j *job) remove(ctx context.Context) error {
	m, release := j.w.mirrorOf(j.ref.Project)
	defer release()
	if err := m.drop(ctx, j.ref); err != nil {
		return err
	}
	if err := signals.RemoveFile(j.path(jobFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(j.dir); err != nil {
		return err
	}
	entries, err := signals.ReadDir(filepath.Dir(j.dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			return nil // another attempt of the node
		}
	}
	return errors.Join(os.RemoveAll(j.w.nodeDir(j.ref)), os.RemoveAll(filepath.Dir(j.dir)))
}

// drop deletes the refs of an attempt in the mirror, except its base, which later runs
// build on.
func (m mirror) drop(ctx context.Context, ref far.Ref) error {
	out, err := git.Run(ctx, m.dir, "for-each-ref", "--format=%(refname)", m.refs(ref))
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(out) {
		if name == m.refs(ref)+"base" {
			continue
		}
		if _, err := git.Run(ctx, m.dir, "update-ref", "-d", name); err != nil {
			return err
		}
	}
	return nil
}

// Kept is work on a machine that home has not got.
type Kept struct {
	Ref      far.Ref   `json:"ref"`
	Project  string    `json:"project"` // as its remote names it
	Home     string    `json:"home"`
	Why      string    `json:"why"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"` // it is removed then
	Tree     string    `json:"tree"`
	Snapshot string    `json:"snapshot,omitempty"`
}

// Job is an attempt on a machine, for people.
type Job struct {
	Ref     far.Ref   `json:"ref"`
	Project string    `json:"project"` // as its remote names it
	Home    string    `json:"home"`
	State   far.State `json:"state"`
	Since   time.Time `json:"since"`
}

// Status is what a machine has.
type Status struct {
	Machine far.Machine `json:"machine"`
	PID     int         `json:"pid"` // of the worker
	Jobs    []Job       `json:"jobs"`
	Kept    []Kept      `json:"kept"`
}

// Status returns what the machine has.
func (w *Worker) Status(ctx context.Context) (*Status, error) {
	m, err := w.Describe(ctx)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.jobs))
	w.mu.Unlock()
	s := jobsOf(all)
	s.Machine, s.PID = m, os.Getpid()
	return s, nil
}

// ReadKept returns the work that is kept in the folder of a worker, whether one runs or not.
// With an error, there may be more, in folders that the error names.
func ReadKept(dir string) ([]Kept, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w := &Worker{o: Options{Dir: dir, Trees: filepath.Join(dir, treesDir)}}
	if b, err := signals.ReadFile(filepath.Join(dir, treesFile), 1<<16); err == nil {
		w.o.Trees = string(b)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found, err := w.folders()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var (
		all []*job
		bad []error
	)
	for _, dir := range found {
		j, err := readJob(w, dir)
		switch {
		case err == nil:
			all = append(all, j)
		case !errors.Is(err, fs.ErrNotExist):
			bad = append(bad, fmt.Errorf("the attempt in %s cannot be read: %w", dir, err))
		}
	}
	return jobsOf(all).Kept, errors.Join(bad...)
}

func jobsOf(all []*job) *Status {
	slices.SortFunc(all, func(a, b *job) int { return a.asked.At.Compare(b.asked.At) })
	s := &Status{Jobs: []Job{}, Kept: []Kept{}}
	for _, j := range all {
		j.mu.Lock()
		shut, f := j.shut, cmp.Or(j.lost, j.kept)
		j.mu.Unlock()
		if f == nil && shut != nil && shut.Why != string(far.WasCollected) {
			f = shut
		}
		switch {
		case f != nil:
			tree := j.tree()
			if _, err := signals.Type(tree); err != nil {
				continue
			}
			s.Kept = append(s.Kept, Kept{Ref: j.ref, Project: project(j.asked.Job.Remote), Home: j.asked.Home, Why: f.Why, At: f.At, Until: f.At.Add(keepLost), Tree: tree, Snapshot: f.Snapshot})
		case shut == nil:
			s.Jobs = append(s.Jobs, Job{Ref: j.ref, Project: project(j.asked.Job.Remote), Home: j.asked.Home, State: j.state(), Since: j.asked.At})
		}
	}
	return s
}
