package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/agents/org/task"
	"cmux/agents/records/mail"
	"cmux/signals"
	"cmux/signals/mailbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project is a folder with a .cmux.
func project(t testing.TB) string {
	t.Helper()
	root := t.TempDir()
	must(t, signals.Init(root))
	return root
}

// noted are what a store said beside errors.
type noted []string

func opened(t testing.TB, root string) (*Store, *noted) {
	t.Helper()
	said := new(noted)
	s, err := Open(t.Context(), root, func(text string) { *said = append(*said, text) })
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s, said
}

func write(t testing.TB, root, path, text string) {
	t.Helper()
	path = filepath.Join(root, signals.Folder, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func appendTo(t testing.TB, root, path, text string) {
	t.Helper()
	path = filepath.Join(root, signals.Folder, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func ingest(t testing.TB, s *Store) int {
	t.Helper()
	n, err := s.Ingest(t.Context())
	must(t, err)
	return n
}

// all are all events, whose numbers have no gaps.
func all(t testing.TB, s *Store) (events []Event) {
	t.Helper()
	for {
		page, err := s.After(t.Context(), int64(len(events)), maxLimit)
		must(t, err)
		for _, e := range page {
			if e.Seq != int64(len(events))+1 {
				t.Fatalf("event %d has number %d", len(events)+1, e.Seq)
			}
			if !json.Valid(e.Body) {
				t.Fatalf("event %d: body %q", e.Seq, e.Body)
			}
			events = append(events, e)
		}
		if len(page) == 0 {
			break
		}
	}
	if head := s.Head(); head.Seq != int64(len(events)) || head.Epoch == "" {
		t.Fatalf("head %+v of %d events", head, len(events))
	}
	return events
}

// at is a moment of these tests.
func at(n int) string {
	return time.Date(2026, 3, 1, 12, 0, 0, n*1000, time.UTC).Format(time.RFC3339Nano)
}

func thought(n int, text string) string {
	return fmt.Sprintf(`{"at":%q,"node":"api","attempt":1,"kind":"thought","text":%q}`+"\n", at(n), text)
}

func message(n int, id, subject string) string {
	return fmt.Sprintf(`{"id":%q,"ts":%q,"from":"user","to":"supervisor","subject":%q,"status":"submitted"}`+"\n", id, at(n), subject)
}

// told is an event in a line.
func told(e Event) string { return e.Source + " " + e.Kind + " " + e.Name }

// Every file of the project that says what happened is taken in, in the order of
// its times.
func TestSources(t *testing.T) {
	root := project(t)
	write(t, root, "runs/r1/api/events.jsonl", thought(1, "one")+thought(9, "nine"))
	write(t, root, "agents/w1/events.jsonl", thought(2, "two"))
	write(t, root, "archives/w0/a1/events.jsonl", thought(3, "three"))
	write(t, root, "archives/w0/a1/removed.json", `{"by":"user","at":"`+at(4)+`"}`+"\n")
	write(t, root, "mailbox.000001", message(5, "m1", "first"))
	write(t, root, "mailbox", message(6, "m2", "second")+`{"id":"s1","ts":"`+at(6)+`","from":"w1","type":"status_update"}`+"\n"+message(7, "m1", "a copy"))
	write(t, root, "mailbox.deliveries", `{"id":"m1","to":"supervisor","state":"confirmed","at":"`+at(7)+`"}`+"\n")
	write(t, root, "tasks.jsonl", `{"task":"t1","saw":0,"op":"add","at":"`+at(8)+`","by":"user","title":"a task"}`+"\n")
	write(t, root, "incidents.jsonl", `{"incident":"i1","n":0,"op":"open","at":"`+at(10)+`","by":"cmux","kind":"agent","about":"w1","key":"agent/w1","title":"it died"}`+"\n")
	write(t, root, "audit.log.1", `{"timestamp":"`+at(11)+`","agent_name":"w1","tool_name":"Read"}`+"\n")
	write(t, root, "audit.log", `{"timestamp":"`+at(12)+`","order":"kill","by":"user"}`+"\n")
	write(t, root, "journal/2026-03-02/journal.md", "# 2026-03-02\n\n## 09:00:00 A decision\n*by supervisor; tags: auth*\n\nUse sessions.\n")
	s, _ := opened(t, root)
	if n := ingest(t, s); n != 14 {
		t.Errorf("%d events", n)
	}
	var got []string
	for _, e := range all(t, s) {
		got = append(got, told(e))
	}
	want := []string{
		"run:r1/api thought api", "agent:w1 thought api", "agent:w0 thought api", "agent:w0 removed user",
		"mailbox message m1", "mailbox message m2", "mailbox status_update s1", "mailbox delivery m1",
		"tasks add t1", "run:r1/api thought api", "incidents incident i1", "audit call w1", "audit order user",
		"journal entry 2026-03-02",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := ingest(t, s); n != 0 {
		t.Errorf("%d events again", n)
	}
}

// Only whole lines are taken in, wherever the end of the file was cut.
func TestEveryCut(t *testing.T) {
	root := project(t)
	s, _ := opened(t, root)
	line := thought(2, "naïve ¬ text")
	first := thought(1, "first")
	write(t, root, "agents/w1/events.jsonl", first)
	ingest(t, s)
	for i := range len(line) {
		appendTo(t, root, "agents/w1/events.jsonl", line[i:i+1])
		want := 0
		if i == len(line)-1 {
			want = 1
		}
		if n := ingest(t, s); n != want {
			t.Fatalf("cut behind %d of %d bytes: %d events", i+1, len(line), n)
		}
	}
	events := all(t, s)
	if len(events) != 2 || !bytes.Equal(events[1].Body, []byte(strings.TrimSpace(line))) {
		t.Errorf("%+v", events)
	}
}

// What cmux of this person did not write is marked.
func TestUnverified(t *testing.T) {
	root := project(t)
	post, err := mail.Open(root, time.Now)
	must(t, err)
	_, err = post.Send(t.Context(), mailbox.Message{From: "user", To: "supervisor", Subject: "hello"}, true)
	must(t, err)
	_, err = post.Send(t.Context(), mailbox.Message{From: "user", To: "supervisor", Subject: "I am the user"}, false)
	must(t, err)
	book, err := task.OpenBook(root, time.Now, true)
	must(t, err)
	title := "a task"
	_, _, err = book.Change(t.Context(), func(*task.List) ([]task.Change, error) {
		return []task.Change{{Task: "t1", Op: task.OpAdd, By: "user", Fields: task.Fields{Title: &title}}}, nil
	})
	must(t, err)
	appendTo(t, root, "tasks.jsonl", `{"task":"t1","saw":1,"op":"override","at":"`+at(1)+`","by":"user"}`+"\n")
	s, _ := opened(t, root)
	ingest(t, s)
	var got []string
	for _, e := range all(t, s) {
		got = append(got, fmt.Sprint(e.Source, " ", e.Kind, " ", e.Unverified))
	}
	slices.Sort(got)
	if want := []string{"mailbox message false", "mailbox message true", "tasks add false", "tasks override true"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Whatever the clock does, the events of a source stay in the order in which they
// were written, and none is taken in twice.
func TestClockJumps(t *testing.T) {
	root := project(t)
	s, _ := opened(t, root)
	var want []string
	for i, at := range []string{"2026-03-01T12:00:00Z", "2031-01-01T00:00:00Z", "1999-01-01T00:00:00Z", "2026-03-01T12:00:01Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "", "2026-03-01T11:00:00Z"} {
		line := fmt.Sprintf(`{"at":%q,"node":"a","attempt":1,"kind":"thought","text":"%d"}`, at, i)
		want = append(want, line)
		appendTo(t, root, "agents/a/events.jsonl", line+"\n")
		if i%3 == 0 {
			ingest(t, s)
		}
	}
	ingest(t, s)
	if got := bodies(all(t, s), "agent:a"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if n := ingest(t, s); n != 0 {
		t.Errorf("%d came again", n)
	}
}
