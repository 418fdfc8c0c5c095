// Package seat folds what the records of a room's member say of its place in the room:
// whether its program is to run, which turns it has taken, and what they said. It decides
// nothing.
package seat

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/room"
	"cmux/agents/runs/run"
	"cmux/signals/mailbox"
)

// Seat is the place of a member. Its zero value is that of one who was never wanted.
type Seat struct {
	Wanted  bool // its program is to run; its room says so for each life
	Crashed bool // its last life ended by itself
	Spoken  bool // its turn is over, and it comes to rest
	Dropped bool // its room ended its program: its last turn is not continued

	// In is where its last turn was: the life, and the conversation, empty where its program
	// names none.
	In struct {
		Life         int
		Conversation string
	}

	turns []turn
	told  int64 // tokens that its replies have counted
}

// turn is a turn as far as the records know it.
type turn struct {
	id     string // see TurnID
	over   bool
	broken bool // off
	said   string
	used   int64 // tokens
}

// kept is how many turns are remembered: more than a room can have missed.
const kept = 8

// TurnID is what a member is told a room's turn by: with the time of the turn's line, so that
// a turn of the same number in another room of the name, or in a restored file, is another one.
func TurnID(roomName, turn string, began time.Time) string {
	return roomName + "/" + turn + "-" + strconv.FormatInt(began.UnixMilli(), 36)
}

// Envelope is a turn as its member gets it, by whose id it is known again.
func Envelope(id, text string) string {
	return `<turn id="` + id + "\">\n" + strings.TrimSuffix(text, "\n") + "\n</turn>"
}

// Files is the folder in which an agent that is a room's member finds the files that messages
// have attached. The room's own folder is hidden from it: what is said to others alone is there.
func Files(root, agent string) string {
	return filepath.Join(run.OrganizationDir(root), agent, "files")
}

// mostForGuest bounds a message of a room that a guest gets, in bytes.
const mostForGuest = 16 << 10

// Letter is a message of a room as mail to a guest.
func Letter(roomName string, l *room.Line) (subject, body string) {
	text := l.Text
	if len(text) > mostForGuest {
		text = strings.ToValidUTF8(text[:mostForGuest], "") + "\n[cut: cmux rooms log " + roomName + " has the whole]"
	}
	for i := range l.Files {
		text += "\n" + l.Files[i].Shown("") + ", which members of the room have"
	}
	return fmt.Sprintf("room %s#%d, %s says", roomName, l.N, l.By),
		text + "\n\nYou are a guest of this room. If you have something to say there: cmux rooms say " + roomName + " TEXT. Nobody waits for it."
}

// Wants takes in a record by which the program is to run, or to end.
func (s *Seat) Wants(rec *run.Record) {
	s.Wanted = rec.Value != ""
	s.Crashed = !s.Wanted && rec.How == run.HowLeft
	s.Dropped = s.Dropped || !s.Wanted && !s.Crashed
}

// Ended takes in how a life ended.
func (s *Seat) Ended(how string) {
	s.Wanted = false
	s.Crashed = s.Crashed || how != run.HowStopped
}

// Took takes in that the program has what it was told.
func (s *Seat) Took(rec *run.Record) {
	s.Dropped = false
	for _, id := range mailbox.IDs(rec.Key) {
		if strings.Contains(id, "/") && !slices.ContainsFunc(s.turns, func(t turn) bool { return t.id == id }) {
			s.turns = append(slices.Clone(s.turns[max(0, len(s.turns)-kept+1):]), turn{id: id})
		}
	}
}

// Sits takes in where the member is in a turn.
func (s *Seat) Sits(life int, conversation string) {
	s.In.Life, s.In.Conversation = life, conversation
}

// Replied takes in what a turn said. used is the tokens of all lives: what was used since
// the last reply is this one's.
func (s *Seat) Replied(rec *run.Record, used int64) {
	turns := slices.Clone(s.turns)
	for _, id := range mailbox.IDs(rec.Key) {
		for i := range turns {
			if t := &turns[i]; t.id == id && !t.over {
				t.over, t.broken, t.said, t.used = true, rec.How == run.HowBrokenOff, rec.Detail, max(0, used-s.told)
			}
		}
	}
	s.turns, s.told, s.Spoken = turns, used, true
}

// Heard is what the records tell of a turn that was told by an id: that the program has it,
// and how it ended.
func (s *Seat) Heard(name, id string) []room.What {
	i := slices.IndexFunc(s.turns, func(t turn) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	all := []room.What{room.Took{Turn: name}}
	switch t := &s.turns[i]; {
	case !t.over:
	case t.broken:
		all = append(all, room.Failed{Turn: name, How: room.HowStopped, Text: t.said, Used: t.used})
	default:
		all = append(all, room.Replied{Turn: name, Text: t.said, Used: t.used})
	}
	return all
}
