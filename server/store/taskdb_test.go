package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/task"
)

// rows are the tasks that the database at root holds, each in a word.
func rows(t *testing.T, root string) (all []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(root, ".cmux", TasksName)+"?mode=ro&_pragma=busy_timeout(2000)")
	must(t, err)
	defer db.Close()
	if err := each(t.Context(), db, "select id, title, state, agent, version from tasks order by id", func(r *sql.Rows) error {
		var id, title, state, agent string
		var v int
		err := r.Scan(&id, &title, &state, &agent, &v)
		all = append(all, fmt.Sprintf("%s %s %s %s %d", id, title, state, agent, v))
		return err
	}); err != nil {
		return nil // it is being rebuilt
	}
	return all
}

// tasks.db follows the tasks. If deleted or damaged, it is rebuilt; a damaged file is
// reported and kept.
func TestTaskDB(t *testing.T) {
	root := project(t)
	s, notes := opened(t, root)
	book, err := task.OpenBook(root, time.Now, true)
	must(t, err)
	change := func(c task.Change) {
		t.Helper()
		_, _, err := book.Change(t.Context(), func(l *task.List) ([]task.Change, error) {
			if old := l.Get(c.Task); old != nil {
				c.Saw = old.Version
			}
			return []task.Change{c}, nil
		})
		must(t, err)
	}
	path := filepath.Join(root, ".cmux", TasksName)
	sync := func(want ...string) {
		t.Helper()
		if err := s.syncTasks(t.Context(), book.List); err != nil {
			t.Fatal(err)
		}
		if got := rows(t, root); strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%q, want %q", got, want)
		}
		info, err := os.Lstat(path)
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	sync()
	title := "write it"
	change(task.Change{Task: "t1", Op: task.OpAdd, Fields: task.Fields{Title: &title}})
	sync("t1 write it open  1")
	change(task.Change{Task: "t1", Op: task.OpMove, To: task.Assigned, Agent: "api"})
	change(task.Change{Task: "t2", Op: task.OpAdd, Fields: task.Fields{Title: &title}})
	now := []string{"t1 write it assigned api 2", "t2 write it open  1"}
	sync(now...)
	must(t, os.Remove(path))
	sync(now...)
	if len(*notes) > 0 {
		t.Errorf("%q", *notes)
	}
	whole, err := os.ReadFile(path)
	must(t, err)
	for name, text := range map[string]string{
		"no database": strings.Repeat("not a database\n", 1000), "a cut one": string(whole[:len(whole)/2]), "an overwritten one": string(whole[:4096]) + strings.Repeat("x", len(whole)-4096), "an empty one": "",
	} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
		*notes = nil
		sync(now...)
		if said := strings.Join(*notes, "\n"); (text != "") != strings.Contains(said, "tasks.db is damaged") {
			t.Errorf("%s: %q", name, said)
		}
		if kept, err := os.ReadFile(path + ".damaged"); text != "" && (err != nil || string(kept) != text) {
			t.Errorf("%s: what is damaged is not kept: %v", name, err)
		}
	}
	// A file of another version is replaced; a link to another place is not followed.
	db, err := sql.Open("sqlite", dsn(path, ""))
	must(t, err)
	_, err = db.Exec("pragma user_version = 7; drop table tasks; create table tasks (x text)")
	must(t, err)
	must(t, db.Close())
	sync(now...)
	elsewhere := filepath.Join(t.TempDir(), "theirs")
	must(t, os.WriteFile(elsewhere, []byte("theirs"), 0o600))
	must(t, os.Remove(path))
	must(t, os.Symlink(elsewhere, path))
	if err := s.syncTasks(t.Context(), book.List); err == nil {
		t.Error("a link was followed")
	}
	if b, _ := os.ReadFile(elsewhere); string(b) != "theirs" {
		t.Errorf("%q", b)
	}
	must(t, os.Remove(path))
	// Who follows sees each change, and that it is gone.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.Follow(ctx) }()
	go func() { s.FollowTasks(ctx, book.List); ended <- nil }()
	is := func(want string) func() bool {
		return func() bool { return strings.Contains(strings.Join(rows(t, root), "; "), want) }
	}
	eventually(t, "tasks.db", is("t1 write it assigned api 2"))
	change(task.Change{Task: "t1", Op: task.OpMove, To: task.Cancelled})
	eventually(t, "a change", is("t1 write it cancelled"))
	must(t, os.Remove(path))
	eventually(t, "tasks.db rebuilt", is("t2 write it open"))
	stop()
	must(t, <-ended)
	must(t, <-ended)
}
