package rooms

import (
	"fmt"
	"path/filepath"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/seat"
	"cmux/agents/org/standing"
	"cmux/agents/records/event"
	"cmux/agents/records/note"
	"cmux/agents/room"
	"cmux/agents/room/carrier"
	"cmux/worktree/hint"
)

// Prompt is what a turn gave its member.
type Prompt struct {
	Room   string `json:"room"`
	Turn   string `json:"turn"`
	Member string `json:"member"`
	Text   string `json:"text"`
	Sent   bool   `json:"sent"` // as its program got it; false: put together again from the file
}

// Prompt is what a turn gave its member, as the member's events hold it. Where they do not, it
// is put together again.
func (p *Rooms) Prompt(name, turn string) (*Prompt, error) {
	_, lines, _, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	org, err := p.org()
	if err != nil {
		return nil, err
	}
	for i := range lines {
		l := &lines[i]
		if l.Kind != room.KindTurn || l.Turn != turn {
			continue
		}
		out := &Prompt{Room: name, Turn: turn, Member: l.Member}
		if out.Text, out.Sent = sent(org, name, l); !out.Sent {
			out.Text = p.again(org, name, lines[:i+1])
		}
		return out, nil
	}
	return nil, hint.New(project.Tag(fmt.Errorf("the room %s has no turn %q", name, turn), project.ErrMissing), "cmux rooms log "+name)
}

// sent is the prompt of a turn as the events of its member hold it.
func sent(org *standing.Org, name string, l *room.Line) (text string, ok bool) {
	if org == nil {
		return "", false
	}
	before, after, _ := strings.Cut(seat.Envelope(seat.TurnID(name, l.Turn, l.At), "\x00"), "\x00")
	// What cannot be read holds nothing.
	_, _ = event.Replay(org.Run.Events(standing.MemberName(name, l.Member)), 0, func(e event.Event, _ int64) error {
		if ok || e.Cut > 0 || e.Kind != event.Prompt && e.Kind != event.HandBack {
			return nil
		}
		if _, rest, is := strings.Cut(e.Text, before); is { // what is in it is quoted, so that its end is the first
			if said, _, whole := strings.Cut(rest, strings.TrimRight(after, "\n")); whole {
				text, ok = said+"\n", true
			}
		}
		return nil
	})
	return text, ok
}

// again is the prompt of the turn that the last line begins.
func (p *Rooms) again(org *standing.Org, name string, lines []room.Line) string {
	s, l := room.Fold(name, lines), &lines[len(lines)-1]
	text := s.Prompt(l.Turn, false, seat.Files(p.Root, standing.MemberName(name, l.Member)))
	if !carrier.First(lines, l.Member, l.Turn) {
		return text
	}
	at := room.Place{Dir: filepath.Join(p.Root, filepath.FromSlash(s.Settings.Dir))}
	if org != nil {
		if a := org.Agents[standing.MemberName(name, l.Member)]; a != nil {
			at = room.Place{Dir: a.Member.Dir, Role: a.Member.RoleFile}
		}
	}
	return s.Opening(l.Member, at, noted(p, room.Noted(&s, l.Member))) + "\n" + text
}

// noted are notes as members are told them. What cannot be read is left out.
func noted(p *Rooms, ids []string) (all []string) {
	b, err := note.OpenBook(p.Root, p.Now, false)
	if err != nil || len(ids) == 0 {
		return nil
	}
	l, err := b.List()
	if err != nil {
		return nil
	}
	return l.Told(ids)
}
