// Package changes says which routes of the API answer differently since files of the
// project changed that are not in the log of events: the state of runs, the schedule,
// locks, configurations and the like.
//
// It says so soon after, and now and then too much: who hears it asks again. Where a
// file system tells nothing, it says all routes every few seconds while something
// changes there.
package changes

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/alert"
	"cmux/agents/locks"
	"cmux/agents/recovery"
	"cmux/agents/run"
	"cmux/agents/schedule"
	"cmux/signals"
)

// All are the beginnings of the routes that are told of.
func All() []string {
	return []string{"/api/runs", "/api/graph", "/api/config", "/api/schedule", "/api/locks", "/api/alert", "/api/recover", "/api/memory", "/api/prefs",
		"/api/filesystem", "/api/journal", "/api/limits", "/api/tasks/merge", "/api/needs", "/api/doctor", "/api/onboarding"}
}

// files are the routes that are about files, by their path from the project's root.
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
		in("merge-tasks.json"): {"/api/tasks/merge"},
	}
}

// Routes are the beginnings of the routes that answer differently since these files
// changed, whose paths are absolute; none: nothing here is about them.
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
				routes = []string{"/api/limits", "/api/needs", "/api/runs"}
			}
		case len(parts) > 2 && parts[0] == signals.Folder && parts[1] == "journal":
			routes = []string{"/api/journal", "/api/filesystem"}
		case len(parts) > 2 && parts[0] == signals.Folder && (parts[1] == "roles" || parts[1] == "worker-contexts"):
			routes = []string{"/api/filesystem"}
		}
		all = append(all, routes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Follow tells which routes answer differently as files of the project change, until
// ctx ends.
func Follow(ctx context.Context, root string, tell func(routes ...string)) {
	first := true
	for ctx.Err() == nil {
		if !first {
			tell("/api/runs", "/api/needs") // there are other runs than before
		}
		follow(ctx, root, first, tell)
		first = false
	}
}

// follow is Follow until there are other runs.
func follow(ctx context.Context, root string, first bool, tell func(routes ...string)) {
	folder := run.Folder(root)
	dirs := []string{root, folder, filepath.Join(folder, "journal"), filepath.Join(folder, "roles"), filepath.Join(folder, "worker-contexts")}
	owners, err := run.Owners(root)
	if err == nil { // else what is wrong is said by whoever reads it for a person
		for _, o := range owners {
			dirs = append(dirs, run.Dir(root, o.ID))
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := signals.Watch(ctx, dirs...)
	defer w.Close()
	told := first // its first word asks for a look at everything, which nobody needs at the start
	for n := range w.C {
		if n.Rescan && told {
			told = false
		} else if n.Rescan {
			tell(All()...)
		}
		if routes := Routes(root, n.Files); len(routes) > 0 {
			tell(routes...)
		}
		if slices.Contains(n.Files, run.OwnersPath(root)) {
			return
		}
	}
}
