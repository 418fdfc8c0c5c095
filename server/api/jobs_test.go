package api

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control"
)

// A job that panics ends as failed, and another one can be begun; the log has the stack.
func TestJobPanics(t *testing.T) {
	var said bytes.Buffer
	r := &routes{Options: Options{Project: &control.Project{Caller: control.Caller{Now: time.Now}}, Log: log.New(&said),
		Background: func(f func(context.Context)) bool { f(t.Context()); return true }}}
	w := new(works[int])
	one := w.of("r1")
	j, err := one.begin(r, "/api/x", func(context.Context, io.Writer, func(string)) (*int, error) {
		panic("it broke")
	})
	if err != nil || j.Running || !strings.Contains(j.Failed, "it broke") || j.EndedAt == nil {
		t.Errorf("%+v %v", j, err)
	}
	if !strings.Contains(said.String(), "TestJobPanics") {
		t.Errorf("the log has no stack: %s", said.String())
	}
	if j, err = one.begin(r, "/api/x", func(context.Context, io.Writer, func(string)) (*int, error) { return new(int), nil }); err != nil || j.Failed != "" || j.Result == nil {
		t.Errorf("%+v %v", j, err)
	}
	if j := w.look("another"); j.StartedAt != nil || len(w.all) != 1 {
		t.Errorf("asking makes jobs: %+v", w.all)
	}
}
