package api

import (
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control/memory"
	"cmux/agents/control/rooms"
	"cmux/dag"
)

// label is a dag.Label in JSON.
type label struct {
	State  dag.NodeState `json:"state"`
	Reason dag.Reason    `json:"reason"`
	Code   *int          `json:"code"`
	Until  *time.Time    `json:"until"`
	By     string        `json:"by"`
	Detail string        `json:"detail"`
	Open   bool          `json:"open"`
}

// schemas is where the types of the document are kept. Those of package
// control, of the packages below it and of this one have their own names, others that of their package before it.
func schemas() huma.Registry {
	r := huma.NewMapRegistry("#/components/schemas/", typeName)
	r.RegisterTypeAlias(reflect.TypeFor[dag.Label](), reflect.TypeFor[label]())
	r.RegisterTypeAlias(reflect.TypeFor[dag.Duration](), reflect.TypeFor[string]())
	return r
}

// typeName returns the name of a type in the document.
func typeName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := huma.DefaultSchemaNamer(t, hint)
	path := t.PkgPath()
	if path == reflect.TypeFor[rooms.View]().PkgPath() {
		return "Room" + name // there are other messages, orders and members
	}
	if path == reflect.TypeFor[memory.Notes]().PkgPath() {
		return "Memory" + name // likewise
	}
	if path == "" || path == reflect.TypeFor[label]().PkgPath() || strings.HasPrefix(path+"/", "cmux/agents/control/") || !strings.HasPrefix(path, "cmux/") {
		return name
	}
	room := path[strings.LastIndexByte(path, '/')+1:]
	room = strings.ToUpper(room[:1]) + room[1:]
	if strings.HasPrefix(name, room) {
		return name
	}
	return room + name
}

// cutTag returns the name of a field in JSON, and whether it is left out when empty.
func cutTag(f reflect.StructField) (name string, omitted, ok bool) {
	name, rest, ok := strings.Cut(f.Tag.Get("json"), ",")
	return name, strings.Contains(rest, "omit"), ok
}
