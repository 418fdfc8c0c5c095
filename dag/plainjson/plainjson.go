// Package plainjson reads JSON that encoding/json wrote, and no other, in a tenth of the
// time: each command reads files with thousands of lines or nodes.
//
// A Cursor moves along the text, and its caller says which value comes next. The Cursor
// fails at anything that encoding/json would not have written (space between values, null,
// a number with a fraction). Then the caller discards everything the Cursor returned and
// reads the text with encoding/json.
package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
)

// Cursor is a position in a text. After a failure it stays failed, and its results are not
// valid.
type Cursor struct {
	rest   []byte
	whole  string // the text; empty: strings are copied one by one
	failed bool
}

// Read calls walk on text, which must be one value, and reports whether walk read all of
// it. The results do not refer to text.
func Read(text []byte, walk func(*Cursor)) bool { return read(&Cursor{rest: text}, walk) }

// ReadKept is Read for results that are kept together: the strings are parts of one copy of
// text.
func ReadKept(text []byte, walk func(*Cursor)) bool {
	return read(&Cursor{rest: text, whole: string(text)}, walk)
}

func read(c *Cursor, walk func(*Cursor)) bool {
	walk(c)
	return !c.failed && len(c.rest) == 0
}

// Fail makes c fail: the caller does not know what comes next.
func (c *Cursor) Fail() { c.failed = true }

// Check makes c fail if err is not nil.
func (c *Cursor) Check(err error) { c.failed = c.failed || err != nil }

// skip passes one character, which must be b.
func (c *Cursor) skip(b byte) {
	if c.failed || len(c.rest) == 0 || c.rest[0] != b {
		c.failed = true
		return
	}
	c.rest = c.rest[1:]
}

func (c *Cursor) at(b byte) bool { return !c.failed && len(c.rest) > 0 && c.rest[0] == b }

// Object reads an object that has members. It calls member before each value; member must
// read the value.
func (c *Cursor) Object(member func(key []byte)) {
	for open := byte('{'); ; open = ',' {
		c.skip(open)
		key, _ := c.Plain()
		c.skip(':')
		if c.failed {
			return
		}
		member(key)
		if !c.at(',') {
			c.skip('}')
			return
		}
	}
}

// Array reads an array that has elements. It calls element before each; element must read
// it.
func (c *Cursor) Array(element func()) {
	for open := byte('['); ; open = ',' {
		c.skip(open)
		if c.failed {
			return
		}
		element()
		if !c.at(',') {
			c.skip(']')
			return
		}
	}
}

// literal reads a string and returns it with its quotes; plain: it is ASCII without
// escapes.
func (c *Cursor) literal() (quoted []byte, plain bool) {
	if !c.at('"') {
		c.failed = true
		return nil, false
	}
	plain = true
	for i := 1; i < len(c.rest); i++ {
		switch b := c.rest[i]; {
		case b == '"':
			quoted, c.rest = c.rest[:i+1], c.rest[i+1:]
			return quoted, plain
		case b == '\\':
			plain = false
			i++
		case b < ' ' || b > '~':
			plain = false
		}
	}
	c.failed = true
	return nil, false
}

// Plain reads a string that must be ASCII without escapes. The result is part of the text.
func (c *Cursor) Plain() (b []byte, ok bool) {
	quoted, plain := c.literal()
	if c.failed = c.failed || !plain; c.failed {
		return nil, false
	}
	return quoted[1 : len(quoted)-1], true
}

// Text reads a string.
func (c *Cursor) Text() string {
	quoted, plain := c.literal()
	switch {
	case c.failed:
		return ""
	case !plain:
		return c.unquote(quoted)
	case c.whole != "":
		end := len(c.whole) - len(c.rest) - 1
		return c.whole[end-len(quoted)+2 : end]
	}
	return string(quoted[1 : len(quoted)-1])
}

// unquote is apart from Text because its variable escapes to the heap.
func (c *Cursor) unquote(quoted []byte) (t string) {
	c.Check(json.Unmarshal(quoted, &t))
	return t
}

// Texts reads the strings of an array that has some.
func (c *Cursor) Texts() []string {
	all := make([]string, 0, 2)
	c.Array(func() { all = append(all, c.Text()) })
	return all
}

// Into passes a string with its quotes to read.
func (c *Cursor) Into(read func([]byte) error) {
	if quoted, _ := c.literal(); !c.failed {
		c.Check(read(quoted))
	}
}

// Bool reads true or false.
func (c *Cursor) Bool() bool {
	rest, is := bytes.CutPrefix(c.rest, []byte("true"))
	if !is {
		var not bool
		if rest, not = bytes.CutPrefix(c.rest, []byte("false")); !not {
			c.failed = true
		}
	}
	if c.failed {
		return false
	}
	c.rest = rest
	return is
}

// Natural reads a whole number from 0 on.
func (c *Cursor) Natural() (n uint64) {
	digits := bytes.IndexFunc(c.rest, func(r rune) bool { return r < '0' || r > '9' })
	// 19 digits always fit, and a number has no leading 0.
	if c.failed || digits < 1 || digits > 19 || digits > 1 && c.rest[0] == '0' {
		c.failed = true
		return 0
	}
	for _, d := range c.rest[:digits] {
		n = 10*n + uint64(d-'0')
	}
	c.rest = c.rest[digits:]
	return n
}

// Int64 reads a whole number.
func (c *Cursor) Int64() int64 {
	negative := c.at('-')
	if negative {
		c.skip('-')
	}
	n := c.Natural()
	if n > math.MaxInt64 {
		c.failed = true
		return 0
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// Int reads a whole number.
func (c *Cursor) Int() int {
	n := c.Int64()
	if int64(int(n)) != n {
		c.failed = true
	}
	return int(n)
}
