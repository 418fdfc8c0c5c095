package rooms

import (
	"fmt"
	"io"
	"strings"

	"cmux/agents/control/rooms"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/cmd/cmux/cli"
)

// printList writes a line for each room.
func printList(o *cli.IO, all []rooms.View) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.Out, "There are no rooms. Begin one: cmux rooms start")
		return err
	}
	var rows [][]string
	for _, v := range all {
		var names []string
		for _, m := range v.Members {
			names = append(names, m.Name)
		}
		last := v.Room.Last
		if last != "" {
			last = v.Room.LastBy + ": " + last
		}
		rows = append(rows, []string{v.Room.Name, v.Room.Label, strings.Join(names, ", "), say.Short(v.Room.Total), last})
	}
	look := o.Look()
	_, err := io.WriteString(o.Out, cli.Table([]cli.Column{{Head: "ROOM"}, {Head: "STATE", Give: 2, Least: 8}, {Head: "MEMBERS", Give: 3, Least: 8}, {Head: "TOKENS"}, {Head: "LAST", Give: 1, Least: 10}}, rows, look.Width, look.Color))
	return err
}

// printSettings writes a table of settings.
func (c *call) printSettings(all []rooms.Setting) error {
	var rows [][]string
	for _, s := range all {
		without := ""
		if s.From == rooms.OfRoom {
			without = fmt.Sprintf("%s (%s)", orDash(s.Inherited), s.Of)
		}
		rows = append(rows, []string{s.Key, orDash(say.Line(s.Value)), string(s.From), without})
	}
	look := c.Look()
	_, err := io.WriteString(c.Out, cli.Table([]cli.Column{{Head: "SETTING"}, {Head: "VALUE", Give: 1, Least: 10}, {Head: "FROM"}, {Head: "INHERITS"}}, rows, look.Width, look.Color))
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printRoom writes a room on one screen.
func (c *call) printRoom(v *rooms.View) error { return printRoom(c.IO, v) }

func printRoom(o *cli.IO, v *rooms.View) error {
	r := &v.Room
	fmt.Fprintf(o.Out, "%s: %s\n", r.Name, r.Label)
	if r.Topic != "" {
		fmt.Fprintf(o.Out, "Topic: %s\n", say.Line(r.Topic))
	}
	if about := r.Settings.About; about != "" {
		fmt.Fprintf(o.Out, "About: %s\n", say.Line(about))
	}
	if opener := r.Settings.Opener; opener != "" {
		fmt.Fprintf(o.Out, "Opened by: %s\n", say.Line(opener))
	}
	round := "no round yet"
	if r.Round > 0 {
		round = fmt.Sprintf("round %d, %s, %s tokens", r.Round, say.Count(r.Turns, "turn"), say.Short(r.Used))
	}
	fmt.Fprintf(o.Out, "Policy: %s; %s. A question to all uses %s tokens at least.\n\n", r.Policy, round, say.Short(r.Estimate))
	var rows [][]string
	for _, m := range v.Members {
		doing := m.State
		if m.Turn != "" {
			doing += ", " + m.Turn
		}
		if m.Why != "" {
			doing += ": " + say.Line(m.Why)
		}
		kind, turns := m.Kind, fmt.Sprint(m.Turns)
		if m.Guest {
			kind, turns = "guest", ""
		}
		if m.Role != "" {
			kind += " (" + m.Role + ")"
		}
		approx := ""
		if !m.Tokens && !m.Guest {
			approx = "~"
		}
		rows = append(rows, []string{m.Name, kind, turns, fmt.Sprint(m.Unread), approx + say.Short(m.Used), doing})
	}
	look := o.Look()
	fmt.Fprint(o.Out, cli.Table([]cli.Column{{Head: "MEMBER"}, {Head: "AGENT", Give: 2, Least: 6}, {Head: "TURNS LEFT"}, {Head: "UNREAD"}, {Head: "TOKENS"}, {Head: "STATE", Give: 1, Least: 8}}, rows, look.Width, look.Color))
	if r.Bad > 0 {
		fmt.Fprintf(o.Out, "\n%s of the room's file were not written by cmux and do not count: cmux rooms check %s\n", say.Count(r.Bad, "line"), r.Name)
	}
	if r.Proposals > 0 {
		fmt.Fprintf(o.Out, "\n%s not decided: cmux rooms decisions %s\n", areProposals(r.Proposals), r.Name)
	}
	if len(v.Waits) > 0 {
		fmt.Fprintln(o.Out, "\nWaits for you:")
		for _, w := range v.Waits {
			fmt.Fprintf(o.Out, "  %s\n    %s\n", say.Line(w.What), w.Try)
		}
	}
	return nil
}

func areProposals(n int) string {
	if n == 1 {
		return "1 proposal is"
	}
	return fmt.Sprintf("%d proposals are", n)
}

func costText(c room.Cost) string {
	if len(c.Wakes) == 0 {
		return "It wakes nobody, and uses nothing."
	}
	return fmt.Sprintf("It wakes %s: at least %s tokens, at most %s until the round ends.", strings.Join(c.Wakes, ", "), say.Short(c.Least), say.Short(c.Most))
}

// printer writes lines of a room for people.
type printer struct {
	*cli.IO
	room string
	all  bool // also turns and rounds
}

func (p printer) lines(lines []room.Line) {
	for i := range lines {
		p.line(&lines[i])
	}
}

func (p printer) line(l *room.Line) {
	note := func(format string, args ...any) {
		if p.all {
			fmt.Fprintf(p.Out, "  -- %s\n", fmt.Sprintf(format, args...))
		}
	}
	switch l.Kind {
	case room.KindSaid:
		head := fmt.Sprintf("[%s] (%s#%d", l.By, p.room, l.N)
		if l.Re != 0 {
			head += fmt.Sprintf(", answers %s#%d", p.room, l.Re)
		}
		if l.To != "" {
			head += ", to " + l.To + " alone"
		}
		fmt.Fprintf(p.Out, "%s) %s\n", head, l.At.Local().Format("15:04:05"))
		for i := range l.Files {
			fmt.Fprintf(p.Out, "  %s\n", l.Files[i].Shown(book.FilesOf(p.room)))
		}
		if l.Text != "" {
			fmt.Fprintln(p.Out, indent(l.Text, "  "))
		}
		if l.Aside != "" {
			fmt.Fprintf(p.Out, "  (for you alone)\n%s\n", indent(l.Aside, "  | "))
		}
	case room.KindRound:
		if l.State == room.Began {
			note("round %d", l.Round)
			return
		}
		text := fmt.Sprintf("round %d: %s, %s tokens", l.Round, l.State, say.Short(l.Used))
		if l.Why != "" {
			text += " (" + l.Why + ")"
		}
		fmt.Fprintf(p.Out, "  -- %s\n", text)
	case room.KindTurn:
		note("%s begins for %s", l.Turn, l.Member)
	case room.KindOver:
		switch l.How {
		case room.HowReplied:
			note("%s of %s is over", l.Turn, l.Member)
		case room.HowPassed:
			fmt.Fprintf(p.Out, "  -- %s passes\n", l.Member)
		default:
			text := fmt.Sprintf("%s of %s: %s", l.Turn, l.Member, l.How)
			if l.Why != "" {
				text += ", " + l.Why
			}
			fmt.Fprintf(p.Out, "  -- %s\n", text)
		}
	case room.KindJoined:
		note("%s joined (%s)", l.Name, l.Agent)
	case room.KindLeft:
		fmt.Fprintf(p.Out, "  -- %s left\n", l.Name)
	case room.KindDropped:
		note("%s does not get %s#%d: %s", l.Member, p.room, l.Message, l.Why)
	case room.KindOrder:
		fmt.Fprintf(p.Out, "  -- you: %s\n", strings.TrimSpace(string(l.Do)+" "+strings.Join(l.Names, ", ")))
	case room.KindProposed:
		note("%s proposes a %s: %s", l.By, l.What, l.Text)
	case room.KindDecided:
		fmt.Fprintf(p.Out, "  -- %s by %s: %s\n", l.What, calledBy(l.By), say.Line(l.Text))
	}
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by)
}
