package recovery

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the commands leave in a person's tree, tracked or not, does not keep a rollback
// from its end, and is in a snapshot; undo brings the tree back.
func TestRollbackOverOutput(t *testing.T) {
	w := newWorld(t, false)
	n := 0
	write := func(name, text string) {
		must(t, os.WriteFile(filepath.Join(w.Root, name), []byte(text), 0o644))
	}
	write("stamp", "committed")
	write("report", "committed")
	w.git(w.Root, "add", "stamp", "report")
	w.git(w.Root, "commit", "-q", "-m", "generated files")
	w.leaves = func(command string) {
		n++
		if command == "rebuild" {
			write("stamp", fmt.Sprint("built ", n))
			return
		}
		write("report", fmt.Sprint("checked ", n)) // tracked
		write("check.log", fmt.Sprint("checked ", n))
	}
	w.steps(3)
	good := w.commit("ok")
	w.step()
	culprit := w.commit("broken")
	broken := w.commit("broken")
	w.now = w.now.Add(time.Hour)
	w.steps(3)
	w.settle()
	r := w.state.Run
	if r.End != RolledBack || r.Best != good || r.Blamed != culprit {
		t.Fatalf("%+v", r)
	}
	if b, err := os.ReadFile(filepath.Join(w.Root, "stamp")); !strings.HasPrefix(string(b), "built") {
		t.Errorf("%q, %v", b, err)
	}
	if !w.state.Undo(w.now) {
		t.Fatal("there is nothing to undo")
	}
	w.settle()
	if head := w.git(w.Root, "rev-parse", "main", "HEAD"); head != broken+"\n"+broken || w.state.Run.End != Undone {
		t.Errorf("%s, %+v", head, w.state.Run)
	}
	saved := w.git(w.Root, "log", "--all", "-m", "-p", "--format=", "--", "stamp", "report")
	if !strings.Contains(saved, "+built ") || !strings.Contains(saved, "+checked ") {
		t.Errorf("what was dropped is in no snapshot:\n%s", saved)
	}
}

// A person who saves while a check runs, or edits what a command left, keeps every byte.
func TestPersonBesideOutput(t *testing.T) {
	for name, edit := range map[string]func(w *world, write func(name, text string)){
		"saves while a check runs": func(w *world, write func(name, text string)) {
			w.leaves = func(string) {
				if w.leaves = nil; w.state.Fails == 1 {
					write("n", "half typed")
				}
			}
			w.step()
		},
		"saves in a rebuild, and again after it": func(w *world, write func(name, text string)) {
			w.leaves = func(command string) {
				if command == "rebuild" {
					write("n", "half")
				}
			}
			for len(w.state.Run.tries()) == 0 {
				w.step()
			}
			w.leaves = nil
			write("n", "half typed")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			write := func(name, text string) {
				must(t, os.WriteFile(filepath.Join(w.Root, name), []byte(text), 0o644))
			}
			w.step()
			w.commit("broken")
			w.commit("broken")
			w.step()
			edit(w, write)
			for w.state.Run == nil {
				w.step()
			}
			w.settle()
			w.steps(3)
			if b, err := os.ReadFile(filepath.Join(w.Root, "n")); string(b) != "half typed" || w.state.Run.End != Refused {
				t.Fatalf("%q, %v, %+v", b, err, w.state.Run)
			}
		})
	}
}

func (r *Run) tries() []Try {
	if r == nil {
		return nil
	}
	return r.Tries
}

// Each row is what stood there, each word a path=print, before and after one command
// after the other, and which paths are the commands' in the end; (x) when it is only so
// where git does not track it.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		rows string
		sure bool
		want string
	}{
		{"> a=1", false, "(a)"},
		{"> a=1, a=1 > a=2, a=2 > a=3", false, "a"},
		{"> a=1, a=1 > a=1, a=1 > a=1", false, "(a)"},                                // one change is as well a person's
		{"> a=1, a=2 > a=3, a=3 > a=4", false, "(a)"},                                // somebody had it in between
		{"> a=1, a=1 > a=2, a=2 > a=3, a=4 > a=4", false, ""},                        // and has it now
		{"a=1 > a=1, a=1 > a=2, a=2 > a=3, a=3 > a=4", false, ""},                    // a person's, formatted by the check
		{"> a=1, > a=2, > a=3", false, "a"},                                          // committed or put back each time
		{"> a=1 b=1", true, "a b"},                                                   // in a recovery
		{"b=1 > a=1 b=2", true, "a"},                                                 //
		{"> a=1, a=2 > a=3", true, "(a)"},                                            //
		{"> a=1, a=1 > a=2, a=2 > a=3, a=3 >", false, ""},                            // gone
		{"> a=1, a=1 > a=2, a=2 > a=3, a=4 > a=5, a=5 > a=6, a=6 > a=7", false, "a"}, // a command that was killed
	} {
		s := &State{}
		var last map[string]string
		for row := range strings.SplitSeq(c.rows, ",") {
			before, after, _ := strings.Cut(row, ">")
			last = printed(after)
			s.Made = learn(s.Made, printed(before), last, c.sure)
		}
		var got []string
		for _, path := range slices.Sorted(maps.Keys(last)) {
			switch {
			case s.makes(path, last[path], true):
				got = append(got, path)
			case s.makes(path, last[path], false):
				got = append(got, "("+path+")")
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.rows, got, c.want)
		}
	}
}

func printed(words string) map[string]string {
	all := map[string]string{}
	for word := range strings.FieldsSeq(words) {
		path, print, _ := strings.Cut(word, "=")
		all[path] = print
	}
	return all
}
