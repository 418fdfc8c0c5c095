package rooms

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/signals"
	"cmux/worktree/hint"
)

// Invite has somebody join a room: a member, as KIND[=NAME][:ROLE], or an agent of the
// organization as a guest. It returns what is worth knowing about the member's program.
func (p *Rooms) Invite(ctx context.Context, name, text string, guest, pane bool) (remarks []string, err error) {
	b, lines, err := p.writing(ctx, name, false)
	if err != nil {
		return nil, err
	}
	s := room.Fold(name, lines)
	var so []room.Line
	members, guests := 0, 0
	for _, m := range s.Members {
		if m.Gone {
			continue
		}
		so = append(so, room.Line{Name: m.Name})
		if m.Guest {
			guests++
		} else {
			members++
		}
	}
	var l *room.Line
	switch {
	case guest && guests >= mostGuests:
		return nil, project.Usage("", "the room has %d guests, as many as it may have", guests)
	case !guest && members >= mostMembers:
		return nil, project.Usage("", "the room has %d members, as many as it may have", members)
	case guest:
		if l, err = p.guest(text); err != nil {
			err = project.Tag(err, project.ErrUsage)
		}
	default:
		l, remarks, err = p.member(ctx, name, text, pane, so)
	}
	if err != nil {
		return nil, err
	}
	l.Kind = room.KindJoined
	err = b.Change(ctx, func(now room.State) (*room.Line, error) {
		if slices.ContainsFunc(now.Members, func(m room.Member) bool { return !m.Gone && strings.EqualFold(m.Name, l.Name) }) {
			return nil, project.Usage("", "%s is in the room already", l.Name)
		}
		return l, nil
	})
	if err != nil {
		return nil, usage(err)
	}
	p.audit(ctx, "invite", name)
	return remarks, nil
}

// guest is the line by which an agent of the organization joins.
func (p *Rooms) guest(agent string) (*room.Line, error) {
	_, a, err := p.StandingAgent(agent)
	if err != nil {
		return nil, err
	}
	if a.InRoom() {
		return nil, fmt.Errorf("%s is a member of a room, and no guest of another", a.Name)
	}
	if err := book.CheckName(a.Name); err != nil {
		return nil, err
	}
	return &room.Line{Name: a.Name, Agent: a.Name, Guest: true}, nil
}

// Dismiss has somebody leave a room: its turn is interrupted, and its program ends.
func (p *Rooms) Dismiss(ctx context.Context, name, who string) error {
	b, _, err := p.writing(ctx, name, false)
	if err != nil {
		return err
	}
	err = b.Change(ctx, func(s room.State) (*room.Line, error) {
		i := slices.IndexFunc(s.Members, func(m room.Member) bool { return !m.Gone && m.Name == who })
		if i < 0 {
			return nil, fmt.Errorf("%w: nobody in the room %s is called %q: %s", book.ErrUnknown, name, who, strings.Join(s.Names(), ", "))
		}
		return &room.Line{Kind: room.KindLeft, Name: who, Why: "dismissed"}, nil
	})
	if err != nil {
		return usage(err)
	}
	p.audit(ctx, "dismiss", name)
	return nil
}

// Keys are what Set takes.
func Keys() []string {
	return []string{"topic", "policy", "blind", "turns", "tokens", "tokens-day", "share", "moderator", "judge", "decide", "rebuttals", "timeout", "parse-timeout", "send-timeout", "hard-timeout", "on-parse"}
}

// Set changes the settings of a room: each is KEY=VALUE, or KEY= for what a new room has.
func (p *Rooms) Set(ctx context.Context, name string, changes []string) (*View, error) {
	_, defaults, err := inherited(p)
	if err != nil {
		return nil, err
	}
	return p.set(ctx, name, func(s *room.Settings) error {
		for _, c := range changes {
			if key, value, ok := strings.Cut(c, "="); ok && value == "" && slices.Contains(Keys(), key) {
				c += valueOf(defaults, key)
			}
			if err := setOne(s, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// Change changes the settings of a room that are given. Its folder stays: members work there.
func (p *Rooms) Change(ctx context.Context, name string, c Change) (*View, error) {
	if c.About != nil {
		about, err := p.resolve(*c.About)
		if err != nil {
			return nil, err
		}
		c.About = &about
	}
	return p.set(ctx, name, func(s *room.Settings) error {
		if c.Dir != nil && *c.Dir != s.Dir {
			return fmt.Errorf("the room %s works in %q: another folder needs another room", name, s.Dir)
		}
		*s = c.Over(*s)
		return nil
	})
}

func (p *Rooms) set(ctx context.Context, name string, change func(*room.Settings) error) (*View, error) {
	b, _, err := p.writing(ctx, name, false)
	if err != nil {
		return nil, err
	}
	err = b.Change(ctx, func(s room.State) (*room.Line, error) {
		set := s.Settings
		if err := change(&set); err != nil {
			return nil, project.Tag(err, project.ErrUsage)
		}
		if set == s.Settings {
			return nil, nil
		}
		if err := p.checkSettings(&set); err != nil {
			return nil, err
		}
		if err := roles(&set, &s); err != nil {
			return nil, err
		}
		return &room.Line{Kind: room.KindSet, Settings: &set}, nil
	})
	if err != nil {
		return nil, usage(err)
	}
	p.audit(ctx, "set", name)
	return p.Show(name)
}

func setOne(s *room.Settings, change string) error {
	key, value, ok := strings.Cut(change, "=")
	if !ok {
		return fmt.Errorf("%q is not KEY=VALUE", change)
	}
	number := func(to *int) (err error) {
		if *to, err = strconv.Atoi(value); err != nil {
			return fmt.Errorf("%s: %q is no number", key, value)
		}
		return nil
	}
	tokens := func(to *int64) (err error) {
		if *to = 0; value == "" || value == "0" {
			return nil
		}
		*to, err = book.ParseTokens(value)
		return err
	}
	switch key {
	case "topic":
		s.Topic = value
	case "policy":
		s.Policy = room.Policy(value)
	case "blind":
		yes, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%s: %q is not true or false", key, value)
		}
		s.Blind = yes
	case "turns":
		return number(&s.Turns)
	case "tokens":
		return tokens(&s.Tokens.Round)
	case "tokens-day":
		return tokens(&s.Tokens.Day)
	case "share":
		if value != "tagged" && value != "all" {
			return fmt.Errorf("%s: %q is not all or tagged", key, value)
		}
		s.Tagged = value == "tagged"
	case "moderator":
		s.Moderator = value
	case "judge":
		s.Judge = value
	case "decide":
		if value != "person" && value != room.ByModerator {
			return fmt.Errorf("%s: %q is not person or moderator", key, value)
		}
		if s.Decide = value; value == "person" {
			s.Decide = ""
		}
	case "rebuttals":
		return number(&s.Rebuttals)
	case "timeout":
		return number(&s.Timeouts.Idle)
	case "parse-timeout":
		return number(&s.Timeouts.Parse)
	case "send-timeout":
		return number(&s.Timeouts.Send)
	case "hard-timeout":
		return number(&s.Timeouts.Hard)
	case "on-parse":
		if value != "ask" && value != "stop" {
			return fmt.Errorf("%s: %q is not ask or stop", key, value)
		}
		s.Timeouts.Stops = value == "stop"
	default:
		return fmt.Errorf("there is no setting %q: there are %s", key, strings.Join(Keys(), ", "))
	}
	return nil
}

// Remove closes a room and moves it, with its members, to the archives. It returns where it
// is then.
func (p *Rooms) Remove(ctx context.Context, name string) (archive string, err error) {
	b, lines, err := p.writing(ctx, name, false)
	if err != nil {
		return "", err
	}
	s := room.Fold(name, lines)
	if !s.Closed {
		if err := b.Order(ctx, "remove-"+strconv.FormatInt(s.N, 10), room.DoClose, 0); err != nil && !errors.Is(err, book.ErrClosed) {
			return "", err
		}
	}
	for _, m := range s.Members {
		if m.Guest {
			continue
		}
		agent := standing.MemberName(name, m.Name)
		if org, err := p.org(); err != nil || org == nil || org.Agents[agent] == nil {
			continue // its program was never started, or it was removed before
		}
		if err := p.AskKeeper(ctx, standing.OpKill, agent, standing.Ask{Force: true}, nil); err != nil {
			return "", hint.New(fmt.Errorf("%s is still there: %w", agent, err), "cmux rooms remove "+name)
		}
	}
	archive = filepath.Join(p.Root, signals.Folder, "archives", book.Folder, name+"-"+p.Now().UTC().Format("20060102-150405.000"))
	if err := signals.MkdirAll(filepath.Dir(archive), 0o700); err != nil {
		return "", err
	}
	p.audit(ctx, "remove", name)
	return archive, book.Move(p.Root, name, archive)
}
