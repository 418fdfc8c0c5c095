package dag

import (
	"slices"
	"strings"
	"testing"

	"cmux/dag/scopes"
)

func TestDir(t *testing.T) {
	for _, c := range []struct {
		defaults, node string
		dir            string
		scope, context []string
	}{
		{"{}", "dir: packages/web", "packages/web", nil, nil},
		{"{}", "dir: ./packages//web/", "packages/web", nil, nil},
		{"{}", "dir: .", "", nil, nil},
		{"{dir: web}", "agent: command", "web", nil, nil},
		{"{dir: web}", "dir: .", "", nil, nil},
		{"{dir: web}", "dir: api", "api", nil, nil},
		{"{}", "dir: web, scope: [./src/, ., ./, go.mod, ./.env, './**/*.ts'], context: [./docs, docs]", "web",
			[]string{"web/src/", "web/", "web/", "go.mod", "web/.env", "web/**/*.ts"}, []string{"web/docs", "docs"}},
		{"{scope: [./src, top]}", "dir: web", "web", []string{"web/src", "top"}, nil},
		{"{scope: [./src]}", "agent: command", "", []string{"./src"}, nil},
		{"{}", "dir: 'app/[id]', scope: './*.ts'", "app/[id]", []string{`app/\[id\]/*.ts`}, nil},
		{"{}", "dir: 'a b/é', scope: ./x", "a b/é", []string{"a b/é/x"}, nil},
		{"{}", "dir: '...'", "...", nil, nil},
	} {
		src := "session: s\ndefaults: " + c.defaults + "\nagents:\n  - {name: n, task: x, " + c.node + "}\n  - {name: other, task: y, scope: ./z}\n"
		g, warnings, err := Parse("f.yml", []byte(src), ParseOptions{})
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", c.node, warnings, err)
			continue
		}
		if n := &g.Nodes[0]; n.Dir != c.dir || !slices.Equal(n.Scope, c.scope) || !slices.Equal(n.Context, c.context) {
			t.Errorf("%s under %s: dir %q, scope %q, context %q", c.node, c.defaults, n.Dir, n.Scope, n.Context)
		}
		checkForms(t, g)
	}
}

// Brackets in dir are literal where ./ stands for it.
func TestDirInScope(t *testing.T) {
	g, _, err := Parse("f.yml", []byte("session: s\nagents: [{name: n, task: x, dir: 'app/[id]', scope: './*.ts'}]\n"), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patterns := g.Nodes[0].Scope
	if !scopes.In(patterns, "app/[id]/page.ts") || scopes.In(patterns, "app/i/page.ts") {
		t.Errorf("scope %q", patterns)
	}
}

func TestDirOfMatrix(t *testing.T) {
	g, _, err := Parse("f.yml", []byte("session: s\nagents: [{name: n, task: x, dir: 'packages/${{ matrix.p }}', scope: ./src, matrix: {p: [web, api]}}]\n"), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"packages/web", "packages/api"} {
		if n := &g.Nodes[i]; n.Dir != want || n.Scope[0] != want+"/src" {
			t.Errorf("%s: dir %q, scope %q", n.Name, n.Dir, n.Scope)
		}
	}
}

func TestDirOfGate(t *testing.T) {
	g, warnings, err := Parse("f.yml", []byte("session: s\ndefaults: {dir: web}\nagents:\n  - {name: a, role: gate}\n  - {name: b, role: gate, dir: web}\n"), ParseOptions{})
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0].Error(), "f.yml:5:32: dir has no effect on a gate") {
		t.Fatalf("%v %v", warnings, err)
	}
	if g.Nodes[0].Dir != "" || g.Nodes[1].Dir != "" {
		t.Errorf("nodes %+v", g.Nodes)
	}
}
