package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"cmux/agents/records/journal"
	"cmux/agents/records/note"
	"cmux/signals"
)

// page is a file that a person may edit: what is found in it is what it says now.
type page struct {
	id   int64
	path string // from the project's root
	seen stamp
}

// maxPage is how long a page may be that is looked into.
const maxPage = 16 << 20

// maxPart is how long a part of a page may become, in bytes.
const maxPart = 2 << 10

func (in *intake) loadPages(ctx context.Context, db *sql.DB) error {
	return each(ctx, db, "select id, path, inode, size, mtime from pages", func(r *sql.Rows) error {
		p := new(page)
		var inode int64
		err := r.Scan(&p.id, &p.path, &inode, &p.seen.size, &p.seen.mtime)
		p.seen.inode = uint64(inode)
		in.pages[p.path] = p
		return err
	})
}

// notesPath is the page with the notes of rooms. Each of its parts is a note, and its line the
// number of that.
var notesPath = path.Join(signals.Folder, note.Name)

// notes are the notes that are shown, in place of the text of their file.
func (s *Store) notes() (all []part, err error) {
	b, err := note.OpenBook(s.root, time.Now, false)
	if err != nil {
		return nil, err
	}
	l, err := b.List()
	if err != nil {
		return nil, err
	}
	for _, n := range l.Shown() {
		all = append(all, part{line: n.Number(), text: strings.Join(append([]string{n.Text}, n.About.Files...), "\n")})
	}
	return all, nil
}

// takePages takes in MEMORY.md, the notes of rooms and the journal as they are now, and entries
// that are new as events.
func (s *Store) takePages(ctx context.Context, what *survey) (n int, err error) {
	what.dirs = append(what.dirs, journal.Folder)
	there := map[string]bool{"MEMORY.md": true, notesPath: true}
	j := &journal.Journal{Root: s.root, Now: time.Now}
	days, err := j.Days()
	if err != nil {
		if err := s.odd(source{path: journal.Folder}, err); err != nil {
			return 0, err
		}
	}
	for _, day := range days {
		dir := path.Join(signals.Folder, journal.Folder, day)
		what.dirs = append(what.dirs, path.Join(journal.Folder, day))
		for _, sub := range []string{"", "artifacts", "attachments"} {
			files, err := names(filepath.Join(s.root, dir, sub), false)
			if err != nil {
				return 0, err
			}
			for _, name := range files {
				if !strings.HasPrefix(name, ".") {
					there[path.Join(dir, sub, name)] = true
				}
			}
		}
	}
	for path := range there {
		m, err := s.takePage(ctx, j, path)
		if err != nil {
			return n, err
		}
		n += m
	}
	for path, p := range s.in.pages {
		if there[path] {
			continue
		}
		if err := s.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if err := rewrite(ctx, tx, p.id, nil); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "delete from pages where id = ?", p.id)
			return err
		}); err != nil {
			return n, err
		}
		delete(s.in.pages, path)
	}
	return n, nil
}

// takePage takes in a file, when it is not what it was.
func (s *Store) takePage(ctx context.Context, j *journal.Journal, name string) (n int, err error) {
	is, ok := look(filepath.Join(s.root, filepath.FromSlash(name)))
	p := s.in.pages[name]
	if p == nil {
		if !ok {
			return 0, nil
		}
		p = &page{path: name}
	}
	if p.seen == is {
		return 0, nil
	}
	text, err := signals.ReadFile(filepath.Join(s.root, filepath.FromSlash(name)), maxPage)
	var size *signals.SizeError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &size):
		text = nil
	case err != nil:
		return 0, s.odd(source{path: name}, err)
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		text = nil
	}
	parts := split(string(text))
	if name == notesPath {
		if parts, err = s.notes(); err != nil {
			if err := s.odd(source{path: name}, err); err != nil {
				return 0, err
			}
		}
	}
	var fresh []journal.Entry
	if day, file := path.Split(name); file == "journal.md" {
		if fresh, err = s.entries(ctx, j, path.Base(day)); err != nil {
			if err := s.odd(source{path: name}, err); err != nil {
				return 0, err
			}
		}
	}
	head := s.in.head
	err = s.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, "insert into pages (path, inode, size, mtime) values (?, ?, ?, ?) on conflict (path) do update set inode = excluded.inode, size = excluded.size, mtime = excluded.mtime", name, int64(is.inode), is.size, is.mtime)
		if err != nil {
			return err
		}
		if p.id == 0 {
			if p.id, err = r.LastInsertId(); err != nil {
				return err
			}
		}
		if err := rewrite(ctx, tx, p.id, parts); err != nil {
			return err
		}
		if len(fresh) == 0 {
			return nil
		}
		label, err := id(ctx, tx, "labels", s.in.labels, Journal)
		if err != nil {
			return err
		}
		w := writer{ctx: ctx, in: s.in, tx: tx, event: tx.StmtContext(ctx, s.in.event)}
		for _, e := range fresh {
			body, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if _, err := w.put(label, 0, &row{at: e.At.UnixNano(), kind: Entry, name: journal.Day(e.At), body: body}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	p.seen = is
	s.in.pages[name] = p
	if n = int(s.in.head - head); n > 0 {
		s.head.Store(s.in.head)
		s.change.tell()
	}
	return n, nil
}

// entries are the entries of a day that are no events yet.
func (s *Store) entries(ctx context.Context, j *journal.Journal, day string) (fresh []journal.Entry, err error) {
	all, err := j.Entries(day)
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	err = each(ctx, s.write, "select body from events where label = (select id from labels where name = ?) and name = ?", func(r *sql.Rows) error {
		var body []byte
		if err := r.Scan(&body); err != nil {
			return err
		}
		var e journal.Entry
		if json.Unmarshal(body, &e) == nil {
			known[identity(&e)]++
		}
		return nil
	}, Journal, day)
	for _, e := range all {
		if k := identity(&e); known[k] > 0 {
			known[k]--
		} else {
			fresh = append(fresh, e)
		}
	}
	return fresh, err
}

// identity tells an entry from others of its day, wherever the clock is read.
func identity(e *journal.Entry) string {
	return fmt.Sprintf("%s\n%q", e.At.Format(time.TimeOnly), []string{e.Title, e.By, strings.Join(e.Tags, ","), e.Text})
}

// part is a stretch of a page.
type part struct {
	id   int64
	line int
	text string
}

// split is a text in parts: paragraphs, the short ones together.
func split(text string) (all []part) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		blank := strings.TrimSpace(line) == ""
		last := len(all) - 1
		switch {
		case last >= 0 && len(all[last].text)+len(line) <= maxPart && !strings.HasSuffix(all[last].text, "\n\n"):
			all[last].text += line
		case !blank:
			all = append(all, part{line: n, text: line})
		}
	}
	return all
}

// rewrite updates the parts of a page. It does not write unchanged parts at its beginning
// again.
func rewrite(ctx context.Context, tx *sql.Tx, page int64, now []part) error {
	var old []part
	err := each(ctx, tx, "select id, line, text from parts where page = ? order by id", func(r *sql.Rows) error {
		var p part
		err := r.Scan(&p.id, &p.line, &p.text)
		old = append(old, p)
		return err
	}, page)
	if err != nil {
		return err
	}
	same := 0
	for same < min(len(old), len(now)) && old[same].line == now[same].line && old[same].text == now[same].text {
		same++
	}
	for _, p := range old[same:] {
		if _, err := tx.ExecContext(ctx, "insert into written (written, rowid, text) values ('delete', ?, ?)", p.id, p.text); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "delete from parts where id = ?", p.id); err != nil {
			return err
		}
	}
	for _, p := range now[same:] {
		r, err := tx.ExecContext(ctx, "insert into parts (page, line, text) values (?, ?, ?)", page, p.line, p.text)
		if err != nil {
			return err
		}
		id, err := r.LastInsertId()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "insert into written (rowid, text) values (?, ?)", id, p.text); err != nil {
			return err
		}
	}
	return nil
}
