// Package keys describes the keys of a configuration. A Key holds the name, type, bounds,
// default and documentation of a key; a Field ties it to the Go value that it sets. The
// same table serves for reading a file, with every fault at its position, for its JSON
// Schema, for its reference page and for writing it.
package keys

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// Type is how the value of a key is written, in words.
type Type string

// The types that the package itself reads. A key of another type brings a schema.
const (
	TypeText     Type = "text"
	TypeFlag     Type = "true or false"
	TypeCount    Type = "whole number"
	TypeDuration Type = "duration"
	TypeChoice   Type = "one of the values below"
	TypeList     Type = "list of text, or one text"
	TypeNames    Type = "list of names, or names with commas between them"
	TypeChoices  Type = "list of the values below, or one of them"
	TypeGroup    Type = "keys and values"
	TypeItems    Type = "list of keys and values"
)

// Key is the full description of a key of a configuration.
type Key struct {
	Name     string
	Doc      string // one or two sentences
	Def      string // the default, for people; empty: none
	Example  string // an example, in YAML
	Pattern  string // regular expression that a text must match
	Hint     string // how to write a text that matches
	Allowed  []string
	Least    int64  // of a count or of the nanoseconds of a duration
	Most     int64  // of these, or of the bytes of a text; 0: no bound
	Required bool   // by the reader and the schema
	Own      string // why defaults cannot hold it; empty: it can

	Type   Type
	Schema map[string]any // of the value; nil: what the type says
	Sub    []Key          // of a group, or of each item of a list
}

// Field ties a key to the value of a T that it sets.
type Field[T any] struct {
	Key
	// Read sets the value; name is the key with the groups above it. It returns false after
	// recording a fault.
	Read  func(r *Reader, t *T, name string, n *yaml.Node) bool
	Same  func(a, b *T) bool
	Copy  func(dst, src *T)
	Write func(t *T, indent string) string
}

// New makes a field from the value's location, a reader, which gets the value before, and a
// writer.
func New[T, V any](k Key, typ Type, ptr func(*T) *V, read func(r *Reader, name string, n *yaml.Node, before V) (V, bool), write func(V, string) string) Field[T] {
	k.Type = typ
	return Field[T]{
		Key: k,
		Read: func(r *Reader, t *T, name string, n *yaml.Node) bool {
			v, ok := read(r, name, n, *ptr(t))
			if ok {
				*ptr(t) = v
			}
			return ok
		},
		Same:  func(a, b *T) bool { return reflect.DeepEqual(*ptr(a), *ptr(b)) },
		Copy:  func(dst, src *T) { *ptr(dst) = *ptr(src) },
		Write: func(t *T, indent string) string { return write(*ptr(t), indent) },
	}
}

// Set sets the value that a text stands for, as if a file held it.
func (f Field[T]) Set(t *T, text string) error {
	r := NewReader("")
	if f.Read(r, t, f.Name, &yaml.Node{Kind: yaml.ScalarNode, Value: text}) {
		return nil
	}
	return r.Err()
}

// Check returns the check of a text of the key: length, pattern, then others.
func (k *Key) Check(others ...Check) Check {
	matches := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(k.Pattern) })
	return func(r *Reader, name string, at *yaml.Node, s string) bool {
		switch {
		case k.Most > 0 && int64(len(s)) > k.Most:
			r.Fault(at, "", "%s %q has %d characters; at most %d are allowed", name, Shorten(s), len(s), k.Most)
			return false
		case k.Pattern != "" && !matches().MatchString(s):
			r.Fault(at, k.Hint, "%s %q is not allowed", name, Shorten(s))
			return false
		}
		for _, check := range others {
			if !check(r, name, at, s) {
				return false
			}
		}
		return true
	}
}

// Text is a key with a text.
func Text[T any, S ~string](k Key, ptr func(*T) *S, checks ...Check) Field[T] {
	check := k.Check(checks...)
	return New(k, TypeText, ptr, func(r *Reader, name string, n *yaml.Node, _ S) (S, bool) {
		s, ok := r.Text(name, n)
		return S(s), ok && check(r, name, n, s)
	}, writeText[S])
}

func writeText[S ~string](s S, indent string) string { return Block(string(s), indent) }

// Flag is a key with true or false.
func Flag[T any](k Key, ptr func(*T) *bool) Field[T] {
	return New(k, TypeFlag, ptr, func(r *Reader, name string, n *yaml.Node, _ bool) (bool, bool) {
		return r.Flag(name, n)
	}, writeAny[bool])
}

// Count is a key with a whole number.
func Count[T any, N int | int64](k Key, ptr func(*T) *N) Field[T] {
	return New(k, TypeCount, ptr, func(r *Reader, name string, n *yaml.Node, _ N) (N, bool) {
		i, ok := r.Count(name, n, k.Least, k.Most)
		return N(i), ok
	}, writeAny[N])
}

func writeAny[V any](v V, _ string) string { return fmt.Sprint(v) }

// Duration is a key with a duration.
func Duration[T any, D ~int64](k Key, ptr func(*T) *D) Field[T] {
	return New(k, TypeDuration, ptr, func(r *Reader, name string, n *yaml.Node, _ D) (D, bool) {
		d, ok := r.Duration(name, n, time.Duration(k.Least), time.Duration(k.Most))
		return D(d), ok
	}, func(d D, _ string) string { return DurationText(time.Duration(d)) })
}

// Choice is a key with one of the allowed values. The value unset, if there is one, is the
// same as no key.
func Choice[T any, S ~string](k Key, ptr func(*T) *S, unset ...S) Field[T] {
	allowed := OneOf(k.Allowed)
	return New(k, TypeChoice, ptr, func(r *Reader, name string, n *yaml.Node, _ S) (S, bool) {
		s, ok := r.Text(name, n)
		if !ok || !allowed(r, name, n, s) {
			return "", false
		}
		if slices.Contains(unset, S(s)) {
			return "", true
		}
		return S(s), true
	}, writeText[S])
}

// List is a key with a list of texts, or with one.
func List[T any](k Key, ptr func(*T) *[]string, checks ...Check) Field[T] {
	check := k.Check(checks...)
	return New(k, TypeList, ptr, func(r *Reader, name string, n *yaml.Node, _ []string) ([]string, bool) {
		return r.Texts(name, n, false, check)
	}, writeList)
}

// Names is a key with a list of names, or with one text that has commas between them.
func Names[T any](k Key, ptr func(*T) *[]string) Field[T] {
	return New(k, TypeNames, ptr, func(r *Reader, name string, n *yaml.Node, _ []string) ([]string, bool) {
		if v := Behind(n); v.Kind == yaml.ScalarNode && v.Value == "" {
			return nil, true // depends_on: "" is how a form leaves it empty
		}
		return r.Texts(name, n, true, nil)
	}, writeList)
}

// Choices is a key with a list of the allowed values, or with one.
func Choices[T any](k Key, ptr func(*T) *[]string) Field[T] {
	f := List(k, ptr, OneOf(k.Allowed))
	f.Type = TypeChoices
	return f
}

// Short is another way to write a group: as one value.
type Short[V any] struct {
	Type   Type           // of both ways
	Schema map[string]any // of the value
	Read   func(r *Reader, name string, n *yaml.Node) (V, bool)
}

// Group is a key with keys below it. It replaces the whole value. short may be nil.
func Group[T, V any](k Key, ptr func(*T) *V, fields []Field[V], short *Short[V]) Field[T] {
	k.Sub = Describes(fields)
	typ := TypeGroup
	if short != nil {
		typ, k.Schema = short.Type, map[string]any{"anyOf": []any{short.Schema, Object(k.Sub)}}
	}
	table := NewTable(fields)
	return New(k, typ, ptr, func(r *Reader, name string, n *yaml.Node, _ V) (v V, ok bool) {
		if short != nil && Behind(n).Kind == yaml.ScalarNode {
			return short.Read(r, name, n)
		}
		ok = table.read(r, &v, name, name+".", n)
		return v, ok
	}, func(v V, indent string) string {
		var zero V
		var parts []string
		for _, f := range fields {
			if !f.Same(&v, &zero) {
				parts = append(parts, f.Name+": "+f.Write(&v, indent))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	})
}

// Section is a key with keys below it that set values of T itself: what a file does not
// name stays. It is not written.
func Section[T any](k Key, fields []Field[T]) Field[T] {
	k.Type, k.Sub = TypeGroup, Describes(fields)
	table := NewTable(fields)
	return Field[T]{Key: k, Read: func(r *Reader, t *T, name string, n *yaml.Node) bool {
		return table.read(r, t, name, name+".", n)
	}}
}

// Items is a key with a list of values that have keys below them. check, which may be nil,
// checks an item without a fault. It is not written.
func Items[T, V any](k Key, ptr func(*T) *[]V, fields []Field[V], check func(r *Reader, at *yaml.Node, v *V) bool) Field[T] {
	k.Type, k.Sub = TypeItems, Describes(fields)
	table := NewTable(fields)
	return Field[T]{Key: k, Read: func(r *Reader, t *T, name string, n *yaml.Node) bool {
		list := Behind(n)
		if list.Kind != yaml.SequenceNode {
			r.Fault(n, "write it as - key: value", "%s must be a list, not %s", name, Describe(n))
			return false
		}
		all, good := make([]V, len(list.Content)), true
		for i, item := range list.Content {
			ok := table.read(r, &all[i], "an item of "+name, name+".", item)
			good = ok && (check == nil || check(r, item, &all[i])) && good
		}
		*ptr(t) = all
		return good
	}}
}

// Table finds fields by name.
type Table[T any] struct {
	Fields []Field[T]
	Names  []string
	byName map[string]*Field[T]
}

// NewTable returns the table of the fields.
func NewTable[T any](fields []Field[T]) *Table[T] {
	x := &Table[T]{Fields: fields, byName: make(map[string]*Field[T], len(fields))}
	for i := range fields {
		x.byName[fields[i].Name] = &fields[i]
		x.Names = append(x.Names, fields[i].Name)
	}
	return x
}

// Of returns the field of that name, or nil.
func (x *Table[T]) Of(name string) *Field[T] { return x.byName[name] }

// read reads the mapping of a group; what names the group, and within precedes its keys.
func (x *Table[T]) read(r *Reader, t *T, what, within string, n *yaml.Node) bool {
	before := len(r.Faults)
	for _, e := range r.Entries(n, what) {
		if f := x.Of(e.Name); f == nil {
			r.Fault(e.Key, r.Near(e.Name, x.Names), "unknown key %q in %s", e.Name, what)
		} else if !IsNull(e.Val) {
			f.Read(r, t, within+e.Name, e.Val)
		}
	}
	return len(r.Faults) == before
}

// ReadRoot reads the keys of a file, in the order of the table, and returns those that have
// a value. unknown returns a hint for an unknown key; nil: the nearest one. A key that
// begins with x- is not read: it holds anchors.
func (x *Table[T]) ReadRoot(r *Reader, t *T, root *yaml.Node, unknown func(Entry) string) map[string]bool {
	known := make(map[string]*yaml.Node)
	for _, e := range r.Entries(root, "the file") {
		switch {
		case strings.HasPrefix(e.Name, "x-"):
		case x.Of(e.Name) != nil:
			known[e.Name] = e.Val
		case unknown != nil:
			r.Fault(e.Key, unknown(e), "unknown key %q", e.Name)
		default:
			r.Fault(e.Key, r.Near(e.Name, x.Names), "unknown key %q", e.Name)
		}
	}
	have := make(map[string]bool)
	for _, f := range x.Fields {
		if n := known[f.Name]; n != nil && !IsNull(n) {
			have[f.Name] = true
			f.Read(r, t, f.Name, n)
		}
	}
	return have
}

// Parse reads a whole file into t. The error is of type Faults.
func (x *Table[T]) Parse(r *Reader, t *T, src []byte, unknown func(Entry) string) error {
	if root := r.Root(src); root != nil {
		x.ReadRoot(r, t, root, unknown)
	}
	return r.Err()
}

// Describes returns the keys of the fields.
func Describes[T any](fields []Field[T]) []Key {
	all := make([]Key, len(fields))
	for i, f := range fields {
		all[i] = f.Key
	}
	return all
}

// AsText are fields of C in a T that keeps what was set of them as text, by key, so that the
// rest has the defaults of the version that reads it. set is where.
func AsText[C, T any](fields []Field[C], set func(*T) *map[string]string) (all []Field[T]) {
	for _, f := range fields {
		all = append(all, Field[T]{Key: f.Key, Read: func(r *Reader, t *T, name string, n *yaml.Node) bool {
			if !f.Read(r, new(C), name, n) {
				return false
			}
			to := set(t)
			if *to == nil {
				*to = make(map[string]string)
			}
			(*to)[f.Name] = Behind(n).Value
			return true
		}})
	}
	return all
}
