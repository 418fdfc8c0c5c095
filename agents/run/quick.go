package run

import (
	"bytes"
	"encoding/json"
	"math"

	"cmux/dag"
	"cmux/signals"
)

// quick fills r, which is empty, from a line as encode writes it, a tenth of the
// price of encoding/json: a run of many nodes is read from the first record by
// everybody who looks at it. What it does not know it leaves: then it returns
// false and what it filled counts for nothing. What it takes in, encoding/json
// takes in alike.
func (r *Record) quick(line []byte) bool {
	s := &cursor{rest: line}
	s.object(func(key []byte) { r.member(s, key) })
	return !s.failed && len(s.rest) == 0
}

func (r *Record) member(s *cursor, key []byte) {
	switch string(key) {
	case "t":
		r.Type = Type(s.text())
	case "at":
		s.into(r.At.UnmarshalJSON)
	case "node":
		r.Node = s.text()
	case "n":
		r.Attempt = s.int()
	case "how":
		r.How = s.text()
	case "detail":
		r.Detail = s.text()
	case "pid":
		r.PID = s.int()
	case "pid_start":
		r.PIDStart = s.natural()
	case "pane":
		r.Pane = s.text()
	case "activity":
		if b, ok := s.plain(); ok {
			s.check(r.Activity.UnmarshalText(b))
		}
	case "until":
		s.into(r.Until.UnmarshalJSON)
	case "code":
		r.Code = s.int()
	case "cause":
		r.Cause = s.text()
	case "tip":
		r.Tip = s.text()
	case "conversation":
		r.Conversation = s.text()
	case "request":
		r.Request = s.text()
	case "used":
		s.usage(&r.Used)
	case "place":
		if r.Place == nil {
			r.Place = new(Place)
		}
		s.object(func(key []byte) { r.Place.member(s, key) })
	case "end":
		if r.End == nil {
			r.End = new(End)
		}
		s.object(func(key []byte) { r.End.member(s, key) })
	case "marker":
		if r.Marker == nil {
			r.Marker = new(Written)
		}
		s.object(func(key []byte) { r.Marker.member(s, key) })
	case "mac": // the seal, which is no member of a Record
		s.text()
	default:
		s.failed = true
	}
}

func (p *Place) member(s *cursor, key []byte) {
	switch string(key) {
	case "dir":
		p.Dir = s.text()
	case "tree":
		p.Tree = s.text()
	case "branch":
		p.Branch = s.text()
	case "commit":
		p.Commit = s.text()
	case "lent":
		p.Lent = s.text()
	case "slot":
		p.Slot = s.int()
	case "port_base":
		p.PortBase = s.int()
	case "child":
		p.Child = s.text()
	default:
		s.failed = true
	}
}

func (e *End) member(s *cursor, key []byte) {
	switch string(key) {
	case "outcome":
		if b, ok := s.plain(); ok {
			s.check(e.Outcome.UnmarshalText(b))
		}
	case "exit":
		e.Exit = s.int()
	case "reason":
		e.Reason = dag.Reason(s.text())
	case "detail":
		e.Detail = s.text()
	case "summary":
		e.Summary = s.text()
	case "tip":
		e.Tip = s.text()
	case "commits":
		e.Commits = s.int()
	case "diffstat":
		e.DiffStat = s.text()
	case "conversation":
		e.Conversation = s.text()
	case "used":
		s.usage(&e.Used)
	default:
		s.failed = true
	}
}

func (w *Written) member(s *cursor, key []byte) {
	switch string(key) {
	case "code":
		w.Code = s.int()
	case "id":
		s.object(func(key []byte) { s.identity(&w.Identity, key) })
	default:
		s.failed = true
	}
}

func (s *cursor) identity(id *signals.Identity, key []byte) {
	switch string(key) {
	case "inode":
		id.Inode = s.natural()
	case "size":
		id.Size = s.int64()
	case "mtime":
		id.MTime = s.int64()
	default:
		s.failed = true
	}
}

func (s *cursor) usage(u *dag.Usage) {
	s.object(func(key []byte) {
		switch string(key) {
		case "input":
			u.Input = s.int64()
		case "output":
			u.Output = s.int64()
		case "cache_read":
			u.CacheRead = s.int64()
		case "cache_create":
			u.CacheCreate = s.int64()
		default:
			s.failed = true
		}
	})
}

// cursor walks along JSON without any space in it. Once it has failed it stays
// so, and what it returns is nothing.
type cursor struct {
	rest   []byte
	failed bool
}

func (s *cursor) check(err error) { s.failed = s.failed || err != nil }

// skip goes over one character, which must be c.
func (s *cursor) skip(c byte) {
	if s.failed || len(s.rest) == 0 || s.rest[0] != c {
		s.failed = true
		return
	}
	s.rest = s.rest[1:]
}

func (s *cursor) at(c byte) bool { return !s.failed && len(s.rest) > 0 && s.rest[0] == c }

// object goes over an object that has members. member is called in front of
// each value, and goes over it.
func (s *cursor) object(member func(key []byte)) {
	for open := byte('{'); ; open = ',' {
		s.skip(open)
		key, _ := s.plain()
		s.skip(':')
		if s.failed {
			return
		}
		member(key)
		if !s.at(',') {
			s.skip('}')
			return
		}
	}
}

// literal goes over a string and returns it with its quotes, and whether it is
// as it reads: ASCII, without escapes.
func (s *cursor) literal() (quoted []byte, plain bool) {
	if !s.at('"') {
		s.failed = true
		return nil, false
	}
	plain = true
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			quoted, s.rest = s.rest[:i+1], s.rest[i+1:]
			return quoted, plain
		case c == '\\':
			plain = false
			i++
		case c < ' ' || c > '~':
			plain = false
		}
	}
	s.failed = true
	return nil, false
}

// plain is a string that is as it reads.
func (s *cursor) plain() (b []byte, ok bool) {
	quoted, plain := s.literal()
	if s.failed = s.failed || !plain; s.failed {
		return nil, false
	}
	return quoted[1 : len(quoted)-1], true
}

func (s *cursor) text() (t string) {
	switch quoted, plain := s.literal(); {
	case s.failed:
	case plain:
		t = string(quoted[1 : len(quoted)-1])
	default:
		s.check(json.Unmarshal(quoted, &t))
	}
	return t
}

// into hands a string with its quotes to read.
func (s *cursor) into(read func([]byte) error) {
	if quoted, _ := s.literal(); !s.failed {
		s.check(read(quoted))
	}
}

// natural is a whole number from 0 on.
func (s *cursor) natural() (n uint64) {
	digits := bytes.IndexFunc(s.rest, func(c rune) bool { return c < '0' || c > '9' })
	// 19 digits always fit, and a number has no 0 in front.
	if s.failed || digits < 1 || digits > 19 || digits > 1 && s.rest[0] == '0' {
		s.failed = true
		return 0
	}
	for _, c := range s.rest[:digits] {
		n = 10*n + uint64(c-'0')
	}
	s.rest = s.rest[digits:]
	return n
}

func (s *cursor) int64() int64 {
	negative := s.at('-')
	if negative {
		s.skip('-')
	}
	n := s.natural()
	if n > math.MaxInt64 {
		s.failed = true
		return 0
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

func (s *cursor) int() int {
	n := s.int64()
	if int64(int(n)) != n {
		s.failed = true
	}
	return int(n)
}
