package stdio

import (
	"encoding/json"
	"reflect"
)

// Lenient reads a JSON object into the struct that into points to. A field of a
// type that is not expected is left as it was, and does not keep the others
// from being read.
func Lenient(object json.RawMessage, into any) {
	v := reflect.ValueOf(into).Elem()
	whole := reflect.New(v.Type())
	whole.Elem().Set(v)
	if json.Unmarshal(object, whole.Interface()) == nil {
		v.Set(whole.Elem())
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return
	}
	for name, value := range fields {
		one, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err != nil {
			continue
		}
		next := reflect.New(v.Type())
		next.Elem().Set(v)
		if json.Unmarshal(one, next.Interface()) == nil {
			v.Set(next.Elem())
		}
	}
}
