package rooms

import (
	"cmp"
	"slices"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/room"
	"cmux/agents/room/marks"
)

// Message is a message of a room as it is shown.
type Message struct {
	N     int64     `json:"n"`
	At    time.Time `json:"at"`
	By    string    `json:"by"`
	Text  string    `json:"text"`
	Aside string    `json:"aside"` // what its author kept for the person
	To    string    `json:"to"`    // of a direct message
	Re    int64     `json:"re"`    // the message that it answers; 0: none
	Key   string    `json:"key"`   // its sender's own id
	Turn  string    `json:"turn"`  // that said it; empty: not a member
	Round int       `json:"round"` // of that turn, or of the first turn that read it; 0: none yet
	Wakes []string  `json:"wakes"`

	Files []room.File `json:"files"` // attached to it

	Pieces      []marks.Piece `json:"pieces"` // of the text; together they are the text
	AsidePieces []marks.Piece `json:"aside_pieces"`
}

// mostOnPage bounds the texts of a page, in bytes: messages may be long.
const mostOnPage = 2 << 20

// Messages are the messages with numbers below before, the newest first; before 0: the
// newest. more: there are older ones.
func (p *Rooms) Messages(name string, before int64, limit int) (all []Message, more bool, err error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return nil, false, err
	}
	said := index(lines)
	size := 0
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if l.Kind != room.KindSaid || before > 0 && l.N >= before {
			continue
		}
		size += len(l.Text) + len(l.Aside)
		if len(all) == limit || size > mostOnPage && len(all) > 0 {
			return all, true, nil
		}
		names := said.names(l.N)
		all = append(all, Message{
			N: l.N, At: l.At, By: l.By, Text: l.Text, Aside: l.Aside, To: l.To, Re: l.Re, Key: l.Key, Turn: l.Turn, Round: said.round(l), Wakes: l.Wakes, Files: l.Files,
			Pieces: marks.Pieces(l.Text, names), AsidePieces: marks.Pieces(l.Aside, names),
		})
	}
	return all, false, nil
}

// indexed is what other lines say about the messages.
type indexed struct {
	turns   map[string]int // round of a turn
	read    map[int64]int  // round in which a message was read first
	rosters []roster
}

// roster are the names of a room from a line on.
type roster struct {
	from  int64
	names []string
}

func index(lines []room.Line) *indexed {
	x := &indexed{turns: map[string]int{}, read: map[int64]int{}}
	names := []string{} // nil would be any word
	for i := range lines {
		l := &lines[i]
		switch l.Kind {
		case room.KindTurn:
			x.turns[l.Turn] = l.Round
			for _, n := range l.Messages {
				if _, known := x.read[n]; !known {
					x.read[n] = l.Round
				}
			}
			continue
		case room.KindJoined:
			names = append(slices.Clone(names), l.Name)
		case room.KindLeft:
			names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == l.Name })
		default:
			continue
		}
		x.rosters = append(x.rosters, roster{l.N, names})
	}
	return x
}

// names are those who were in the room when line n was written: marks mean them.
func (x *indexed) names(n int64) []string {
	i, _ := slices.BinarySearchFunc(x.rosters, n, func(r roster, n int64) int { return cmp.Compare(r.from, n) })
	if i == 0 {
		return []string{}
	}
	return x.rosters[i-1].names
}

func (x *indexed) round(l *room.Line) int {
	if l.Turn != "" {
		return x.turns[l.Turn]
	}
	return x.read[l.N]
}

// Log are the lines of all kinds behind number after, in their order. more: there are
// further ones.
func (p *Rooms) Log(name string, after int64, limit int) (some []room.Line, more bool, err error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return nil, false, err
	}
	rest := from(lines, after+1)
	size := 0
	for i := range rest {
		size += len(rest[i].Text) + len(rest[i].Aside)
		if i == limit || size > mostOnPage && i > 0 {
			return rest[:i], true, nil
		}
	}
	return rest, false, nil
}

// check refuses an order that means nothing.
func (o *Order) check() error {
	least, most := 0, 0
	switch o.Do {
	case room.DoPause, room.DoResume, room.DoCancel, room.DoContinue, room.DoClose, room.DoReopen:
	case room.DoStop:
		most = 1
	case room.DoSkip, room.DoWake, room.DoWait:
		least, most = 1, 1
	default:
		return project.Usage("", "%q is no order", o.Do)
	}
	switch {
	case len(o.Names) < least:
		return project.Usage("", "%s needs the name of a member", o.Do)
	case len(o.Names) > most:
		return project.Usage("", "%s takes at most %d names, and not %d", o.Do, most, len(o.Names))
	case o.N > mostTurns:
		return project.Usage("", "%d turns: a member has at most %d in a round", o.N, mostTurns)
	case o.N < 0 || o.N > 0 && o.Do != room.DoContinue:
		return project.Usage("", "%d is no number of turns for %s", o.N, o.Do)
	}
	return nil
}

// States are the words for what a member does, in Member.State.
func States() []string {
	all := []string{guest}
	for is := room.Off; is <= room.Down; is++ {
		all = append(all, is.String())
	}
	return all
}

// guest is the state of who takes no turns.
const guest = "guest"
