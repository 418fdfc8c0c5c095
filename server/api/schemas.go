package api

import (
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control"
	"cmux/dag"
)

// label is a dag.Label as it is written.
type label struct {
	State  dag.NodeState `json:"state"`
	Reason dag.Reason    `json:"reason"`
	Code   *int          `json:"code"`
	Until  *time.Time    `json:"until"`
	By     string        `json:"by"`
	Detail string        `json:"detail"`
	Open   bool          `json:"open"`
}

// schemas is where the types of the document are kept. Those of package control
// and of this one have their own names, others that of their package before it.
func schemas() huma.Registry {
	own := []string{reflect.TypeFor[label]().PkgPath(), reflect.TypeFor[control.Report]().PkgPath()}
	r := huma.NewMapRegistry("#/components/schemas/", func(t reflect.Type, hint string) string {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		name := huma.DefaultSchemaNamer(t, hint)
		path := t.PkgPath()
		if path == "" || path == own[0] || path == own[1] || !strings.HasPrefix(path, "cmux/") {
			return name
		}
		room := path[strings.LastIndexByte(path, '/')+1:]
		room = strings.ToUpper(room[:1]) + room[1:]
		if strings.HasPrefix(name, room) {
			return name
		}
		return room + name
	})
	r.RegisterTypeAlias(reflect.TypeFor[dag.Label](), reflect.TypeFor[label]())
	r.RegisterTypeAlias(reflect.TypeFor[dag.Duration](), reflect.TypeFor[string]())
	return r
}

// nullable says in the document what huma does not: that a pointer to an object
// is written as null where there is none.
func nullable(schemas huma.Registry) {
	for name, s := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			field := s.Properties[name]
			if field == nil || field.Ref == "" || f.Type.Kind() != reflect.Pointer || strings.Contains(rest, "omit") {
				continue
			}
			s.Properties[name] = &huma.Schema{AnyOf: []*huma.Schema{{Ref: field.Ref}, {Type: "null"}}}
		}
	}
}
