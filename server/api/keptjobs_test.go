package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/control/project"

	"github.com/charmbracelet/log"

	"cmux/agents/control"
	"cmux/signals"
)

// The next server says how a job ended, and of one that was under way that it was lost;
// a file that cannot be read costs nothing but that.
func TestJobsOutliveTheServer(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	server := func(runs bool) *routes {
		return &routes{kept: keptJobs{root: root}, Options: Options{Project: &control.Project{Project: project.Project{Caller: project.Caller{Now: time.Now}}}, Log: log.New(io.Discard),
			Background: func(f func(context.Context)) bool {
				if runs {
					f(t.Context())
				}
				return true
			}}}
	}
	begin := func(r *routes, path string, err error) {
		t.Helper()
		_, failed := new(work[int]).begin(r, path, func(_ context.Context, out io.Writer, _ func(string)) (*int, error) {
			fmt.Fprint(out, strings.Repeat("x", 2*keptOutput), "the end")
			n := 7
			return &n, err
		})
		if failed != nil {
			t.Fatal(failed)
		}
	}
	begin(server(true), "/api/done", nil)
	begin(server(true), "/api/failed", errors.New("a conflict"))
	begin(server(false), "/api/cut", nil) // killed before its end

	next := server(true)
	done, failed, cut := stood(next, "/api/done", Job[int]{}), stood(next, "/api/failed", Job[int]{}), stood(next, "/api/cut", Job[int]{})
	if done.Running || done.Result == nil || *done.Result != 7 || !strings.HasSuffix(done.Output, "the end") || len(done.Output) > keptOutput {
		t.Errorf("%+v", done)
	}
	if failed.Failed != "a conflict" || failed.EndedAt == nil {
		t.Errorf("%+v", failed)
	}
	if cut.Running || cut.StartedAt == nil || cut.EndedAt != nil || !strings.Contains(cut.Failed, "the server ended") || cut.Try == "" {
		t.Errorf("%+v", cut)
	}
	if none := stood(next, "/api/other", Job[int]{}); none.StartedAt != nil {
		t.Errorf("%+v", none)
	}
	now := time.Now()
	if own := stood(next, "/api/cut", Job[int]{Running: true, StartedAt: &now}); !own.Running {
		t.Errorf("this server's own: %+v", own)
	}
	begin(next, "/api/cut", nil) // as its way out says
	if j := stood(server(true), "/api/cut", Job[int]{}); j.Failed != "" || j.Result == nil {
		t.Errorf("%+v", j)
	}
	path := filepath.Join(root, signals.Folder, jobsFile)
	many := strings.Repeat(`{"path":"/api/old","at":"2026-03-01T12:00:00Z","job":{}},`, mostKept)
	if err := os.WriteFile(path, []byte("["+strings.TrimSuffix(many, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(next, "/api/1", nil)
	if all, err := next.kept.read(); err != nil || len(all) != mostKept || all[mostKept-1].Path != "/api/1" {
		t.Errorf("%d are kept, %v", len(all), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if j := stood(next, "/api/1", Job[int]{}); j.StartedAt != nil {
		t.Errorf("%+v", j)
	}
	begin(next, "/api/new", nil)
	if j := stood(server(true), "/api/new", Job[int]{}); j.Result == nil {
		t.Errorf("%+v", j)
	}
}
