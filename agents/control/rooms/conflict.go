package rooms

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cmux/agents/org/subject"
	"cmux/agents/room"
	"cmux/worktree/hint"
)

// conflictTokens bounds each round of a room that cmux opens itself, and conflictTopic is
// what such a room is known by.
const (
	conflictTokens = 50_000
	conflictTopic  = "Work that does not fit"
)

// OnConflict opens a room about work that does not fit, merge:ID, and asks what to do, where
// the configuration says so. It returns the room's name; empty: none is open about that.
// About the same work it asks once: a room that a person has closed stays closed.
func (p *Rooms) OnConflict(ctx context.Context, about string) (string, error) {
	config, err := p.Config()
	if err != nil || !config.OnConflict {
		return "", err
	}
	name, err := p.askAbout(ctx, about)
	if err != nil {
		return "", hint.New(fmt.Errorf("no room about %s (rooms.on_conflict): %w", about, err), "cmux rooms start --about "+about)
	}
	return name, nil
}

func (p *Rooms) askAbout(ctx context.Context, about string) (string, error) {
	about, err := p.resolve(about)
	if err != nil {
		return "", err
	}
	all, err := p.names()
	if err != nil {
		return "", err
	}
	for _, name := range all {
		_, lines, _, err := p.Open(name)
		if err != nil {
			continue // it says so itself
		}
		s := room.Fold(name, lines)
		switch {
		case s.Settings.About != about:
			continue
		case s.Closed:
			return "", nil
		case s.Settings.Topic != conflictTopic:
			return name, nil // a person's, who asks
		}
		return name, askHow(ctx, p, name)
	}
	_, of, _ := subject.Parse(about)
	base := "merge-" + of[strings.LastIndex(of, "/")+1:]
	name := base
	for n := 2; slices.ContainsFunc(all, func(other string) bool { return strings.EqualFold(other, name) }); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	policy, tokens, topic := room.Once, int64(conflictTokens), conflictTopic
	s, err := p.Plan(ctx, Start{Name: name, Settings: Change{
		Policy: &policy, Tokens: &TokensOver{Round: &tokens}, About: &about, Topic: &topic,
	}})
	if err != nil {
		return "", err
	}
	if _, err := p.Create(ctx, s); err != nil {
		return "", err
	}
	return name, askHow(ctx, p, name)
}

// askHow asks the question about a conflict, once.
func askHow(ctx context.Context, p *Rooms, name string) error {
	_, err := p.Say(ctx, name, Say{Key: "on-conflict", Text: "This work does not fit, as the facts about this room show. What does each side want, and how do they become one? " +
		"Name files and lines, say which side should give way and why, and what you have not examined."})
	return err
}
