package api

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// Full returns v with empty lists instead of nil ones, as the document promises. It does
// not change v; changed parts are copies.
func Full[T any](v T) T {
	out, changed := full(reflect.ValueOf(&v).Elem())
	if !changed {
		return v
	}
	reflect.ValueOf(&v).Elem().Set(out)
	return v
}

// listed caches whether values of a type can contain a list; it is called for each value of
// a long list.
var listed sync.Map // reflect.Type -> bool

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func mayHoldList(t reflect.Type) bool {
	if known, ok := listed.Load(t); ok {
		return known.(bool)
	}
	holds := holdsList(t, make(map[reflect.Type]bool))
	listed.Store(t, holds)
	return holds
}

func holdsList(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || t.Implements(marshaler) || t.Implements(textMarshaler) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice:
		return true
	case reflect.Interface:
		return true // depends on its dynamic type
	case reflect.Pointer, reflect.Map, reflect.Array:
		return holdsList(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && holdsList(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// full returns v without nil lists, and whether it differs from v.
func full(v reflect.Value) (reflect.Value, bool) {
	t := v.Type()
	if !mayHoldList(t) {
		return v, false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		of, changed := full(v.Elem())
		if !changed {
			return v, false
		}
		if t.Kind() == reflect.Interface {
			return of, true
		}
		p := reflect.New(t.Elem())
		p.Elem().Set(of)
		return p, true
	case reflect.Slice:
		if v.IsNil() {
			return reflect.MakeSlice(t, 0, 0), true
		}
		return fullItems(v)
	case reflect.Map:
		return fullMap(v)
	case reflect.Struct:
		return fullStruct(v)
	}
	return v, false
}

func fullItems(v reflect.Value) (reflect.Value, bool) {
	out, fresh := v, false
	for i := range v.Len() {
		item, changed := full(v.Index(i))
		if !changed {
			continue
		}
		if !fresh {
			fresh = true
			out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
		}
		out.Index(i).Set(item)
	}
	return out, fresh
}

func fullMap(v reflect.Value) (reflect.Value, bool) {
	out, fresh := v, false
	for _, key := range v.MapKeys() {
		item, changed := full(v.MapIndex(key))
		if !changed {
			continue
		}
		if !fresh {
			fresh = true
			out = reflect.MakeMapWithSize(v.Type(), v.Len())
			for _, k := range v.MapKeys() {
				out.SetMapIndex(k, v.MapIndex(k))
			}
		}
		out.SetMapIndex(key, item)
	}
	return out, fresh
}

func fullStruct(v reflect.Value) (reflect.Value, bool) {
	out, fresh := v, false
	for i := range v.NumField() {
		if f := v.Type().Field(i); !f.IsExported() {
			continue
		}
		field, changed := full(v.Field(i))
		if !changed {
			continue
		}
		if !fresh {
			fresh = true
			out = reflect.New(v.Type()).Elem()
			out.Set(v)
		}
		out.Field(i).Set(field)
	}
	return out, fresh
}
