package team

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTemplates(t *testing.T) {
	all := append(Templates(), Core())
	if len(Templates()) != 6 {
		t.Errorf("%d templates", len(Templates()))
	}
	for _, x := range all {
		if err := x.Check(); err != nil {
			t.Error(err)
		}
		for _, m := range x.Members {
			if roles[m.Role] == nil {
				t.Errorf("%s: no instructions for the role %s", x.Name, m.Role)
			}
		}
	}
	for want, x := range map[string]Template{
		"no role":     {Name: "x", Members: []Member{{Role: "A b"}}},
		"two members": {Name: "x", Members: []Member{{Role: "a"}, {Role: "a"}}},
		"2 leads":     {Name: "x", Members: []Member{{Role: "a", Lead: true}, {Role: "b", Lead: true}}},
		"no name":     {Name: "X", Members: []Member{{Role: "a"}}},
		"0 members":   {Name: "x"},
		"needs a le":  {Name: "x", Debate: true, Members: []Member{{Role: "a"}, {Role: "b"}}},
	} {
		if err := x.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for task, want := range map[string]string{"Add the login to the shop": "add-login-shop", "": "team", "ÄÖ!": "team", "Implement internationalization": "implement"} {
		if got := Called(task); got != want {
			t.Errorf("%q: %s, want %s", task, got, want)
		}
	}
}

func TestScan(t *testing.T) {
	p := Scan(Listing{
		Files: []string{"go.mod", "README.md", "Makefile", "web/package.json", "web/tsconfig.json", "a.go", "a_test.go", "b.go", ".editorconfig", "web/x.test.ts"},
		Texts: map[string]string{"go.mod": "module x\nrequire github.com/spf13/cobra v1", "Makefile": "VERSION := 1\nall: build\nbuild:\n\tgo build\ntest: build\n", "package.json": `{"scripts": {"dev": "vite", "odd": "x"}}`},
		Log:   "\x00Ann\n\nweb/a.ts\nweb/b.ts\nREADME.md\n\x00Bob\n\nweb/a.ts\ncmd/x.go\n",
	})
	want := Profile{
		Stack:    []string{"Go", "Node.js", "TypeScript", "Cobra"},
		KeyFiles: []string{"README.md", "Makefile", "go.mod"},
		Commands: []Command{{"dev", "npm run dev", "package.json"}, {"all", "make all", "Makefile"}, {"build", "make build", "Makefile"}, {"test", "make test", "Makefile"}, {"build", "go build ./...", "go.mod"}, {"test", "go test ./...", "go.mod"}},
		Conventions: []string{"an editor's settings: .editorconfig", "tests stand as *.test.* or *.spec.* (1)", "tests stand beside the code, as *_test.go (1)",
			"most files are .go (3), .json (2)"},
		Owners: []Owner{{"web", []string{"Ann", "Bob"}}, {"cmd", []string{"Bob"}}},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("\n got %+v\nwant %+v", p, want)
	}
	mates := []Mate{{"auth-lead", Member{Role: "lead", Lead: true}}, {"auth-api", Member{Role: "backend", About: "You own the API."}}}
	lead := Role(Said{Team: "auth", Me: mates[0], Mates: mates, Boss: "supervisor", Profile: p})
	for _, want := range []string{"You report to supervisor", "- auth-api: backend", "cmux tasks assign ID NAME", "`make test` (Makefile)", "who knows web/: Ann, Bob"} {
		if !strings.Contains(lead, want) {
			t.Errorf("no %q in\n%s", want, lead)
		}
	}
	if got := Role(Said{Team: "auth", Me: mates[1], Mates: mates, Boss: "auth-lead", Profile: p, Permanent: true}); !strings.Contains(got, "You own the API.") || !strings.Contains(got, "auth-lead: lead, who leads") || !strings.Contains(got, "You stay after each task") {
		t.Error(got)
	}
}

// Whatever a project holds, a scan ends and what it says of it is lines of its own.
func TestScanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("a/\n\x00 `#:{}\"é")))
		p := Scan(Listing{Files: rapid.SliceOfN(text, 0, 20).Draw(t, "files"), Texts: map[string]string{"Makefile": text.Draw(t, "make"), "package.json": text.Draw(t, "json")}, Log: text.Draw(t, "log")})
		for l := range strings.Lines(p.text()) {
			if l != "\n" && l != "## The project\n" && !strings.HasPrefix(l, "- ") {
				t.Fatalf("%q", l)
			}
		}
	})
}
