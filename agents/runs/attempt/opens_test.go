package attempt

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cmux/agents/platform/fence"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// aside returns a home folder outside of the temporary folders, which may all be written.
func aside(t *testing.T) string {
	t.Helper()
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(cwd, "/tmp/") || strings.HasPrefix(cwd, "/var/tmp/") {
		t.Skip("the package lies in a temporary folder")
	}
	home, err := os.MkdirTemp(cwd, "testdata-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	return home
}

// TestOpens: what a refusal names as its way out lets that path be written.
func TestOpens(t *testing.T) {
	home := aside(t)
	for _, dir := range []string{"tools/a", ".ssh", "root/.cmux", "root/src"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := func(write ...string) *fencing {
		spec := &run.Spec{Def: &dag.Node{Fence: dag.Fence{Mode: dag.FenceAuto, Write: write}}, Frame: &run.Frame{Root: filepath.Join(home, "root")}}
		f, err := newFencing(spec, run.Paths{Dir: filepath.Join(home, "root/.cmux")}, []string{"HOME=" + home, "PATH="}, t.Logf)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.drop() })
		return f
	}
	f := build()
	for path, want := range map[string]string{
		"tools/a/made":    "~/tools/a",
		"tools/a":         "~/tools/a",
		"made":            "", // nothing can be made right in the home folder
		".ssh/config":     "", // is kept out
		"root/.cmux/made": "",
		"root/src/made":   "",
		"root/tree/a/b":   "scope:a/b",
	} {
		got := f.opens(filepath.Join(home, path), filepath.Join(home, "root/tree"))
		if got != want {
			t.Errorf("%s is opened by %q, not %q", path, got, want)
		}
		if strings.HasPrefix(got, run.OpenScope) {
			continue
		}
		opened := &fence.Fence{Write: build(slices.DeleteFunc([]string{got}, func(s string) bool { return s == "" })...).places}
		if opened.Refuses(filepath.Join(home, path)) != (want == "") {
			t.Errorf("%s: %q does not do what it says", path, got)
		}
	}
}
