package dag

import (
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"cmux/dag/scopes"
)

// Warnings also take existing paths by their names.
func TestOverlapsOfWhatExists(t *testing.T) {
	there := func(path string) bool { return path == "app/[id]" || path == "app/{x}" }
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"app/[id]/", "app/i/", false},
		{"app/[id]/**", "app/d/page.tsx", false},
		{"app/[id]/**", "app/[id]/page.tsx", true},
		{"app/[id]/*.tsx", "app/[id]/page.tsx", true},
		{"app/[id]/*.tsx", "app/[id]/page.ts", false},
		{"app/[id]/", "app/*/page.tsx", true},
		{"app/{x}/*.ts", "app/x/a.ts", false},
		{"app/{x}/*.ts", "app/{x}/a.ts", true},
		{"app/[new]/", "app/n/", true},
	} {
		g := &Graph{Nodes: []Node{{Name: "a", Role: RoleBuild, Scope: []string{c.a}}, {Name: "b", Role: RoleBuild, Scope: []string{c.b}}}}
		if err := g.link(); err != nil {
			t.Fatal(err)
		}
		if got := Overlaps(g, there); (len(got) == 1) != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		} else if c.want && (got[0].PatternA != c.a || got[0].PatternB != c.b) {
			t.Errorf("%s and %s are named as %v", c.a, c.b, got)
		}
	}
}

func TestOverlaps(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src/auth/", "src/catalog/", false},
		{"src/auth/", "src/authority/", false},
		{"src/auth", "src/auth.go", false},
		{"src/", "src/auth/", true},
		{"src/auth/", "src/auth/login.go", true},
		{"src/auth/", "SRC/Auth/", true}, // one directory on some systems
		{".", "src/auth/", true},
		{"**/*_test.go", "src/auth/", true},
		{"**/*_test.go", "src/auth/login.go", false},
		{"**/*_test.go", "src/auth.ts", false},
		{"**/*_test.go", "src/auth", true}, // it may be a directory
		{"v1.2", "v1.2/x.go", true},
		{"**/*.yml", ".github", true},
		{"*.go", "*_test.go", true},
		{"*.go", "*.ts", false},
		{"src/*.go", "src/*/x.go", false},
		{"src/*/x.go", "src/y/*", true},
		{"src/**/x.go", "src/a/b/c/x.go", true},
		{"src/**/x.go", "src/a/b/c/y.go", false},
		{"src/**/x.go", "lib/", false},
		{"src/**/a/*.go", "src/**/b/*.go", false},
		{"src/**/a/**", "src/**/b/**", true},
		{"{src,lib}/", "lib/x", true},
		{"{src,lib}/*.go", "cmd/*.go", false},
		{"{a,b/{c,d}}/x*", "b/d/xy", true},
		{"{a,b/{c,d}}/x*", "b/e/xy", false},
		{"app/[id]/", "app/[id]/page.tsx", true},
		{"app/[id]/", "app/users/", false},
		{"app/[id]x/", "app/*/", true},
		{"app/[id]", "app/[id]/page.tsx", true},             // a directory of that name
		{"app/[id]/page.tsx", "app/[id]/page.tsx/x", false}, // a file
		{"app/[id].v/", "app/[id].v/x", true},
		{"app/[id]/page.tsx", "app/[ID]", true},
		{"{{cookiecutter.slug}}/", "{{cookiecutter.slug}}/setup.py", true},
		{"{{a}}", "{{a}}/{b}/x", true},
		{"app/[...slug]", "app/[...slug]/page.tsx", true},
		{"{{cookiecutter.slug}}", "{{cookiecutter.slug}}/setup.py", true},
		{"app/[id].ts", "app/[id].ts/x", false},
		{"docs/", "src/[", false},
		{"src/b", `src/{a,b}/\a/{a,b}`, true},
		{"src/b", "src/{a,b}/[a]{a,b}", true},
		{"src/c/d", "src/{a,c}/{" + strings.Repeat("x,", 65) + "d}", true},
		{"src/a/yz", "src/{a/{y" + strings.Repeat(",x", 65) + "}}z", true},
		{"src/a", "src/[^A]", true},
		{"src/_", "src/[A-z]", true},
	} {
		g := &Graph{Nodes: []Node{
			{Name: "a", Role: RoleBuild, Scope: []string{"first/a", c.a}},
			{Name: "b", Role: RoleBuild, Scope: []string{c.b}},
		}}
		if err := g.link(); err != nil {
			t.Fatal(err)
		}
		var want []Overlap
		if c.want {
			want = []Overlap{{0, 1, c.a, c.b}}
		}
		if c.a == "." {
			want[0].PatternA = "." // the first pattern does not meet
		}
		if got := Overlaps(g, nil); !reflect.DeepEqual(got, want) {
			t.Errorf("%q and %q: %v, want %v", c.a, c.b, got, want)
		}
		g.Nodes[0].Scope, g.Nodes[1].Scope = g.Nodes[1].Scope, g.Nodes[0].Scope
		if got := Overlaps(g, nil); (len(got) == 1) != c.want {
			t.Errorf("%q and %q: %v", c.b, c.a, got)
		}
	}
}

func TestOverlapsOrder(t *testing.T) {
	g := &Graph{Nodes: []Node{
		{Name: "a", Role: RoleBuild, Scope: []string{"x/"}},
		{Name: "plain", Role: RoleBuild, DependsOn: []string{"a"}},
		{Name: "after", Role: RoleBuild, Scope: []string{"x/"}, DependsOn: []string{"plain"}},
		{Name: "beside", Role: RoleMerge, Scope: []string{"x/y"}},
		{Name: "review", Role: RoleReview, Scope: []string{"x/"}},
	}}
	if err := g.link(); err != nil {
		t.Fatal(err)
	}
	want := []Overlap{{0, 3, "x/", "x/y"}, {2, 3, "x/", "x/y"}}
	if got := Overlaps(g, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("overlaps %v, want %v", got, want)
	}
}

func TestOverlapsBounded(t *testing.T) {
	g := &Graph{}
	for i := range maxScoped + 100 {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprintf("n%d", i), Role: RoleBuild, Scope: []string{"src/"}})
	}
	if err := g.link(); err != nil {
		t.Fatal(err)
	}
	if got := len(Overlaps(g, nil)); got != maxOverlaps {
		t.Errorf("%d overlaps, want %d", got, maxOverlaps)
	}
}

// No path may be in two scopes that do not overlap.
func TestMeetCoversInScope(t *testing.T) {
	many := "{a/a,a" + strings.Repeat(",c", 100) + "}" // more than is spelled out
	part := rapid.SampledFrom([]string{"a", "b", "ab", "*", "a*", "*b", "?", "[ab]", "**", "{a,b}", "{a,b/ab}", "{a*,**}", `\a`, `\*`, `{\a,b}`, "a[b]", "A", "[^A]", "[A-b]", "{a}", "{{a}}", many, many + "b"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		s := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
		if rapid.Bool().Draw(t, "slash") {
			s += "/"
		}
		return s
	}).Filter(func(s string) bool { return doublestar.ValidatePattern(s) })
	name := rapid.Custom(func(t *rapid.T) string {
		return path.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "ba", "aab", "A", "B", "[ab]", "a[b]", "{a}", "{{a}}"}), 1, 5).Draw(t, "names")...)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, file := pattern.Draw(t, "a"), pattern.Draw(t, "b"), name.Draw(t, "file")
		if rapid.Bool().Draw(t, "exists") {
			some := scopes.Literal([]string{a, b}, func(string) bool { return true })
			for i, p := range some {
				if !scopes.In([]string{[]string{a, b}[i]}, file) && scopes.In(some[i:i+1], file) {
					t.Fatalf("%q is in %q and not in %q", file, p, []string{a, b}[i])
				}
			}
			a, b = some[0], some[1]
		}
		if !scopes.In([]string{a}, file) || !scopes.In([]string{b}, file) {
			return
		}
		g := &Graph{Nodes: []Node{{Name: "a", Role: RoleBuild, Scope: []string{a}}, {Name: "b", Role: RoleBuild, Scope: []string{b}}}}
		if err := g.link(); err != nil {
			t.Fatal(err)
		}
		if len(Overlaps(g, nil)) == 0 {
			t.Fatalf("%q is in the scopes %q and %q, which are said not to meet", file, a, b)
		}
	})
}
