// Package recall chooses the notes that members of rooms are told.
package recall

import (
	"slices"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/task"
	"cmux/agents/records/note"
	"cmux/agents/room"
)

// mostTopic bounds how much of a person's first message is searched for where a room has no
// topic, in bytes.
const mostTopic = 1000

// Notes are the notes of a project, for package carrier. Where they cannot be read, members are
// told none.
type Notes struct {
	Root   string
	Now    func() time.Time
	Config func() memoryconfig.Config
	Log    *log.Logger
}

func (n *Notes) list() *note.List {
	b, err := note.OpenBook(n.Root, n.Now, false)
	if err == nil {
		var l *note.List
		if l, err = b.List(); err == nil {
			return l
		}
	}
	n.Log.Error("notes cannot be read: members of rooms are told none", "err", err)
	return new(note.List)
}

// Pick returns the ids of the notes that a member is told in its conversation.
func (n *Notes) Pick(s *room.State, opened time.Time, member string) (ids []string) {
	if !n.Config().Inject {
		return nil
	}
	for _, one := range n.list().Pick(note.Want{Topic: topic(s), Files: files(s), Leads: n.leads(s, member), Room: s.Name, Opened: opened}) {
		ids = append(ids, one.ID)
	}
	return ids
}

// Told returns notes as members are told them.
func (n *Notes) Told(ids []string) []string { return n.list().Told(ids) }

// topic is what a room is about: without one, what the person said first.
func topic(s *room.State) string {
	if s.Settings.Topic != "" {
		return s.Settings.Topic
	}
	for _, l := range s.Messages {
		if l.By == room.User && l.To == "" {
			return l.Text[:min(len(l.Text), mostTopic)]
		}
	}
	return ""
}

// files are those that a room is about: its folder, and what is attached.
func files(s *room.State) (all []string) {
	if s.Settings.Dir != "" {
		all = append(all, s.Settings.Dir)
	}
	for _, l := range s.Messages {
		for i := range l.Files {
			if name := l.Files[i].Name; !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// leads reports whether a member is the moderator, or the coordinator of one of the room's cards:
// it is told what is known about members.
func (n *Notes) leads(s *room.State, member string) bool {
	if s.Settings.Policy == room.Moderator && s.Settings.Moderator == member {
		return true
	}
	b, err := task.OpenBook(n.Root, n.Now, false)
	if err != nil {
		return false // a list that cannot be read has no cards
	}
	l, err := b.List()
	return err == nil && slices.ContainsFunc(l.All(), func(t *task.Task) bool {
		return t.Card != nil && t.Card.Room == s.Name && t.Card.Coordinator == member && !t.State.Over()
	})
}
