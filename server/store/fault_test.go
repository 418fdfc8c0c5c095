package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cmux/signals"
)

// bodies are the events of a source, without their order among others.
func bodies(events []Event, source string) (all []string) {
	for _, e := range events {
		if e.Source == source {
			all = append(all, string(e.Body))
		}
	}
	return all
}

func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// eventually waits for a fact.
func eventually(t *testing.T, what string, fact func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !fact(); {
		if time.Now().After(end) {
			t.Fatalf("waited a minute for %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestKilled kills the process that takes events in, 50 times, while they are
// written: none is lost, none is there twice, and the numbers have no gaps.
func TestKilled(t *testing.T) {
	root := project(t)
	self, err := os.Executable()
	must(t, err)
	var stderr bytes.Buffer
	written := map[string]*strings.Builder{}
	sources := []string{"run:r1/api", "run:r1/web", "agent:w1", "mailbox"}
	n := 0
	put := func() {
		for _, src := range sources {
			n++
			path, line := strings.NewReplacer("run:", "runs/", "agent:", "agents/").Replace(src)+"/events.jsonl", thought(n, strings.Repeat("x", rand.IntN(300)))
			if src == "mailbox" {
				path, line = src, message(n, fmt.Sprintf("m%d", n), "x")
			}
			if written[src] == nil {
				written[src] = new(strings.Builder)
			}
			cut := rand.IntN(len(line))
			appendTo(t, root, path, line[:cut])
			appendTo(t, root, path, line[cut:])
			written[src].WriteString(line)
		}
	}
	for kill := range 50 {
		c := exec.Command(self)
		c.Env = append(os.Environ(), rootKey+"="+root)
		c.Stderr = &stderr
		for range 40 { // there is something to catch up with
			put()
		}
		wal := filepath.Join(root, ".cmux", Name+"-wal")
		before, _ := look(wal)
		must(t, c.Start())
		if kill%4 > 0 { // else in its beginning
			eventually(t, "a process that writes", func() bool { is, _ := look(wal); return is != before })
		}
		for begin, most := time.Now(), time.Duration(rand.IntN(20))*time.Millisecond; time.Since(begin) < most; {
			put()
		}
		must(t, c.Process.Kill())
		c.Wait()
		if kill%10 == 9 { // set aside in the middle
			must(t, os.Rename(filepath.Join(root, ".cmux/mailbox"), filepath.Join(root, fmt.Sprintf(".cmux/mailbox.%06d", kill/10+1))))
		}
	}
	s, notes := opened(t, root)
	before := s.Head()
	ingest(t, s)
	events := all(t, s)
	for _, src := range sources {
		if got, want := bodies(events, src), lines(written[src].String()); !slices.Equal(got, want) {
			t.Errorf("%s: %d events of %d lines", src, len(got), len(want))
		}
	}
	if len(*notes) > 0 || stderr.Len() > 0 {
		t.Errorf("%q\n%s", *notes, &stderr)
	}
	if before.Seq == 0 {
		t.Error("no killed process took anything in")
	}
	t.Logf("%d of %d events were taken in by killed processes", before.Seq, n)
}

// A damaged or missing database is rebuilt from the files with a note, and gets another
// epoch.
func TestDamage(t *testing.T) {
	page := func(n int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 4096), int64(n)*4096)
			must(t, errors.Join(err, f.Close()))
		}
	}
	cut := func(share float64) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err)
			must(t, os.Truncate(path, int64(float64(info.Size())*share)))
		}
	}
	for name, harm := range map[string]func(t *testing.T, path string){
		"header": page(0), "pages": func(t *testing.T, path string) {
			for n := 1; n < 40; n++ {
				page(n)(t, path)
			}
		},
		"cut by half": cut(0.5), "cut by little": cut(0.99), "empty": cut(0),
		"removed":     func(t *testing.T, path string) { must(t, os.Remove(path)) },
		"other":       func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte("a text of a person\n"), 0o600)) },
		"log removed": func(t *testing.T, path string) { os.Remove(path + "-wal") },
		"log damaged": func(t *testing.T, path string) { must(t, os.WriteFile(path+"-wal", []byte("no WAL"), 0o600)) },
	} {
		for _, open := range []bool{false, true} {
			if open && name == "log damaged" {
				continue
			}
			t.Run(fmt.Sprintf("%s open=%v", name, open), func(t *testing.T) {
				root := project(t)
				var want []string
				for i := range 300 {
					want = append(want, strings.TrimSpace(thought(i, "text of some length, so that there are pages")))
				}
				write(t, root, "agents/w1/events.jsonl", strings.Join(want, "\n")+"\n")
				s, notes := opened(t, root)
				ingest(t, s)
				old := s.Head()
				path := filepath.Join(root, ".cmux", Name)
				if !open {
					must(t, s.Close())
					harm(t, path)
					s, notes = opened(t, root)
				} else {
					_, err := s.write.Exec("pragma wal_checkpoint(truncate)")
					must(t, err)
					harm(t, path)
					// Whoever asks may meet the damage, and is told to wait, or may
					// still be given what is kept in memory.
					for range 2 {
						if _, err := s.List(t.Context(), Filter{Source: "agent:w1", Limit: 1000}); err != nil && !errors.Is(err, ErrRebuilt) {
							t.Error(err)
						}
					}
				}
				want = append(want, strings.TrimSpace(thought(300, "behind it")))
				appendTo(t, root, "agents/w1/events.jsonl", want[300]+"\n")
				ingest(t, s)
				seen, err := s.After(t.Context(), 0, 1000)
				if errors.Is(err, ErrRebuilt) { // met by this query
					ingest(t, s)
				} else {
					must(t, err)
					_ = seen
				}
				if got := bodies(all(t, s), "agent:w1"); !slices.Equal(got, want) {
					t.Errorf("%d events, want %d", len(got), len(want))
				}
				rebuilt := name != "log damaged" && (name != "log removed" || open)
				if is := s.Head(); rebuilt && is.Epoch == old.Epoch {
					t.Errorf("the epoch is the same: %q", *notes)
				}
				said := strings.Join(*notes, "\n")
				if silent := name == "removed" && !open || name == "empty" && !open || !rebuilt; (said == "") != silent {
					t.Errorf("%q", said)
				}
				for _, p := range []string{path, path + "-wal", path + "-shm"} {
					if info, err := os.Stat(p); err != nil || info.Mode() != 0o600 {
						t.Errorf("%s: %v, %v", p, info, err)
					}
				}
			})
		}
	}
}

// A link or a folder in the place of the database is named and left alone.
func TestForeignFiles(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink("/etc/passwd", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		root := project(t)
		must(t, put(filepath.Join(root, ".cmux", Name)))
		var file *signals.FileError
		if _, err := Open(t.Context(), root, nil); !errors.As(err, &file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One that is no file among the sources holds the others up in nothing.
	root := project(t)
	write(t, root, "agents/w1/events.jsonl", thought(1, "x"))
	must(t, os.Mkdir(filepath.Join(root, ".cmux/mailbox"), 0o700))
	must(t, os.Symlink("/etc", filepath.Join(root, ".cmux/archives")))
	must(t, os.MkdirAll(filepath.Join(root, ".cmux/agents/w2/events.jsonl"), 0o700))
	must(t, os.Mkdir(filepath.Join(root, "MEMORY.md"), 0o700))
	write(t, root, "journal/2026-03-02/journal.md", "## 09:00:00 A decision\n")
	must(t, os.Symlink("/etc/passwd", filepath.Join(root, ".cmux/journal/2026-03-02/reflection.md")))
	write(t, root, "journal/2026-03-03/journal.md", "## 09:00:00 Large\n"+strings.Repeat("x", maxPage))
	s, notes := opened(t, root)
	for _, want := range []int{2, 0} {
		if n, err := s.Ingest(t.Context()); err != nil || n != want {
			t.Errorf("%d, %v", n, err)
		}
	}
	if len(*notes) != 1 || !strings.HasPrefix((*notes)[0], ".cmux/journal/2026-03-03/journal.md is not taken in") {
		t.Errorf("%q", *notes)
	}
}

// One process has the store at a time, and who else asks is told which.
func TestHeld(t *testing.T) {
	root := project(t)
	s, _ := opened(t, root)
	var held *signals.HeldError
	if _, err := Open(t.Context(), root, nil); !errors.As(err, &held) {
		t.Errorf("%v", err)
	}
	must(t, s.Close())
	opened(t, root)
}

// Whatever becomes of a file, each of its lines is an event once.
func TestFiles(t *testing.T) {
	const path = "agents/w1/events.jsonl"
	a, b, c, d, e := thought(1, "a"), thought(2, "b"), thought(3, "c"), thought(4, "d"), thought(5, "e")
	for name, test := range map[string]struct {
		change func(t *testing.T, root, file string)
		want   string
	}{
		"grows": {func(t *testing.T, root, file string) { appendTo(t, root, path, d) }, a + b + c + d},
		"is shortened": {func(t *testing.T, root, file string) {
			must(t, os.Truncate(file, int64(len(a))))
			appendTo(t, root, path, d)
		}, a + b + c + d},
		"is cut in a line": {func(t *testing.T, root, file string) {
			must(t, os.Truncate(file, int64(len(a)+5)))
			appendTo(t, root, path, "\n"+d)
		}, a + b + c + b[:5] + "\n" + d},
		"is emptied": {func(t *testing.T, root, file string) { must(t, os.Truncate(file, 0)); appendTo(t, root, path, d+a) }, a + b + c + d},
		"is a copy": {func(t *testing.T, root, file string) {
			write(t, root, path+".new", a+b+c+d)
			must(t, os.Rename(file+".new", file))
		}, a + b + c + d},
		"is an older copy": {func(t *testing.T, root, file string) {
			write(t, root, path+".new", a+b+d)
			must(t, os.Rename(file+".new", file))
		}, a + b + c + d},
		"is another": {func(t *testing.T, root, file string) {
			write(t, root, path+".new", d+e)
			must(t, os.Rename(file+".new", file))
		}, a + b + c + d + e},
		"is rewritten in place": {func(t *testing.T, root, file string) { write(t, root, path, d+e+a) }, a + b + c + d + e},
		"is removed":            {func(t *testing.T, root, file string) { must(t, os.RemoveAll(filepath.Dir(file))) }, a + b + c},
		"moves to the archives": {func(t *testing.T, root, file string) {
			to := filepath.Join(root, ".cmux/archives/w1/x")
			must(t, os.MkdirAll(filepath.Dir(to), 0o700))
			must(t, os.Rename(filepath.Dir(file), to))
			appendTo(t, root, "archives/w1/x/events.jsonl", d)
			appendTo(t, root, path, e)
		}, a + b + c + d + e},
		"has a line that ends later": {func(t *testing.T, root, file string) {
			appendTo(t, root, path, d[:9])
			appendTo(t, root, path, d[9:]+e)
		}, a + b + c + d + e},
	} {
		for _, closed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s closed=%v", name, closed), func(t *testing.T) {
				root := project(t)
				s, _ := opened(t, root)
				write(t, root, path, a+b+c)
				ingest(t, s)
				if closed {
					must(t, s.Close())
				}
				test.change(t, root, filepath.Join(root, ".cmux", path))
				if closed {
					s, _ = opened(t, root)
				}
				for range 2 {
					ingest(t, s)
				}
				var got []string
				for _, e := range all(t, s) {
					if e.Kind == Unreadable {
						e.Body = []byte(b[:5])
					}
					got = append(got, string(e.Body))
				}
				if want := lines(test.want); !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			})
		}
	}
}

// What is no line of JSON, or too long for one, is kept as text and holds
// nothing up.
func TestOddLines(t *testing.T) {
	root := project(t)
	long := `{"text":"` + strings.Repeat("x", maxLine+100)
	write(t, root, "agents/w1/events.jsonl", "no JSON\n\n  \n"+thought(1, "a")+"\xff\xfe\x00\n"+long+"\n"+`{"at":7,"kind":["x"]}`+"\n"+`"text"`+"\n"+`{"kind":"`+strings.Repeat("k", 5000)+`"}`+"\n"+thought(2, "b"))
	s, _ := opened(t, root)
	ingest(t, s)
	var got []string
	for _, e := range all(t, s) {
		body := string(e.Body)
		got = append(got, e.Kind[:min(len(e.Kind), 12)]+" "+body[:min(len(body), 9)])
	}
	want := []string{`unreadable "no JSON"`, `thought {"at":"20`, `unreadable "\ufffd\u`, `unreadable "{\"text\`, `other {"at":7,"`, `other "text"`, `kkkkkkkkkkkk {"kind":"`, `thought {"at":"20`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	// One that has not ended yet is not taken in part by part.
	appendTo(t, root, "agents/w1/events.jsonl", long)
	if n := ingest(t, s); n != 0 {
		t.Errorf("%d", n)
	}
	appendTo(t, root, "agents/w1/events.jsonl", long+"\n"+thought(3, "c"))
	if n := ingest(t, s); n != 2 {
		t.Errorf("%d", n)
	}
}
