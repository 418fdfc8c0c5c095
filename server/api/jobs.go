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

	"cmux/agents/control/project"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/platform/harmless"
)

// Job is an order that takes longer than a request may, such as a merge with its
// checks. What it did stands in the project's files; a server that ends breaks it
// off, which the next one says, and the same order goes on with it.
type Job[T any] struct {
	Running   bool       `json:"running"`
	StartedAt *time.Time `json:"started_at,omitempty" doc:"Absent: none was begun"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Doing     string     `json:"doing,omitempty" doc:"What it is at"`
	Output    string     `json:"output" doc:"The end of what its checks wrote"`
	Result    *T         `json:"result,omitempty"`
	Failed    string     `json:"failed,omitempty" doc:"Why it did not come to its end"`
	Try       string     `json:"try,omitempty" doc:"What to do then"`
}

// work is the one job of its sort that is under way, or the last one.
type work[T any] struct {
	mu  sync.Mutex
	job Job[T]
	out []byte

	tell func() // that it stands otherwise
}

// maxOutput bounds what is kept of a job's output.
const maxOutput = 64 << 10

// Write takes what checks write.
func (w *work[T]) Write(b []byte) (int, error) {
	defer w.told()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out = append(w.out, b...); len(w.out) > maxOutput {
		w.out = append(w.out[:0], w.out[len(w.out)-maxOutput:]...)
	}
	return len(b), nil
}

// begun says what the job is at.
func (w *work[T]) begun(what string) {
	defer w.told()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.job.Doing = what
}

// told tells clients that the job stands otherwise. It is called without the lock.
func (w *work[T]) told() {
	w.mu.Lock()
	tell := w.tell
	w.mu.Unlock()
	if tell != nil {
		tell()
	}
}

// look is how the job stands.
func (w *work[T]) look() Job[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	j := w.job
	j.Output = harmless.Text(string(w.out))
	return j
}

// begin begins the job, unless one is under way. Where it is looked at is path.
func (w *work[T]) begin(r *routes, path string, do func(ctx context.Context, output io.Writer, begun func(string)) (*T, error)) (Job[T], error) {
	w.mu.Lock()
	if w.job.Running {
		w.mu.Unlock()
		return Job[T]{}, huma.NewError(http.StatusConflict, "one is under way")
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
		defer func() { // when the lock is free again
			keepJob(r, path, ended, w.look())
			w.told()
		}()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.job.Running, w.job.EndedAt, w.job.Doing, w.job.Result = false, &ended, "", result
		if err != nil {
			w.job.Failed, w.job.Try = project.Explain(err)
		}
		if p := (*panicError)(nil); errors.As(err, &p) {
			r.Log.Error("a job went wrong", "panic", p.value, "stack", string(p.stack))
		}
	}) {
		w.mu.Lock()
		w.job.Running, w.job.EndedAt, w.job.Failed = false, &now, "the server ended before it began"
		w.mu.Unlock()
		keepJob(r, path, now, w.look())
		w.told()
		return Job[T]{}, huma.NewError(http.StatusServiceUnavailable, "the server ends")
	}
	return w.look(), nil
}

// panicError is a panic of a job. It ends the job, and not the server: no net/http
// stands behind it that would.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("cmux went wrong (%v): this is a fault in cmux, and the log of the server has more", e.value)
}

// guarded calls do, and makes a panic of its an error.
func guarded[T any](do func() (*T, error)) (result *T, err error) {
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &panicError{value, debug.Stack()}
		}
	}()
	return do()
}

// works are the jobs of a sort, one for each thing that they are about.
type works[T any] struct {
	mu  sync.Mutex
	all map[string]*work[T]
	old []string // the names in all, those asked for last at the end
}

// maxJobs bounds the jobs of a sort that are kept after they ended: each has its output.
const maxJobs = 50

// look is how the last job stands that is about something; the zero one: there was
// none, or it was long ago.
func (w *works[T]) look(name string) (j Job[T]) {
	w.mu.Lock()
	one := w.all[name]
	w.mu.Unlock()
	if one != nil {
		j = one.look()
	}
	return j
}

// of is the work that is about something, to be begun. Others that ended are forgotten.
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
