package store

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"cmux/agents/records/journal"
)

// A search of the journal finds the same with the index and without, also of what
// changed since, was removed, or is no text; and with the index it reads less.
func TestWithout(t *testing.T) {
	root := project(t)
	j := &journal.Journal{Root: root, Now: time.Now}
	search := func(words string) (with, without *journal.Found, left int) {
		t.Helper()
		q := journal.Query{Words: words}
		without, err := j.Search(t.Context(), q)
		must(t, err)
		lacks, err := Without(t.Context(), root, words)
		must(t, err)
		if lacks != nil {
			q.Without = func(path string) bool {
				no := lacks(path)
				if no {
					left++
				}
				return no
			}
		}
		with, err = j.Search(t.Context(), q)
		must(t, err)
		return with, without, left
	}
	if _, _, left := search("x"); left != 0 {
		t.Error("there is no index, and it was asked")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	pieces := []string{"session", "Session", "sess", "token", "Token-ring", "src/auth.go", "naïve", "NAÏVE", "e\u0301t\u00e9", "straße", "(x)", "->", "a_b", "\n", "\n\n", "v1.2", "日本語", "х"}
	text := func() string {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))] + " "[:rng.IntN(2)])
		}
		return b.String()
	}
	s, _ := opened(t, root)
	files := make([]string, 12)
	for i := range files {
		files[i] = fmt.Sprintf("journal/2026-03-%02d/attachments/f%d.md", i%3+1, i)
		write(t, root, files[i], text())
	}
	write(t, root, "journal/2026-03-01/attachments/picture", "session\x00")
	write(t, root, "journal/2026-03-01/attachments/long", strings.Repeat("filler ", 1000)+"session token\n")
	left := 0
	for round := range 6 {
		if round%3 != 2 { // else the index is older than the files
			ingest(t, s)
		}
		for range 12 {
			words := pieces[rng.IntN(len(pieces))] + " " + pieces[rng.IntN(len(pieces))]
			if words = strings.TrimSpace(words); words == "" {
				continue
			}
			with, without, n := search(words)
			if left += n; !reflect.DeepEqual(with, without) {
				t.Fatalf("%q: with the index\n%+v\nand without\n%+v", words, with, without)
			}
		}
		write(t, root, files[rng.IntN(len(files))], text())
	}
	if left == 0 {
		t.Error("every file was read all the same")
	}
	broken := project(t)
	write(t, broken, Name, "no database")
	if _, err := Without(t.Context(), broken, "session"); err == nil {
		t.Error("damage is not told")
	}
}
