package book

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/room"
)

func newBook(t *testing.T) *Book {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	b, err := Open(t.TempDir(), "auth", time.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Create(t.Context(), room.Defaults(), room.Line{Name: "claude", Agent: "auth.claude"}, room.Line{Name: "codex", Agent: "auth.codex"}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *Book) must(t *testing.T) []room.Line {
	t.Helper()
	all, bad, err := b.Lines()
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	for _, broken := range room.Check(all) {
		t.Error(broken)
	}
	return all
}

func TestSay(t *testing.T) {
	b := newBook(t)
	n, wakes, err := b.Say(t.Context(), Message{By: room.User, Text: "hello @codex", Key: "k1"})
	if err != nil || n != 4 || !slices.Equal(wakes, []string{"codex"}) {
		t.Fatal(n, wakes, err)
	}
	if again, wakes, err := b.Say(t.Context(), Message{By: room.User, Text: "hello", Key: "k1"}); err != nil || again != n || len(wakes) != 1 {
		t.Errorf("said again it is %d, and wakes %v (%v)", again, wakes, err)
	}
	if n, _, err := b.Say(t.Context(), Message{By: "guest", Text: "hello", Key: "k1"}); err != nil || n != 5 {
		t.Errorf("the key of somebody else: %d, %v", n, err)
	}
	for _, bad := range []Message{{By: room.User}, {By: room.User, Text: " \n"}, {By: room.User, Text: strings.Repeat("x", MaxText+1)}, {By: room.User, To: "nobody", Text: "x"}} {
		if _, _, err := b.Say(t.Context(), bad); err == nil {
			t.Errorf("%.20q to %q is said", bad.Text, bad.To)
		}
	}
	if err := b.Order(t.Context(), "o1", room.DoClose, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Say(t.Context(), Message{By: room.User, Text: "x"}); !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "cmux rooms reopen auth") {
		t.Errorf("in a closed room: %v", err)
	}
	for range 2 { // the second is the same order
		if err := b.Order(t.Context(), "o2", room.DoReopen, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Order(t.Context(), "o3", room.DoStop, 0, "nobody"); err == nil {
		t.Error("nobody is stopped")
	}
	if all := b.must(t); len(all) != 7 || all[3].Text != "hello @codex" {
		t.Errorf("%d lines: %+v", len(all), all)
	}
	if err := b.Create(t.Context(), room.Defaults()); !errors.Is(err, ErrExists) {
		t.Errorf("created again: %v", err)
	}
}

// A long text stands in a file of its own, and nobody can change what was said.
func TestLongText(t *testing.T) {
	b := newBook(t)
	text := strings.Repeat("0123456789\n", 20_000)
	n, _, err := b.Say(t.Context(), Message{By: room.User, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if all := b.must(t); all[n-1].Text != text {
		t.Errorf("of %d bytes %d are read", len(text), len(all[n-1].Text))
	}
	if st, err := os.Stat(b.Path()); err != nil || st.Size() > 4<<10 {
		t.Errorf("the file itself has %d bytes (%v)", st.Size(), err)
	}
	file := filepath.Join(filepath.Dir(b.Path()), "long", fmt.Sprintf("%d.json", n))
	if err := os.WriteFile(file, []byte(`{"text":"something else"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := Open(filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.Path())))), "auth", time.Now, false)
	if err != nil {
		t.Fatal(err)
	}
	if all := other.must(t); !strings.Contains(all[n-1].Text, "was changed") || !strings.Contains(all[n-1].Lost, "was changed") || all[n-2].Lost != "" {
		t.Errorf("it reads as %.100q, lost: %q", all[n-1].Text, all[n-1].Lost)
	}
}

// A line without the code of the person's key, a line of another room and a torn one have no
// effect; what is said next follows the last that counts.
func TestForged(t *testing.T) {
	b := newBook(t)
	whole, err := os.ReadFile(b.Path())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.Path()))))
	elsewhere, err := Open(root, "other", time.Now, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Create(t.Context(), room.Defaults()); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(elsewhere.Path())
	if err != nil {
		t.Fatal(err)
	}
	last := whole[strings.LastIndex(strings.TrimSuffix(string(whole), "\n"), "\n")+1:]
	for name, more := range map[string]string{
		"made up":       `{"n":4,"kind":"order","do":"close","by":"user","code":"aaaaaaaaaaaaaaaaaaaaaa"}` + "\n",
		"of elsewhere":  string(foreign),
		"again":         string(last),
		"torn":          `{"n":4,"kind":"ord`,
		"changed":       strings.Replace(string(last), "codex", "kodex", 1),
		"not any lines": "\x00\xff\n\n",
	} {
		if err := os.WriteFile(b.Path(), append(slices.Clone(whole), more...), 0o600); err != nil {
			t.Fatal(err)
		}
		all, bad, err := b.Lines()
		if err != nil || len(all) != 3 || (len(bad) == 0) != (name == "torn") {
			t.Errorf("%s: %d lines, %d bad (%v)", name, len(all), len(bad), err)
		}
		if n, _, err := b.Say(t.Context(), Message{By: room.User, Text: "go on"}); err != nil || n != 4 {
			t.Errorf("%s: what is said next is %d (%v)", name, n, err)
		}
		if all, _, err := b.Lines(); err != nil || len(all) != 4 || len(room.Check(all)) > 0 {
			t.Errorf("%s: then there are %d lines (%v)", name, len(all), err)
		}
	}
}

// Of several writers each builds on the others: every message stands once.
func TestWriters(t *testing.T) {
	b := newBook(t)
	root := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.Path()))))
	var all sync.WaitGroup
	for w := range 4 {
		own, err := Open(root, "auth", time.Now, true)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range 25 {
				if _, _, err := own.Say(context.Background(), Message{By: room.User, Text: "x", Key: fmt.Sprint(w, "-", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := map[string]int{}
	for _, l := range b.must(t) {
		if l.Kind == room.KindSaid {
			seen[l.Key]++
		}
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s stands %d times", key, n)
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d messages of 100", len(seen))
	}
}

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{"auth": true, "a-b_C9": true, "": false, "-a": false, "a/b": false, "..": false, "a b": false, strings.Repeat("x", 41): false} {
		if (CheckName(name) == nil) != good {
			t.Errorf("%q", name)
		}
	}
	b := newBook(t)
	root := filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.Path()))))
	if all, err := Rooms(root); err != nil || !slices.Equal(all, []string{"auth"}) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := Rooms(t.TempDir()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	none, err := Open(root, "none", time.Now, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := none.Lines(); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"user", "cmux", "all", "a b"} {
		other, err := Open(root, "x"+fmt.Sprint(len(bad)), time.Now, true)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Create(t.Context(), room.Defaults(), room.Line{Name: bad}); err == nil {
			t.Errorf("a member is called %q", bad)
		}
	}
}
