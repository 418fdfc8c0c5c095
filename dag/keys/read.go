package keys

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	MaxSource   = 10 << 20  // bytes of a configuration
	MaxExpanded = 2_000_000 // YAML nodes that aliases may stand for altogether
)

// Fault is one problem of a configuration: its position (1-based, in characters), the
// problem, and a hint, which may be empty.
type Fault struct {
	File         string
	Line, Column int
	Message      string
	Hint         string
}

// Error returns the fault as "file:line:column: message (hint)".
func (f Fault) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// Faults is every problem of a configuration, in order of position.
type Faults []Fault

// Error returns one line for each fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// A Reader reads one configuration, with the files that it includes, and collects what is
// wrong with it.
type Reader struct {
	Empty string // hint for a file that says nothing; "": it may
	Large string // hint for a file that is too large
	Shape string // hint for a file that holds no keys

	Faults   Faults
	Warnings []Fault

	file   string                // the current file, as faults name it
	files  []string              // all files, in the order of reading
	fileOf map[*yaml.Node]string // file of each value of an included file
	seen   map[Fault]bool        // recorded already: the text of an anchor is read once per use
	left   int                   // comparisons that may be made for suggestions
}

// NewReader returns a Reader of the file with that name.
func NewReader(file string) *Reader {
	return &Reader{file: file, files: []string{file}, fileOf: make(map[*yaml.Node]string), seen: make(map[Fault]bool), left: 100_000}
}

// File returns the name of the first file.
func (r *Reader) File() string { return r.files[0] }

// Err sorts what was recorded and returns the faults, or nil if there are none.
func (r *Reader) Err() error {
	slices.SortFunc(r.Faults, r.byPosition)
	slices.SortFunc(r.Warnings, r.byPosition)
	if len(r.Faults) > 0 {
		return r.Faults
	}
	return nil
}

// byPosition orders faults by file, in the order of reading, then by position.
func (r *Reader) byPosition(a, b Fault) int {
	return cmp.Or(slices.Index(r.files, a.File)-slices.Index(r.files, b.File), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Message, b.Message))
}

// Include reads another file: read gets its root, which is not nil.
func (r *Reader) Include(file string, src []byte, read func(root *yaml.Node)) {
	before := r.file
	r.file, r.files = file, append(r.files, file)
	if root := r.Root(src); root != nil {
		r.inFile(root)
		read(root)
	}
	r.file = before
}

// inFile records the current file for n and everything below it.
func (r *Reader) inFile(n *yaml.Node) {
	r.fileOf[n] = r.file
	for _, c := range n.Content {
		r.inFile(c)
	}
}

// Stands records that the value copied stands where n does.
func (r *Reader) Stands(copied, n *yaml.Node) {
	if file, ok := r.fileOf[n]; ok {
		r.fileOf[copied] = file
	}
}

// Included returns the included file of a value; "": it stands in the first file.
func (r *Reader) Included(n *yaml.Node) string { return r.fileOf[n] }

// FileAt returns the file of a value.
func (r *Reader) FileAt(n *yaml.Node) string { return cmp.Or(r.fileOf[n], r.files[0]) }

func (r *Reader) faultAt(line, column int, hint, format string, args ...any) {
	r.record(Fault{r.file, line, column, fmt.Sprintf(format, args...), hint}, &r.Faults)
}

func (r *Reader) record(f Fault, to *Faults) {
	if !r.seen[f] {
		r.seen[f] = true
		*to = append(*to, f)
	}
}

// Fault records a problem of the value at.
func (r *Reader) Fault(at *yaml.Node, hint, format string, args ...any) {
	r.record(Fault{r.FileAt(at), at.Line, at.Column, fmt.Sprintf(format, args...), hint}, &r.Faults)
}

// Warn records a problem with which the configuration can still be used.
func (r *Reader) Warn(at *yaml.Node, hint, format string, args ...any) {
	r.record(Fault{r.FileAt(at), at.Line, at.Column, fmt.Sprintf(format, args...), hint}, (*Faults)(&r.Warnings))
}

// Root returns the mapping that a file holds; nil after a fault, and for a file that says
// nothing and may.
func (r *Reader) Root(src []byte) *yaml.Node {
	if len(src) > MaxSource {
		r.faultAt(1, 1, r.Large, "the file has %d bytes; at most %d are read", len(src), MaxSource)
		return nil
	}
	if !r.readable(src) {
		return nil
	}
	root := r.document(src)
	if root == nil || !r.aliases(root) {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		r.faultAt(root.Line, root.Column, r.Shape, "the file must hold keys and values, not %s", Describe(root))
		return nil
	}
	return root
}

// readable refuses invalid text, for which YAML would give no position.
func (r *Reader) readable(src []byte) bool {
	line, column := 1, 1
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && size <= 1:
			r.faultAt(line, column, "save the file as UTF-8", "byte %#02x is not UTF-8", src[i])
			return false
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfffe, c == 0xffff:
			r.faultAt(line, column, "remove it", "control character %U", c)
			return false
		case c == '\n':
			line, column = line+1, 0
		}
		column++
		i += size
	}
	return true
}

// document returns the root of the only document of src, or nil after a fault.
func (r *Reader) document(src []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var docs [2]yaml.Node
	for i := range docs {
		err := dec.Decode(&docs[i])
		if errors.Is(err, io.EOF) && i == 1 {
			break
		}
		if errors.Is(err, io.EOF) {
			r.empty(1, 1)
			return nil
		}
		if err != nil {
			r.syntax(src, err.Error())
			return nil
		}
		if i == 1 {
			r.faultAt(docs[1].Line, docs[1].Column, "keep one; remove the --- between them", "the file holds more than one document")
		}
	}
	root := docs[0].Content[0]
	if IsNull(root) {
		r.empty(root.Line, root.Column)
		return nil
	}
	return root
}

func (r *Reader) empty(line, column int) {
	if r.Empty != "" {
		r.faultAt(line, column, r.Empty, "the file is empty")
	}
}

// aliases counts the values that the aliases below root stand for. It refuses an anchor
// that contains itself and an alias bomb. Anchors precede their aliases, so one walk in
// document order knows every size it needs.
func (r *Reader) aliases(root *yaml.Node) bool {
	const open = -1
	sizes := make(map[*yaml.Node]int) // of anchored nodes, expanded
	expanded := 0
	var size func(n *yaml.Node) (int, bool)
	size = func(n *yaml.Node) (int, bool) {
		if n.Kind == yaml.AliasNode {
			s := sizes[n.Alias]
			if s == open {
				r.faultAt(n.Line, n.Column, "", "anchor %q contains itself", n.Value)
				return 0, false
			}
			if expanded += s; expanded > MaxExpanded {
				r.faultAt(n.Line, n.Column, "use fewer aliases", "the aliases stand for more than %d values", MaxExpanded)
				return 0, false
			}
			return s, true
		}
		if n.Anchor != "" {
			sizes[n] = open
		}
		total := 1
		for _, c := range n.Content {
			s, ok := size(c)
			if !ok {
				return 0, false
			}
			total += s
		}
		if n.Anchor != "" {
			sizes[n] = total
		}
		return total, true
	}
	_, ok := size(root)
	return ok
}

// Entry is a key with its value.
type Entry struct {
	Name     string
	Key, Val *yaml.Node
}

// Entries returns the keys and values of a mapping in order, its own before those that <<
// merges in. what names the mapping in faults.
func (r *Reader) Entries(n *yaml.Node, what string) []Entry {
	m := Behind(n)
	if m.Kind != yaml.MappingNode {
		r.Fault(n, "write it as key: value", "%s must hold keys and values, not %s", what, Describe(n))
		return nil
	}
	out := make([]Entry, 0, len(m.Content)/2)
	var merged []*yaml.Node
	var index map[string]int // only for a large mapping
	find := func(name string) int {
		if len(out) < 32 {
			return slices.IndexFunc(out, func(e Entry) bool { return e.Name == name })
		}
		if index == nil {
			index = make(map[string]int)
		}
		for i := len(index); i < len(out); i++ {
			index[out[i].Name] = i
		}
		if i, ok := index[name]; ok {
			return i
		}
		return -1
	}
	for i := 0; i < len(m.Content); i += 2 {
		key, val := m.Content[i], m.Content[i+1]
		k := Behind(key)
		if k.Kind != yaml.ScalarNode {
			r.Fault(key, "", "a key must be text, not %s", Describe(key))
			continue
		}
		if k.ShortTag() == "!!merge" {
			if v := Behind(val); v.Kind == yaml.SequenceNode {
				merged = append(merged, v.Content...)
			} else {
				merged = append(merged, val)
			}
			continue
		}
		if first := find(k.Value); first >= 0 {
			r.Fault(key, fmt.Sprintf("first on line %d", out[first].Key.Line), "key %q appears twice", k.Value)
			continue
		}
		out = append(out, Entry{k.Value, key, val})
	}
	for _, n := range merged {
		for _, e := range r.Entries(n, "what << merges in") {
			if find(e.Name) < 0 {
				out = append(out, e)
			}
		}
	}
	return out
}

// Behind returns the target of an alias, or n.
func Behind(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// IsNull reports whether a key has no value.
func IsNull(n *yaml.Node) bool {
	n = Behind(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Describe returns the type of a value in words, for faults.
func Describe(n *yaml.Node) string {
	n = Behind(n)
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "keys and values"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool", "!!int", "!!float":
		return n.Value
	case "!!str", "!!timestamp":
		return strconv.Quote(Shorten(n.Value))
	}
	return "a value tagged " + n.ShortTag()
}

// Shorten cuts a text that is too long for a message.
func Shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

// The readers below return false after recording a fault.

// Text reads a scalar as it is written; numbers and dates count as text.
func (r *Reader) Text(key string, n *yaml.Node) (string, bool) {
	v := Behind(n)
	if v.Kind == yaml.ScalarNode {
		switch v.ShortTag() {
		case "!!str", "!!int", "!!float", "!!timestamp":
			return v.Value, r.Clean(key, n, v.Value)
		case "!!bool":
			r.Fault(n, fmt.Sprintf("write %q in quotes if it is meant", v.Value), "%s must be text, not %s", key, v.Value)
			return "", false
		}
	}
	r.Fault(n, "", "%s must be text, not %s", key, Describe(n))
	return "", false
}

// Clean refuses what no argument, environment variable or file name can hold.
func (r *Reader) Clean(key string, n *yaml.Node, s string) bool {
	if strings.ContainsRune(s, 0) {
		r.Fault(n, "remove it", "%s contains a NUL byte", key)
		return false
	}
	if !utf8.ValidString(s) {
		r.Fault(n, "save it as UTF-8", "%s is not UTF-8", key)
		return false
	}
	return true
}

// Flag reads true or false.
func (r *Reader) Flag(key string, n *yaml.Node) (bool, bool) {
	v := Behind(n)
	if v.Kind == yaml.ScalarNode && v.ShortTag() == "!!bool" {
		var b bool
		if v.Decode(&b) == nil {
			return b, true
		}
	}
	r.Fault(n, "", "%s must be true or false, not %s", key, Describe(n))
	return false, false
}

// Count reads a whole number from least to most; most 0: no bound.
func (r *Reader) Count(key string, n *yaml.Node, least, most int64) (int64, bool) {
	v := Behind(n)
	if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!int" {
		r.Fault(n, "", "%s must be a whole number, not %s", key, Describe(n))
		return 0, false
	}
	var i int64
	switch err := v.Decode(&i); {
	case err != nil || int64(int(i)) != i:
		r.Fault(n, "", "%s: %s is too large", key, v.Value)
	case most > 0 && (i < least || i > most):
		r.Fault(n, "", "%s must be from %d to %d, not %d", key, least, most, i)
	case i < least:
		r.Fault(n, "", "%s must be at least %d, not %d", key, least, i)
	default:
		return i, true
	}
	return 0, false
}

// Duration reads a duration from least to most; most 0: no bound.
func (r *Reader) Duration(key string, n *yaml.Node, least, most time.Duration) (time.Duration, bool) {
	v := Behind(n)
	if v.Kind != yaml.ScalarNode || v.ShortTag() == "!!bool" || v.ShortTag() == "!!null" {
		r.Fault(n, "", "%s must be a duration such as 90s or 1h30m, not %s", key, Describe(n))
		return 0, false
	}
	d, err := time.ParseDuration(v.Value)
	switch {
	case err != nil:
		hint := "units are ms, s, m and h"
		if _, err := strconv.ParseUint(v.Value, 10, 63); err == nil {
			hint = fmt.Sprintf("give a unit: %ss, %sm or %sh", v.Value, v.Value, v.Value)
		}
		r.Fault(n, hint, "%s must be a duration such as 90s or 1h30m, not %s", key, Describe(n))
	case d < 0 || d < least && least <= 1:
		r.Fault(n, "", "%s must be more than 0, not %s", key, v.Value)
	case d < least:
		r.Fault(n, "", "%s must be at least %s, not %s", key, DurationText(least), v.Value)
	case most > 0 && d > most:
		r.Fault(n, "", "%s must be at most %s, not %s", key, DurationText(most), v.Value)
	default:
		return d, true
	}
	return 0, false
}

// Texts reads a list of text or one text. It passes each text with its position to check,
// which may be nil. With split it also splits a string at its commas.
func (r *Reader) Texts(key string, n *yaml.Node, split bool, check Check) ([]string, bool) {
	v := Behind(n)
	items := []*yaml.Node{n}
	if v.Kind == yaml.SequenceNode {
		items = v.Content
	} else if v.Kind != yaml.ScalarNode {
		r.Fault(n, "", "%s must be a list of text, not %s", key, Describe(n))
		return nil, false
	}
	var out []string
	good := true
	for _, item := range items {
		s, ok := r.Text(key, item)
		if !ok {
			good = false
			continue
		}
		parts := []string{s}
		if split && v.Kind == yaml.ScalarNode {
			parts = strings.Split(s, ",")
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
		}
		for _, s := range parts {
			if strings.TrimSpace(s) == "" {
				r.Fault(item, "remove it", "%s holds an empty string", key)
				good = false
				continue
			}
			if check != nil && !check(r, key, item, s) {
				good = false
			}
			out = append(out, s)
		}
	}
	return out, good
}
