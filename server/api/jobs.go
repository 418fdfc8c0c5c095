package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/platform/harmless"
	"cmux/worktree/hint"
)

// Job is a command that takes longer than a request may, such as a merge with its checks.
// Its results are in the project's files. If the server ends, the job is interrupted; the
// next server reports that, and the same command continues it.
type Job[T any] struct {
	Running   bool       `json:"running"`
	StartedAt *time.Time `json:"started_at,omitempty" doc:"Absent: no job has begun"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Doing     string     `json:"doing,omitempty" doc:"Current step"`
	Output    string     `json:"output" doc:"End of the output of its checks"`
	Result    *T         `json:"result,omitempty"`
	Failed    string     `json:"failed,omitempty" doc:"Why it failed"`
	Try       string     `json:"try,omitempty" doc:"What to do next"`
}

// work is the current or the last job of a type.
type work[T any] struct {
	mu  sync.Mutex
	job Job[T]
	out []byte

	tell func() // called when its status changes
}

// maxOutput bounds what is kept of a job's output.
const maxOutput = 64 << 10

// Write adds output of checks.
func (w *work[T]) Write(b []byte) (int, error) {
	defer w.told()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out = append(w.out, b...); len(w.out) > maxOutput {
		w.out = append(w.out[:0], w.out[len(w.out)-maxOutput:]...)
	}
	return len(b), nil
}

// begun sets the job's current step.
func (w *work[T]) begun(what string) {
	defer w.told()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job.Doing = what
}

// told reports a changed status to clients. Call it without the lock.
func (w *work[T]) told() {
	w.mu.Lock()
	tell := w.tell
	w.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// look returns the status of the job.
func (w *work[T]) look() Job[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.job
	j.Output = harmless.Text(string(w.out))
	return j
}

// begin starts the job, unless one is running. path is its route.
func (w *work[T]) begin(r *routes, path string, do func(ctx context.Context, output io.Writer, begun func(string)) (*T, error)) (Job[T], error) {
	w.mu.Lock()
	if w.job.Running {
		w.mu.Unlock()
		return Job[T]{}, huma.NewError(http.StatusConflict, "this job is already running")
	}
	now := r.Project.Now()
	w.job, w.out = Job[T]{Running: true, StartedAt: &now}, nil
	if w.tell = nil; r.Changed != nil {
		w.tell = func() { r.Changed(path) }
	}
	first := w.job
	w.mu.Unlock()
	keepJob(r, path, now, first)
	w.told()
	if !r.Background(func(ctx context.Context) {
		result, err := guarded(func() (*T, error) { return do(ctx, w, w.begun) })
		ended := r.Project.Now()
		defer func() { // runs after the lock is released
			keepJob(r, path, ended, w.look())
			w.told()
		}()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.job.Running, w.job.EndedAt, w.job.Doing, w.job.Result = false, &ended, "", result
		if err != nil {
			w.job.Failed, w.job.Try = hint.Explain(err)
		}
		if p := (*panicError)(nil); errors.As(err, &p) {
			r.Log.Error("a job went wrong", "panic", p.value, "stack", string(p.stack))
		}
	}) {
		w.mu.Lock()
		w.job.Running, w.job.EndedAt, w.job.Failed = false, &now, "the server ended before the job began"
		w.mu.Unlock()
		keepJob(r, path, now, w.look())
		w.told()
		return Job[T]{}, huma.NewError(http.StatusServiceUnavailable, "the server is ending")
	}
	return w.look(), nil
}

// panicError is a panic of a job. It ends the job but not the server; outside net/http,
// nothing else would catch it.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error in cmux (%v): the log of the server has the details", e.value)
}

// guarded calls do and converts its panic into an error.
func guarded[T any](do func() (*T, error)) (result *T, err error) {
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &panicError{value, debug.Stack()}
		}
	}()
	return do()
}

// works holds the jobs of a type, by their subject.
type works[T any] struct {
	mu  sync.Mutex
	all map[string]*work[T]
	old []string // names in all, the most recently requested last
}

// maxJobs bounds how many ended jobs of a type are kept, because each has its output.
const maxJobs = 50

// look returns the status of the last job of a subject; zero: there is none.
func (w *works[T]) look(name string) (j Job[T]) {
	w.mu.Lock()
	one := w.all[name]
	w.mu.Unlock()
	if one != nil {
		j = one.look()
	}
	return j
}

// of returns the work of a subject, to begin it. It removes ended jobs of others.
func (w *works[T]) of(name string) *work[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[string]*work[T])
	}
	if w.all[name] == nil {
		w.all[name] = new(work[T])
	}
	w.old = append(slices.DeleteFunc(w.old, func(n string) bool { return n == name }), name)
	most := len(w.old) - maxJobs
	w.old = slices.DeleteFunc(w.old, func(n string) bool {
		if most <= 0 || n == name || w.all[n].look().Running {
			return false
		}
		most--
		delete(w.all, n)
		return true
	})
	return w.all[name]
}
