package team

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Profile is what a scan found out about a project.
type Profile struct {
	Stack       []string  `json:"stack"`
	KeyFiles    []string  `json:"key_files"`
	Commands    []Command `json:"commands"`
	Conventions []string  `json:"conventions"`
	Owners      []Owner   `json:"owners"`
}

// Command is how something is done in the project.
type Command struct {
	What string `json:"what"`
	Line string `json:"line"`
	From string `json:"from"` // file that says so
}

// Owner says who changed a folder most.
type Owner struct {
	Folder string   `json:"folder"`
	Names  []string `json:"names"`
}

// Listing is what is scanned: nothing of it is believed to be more than text.
type Listing struct {
	Files []string          // paths that git tracks, from the root
	Texts map[string]string // of those of Wanted that there are
	Log   string            // of git log --name-only --format=%x00%an
}

// Wanted are the files whose text a scan looks at.
func Wanted() []string {
	return []string{"package.json", "go.mod", "Makefile", "pyproject.toml", "Cargo.toml", "requirements.txt", "docker-compose.yml", ".editorconfig"}
}

// manifests say by a file's name what a project is made with.
var manifests = []struct{ file, stack string }{
	{"go.mod", "Go"}, {"package.json", "Node.js"}, {"tsconfig.json", "TypeScript"}, {"pyproject.toml", "Python"}, {"requirements.txt", "Python"}, {"Cargo.toml", "Rust"},
	{"pom.xml", "Java (Maven)"}, {"build.gradle", "Java (Gradle)"}, {"build.gradle.kts", "Kotlin (Gradle)"}, {"Gemfile", "Ruby"}, {"composer.json", "PHP"}, {"mix.exs", "Elixir"},
	{"CMakeLists.txt", "C or C++ (CMake)"}, {"Dockerfile", "Docker"}, {"docker-compose.yml", "Docker Compose"},
}

// libraries say so by what a manifest names.
var libraries = []struct{ in, name, stack string }{
	{"package.json", `"react":`, "React"}, {"package.json", `"vue":`, "Vue"}, {"package.json", `"svelte":`, "Svelte"}, {"package.json", `"next":`, "Next.js"}, {"package.json", `"vite":`, "Vite"}, {"package.json", `"express":`, "Express"},
	{"package.json", `"tailwindcss":`, "Tailwind"}, {"pyproject.toml", "fastapi", "FastAPI"}, {"pyproject.toml", "django", "Django"}, {"pyproject.toml", "flask", "Flask"}, {"requirements.txt", "fastapi", "FastAPI"}, {"requirements.txt", "django", "Django"},
	{"go.mod", "spf13/cobra", "Cobra"}, {"go.mod", "gin-gonic/gin", "Gin"}, {"Cargo.toml", "tokio", "Tokio"},
}

// key are files that everybody should know.
var key = []string{"README.md", "AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "Makefile", "package.json", "go.mod", "pyproject.toml", "Cargo.toml", "Dockerfile", "docker-compose.yml", ".cmux-agents.yml"}

// Bounds of what a profile says.
const (
	maxCommands = 12
	maxOwners   = 8
)

// Scan makes a profile of a listing.
func Scan(l Listing) (p Profile) {
	there, bases := map[string]bool{}, map[string]string{}
	ext, tests := map[string]int{}, map[string]int{}
	for _, f := range l.Files {
		there[f] = true
		if b := path.Base(f); bases[b] == "" || len(f) < len(bases[b]) {
			bases[b] = f
		}
		ext[path.Ext(f)]++
		switch {
		case strings.HasSuffix(f, "_test.go"):
			tests["beside the code, as *_test.go"]++
		case strings.Contains(f, ".test.") || strings.Contains(f, ".spec."):
			tests["as *.test.* or *.spec.*"]++
		case strings.HasPrefix(path.Base(f), "test_"):
			tests["as test_*"]++
		}
	}
	add := func(stack string) {
		if !slices.Contains(p.Stack, stack) {
			p.Stack = append(p.Stack, stack)
		}
	}
	for _, m := range manifests {
		if bases[m.file] != "" {
			add(m.stack)
		}
	}
	for _, x := range libraries {
		if strings.Contains(strings.ToLower(l.Texts[x.in]), x.name) {
			add(x.stack)
		}
	}
	for _, f := range key {
		if there[f] {
			p.KeyFiles = append(p.KeyFiles, f)
		}
	}
	p.Commands = commands(l.Texts)
	p.Conventions = conventions(there, ext, tests)
	p.Owners = owners(l.Log)
	return p
}

func commands(texts map[string]string) (all []Command) {
	var scripts struct{ Scripts map[string]string }
	if json.Unmarshal([]byte(texts["package.json"]), &scripts) == nil {
		for _, name := range []string{"dev", "start", "build", "test", "lint", "typecheck", "format"} {
			if scripts.Scripts[name] != "" {
				all = append(all, Command{name, "npm run " + name, "package.json"})
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(all|build|test|check|lint|run|dev|docs|fmt|install): *[^=\n]*$`).FindAllStringSubmatch(texts["Makefile"], -1) {
		all = append(all, Command{m[1], "make " + m[1], "Makefile"})
	}
	if texts["go.mod"] != "" {
		all = append(all, Command{"build", "go build ./...", "go.mod"}, Command{"test", "go test ./...", "go.mod"})
	}
	if texts["Cargo.toml"] != "" {
		all = append(all, Command{"build", "cargo build", "Cargo.toml"}, Command{"test", "cargo test", "Cargo.toml"})
	}
	if strings.Contains(texts["pyproject.toml"]+texts["requirements.txt"], "pytest") {
		all = append(all, Command{"test", "pytest", "pyproject.toml or requirements.txt"})
	}
	return all[:min(len(all), maxCommands)]
}

func conventions(there map[string]bool, ext, tests map[string]int) (all []string) {
	for _, t := range slices.Sorted(maps.Keys(tests)) {
		all = append(all, fmt.Sprintf("tests stand %s (%d)", t, tests[t]))
	}
	for file, says := range map[string]string{".editorconfig": "an editor's settings", ".prettierrc": "Prettier formats", ".eslintrc.json": "ESLint checks", "eslint.config.js": "ESLint checks", ".golangci.yml": "golangci-lint checks", "ruff.toml": "Ruff checks", ".pre-commit-config.yaml": "pre-commit runs before commits", "CONTRIBUTING.md": "how to contribute"} {
		if there[file] {
			all = append(all, says+": "+file)
		}
	}
	slices.Sort(all)
	type count struct {
		ext string
		n   int
	}
	var most []count
	for e, n := range ext {
		if e != "" && n > 1 {
			most = append(most, count{e, n})
		}
	}
	slices.SortFunc(most, func(a, b count) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.ext, b.ext)) })
	var kinds []string
	for _, c := range most[:min(4, len(most))] {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", c.ext, c.n))
	}
	if len(kinds) > 0 {
		all = append(all, "most files are "+strings.Join(kinds, ", "))
	}
	return all
}

// owners are who changed each folder most, the folder that changed most first.
func owners(log string) (all []Owner) {
	changes := map[string]map[string]int{}
	total := map[string]int{}
	who := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "\x00"); ok {
			who = name
			continue
		}
		folder, _, in := strings.Cut(line, "/")
		if line == "" || who == "" || !in {
			continue
		}
		if changes[folder] == nil {
			changes[folder] = map[string]int{}
		}
		changes[folder][who]++
		total[folder]++
	}
	for _, folder := range slices.SortedFunc(maps.Keys(total), func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) }) {
		by := changes[folder]
		names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
		if all = append(all, Owner{folder, names[:min(3, len(names))]}); len(all) == maxOwners {
			break
		}
	}
	return all
}

// line joins s into one line and replaces its backquotes, for a list in a role's text.
func line(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "'")), " ")
}

// text is the profile as a part of a role.
func (p *Profile) text() string {
	var b strings.Builder
	b.WriteString("\n## The project\n\n")
	row := func(what string, all []string) {
		if len(all) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", what, line(strings.Join(all, ", ")))
		}
	}
	row("made with", p.Stack)
	row("read first", p.KeyFiles)
	for _, c := range p.Commands {
		fmt.Fprintf(&b, "- %s: `%s` (%s)\n", c.What, line(c.Line), c.From)
	}
	row("conventions", p.Conventions)
	for _, o := range p.Owners {
		row("who knows "+o.Folder+"/", o.Names)
	}
	return b.String()
}
