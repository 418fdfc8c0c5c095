package api

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"syscall"

	"cmux/agents/control/project"

	"github.com/danielgtaylor/huma/v2"

	"cmux/dag"
)

// Problem is an error as it is answered (RFC 9457), with the way out of it.
type Problem struct {
	Title  string              `json:"title" doc:"The status in words"`
	Status int                 `json:"status" doc:"The HTTP status"`
	Detail string              `json:"detail" doc:"What happened"`
	Try    string              `json:"try,omitempty" doc:"What to do next, as the command line says it"`
	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"What is wrong with the request, each with its place"`
}

func (p *Problem) Error() string  { return p.Detail }
func (p *Problem) GetStatus() int { return p.Status }

// ContentType makes the answer a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// What huma itself finds wrong with a request is answered in the same shape.
func init() {
	huma.DefaultArrayNullable = false // see Full
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		p := &Problem{Title: http.StatusText(status), Status: status, Detail: msg}
		for _, err := range errs {
			var d huma.ErrorDetailer
			if errors.As(err, &d) {
				detail := *d.ErrorDetail()
				detail.Value = nil // it may be long, and is known to who sent it
				p.Errors = append(p.Errors, &detail)
			} else if err != nil {
				p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
			}
		}
		return p
	}
}

// problem is the answer to an error of package control.
func (r *routes) problem(ctx context.Context, op *huma.Operation, err error) error {
	var own huma.StatusError
	if errors.As(err, &own) {
		return own
	}
	status := statusOf(op, err)
	if status == http.StatusInternalServerError && ctx.Err() == nil {
		r.Log.Error("a request failed", "route", op.OperationID, "err", err)
	}
	text, try := project.Explain(err)
	return &Problem{Title: http.StatusText(status), Status: status, Detail: text, Try: try}
}

// statusOf is the status that an error stands for.
func statusOf(op *huma.Operation, err error) int {
	var (
		faults dag.Faults
		path   *fs.PathError
		errno  syscall.Errno
		hint   *project.Hint
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
		return http.StatusConflict // it cannot be done as things stand
	}
	return http.StatusInternalServerError
}
