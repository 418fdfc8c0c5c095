package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrRebuilt says that the database was found damaged, and is made anew by the
// next Ingest.
var ErrRebuilt = errors.New(Name + " is damaged and is being rebuilt: ask again in a moment")

const maxLimit = 1000

// limit bounds what a caller asks for.
func limit(n int) int {
	if n <= 0 {
		return 100
	}
	return min(n, maxLimit)
}

const columns = "select e.seq, e.at, l.name, k.name, e.name, e.body from events e join labels l on l.id = e.label join kinds k on k.id = e.kind "

// query has f ask the database.
func (s *Store) query(ctx context.Context, f func(*sql.DB) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.read == nil {
		return ErrRebuilt
	}
	err := f(s.read)
	if err != nil && ctx.Err() == nil && damage(err) {
		s.damaged.Store(true)
		return fmt.Errorf("%w (%w)", ErrRebuilt, err)
	}
	return err
}

// events appends what a query gives, which selects columns.
func appendEvents(ctx context.Context, db *sql.DB, all []Event, query string, args ...any) ([]Event, error) {
	err := each(ctx, db, query, func(r *sql.Rows) error {
		var e Event
		var at int64
		var body []byte
		err := r.Scan(&e.Seq, &at, &e.Source, &e.Kind, &e.Name, &body)
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

// Find is the event of a number; nil: there is none.
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
	var all []Event
	err := s.query(ctx, func(db *sql.DB) error {
		where, ok, err := f.where(ctx, db)
		if err != nil || !ok {
			return err
		}
		order, from := "desc", "and e.seq < ?"
		edge := f.Before
		if f.After > 0 {
			order, from, edge = "asc", "and e.seq > ?", f.After
		} else if edge <= 0 {
			edge = 1<<63 - 1
		}
		// Each source has an index of its own order: the first of each, and of
		// these the first.
		for _, w := range where {
			all, err = appendEvents(ctx, db, all, columns+"where "+w.text+" "+from+" order by e.seq "+order+" limit ?", append(w.args, edge, most+1)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y Event) int {
		if f.After > 0 {
			return int(x.Seq - y.Seq)
		}
		return int(y.Seq - x.Seq)
	})
	l := &List{Events: all}
	if l.More = len(all) > most; l.More {
		l.Events = all[:most:most]
		l.Next = l.Events[most-1].Seq
	}
	if l.Events == nil {
		l.Events = []Event{}
	}
	return l, nil
}

// where is a condition of a query.
type where struct {
	text string
	args []any
}

// where are the conditions of which any is to hold; ok is false when none can.
func (f *Filter) where(ctx context.Context, db *sql.DB) (all []where, ok bool, err error) {
	kind := where{text: "1"}
	if f.Kind != "" {
		var id int64
		err := db.QueryRowContext(ctx, "select id from kinds where name = ?", f.Kind).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		kind = where{"e.kind = ?", []any{id}}
	}
	if f.Source == "" {
		return []where{kind}, true, nil
	}
	query, args := "select id from labels where name = ?", []any{f.Source}
	if strings.HasSuffix(f.Source, ":") || strings.HasSuffix(f.Source, "/") {
		// All names that begin so: the last character, and the one behind it.
		end := len(f.Source) - 1
		query, args = "select id from labels where name >= ? and name < ?", []any{f.Source, f.Source[:end] + string(f.Source[end]+1)}
	}
	err = each(ctx, db, query, func(r *sql.Rows) error {
		var id int64
		err := r.Scan(&id)
		all = append(all, where{"e.label = ? and " + kind.text, append([]any{id}, kind.args...)})
		return err
	}, args...)
	return all, len(all) > 0, err
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
