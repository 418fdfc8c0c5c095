package attempt_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// An attempt is told all that it is to know. It reads no records, no graph and no
// lock of its run, so it can live on another machine.
func TestAnAttemptReadsNothingOfItsRun(t *testing.T) {
	reads := []string{"Replay", "EachRecord", "ForeignLine", "LoadGraph", "NewHistory", "OpenBook", "Pending", "View", "Viewer",
		"ReadHolder", "TryLock", "ReadLog", "OpenLog", "ReadSpec", "ReadShared", "Drift", "Undrifted"}
	// What of package run opens or is a run.
	runs := []string{"Run", "Plan", "History", "Book", "Open", "OpenDir", "OpenPlan", "Create", "Latest", "List", "Dir", "Folder", "LockPath", "SignalsDir"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, parts...)
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := s.X.(*ast.Ident)
			ofRun := x != nil && x.Name == "run"
			if ofRun {
				found++
			}
			if slices.Contains(reads, s.Sel.Name) || ofRun && slices.Contains(runs, s.Sel.Name) {
				t.Errorf("%s: %s: ask Home, or put it into run.Spec", set.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
	if found == 0 {
		t.Error("package run is not used at all: does this test still look for the right names?")
	}
}

// What goes into an attempt holds nothing by which its run could be read.
func TestAJobHoldsNoRun(t *testing.T) {
	never := []reflect.Type{reflect.TypeFor[run.Run](), reflect.TypeFor[run.Plan](), reflect.TypeFor[run.Book](), reflect.TypeFor[run.History](), reflect.TypeFor[dag.Graph]()}
	seen := make(map[reflect.Type]bool)
	var look func(path string, typ reflect.Type)
	look = func(path string, typ reflect.Type) {
		if slices.Contains(never, typ) {
			t.Errorf("%s is a %s", path, typ)
		}
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
			look(path, typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				look(path+"."+typ.Field(i).Name, typ.Field(i).Type)
			}
		}
	}
	look("Job", reflect.TypeFor[attempt.Job]())
	if !seen[reflect.TypeFor[run.Frame]()] {
		t.Error("the frame was not looked at")
	}
}
