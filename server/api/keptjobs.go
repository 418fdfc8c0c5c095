package api

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/platform/harmless"
	"cmux/signals"
)

// jobsFile is the file with the status of jobs, for the next server.
const jobsFile = "server.jobs.json"

const (
	mostKept   = 50       // jobs, the newest
	keptOutput = 4 << 10  // of a job's output
	maxKept    = 16 << 20 // of the file
)

// keptJob is the status of a job when it began or ended.
type keptJob struct {
	Path string          `json:"path"` // its route
	At   time.Time       `json:"at"`
	Job  json.RawMessage `json:"job"`
}

// keptJobs stores the status of jobs in a file, across servers. It is not authoritative:
// the results of a job are in the project's files.
type keptJobs struct {
	mu   sync.Mutex
	root string // of the project; empty: nothing is stored
}

func (k *keptJobs) path() string { return filepath.Join(k.root, signals.Folder, jobsFile) }

func (k *keptJobs) read() (all []keptJob, err error) {
	b, err := signals.ReadFile(k.path(), maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}

// keep stores the status of a job.
func (k *keptJobs) keep(path string, at time.Time, job any) error {
	if k.root == "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	all, _ := k.read() // an unreadable file is replaced
	all = slices.DeleteFunc(all, func(j keptJob) bool { return j.Path == path })
	all = append(all, keptJob{path, at, text})
	all = all[max(0, len(all)-mostKept):]
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return signals.WriteFile(k.path(), append(b, '\n'), 0o600)
}

// keepJob stores the status of a job with the end of its output.
func keepJob[T any](r *routes, path string, at time.Time, j Job[T]) {
	j.Doing = ""
	if over := len(j.Output) - keptOutput; over > 0 {
		j.Output = strings.ToValidUTF8(j.Output[over:], "")
	}
	if err := r.kept.keep(path, at, j); err != nil && r.Log != nil {
		r.Log.Warn("the status of a job could not be stored for the next server", "job", path, "err", err)
	}
}

// stood returns the status of a job, from this server or else from an earlier one. A job
// that was running then ended with that server.
func stood[T any](r *routes, path string, j Job[T]) Job[T] {
	if j.StartedAt != nil || r.kept.root == "" {
		return j
	}
	r.kept.mu.Lock()
	all, err := r.kept.read()
	r.kept.mu.Unlock()
	if err != nil {
		return j
	}
	for _, k := range all {
		if k.Path != path || json.Unmarshal(k.Job, &j) != nil {
			continue
		}
		j.Output = harmless.Text(j.Output)
		if j.Running {
			j.Running = false
			j.Failed, j.Try = "the server ended while this job ran", "repeat the command: it continues from the completed steps"
		}
		return j
	}
	return Job[T]{}
}
