package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"cmux/agents/org/task"
	"cmux/signals"
)

// TasksName is the database of the tasks, in the folder .cmux: each as it stands, in a
// row, for who asks by SQL. It is derived from tasks.jsonl. cmux itself reads it
// nowhere.
const TasksName = "tasks.db"

// tasksVersion is the version of the table. A table of another version is replaced.
const tasksVersion = 1

const tasksTable = `create table if not exists tasks (
	id text primary key, title text not null, body text not null, priority text not null, state text not null, label text not null, reason text not null,
	agent text not null, backlog integer not null, project text not null, parent text not null, branch text not null, attempts integer not null,
	summary text not null, merged text not null, created_by text not null, created_at text not null, changed_by text not null, changed_at text not null,
	version integer not null
)`

// FollowTasks keeps tasks.db equal to list until ctx ends. It creates a missing file, and
// sets a damaged one aside with a note.
func (s *Store) FollowTasks(ctx context.Context, list func() (*task.List, error)) {
	slow := time.NewTicker(slowLook)
	defer slow.Stop()
	file := filepath.Join(filepath.Dir(s.path), task.Name)
	var seen stamp
	told := ""
	for first := true; ; first = false {
		changed := s.Changed()
		now, _ := look(file)
		_, there := look(s.tasksPath())
		if first || now != seen || !there {
			err := s.syncTasks(ctx, list)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				seen = now
			}
			if text := words(err); text != told {
				if told = text; text != "" {
					s.note(text)
				}
			}
		}
		select {
		case <-changed:
			select { // several at once are one
			case <-time.After(breath):
			case <-ctx.Done():
				return
			}
		case <-slow.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) tasksPath() string { return filepath.Join(filepath.Dir(s.path), TasksName) }

func (s *Store) syncTasks(ctx context.Context, list func() (*task.List, error)) error {
	l, err := list()
	if err != nil {
		return fmt.Errorf("%s: %w", TasksName, err)
	}
	path := s.tasksPath()
	err = putTasks(ctx, path, l)
	if err != nil && ctx.Err() == nil && foreign(err) {
		aside := TasksName + ".damaged"
		if moved := signals.Rename(path, aside); moved != nil {
			return fmt.Errorf("%s is damaged (%w), and cannot be set aside: %w", TasksName, err, moved)
		}
		for _, beside := range []string{"-wal", "-shm"} {
			if err := signals.RemoveFile(path + beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		s.note(fmt.Sprintf("%s is damaged (%v): it was set aside as %s/%s and is rebuilt from %s", TasksName, err, signals.Folder, aside, task.Name))
		err = putTasks(ctx, path, l)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", TasksName, explain(err))
	}
	return nil
}

// putTasks makes the rows of the database at path those of a list.
func putTasks(ctx context.Context, path string, l *task.List) (err error) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := signals.Expect(name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f, err := signals.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", dsn(path, "_txlock=immediate"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version := 0
	if err := tx.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
		return err
	}
	if version != tasksVersion {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("drop table if exists tasks; pragma user_version = %d", tasksVersion)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, tasksTable); err != nil {
		return err
	}
	had := map[string]int{}
	if err := each(ctx, tx, "select id, version from tasks", func(r *sql.Rows) error {
		var id string
		var v int
		err := r.Scan(&id, &v)
		had[id] = v
		return err
	}); err != nil {
		return err
	}
	for _, t := range l.All() {
		v, ok := had[t.ID]
		delete(had, t.ID)
		if ok && v == t.Version {
			continue
		}
		if err := putTask(ctx, tx, t); err != nil {
			return err
		}
	}
	for id := range had {
		if _, err := tx.ExecContext(ctx, "delete from tasks where id = ?", id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func putTask(ctx context.Context, tx *sql.Tx, t *task.Task) error {
	merged, summary := "", ""
	if t.Merged != nil {
		b, err := json.Marshal(t.Merged)
		if err != nil {
			return err
		}
		merged = string(b)
	}
	if end := t.Result(); end != nil {
		summary = end.Summary
	}
	_, err := tx.ExecContext(ctx, "insert or replace into tasks values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		t.ID, t.Title, t.Body, string(t.Priority), string(t.State), t.Label(), t.Reason, t.Agent, t.Backlog, t.Project, t.Parent, t.Branch, len(t.Attempts),
		summary, merged, t.CreatedBy, t.CreatedAt.UTC().Format(time.RFC3339Nano), t.ChangedBy, t.ChangedAt.UTC().Format(time.RFC3339Nano), t.Version)
	return err
}
