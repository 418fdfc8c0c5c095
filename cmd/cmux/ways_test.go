package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// waysFile lists every way out that a message of cmux or docs/recovery.md
// names, and beside it the test that meets the message and follows it.
const waysFile = "testdata/ways.txt"

// A way out that a message names works, because a test walks it. A new message
// with a way out wants a line in testdata/ways.txt:
//
//	WHERE | THE WAY AS IT IS WRITTEN | script NAME: ANCHOR
//
// which says that testdata/script/NAME.txtar has a line "# way: ANCHOR" at which
// the message is met and its words are followed; or `test FILE: FUNCTION`, a Go
// test that does; or `cannot: WHY`, for what no test can do on this machine.
func TestWaysOut(t *testing.T) {
	found := waysInSource(t)
	found = append(found, waysInRecovery(t)...)
	slices.Sort(found)
	found = slices.Compact(found)

	walked := make(map[string]string)
	b, err := os.ReadFile(waysFile)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(b), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " | ")
		if at < 0 || strings.Count(line, " | ") < 2 {
			t.Fatalf("%s:%d: want WHERE | WAY | WALK", waysFile, n+1)
		}
		key, walk := line[:at], line[at+3:]
		if _, twice := walked[key]; twice {
			t.Errorf("%s:%d: twice: %s", waysFile, n+1, key)
		}
		walked[key] = walk
		if err := isWalk(walk); err != nil {
			t.Errorf("%s:%d: %v", waysFile, n+1, err)
		}
	}
	for _, key := range found {
		if walked[key] == "" {
			t.Errorf("no test walks this way out; name one in %s:\n%s | ", waysFile, key)
		}
		delete(walked, key)
	}
	for _, key := range slices.Sorted(maps.Keys(walked)) {
		t.Errorf("%s lists what no message names any more:\n%s", waysFile, key)
	}
}

// isWalk checks that the test is there that walk names.
func isWalk(walk string) error {
	kind, rest, _ := strings.Cut(walk, " ")
	at, what, ok := strings.Cut(rest, ": ")
	if kind == "cannot:" && len(rest) > 10 {
		return nil
	}
	if !ok {
		return fmt.Errorf("%q is neither script NAME: ANCHOR nor test FILE: FUNCTION nor cannot: WHY", walk)
	}
	switch kind {
	case "script":
		b, err := os.ReadFile(filepath.Join("testdata/script", at+".txtar"))
		if err != nil {
			return err
		}
		if !bytes.Contains(b, []byte("\n# way: "+what+"\n")) {
			return fmt.Errorf("script %s has no line \"# way: %s\"", at, what)
		}
	case "test":
		b, err := os.ReadFile(filepath.Join("../..", at))
		if err != nil {
			return err
		}
		if !regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(what) + `\(t \*testing\.T\)`).Match(b) {
			return fmt.Errorf("%s has no %s", at, what)
		}
	default:
		return fmt.Errorf("%q: what is that?", kind)
	}
	return nil
}

// ofHint reports whether a function is one of package hint.
func ofHint(fun ast.Expr) bool {
	s, ok := fun.(*ast.SelectorExpr)
	return ok && lastName(s.X) == "hint"
}

// names says that a text tells a person which command helps.
var names = regexp.MustCompile(`\bcmux (agents [a-z]|snapshots [a-z]|doctor\b)`)

// waysInSource finds the ways out in the messages of the source: what is given
// as a Try, the first argument of Usage and hint.Errorf, the second of hint.New, and the texts of errors and
// of what is printed, returned or filled in that name a command.
func waysInSource(t *testing.T) (all []string) {
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "examples", "modeltest", "benchruns", "chaos"}, name)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		add := func(text string) {
			if text = strings.Join(strings.Fields(text), " "); text != "" {
				all = append(all, filepath.ToSlash(rel)+" | "+text)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					kv, keyed := e.(*ast.KeyValueExpr)
					switch {
					case keyed && lastName(kv.Key) == "Try":
						add(words(kv.Value))
					case keyed && !slices.Contains([]string{"Short", "Long", "Example", "doc", "Doc"}, lastName(kv.Key)) && names.MatchString(words(kv.Value)):
						add(words(kv.Value))
					}
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if name := lastName(l); (name == "try" || name == "Try" || name == "way") && i < len(n.Rhs) {
						add(words(n.Rhs[i]))
					}
				}
			case *ast.ReturnStmt:
				for _, e := range n.Results {
					if text := words(e); names.MatchString(text) {
						add(text)
					}
				}
			case *ast.CallExpr:
				fn := lastName(n.Fun)
				switch {
				case (fn == "Usage" || fn == "hint" || fn == "Errorf" && ofHint(n.Fun)) && len(n.Args) > 1:
					add(words(n.Args[0]))
				case (fn == "New" && ofHint(n.Fun) || fn == "untrusted") && len(n.Args) == 2:
					add(words(n.Args[1]))
				case slices.Contains([]string{"Errorf", "New", "refuse", "Fprintf", "Fprintln", "Fprint", "Sprintf", "also", "failed", "tell", "note", "Tell"}, fn):
					for _, a := range n.Args {
						if lit, ok := a.(*ast.BasicLit); ok {
							if text := words(lit); names.MatchString(text) {
								add(text)
							}
						}
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return lastName(e.X)
	}
	return ""
}

// words are the literal texts of an expression, what it fills in as …
func words(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return s
		}
	case *ast.BinaryExpr:
		x, y := words(e.X), words(e.Y)
		if x == "" && y == "" {
			return ""
		}
		if x == "" {
			x = "…"
		}
		if y == "" {
			y = "…"
		}
		return x + y
	case *ast.CallExpr:
		if lastName(e.Fun) == "Sprintf" && len(e.Args) > 0 {
			return words(e.Args[0])
		}
	}
	return ""
}

// waysInRecovery are the rows of the messages in docs/recovery.md.
func waysInRecovery(t *testing.T) (all []string) {
	ways := false // in a table of them
	b, err := os.ReadFile("../../docs/recovery.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 3 || !strings.HasPrefix(cells[0], "| ") {
			ways = ways && strings.HasPrefix(line, "|")
			continue
		}
		if head := cells[2]; !ways {
			ways = head == "what you do |" || head == "way out |"
			continue
		}
		all = append(all, "docs/recovery.md | "+strings.TrimPrefix(cells[0], "| ")+" -> "+strings.TrimSuffix(cells[2], " |"))
	}
	return all
}
