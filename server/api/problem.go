package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"syscall"

	"cmux/agents/control/project"
	"cmux/worktree/hint"

	"github.com/danielgtaylor/huma/v2"

	"cmux/dag"
)

// Problem is an error as an answer (RFC 9457), with a hint.
type Problem struct {
	Title  string              `json:"title" doc:"The status in words"`
	Status int                 `json:"status" doc:"The HTTP status"`
	Detail string              `json:"detail" doc:"What happened"`
	Try    string              `json:"try,omitempty" doc:"What to do next, as a command"`
	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"Faults of the request, each with its location"`
}

func (p *Problem) Error() string  { return p.Detail }
func (p *Problem) GetStatus() int { return p.Status }

// ContentType makes the answer a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// Errors that huma finds in a request get the same format.
func init() {
	huma.DefaultArrayNullable = false // see Full
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := &Problem{Title: http.StatusText(status), Status: status, Detail: msg}
		for _, err := range errs {
			var d huma.ErrorDetailer
			if errors.As(err, &d) {
				detail := *d.ErrorDetail()
				detail.Value = nil // it may be long, and the client knows it
				p.Errors = append(p.Errors, &detail)
			} else if err != nil {
				p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
			}
		}
		return p
	}
}

// problem converts an error of package control.
func (r *routes) problem(ctx context.Context, op *huma.Operation, err error) error {
	var own huma.StatusError
	if errors.As(err, &own) {
		return own
	}
	status := statusOf(op, err)
	if status == http.StatusInternalServerError && ctx.Err() == nil {
		r.Log.Error("a request failed", "route", op.OperationID, "err", err)
	}
	text, try := hint.Explain(err)
	return &Problem{Title: http.StatusText(status), Status: status, Detail: text, Try: try}
}

// statusOf returns the HTTP status of an error.
func statusOf(op *huma.Operation, err error) int {
	var (
		faults dag.Faults
		path   *fs.PathError
		errno  syscall.Errno
		hint   *hint.Error
	)
	switch {
	case errors.Is(err, project.ErrMissing):
		return http.StatusNotFound
	case errors.Is(err, project.ErrUsage), errors.As(err, &faults):
		return http.StatusBadRequest
	case errors.As(err, &path), errors.As(err, &errno):
		return http.StatusInternalServerError
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case op.Method != http.MethodGet, errors.As(err, &hint):
		return http.StatusConflict // not possible in the current state
	}
	return http.StatusInternalServerError
}
