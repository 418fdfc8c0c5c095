package machine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/far"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/worktree"
)

// The worker is killed between any two entries, and at other moments: every entry, every
// byte and every record comes home once, and the program runs once.
func TestKilledBetweenEntries(t *testing.T) {
	h := newHome(t)
	mark := filepath.Join(t.TempDir(), "mark")
	ref, need, job := h.job(`
agents:
  - name: api
    agent: scripted
    verify: ["sleep 0.1; test -e made"]
    task: |
      echo one >> "$MARK"
      echo '{"used":{"input":500,"output":500}}' | cmux hook usage
      for i in 1 2 3 4 5 6; do echo "line $i"; sleep 0.1; done
      cmux done early
      read -r line
      echo made > made; git add made; git commit -q -m made
      cmux done late
`, func(j *far.Job) { j.Env = []string{"MARK=" + mark} })
	h.open()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	dir := h.w.jobDir(ref)
	h.leave()
	lines := func() int {
		b, err := os.ReadFile(filepath.Join(dir, "out.jsonl"))
		h.must(err)
		return bytes.Count(b, []byte("\n"))
	}
	kills := 0
	for ended := false; !ended; kills++ {
		was := lines()
		cmd := h.process()
		h.until("another entry", func() bool {
			b, err := os.ReadFile(filepath.Join(dir, "out.jsonl"))
			ended = err == nil && bytes.Contains(b, []byte(`"kind":"end"`))
			return ended || lines() > was
		})
		h.must(cmd.Process.Kill())
		cmd.Wait()
	}
	h.open()
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Summary != "late" {
		t.Fatalf("after %d kills, the end:\n%s", kills, told(all))
	}
	t.Logf("%d kills, %d entries", kills, len(all))
	if kills < 3 {
		t.Errorf("it was killed %d times alone:\n%s", kills, told(all))
	}
	if b, err := os.ReadFile(mark); err != nil || string(b) != "one\n" {
		t.Errorf("programs: %q, %v", b, err)
	}
	r, err := run.Open(h.w.job(ref).root(), ref.Run)
	h.must(err)
	for kind, path := range map[far.Kind]string{far.Log: r.Log("api"), far.Events: r.Events("api")} {
		want, err := os.ReadFile(path)
		if err != nil && kind == far.Events {
			h.must(err)
		}
		if got := h.stream(kind, all); got != string(want) {
			t.Errorf("of %s, %d bytes came, and there are %d", kind, len(got), len(want))
		}
	}
	var want, got []string
	j := h.w.job(ref)
	h.must(r.EachRecord(func(rec *run.Record) {
		if j.travels(rec) {
			want = append(want, string(rec.Type)+string(rec.Activity))
		}
	}))
	for _, e := range all {
		if e.Kind == far.Record {
			got = append(got, string(e.Record.Type)+string(e.Record.Activity))
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("records:\n%v\nwant\n%v", got, want)
	}
	h.unpack(all)
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "made\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
	// Home may be cut off between any two entries as well.
	for n := range all {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cut := errors.New("cut")
		var next uint64
		err := h.w.Follow(ctx, ref, uint64(n), func(e far.Entry) error { next = e.Seq; return cut })
		cancel()
		if !errors.Is(err, cut) || next != uint64(n+1) {
			t.Fatalf("behind %d came %d, %v", n, next, err)
		}
	}
}

// Unfinished work comes home from time to time, and not when nothing has changed.
func TestSaved(t *testing.T) {
	h := newHome(t)
	ref, need, job, mark := h.waiting(func(j *far.Job) { j.SaveEvery = 50 * time.Millisecond })
	h.open()
	h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("it has committed", func() bool { return h.committed(h.w.job(ref).tree()) })
	h.must(os.WriteFile(filepath.Join(h.w.job(ref).tree(), "unfinished"), []byte("work"), 0o600))
	saved := func(all []far.Entry) (n int) {
		for _, e := range all {
			if e.Kind == far.Saved {
				n++
			}
		}
		return n
	}
	var all []far.Entry
	h.sees(ref, "saved work with the file", func(e *far.Entry) bool {
		all = append(all, *e)
		if e.Kind != far.Saved {
			return false
		}
		h.unpack(all)
		for name := range strings.FieldsSeq(h.git("for-each-ref", "--format=%(refname)", "refs/taken/snapshots")) {
			if strings.Contains(h.git("ls-tree", "-r", "--name-only", name+"^3"), "unfinished") {
				return true
			}
		}
		return false
	})
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "half\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
	n := saved(all)
	j := h.w.job(ref)
	stable := 0
	h.until("nothing more is sent", func() bool { // of what does not change
		_, _, _, code := j.out.sent()
		time.Sleep(4 * job.SaveEvery)
		_, _, _, after := j.out.sent()
		if code == after {
			stable++
		}
		return stable > 0
	})
	h.must(os.WriteFile(mark+".go", nil, 0o600))
	all = h.all(ref)
	if m := saved(all); m > n+3 {
		t.Errorf("saved %d times, and %d after the last change", m, m-n)
	}
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Errorf("the end:\n%s", told(all))
	}
}

// What the attempt's agent writes to the mailbox comes home as a message.
func TestPosts(t *testing.T) {
	h := newHome(t)
	h.open()
	h.renewing()
	ref, need, job := h.job(`
agents:
  - name: api
    agent: scripted
    task: |
      cmux post
      cmux post
      cmux done "nothing was needed: sent"
`)
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	all := h.all(ref)
	ids := map[string]bool{}
	for _, e := range all {
		if e.Kind == far.Post {
			m := e.Message.Mail
			ids[m.ID] = true
			if m.From != "node:api" || m.To != "user" || m.Subject != "hello" || len(m.Body) != 5000 {
				t.Errorf("the message: %+v", m)
			}
		}
	}
	if len(ids) != 2 {
		t.Errorf("messages: %v\n%s", ids, told(all))
	}
}

// A review reads the start commit and has no branch; a merge has the tips of its branches.
func TestReviewAndMerge(t *testing.T) {
	h := newHome(t)
	h.git("checkout", "-q", "-b", "s/one")
	h.commit("one", "1\n", "one")
	one := h.git("rev-parse", "HEAD")
	h.open()
	h.renewing()
	ref, need, job := h.job(`
agents:
  - {name: look, agent: scripted, role: review, task: 'cmux done "$(git show $CMUX_HEAD:one) $(git log --format=%s $CMUX_BASE..$CMUX_HEAD)"'}
`, func(j *far.Job) {
		j.Review, j.Spec.Place.Commit, j.Spec.Place.Branch, j.Spec.Place.Lent = true, one, "", ""
	})
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.must(h.w.Put(t.Context(), ref, h.code(nil, map[string]string{"start": one, "base": h.base})...))
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Summary != "1 one" {
		t.Errorf("the end:\n%s", told(all))
	}
	ref, need, job = h.job(`
agents:
  - {name: one, agent: command, task: "true"}
  - {name: both, agent: scripted, role: merge, depends_on: [one], task: 'git merge -q --no-edit s/one && cmux done merged'}
`, func(j *far.Job) {
		j.Spec.Branches = []run.Dependency{{Name: "one", Branch: "s/one", Tip: one}}
	})
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.must(h.w.Put(t.Context(), ref, h.code(nil, map[string]string{"start": h.base, "base": h.base, "tips/one": one})...))
	all = h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done || end.Record.End.Tip != one {
		t.Errorf("the end:\n%s", told(all))
	}
}

// A continued branch goes on at its tip.
func TestContinuedBranch(t *testing.T) {
	h := newHome(t)
	ref, need, job := h.job(`
agents:
  - {name: api, agent: command, task: 'test -e earlier && echo more > more && git add more && git commit -q -m more'}
`)
	h.git("checkout", "-q", "-b", job.Spec.Place.Branch)
	h.commit("earlier", "1\n", "earlier")
	tip := h.git("rev-parse", "HEAD")
	h.open()
	h.renewing()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.must(h.w.Put(t.Context(), ref, h.code(nil, map[string]string{"start": h.base, "base": h.base, "branch": tip})...))
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Fatalf("the end:\n%s", told(all))
	}
	h.unpack(all)
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "more\nearlier\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
}

// The next attempt of a node on the same machine works in the same folder, with what the
// earlier one left there; its journal holds nothing of that one. If home's branch does not
// come from there, it begins with what home has.
func TestNextAttempt(t *testing.T) {
	h := newHome(t)
	h.open()
	h.renewing()
	run := func(n int, task string, refs map[string]string) (all []far.Entry) {
		t.Helper()
		ref, need, job := h.job("agents: [{name: api, agent: command, task: '" + task + "'}]")
		ref.N, job.Spec.Attempt = n, n
		job.Env = []string{"TRY=" + strings.Repeat("x", n)}
		h.must(h.w.Open(t.Context(), "home", ref, need, job))
		h.must(h.w.Put(t.Context(), ref, h.code(nil, refs)...))
		all = h.all(ref)
		h.unpack(all)
		return all
	}
	refs := map[string]string{"start": h.base, "base": h.base}
	run(1, "echo one-$TRY; pwd > where; echo 1 > one; git add one where; git commit -q -m one; echo left > left; exit 7", refs)
	one := h.git("rev-parse", "refs/taken/far/branch")
	refs["branch"] = one
	all := run(2, "echo two-$TRY; cat left; test \"$(pwd)\" = \"$(cat where)\" && rm left && echo 2 > two && git add two && git commit -q -m two", refs)
	if end := all[len(all)-1]; end.Record == nil || end.Record.End == nil || end.Record.End.Outcome != dag.Done {
		t.Fatalf("the end:\n%s", told(all))
	}
	if got := h.stream(far.Log, all); strings.Contains(got, "one-x") || !strings.Contains(got, "two-xx\nleft\n") {
		t.Errorf("the log: %q", got)
	}
	if n := len(records(all, "began")); n != 1 {
		t.Errorf("%d began records", n)
	}
	// Another machine has done attempt 3.
	h.git("checkout", "-q", "-B", "elsewhere", one)
	h.commit("three", "3\n", "three")
	refs["branch"] = h.git("rev-parse", "HEAD")
	run(4, "test ! -e two && echo 4 > four && git add four && git commit -q -m four", refs)
	if got := h.git("log", "--format=%s", "refs/taken/far/branch"); got != "four\nthree\none\nfirst" {
		t.Errorf("the branch:\n%s", got)
	}
}

// What is too large to travel stays on the machine, and home is told where.
func TestBounds(t *testing.T) {
	h := newHome(t)
	h.open(func(o *Options) { o.maxCode, o.maxLog = 10<<10, 2<<10 })
	h.renewing()
	ref, need, job := h.job("agents: [{name: api, agent: command, task: 'seq 1000; head -c 20000 /dev/urandom > big; git add big; git commit -q -m big'}]")
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	all := h.all(ref)
	if end := all[len(all)-1]; end.Record != nil || !strings.Contains(end.Error, "it stays on box, in "+h.w.job(ref).tree()) || !exists(filepath.Join(h.w.job(ref).tree(), "big")) {
		t.Errorf("the end:\n%s", told(all))
	}
	if got := h.stream(far.Log, all); len(got) != 2<<10 {
		t.Errorf("%d bytes of output came", len(got))
	}
	if recs := records(all, run.Noted); len(recs) != 1 || !strings.Contains(recs[0].Detail, "the output after 2 KB stays on box") {
		t.Errorf("notes: %+v", recs)
	}
	for _, e := range all {
		if e.Kind == far.Code {
			t.Error("code came all the same")
		}
	}
	h.keeps(ref, "it stays on box")
	repo, err := worktree.Open(t.Context(), h.w.job(ref).root())
	h.must(err)
	path := filepath.Join(t.TempDir(), "large")
	if code, size, err := pack(t.Context(), repo, job.Spec.Place.Branch, path, 10<<10); err != nil || code != nil || size < 20000 || exists(path) {
		t.Errorf("a bundle of %d bytes was read: %v", size, err)
	}
}

// keeps collects the end of an attempt whose work did not come, which stays for 14 days.
func (h *home) keeps(ref far.Ref, why string) {
	h.Helper()
	h.must(h.w.Put(h.Context(), ref, far.Entry{ID: "c", Kind: far.Collected}))
	h.leave()
	h.open()
	kept, err := ReadKept(h.dir)
	if err != nil || len(kept) != 1 || !strings.Contains(kept[0].Why, why) || kept[0].Tree != h.w.job(ref).tree() {
		h.Errorf("kept: %+v, %v", kept, err)
	}
	h.w.sweep(h.Context(), time.Now().Add(keepLost-time.Minute))
	if !exists(h.w.jobDir(ref)) {
		h.Error("removed too early")
	}
}

// An end that can never be sent is told to home, and the work stays.
func TestUnsendable(t *testing.T) {
	h := newHome(t)
	h.open(func(o *Options) { o.maxTries = 2 })
	h.renewing()
	ref, need, job, mark := h.waiting()
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.send(ref)
	h.until("the program works", func() bool { return exists(mark) })
	h.must(os.MkdirAll(filepath.Join(h.w.jobDir(ref), "home.bundle", "in the way"), 0o700))
	h.must(os.WriteFile(mark+".go", nil, 0o600))
	all := h.all(ref)
	tree := h.w.job(ref).tree()
	if end := all[len(all)-1]; end.Record != nil || !strings.HasPrefix(end.Error, "its work cannot be sent: ") || !strings.HasSuffix(end.Error, "; it stays on box, in "+tree) {
		t.Errorf("the end:\n%s", told(all))
	}
	h.gone(mark)
	h.keeps(ref, "its work cannot be sent")
	h.w.sweep(t.Context(), time.Now().Add(keepLost+time.Minute))
	if exists(h.w.jobDir(ref)) {
		t.Error("it is kept for ever")
	}
}
