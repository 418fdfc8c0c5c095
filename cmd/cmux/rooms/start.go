package rooms

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/cmd/cmux/cli"
)

type startOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	rooms.Start
	Given         func(flag string) bool // it was written; the others do not count
	Set           room.Settings
	Tokens, Day   string
	Policy        string
	NoBlind, JSON bool
}

func newStartCmd(d *cli.Deps) *cobra.Command {
	o := &startOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "start [NAME]",
		Short: "Begin a room",
		Long: `Begin a room. It needs no organization and no tmux: cmux starts what carries it on. Each
member of --agents is KIND[=NAME][:ROLE]; without --agents every agent program takes part
that is installed and ready. A role whose file is .cmux/roles/ROLE.md is told to the
member; if that file names a kind, :ROLE is enough. Its program starts at once, without a call of the model. What no option says is as
rooms: in .cmux/config.yml says (cmux config), or as below.

--about gives each member the facts about a node (of the newest run that has it), a task, or
work that does not fit where it is merged: task, changes, checks, and both sides of a conflict, as they are
when it begins.

A supervisor may open rooms too, with --tokens, at most max_rooms of .cmux/config.yml at once.
It is a guest of them.

The policies, which say who answers whom:
  everybody  you wake all or whom you @mention; an answer wakes the others (default)
  once       each answers once, and you see the answers side by side
  robin      all, one after the other
  mentioned  whom a message mentions
  moderator  --moderator answers, and calls on the others
  debate     positions, answers to them, and --judge proposes a decision

With --json the shape is that of cmux rooms show.`,
		Example: "  cmux rooms start design --agents claude,codex:reviewer --topic 'Where to keep sessions'\n  cmux rooms start --policy once",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Given = cli.First(args), cmd.Flags().Changed
			return runStart(cmd.Context(), o)
		},
	}
	f, s, def := cmd.Flags(), &o.Set, room.Defaults()
	f.StringSliceVar(&o.Members, "agents", nil, "the members, each `KIND[=NAME][:ROLE]`")
	f.StringVar(&s.Topic, "topic", "", "what the room is about, `TEXT`")
	f.StringVar(&o.Policy, "policy", string(def.Policy), "who answers whom: everybody, once, robin, mentioned, moderator or debate")
	f.BoolVar(&o.NoBlind, "no-blind", false, "let members read the first answers of others before they answer")
	f.IntVar(&s.Turns, "turns", def.Turns, "turns of a member in a round, `N`")
	f.StringVar(&o.Tokens, "tokens", "", "tokens that a round may use, `N` such as 200k (0: no bound)")
	f.StringVar(&o.Day, "tokens-day", "", "tokens that the room may use in a day, `N` such as 2M (0: no bound)")
	f.StringVar(&s.Judge, "judge", "", "`NAME` of the member that judges a debate")
	f.StringVar(&s.Moderator, "moderator", "", "`NAME` of the member that leads the room")
	f.StringVar(&s.Decide, "decide", "", "who decides on proposals: moderator (default: you)")
	f.StringVar(&s.Dir, "dir", "", "`FOLDER` in the project where members work (default: its root)")
	f.StringVar(&s.About, "about", "", "`WHAT` the room is about: node:NAME, task:ID or merge:ID; members get the facts")
	f.BoolVar(&o.Pane, "pane", false, "give each member a window of tmux")
	f.IntVar(&s.Timeouts.Idle, "timeout", def.Timeouts.Idle, "seconds without a sign after which a turn is interrupted, `S`")
	f.IntVar(&s.Timeouts.Parse, "parse-timeout", def.Timeouts.Parse, "seconds of work after which you are asked, `S`")
	f.IntVar(&s.Timeouts.Send, "send-timeout", def.Timeouts.Send, "seconds until a program must have its turn, `S`")
	f.IntVar(&s.Timeouts.Hard, "hard-timeout", def.Timeouts.Hard, "seconds after which a turn is interrupted, `S` (0: never)")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runStart(ctx context.Context, o *startOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Settings, err = o.change(); err != nil {
		return err
	}
	s, err := p.Rooms().Plan(ctx, o.Start)
	if err != nil {
		return err
	}
	for _, remark := range s.Remarks {
		fmt.Fprintf(o.Err, "cmux: %s\n", remark)
	}
	v, err := p.Rooms().Create(ctx, s)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, v)
	}
	var names []string
	for _, m := range v.Members {
		name := m.Name
		if m.Kind != m.Name {
			name += " (" + m.Kind + ")"
		}
		names = append(names, name)
	}
	fmt.Fprintf(o.Out, "The room %s is open: %s.\n", v.Room.Name, strings.Join(names, ", "))
	where := "the project"
	if v.Room.Settings.Dir != "" {
		where = v.Room.Settings.Dir
	}
	fmt.Fprintf(o.Out, "Members may read %s and run what reads. They may not write there. What they want beyond that, they ask you for.\n", where)
	fmt.Fprintf(o.Out, "A question to all uses at least %s tokens, at most %s until its round ends (estimated).\n\n", say.Short(s.Cost.Least), say.Short(s.Cost.Most))
	_, err = fmt.Fprintf(o.Out, "Ask:   cmux rooms say %[1]s 'TEXT' --wait\nTalk:  cmux rooms tail %[1]s\nClose: cmux rooms close %[1]s\n", v.Room.Name)
	return err
}

// change is what the options say that were written.
func (o *startOptions) change() (rooms.Change, error) {
	set, policy, blind := &o.Set, room.Policy(o.Policy), !o.NoBlind
	t := &set.Timeouts
	c := rooms.Change{
		Topic: given(o, "topic", &set.Topic), Policy: given(o, "policy", &policy), Blind: given(o, "no-blind", &blind), Turns: given(o, "turns", &set.Turns),
		Judge: given(o, "judge", &set.Judge), Moderator: given(o, "moderator", &set.Moderator), Decide: given(o, "decide", &set.Decide), Dir: given(o, "dir", &set.Dir), About: given(o, "about", &set.About),
		Tokens: &rooms.TokensOver{Round: given(o, "tokens", &set.Tokens.Round), Day: given(o, "tokens-day", &set.Tokens.Day)},
		Timeouts: &rooms.TimeoutsOver{
			Idle: given(o, "timeout", &t.Idle), Parse: given(o, "parse-timeout", &t.Parse), Send: given(o, "send-timeout", &t.Send), Hard: given(o, "hard-timeout", &t.Hard),
		},
	}
	for _, b := range []struct {
		flag, text string
		to         *int64
	}{{"tokens", o.Tokens, c.Tokens.Round}, {"tokens-day", o.Day, c.Tokens.Day}} {
		if b.to == nil || b.text == "0" {
			continue
		}
		n, err := book.ParseTokens(b.text)
		if err != nil {
			return c, project.Usage("", "--%s: %w", b.flag, err)
		}
		*b.to = n
	}
	return c, nil
}

// given is the value of an option that was written; nil: it was not.
func given[T any](o *startOptions, flag string, value *T) *T {
	if o.Given(flag) {
		return value
	}
	return nil
}
