package incident

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/platform/seal/sealtest"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a time that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newBook(t testing.TB, root string, now func() time.Time) *Book {
	t.Helper()
	b, err := OpenBook(root, now, true)
	must(t, err)
	return b
}

func frozen(text string) Report {
	return Report{Kind: "agent", About: "w1", Key: "agent/w1/frozen", Title: "w1 is frozen", Note: Note{Evidence: Saw(text)}}
}

// A cause has one open incident, however often it is reported, and a new one after that was
// closed.
func TestStory(t *testing.T) {
	c := &clock{noon}
	b := newBook(t, t.TempDir(), c.Now)
	ctx := t.Context()
	one, opened, err := b.Open(ctx, "cmux", frozen("no event for 20m"))
	must(t, err)
	if !opened || one.ID != "i1" || !one.Waits() || one.OpenedBy != "cmux" || !one.Evidence[0].At.Equal(noon) {
		t.Errorf("%+v", one)
	}
	size := func() int64 {
		info, err := os.Stat(b.Path())
		must(t, err)
		return info.Size()
	}
	was := size()
	c.now = noon.Add(time.Minute)
	if same, opened, err := b.Open(ctx, "cmux", frozen("no event for 20m")); err != nil || opened || same.Seen != 1 || size() != was {
		t.Errorf("the same words again: %+v, %v, %v", same, opened, err)
	}
	if more, opened, err := b.Open(ctx, "cmux", frozen("no event for 40m")); err != nil || opened || more.Seen != 2 || more.ID != "i1" {
		t.Errorf("%+v, %v, %v", more, opened, err)
	}
	c.now = c.now.Add(Again)
	if more, _, err := b.Open(ctx, "cmux", frozen("no event for 40m")); err != nil || more.Seen != 3 {
		t.Errorf("the same words after a while: %+v, %v", more, err)
	}
	other := frozen("x")
	other.Key, other.About = "", "w2"
	if two, opened, err := b.Open(ctx, "cmux", other); err != nil || !opened || two.ID != "i2" || two.Key != "agent/w2" {
		t.Errorf("%+v, %v, %v", two, opened, err)
	}
	done, err := b.Append(ctx, "i1", "cmux", Note{Deeds: Did("relaunched it", "it answers"), Cost: Cost{Tokens: 100, Seconds: 2}, Advice: &Advice{"look at it", "cmux attach w1"}})
	if err != nil || len(done.Deeds) != 1 || done.Cost.Tokens != 100 || done.Advice.Command != "cmux attach w1" {
		t.Errorf("%+v, %v", done, err)
	}
	if acked, err := b.Ack(ctx, "i1", "user", "I know"); err != nil || acked.Waits() || acked.Label() != "open, acked" || acked.Ack != "I know" {
		t.Errorf("%+v, %v", acked, err)
	}
	closed, err := b.CloseKey(ctx, "agent/w1/frozen", "cmux", "it goes on", Note{Cost: Cost{Tokens: 5}})
	if err != nil || closed.Label() != "closed, acked" || closed.Outcome != "it goes on" || closed.Cost.Tokens != 105 {
		t.Errorf("%+v, %v", closed, err)
	}
	if none, err := b.CloseKey(ctx, "agent/w1/frozen", "cmux", "again", Note{}); none != nil || err != nil {
		t.Errorf("%+v, %v", none, err)
	}
	if _, err := b.Close(ctx, "i1", "cmux", "again", Note{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := b.Ack(ctx, "i9", "user", ""); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, _, err := b.Open(ctx, "cmux", Report{Kind: "agent"}); err == nil {
		t.Error("a report without a title was written")
	}
	if again, opened, err := b.Open(ctx, "cmux", frozen("no event for 20m")); err != nil || opened || again.ID != "i1" || again.Label() != "open, acked" || again.ClosedAt != nil {
		t.Errorf("soon after: %+v, %v, %v", again, opened, err)
	}
	_, err = b.Close(ctx, "i1", "cmux", "it goes on", Note{})
	must(t, err)
	c.now = c.now.Add(Again)
	if three, opened, err := b.Open(ctx, "cmux", frozen("no event for 20m")); err != nil || !opened || three.ID != "i3" {
		t.Errorf("%+v, %v, %v", three, opened, err)
	}
	l, err := newBook(t, strings.TrimSuffix(b.Path(), "/.cmux/"+Name), c.Now).List()
	must(t, err)
	mine, err := b.List()
	must(t, err)
	if !reflect.DeepEqual(l.All(), mine.All()) || len(l.All()) != 3 || len(l.Bad)+len(l.Gaps) != 0 {
		t.Errorf("%+v\n%+v", l.All(), mine.All())
	}
}

// Texts are bounded, and agents' text is escaped in the file; of much evidence the first
// and the newest are kept.
func TestBounds(t *testing.T) {
	b := newBook(t, t.TempDir(), func() time.Time { return noon })
	r := frozen("begin" + strings.Repeat("x", 10*MaxText) + "end")
	r.Title = "a\nb\x1b[31m " + strings.Repeat("y", 300)
	i, _, err := b.Open(t.Context(), "cmux", r)
	must(t, err)
	for n := range 200 {
		i, _, err = b.Open(t.Context(), "cmux", frozen(fmt.Sprint("seen ", n)))
		must(t, err)
	}
	l, err := newBook(t, strings.TrimSuffix(b.Path(), "/.cmux/"+Name), b.now).List()
	must(t, err)
	read := l.Get("i1")
	raw, err := os.ReadFile(b.Path())
	must(t, err)
	first, last := read.Evidence[0].Text, read.Evidence[len(read.Evidence)-1].Text
	if len(read.Title) > MaxTitle || strings.Contains(read.Title, "\n") || bytes.Contains(raw, []byte("\x1b")) {
		t.Errorf("%q", read.Title)
	}
	if i.Seen != 201 || read.Seen != 201 || len(read.Evidence) != 50 || len(first) > MaxText || !strings.HasPrefix(first, "begin") || !strings.HasSuffix(first, "end") || last != "seen 199" || read.Evidence[10].Text != "seen 160" {
		t.Errorf("%d, %d, %.20q, %q", read.Seen, len(read.Evidence), first, last)
	}
}

// Wherever the file is cut, whole lines count and the next report is written; also if
// somebody else wrote lines.
func TestCutAfterEveryByte(t *testing.T) {
	root := t.TempDir()
	b := newBook(t, root, func() time.Time { return noon })
	_, _, err := b.Open(t.Context(), "cmux", frozen("one"))
	must(t, err)
	_, err = b.Close(t.Context(), "i1", "cmux", "over", Note{})
	must(t, err)
	whole, err := os.ReadFile(b.Path())
	must(t, err)
	for n := range len(whole) + 1 {
		must(t, os.WriteFile(b.Path(), whole[:n], 0o600))
		i, _, err := b.Open(t.Context(), "cmux", frozen("two"))
		must(t, err)
		l, err := newBook(t, root, b.now).List()
		must(t, err)
		if got := l.Get(i.ID); got == nil || got.Evidence[len(got.Evidence)-1].Text != "two" || len(l.Gaps) != 0 {
			t.Fatalf("cut at %d: %+v, %v", n, i, l.Gaps)
		}
	}
	must(t, os.WriteFile(b.Path(), append(bytes.Clone(whole), `{"incident":"i7","n":0,"op":"open","kind":"agent","key":"k","title":"forged"}`+"\n"...), 0o600))
	l, err := b.List()
	must(t, err)
	if len(l.Bad) != 1 || l.Get("i7") != nil || !strings.Contains(l.Bad[0].String(), "incidents.jsonl, offset") {
		t.Errorf("%+v", l.Bad)
	}
	if i, _, err := b.Open(t.Context(), "cmux", frozen("two")); err != nil || i.ID == "i7" {
		t.Errorf("%+v, %v", i, err)
	}
}

// Concurrent reports give one incident per cause.
func TestManyWriters(t *testing.T) {
	root := t.TempDir()
	var writers sync.WaitGroup
	for i := range 4 {
		b := newBook(t, root, time.Now)
		writers.Go(func() {
			for n := range 20 {
				r := frozen(fmt.Sprint(i, " ", n))
				r.Key = fmt.Sprint("key ", n%2)
				if _, _, err := b.Open(t.Context(), "cmux", r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	l, err := newBook(t, root, time.Now).List()
	must(t, err)
	if all := l.All(); len(all) != 2 || all[0].Seen+all[1].Seen != 80 {
		t.Errorf("%+v", all)
	}
}

// A failure that comes and goes is one incident with few lines; a clock that was ahead
// suppresses no report.
func TestFlapping(t *testing.T) {
	c := &clock{noon}
	b := newBook(t, t.TempDir(), c.Now)
	report := func() *Incident {
		r := frozen("its last event")
		r.Evidence[0].At = c.now.Add(-20 * time.Minute)
		i, _, err := b.Open(t.Context(), "cmux", r)
		must(t, err)
		return i
	}
	for range 20 {
		c.now = c.now.Add(5 * time.Second)
		if i := report(); i.Seen != 1 {
			t.Fatalf("old evidence was written again: %+v", i)
		}
	}
	for range 20 {
		c.now = c.now.Add(5 * time.Second)
		_, err := b.CloseKey(t.Context(), "agent/w1/frozen", "cmux", "it goes on", Note{})
		must(t, err)
		report()
	}
	l, err := b.List()
	must(t, err)
	if len(l.All()) != 1 || l.All()[0].State != Open {
		t.Errorf("%d incidents", len(l.All()))
	}
	c.now = c.now.AddDate(-1, 0, 0)
	if was := l.All()[0].Seen; report().Seen != was+1 {
		t.Error("nothing is written for a year")
	}
}

// Lines of a newer cmux that this one does not know stay in the file, also when the file is
// repaired while it is read.
func TestNewerLinesStay(t *testing.T) {
	b := newBook(t, t.TempDir(), func() time.Time { return noon })
	_, _, err := b.Open(t.Context(), "cmux", frozen("one"))
	must(t, err)
	_, _, err = b.Book.Change(t.Context(), func(*List) ([][]byte, error) {
		return [][]byte{[]byte(`{"incident":"i1","n":1,"op":"escalate"}`)}, nil
	})
	must(t, err)
	for range 2 { // with and without a line that has no code
		f, err := os.OpenFile(b.Path(), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("forged\n")
		must(t, errors.Join(err, f.Close()))
		other := frozen("two")
		other.Key = "other"
		_, _, err = b.Open(t.Context(), "cmux", other)
		must(t, err)
	}
	raw, err := os.ReadFile(b.Path())
	must(t, err)
	if !bytes.Contains(raw, []byte("escalate")) || bytes.Contains(raw, []byte("forged")) {
		t.Errorf("%s", raw)
	}
	// A file with only such lines is ours.
	newer, _, ok := bytes.Cut(raw[bytes.IndexByte(raw, '\n')+1:], []byte("\n"))
	if !ok || !bytes.Contains(newer, []byte("escalate")) {
		t.Fatalf("%s", newer)
	}
	must(t, os.WriteFile(b.Path(), append(newer, '\n'), 0o600))
	if l, err := b.List(); err != nil || len(l.Bad) != 1 {
		t.Error(err)
	}
}
