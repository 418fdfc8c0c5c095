package checks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		{"a Makefile with a check", map[string]string{"Makefile": "all:\ncheck: all\n\ttrue\n"}, "make check"},
		{"a Makefile with both", map[string]string{"Makefile": "check:\n\ttrue\ntest:\n\ttrue\n"}, "make test"},
		{"unittest beside the code", map[string]string{"test_a.py": "import unittest\n"}, "python3 -m unittest"},
		{"unittest in a package", map[string]string{"tests/__init__.py": "", "tests/test_a.py": "from unittest import TestCase\n"}, "python3 -m unittest"},
		{"unittest in a folder", map[string]string{"tests/test_a.py": "import unittest\n"}, "python3 -m unittest discover -s tests"},
		{"tests of something else", map[string]string{"tests/test_a.py": "import nose\n"}, ""},
		{"Python without pytest", map[string]string{"pyproject.toml": "[project]\n"}, ""},
	} {
		dir := t.TempDir()
		for name, content := range c.files {
			file := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		if got := Test(dir); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

func TestChecksAndPorts(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"package.json":   `{"scripts": {"test": "vitest", "lint": "eslint .", "dev": "vite --port 5173"}}`,
		"Makefile":       "lint:\n\ttrue\nTEST := 1\n",
		"go.mod":         "module x\n",
		"pyproject.toml": "[tool.ruff]\n",
		".env":           "DB_PORT=5432\nIMPORTANT=12345\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(All(dir), "; "); got != "go test ./...; make lint; go vet ./...; npm run lint; ruff check" {
		t.Errorf("checks %q", got)
	}
	got := Ports(dir)
	if len(got) != 2 || !strings.HasPrefix(got[0], ".env names port 5432: ") || !strings.HasPrefix(got[1], "package.json names port 5173: ") {
		t.Errorf("ports %q", got)
	}
	if all := All(t.TempDir()); len(all) != 0 || Ports(t.TempDir()) != nil {
		t.Errorf("of nothing: %q", all)
	}
}
