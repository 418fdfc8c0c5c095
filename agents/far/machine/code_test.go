package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/far"
	"cmux/dag"
)

// thin returns home's bundle of a commit that builds on another.
func (h *home) thin(tip, on string) []far.Entry {
	h.Helper()
	path := filepath.Join(h.T.TempDir(), "b")
	h.git("update-ref", refStart, tip)
	h.git("update-ref", refBase, tip)
	h.git("bundle", "create", "--quiet", path, refStart, refBase, "^"+on)
	b, err := os.ReadFile(path)
	h.must(err)
	return far.Parts(far.Code, "job", b)
}

const quick = `
agents:
  - {name: web, agent: command, task: 'git log --format=%s'}
`

// What a bundle builds on comes from the mirror, else from the remote, else it is seeded:
// the error says so.
func TestMissingCommits(t *testing.T) {
	h := newHome(t)
	h.open()
	h.renewing()
	first := h.base
	h.commit("second", "2\n", "second")
	h.base = h.git("rev-parse", "HEAD")
	ref, need, job := h.job(quick)
	attempt := func(n int, remote string, code []far.Entry) far.Entry {
		t.Helper()
		ref.N, job.Spec.Attempt, job.Remote = n, n, remote
		h.must(h.w.Open(t.Context(), "home", ref, need, job))
		h.must(h.w.Put(t.Context(), ref, code...))
		all := h.all(ref)
		return all[len(all)-1]
	}
	if end := attempt(1, "", h.thin(h.base, first)); !strings.Contains(end.Error, "try: push them") || !strings.Contains(end.Error, "lacks commits") {
		t.Fatalf("the end: %+v", end)
	}
	if end := attempt(2, filepath.Join(h.T.TempDir(), "nowhere"), h.thin(h.base, first)); !strings.Contains(end.Error, "nowhere") {
		t.Fatalf("the end: %+v", end)
	}
	if end := attempt(3, "ext::touch "+filepath.Join(h.dir, "ran"), h.thin(h.base, first)); !strings.Contains(end.Error, "no URL") || exists(filepath.Join(h.dir, "ran")) {
		t.Fatalf("the end: %+v", end)
	}
	remote := filepath.Join(h.T.TempDir(), "remote.git")
	h.must(exec.Command("git", "clone", "-q", "--bare", h.root, remote).Run())
	if end := attempt(4, remote, h.thin(h.base, first)); end.Record == nil || end.Record.End.Outcome != dag.Done {
		t.Fatalf("the end: %+v", end)
	}
	h.commit("third", "3\n", "third")
	second := h.base
	h.base = h.git("rev-parse", "HEAD")
	ref, need, job = h.job(quick)
	if end := attempt(5, "", h.thin(h.base, second)); end.Record == nil || end.Record.End.Outcome != dag.Done {
		t.Fatalf("the end: %+v", end)
	}
	if end := attempt(6, "", far.Parts(far.Code, "job", []byte("no bundle"))); end.Error == "" {
		t.Fatalf("the end: %+v", end)
	}
	// The claim of the next attempt says what the mirror has.
	ref.N, job.Spec.Attempt = 7, 7
	h.must(h.w.Open(t.Context(), "home", ref, need, job))
	h.sees(ref, "a claim with its commits", func(e *far.Entry) bool {
		return e.Kind == far.Claimed && strings.Contains(strings.Join(e.Claim.Has, " "), h.base)
	})
}
