package api

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// Each type with a fixed set of values has all constants of its package in the
// document, and nothing else.
func TestEnums(t *testing.T) {
	parsed := make(map[string]map[string][]string) // package path -> type -> values
	for of, values := range enums() {
		if of.Kind() != reflect.String {
			continue // its texts are its own: see enums
		}
		path := of.PkgPath()
		if parsed[path] == nil {
			parsed[path] = constants(t, "../.."+strings.TrimPrefix(path, "cmux"))
		}
		want := slices.Clone(parsed[path][of.Name()])
		var got []string
		for _, v := range values {
			got = append(got, v.(string))
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the document has %q, the package %q", of, got, want)
		}
	}
	for of, fields := range fieldEnums() {
		for name := range fields {
			if !slices.ContainsFunc(reflect.VisibleFields(of), func(f reflect.StructField) bool { n, _, _ := cutTag(f); return n == name }) {
				t.Errorf("%s has no field %s", of, name)
			}
		}
	}
}

// constants are the texts of the typed constants of a package, by type.
func constants(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				id, ok := v.Type.(*ast.Ident)
				if !ok || len(v.Values) != 1 {
					continue
				}
				if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					all[id.Name] = append(all[id.Name], text)
				}
			}
		}
	}
	return all
}

// A list that is nil is answered as an empty one, wherever it stands, and what the
// value shares with others stays as it was.
func TestFull(t *testing.T) {
	type Inner struct {
		List  []string `json:"list"`
		Left  []string `json:"left,omitempty"`
		Raw   json.RawMessage
		plain []int
	}
	type outer struct {
		Inner
		Point *Inner
		None  *Inner
		All   []Inner
		By    map[string]Inner
		Any   any
		Set   *[]string
	}
	shared := &Inner{}
	in := outer{Point: shared, All: []Inner{{}, {List: []string{"x"}}}, By: map[string]Inner{"a": {}}, Any: []*Inner{{}}}
	b, err := json.Marshal(Full(in))
	if err != nil {
		t.Fatal(err)
	}
	const one = `{"list":[],"Raw":null}`
	want := `{"list":[],"Raw":null,"Point":` + one + `,"None":null,"All":[` + one + `,{"list":["x"],"Raw":null}],"By":{"a":` + one + `},"Any":[` + one + `],"Set":null}`
	if string(b) != want {
		t.Errorf("%s\nwant %s", b, want)
	}
	if shared.List != nil || in.All[0].List != nil || in.By["a"].List != nil || in.plain != nil {
		t.Error("what it was made of has changed")
	}
	if b, _ := json.Marshal(Full[[]int](nil)); string(b) != "[]" {
		t.Errorf("%s", b)
	}
	if b, _ := json.Marshal(Full(3)); string(b) != "3" {
		t.Errorf("%s", b)
	}
}

// What a client is generated from promises a type for each field.
func TestNothingIsAny(t *testing.T) {
	allowed := map[string]bool{
		"StoreEvent.body":   true, // the line of the file, of as many types as there are files
		"ErrorDetail.value": true,
		"Said.input":        true, // of a tool, which only its program knows
	}
	var look func(place string, s *huma.Schema)
	look = func(place string, s *huma.Schema) {
		if s.Ref == "" && s.Type == "" && len(s.AnyOf) == 0 && len(s.OneOf) == 0 && !allowed[place] {
			t.Errorf("%s can be anything", place)
		}
		if s.Items != nil {
			look(place+"[]", s.Items)
		}
	}
	doc := New(http.NewServeMux(), Options{})
	for name, s := range doc.Components.Schemas.Map() {
		for field, p := range s.Properties {
			look(name+"."+field, p)
		}
	}
}
