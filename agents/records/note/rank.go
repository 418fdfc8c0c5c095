package note

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"cmux/agents/records/journal"
)

// words are the words of a text, in small letters.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !journal.Letter(r) })
}

// searched is all of a note in which is searched.
func (n *Note) searched() []string {
	all := append(words(n.Text), string(n.Kind))
	for _, f := range n.About.Files {
		all = append(all, words(f)...)
	}
	return append(append(all, words(n.About.Agent)...), words(n.About.Model)...)
}

// Search returns the notes in which all words of a query are, each as the beginning of a word:
// the best first.
func Search(notes []*Note, query string) []*Note {
	return rank(notes, words(query), true)
}

// common are words that say nothing about what a text is about.
const common = " a an and are as at be by can do for from has have how i if in into is it its let me no not of on or our should so that the their then there these they this to up us was we what when where which who why will with would you your "

// rank orders notes by how rare the words are that they share with a query, and the newest first
// among equals. all: a note must have each word; else one is enough, and common words do not count.
func rank(notes []*Note, query []string, all bool) []*Note {
	query = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(query))), func(w string) bool {
		return !all && (utf8.RuneCountInString(w) < 2 || strings.Contains(common, " "+w+" "))
	})
	if len(query) == 0 {
		return []*Note{}
	}
	in := make([][]string, len(notes))
	has := func(i int, w string) bool {
		return slices.ContainsFunc(in[i], func(have string) bool { return strings.HasPrefix(have, w) })
	}
	held := make([]int, len(query)) // by how many notes
	for i, n := range notes {
		in[i] = n.searched()
		for q, w := range query {
			if has(i, w) {
				held[q]++
			}
		}
	}
	type hit struct {
		*Note
		score float64
	}
	var hits []hit
	for i, n := range notes {
		h, matched := hit{Note: n}, 0
		for q, w := range query {
			if has(i, w) {
				matched++
				h.score += math.Log(1 + float64(len(notes))/float64(held[q]))
			}
		}
		if matched == len(query) || matched > 0 && !all {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		if c := cmp.Compare(b.score, a.score); c != 0 {
			return c
		}
		return b.Changed.Compare(a.Changed)
	})
	out := make([]*Note, len(hits))
	for i := range hits {
		out[i] = hits[i].Note
	}
	return out
}

// MostTold bounds the notes that a conversation gets, in characters.
const MostTold = 2000

// Want says for what a member gets notes.
type Want struct {
	Topic string
	Files []string
	Leads bool // it also gets what is known about members: the moderator and the coordinator

	Room   string // whose own notes it does not need: it reads the messages
	Opened time.Time
}

// Pick returns the notes that a member is told: the pinned ones, the newest first, then those
// that fit topic and files best, as far as there is room for them.
func (l *List) Pick(w Want) []*Note {
	var pinned, others []*Note
	for _, n := range l.Shown() {
		switch {
		case n.Kind == Member && !w.Leads, n.From != nil && n.From.Room == w.Room && n.From.Opened.Equal(w.Opened):
		case n.Pinned:
			pinned = append(pinned, n)
		default:
			others = append(others, n)
		}
	}
	slices.Reverse(pinned)
	query := words(w.Topic)
	for _, f := range w.Files {
		query = append(query, words(f)...)
	}
	size := 0
	var told []*Note
	for _, n := range append(pinned, rank(others, query, false)...) {
		if more := utf8.RuneCountInString(n.Told()) + len("> \n"); size+more <= MostTold {
			size += more
			told = append(told, n)
		}
	}
	return told
}

// Told is a note as a member is told it, on one line.
func (n *Note) Told() string { return n.ID + ": " + n.Text }

// Told are those of some notes that are shown, as members are told them.
func (l *List) Told(ids []string) (all []string) {
	for _, id := range ids {
		if n := l.Get(id); n != nil && n.State == Shown {
			all = append(all, n.Told())
		}
	}
	return all
}
