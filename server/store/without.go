package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"cmux/signals"
)

// Without says of files of the journal, and of MEMORY.md, which have no line with all of
// the words, each as the beginning of one, as far as the index of a project knows: of a
// file that changed since, it says nothing. It is nil where there is no index, or none
// of these words is in it by itself. It takes no lock: a server may have the store.
func Without(ctx context.Context, root, words string) (without func(path string) bool, err error) {
	match, _ := terms(strings.ReplaceAll(words, `"`, " "))
	file := filepath.Join(root, signals.Folder, Name)
	if _, err := os.Lstat(file); match == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := signals.Expect(file, 0); err != nil {
		return nil, err
	}
	place := url.URL{Scheme: "file", Path: file, RawQuery: "mode=ro&_pragma=busy_timeout(500)&_pragma=query_only(1)"}
	db, err := sql.Open("sqlite", place.String())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	lack := map[string]stamp{}
	err = each(ctx, db, "select path, inode, size, mtime from pages g where size = 0 or exists (select 1 from parts p where p.page = g.id)", func(r *sql.Rows) error {
		var path string
		var inode int64
		var s stamp
		err := r.Scan(&path, &inode, &s.size, &s.mtime)
		s.inode = uint64(inode)
		lack[path] = s
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, db, "select distinct g.path from written w join parts p on p.id = w.rowid join pages g on g.id = p.page where w.text match ?", func(r *sql.Rows) error {
		var path string
		err := r.Scan(&path)
		delete(lack, path)
		return err
	}, match)
	if err != nil {
		return nil, err
	}
	return func(path string) bool {
		was, known := lack[path]
		is, there := look(filepath.Join(root, filepath.FromSlash(path)))
		return known && there && is == was
	}, nil
}
