//go:build linux

package storm_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// seen is what `status --json` says.
type seen struct {
	Run   struct{ State string } `json:"run"`
	Nodes []struct {
		Name     string `json:"name"`
		Label    string `json:"label"`
		Exit     *int   `json:"exit_code"`
		Reason   string `json:"reason"`
		Attempts int    `json:"attempts"`
	} `json:"nodes"`
}

// open reports whether an overridden node is still at work: the run may end before it.
func (s seen) open() bool {
	for _, n := range s.Nodes {
		if strings.HasSuffix(n.Label, ", still open") {
			return true
		}
	}
	return false
}

func (w *world) status() (s seen, ok bool) {
	cmd := w.command("agents", "status", "--json")
	out, err := cmd.Output()
	w.sane([]string{"status", "--json"}, string(out))
	return s, err == nil && json.Unmarshal(out, &s) == nil
}

// finish resumes the run until it has ended.
func (w *world) finish() seen {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s, ok := w.status()
		switch {
		case ok && (s.Run.State == "done" || s.Run.State == "failed"):
			if w.reap(10*time.Second) && w.idle() {
				// What was said may be from before the last runner had ended.
				if s, ok := w.status(); ok && (s.Run.State == "done" || s.Run.State == "failed") && !s.open() {
					return s
				}
			}
		case ok && (s.Run.State == "no runner" || s.Run.State == "stopped"):
			w.launch("resume")
		case !ok || s.Run.State == "":
			w.start() // it was killed before there was a run
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the run does not come to its end: %+v", s)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// idle reports whether no cmux is at work any more.
func (w *world) idle() bool {
	return !slices.ContainsFunc(w.processes(), process.cmux) || !w.headless
}

// judge holds the end against what must be.
func (w *world) judge() {
	w.t.Helper()
	s := w.finish()
	label, reason := map[string]string{}, map[string]string{}
	for _, n := range s.Nodes {
		label[n.Name], reason[n.Name] = n.Label, n.Reason
		if strings.Contains(n.Reason, "panic") {
			w.t.Errorf("%s: %s", n.Name, n.Reason)
		}
	}
	good := func(l string) bool { return l == "done" || l == "done (override)" }
	for i := range w.jobs {
		j := &w.jobs[i]
		is := label[j.name]
		blocked := false
		for _, d := range j.deps {
			blocked = blocked || !good(label[w.jobs[d].name])
		}
		var want string
		switch {
		case blocked && !j.all:
			want = "blocked"
		case j.exit != 0:
			want = "failed (exit 7)"
		default:
			want = "done"
		}
		fine := is == want || want == "blocked" && strings.HasPrefix(is, "blocked (") ||
			j.forced && good(is)
		if j.forced && !j.free && !good(is) {
			fine = false
		}
		if !fine {
			w.t.Errorf("%s ended as %q (%s), want %q (forced %v)", j.name, is, reason[j.name], want, j.forced)
		}
		w.marker(j, is)
		w.work(j, is)
	}
	w.nothingLeft()
}

// marker holds a node's marker against its label.
func (w *world) marker(j *job, label string) {
	b, err := os.ReadFile(filepath.Join(w.root, ".cmux/signals", j.name+".done"))
	is := strings.TrimSpace(string(b))
	want := map[string]string{"done": "0", "done (override)": "", "failed (exit 7)": "7"}
	if j.free && label == "done" && is == "" && err == nil {
		return // emptied by hand when it was done, which changes nothing else
	}
	if code, ok := want[label]; ok && (err != nil || is != code) {
		w.t.Errorf("%s is %q and its marker %q, %v", j.name, label, is, err)
	}
	if strings.HasPrefix(label, "blocked") && is != "99" {
		w.t.Errorf("%s is %q and its marker %q, %v", j.name, label, is, err)
	}
}

// work holds what a node wrote down and committed against its label.
func (w *world) work(j *job, label string) {
	b, _ := os.ReadFile(filepath.Join(w.ledger, j.name))
	ledger := string(b)
	if strings.Contains(ledger, "missing") {
		w.t.Errorf("%s began without what it depends on:\n%s", j.name, ledger)
	}
	if strings.HasPrefix(label, "blocked") && !j.forced && !w.behindForced(j) && ledger != "" {
		w.t.Errorf("%s is %q and has run:\n%s", j.name, label, ledger)
	}
	if label != "done" {
		return
	}
	if !strings.Contains(ledger, "ended") && !j.forced {
		w.t.Errorf("%s is done and never ended:\n%s", j.name, ledger)
	}
	if !j.forced {
		if text := w.git("show", w.id+"/"+j.name+":"+j.name+".txt"); text != "whole" {
			w.t.Errorf("%s is done and its branch has %q", j.name, text)
		}
	}
}

// behindForced reports whether a person's order reached a node through others.
func (w *world) behindForced(j *job) bool {
	for _, d := range j.deps {
		if w.jobs[d].forced || w.behindForced(&w.jobs[d]) {
			return true
		}
	}
	return false
}

// nothingLeft checks that no process of a node is left, and that cleanup leaves
// none at all.
func (w *world) nothingLeft() {
	w.t.Helper()
	for _, p := range w.processes() {
		if p.node {
			w.t.Errorf("left at the end: %d %s", p.pid, p.args)
		}
	}
	if w.t.Failed() {
		return // what cmux wrote down is shown first
	}
	out, err := w.run("agents", "cleanup", "--yes")
	w.tell("cleanup: %v %s", err, lastLine(out))
	if err != nil {
		w.t.Errorf("cleanup: %v\n%s", err, out)
	}
	deadline := time.Now().Add(patience)
	for len(w.processes()) > 0 && time.Now().Before(deadline) {
		<-time.After(20 * time.Millisecond)
	}
	for _, p := range w.processes() {
		w.t.Errorf("left after cleanup: %d %s", p.pid, p.args)
	}
	if trees := strings.Count(w.git("worktree", "list"), "\n"); trees > 0 {
		w.t.Errorf("cleanup left %s worktrees", strconv.Itoa(trees))
	}
}
