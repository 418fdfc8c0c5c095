// Package checks finds out how a project is checked: it reads the project's own
// files, such as its Makefile, and runs nothing. What it finds is a proposal to
// the person.
package checks

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// All are the commands that check the project at root, as far as its files
// say, the one that runs its tests first.
func All(root string) []string {
	var all []string
	if test := Test(root); test != "" {
		all = append(all, test)
	}
	add := func(command string) {
		if !slices.Contains(all, command) {
			all = append(all, command)
		}
	}
	for _, target := range []string{"check", "lint", "build"} {
		if holds(root, "Makefile", `(?m)^`+target+`[ \t]*:([^=]|$)`) {
			add("make " + target)
		}
	}
	if there(root, "go.mod") {
		add("go test ./...")
		add("go vet ./...")
	}
	if there(root, "Cargo.toml") {
		add("cargo test")
		add("cargo clippy -- -D warnings")
	}
	scripts := nodeScripts(root)
	for _, name := range []string{"lint", "typecheck", "check", "build"} {
		if scripts[name] != "" {
			add(nodeRunner(root) + " run " + name)
		}
	}
	if holds(root, "pyproject.toml", `(?m)^\[tool\.ruff`) || there(root, "ruff.toml") {
		add("ruff check")
	}
	if holds(root, "pyproject.toml", `(?m)^\[tool\.mypy`) || there(root, "mypy.ini") {
		add("mypy .")
	}
	return all
}

// Ports say which ports the project's files name: agents that serve on the
// same one are in each other's way.
func Ports(root string) (all []string) {
	for _, file := range []string{".env", ".env.example", "package.json", "docker-compose.yml", "compose.yaml", "vite.config.ts", "Procfile"} {
		f, err := os.Open(filepath.Join(root, file))
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(io.LimitReader(f, 1<<20)) // what cannot be read names none
		f.Close()
		if m := portName().FindSubmatch(b); m != nil {
			all = append(all, fmt.Sprintf("%s names port %s: each agent has 20 of its own from $CMUX_PORT_BASE on", file, m[1]))
		}
	}
	return all
}

var portName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:\bport\b|_port\b|--port)["']?[ =:]{1,3}["']?([1-9][0-9]{3,4})\b`)
})

func there(root string, names ...string) bool {
	for _, n := range names {
		if _, err := os.Stat(filepath.Join(root, n)); err == nil {
			return true
		}
	}
	return false
}

// holds reports whether a file of the project holds a pattern.
func holds(root, name, pattern string) bool {
	f, err := os.Open(filepath.Join(root, name))
	if err != nil {
		return false
	}
	defer f.Close()
	return regexp.MustCompile(pattern).MatchReader(bufio.NewReader(io.LimitReader(f, 1<<20)))
}

// nodeRunner is what runs the scripts of package.json.
func nodeRunner(root string) string {
	switch {
	case there(root, "pnpm-lock.yaml"):
		return "pnpm"
	case there(root, "yarn.lock"):
		return "yarn"
	case there(root, "bun.lock", "bun.lockb"):
		return "bun"
	}
	return "npm"
}

// Test is how the project at root is tested, as far as its files say.
// A Makefile's own target comes first: it is what its people run.
func Test(root string) string {
	has := func(names ...string) bool { return there(root, names...) }
	holds := func(name, pattern string) bool { return holds(root, name, pattern) }
	makes := func(target string) bool {
		return slices.ContainsFunc([]string{"Makefile", "makefile", "GNUmakefile"}, func(name string) bool {
			return holds(name, `(?m)^`+target+`[ \t]*:([^=]|$)`)
		})
	}
	switch {
	case makes("test"):
		return "make test"
	case makes("check"):
		return "make check"
	case holds("justfile", `(?m)^test\b[^=\n]*:([^=]|$)`):
		return "just test"
	case has("go.mod"):
		return "go test ./..."
	case has("Cargo.toml"):
		return "cargo test"
	case nodeTests(root):
		if r := nodeRunner(root); r != "bun" {
			return r + " test"
		}
		return "bun run test" // bun test is its own runner
	case has("pytest.ini", "conftest.py", "tests/conftest.py"), holds("pyproject.toml", `(?m)pytest`), holds("setup.cfg", `(?m)^\[tool:pytest\]`):
		return "pytest"
	case has("tox.ini"):
		return "tox"
	case has("mvnw"):
		return "./mvnw test"
	case has("pom.xml"):
		return "mvn test"
	case has("gradlew"):
		return "./gradlew test"
	case has("mix.exs"):
		return "mix test"
	case has("Gemfile") && has("spec"):
		return "bundle exec rspec"
	}
	return unittests(root)
}

// unittests is how the unittest module of Python finds the tests of the project, as
// far as the first file of tests says.
func unittests(root string) string {
	const imports = `(?m)^(import|from) unittest\b`
	for _, dir := range []string{"tests", "test", "."} {
		files, _ := filepath.Glob(filepath.Join(root, dir, "test*.py")) // a pattern that is right
		if !slices.ContainsFunc(files, func(f string) bool { return holds(filepath.Dir(f), filepath.Base(f), imports) }) {
			continue
		}
		if dir == "." || there(root, dir+"/__init__.py") {
			return "python3 -m unittest"
		}
		return "python3 -m unittest discover -s " + dir
	}
	return ""
}

// nodeTests reports whether package.json has a test script other than the
// placeholder of npm init.
func nodeTests(root string) bool {
	test := nodeScripts(root)["test"]
	return test != "" && !strings.Contains(test, "no test specified")
}

// nodeScripts are the scripts of package.json.
func nodeScripts(root string) map[string]string {
	b, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil {
		return nil
	}
	var p struct{ Scripts map[string]string }
	if json.Unmarshal(b, &p) != nil {
		return nil
	}
	return p.Scripts
}
