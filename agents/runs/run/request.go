package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/signals"
)

// Op is what a command asks of the runner.
type Op string

const (
	OpRetry    Op = "retry"
	OpApprove  Op = "approve"
	OpOverride Op = "override"
	OpRelease  Op = "release"
	OpAnswer   Op = "answer"
	OpStop     Op = "stop"   // one node, or the run when Node is empty
	OpUpdate   Op = "update" // the configuration is taken in
	OpLeave    Op = "leave"  // the runner of a run that has ended is to let go of it
)

// Request is what a command leaves for the runner: carried out at once by a
// live one and otherwise at resume.
type Request struct {
	ID         string    `json:"id"`
	Op         Op        `json:"op"`
	Node       string    `json:"node,omitempty"`
	Text       string    `json:"text,omitempty"`       // OpAnswer; OpRetry: what the work is sent back with
	Question   *string   `json:"question,omitempty"`   // OpAnswer: that it answers, empty for none; nil: whatever is asked
	Downstream bool      `json:"downstream,omitempty"` // OpRetry
	Fresh      bool      `json:"fresh,omitempty"`      // OpRetry
	Coded      bool      `json:"coded,omitempty"`      // OpApprove, OpOverride: a person has typed the code that their terminal showed
	Sum        string    `json:"sum,omitempty"`        // OpUpdate: of the configuration that was shown; OpRetry: of that from which the node's own keys are taken, empty for none
	At         time.Time `json:"at"`
}

// AsksElse refuses an answer to a question that is not the one asked by now.
func AsksElse(name string) error {
	return fmt.Errorf("%s asks something else by now: nothing was sent to it, read what it asks first", name)
}

// Ask leaves a request for the runner of r.
func (r *Run) Ask(q Request) (Request, error) {
	q.At = time.Now()
	q.ID = NewID(q.At)
	return q, r.writeSealed(filepath.Join(r.Requests(), q.ID+".json"), requestPlace(q.ID), q, 0o600)
}

// AskOnce leaves a request under an id of the caller's. One that waits already is
// the same. The caller knows that it was not answered.
func (r *Run) AskOnce(id string, q Request) error {
	path := filepath.Join(r.Requests(), id+".json")
	if _, err := signals.Type(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	q.At, q.ID = time.Now(), id
	return r.writeSealed(path, requestPlace(id), q, 0o600)
}

// maxRequest is how large the file of a request may be.
const maxRequest = 4 << 20

// NoRequest is a file among the requests that does not count: it cannot be read,
// or no command of this person left it there.
type NoRequest struct {
	Path string
	Err  error
}

func (e *NoRequest) Error() string {
	return fmt.Sprintf("requests/%s: %v", filepath.Base(e.Path), e.Err)
}
func (e *NoRequest) Unwrap() error { return e.Err }

// Pending reads the requests that wait, oldest first. Each file that is no
// request is a *NoRequest in the error.
func (r *Run) Pending() ([]Request, error) {
	entries, err := signals.ReadDir(r.Requests())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var (
		qs   []Request
		errs []error
	)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(r.Requests(), e.Name())
		b, err := signals.ReadFile(path, maxRequest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var q Request
		id := strings.TrimSuffix(e.Name(), ".json")
		if err == nil {
			err = r.unseal(requestPlace(id), b, &q)
		}
		if err != nil {
			errs = append(errs, &NoRequest{path, err})
			continue
		}
		q.ID = id
		qs = append(qs, q)
	}
	// Not by id alone, whose time is in milliseconds: a person's last word counts.
	slices.SortFunc(qs, func(a, b Request) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return qs, errors.Join(errs...)
}

// A Desk answers the requests of a run or an organization.
type Desk struct {
	// Known reports whether the answer to a request is on record.
	Known func(id string) bool
	// Answer carries a request out and records that, or returns that it waits.
	Answer func(Request) (waits bool, err error)
	// Odd gets what is no request: a *NoRequest, which is set aside unless aside is an
	// error.
	Odd func(not, aside error) error
}

// Serve has each request that waits answered once, oldest first, and removes it then.
func (d Desk) Serve(r *Run) error {
	pending, err := r.Pending()
	errs := []error{err}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		errs = all.Unwrap()
	}
	for _, err := range errs {
		if err == nil {
			continue
		}
		var aside error
		if not := (*NoRequest)(nil); errors.As(err, &not) {
			aside = signals.Rename(not.Path, filepath.Base(not.Path)+".bad")
		}
		if err := d.Odd(err, aside); err != nil {
			return err
		}
	}
	for _, q := range pending {
		if !d.Known(q.ID) {
			if waits, err := d.Answer(q); err != nil {
				return err
			} else if waits {
				continue
			}
		}
		if err := r.Answered(q); err != nil {
			return err
		}
	}
	return nil
}

// Withdraw removes the orders to stop the whole run and to let go of it that
// were given before at: who resumes it later wants it to go on.
func (r *Run) Withdraw(at time.Time) error {
	pending, _ := r.Pending() // what is none is the runner's to tell of
	var errs []error
	for _, q := range pending {
		if (q.Op == OpStop && q.Node == "" || q.Op == OpLeave) && q.At.Before(at) {
			errs = append(errs, r.Answered(q))
		}
	}
	return errors.Join(errs...)
}

// Answered removes a request that was carried out and recorded.
func (r *Run) Answered(q Request) error {
	err := signals.RemoveFile(filepath.Join(r.Requests(), q.ID+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
