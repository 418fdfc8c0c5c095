package control

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// processes are what belongs to the process and its terminal: whoever calls
// hands in what they have of it.
var processes = map[string][]string{
	"os":  {"Args", "Getenv", "LookupEnv", "Environ", "Setenv", "ExpandEnv", "Stdin", "Stdout", "Stderr", "Getwd", "Chdir", "Exit", "Executable"},
	"fmt": {"Print", "Println", "Printf", "Scan", "Scanln", "Scanf"},
	"log": {"Print", "Println", "Printf", "Fatal", "Fatalf"},
}

func TestNothingOfTheProcess(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	looked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		looked++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(processes[pkg.Name], sel.Sel.Name) {
					t.Errorf("%s: %s.%s: the caller hands it in", fset.Position(n.Pos()), pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
	if looked < 20 {
		t.Errorf("only %d files were looked at", looked)
	}
}
