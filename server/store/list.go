package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrRebuilt means that the database was damaged; the next Ingest rebuilds it.
var ErrRebuilt = errors.New(Name + " is damaged and is being rebuilt: ask again in a moment")

const maxLimit = 1000

// limit bounds what a caller asks for.
func limit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, maxLimit)
}

const columns = "select e.seq, e.at, l.name, k.name, e.name, e.body, e.unverified from events e join labels l on l.id = e.label join kinds k on k.id = e.kind "

// query has f ask the database.
func (s *Store) query(ctx context.Context, f func(*sql.DB) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.read == nil {
		return ErrRebuilt
	}
	if _, whole := s.intact(); !whole {
		s.damaged.Store(true)
		return ErrRebuilt
	}
	err := f(s.read)
	if err != nil && ctx.Err() == nil && damage(err) {
		s.damaged.Store(true)
		return fmt.Errorf("%w (%w)", ErrRebuilt, err)
	}
	return err
}

// events appends the result of a query, which selects columns.
func appendEvents(ctx context.Context, db *sql.DB, all []Event, query string, args ...any) ([]Event, error) {
	err := each(ctx, db, query, func(r *sql.Rows) error {
		var e Event
		var at int64
		var body []byte
		err := r.Scan(&e.Seq, &at, &e.Source, &e.Kind, &e.Name, &body, &e.Unverified)
		e.At, e.Body = time.Unix(0, at).UTC(), json.RawMessage(body)
		all = append(all, e)
		return err
	}, args...)
	return all, err
}

// After are the events behind a number, in their order: at most so many, or 100
// for 0.
func (s *Store) After(ctx context.Context, seq int64, most int) (all []Event, err error) {
	err = s.query(ctx, func(db *sql.DB) (err error) {
		all, err = appendEvents(ctx, db, nil, columns+"where e.seq > ? order by e.seq limit ?", seq, limit(most))
		return err
	})
	return all, err
}

// Find returns the event with a number; nil: there is none.
func (s *Store) Find(ctx context.Context, seq int64) (*Event, error) {
	var all []Event
	err := s.query(ctx, func(db *sql.DB) (err error) {
		all, err = appendEvents(ctx, db, nil, columns+"where e.seq = ?", seq)
		return err
	})
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], err
}

// List is a page of the events that a filter names.
func (s *Store) List(ctx context.Context, f Filter) (*List, error) {
	most := limit(f.Limit)
	l := &List{Events: []Event{}}
	err := s.query(ctx, func(db *sql.DB) error {
		seqs, err := f.seqs(ctx, db, most+1)
		if err != nil {
			return err
		}
		if l.More = len(seqs) > most; l.More {
			seqs = seqs[:most]
			l.Next = seqs[most-1]
		}
		in := make([]string, len(seqs))
		for i, seq := range seqs {
			in[i] = strconv.FormatInt(seq, 10)
		}
		l.Events, err = appendEvents(ctx, db, l.Events, columns+"where e.seq in ("+strings.Join(in, ",")+")")
		slices.SortFunc(l.Events, func(x, y Event) int { return f.compare(x.Seq, y.Seq) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// manySources is up to how many sources each is asked for itself.
const manySources = 2000

// seqs are the numbers of the first events that a filter names.
func (f *Filter) seqs(ctx context.Context, db *sql.DB, most int) (all []int64, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if kinds := strings.Split(f.Kind, ","); len(kinds) > 1 {
		return f.ofKinds(ctx, db, kinds, most)
	}
	kind, args := "", []any(nil)
	if f.Kind != "" {
		id, err := numbers(ctx, conn, "select id from kinds where name = ?", f.Kind)
		if err != nil || len(id) == 0 {
			return nil, err
		}
		kind, args = " and kind = ?", []any{id[0]}
	}
	if f.Attempt > 0 {
		kind += " and case when json_valid(body) then body ->> '$.attempt' = ? end"
		args = append(args, f.Attempt)
	}
	in, from := f.labels()
	if in == "" {
		return numbers(ctx, conn, f.query("1"+kind), append(args, f.edge(), most)...)
	}
	labels, err := numbers(ctx, conn, in, from...)
	if err != nil {
		return nil, err
	}
	if len(labels) > manySources { // then most events are theirs: the index is of no use
		return numbers(ctx, conn, f.query("+label in ("+in+")"+kind), append(append(from, args...), f.edge(), most)...)
	}
	// Each source has an index of its own order. Of each the first few are asked
	// for, and more where these are among the first of all.
	few := max(4, 2*most/max(1, len(labels)))
	stmt, err := conn.PrepareContext(ctx, f.query("label = ?"+kind))
	if err != nil {
		return nil, err
	}
	defer stmt.Close()
	edges := make(map[int64]int64, len(labels))
	for _, l := range labels {
		edges[l] = f.edge()
	}
	for len(edges) > 0 {
		for l, edge := range edges {
			next, err := scan(stmt.QueryContext(ctx, append(append([]any{l}, args...), edge, few)...))
			if err != nil {
				return nil, err
			}
			all = append(all, next...)
			if delete(edges, l); len(next) == few {
				edges[l] = next[few-1]
			}
		}
		slices.SortFunc(all, f.compare)
		all = all[:min(len(all), most)]
		for l, edge := range edges {
			if len(all) == most && f.compare(edge, all[most-1]) > 0 {
				delete(edges, l)
			}
		}
	}
	return all, nil
}

// ofKinds are the first of several kinds. Each kind has an index of its own order: of each
// the first few are asked for.
func (f *Filter) ofKinds(ctx context.Context, db *sql.DB, kinds []string, most int) (all []int64, err error) {
	for _, kind := range kinds {
		if kind == "" {
			continue
		}
		one := *f
		one.Kind = kind
		next, err := one.seqs(ctx, db, most)
		if err != nil {
			return nil, err
		}
		all = append(all, next...)
	}
	slices.SortFunc(all, f.compare)
	all = slices.Compact(all) // a kind may be named twice
	return all[:min(len(all), most)], nil
}

// labels is the query for the labels that are meant; empty: all are.
func (f *Filter) labels() (query string, args []any) {
	end := len(f.Source) - 1
	switch {
	case f.Source == "":
		return "", nil
	case f.Source[end] == ':' || f.Source[end] == '/':
		// All names that begin so: the last character, and the one behind it.
		return "select id from labels where name >= ? and name < ?", []any{f.Source, f.Source[:end] + string(f.Source[end]+1)}
	}
	return "select id from labels where name = ?", []any{f.Source}
}

// edge is the number that a page begins behind.
func (f *Filter) edge() int64 {
	switch {
	case f.After > 0:
		return f.After
	case f.Before > 0:
		return f.Before
	}
	return math.MaxInt64
}

// compare orders numbers as the list has them.
func (f *Filter) compare(x, y int64) int {
	if f.After > 0 {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(y, x)
}

// query asks for numbers behind an edge, and how many.
func (f *Filter) query(where string) string {
	order := " and seq < ? order by seq desc limit ?"
	if f.After > 0 {
		order = " and seq > ? order by seq limit ?"
	}
	return "select seq from events where " + where + order
}

func numbers(ctx context.Context, conn *sql.Conn, query string, args ...any) ([]int64, error) {
	return scan(conn.QueryContext(ctx, query, args...))
}

func scan(rows *sql.Rows, err error) (all []int64, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}

// Sources are the names that events have as their source, which begin so.
func (s *Store) Sources(ctx context.Context, prefix string) (names []string, err error) {
	err = s.query(ctx, func(db *sql.DB) error {
		return each(ctx, db, "select name from labels order by name", func(r *sql.Rows) error {
			var name string
			err := r.Scan(&name)
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
			return err
		})
	})
	return names, err
}
