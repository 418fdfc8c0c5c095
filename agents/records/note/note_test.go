package note

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cmux/agents/platform/seal/sealtest"
	"cmux/agents/testkit/agenttest/fuzzing"
)

func TestMain(m *testing.M) { os.Exit(sealtest.Main(m)) }

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newBook(t testing.TB, root string) *Book {
	t.Helper()
	b, err := OpenBook(root, func() time.Time { return noon }, true)
	must(t, err)
	return b
}

func practice(text string) Fields { return Fields{Text: text, Kind: Practice, By: ByUser} }

func list(t testing.TB, b *Book) *List {
	t.Helper()
	l, err := b.List()
	must(t, err)
	return l
}

// A note is learned, changed and used; forgotten, it is neither shown nor learned again, and
// erased its text is not in the file.
func TestStory(t *testing.T) {
	b, ctx := newBook(t, t.TempDir()), t.Context()
	n, _, err := b.Add(ctx, Fields{Text: " Run\nthe linter first. ", Kind: Practice, By: ByUser, About: About{Files: []string{"Makefile"}}})
	must(t, err)
	if n.ID != "n1" || n.Text != "Run the linter first." || n.State != Shown || n.By != ByUser || !n.At.Equal(noon) {
		t.Errorf("%+v", n)
	}
	if _, _, err := b.Add(ctx, practice("run the LINTER, first")); !errors.Is(err, ErrKnown) || !strings.Contains(err.Error(), "n1") {
		t.Errorf("learned twice: %v", err)
	}
	if n, _, err = b.Edit(ctx, "n1", func(f Fields) Fields { f.Text = "Run make lint first."; return f }); err != nil || n.Text != "Run make lint first." || n.About.Files[0] != "Makefile" {
		t.Errorf("%+v, %v", n, err)
	}
	if _, _, err := b.Add(ctx, practice("Run the linter first.")); !errors.Is(err, ErrKnown) {
		t.Errorf("the text before the edit: %v", err)
	}
	if n, _, err = b.Pin(ctx, "n1", true); err != nil || !n.Pinned {
		t.Errorf("%+v, %v", n, err)
	}
	u := Use{Room: "auth", Turn: "t1", Member: "ann", At: noon}
	for range 2 {
		_, err = b.Use(ctx, map[string][]Use{"n1": {u}, "n7": {u}})
		must(t, err)
	}
	if n = list(t, b).Get("n1"); len(n.Used) != 1 || n.Used[0] != u {
		t.Errorf("%+v", n.Used)
	}
	if n, _, err = b.Pin(ctx, "n1", false); err != nil || n.Pinned {
		t.Errorf("%+v, %v", n, err)
	}
	if n, still, err := b.Forget(ctx, "n1", false); err != nil || n.State != Forgotten || len(still) > 0 {
		t.Errorf("%+v, %v, %v", n, still, err)
	}
	if _, _, err := b.Forget(ctx, "n1", false); !errors.Is(err, ErrForgotten) {
		t.Error(err)
	}
	if n, still, err := b.Forget(ctx, "n1", true); err != nil || n.Text != "" || n.State != Forgotten || len(still) > 0 {
		t.Errorf("%+v, %v, %v", n, still, err)
	}
	whole, err := os.ReadFile(b.Path())
	must(t, err)
	if bytes.Contains(whole, []byte("linter")) || bytes.Contains(whole, []byte("make lint")) {
		t.Errorf("%s", whole)
	}
	for _, text := range []string{"Run the linter first.", "run make  lint first"} {
		if _, _, err := b.Add(ctx, practice(text)); !errors.Is(err, ErrForgotten) {
			t.Errorf("%q: %v", text, err)
		}
	}
	learned, _, err := b.Learn(ctx, Read{Room: "auth", Opened: noon, From: 1, To: 9, By: "claude"}, false, []Fields{practice("Run make lint first!"), practice("Migrations need a review."), practice("migrations need a review"), {Text: "x", Kind: "joke"}})
	if err != nil || len(learned) != 1 || learned[0].Text != "Migrations need a review." || learned[0].By != "claude" {
		t.Errorf("%+v, %v", learned, err)
	}
	if _, _, err := b.Learn(ctx, Read{Room: "auth", Opened: noon, From: 5, To: 12, By: "claude"}, false, nil); !errors.Is(err, ErrRead) {
		t.Error(err)
	}
	if l := list(t, b); len(l.Shown()) != 1 || l.ReadTo("auth", noon) != 9 || l.ReadTo("auth", noon.Add(1)) != 0 || l.Reads()[0].Notes != 1 || len(l.Bad) > 0 {
		t.Errorf("%+v", l)
	}
	if n, _, err := b.Promote(ctx, "n2"); err != nil || n.State != Promoted {
		t.Errorf("%+v, %v", n, err)
	}
	if _, _, err := b.Promote(ctx, "n2"); !errors.Is(err, ErrPromoted) {
		t.Error(err)
	}
	if _, _, err := b.Add(ctx, practice("Migrations need a review.")); !errors.Is(err, ErrPromoted) {
		t.Error(err)
	}
	if _, _, err := b.Pin(ctx, "n9", true); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// What is no note is refused, with the reason.
func TestRefused(t *testing.T) {
	for want, f := range map[string]Fields{
		"it says nothing":           practice(" .\n"),
		"it has 301 characters":     practice(strings.Repeat("ä", 301)),
		`"joke" is no kind of note`: {Text: "x", Kind: "joke"},
		"it is about 21 files":      {Text: "x", Kind: Project, About: About{Files: make([]string, 21)}},
		"is too long":               {Text: "x", Kind: Project, About: About{Model: strings.Repeat("m", 201)}},
	} {
		if _, err := f.Clean(); !errors.Is(err, ErrText) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := practice(strings.Repeat("ä", 300)).Clean(); err != nil {
		t.Error(err)
	}
}

// act makes a random change, as a person or a room would.
func act(ctx *testing.T, b *Book, r *rand.Rand) error {
	c, id := ctx.Context(), fmt.Sprintf("n%d", 1+r.IntN(8))
	text := fmt.Sprintf("The fact number %d.", r.IntN(10))
	var err error
	switch r.IntN(9) {
	case 0, 1:
		_, _, err = b.Add(c, practice(text))
	case 2:
		from := int64(r.IntN(20) + 1)
		_, _, err = b.Learn(c, Read{Room: "a", Opened: noon, From: from, To: from + int64(r.IntN(3)), By: ByHeuristic}, r.IntN(4) == 0, []Fields{practice(text), practice("Fact 11")})
	case 3:
		_, _, err = b.Edit(c, id, func(f Fields) Fields { f.Text = text; return f })
	case 4:
		_, _, err = b.Pin(c, id, r.IntN(2) == 0)
	case 5:
		_, err = b.Use(c, map[string][]Use{id: {{Room: "a", Turn: fmt.Sprintf("t%d", r.IntN(3)), At: noon}}})
	case 6:
		_, _, err = b.Forget(c, id, false)
	case 7:
		_, _, err = b.Forget(c, id, true)
	case 8:
		_, _, err = b.Promote(c, id)
	}
	for _, fine := range []error{ErrNone, ErrForgotten, ErrKnown, ErrPromoted, ErrRead} {
		if errors.Is(err, fine) {
			return nil
		}
	}
	return err
}

// rules are what holds of any file.
func rules(l *List, before map[string]State) error {
	texts := map[string]string{}
	for _, id := range l.order {
		n := l.Get(id)
		if before[id] == Forgotten && n.State != Forgotten {
			return fmt.Errorf("%s was forgotten and is %s", id, n.State)
		}
		if n.Text == "" {
			if n.State != Forgotten {
				return fmt.Errorf("%s is %s and has no text", id, n.State)
			}
			continue
		}
		if other, ok := texts[marked(n.Text)]; ok {
			return fmt.Errorf("%s and %s have the same text", other, id)
		}
		texts[marked(n.Text)] = id
	}
	for _, n := range l.Shown() {
		if n.State != Shown {
			return fmt.Errorf("%s is %s and shown", n.ID, n.State)
		}
	}
	return nil
}

// After any changes, a text is that of one note, what is forgotten stays so, and a book that
// reads the whole file has the same list as the one that wrote it. A prefix of the file that was
// cut after any byte is legal, and continuing from it forgets nothing that it says is forgotten.
func TestRules(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		root := t.TempDir()
		b, states := newBook(t, root), map[string]State{}
		for range 25 {
			must(t, act(t, b, r))
			l := list(t, b)
			if err := rules(l, states); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, id := range l.order {
				states[id] = l.Get(id).State
			}
		}
		whole := list(t, newBook(t, root))
		if mine := list(t, b); !reflect.DeepEqual(whole.all, mine.all) || !reflect.DeepEqual(whole.reads, mine.reads) || whole.most != mine.most || len(whole.Bad) > 0 {
			t.Fatalf("seed %d: %+v\n%+v", seed, whole, mine)
		}
		text, err := os.ReadFile(b.Path())
		must(t, err)
		must(t, os.WriteFile(b.Path(), text[:r.IntN(len(text)+1)], 0o600))
		cut := newBook(t, root)
		l := list(t, cut)
		left := map[string]State{}
		for _, id := range l.order {
			left[id] = l.Get(id).State
		}
		for range 5 {
			must(t, act(t, cut, r))
		}
		for _, last := range []string{"The last but one", "The last one"} { // the first ends a torn line, the second sets it aside
			_, _, err = cut.Add(t.Context(), practice(last))
			must(t, err)
		}
		if err := rules(list(t, cut), left); err != nil {
			t.Fatalf("seed %d, cut: %v", seed, err)
		}
		if l := list(t, newBook(t, root)); len(l.Bad) > 0 {
			t.Fatalf("seed %d, cut: %v", seed, l.Bad)
		}
	}
}

// FuzzFile reads whatever may stand in the file, between lines that count. What counts stays,
// and nothing that was forgotten comes back.
func FuzzFile(f *testing.F) {
	f.Add([]byte(""), uint16(0))
	f.Add([]byte("\n"), uint16(40))
	f.Add([]byte(`{"n":9,"op":"learn","note":"n1","text":"x","mark":"m","kind":"project","by":"user"}`+"\n"), uint16(900))
	f.Add([]byte(`{"n":3,"op":"pin","note":"n1"}`), uint16(200))
	f.Fuzz(func(t *testing.T, junk []byte, at uint16) {
		root := t.TempDir()
		b, ctx := newBook(t, root), t.Context()
		_, _, err := b.Add(ctx, practice("The one that is forgotten"))
		must(t, err)
		_, _, err = b.Forget(ctx, "n1", true)
		must(t, err)
		_, _, err = b.Add(ctx, practice("The one that stays"))
		must(t, err)
		whole, err := os.ReadFile(b.Path())
		must(t, err)
		lines := bytes.SplitAfter(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
		i := int(at) % (len(lines) + 1)
		damaged := slices.Concat(bytes.Join(lines[:i], nil), bytes.ReplaceAll(junk, []byte("\n"), []byte(" ")), []byte("\n"), bytes.Join(lines[i:], nil), []byte("\n"))
		must(t, os.WriteFile(b.Path(), damaged, 0o600))
		c := newBook(t, root)
		l := list(t, c)
		if err := rules(l, nil); err != nil {
			t.Fatal(err)
		}
		if i < 3 && l.Get("n1") == nil && i > 0 {
			t.Fatalf("%q at %d: a line that counts is gone", junk, i)
		}
		_, _, err = c.Add(ctx, practice("A new one"))
		must(t, err)
		if l := list(t, newBook(t, root)); len(l.Bad) > 0 {
			t.Fatalf("%v", l.Bad)
		}
	})
}

// What was set aside because of damage may hold an erased text, which is said.
func TestEraseFindsDamagedCopies(t *testing.T) {
	root := t.TempDir()
	b, ctx := newBook(t, root), t.Context()
	_, _, err := b.Add(ctx, practice("Keep <this> secret"))
	must(t, err)
	file, err := os.OpenFile(b.Path(), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString("rubbish\n")
	must(t, errors.Join(err, file.Close()))
	n, still, err := b.Forget(ctx, "n1", true)
	if err != nil || n.Text != "" || !slices.Equal(still, []string{"memory.jsonl.damaged-1"}) {
		t.Errorf("%+v, %q, %v", n, still, err)
	}
	must(t, os.Remove(filepath.Join(root, ".cmux", still[0])))
	if _, still, err := b.Forget(ctx, "n1", true); err != nil || len(still) > 0 {
		t.Errorf("%q, %v", still, err)
	}
}

// Of several that learn a range at once, one does.
func TestLearnedOnce(t *testing.T) {
	root := t.TempDir()
	var done sync.WaitGroup
	won := make(chan error, 8)
	for i := range 8 {
		b := newBook(t, root)
		done.Go(func() {
			_, _, err := b.Learn(t.Context(), Read{Room: "auth", Opened: noon, From: 1, To: 5, By: ByHeuristic}, false, []Fields{practice(fmt.Sprintf("from %d", i))})
			won <- err
		})
	}
	done.Wait()
	close(won)
	n := 0
	for err := range won {
		if err == nil {
			n++
		} else if !errors.Is(err, ErrRead) {
			t.Error(err)
		}
	}
	if l := list(t, newBook(t, root)); n != 1 || len(l.Shown()) != 1 || len(l.Reads()) != 1 {
		t.Errorf("%d learned it: %+v", n, l.Shown())
	}
}

// All words of a search are in a note; the rarer its words, the better it fits.
func TestSearch(t *testing.T) {
	b, ctx := newBook(t, t.TempDir()), t.Context()
	for _, f := range []Fields{
		practice("Sessions are kept in SQLite."), practice("Sessions end after an hour."), practice("The linter is golangci."),
		{Text: "It answers late.", Kind: Member, About: About{Agent: "codex", Files: []string{"src/auth/jwt.go"}}, By: ByUser},
	} {
		_, _, err := b.Add(ctx, f)
		must(t, err)
	}
	for query, want := range map[string]string{"session sqlite": "n1", "SESS": "n1 n2", "jwt.go": "n4", "codex late": "n4", "nothing": "", " ": "", "the linter": "n3"} {
		if got := ids(Search(list(t, b).Shown(), query)); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func ids(all []*Note) string {
	var out []string
	for _, n := range all {
		out = append(out, n.ID)
	}
	return strings.Join(out, " ")
}

// A member is told the pinned notes, then those that fit, as far as there is room; what is known
// of members is told to those that lead.
func TestPick(t *testing.T) {
	b, ctx := newBook(t, t.TempDir()), t.Context()
	add := func(f Fields) *Note {
		n, _, err := b.Add(ctx, f)
		must(t, err)
		return n
	}
	add(practice("Sessions are kept in SQLite."))
	add(Fields{Text: "codex answered 3 questions about sessions.", Kind: Member, By: ByUser})
	add(practice("Nothing to do with it."))
	pinned := add(practice("Ask before you delete."))
	_, _, err := b.Pin(ctx, pinned.ID, true)
	must(t, err)
	own := add(Fields{Text: "Sessions came up here.", Kind: Project, By: ByUser, From: &From{Room: "auth", Opened: noon}})
	_, _, err = b.Forget(ctx, own.ID, false)
	must(t, err)
	add(Fields{Text: "Sessions were the topic.", Kind: Project, By: ByUser, From: &From{Room: "auth", Opened: noon}})
	w := Want{Topic: "Where to keep the sessions?", Room: "auth", Opened: noon}
	if got := ids(list(t, b).Pick(w)); got != "n4 n1" {
		t.Error(got)
	}
	w.Leads, w.Room = true, "other"
	if got := ids(list(t, b).Pick(w)); !strings.HasPrefix(got, "n4 ") || !strings.Contains(got, "n2") || !strings.Contains(got, "n6") || strings.Contains(got, "n3") || strings.Contains(got, "n5") {
		t.Error(got)
	}
	for i := range 20 {
		n := add(practice(fmt.Sprintf("%d sessions %s", i, strings.Repeat("ü", 270))))
		_, _, err := b.Pin(ctx, n.ID, true)
		must(t, err)
	}
	size := 0
	told := list(t, b).Pick(w)
	for _, n := range told {
		size += len([]rune(n.Told())) + 3
	}
	if size > MostTold || size < MostTold-320 || told[0].ID != "n26" {
		t.Errorf("%d characters: %s", size, ids(told))
	}
}
