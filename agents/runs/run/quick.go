package run

import (
	"cmux/dag"
	"cmux/dag/plainjson"
	"cmux/signals"
)

// quick fills r, which is empty, from a line as encode writes it, a tenth of the
// price of encoding/json: a run of many nodes is read from the first record by
// everybody who looks at it. What it does not know it leaves: then it returns
// false and what it filled counts for nothing. What it takes in, encoding/json
// takes in alike.
func (r *Record) quick(line []byte) bool {
	return plainjson.Read(line, func(s *plainjson.Cursor) {
		s.Object(func(key []byte) { r.member(s, key) })
	})
}

func (r *Record) member(s *plainjson.Cursor, key []byte) {
	switch string(key) {
	case "t":
		r.Type = Type(s.Text())
	case "at":
		s.Into(r.At.UnmarshalJSON)
	case "node":
		r.Node = s.Text()
	case "n":
		r.Attempt = s.Int()
	case "how":
		r.How = s.Text()
	case "detail":
		r.Detail = s.Text()
	case "pid":
		r.PID = s.Int()
	case "pid_start":
		r.PIDStart = s.Natural()
	case "pane":
		r.Pane = s.Text()
	case "activity":
		if b, ok := s.Plain(); ok {
			s.Check(r.Activity.UnmarshalText(b))
		}
	case "until":
		s.Into(r.Until.UnmarshalJSON)
	case "code":
		r.Code = s.Int()
	case "cause":
		r.Cause = s.Text()
	case "tip":
		r.Tip = s.Text()
	case "conversation":
		r.Conversation = s.Text()
	case "request":
		r.Request = s.Text()
	case "value":
		r.Value = s.Text()
	case "used":
		usage(s, &r.Used)
	case "place":
		if r.Place == nil {
			r.Place = new(Place)
		}
		s.Object(func(key []byte) { r.Place.member(s, key) })
	case "end":
		if r.End == nil {
			r.End = new(End)
		}
		s.Object(func(key []byte) { r.End.member(s, key) })
	case "marker":
		if r.Marker == nil {
			r.Marker = new(Written)
		}
		s.Object(func(key []byte) { r.Marker.member(s, key) })
	case "mac": // the seal, which is no member of a Record
		s.Text()
	default:
		s.Fail()
	}
}

func (p *Place) member(s *plainjson.Cursor, key []byte) {
	switch string(key) {
	case "dir":
		p.Dir = s.Text()
	case "tree":
		p.Tree = s.Text()
	case "branch":
		p.Branch = s.Text()
	case "commit":
		p.Commit = s.Text()
	case "lent":
		p.Lent = s.Text()
	case "slot":
		p.Slot = s.Int()
	case "port_base":
		p.PortBase = s.Int()
	case "child":
		p.Child = s.Text()
	case "far":
		p.Far = s.Text()
	case "machine":
		p.Machine = s.Text()
	default:
		s.Fail()
	}
}

func (e *End) member(s *plainjson.Cursor, key []byte) {
	switch string(key) {
	case "outcome":
		if b, ok := s.Plain(); ok {
			s.Check(e.Outcome.UnmarshalText(b))
		}
	case "exit":
		e.Exit = s.Int()
	case "reason":
		e.Reason = dag.Reason(s.Text())
	case "detail":
		e.Detail = s.Text()
	case "summary":
		e.Summary = s.Text()
	case "tip":
		e.Tip = s.Text()
	case "commits":
		e.Commits = s.Int()
	case "diffstat":
		e.DiffStat = s.Text()
	case "conversation":
		e.Conversation = s.Text()
	case "used":
		usage(s, &e.Used)
	default:
		s.Fail()
	}
}

func (w *Written) member(s *plainjson.Cursor, key []byte) {
	switch string(key) {
	case "code":
		w.Code = s.Int()
	case "id":
		s.Object(func(key []byte) { identityMember(s, &w.Identity, key) })
	default:
		s.Fail()
	}
}

func identityMember(s *plainjson.Cursor, id *signals.Identity, key []byte) {
	switch string(key) {
	case "inode":
		id.Inode = s.Natural()
	case "size":
		id.Size = s.Int64()
	case "mtime":
		id.MTime = s.Int64()
	default:
		s.Fail()
	}
}

func usage(s *plainjson.Cursor, u *dag.Usage) {
	s.Object(func(key []byte) {
		switch string(key) {
		case "input":
			u.Input = s.Int64()
		case "output":
			u.Output = s.Int64()
		case "cache_read":
			u.CacheRead = s.Int64()
		case "cache_create":
			u.CacheCreate = s.Int64()
		default:
			s.Fail()
		}
	})
}
