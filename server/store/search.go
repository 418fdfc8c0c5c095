package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cmux/agents/records/journal"
)

// Hit is something that was found: a part of a file that people write, or an
// event.
type Hit struct {
	Path string `json:"path,omitempty"` // of the file, from the project's root
	Line int    `json:"line,omitempty"` // that the part begins in

	Seq    int64     `json:"seq,omitempty"` // of the event
	At     time.Time `json:"at,omitzero"`
	Source string    `json:"source"`
	Kind   string    `json:"kind,omitempty"`
	Name   string    `json:"name,omitempty"`

	Unverified bool `json:"unverified,omitempty"`

	Text string `json:"text"` // around the first word that was found
}

// Found is a page of hits: files first, then events, the newest of each first.
type Found struct {
	Hits   []Hit  `json:"hits"`
	Cursor string `json:"cursor,omitempty"` // of the next page; empty: there is none
}

// ErrQuery says that a text is nothing that can be looked for.
var ErrQuery = errors.New("say what to look for")

// ErrCursor says that a cursor is none that Search gave.
var ErrCursor = errors.New("the cursor is none of this search: begin without one")

// Search looks for words in the journal, MEMORY.md, notes of rooms, messages, tasks and
// conversations. All words are to be there, in any order, each as the beginning of
// a word; those between quotation marks as they follow each other.
func (s *Store) Search(ctx context.Context, query string, most int, cursor string) (*Found, error) {
	match, words := terms(query)
	if match == "" {
		return nil, ErrQuery
	}
	inEvents, from, err := parseCursor(cursor)
	if err != nil {
		return nil, err
	}
	most = limit(most)
	found := &Found{Hits: []Hit{}}
	err = s.query(ctx, func(db *sql.DB) error {
		if !inEvents {
			if err := found.pages(ctx, db, match, words, from, most); err != nil || found.Cursor != "" {
				return err
			}
			from = 1<<63 - 1
		}
		return found.events(ctx, db, match, words, from, most)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

func parseCursor(cursor string) (inEvents bool, from int64, err error) {
	if cursor == "" {
		return false, 1<<63 - 1, nil
	}
	from, err = strconv.ParseInt(cursor[1:], 10, 64)
	if err != nil || cursor[0] != 'e' && cursor[0] != 'p' {
		return false, 0, ErrCursor
	}
	return cursor[0] == 'e', from, nil
}

// pages adds the parts of files older than one.
func (f *Found) pages(ctx context.Context, db *sql.DB, match string, words []string, from int64, most int) error {
	last := int64(0)
	return each(ctx, db, "select p.id, g.path, p.line, p.text from written w join parts p on p.id = w.rowid join pages g on g.id = p.page where w.text match ? and w.rowid < ? order by w.rowid desc limit ?", func(r *sql.Rows) error {
		h := Hit{Source: Journal}
		var id int64
		if err := r.Scan(&id, &h.Path, &h.Line, &h.Text); err != nil {
			return err
		}
		if len(f.Hits) == most {
			f.Cursor = fmt.Sprintf("p%d", last)
			return nil
		}
		last = id
		if h.Path == notesPath {
			h.Source, h.Name, h.Path, h.Line = Memory, fmt.Sprintf("n%d", h.Line), "", 0
		}
		h.Text = around(h.Text, words)
		f.Hits = append(f.Hits, h)
		return nil
	}, match, from, most+1)
}

// events adds the events older than one.
func (f *Found) events(ctx context.Context, db *sql.DB, match string, words []string, from int64, most int) error {
	room := most - len(f.Hits)
	all, err := appendEvents(ctx, db, nil, "select e.seq, e.at, l.name, k.name, e.name, e.body, e.unverified from said s join events e on e.seq = s.rowid join labels l on l.id = e.label join kinds k on k.id = e.kind where s.text match ? and s.rowid < ? order by s.rowid desc limit ?", match, from, room+1)
	if err != nil {
		return err
	}
	for i, e := range all {
		if i == room {
			next := from
			if i > 0 {
				next = all[i-1].Seq
			}
			f.Cursor = fmt.Sprintf("e%d", next)
			break
		}
		f.Hits = append(f.Hits, Hit{Seq: e.Seq, At: e.At, Source: e.Source, Kind: e.Kind, Name: e.Name, Unverified: e.Unverified, Text: around(said(&e), words)})
	}
	return nil
}

// said is what an event says, as it was indexed.
func said(e *Event) string {
	for _, f := range []*format{events, messages, tasks, incidentLines, facts} {
		if f.of(e.Source, e.Kind) {
			return f.line(e.Body).said
		}
	}
	return string(e.Body)
}

// maxWords bounds a query.
const maxWords = 32

// terms are the words of a query, as SQLite wants them.
func terms(query string) (match string, words []string) {
	var all []string
	for i, part := range strings.Split(query, `"`) {
		fields := strings.FieldsFunc(part, func(r rune) bool { return !journal.Letter(r) })
		if len(fields) == 0 || len(words)+len(fields) > maxWords {
			continue
		}
		words = append(words, fields...)
		if i%2 == 1 {
			all = append(all, `"`+strings.Join(fields, " ")+`"`)
			continue
		}
		for _, w := range fields {
			all = append(all, `"`+w+`"*`)
		}
	}
	return strings.Join(all, " AND "), words
}

// width is how much of a text a hit shows, in bytes.
const width = 200

// around is a text in a line, around the first of the words in it.
func around(text string, words []string) string {
	text = strings.Join(strings.Fields(text), " ")
	lower := strings.ToLower(text)
	at := -1
	for _, w := range words {
		if i := strings.Index(lower, strings.ToLower(w)); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if len(text) <= width {
		return text
	}
	begin := min(max(0, at-width/4), len(text))
	for begin > 0 && !utf8.RuneStart(text[begin]) {
		begin--
	}
	end := min(len(text), begin+width)
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	short := text[begin:end]
	if begin > 0 {
		short = "…" + short
	}
	if end < len(text) {
		short += "…"
	}
	return short
}
