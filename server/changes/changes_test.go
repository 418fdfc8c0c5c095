package changes

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"cmux/signals"
)

func TestRoutes(t *testing.T) {
	const root = "/p"
	for path, want := range map[string][]string{
		".cmux/schedule.jsonl":                 {"/api/schedule"},
		".cmux/locks.jsonl":                    {"/api/locks"},
		".cmux/runs/1/records.jsonl":           {"/api/limits", "/api/needs", "/api/runs$", "/api/runs/1", "/api/runs/compare"},
		".cmux/runs/1/a/events.jsonl":          nil, // its lines are in the log
		".cmux/runs/1/requests":                nil,
		".cmux/journal/2026-03-01/artifacts/x": {"/api/filesystem", "/api/journal"},
		".cmux/mailbox":                        nil,
		".cmux-agents.yml":                     {"/api/graph", "/api/onboarding", "/api/runs"},
		"src/.cmux-agents.yml":                 nil,
		"../p2/.cmux/schedule.jsonl":           nil,
		".cmux/merge.json":                     {"/api/needs", "/api/runs"},
		".cmux/worker-contexts/api.md":         {"/api/filesystem"},
	} {
		if got := Routes(root, []string{filepath.Join(root, path)}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := Routes(root, []string{"/p/.cmux/locks.jsonl", "/p/.cmux/locks.jsonl", "/p/MEMORY.md"}); !slices.Equal(got, []string{"/api/locks", "/api/memory"}) {
		t.Errorf("%q", got)
	}
}

// The route of every file is among the routes that a reconnected client requests again.
func TestAll(t *testing.T) {
	for path, routes := range files() {
		for _, r := range routes {
			if !slices.Contains(All(), r) {
				t.Errorf("%s is about %s, which is not among all", path, r)
			}
		}
	}
}

func TestFollow(t *testing.T) {
	root := t.TempDir()
	if err := signals.Init(root); err != nil {
		t.Fatal(err)
	}
	// A run that is being made while nobody watches yet.
	if err := os.MkdirAll(filepath.Join(root, ".cmux/runs/r0"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan string, 1000)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		Follow(ctx, root, func(routes ...string) {
			for _, r := range routes {
				select {
				case told <- r:
				default:
				}
			}
		})
	})
	defer tasks.Wait()
	defer cancel()
	// Repeat the write until it is noticed, because nothing reports when the watch has
	// begun.
	heard := func(name, route string) {
		t.Helper()
		for {
			if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-told:
				if got == route {
					return
				}
			default:
			}
			if t.Context().Err() != nil {
				t.Fatal("nobody tells of " + name)
			}
		}
	}
	heard(".cmux/schedule.jsonl", "/api/schedule")
	heard("MEMORY.md", "/api/memory")

	heard(".cmux/runs/r0/records.jsonl", "/api/limits")

	// A run that is made meanwhile, whose folder is there before anything in it.
	if err := os.MkdirAll(filepath.Join(root, ".cmux/runs/r1"), 0o700); err != nil {
		t.Fatal(err)
	}
	heard(".cmux/runs/r1/records.jsonl", "/api/limits")
	for round := range 3 { // and each change once it is followed
		for len(told) > 0 {
			<-told
		}
		if err := os.WriteFile(filepath.Join(root, ".cmux/runs/r1/records.jsonl"), []byte{byte(round)}, 0o600); err != nil {
			t.Fatal(err)
		}
		for <-told != "/api/limits" {
		}
	}
}

// That a runner lets go of its lock changes no file.
func TestRunners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	r := runners{paths: map[string]string{"r1": path, "r2": path + "2"}}
	if got := r.look(); len(got) > 0 || r.soon() != nil {
		t.Errorf("no runner: %q", got)
	}
	for round := range 2 {
		lock, err := signals.TryLockFor(path, "r1")
		if err != nil {
			t.Fatal(err)
		}
		if got := r.look(); !slices.Equal(got, []string{"r1"}) || r.soon() == nil {
			t.Errorf("round %d, it is there: %q", round, got)
		}
		if got := r.look(); len(got) > 0 {
			t.Errorf("round %d, it is still there: %q", round, got)
		}
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
		if got := r.look(); !slices.Equal(got, []string{"r1"}) || r.soon() != nil {
			t.Errorf("round %d, it has gone: %q", round, got)
		}
	}
}
