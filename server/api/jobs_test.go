package api

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"

	"github.com/charmbracelet/log"

	"cmux/agents/control"
)

// A job that panics ends as failed, and another one can be begun; the log has the stack.
func TestJobPanics(t *testing.T) {
	var said bytes.Buffer
	r := &routes{Options: Options{Project: &control.Project{Project: project.Project{Caller: project.Caller{Now: time.Now}}}, Log: log.New(&said),
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

// Whoever hears of routes only by what changed learns of a job's end also when it
// says nothing, and of one that could not begin.
func TestJobTellsOfItsEnd(t *testing.T) {
	var running []bool
	one, goes := new(work[int]), true
	r := &routes{Options: Options{Project: &control.Project{Project: project.Project{Caller: project.Caller{Now: time.Now}}},
		Changed: func(...string) { running = append(running, one.look().Running) },
		Background: func(f func(context.Context)) bool {
			if goes {
				f(t.Context())
			}
			return goes
		}}}
	quiet := func(context.Context, io.Writer, func(string)) (*int, error) { return nil, nil }
	for _, goes = range []bool{true, false} {
		running = nil
		_, err := one.begin(r, "/api/x", quiet)
		if (err == nil) != goes || !slices.Equal(running, []bool{true, false}) {
			t.Errorf("goes %t: told as running %v, %v", goes, running, err)
		}
	}
}

// Jobs that ended are forgotten one day, and those that run are not.
func TestJobsAreBounded(t *testing.T) {
	r := &routes{Options: Options{Project: &control.Project{Project: project.Project{Caller: project.Caller{Now: time.Now}}}}}
	w := new(works[int])
	begin := func(name string, runs bool) {
		r.Background = func(f func(context.Context)) bool {
			if !runs {
				f(t.Context())
			}
			return true
		}
		if _, err := w.of(name).begin(r, "/api/x", func(context.Context, io.Writer, func(string)) (*int, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
	}
	begin("at work", true)
	begin("again", false)
	for i := range 2 * maxJobs {
		begin(strconv.Itoa(i), false)
		begin("again", false)
	}
	if len(w.all) != maxJobs || len(w.old) != maxJobs {
		t.Errorf("%d and %d jobs are kept", len(w.all), len(w.old))
	}
	if !w.look("at work").Running || w.look("again").EndedAt == nil || w.look("0").StartedAt != nil || w.look(strconv.Itoa(2*maxJobs-1)).EndedAt == nil {
		t.Errorf("kept: %v", w.old)
	}
}
