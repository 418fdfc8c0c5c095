package run

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cmux/agents/platform/seal"
	"cmux/dag"
	"cmux/signals"
)

// sessionOf makes a run of a session with these nodes in the project of r.
func sessionOf(t testing.TB, root, id, session string, nodes ...string) *Run {
	t.Helper()
	text := "session: " + session + "\ndefaults: {agent: command, role: review}\nagents:\n"
	for _, n := range nodes {
		text += "  - {name: " + n + ", task: \"true\"}\n"
	}
	g, _, err := dag.Parse("x.yml", []byte(text), dag.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Create(Plan{ID: id, Root: root, Config: filepath.Join(root, session+".yml"), Graph: g}, nil, nil, "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begin is a start of a session as far as names go.
func begin(t testing.TB, root, session string, nodes ...string) (*Run, error) {
	t.Helper()
	g, err := LockProject(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Unlock()
	id := NewID(time.Now())
	if err := g.Enter(id, session, nodes); err != nil {
		return nil, err
	}
	return sessionOf(t, root, id, session, nodes...), nil
}

// ended records that a run has ended.
func ended(t testing.TB, r *Run) {
	t.Helper()
	b, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var recs []Record
	for _, name := range r.Plan.Graph.Names() {
		recs = append(recs, Record{Type: Overridden, Node: name, How: HowOverride})
	}
	if err := b.Append(t.Context(), append(recs, Record{Type: RunEnded, How: string(dag.RunDone)})...); err != nil {
		t.Fatal(err)
	}
}

func emptyProject(t testing.TB) string {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, ".git"), 0o755), signals.Init(root)); err != nil {
		t.Fatal(err)
	}
	return root
}

// lost are the names that the newest runs have lost, by session.
func lost(t testing.TB, root string) map[string][]string {
	t.Helper()
	all, err := Owners(root)
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string][]string)
	for _, o := range all {
		m[o.Session] = o.Lost
	}
	return m
}

func TestOwners(t *testing.T) {
	root := emptyProject(t)
	a, err := begin(t, root, "a", "x", "y")
	if err != nil {
		t.Fatal(err)
	}
	var owned *OwnedError
	if _, err := begin(t, root, "b", "y", "z"); !errors.As(err, &owned) || owned.ID != a.Plan.ID || !slices.Equal(owned.Names, []string{"y"}) {
		t.Fatalf("a name of an unfinished run was taken: %v", err)
	}
	if _, err := begin(t, root, "c", "z"); err != nil {
		t.Errorf("other names: %v", err)
	}
	ended(t, a)
	b, err := begin(t, root, "b", "y")
	if err != nil {
		t.Fatal(err)
	}
	if got := lost(t, root); !slices.Equal(got["a"], []string{"y"}) || got["b"] != nil || got["c"] != nil {
		t.Errorf("lost: %v", got)
	}
	// The same names again, in the session that had them: nothing is lost.
	ended(t, b)
	if _, err := begin(t, root, "b", "y"); err != nil {
		t.Fatal(err)
	}
	if o, err := b.Owner(); o != nil || err != nil {
		t.Errorf("a past run is %v, %v", o, err)
	}
	if got := lost(t, root); !slices.Equal(got["a"], []string{"y"}) || got["b"] != nil {
		t.Errorf("lost: %v", got)
	}
}

// TestGivenUp: names that were given up are free, and are had again when nobody
// took them.
func TestGivenUp(t *testing.T) {
	root := emptyProject(t)
	a, err := begin(t, root, "a", "x")
	if err != nil {
		t.Fatal(err)
	}
	g, err := LockProject(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Release(a), g.Unlock()); err != nil {
		t.Fatal(err)
	}
	if o, err := a.Owner(); err != nil || !o.Owns("x") || !o.Free {
		t.Errorf("nobody took it: %v, %v", o, err)
	}
	if _, err := begin(t, root, "b", "x"); err != nil {
		t.Errorf("a name that was given up: %v", err)
	}
	if o, err := a.Owner(); err != nil || o.Owns("x") {
		t.Errorf("it was taken: %v, %v", o, err)
	}
}

// TestOwnersAgain: without the list, or with one that cmux did not write, the
// newest run has a name.
func TestOwnersAgain(t *testing.T) {
	for _, damage := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.WriteFile(path, []byte(`{"runs":[]}`), 0o600) },
		func(path string) error { return os.WriteFile(path, nil, 0o600) },
		func(path string) error {
			other := filepath.Dir(path) + "/other"
			return errors.Join(os.MkdirAll(other, 0o700), writeOwners(other, []Owner{{ID: "x", Session: "x"}}), os.Rename(OwnersPath(other), path))
		},
	} {
		root := emptyProject(t)
		if _, err := seal.Own(); err != nil {
			t.Fatal(err)
		}
		a, err := begin(t, root, "a", "x", "y")
		if err != nil {
			t.Fatal(err)
		}
		ended(t, a)
		if _, err := begin(t, root, "b", "y"); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(Folder(filepath.Join(Folder(root), "other")), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := damage(OwnersPath(root)); err != nil {
			t.Fatal(err)
		}
		if got := lost(t, root); len(got) != 2 || !slices.Equal(got["a"], []string{"y"}) || got["b"] != nil {
			t.Errorf("lost: %v", got)
		}
	}
}

// TestInterruptedStart: a start that was killed before it made its run leaves the
// one before it the newest of its session.
func TestInterruptedStart(t *testing.T) {
	root := emptyProject(t)
	a, err := begin(t, root, "a", "x")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, a)
	g, err := LockProject(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Enter(NewID(time.Now()), "b", []string{"x"}), g.Unlock()); err != nil {
		t.Fatal(err)
	}
	if got := lost(t, root); len(got) != 1 || !slices.Equal(got["a"], []string{"x"}) {
		t.Errorf("lost: %v", got)
	}
	if _, err := begin(t, root, "c", "x"); err != nil {
		t.Errorf("a name that nobody has: %v", err)
	}
}

// TestEarlierRun: to a cmux that had one lock for a project only its newest run
// counts, and it stays that run's.
func TestEarlierRun(t *testing.T) {
	root := emptyProject(t)
	old, newest := sessionOf(t, root, "1", "a", "x"), sessionOf(t, root, "2", "b", "x")
	for _, r := range []*Run{old, newest} {
		r.Plan.Session = ""
		if err := r.writePlan(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := Owners(root)
	if err != nil || len(all) != 1 || all[0].ID != newest.Plan.ID || all[0].Session != "b" {
		t.Fatalf("%v, %v", all, err)
	}
	if got := newest.LockPath(); got != filepath.Join(Folder(root), "run.lock") {
		t.Errorf("its lock is %s", got)
	}
	var owned *OwnedError
	if _, err := begin(t, root, "c", "x"); !errors.As(err, &owned) {
		t.Errorf("its name was taken: %v", err)
	}
	if _, err := begin(t, root, "b", "x"); err != nil {
		t.Error(err)
	}
}
