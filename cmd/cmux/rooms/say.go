package rooms

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	Tokens, Day                              string
	Policy                                   string
	NoBlind, Yes, JSON                       bool
	Timeout, ParseTimeout, SendTimeout, Hard int
}

func newStartCmd(d *cli.Deps, runF func(context.Context, *startOptions) error) *cobra.Command {
	o := &startOptions{IO: &d.IO, Project: d.Project}
	o.Settings = room.Defaults()
	cmd := &cobra.Command{
		Use:   "start [NAME]",
		Short: "Begin a room",
		Long: `Begin a room. It needs no organization and no tmux: cmux starts what carries it on. Each
member of --agents is KIND[=NAME][:ROLE]; without --agents every agent program takes part
that is installed and ready. A role whose file is .cmux/roles/ROLE.md is told to the
member. Its program starts at once, without a call of the model.

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
			o.Name = cli.First(args)
			return cli.Either(runF, runStart)(cmd.Context(), o)
		},
	}
	f, s := cmd.Flags(), &o.Settings
	f.StringSliceVar(&o.Members, "agents", nil, "the members, each `KIND[=NAME][:ROLE]`")
	f.StringVar(&s.Topic, "topic", "", "what the room is about, `TEXT`")
	f.StringVar(&o.Policy, "policy", string(s.Policy), "who answers whom: everybody, once, robin, mentioned, moderator or debate")
	f.BoolVar(&o.NoBlind, "no-blind", false, "let members read the first answers of others before they answer")
	f.IntVar(&s.Turns, "turns", s.Turns, "turns of a member in a round, `N`")
	f.StringVar(&o.Tokens, "tokens", "", "tokens that a round may use, `N` such as 200k (default: no bound)")
	f.StringVar(&o.Day, "tokens-day", "", "tokens that the room may use in a day, `N` such as 2M (default: no bound)")
	f.StringVar(&s.Judge, "judge", "", "`NAME` of the member that judges a debate")
	f.StringVar(&s.Moderator, "moderator", "", "`NAME` of the member that leads the room")
	f.StringVar(&s.Dir, "dir", "", "`FOLDER` in the project where members work (default: its root)")
	f.BoolVar(&o.Pane, "pane", false, "give each member a window of tmux")
	f.IntVar(&s.Timeouts.Idle, "timeout", s.Timeouts.Idle, "seconds without a sign after which a turn is interrupted, `S`")
	f.IntVar(&s.Timeouts.Parse, "parse-timeout", s.Timeouts.Parse, "seconds of work after which you are asked, `S`")
	f.IntVar(&s.Timeouts.Send, "send-timeout", s.Timeouts.Send, "seconds until a program must have its turn, `S`")
	f.IntVar(&s.Timeouts.Hard, "hard-timeout", s.Timeouts.Hard, "seconds after which a turn is interrupted, `S` (0: never)")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runStart(ctx context.Context, o *startOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	o.Settings.Policy, o.Settings.Blind = room.Policy(o.Policy), !o.NoBlind
	for _, t := range []struct {
		flag, text string
		to         *int64
	}{{"tokens", o.Tokens, &o.Settings.Tokens.Round}, {"tokens-day", o.Day, &o.Settings.Tokens.Day}} {
		if t.text == "" {
			continue
		}
		n, err := book.ParseTokens(t.text)
		if err != nil {
			return project.Usage("", "--%s: %w", t.flag, err)
		}
		*t.to = n
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

type sayOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Room    string
	Say     rooms.Say
	Wait    bool
	Timeout time.Duration
	Yes     bool
	JSON    bool
}

// confirms is how many tokens a message may use at least before a person is asked.
const confirms = 100_000

func newSayCmd(d *cli.Deps, runF func(context.Context, *sayOptions) error) *cobra.Command {
	o := &sayOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "say ROOM TEXT",
		Short: "Say something in a room",
		Long: `Say something in a room, and print its number. With - the text is read from standard
input. @NAME wakes that member, @all everybody. A message with the same --key is said
once. --wait waits until the room has come to rest and prints what was said; the exit code
is then that of cmux rooms wait. Agents that were invited speak by this command too.
With --json the shape is {"room", "message", "wakes", "note"}.`,
		Example: "  cmux rooms say design '@codex is that so?' --wait\n  git diff | cmux rooms say design - --to claude",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room, o.Say.Text = args[0], args[1]
			return cli.Either(runF, runSay)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	f := cmd.Flags()
	f.StringVar(&o.Say.To, "to", "", "`NAME` of the member that it is for alone")
	f.BoolVar(&o.Say.Interrupt, "interrupt", false, "interrupt the turns of those whom it wakes")
	f.BoolVar(&o.Say.Resume, "resume", false, "resume the room if it is paused")
	f.StringVar(&o.Say.Key, "key", "", "your own id of the message, `KEY`")
	f.BoolVar(&o.Say.NoStart, "no-start", false, "do not start the monitor")
	f.BoolVar(&o.Wait, "wait", false, "wait until the room has come to rest, and print what was said")
	f.DurationVar(&o.Timeout, "timeout", 0, "with --wait: give up after this long, `DURATION` (0: never)")
	f.BoolVar(&o.Yes, "yes", false, "do not ask where it uses many tokens")
	cli.JSONFlag(cmd, &o.JSON)
	cmd.MarkFlagsMutuallyExclusive("wait", "json")
	return cmd
}

func runSay(ctx context.Context, o *sayOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Say.Text == "-" {
		b, err := io.ReadAll(io.LimitReader(o.In, 2*book.MaxText))
		if err != nil {
			return err
		}
		o.Say.Text = string(b)
	}
	r := p.Rooms()
	cost, err := r.Cost(o.Room, o.Say.To, o.Say.Text)
	if err != nil {
		return err
	}
	if cost.Least > confirms && o.Interactive() {
		if err := o.Confirm(ctx, o.Yes, costText(cost)+" Send it?"); err != nil {
			return err
		}
	}
	said, err := r.Say(ctx, o.Room, o.Say)
	if err != nil {
		return err
	}
	switch {
	case o.JSON:
		return cli.PrintJSON(o.Out, said)
	case said.Note != "":
		fmt.Fprintf(o.Err, "cmux: %s\n", said.Note)
	}
	if !o.Wait {
		_, err := fmt.Fprintf(o.Out, "%s#%d\n", o.Room, said.Message)
		return err
	}
	return await(ctx, o.IO, r, o.Room, said.Message, said.Message, o.Timeout)
}

type answerOptions struct {
	*cli.IO
	Project            cli.ProjectFunc
	Room, Member, Text string
}

func newAnswerCmd(d *cli.Deps, runF func(context.Context, *answerOptions) error) *cobra.Command {
	o := &answerOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:     "answer ROOM NAME TEXT",
		Short:   "Answer what a member, or its program, asks you",
		Example: "  cmux rooms answer design codex yes",
		Args:    cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room, o.Member, o.Text = args[0], args[1], args[2]
			return cli.Either(runF, runAnswer)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
}

func runAnswer(ctx context.Context, o *answerOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	a, err := p.Rooms().Answer(ctx, o.Room, o.Member, o.Text)
	if err != nil {
		return err
	}
	return o.TellTaken(o.Member, "answered", a.Taken)
}

type tailOptions struct {
	roomOptions
	Lines int
}

func newTailCmd(d *cli.Deps, runF func(context.Context, *tailOptions) error) *cobra.Command {
	o := &tailOptions{roomOptions: roomOptions{IO: &d.IO, Project: d.Project}}
	cmd := &cobra.Command{
		Use:   "tail ROOM",
		Short: "Talk in a room in this terminal",
		Long: `Show a room as it goes on, and say in it what you type: a line is a message. A line that
begins with / is an order: /pause, /resume, /stop [NAME], /cancel, /continue, /skip NAME,
/wake NAME, /to NAME TEXT, /cost, /show, /quit.`,
		Example: "  cmux rooms tail design",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runTail)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cmd.Flags().IntVarP(&o.Lines, "lines", "n", 20, "how many lines of what was said before to show, `N`")
	return cmd
}

func runTail(ctx context.Context, o *tailOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	r := p.Rooms()
	lines, _, err := r.Lines(o.Room)
	if err != nil {
		return err
	}
	if err := r.Up(ctx); err != nil {
		return err
	}
	show := printer{o.IO, o.Room, false}
	before := lines
	if said := slices.DeleteFunc(slices.Clone(lines), func(l room.Line) bool { return l.Kind != room.KindSaid }); len(said) > o.Lines {
		from := said[len(said)-o.Lines].N
		before = lines[slices.IndexFunc(lines, func(l room.Line) bool { return l.N >= from }):]
	}
	show.lines(before)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		over <- r.Follow(ctx, o.Room, lines[len(lines)-1].N, func(more []room.Line) error {
			for i := range more {
				if l := &more[i]; l.By == room.User && (l.Kind == room.KindSaid || l.Kind == room.KindOrder) && o.Interactive() {
					continue // it stands there, as it was typed
				}
				show.line(&more[i])
			}
			return nil
		})
	}()
	typed := make(chan string)
	go func() { // ends with the terminal, or with this process
		defer close(typed)
		in := bufio.NewScanner(o.In)
		in.Buffer(nil, 2*book.MaxText)
		for in.Scan() {
			select {
			case typed <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case err := <-over:
			return err
		case <-ctx.Done():
			return nil
		case line, ok := <-typed:
			if !ok || strings.TrimSpace(line) == "/quit" {
				cancel()
				<-over
				return nil
			}
			if err := tailed(ctx, o, r, line); err != nil {
				fmt.Fprintf(o.Err, "cmux: %v\n", err)
			}
		}
	}
}

// tailed carries out a line that was typed.
func tailed(ctx context.Context, o *tailOptions, r *rooms.Rooms, line string) error {
	line = strings.TrimRight(line, " \t\r")
	if strings.TrimSpace(line) == "" {
		return nil
	}
	text := rooms.Say{Text: strings.TrimSpace(line)}
	if strings.HasPrefix(line, "/") {
		word, rest, _ := strings.Cut(line[1:], " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "show":
			v, err := r.Show(o.Room)
			if err != nil {
				return err
			}
			return printRoom(o.IO, v)
		case "cost":
			c, err := r.Cost(o.Room, "", rest)
			if err == nil {
				fmt.Fprintln(o.Out, costText(c))
			}
			return err
		case "to":
			text.To, text.Text, _ = strings.Cut(rest, " ")
		default:
			all := orders()
			i := slices.IndexFunc(all, func(o order) bool { w, _, _ := strings.Cut(o.use, " "); return w == word })
			if i < 0 {
				return project.Usage("", "there is no order /%s; a line that begins with a blank and / is a message", word)
			}
			do := rooms.Order{Do: all[i].do}
			if n := len(strings.Fields(rest)); n < all[i].least || n > all[i].most {
				return project.Usage("", "as at the command line: %s", strings.Replace(all[i].use, " ROOM", "", 1))
			}
			if names := strings.Fields(rest); all[i].do == room.DoContinue {
				fmt.Sscanf(rest, "%d", &do.N)
			} else {
				do.Names = names
			}
			_, err := r.Order(ctx, o.Room, do)
			return err
		}
	}
	said, err := r.Say(ctx, o.Room, text)
	if err == nil && said.Note != "" {
		fmt.Fprintf(o.Err, "cmux: %s\n", said.Note)
	}
	return err
}
