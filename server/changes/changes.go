// Package changes reports which routes of the API answer differently because files of the
// project changed that are not in the event log: the state of runs, the schedule, locks,
// configurations and others. A route stands for all that begin with it; a route with $ at
// its end stands for itself only.
//
// Reports come soon after a change and sometimes without one: the receiver requests the
// routes again. If a file system has no notifications, the package reports all routes every
// few seconds while something changes there.
package changes

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/org/recovery"
	"cmux/agents/org/schedule"
	"cmux/agents/records/alert"
	"cmux/agents/records/locks"
	"cmux/agents/records/note"
	"cmux/agents/runs/run"
	"cmux/signals"
)

// All returns the prefixes of all routes that are reported.
func All() []string {
	return []string{"/api/runs", "/api/graph", "/api/config", "/api/schedule", "/api/locks", "/api/alert", "/api/recover", "/api/memory", "/api/prefs",
		"/api/filesystem", "/api/personas", "/api/journal", "/api/limits", "/api/tasks/merge", "/api/needs", "/api/doctor", "/api/onboarding"}
}

// files maps files, by their path from the project's root, to the routes about them.
func files() map[string][]string {
	in := func(name string) string { return filepath.Join(signals.Folder, name) }
	return map[string][]string{
		in(schedule.Name):      {"/api/schedule"},
		in(locks.Name):         {"/api/locks"},
		in(alert.Name):         {"/api/alert"},
		in(recovery.File):      {"/api/recover"},
		in("config.yml"):       {"/api/config", "/api/doctor", "/api/onboarding"},
		in("prefs.json"):       {"/api/prefs"},
		in("merge.json"):       {"/api/runs", "/api/needs"},
		".cmux-agents.yml":     {"/api/graph", "/api/runs", "/api/onboarding"},
		"MEMORY.md":            {"/api/memory"},
		in(note.Name):          {"/api/memory"},
		in("merge-tasks.json"): {"/api/tasks/merge"},
	}
}

// Routes returns the prefixes of the routes that changed with these files, whose paths are
// absolute; none: no route depends on them.
func Routes(root string, paths []string) (all []string) {
	about := files()
	for _, path := range paths {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		routes := about[rel]
		parts := strings.Split(filepath.ToSlash(rel), "/")
		switch {
		case len(routes) > 0:
		case len(parts) == 4 && parts[0] == signals.Folder && parts[1] == "runs": // records and requests of a run
			if strings.HasPrefix(parts[3], "records") || strings.HasPrefix(parts[3], "plan") {
				// Only of that run: other runs, especially past ones, have not changed.
				routes = append(ofRun(parts[2]), "/api/limits")
			}
		case len(parts) > 2 && parts[0] == signals.Folder && parts[1] == "journal":
			routes = []string{"/api/journal", "/api/filesystem"}
		case len(parts) > 2 && parts[0] == signals.Folder && parts[1] == "roles":
			routes = []string{"/api/filesystem", "/api/personas"}
		case len(parts) > 2 && parts[0] == signals.Folder && parts[1] == "worker-contexts":
			routes = []string{"/api/filesystem"}
		}
		all = append(all, routes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ofRun returns the routes that depend on a run's state.
func ofRun(id string) []string {
	return []string{"/api/runs$", "/api/runs/" + id, "/api/runs/compare", "/api/needs"}
}

// Follow reports changed routes as files of the project change, until ctx ends.
func Follow(ctx context.Context, root string, tell func(routes ...string)) {
	f := &follower{root: root, runs: filepath.Dir(run.Dir(root, "any")), tell: tell}
	for first := true; ctx.Err() == nil; first = false {
		if !first {
			tell("/api/runs", "/api/needs", "/api/onboarding") // a new run exists
		}
		f.follow(ctx, first)
	}
}

type follower struct {
	root  string
	runs  string   // the folder of the runs
	begun []string // folders of runs created since
	tell  func(routes ...string)
}

// follow is Follow until a new run exists.
func (f *follower) follow(ctx context.Context, first bool) {
	folder := run.Folder(f.root)
	followed := f.folders()
	dirs := append([]string{f.root, folder, f.runs, filepath.Join(folder, "journal"), filepath.Join(folder, "roles"), filepath.Join(folder, "worker-contexts")}, followed...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := signals.Watch(ctx, dirs...)
	defer w.Close()
	told := first // the first notice asks for a rescan, which nobody needs at the start
	locks := runners{paths: f.locks()}
	locks.look()
	for {
		var n signals.Notice
		select {
		case now, ok := <-w.C:
			if !ok {
				return
			}
			n = now
		case <-locks.soon():
		}
		for _, id := range locks.look() {
			f.tell(ofRun(id)...)
		}
		if n.Rescan && told {
			told = false
		} else if n.Rescan {
			f.tell(All()...)
		}
		if routes := Routes(f.root, n.Files); len(routes) > 0 {
			f.tell(routes...)
		}
		other := n.Rescan // changes from before the watch began
		for _, path := range n.Files {
			switch {
			case path == run.OwnersPath(f.root):
				other = true
			case filepath.Dir(path) == f.runs && !slices.Contains(f.begun, path):
				f.begun, other = append(f.begun, path), true
			}
		}
		if other && !slices.Equal(f.folders(), followed) {
			return
		}
	}
}

// locks returns the runners' lock files of the newest runs, by run id.
func (f *follower) locks() map[string]string {
	paths := make(map[string]string)
	if owners, err := run.Owners(f.root); err == nil {
		for _, o := range owners {
			paths[o.ID] = run.LockPath(f.root, o.Session)
		}
	}
	return paths
}

// runners tracks the runners of runs. A record shows that a runner starts; only its free
// lock shows that it has gone.
type runners struct {
	paths map[string]string // of their locks, by run id
	held  map[string]bool
}

// runnerEvery is the interval of checks whether a runner still lives.
const runnerEvery = time.Second

// look returns the ids of the runs whose runner has started or ended since the last look.
func (r *runners) look() (other []string) {
	now := make(map[string]bool)
	for id, path := range r.paths {
		if _, held, err := signals.ReadHolder(path); err == nil && held {
			now[id] = true
		}
		if now[id] != r.held[id] {
			other = append(other, id)
		}
	}
	r.held = now
	return other
}

// soon returns when to look again; never, if there is no runner.
func (r *runners) soon() <-chan time.Time {
	if len(r.held) == 0 {
		return nil
	}
	return time.After(runnerEvery)
}

// begin finds the folders of runs being created. A run created while nobody watched counts
// as a run only later, and no watched file shows that.
func (f *follower) begin() {
	entries, err := signals.ReadDir(f.runs)
	if err != nil {
		return
	}
	made, err := run.List(f.root)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(f.runs, e.Name())
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(made, e.Name()) && !slices.Contains(f.begun, dir) {
			f.begun = append(f.begun, dir)
		}
	}
}

// folders returns the folders of the newest run of each session, and of runs created since:
// a folder exists before it counts as a run. Faults of a run are reported elsewhere.
func (f *follower) folders() []string {
	f.begun = slices.DeleteFunc(f.begun, func(dir string) bool {
		_, err := os.Lstat(dir)
		return err != nil
	})
	f.begin()
	dirs := slices.Clone(f.begun)
	if owners, err := run.Owners(f.root); err == nil {
		for _, o := range owners {
			dirs = append(dirs, run.Dir(f.root, o.ID))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
