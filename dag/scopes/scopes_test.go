package scopes

import (
	"slices"
	"strings"
	"testing"
)

func TestIn(t *testing.T) {
	for _, c := range []struct {
		patterns string // separated by spaces
		in, out  string
	}{
		{"src/auth/", "src/auth src/auth/a.go src/auth/deep/er/b.go", "src/authority.go src/auth.go src other/src/auth/a.go"},
		{"src/auth", "src/auth src/auth/a.go src/auth/x/y", "src/auth.go src/authx/a.go"},
		{"main.go", "main.go", "main.go.orig cmd/main.go Main.go"},
		{"./src/x/", "src/x/a", "src/y"},
		{"src//x", "src/x/a", "src/y"},
		{".", "a a/b .hidden/c", ""},
		{"./", "a a/b", ""},
		{"**", "a a/b .hidden/c", ""},
		{"*.go", "a.go .go", "src/a.go a.go/b"},
		{"**/*.go", "a.go src/a.go src/x/y/a.go", "a.ts src/a.gox"},
		{"src/**/*_test.go", "src/a_test.go src/x/y/b_test.go", "a_test.go src/a.go"},
		{"src/*", "src/a", "src/a/b src"},
		{"src/*/", "src/a src/a/b src/a/b/c", "src other"},
		{"src/**", "src src/a src/a/b", "srcs/a"},
		{"{a,b/c}/", "a/x b/c/x", "b/x c/x"},
		{"docs/?.md", "docs/a.md docs/é.md", "docs/ab.md docs/.md/x"},
		{"src/[ab].go", "src/a.go src/b.go", "src/c.go"},
		{"app/[id]/page.tsx", "app/[id]/page.tsx app/i/page.tsx", "app/x/page.tsx"},
		{"app/[id]/", "app/[id]/page.tsx", "app/x/page.tsx"},
		{"app/[id]/**", "app/[id]/page.tsx app/[id]/a/b app/i/page.tsx", "app/x/page.tsx app/[ID]/page.tsx"},
		{"app/[id]/*.tsx", "app/[id]/page.tsx app/d/page.tsx", "app/[id]/page.ts app/[id]/x/page.tsx"},
		{"**/[...slug]/*.tsx", "app/[...slug]/page.tsx", "app/[...slug]/page.ts"},
		{"{x}/[[...all]]/**", "{x}/[[...all]]/a", "y/a"},
		{`app/\[id\]`, "app/[id] app/[id]/page.tsx", "app/i/page.tsx"},
		{`app/\[id\]/*.tsx`, "app/[id]/page.tsx", "app/i/page.tsx app/[id]/page.ts"},
		{`a\*b`, `a*b`, "axb"},
		{"src/données/", "src/données/é.txt", "src/donnees/x"},
		{"a/ b/", "a/x b/x", "c/x"},
		{"", "", "a"},
	} {
		patterns := strings.Fields(c.patterns)
		for _, name := range strings.Fields(c.in) {
			if !In(patterns, name) {
				t.Errorf("In(%q, %q) = false", patterns, name)
			}
		}
		for _, name := range strings.Fields(c.out) {
			if In(patterns, name) {
				t.Errorf("In(%q, %q) = true", patterns, name)
			}
		}
	}
	if !In([]string{"dir with space/"}, "dir with space/a b") {
		t.Error("spaces")
	}
}

// An existing path is taken by its name, and by nothing else.
func TestLiteral(t *testing.T) {
	there := func(path string) bool {
		return slices.Contains([]string{"app", "app/[id]", "app/[id]/[...slug]", "{x}", "{{a}}", "(group)", "(group)/[[...all]]", "a[b]", "src", "src/i", "we,ird", "{a,b}"}, path)
	}
	for _, c := range []struct{ pattern, want, in, out string }{
		{"app/[id]/", `app/\[id\]/`, "app/[id]/page.tsx", "app/i/page.tsx"},
		{"app/[id]", `app/\[id\]`, "app/[id]/page.tsx", "app/i"},
		{"app/[id]/**", `app/\[id\]/**`, "app/[id]/page.tsx", "app/i/page.tsx"},
		{"app/[id]/*.tsx", `app/\[id\]/*.tsx`, "app/[id]/page.tsx", "app/i/page.tsx"},
		{"app/[id]/[...slug]/*", `app/\[id\]/\[...slug\]/*`, "app/[id]/[...slug]/x", "app/[id]/s/x"},
		{"(group)/[[...all]]/", `(group)/\[\[...all\]\]/`, "(group)/[[...all]]/x", "(group)/a]/x"},
		{"{x}/", `\{x\}/`, "{x}/a", "x/a"},
		{"{{a}}", `\{\{a\}\}`, "{{a}}/f", "a/f"},
		{"a[b]", `a\[b\]`, "a[b]/f", "ab"},
		{"{a,b}/", `\{a,b\}/`, "{a,b}/f", "a/f"},
		{"./app/[id]/", `./app/\[id\]/`, "app/[id]/f", "app/i/f"},
		{"src/[id]/", "src/[id]/", "src/i/f", "src/x/f"},
		{"app/[new]/", "app/[new]/", "app/[new]/f", "app/x/f"},
		{"src/**/*.go", "src/**/*.go", "src/a.go", "a.go"},
		{"{a,b/c}/", "{a,b/c}/", "b/c/f", "c/f"},
	} {
		got := Literal([]string{c.pattern}, there)
		if got[0] != c.want {
			t.Errorf("Literal(%q) = %q, want %q", c.pattern, got[0], c.want)
		}
		if !In(got, c.in) || In(got, c.out) {
			t.Errorf("%q as %q: %s %v, %s %v", c.pattern, got[0], c.in, In(got, c.in), c.out, In(got, c.out))
		}
		if back := Unescaped(got); back[0] != c.pattern {
			t.Errorf("Unescaped(%q) = %q, want %q", got[0], back[0], c.pattern)
		}
		if again := Literal(got, there); again[0] != c.want {
			t.Errorf("Literal(%q) = %q", c.want, again[0])
		}
	}
}

func TestFolders(t *testing.T) {
	isDir := func(p string) bool { return p == "lib" || p == "app/[id]" }
	for pattern, want := range map[string]string{
		"api/": "api", "api/**": "api", "./a/b/": "a/b", "lib": "lib", `app/\[id\]/`: "app/[id]",
		"api": "", "api/*": "", "*.go": "", "a/**/b/": "", "./": "", "{a,b}/": "", "**": "",
	} {
		dirs, all := Folders([]string{"x/", pattern}, isDir)
		if got := strings.TrimPrefix(strings.Join(dirs, " "), "x "); all != (want != "") || got != want {
			t.Errorf("%s: %q, %v", pattern, dirs, all)
		}
	}
	if _, all := Folders(nil, isDir); all {
		t.Error("no scope is made of folders")
	}
}
