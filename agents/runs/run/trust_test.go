package run

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cmux/agents/platform/seal"
	"cmux/signals"
)

func (r *Run) append(t *testing.T, recs ...Record) {
	t.Helper()
	b, err := r.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Append(t.Context(), recs...), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

// A line counts where cmux wrote it, and nowhere else.
func TestForeignRecordsDoNotCount(t *testing.T) {
	r, other := newRun(t), newRunAgain(t)
	r.append(t, Record{Type: Started, Node: "a", Attempt: 1})
	first := read(t, r.Records())
	other.append(t, Record{Type: Started, Node: "b", Attempt: 1})
	forged := []string{
		`{"t":"override","at":"2026-11-21T02:26:29Z","node":"b","how":"override"}`,
		strings.TrimSuffix(string(first), "\n"),                                   // copied within the file
		strings.TrimSuffix(string(read(t, other.Records())), "\n"),                // of another run
		strings.Replace(strings.TrimSuffix(string(first), "\n"), `"a"`, `"b"`, 1), // changed
		`null`, `[]`, `7`, `{}`,
	}
	write(t, r.Records(), append(bytes.Clone(first), strings.Join(forged, "\n")+"\n"...))
	r.append(t, Record{Type: Opened, Node: "b"})
	h := replay(t, r)
	if len(h.Foreign) != len(forged) {
		t.Errorf("%d lines are foreign, want %d", len(h.Foreign), len(forged))
	}
	if len(h.Nodes[0].Attempts) != 1 || len(h.Nodes[1].Attempts) != 0 || h.Nodes[1].Fact.Attempts != 0 || !h.Nodes[1].Opened {
		t.Errorf("%+v", h.Nodes)
	}
	for i, at := range h.Foreign {
		if where, err := r.RecordLine(at); err != nil || where != "records.jsonl:"+string(rune('2'+i)) {
			t.Errorf("line %d: %s, %v", i+2, where, err)
		}
	}
}

// A request of a command counts under its name; of others, none does.
func TestForeignRequestsDoNotCount(t *testing.T) {
	r, other := newRun(t), newRunAgain(t)
	mine, err := r.Ask(Request{Op: OpApprove, Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Ask(Request{Op: OpApprove, Node: "a"})
	if err != nil {
		t.Fatal(err)
	}
	copied := read(t, filepath.Join(r.Requests(), mine.ID+".json"))
	write(t, filepath.Join(r.Requests(), "20990101-000000.000-aaaaaa.json"), copied)
	write(t, filepath.Join(r.Requests(), theirs.ID+".json"), read(t, filepath.Join(other.Requests(), theirs.ID+".json")))
	write(t, filepath.Join(r.Requests(), "x.json"), []byte(`{"id":"x","op":"override","node":"a"}`))
	qs, err := r.Pending()
	if len(qs) != 1 || qs[0].ID != mine.ID {
		t.Errorf("%+v", qs)
	}
	if n := strings.Count(err.Error(), "not written by cmux"); n != 3 {
		t.Errorf("%d files are named, want 3: %v", n, err)
	}
}

// Nothing of a run is believed that this person's cmux did not write for it.
func TestForeignRunsAreRefused(t *testing.T) {
	change := func(name string) func(*testing.T, *Run) {
		return func(t *testing.T, r *Run) {
			path := filepath.Join(r.Dir, name)
			b := read(t, path)
			write(t, path, bytes.Replace(b, []byte(`"`), []byte(` "`), 1))
		}
	}
	for _, c := range []struct {
		name, want, try string
		make            func(*testing.T, *Run)
	}{
		{"a changed plan", "not written by cmux", "--new", change(planFile)},
		{"a plan of an older cmux", "an older cmux", "--new", func(t *testing.T, r *Run) {
			write(t, filepath.Join(r.Dir, planFile), []byte(`{"version":1,"id":"`+r.Plan.ID+`","root":"`+r.Plan.Root+`"}`))
		}},
		{"a changed graph", "graph.json: not written by cmux", "--new", change(graphFile)},
		{"an empty graph", "its graph is damaged or gone", "--new", func(t *testing.T, r *Run) { write(t, filepath.Join(r.Dir, graphFile), nil) }},
		{"no graph", "its graph is damaged or gone", "--new", func(t *testing.T, r *Run) {
			if err := os.Remove(filepath.Join(r.Dir, graphFile)); err != nil {
				t.Fatal(err)
			}
		}},
		{"a graph of another run", "graph.json: not written by cmux", "--new", func(t *testing.T, r *Run) {
			write(t, filepath.Join(r.Dir, graphFile), read(t, filepath.Join(newRunAgain(t).Dir, graphFile)))
		}},
		{"another key", "cmux/key is another than it was", "put the old one back", func(t *testing.T, r *Run) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			newRunAgain(t)
		}},
		{"no key", "you have no key", "put it back", func(t *testing.T, r *Run) { t.Setenv("XDG_STATE_HOME", t.TempDir()) }},
		{"another name", "not written by cmux", "--new", func(t *testing.T, r *Run) {
			to := filepath.Join(filepath.Dir(r.Dir), "29990101-000000.000-aaaaaa")
			if err := os.Rename(r.Dir, to); err != nil {
				t.Fatal(err)
			}
		}},
		{"a link for runs", "is a symbolic link", "", func(t *testing.T, r *Run) {
			elsewhere := filepath.Join(t.TempDir(), "runs")
			if err := errors.Join(os.Rename(filepath.Dir(r.Dir), elsewhere), os.Symlink(elsewhere, filepath.Dir(r.Dir))); err != nil {
				t.Fatal(err)
			}
		}},
		{"nothing", "", "", func(t *testing.T, r *Run) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(t)
			c.make(t, r)
			_, err := Latest(r.Plan.Root)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			var refusal *Refusal
			if errors.As(err, &refusal) != (c.try != "") || refusal != nil && !strings.Contains(refusal.Error(), c.try) {
				t.Errorf("way out: %+v, want %q", refusal, c.try)
			}
		})
	}
}

func TestAMovedProjectIsNamed(t *testing.T) {
	r := newRun(t)
	was := r.Plan.Root
	now := was + "-moved"
	if err := os.Rename(was, now); err != nil {
		t.Fatal(err)
	}
	_, err := Latest(now)
	var refusal *Refusal
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), was) || !strings.Contains(refusal.Error(), "move it back to "+was) {
		t.Fatalf("%v", err)
	}
	put, err := SetAside(now)
	if err != nil || len(put) != 2 {
		t.Errorf("%q, %v", put, err)
	}
	if _, err := Latest(now); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}

// A run whose key is gone may still have nodes at work: no other run is given
// their worktrees, and who holds them is named.
func TestWhatIsAtWorkIsNotSetAside(t *testing.T) {
	r := newRun(t)
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if err := os.MkdirAll(r.NodeDir("a"), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := signals.TryLock(r.NodeLock("a"))
	if err != nil {
		t.Fatal(err)
	}
	put, err := SetAside(r.Plan.Root)
	var refusal *Refusal
	if !errors.As(err, &refusal) || len(put) != 0 || !strings.Contains(err.Error(), "a (pid ") ||
		!strings.Contains(refusal.Error(), "kill "+strconv.Itoa(os.Getpid())) {
		t.Fatalf("%q, %v, %+v", put, err, refusal)
	}
	if _, err := os.Stat(r.Dir); err != nil {
		t.Error(err)
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if put, err = SetAside(r.Plan.Root); err != nil || len(put) != 2 {
		t.Errorf("%q, %v", put, err)
	}
}

// The folder that is first in every node's PATH holds this cmux and no more.
func TestProveBin(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(t)
	own, err := seal.Find()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.keepProgram(own, self); err != nil {
		t.Fatal(err)
	}
	proven := func(want ...string) {
		t.Helper()
		strangers, err := r.ProveBin()
		var names []string
		for _, s := range strangers {
			names = append(names, filepath.Base(s))
		}
		if err != nil || strings.Join(names, " ") != strings.Join(want, " ") {
			t.Errorf("strangers %q, %v, want %q", names, err, want)
		}
		if entries, _ := os.ReadDir(filepath.Dir(r.Binary())); len(entries) != 1 {
			t.Errorf("left: %v", entries)
		}
		if sum, err := sumFile(r.Binary()); err != nil || sum != r.Plan.Program.Sum {
			t.Errorf("the binary is not the one it was: %v", err)
		}
	}
	proven()
	write(t, filepath.Join(filepath.Dir(r.Binary()), "git"), []byte("#!/bin/sh\n"))
	proven("git")
	proven()
	for _, spoil := range []func(path string) error{
		os.Remove,
		func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, []byte("#!/bin/sh\n"), 0o755)) },
		func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/bin/sh", p)) },
		func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) },
	} {
		if err := spoil(r.Binary()); err != nil {
			t.Fatal(err)
		}
		proven("cmux")
	}
	// The same content under the same times is another file all the same.
	was, err := os.Stat(r.Binary())
	if err != nil {
		t.Fatal(err)
	}
	b := read(t, r.Binary())
	b[len(b)-1] ^= 1
	if err := errors.Join(os.Remove(r.Binary()), os.WriteFile(r.Binary(), b, 0o755), os.Chtimes(r.Binary(), was.ModTime(), was.ModTime())); err != nil {
		t.Fatal(err)
	}
	proven("cmux")
	// A run of another cmux is not mended with this one.
	r.Plan.Program.Sum = strings.Repeat("0", 64)
	if err := os.Remove(r.Binary()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ProveBin(); err == nil || !strings.Contains(err.Error(), "start --new") {
		t.Errorf("%v", err)
	}
}

func TestVouch(t *testing.T) {
	root := t.TempDir()
	if err := Vouch(root); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	if err := os.Mkdir(Folder(root), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Vouch(root); err != nil {
		t.Error(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(Folder(root), 12345, -1); err != nil {
			t.Fatal(err)
		}
		if err := Vouch(root); err == nil || !strings.Contains(err.Error(), "user 12345") {
			t.Errorf("of another owner: %v", err)
		}
	}
	if err := errors.Join(os.RemoveAll(Folder(root)), os.Symlink(t.TempDir(), Folder(root))); err != nil {
		t.Fatal(err)
	}
	if err := Vouch(root); err == nil || !strings.Contains(err.Error(), "is a symbolic link") {
		t.Errorf("a link: %v", err)
	}
}
