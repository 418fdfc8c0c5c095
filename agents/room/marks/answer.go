package marks

import (
	"slices"
	"strings"
)

// An Answer is what a member said in a turn.
type Answer struct {
	Pass   bool   // it has nothing new for the others
	Tagged bool   // it says by <Share> what the others are given
	Shared string // what they are given
	Aside  string // what only the person sees
	Pieces []Piece
}

// Read reads an answer in a room of the members; nil: in none. tagged says that without a
// <Share> nothing is shared. Pieces are those of Shared. An answer without any text passes.
func Read(text string, members []string, tagged bool) Answer {
	var a Answer
	shared, aside, found := shares(text)
	if !found && !tagged {
		shared, aside = strings.TrimSpace(text), ""
	}
	switch last := strings.LastIndexByte(strings.TrimRight(text, " \t\r\n"), '\n') + 1; {
	case passes(shared) && codeFree(shared) && (aside == "" || passes(aside)):
		shared, aside = "", "" // all of it is [PASS]
	case passes(shared) && codeFree(shared):
		shared = ""
	case !found && passes(text[last:]) && codeFreeAt(text, last):
		shared, aside = "", strings.TrimSpace(text[:last])
	}
	a.Shared, a.Aside, a.Pass, a.Tagged = shared, aside, shared == "", found
	a.Pieces = Pieces(shared, members)
	return a
}

// passes reports whether all that a text says is [PASS], whatever its case: white space,
// emphasis and a final dot do not count.
func passes(text string) bool { return strings.EqualFold(bare(text), "[pass]") }

// bare takes white space, emphasis and a final dot away.
func bare(text string) string {
	const around = " \t\r\n*_~"
	return strings.Trim(strings.TrimSuffix(strings.Trim(text, around), "."), around)
}

func codeFree(text string) bool { return len(inertIn(text)) == 0 }

// codeFreeAt reports whether nothing from a place on is inert.
func codeFreeAt(text string, from int) bool {
	return !slices.ContainsFunc(inertIn(text), func(z zone) bool { return z.to > from })
}

// Mentions are the names that a text mentions, each once.
func (a Answer) Mentions() []string { return names(a.Pieces, Mention) }

// Agreements are the names that it agrees with, each once.
func (a Answer) Agreements() []string { return names(a.Pieces, Agree) }

func names(pieces []Piece, kind Kind) []string {
	all := []string{}
	for _, p := range pieces {
		if p.Kind == kind && !slices.Contains(all, p.Name) {
			all = append(all, p.Name)
		}
	}
	return all
}

// Finishes reports whether it says that what was asked is done: [DONE], alone on its line.
func (a Answer) Finishes() bool {
	return slices.ContainsFunc(a.Pieces, func(p Piece) bool { return p.Kind == Status && p.Mark == Done && p.Alone })
}

// A Handoff gives something to a member.
type Handed struct {
	Agent   string `json:"agent"`
	Context string `json:"context"`
}

// Handoffs are what it gives to members, in their order.
func (a Answer) Handoffs() []Handed {
	all := []Handed{}
	for _, p := range a.Pieces {
		if p.Kind == Handoff {
			all = append(all, Handed{p.Name, p.Words})
		}
	}
	return all
}

// Statuses are its marks of a status as they are written, without brackets. [STATUS: DONE]
// is DONE.
func (a Answer) Statuses() []string {
	all := []string{}
	for _, p := range a.Pieces {
		switch {
		case p.Kind != Status:
		case p.Mark == Says:
			all = append(all, Says+": "+p.Words)
		default:
			all = append(all, p.Mark)
		}
	}
	return all
}
