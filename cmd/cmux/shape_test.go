package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var shape = flag.Bool("shape", false, "print the largest packages, types and circles (make shape)")

// The bounds of what a person can hold in mind at once. What is beyond them stands in
// overgrown, whose figures only shrink.
const (
	mostLines   = 6000 // of a package, without its tests
	mostMethods = 60   // of a type
	mostCircle  = 12   // files of a package that all need each other
)

// size is what the test counts in one package.
type size struct {
	pkg     string
	lines   int
	methods map[string]int // by type
	circle  []string       // the largest set of files that all need each other
}

// TestShape keeps packages, types and circles within bounds.
func TestShape(t *testing.T) {
	sizes := measure(t, filepath.Join("..", ".."))
	known := map[string]int{}
	bound := func(what string, is, most int) {
		if limit, ok := overgrown[what]; ok {
			known[what] = is
			most = limit
		}
		if is > most {
			t.Errorf("%s is %d, at most %d: divide it", what, is, most)
		}
	}
	for _, r := range sizes {
		bound(r.pkg+" lines", r.lines, mostLines)
		for name, n := range r.methods {
			bound(r.pkg+"."+name+" methods", n, mostMethods)
		}
		bound(r.pkg+" circle", len(r.circle), mostCircle)
	}
	for what, limit := range overgrown {
		if known[what] < limit {
			t.Errorf("%s is %d: write that into the list in place of %d, or take it off", what, known[what], limit)
		}
	}
	if *shape {
		print := func(title string, of func(size) (int, string)) {
			slices.SortStableFunc(sizes, func(a, b size) int { x, _ := of(a); y, _ := of(b); return y - x })
			fmt.Println(title)
			for _, r := range sizes[:6] {
				n, of := of(r)
				fmt.Printf("%7d  %s %s\n", n, r.pkg, of)
			}
		}
		print("lines", func(r size) (int, string) { return r.lines, "" })
		print("methods of a type", func(r size) (n int, name string) {
			for of, m := range r.methods {
				if m > n {
					n, name = m, of
				}
			}
			return n, name
		})
		print("files in a circle", func(r size) (int, string) { return len(r.circle), strings.Join(r.circle, " ") })
	}
}

// measure reads all packages below root.
func measure(t *testing.T, root string) (sizes []size) {
	dirs := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "testkit"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, "_darwin.go"):
			dirs[filepath.Dir(path)] = append(dirs[filepath.Dir(path)], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, files := range dirs {
		pkg, _ := filepath.Rel(root, dir)
		r := size{pkg: filepath.ToSlash(pkg), methods: map[string]int{}}
		fset := token.NewFileSet()
		var parsed []*ast.File
		for _, path := range files {
			f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
			r.lines += fset.File(f.Pos()).LineCount()
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
					r.methods[receiver(fn)]++
				}
			}
		}
		r.circle = circle(fset, parsed)
		sizes = append(sizes, r)
	}
	return sizes
}

func receiver(fn *ast.FuncDecl) string {
	of := fn.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.Ident:
			return x.Name
		default:
			return fmt.Sprint(of)
		}
	}
}

// nothing stands in for every import: what files need of each other is inside.
type nothing map[string]*types.Package

func (n nothing) Import(path string) (*types.Package, error) {
	if n[path] == nil {
		n[path] = types.NewPackage(path, filepath.Base(path))
		n[path].MarkComplete()
	}
	return n[path], nil
}

// circle is the largest set of files in which each needs, by way of others, each other.
func circle(fset *token.FileSet, files []*ast.File) []string {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := conf.Check("p", fset, files, info) // it lacks all imports, and says so
	needs := map[string]map[string]bool{}
	in := func(p token.Pos) string { return filepath.Base(fset.Position(p).Filename) }
	for _, f := range files {
		needs[in(f.Pos())] = map[string]bool{}
	}
	for id, o := range info.Uses {
		if o.Pkg() == pkg && o.Pos().IsValid() && (o.Parent() == pkg.Scope() || isMethod(o)) {
			needs[in(id.Pos())][in(o.Pos())] = true
		}
	}
	reach := func(from string) map[string]bool {
		seen, open := map[string]bool{}, []string{from}
		for len(open) > 0 {
			at := open[0]
			open = open[1:]
			for to := range needs[at] {
				if !seen[to] {
					seen[to] = true
					open = append(open, to)
				}
			}
		}
		return seen
	}
	all := map[string]map[string]bool{}
	for f := range needs {
		all[f] = reach(f)
	}
	var most []string
	for f := range needs {
		var with []string
		for g := range needs {
			if all[f][g] && all[g][f] {
				with = append(with, g)
			}
		}
		if len(with) > len(most) {
			most = with
		}
	}
	slices.Sort(most)
	return most
}

func isMethod(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Signature().Recv() != nil
}

// overgrown is what is beyond the bounds, and by how much.
var overgrown = map[string]int{
	"agents/kinds/claude.instance methods":  67,
	"agents/org/standing circle":            24,
	"agents/org/standing.Keeper methods":    83,
	"agents/platform/tmux circle":           13,
	"agents/runs/conversation circle":       13,
	"agents/runs/conversation.move methods": 114,
	"agents/runs/run circle":                22,
	"agents/runs/run.Run methods":           84,
	"agents/runs/runner circle":             29,
	"agents/runs/runner.Runner methods":     123,
	"dag circle":                            18,
	"worktree circle":                       16,
	"worktree.Repo methods":                 86,
}
