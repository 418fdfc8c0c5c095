package fence

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What tools keep may be written; what runs outside the fence later, keys, settings and
// what is kept may not, whatever the environment and links of an earlier program say.
func TestUsual(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, state, wide := filepath.Join(dir, "home"), filepath.Join(dir, "state"), filepath.Join(dir, "wide")
	for _, d := range []string{".ssh", ".claude/hooks", ".claude/projects", "go/bin", "go/pkg", ".cargo/bin", ".cargo/registry", ".nvm", ".config/systemd/user", "tool"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{filepath.Join(state, "cmux"), filepath.Join(wide, "project/.cmux"), filepath.Join(wide, "cache")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{".claude/settings.json", ".claude.json", ".bashrc", ".cargo/env"} {
		if err := os.WriteFile(filepath.Join(home, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{
		"HOME": home, "XDG_STATE_HOME": state, "GOPATH": home, "TMPDIR": filepath.Dir(home), "CARGO_TARGET_DIR": "/", "XDG_RUNTIME_DIR": filepath.Join(home, ".config"),
		"XDG_CACHE_HOME": wide, "GOCACHE": filepath.Join(wide, "cache/link"), "PIP_CACHE_DIR": "relative",
	}
	if err := os.Symlink(filepath.Join(home, ".ssh"), filepath.Join(wide, "cache/link")); err != nil {
		t.Fatal(err)
	}
	places, err := Usual(func(name string) string { return vars[name] }, []string{filepath.Join(wide, "project")}, []string{filepath.Join(home, "tool")})
	if err != nil {
		t.Fatal(err)
	}
	// The test's own folder lies below the temporary folder.
	places = slices.DeleteFunc(places, func(p string) bool { return within(dir, p) })
	may := func(path string) bool {
		return slices.ContainsFunc(places, func(p string) bool { return within(path, p) })
	}
	for _, path := range []string{".cache/x", "go/pkg/mod", ".cargo/registry/x", ".claude/projects/x", "tool/x"} {
		if !may(filepath.Join(home, path)) {
			t.Errorf("%s may not be written", path)
		}
	}
	if !may(filepath.Join(wide, "cache/x")) {
		t.Error("the folder of a variable may not be written")
	}
	for _, path := range strings.Fields(". .ssh/x .bashrc .profile .claude.json .claude/settings.json .claude/hooks/x .claude/agents/new go/bin/x .cargo/bin/x .cargo/env .nvm/nvm.sh .config/systemd/user/x .gnupg/x .local/bin/x") {
		if may(filepath.Join(home, path)) {
			t.Errorf("%s may be written", path)
		}
	}
	for _, path := range []string{filepath.Join(state, "cmux/key"), filepath.Join(wide, "project/.cmux/x"), "/etc/passwd"} {
		if may(path) {
			t.Errorf("%s may be written", path)
		}
	}
}
