package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cmux/dag"
)

func TestTestCommand(t *testing.T) {
	for _, c := range []struct {
		what  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, ""},
		{"Go", map[string]string{"go.mod": "module x\n"}, "go test ./..."},
		{"a Makefile with a test target", map[string]string{"Makefile": "all:\n\ntest: all\n\ttrue\n", "go.mod": ""}, "make test"},
		{"a Makefile without one", map[string]string{"Makefile": "TEST := x\ntest := y\n.PHONY: test\n", "go.mod": ""}, "go test ./..."},
		{"Rust", map[string]string{"Cargo.toml": ""}, "cargo test"},
		{"npm", map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`}, "npm test"},
		{"pnpm", map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`, "pnpm-lock.yaml": ""}, "pnpm test"},
		{"npm's placeholder", map[string]string{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`}, ""},
		{"a broken package.json", map[string]string{"package.json": `{`}, ""},
		{"pytest", map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest"},
		{"Python without pytest", map[string]string{"pyproject.toml": "[project]\n"}, ""},
	} {
		dir := t.TempDir()
		for name, content := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := testCommand(dir); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestParseAgent(t *testing.T) {
	for s, want := range map[string]agentAnswer{
		"api":                                  {Name: "api"},
		"api:after=a,b:role=review":            {Name: "api", After: "a,b", Role: "review"},
		"api:branch=f/x:kind=command:task=a:b": {Name: "api", Branch: "f/x", Kind: "command", Task: "a:b"},
		"api:task=x=1:role=gate":               {Name: "api", Task: "x=1:role=gate"},
	} {
		got, err := parseAgent(s)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", ":task=x", "api:", "api:role", "api:colour=red"} {
		if _, err := parseAgent(s); exitCode(err) != 2 {
			t.Errorf("%q: %v, want an error of usage", s, err)
		}
	}
}

func TestSessionName(t *testing.T) {
	for dir, want := range map[string]string{"/a/shop": "shop", "/a/my shop.git": "my-shop-git", "/a/日本": "agents", "/": "agents"} {
		if got := sessionName(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
}

// FuzzCompose holds that whatever is answered is what the configuration says,
// or that the configuration is refused.
func FuzzCompose(f *testing.F) {
	f.Add("shop", "api", "make build", "feature/x", "go test ./...")
	f.Add("shop", "a", "echo \"a: b\"\n# no comment\n- x", "", "")
	f.Add("yes", "null", "true", "1e3", "~")
	f.Add("s", "a", "\u2028\x85\ufeff`$(id)` 😀", "b", "'")
	f.Fuzz(func(t *testing.T, session, name, task, branch, verify string) {
		a := answers{Session: session, WorktreeBase: "..", MainPane: true, Verify: verify,
			Agents: []agentAnswer{{Name: name, Task: task, Branch: branch}}}
		g, _, err := dag.Parse("x.yml", []byte(compose(a, dag.SchemaPath)), dag.ParseOptions{})
		if err != nil {
			return
		}
		n := &g.Nodes[0]
		if g.Session != session || n.Name != name || n.Task != strings.ToValidUTF8(task, "\ufffd") || branch != "" && n.Branch != branch {
			t.Errorf("%+v became session %q, node %+v", a, g.Session, n)
		}
		if verify != "" && !reflect.DeepEqual(n.Verify, []string{strings.ToValidUTF8(verify, "\ufffd")}) {
			t.Errorf("verify %q became %q", verify, n.Verify)
		}
	})
}
