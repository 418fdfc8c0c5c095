// Package plainjson reads JSON that encoding/json wrote, and no other, at a tenth
// of its price: files with thousands of lines or nodes are read whole by each
// command.
//
// A Cursor walks along the text, and its caller says what stands where. What the
// Cursor cannot take in as encoding/json would (space between values, null, a
// number with a fraction) makes it fail. Then all that it returned counts for
// nothing, and the caller reads the text with encoding/json.
package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
)

// Cursor is a place in a text. Once it has failed it stays so, and what it returns
// is nothing.
type Cursor struct {
	rest   []byte
	whole  string // the text; empty: strings are copied out of it one by one
	failed bool
}

// Read has walk go over text, which is one value, and reports whether it did, from
// the first to the last byte. What it returned does not hold on to text.
func Read(text []byte, walk func(*Cursor)) bool { return read(&Cursor{rest: text}, walk) }

// ReadKept is Read for what is kept as a whole: the strings are parts of one copy
// of text.
func ReadKept(text []byte, walk func(*Cursor)) bool {
	return read(&Cursor{rest: text, whole: string(text)}, walk)
}

func read(c *Cursor, walk func(*Cursor)) bool {
	walk(c)
	return !c.failed && len(c.rest) == 0
}

// Fail makes c fail: what stands there is not known to the caller.
func (c *Cursor) Fail() { c.failed = true }

// Check makes c fail where err is one.
func (c *Cursor) Check(err error) { c.failed = c.failed || err != nil }

// skip goes over one character, which must be b.
func (c *Cursor) skip(b byte) {
	if c.failed || len(c.rest) == 0 || c.rest[0] != b {
		c.failed = true
		return
	}
	c.rest = c.rest[1:]
}

func (c *Cursor) at(b byte) bool { return !c.failed && len(c.rest) > 0 && c.rest[0] == b }

// Object goes over an object that has members. member is called in front of
// each value, and goes over it.
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

// Array goes over an array that has elements. element is called in front of each,
// and goes over it.
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

// literal goes over a string and returns it with its quotes, and whether it is
// as it reads: ASCII, without escapes.
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

// Plain is a string that is as it reads: ASCII, without escapes. It is part of the
// text.
func (c *Cursor) Plain() (b []byte, ok bool) {
	quoted, plain := c.literal()
	if c.failed = c.failed || !plain; c.failed {
		return nil, false
	}
	return quoted[1 : len(quoted)-1], true
}

// Text is a string.
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

// unquote is apart from Text for its variable, which has to be allocated.
func (c *Cursor) unquote(quoted []byte) (t string) {
	c.Check(json.Unmarshal(quoted, &t))
	return t
}

// Texts are the strings of an array that has some.
func (c *Cursor) Texts() []string {
	all := make([]string, 0, 2)
	c.Array(func() { all = append(all, c.Text()) })
	return all
}

// Into hands a string with its quotes to read.
func (c *Cursor) Into(read func([]byte) error) {
	if quoted, _ := c.literal(); !c.failed {
		c.Check(read(quoted))
	}
}

// Bool is true or false.
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

// Natural is a whole number from 0 on.
func (c *Cursor) Natural() (n uint64) {
	digits := bytes.IndexFunc(c.rest, func(r rune) bool { return r < '0' || r > '9' })
	// 19 digits always fit, and a number has no 0 in front.
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

// Int64 is a whole number.
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

// Int is a whole number.
func (c *Cursor) Int() int {
	n := c.Int64()
	if int64(int(n)) != n {
		c.failed = true
	}
	return int(n)
}
