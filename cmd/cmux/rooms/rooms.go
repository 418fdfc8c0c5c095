// Package rooms has the commands of rooms, in which several agents and a person talk.
package rooms

import (
	"context"
	"errors"
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
	"cmux/agents/room/marks"
	"cmux/cmd/cmux/cli"
)

// NewCmd builds cmux rooms and its commands.
func NewCmd(d *cli.Deps) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "rooms",
		GroupID: "main",
		Short:   "Talk with several agents at once",
		Long: `A room is one conversation between you and several agents. They answer you, react to
what others say, and stop when nobody has anything to add. Members read the project and
write nothing. What was said is in .cmux/rooms/ROOM/room.jsonl.`,
		Example: "  cmux rooms start design --agents claude,codex:reviewer\n  cmux rooms say design 'Which database?' --wait",
	}
	cmd.AddCommand(newStartCmd(d, nil), newListCmd(d, nil), newShowCmd(d, nil), newOpenCmd(d, nil), newLogCmd(d, nil), newTailCmd(d, nil),
		newSayCmd(d, nil), newAnswerCmd(d, nil), newCostCmd(d, nil), newWaitCmd(d, nil), newPromptCmd(d, nil), newParseCmd(d, nil), newCheckCmd(d, nil),
		newInviteCmd(d, nil), newDismissCmd(d, nil), newSetCmd(d, nil), newRemoveCmd(d, nil), newExportCmd(d, nil))
	for _, o := range orders() {
		cmd.AddCommand(newOrderCmd(d, o, nil))
	}
	return cmd
}

type order struct {
	do    room.Do
	use   string
	short string
	said  string // when it is done
	least int    // names that it needs
	most  int
}

// orders are the orders about a room. Those that name a member need one.
func orders() []order {
	return []order{
		{room.DoPause, "pause ROOM", "Let turns finish, and begin no other", "paused", 0, 0},
		{room.DoResume, "resume ROOM", "Let turns begin again after a pause", "resumed", 0, 0},
		{room.DoStop, "stop ROOM [NAME]", "Interrupt the turn of a member; without NAME all turns, and pause", "stopped", 0, 1},
		{room.DoCancel, "cancel ROOM", "Interrupt all turns and end the round", "cancelled", 0, 0},
		{room.DoContinue, "continue ROOM [N]", "Let a round go on whose turns or tokens were used up", "continued", 0, 1},
		{room.DoSkip, "skip ROOM NAME", "Continue the round without a member", "skipped", 1, 1},
		{room.DoWake, "wake ROOM NAME", "Try a member again that is down", "woken", 1, 1},
		{room.DoWait, "go-on ROOM NAME", "Let a turn go on that takes long", "left to go on", 1, 1},
		{room.DoClose, "close ROOM", "End the programs, and keep everything", "closed", 0, 0},
		{room.DoReopen, "reopen ROOM", "Open a closed room again, in the same conversations", "reopened", 0, 0},
	}
}

type orderOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	order
	Room  string
	Order rooms.Order
	JSON  bool
}

func newOrderCmd(d *cli.Deps, what order, runF func(context.Context, *orderOptions) error) *cobra.Command {
	o := &orderOptions{IO: &d.IO, Project: d.Project, order: what}
	word, _, _ := strings.Cut(what.use, " ")
	example := "  cmux rooms " + word + " design"
	if what.least > 0 {
		example += " codex"
	}
	cmd := &cobra.Command{
		Use:     what.use,
		Short:   what.short,
		Long:    what.short + ". With --json the shape is that of cmux rooms show.",
		Example: example,
		Args:    cobra.RangeArgs(1+what.least, 1+what.most),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room, o.Order.Do = args[0], what.do
			for _, arg := range args[1:] {
				if what.do != room.DoContinue {
					o.Order.Names = append(o.Order.Names, arg)
				} else if _, err := fmt.Sscanf(arg, "%d", &o.Order.N); err != nil || o.Order.N < 1 {
					return project.Usage("", "%q is no number of turns", arg)
				}
			}
			return cli.Either(runF, runOrder)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runOrder(ctx context.Context, o *orderOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	v, err := p.Rooms().Order(ctx, o.Room, o.Order)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, v)
	}
	who := o.Room
	if len(o.Order.Names) > 0 {
		who = strings.Join(o.Order.Names, ", ") + " in " + o.Room
	}
	_, err = fmt.Fprintf(o.Out, "%s: %s.\n", who, o.said)
	return err
}

type listOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	JSON    bool
}

func newListCmd(d *cli.Deps, runF func(context.Context, *listOptions) error) *cobra.Command {
	o := &listOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the rooms",
		Long:    "List the rooms, the one first in which something happened last. With --json the shape is\na list of that of cmux rooms show.",
		Example: "  cmux rooms list",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runList)(cmd.Context(), o) },
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runList(ctx context.Context, o *listOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	all, err := p.Rooms().List()
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, all)
	}
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
	_, err = io.WriteString(o.Out, cli.Table([]cli.Column{{Head: "ROOM"}, {Head: "STATE", Give: 2, Least: 8}, {Head: "MEMBERS", Give: 3, Least: 8}, {Head: "TOKENS"}, {Head: "LAST", Give: 1, Least: 10}}, rows, look.Width, look.Color))
	return err
}

type roomOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Room    string
	JSON    bool
}

func newShowCmd(d *cli.Deps, runF func(context.Context, *roomOptions) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "show ROOM",
		Short: "Show how a room stands",
		Long: `Show how a room stands: its members and what they do, the round, tokens, and what waits
for you. With --json the shape is
  {"room": {"name", "label", "phase", "topic", "policy", "round", "turns", "used", "total",
   "estimate", "messages", "last", "last_by", "at", "settings", "monitor", "bad"},
   "members": [{"name", "agent", "kind", "model", "role", "mode", "guest", "state", "why",
   "until", "turn", "since", "turns", "unread", "used", "tokens"}],
   "waits": [{"what", "try", "who"}]}
where turns of the room are those of the newest round, turns of a member those that it may
still take in it, used and estimate are tokens, and tokens says whether the program counts
them.`,
		Example: "  cmux rooms show design",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runShow)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runShow(ctx context.Context, o *roomOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	v, err := p.Rooms().Show(o.Room)
	if err != nil {
		return err
	}
	return o.print(v)
}

func (o *roomOptions) print(v *rooms.View) error {
	if o.JSON {
		return cli.PrintJSON(o.Out, v)
	}
	return printRoom(o.IO, v)
}

// printRoom writes a room on one screen.
func printRoom(o *cli.IO, v *rooms.View) error {
	r := &v.Room
	fmt.Fprintf(o.Out, "%s: %s\n", r.Name, r.Label)
	if r.Topic != "" {
		fmt.Fprintf(o.Out, "Topic: %s\n", say.Line(r.Topic))
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
	if len(v.Waits) > 0 {
		fmt.Fprintln(o.Out, "\nWaits for you:")
		for _, w := range v.Waits {
			fmt.Fprintf(o.Out, "  %s\n    %s\n", say.Line(w.What), w.Try)
		}
	}
	return nil
}

func newOpenCmd(d *cli.Deps, runF func(context.Context, *roomOptions) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:     "open ROOM",
		Short:   "Start the monitor if it is not up, and show the room",
		Long:    "Start the monitor if it is not up, and show how the room stands. With --json the shape is\nthat of cmux rooms show.",
		Example: "  cmux rooms open design",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runOpen)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runOpen(ctx context.Context, o *roomOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Rooms().Show(o.Room); err != nil {
		return err
	}
	if err := p.Rooms().Up(ctx); err != nil {
		return err
	}
	v, err := p.Rooms().Show(o.Room)
	if err != nil {
		return err
	}
	return o.print(v)
}

type costOptions struct {
	roomOptions
	Text, To string
}

func newCostCmd(d *cli.Deps, runF func(context.Context, *costOptions) error) *cobra.Command {
	o := &costOptions{roomOptions: roomOptions{IO: &d.IO, Project: d.Project}}
	cmd := &cobra.Command{
		Use:   "cost ROOM [TEXT]",
		Short: "Estimate what a message would use, before you send it",
		Long: `Estimate what a message would use: whom it wakes, and how many tokens, without those read
from a cache: at least for the turns that begin by it, at most until its round ends. With
--json the shape is {"wakes", "least", "most"}.`,
		Example: "  cmux rooms cost design '@codex is that so?'",
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Room = args[0]; len(args) > 1 {
				o.Text = args[1]
			}
			return cli.Either(runF, runCost)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cmd.Flags().StringVar(&o.To, "to", "", "`NAME` of the member that it would be for alone")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runCost(ctx context.Context, o *costOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	c, err := p.Rooms().Cost(o.Room, o.To, o.Text)
	if err != nil {
		return err
	}
	if o.JSON {
		return cli.PrintJSON(o.Out, c)
	}
	_, err = fmt.Fprintln(o.Out, costText(c))
	return err
}

func costText(c room.Cost) string {
	if len(c.Wakes) == 0 {
		return "It wakes nobody, and uses nothing."
	}
	return fmt.Sprintf("It wakes %s: at least %s tokens, at most %s until the round ends.", strings.Join(c.Wakes, ", "), say.Short(c.Least), say.Short(c.Most))
}

func newPromptCmd(d *cli.Deps, runF func(context.Context, *roomOptions, string) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	return &cobra.Command{
		Use:     "prompt ROOM TURN",
		Short:   "Show what a turn gave its member",
		Example: "  cmux rooms prompt design t3",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			if runF != nil {
				return runF(cmd.Context(), o, args[1])
			}
			p, err := o.Project(cmd.Context())
			if err != nil {
				return err
			}
			text, err := p.Rooms().Prompt(o.Room, args[1])
			if err != nil {
				return err
			}
			_, err = io.WriteString(o.Out, text)
			return err
		},
		ValidArgsFunction: d.CompleteRoom,
	}
}

type parseOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	Room    string
	JSON    bool
}

// parsed is the shape of cmux rooms parse --json.
type parsed struct {
	Pass       bool           `json:"pass"`
	Shared     string         `json:"shared"`
	Aside      string         `json:"aside"`
	Mentions   []string       `json:"mentions"`
	Agreements []string       `json:"agreements"`
	Handoffs   []marks.Handed `json:"handoffs"`
	Statuses   []string       `json:"statuses"`
}

func newParseCmd(d *cli.Deps, runF func(context.Context, *parseOptions) error) *cobra.Command {
	o := &parseOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "parse",
		Short: "Show which marks cmux finds in a text",
		Long: `Read a text from standard input, and show which marks cmux finds in it, as if it were an
answer. With --room only names of that room's members count. With --json the shape is
  {"pass", "shared", "aside", "mentions", "agreements", "handoffs": [{"agent", "context"}],
   "statuses"}
where each is as it was written.`,
		Example: "  echo '+1 codex [DECISION] SQLite.' | cmux rooms parse --room design",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cli.Either(runF, runParse)(cmd.Context(), o) },
	}
	cmd.Flags().StringVar(&o.Room, "room", "", "`ROOM` whose members count")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runParse(ctx context.Context, o *parseOptions) error {
	var names []string
	tagged := false
	if o.Room != "" {
		p, err := o.Project(ctx)
		if err != nil {
			return err
		}
		lines, _, err := p.Rooms().Lines(o.Room)
		if err != nil {
			return err
		}
		s := room.Fold(o.Room, lines)
		names, tagged = s.Names(), s.Settings.Tagged
	}
	text, err := io.ReadAll(io.LimitReader(o.In, 1<<20))
	if err != nil {
		return err
	}
	a := marks.Read(string(text), names, tagged)
	out := parsed{Pass: a.Pass, Shared: a.Shared, Aside: a.Aside, Mentions: orNone(a.Mentions()), Agreements: orNone(a.Agreements()), Handoffs: orNone(a.Handoffs()), Statuses: orNone(a.Statuses())}
	if o.JSON {
		return cli.PrintJSON(o.Out, out)
	}
	row := func(what, text string) {
		if text != "" {
			fmt.Fprintf(o.Out, "%-12s %s\n", what, text)
		}
	}
	if out.Pass {
		row("pass", "it has nothing new for the others")
	}
	row("shared", say.Line(out.Shared))
	row("aside", say.Line(out.Aside))
	row("mentions", strings.Join(out.Mentions, ", "))
	row("agrees with", strings.Join(out.Agreements, ", "))
	for _, h := range out.Handoffs {
		row("hands off", h.Agent+": "+h.Context)
	}
	row("statuses", strings.Join(out.Statuses, ", "))
	return nil
}

func orNone[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

func newCheckCmd(d *cli.Deps, runF func(context.Context, *roomOptions) error) *cobra.Command {
	o := &roomOptions{IO: &d.IO, Project: d.Project}
	cmd := &cobra.Command{
		Use:   "check ROOM",
		Short: "Check a room's file against the rules of rooms",
		Long: `Check a room's file: each message reached each member once, no turn was given or answered
twice, and the other rules that docs/room.md lists. The exit code is 1 if one is
broken, or if lines do not count.
With --json the shape is {"lines", "broken": [{"rule", "line", "what"}], "bad": [text]}
where bad are lines that cmux did not write.`,
		Example: "  cmux rooms check design",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runCheck)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runCheck(ctx context.Context, o *roomOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	broken, bad, n, err := p.Rooms().Check(o.Room)
	if err != nil {
		return err
	}
	texts := []string{}
	for _, b := range bad {
		texts = append(texts, b.String())
	}
	if o.JSON {
		if err := cli.PrintJSON(o.Out, map[string]any{"lines": n, "broken": orNone(broken), "bad": texts}); err != nil {
			return err
		}
	} else {
		for _, b := range broken {
			fmt.Fprintln(o.Out, b)
		}
		for _, t := range texts {
			fmt.Fprintf(o.Out, "does not count: %s\n", t)
		}
		if len(broken) == 0 {
			fmt.Fprintf(o.Out, "%s: all rules hold in %s.\n", o.Room, say.Count(n, "line"))
		}
		if len(bad) > 0 {
			fmt.Fprintf(o.Out, "%s: %s of the file do not count: they were not written by cmux, or a line before them is missing.\n", o.Room, say.Count(len(bad), "line"))
		}
	}
	if len(broken)+len(bad) > 0 {
		return cli.ExitStatus(1)
	}
	return nil
}

type waitOptions struct {
	roomOptions
	Timeout time.Duration
}

func newWaitCmd(d *cli.Deps, runF func(context.Context, *waitOptions) error) *cobra.Command {
	o := &waitOptions{roomOptions: roomOptions{IO: &d.IO, Project: d.Project}}
	cmd := &cobra.Command{
		Use:   "wait ROOM",
		Short: "Wait until a room has come to rest, and print what was said",
		Long: `Wait until a room has come to rest, and print what was said in its round. The exit code is
0 if it has settled, 3 if its turns or tokens were used up, it was cancelled or a turn
failed, and 124 after --timeout.`,
		Example: "  cmux rooms wait design --timeout 10m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runWait)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 0, "give up after this long, `DURATION` (0: never)")
	return cmd
}

func runWait(ctx context.Context, o *waitOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	lines, _, err := p.Rooms().Lines(o.Room)
	if err != nil {
		return err
	}
	from := int64(0)
	for i := range lines {
		if lines[i].Kind == room.KindRound && lines[i].State == room.Began {
			from = lines[i].N
		}
	}
	return await(ctx, o.IO, p.Rooms(), o.Room, 0, from, o.Timeout)
}

// await waits for the room, and prints what was said from line from on.
func await(ctx context.Context, o *cli.IO, p *rooms.Rooms, name string, message, from int64, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	_, err := p.Await(ctx, name, message)
	all, _, lerr := p.Lines(name)
	if lerr != nil {
		return lerr
	}
	i := slices.IndexFunc(all, func(l room.Line) bool { return l.N > from })
	if i >= 0 {
		printer{o, name, false}.lines(all[i:])
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Fprintf(o.Err, "cmux: the room has not come to rest within %v\n", timeout)
		return cli.ExitStatus(124)
	case errors.Is(err, rooms.ErrCapped):
		fmt.Fprintf(o.Err, "cmux: %v\n", err)
		return cli.ExitStatus(3)
	}
	return err
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
		fmt.Fprintf(p.Out, "  -- decided: %s\n", l.Text)
	}
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+by)
}

type logOptions struct {
	roomOptions
	Follow, All bool
}

func newLogCmd(d *cli.Deps, runF func(context.Context, *logOptions) error) *cobra.Command {
	o := &logOptions{roomOptions: roomOptions{IO: &d.IO, Project: d.Project}}
	cmd := &cobra.Command{
		Use:   "log ROOM",
		Short: "Print what was said and done in a room",
		Long: `Print what was said in a room, with --all also what cmux did. With --json each line is a
fact of the room, as its file has it.`,
		Example: "  cmux rooms log design -f",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Room = args[0]
			return cli.Either(runF, runLog)(cmd.Context(), o)
		},
		ValidArgsFunction: d.CompleteRoom,
	}
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "print what comes, too")
	cmd.Flags().BoolVar(&o.All, "all", false, "also turns, rounds and who joined")
	cli.JSONFlag(cmd, &o.JSON)
	return cmd
}

func runLog(ctx context.Context, o *logOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	show := func(lines []room.Line) error {
		if !o.JSON {
			printer{o.IO, o.Room, o.All}.lines(lines)
			return nil
		}
		for i := range lines {
			if err := cli.PrintLine(o.Out, &lines[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Follow {
		if err := p.Rooms().Follow(ctx, o.Room, 0, show); ctx.Err() == nil {
			return err
		}
		return nil
	}
	lines, _, err := p.Rooms().Lines(o.Room)
	if err != nil {
		return err
	}
	return show(lines)
}
