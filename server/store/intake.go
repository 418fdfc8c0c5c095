package store

import (
	"context"
	"database/sql"
	"fmt"

	"cmux/agents/platform/proc"
)

// intake is what the writer knows of the database.
type intake struct {
	epoch string
	head  int64

	labels, kinds map[string]int64
	byPath        map[string]*file
	byInode       map[uint64][]*file
	newest        int64 // id of a file
	pages         map[string]*page
	told          map[string]string // path -> last note about it

	event, said, message, update *sql.Stmt
}

// load reads what the database knows of its sources, and gives a new one its
// epoch.
func load(ctx context.Context, db *sql.DB) (*intake, error) {
	in := &intake{
		labels: map[string]int64{}, kinds: map[string]int64{},
		byPath: map[string]*file{}, byInode: map[uint64][]*file{}, pages: map[string]*page{}, told: map[string]string{},
	}
	if err := in.meta(ctx, db); err != nil {
		return nil, err
	}
	for table, ids := range map[string]map[string]int64{"labels": in.labels, "kinds": in.kinds} {
		err := each(ctx, db, "select id, name from "+table, func(r *sql.Rows) error {
			var id int64
			var name string
			err := r.Scan(&id, &name)
			ids[name] = id
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	err := each(ctx, db, "select id, path, label, inode, first, offset, length, last, again from files order by id", func(r *sql.Rows) error {
		f := new(file)
		var inode int64
		err := r.Scan(&f.id, &f.path, &f.label, &inode, &f.first, &f.offset, &f.length, &f.last, &f.again)
		f.inode = uint64(inode)
		in.add(f)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := in.loadPages(ctx, db); err != nil {
		return nil, err
	}
	for stmt, text := range map[**sql.Stmt]string{
		&in.event:   "insert into events (seq, at, label, file, kind, unverified, name, body) values (?, ?, ?, ?, ?, ?, ?, ?)",
		&in.said:    "insert into said (rowid, text) values (?, ?)",
		&in.message: "insert or ignore into messages (id) values (?)",
		&in.update:  "insert or replace into files (id, path, label, inode, first, offset, length, last, again) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
	} {
		if *stmt, err = db.PrepareContext(ctx, text); err != nil {
			in.close()
			return nil, err
		}
	}
	return in, nil
}

// meta reads the epoch and the newest number. After a power cut rows may be gone
// that somebody has seen, and their numbers would be given to others: an epoch
// ends with the boot that it began in.
func (in *intake) meta(ctx context.Context, db *sql.DB) error {
	meta := map[string]string{}
	err := each(ctx, db, "select key, value from meta", func(r *sql.Rows) error {
		var k, v string
		err := r.Scan(&k, &v)
		meta[k] = v
		return err
	})
	if err != nil {
		return err
	}
	boot := proc.BootID()
	if in.epoch = meta["epoch"]; in.epoch == "" || meta["boot"] != boot {
		in.epoch = newEpoch()
	}
	for k, v := range map[string]string{"epoch": in.epoch, "boot": boot} {
		if meta[k] == v {
			continue
		}
		if _, err := db.ExecContext(ctx, "insert or replace into meta (key, value) values (?, ?)", k, v); err != nil {
			return err
		}
	}
	return db.QueryRowContext(ctx, "select coalesce(max(seq), 0) from events").Scan(&in.head)
}

// close gives up the statements.
func (in *intake) close() {
	if in == nil {
		return
	}
	for _, stmt := range []*sql.Stmt{in.event, in.said, in.message, in.update} {
		if stmt != nil {
			stmt.Close()
		}
	}
}

func (in *intake) add(f *file) {
	in.byPath[f.path] = f
	in.byInode[f.inode] = append(in.byInode[f.inode], f)
	in.newest = max(in.newest, f.id)
}

// each calls f for each row of a query.
func each(ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, f func(*sql.Rows) error, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// id is the number of a name in a table, which is given when it has none.
func id(ctx context.Context, tx *sql.Tx, table string, ids map[string]int64, name string) (int64, error) {
	if id, ok := ids[name]; ok {
		return id, nil
	}
	r, err := tx.ExecContext(ctx, fmt.Sprintf("insert into %s (name) values (?)", table), name)
	if err != nil {
		return 0, err
	}
	id, err := r.LastInsertId()
	ids[name] = id
	return id, err
}
