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

	"cmux/agents/control"
	"cmux/agents/control/rooms"
	"cmux/agents/platform/say"
	"cmux/agents/room"
	"cmux/agents/room/marks"
	"cmux/cmd/cmux/cli"
)

func newListCmd(d *cli.Deps) *cobra.Command {
	asJSON, search := false, ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rooms",
		Long: `List the rooms, the one first in which something happened last. --search lists those whose
name, topic, label, policy, last words or members contain every word of a text. With --json
the shape is a list of that of cmux rooms show.`,
		Example: "  cmux rooms list\n  cmux rooms list --search 'sessions codex'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			there := 0
			_, all, done, err := cli.Asked(cmd.Context(), &d.IO, d.Project, asJSON, func(p *control.Project) ([]rooms.View, error) {
				all, err := p.Rooms().List()
				there = len(all)
				return rooms.Find(all, search), err
			})
			if done {
				return err
			}
			if len(all) == 0 && there > 0 {
				_, err := fmt.Fprintf(d.Out, "None of %s matches %q.\n", say.Count(there, "room"), search)
				return err
			}
			return printList(&d.IO, all)
		},
	}
	cmd.Flags().StringVar(&search, "search", "", "only rooms that contain every word of `TEXT`")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

func newShowCmd(d *cli.Deps) *cobra.Command {
	settings := false
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "show ROOM",
		Short: "Show how a room stands",
		Long: `Show how a room stands: its members and what they do, the round, tokens, and what waits
for you. With --json the shape is
  {"room": {"name", "label", "phase", "topic", "policy", "round", "turns", "used", "total",
   "estimate", "messages", "last", "last_by", "at", "settings", "defaults", "monitor", "bad",
   "proposals"},
   "members": [{"name", "agent", "kind", "model", "role", "mode", "guest", "state", "why",
   "until", "turn", "since", "turns", "unread", "used", "tokens"}],
   "waits": [{"what", "try", "who", "way", "do", "holds", "since"}]}
where turns of the room are those of the newest round, turns of a member those that it may
still take in it, used and estimate are tokens, tokens says whether the program counts them,
defaults are the settings of a new room, way is order, answer, terminal, decision or command,
and holds says that something goes on only when you do it.

--settings lists the settings instead: each with its value and where it comes from, which is
room (it differs from what a new room has), config.yml or built-in; then cmux rooms set ROOM
KEY= takes a room's own value back. With --json the shape is
  [{"key", "value", "from", "inherited", "inherited_from"}]
where inherited is what the room has without a value of its own.`,
		Example: "  cmux rooms show design\n  cmux rooms show design --settings",
		Args:    cobra.ExactArgs(1),
	}, true, func(_ context.Context, c *call) error {
		if settings {
			all, err := rooms.Settings(c.rooms, c.room)
			return answer(c, all, err, c.printSettings)
		}
		v, err := c.rooms.Show(c.room)
		return answer(c, v, err, c.printRoom)
	})
	cmd.Flags().BoolVar(&settings, "settings", false, "list the settings, with what is inherited")
	return cmd
}

func newOpenCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:     "open ROOM",
		Short:   "Start the monitor if it is not up, and show the room",
		Long:    "Start the monitor if it is not up, and show how the room stands, with the link to its page\nwhile there is a server. With --json the shape is that of cmux rooms show.",
		Example: "  cmux rooms open design",
		Args:    cobra.ExactArgs(1),
	}, true, func(ctx context.Context, c *call) error {
		if _, err := c.rooms.Show(c.room); err != nil {
			return err
		}
		if err := c.rooms.Up(ctx); err != nil {
			return err
		}
		v, err := c.rooms.Show(c.room)
		return answer(c, v, err, func(v *rooms.View) error {
			at := c.server()
			if err := c.printRoom(v); err != nil || !at.Up {
				return err
			}
			return c.say("Its page: %s/rooms/%s", strings.TrimSuffix(at.URL, "/"), c.room)
		})
	})
}

func newCostCmd(d *cli.Deps) *cobra.Command {
	to := ""
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "cost ROOM [TEXT]",
		Short: "Estimate what a message would use, before you send it",
		Long: `Estimate what a message would use: whom it wakes, and how many tokens, without those read
from a cache: at least for the turns that begin by it, at most until its round ends. With
--json the shape is {"wakes", "least", "most"}.`,
		Example: "  cmux rooms cost design '@codex is that so?'",
		Args:    cobra.RangeArgs(1, 2),
	}, true, func(_ context.Context, c *call) error {
		cost, err := c.rooms.Cost(c.room, to, cli.First(c.args))
		return answer(c, cost, err, func(room.Cost) error { return c.say("%s", costText(cost)) })
	})
	cmd.Flags().StringVar(&to, "to", "", "`NAME` of the member that it would be for alone")
	return cmd
}

func newPromptCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:   "prompt ROOM TURN",
		Short: "Show what a turn gave its member",
		Long: `Show what a turn gave its member, as its program got it. With --json the shape is
{"room", "turn", "member", "text", "sent"} where sent is false for a prompt that was put
together again from the room's file, because the member's events do not hold it.`,
		Example: "  cmux rooms prompt design t3",
		Args:    cobra.ExactArgs(2),
	}, true, func(_ context.Context, c *call) error {
		prompt, err := c.rooms.Prompt(c.room, c.args[0])
		return answer(c, prompt, err, func(p *rooms.Prompt) error {
			_, err := io.WriteString(c.Out, p.Text)
			return err
		})
	})
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

func newParseCmd(d *cli.Deps) *cobra.Command {
	asJSON, of := false, ""
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, tagged, err := membersOf(cmd.Context(), d, of)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(io.LimitReader(d.In, 1<<20))
			if err != nil {
				return err
			}
			return printParsed(&d.IO, marks.Read(string(text), names, tagged), asJSON)
		},
	}
	cmd.Flags().StringVar(&of, "room", "", "`ROOM` whose members count")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// membersOf are the names of a room, and whether it shares only what is tagged; of no room
// nil, so that any name counts.
func membersOf(ctx context.Context, d *cli.Deps, name string) (names []string, tagged bool, err error) {
	if name == "" {
		return nil, false, nil
	}
	p, err := d.Project(ctx)
	if err != nil {
		return nil, false, err
	}
	lines, _, err := p.Rooms().Lines(name)
	if err != nil {
		return nil, false, err
	}
	s := room.Fold(name, lines)
	return s.Names(), s.Settings.Tagged, nil
}

func printParsed(o *cli.IO, a marks.Answer, asJSON bool) error {
	out := parsed{Pass: a.Pass, Shared: a.Shared, Aside: a.Aside, Mentions: orNone(a.Mentions()), Agreements: orNone(a.Agreements()), Handoffs: orNone(a.Handoffs()), Statuses: orNone(a.Statuses())}
	if asJSON {
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

func newCheckCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:   "check ROOM",
		Short: "Check a room's file against the rules of rooms",
		Long: `Check a room's file: each message reached each member once, no turn was given or answered
twice, and the other rules that docs/room.md lists. The exit code is 1 if one is
broken, or if lines do not count.
With --json the shape is {"lines", "broken": [{"rule", "line", "what"}], "bad": [text]}
where bad are lines that cmux did not write.`,
		Example: "  cmux rooms check design",
		Args:    cobra.ExactArgs(1),
	}, true, runCheck)
}

func runCheck(_ context.Context, o *call) error {
	broken, bad, n, err := o.rooms.Check(o.room)
	if err != nil {
		return err
	}
	texts := []string{}
	for _, b := range bad {
		texts = append(texts, b.String())
	}
	if o.json {
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
			fmt.Fprintf(o.Out, "%s: all rules hold in %s.\n", o.room, say.Count(n, "line"))
		}
		if len(bad) > 0 {
			fmt.Fprintf(o.Out, "%s: %s of the file do not count: they were not written by cmux, or a line before them is missing.\n", o.room, say.Count(len(bad), "line"))
		}
	}
	if len(broken)+len(bad) > 0 {
		return cli.ExitStatus(1)
	}
	return nil
}

func newWaitCmd(d *cli.Deps) *cobra.Command {
	timeout := time.Duration(0)
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "wait ROOM",
		Short: "Wait until a room has come to rest, and print what was said",
		Long: `Wait until a room has come to rest, and print what was said in its round. The exit code is
0 if it has settled, 3 if its turns or tokens were used up, it was cancelled, a turn failed
or the room is paused with messages left, and 124 after --timeout.`,
		Example: "  cmux rooms wait design --timeout 10m",
		Args:    cobra.ExactArgs(1),
	}, false, func(ctx context.Context, c *call) error {
		lines, _, err := c.rooms.Lines(c.room)
		if err != nil {
			return err
		}
		from := int64(0)
		for i := range lines {
			if lines[i].Kind == room.KindRound && lines[i].State == room.Began {
				from = lines[i].N
			}
		}
		return c.await(ctx, 0, from, timeout)
	})
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this long, `DURATION` (0: never)")
	return cmd
}

// await waits for the room, and prints what was said from line from on.
func (c *call) await(ctx context.Context, message, from int64, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	_, err := c.rooms.Await(ctx, c.room, message)
	all, _, lerr := c.rooms.Lines(c.room)
	if lerr != nil {
		return lerr
	}
	i := slices.IndexFunc(all, func(l room.Line) bool { return l.N > from })
	if i >= 0 {
		printer{c.IO, c.room, false}.lines(all[i:])
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		fmt.Fprintf(c.Err, "cmux: the room has not come to rest within %v\n", timeout)
		return cli.ExitStatus(124)
	case errors.Is(err, rooms.ErrCapped), errors.Is(err, rooms.ErrPaused):
		fmt.Fprintf(c.Err, "cmux: %v\n", err)
		return cli.ExitStatus(3)
	}
	return err
}

func newLogCmd(d *cli.Deps) *cobra.Command {
	follow, all := false, false
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "log ROOM",
		Short: "Print what was said and done in a room",
		Long: `Print what was said in a room, with --all also what cmux did. With --json each line is a
fact of the room, as its file has it.`,
		Example: "  cmux rooms log design -f",
		Args:    cobra.ExactArgs(1),
	}, true, func(ctx context.Context, c *call) error {
		show := func(lines []room.Line) error {
			if !c.json {
				printer{c.IO, c.room, all}.lines(lines)
				return nil
			}
			return c.printLines(lines)
		}
		if follow {
			if err := c.rooms.Follow(ctx, c.room, 0, show); ctx.Err() == nil {
				return err
			}
			return nil
		}
		lines, _, err := c.rooms.Lines(c.room)
		if err != nil {
			return err
		}
		return show(lines)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print what comes, too")
	cmd.Flags().BoolVar(&all, "all", false, "also turns, rounds and who joined")
	return cmd
}

// printLines prints facts of the room, one a line.
func (c *call) printLines(lines []room.Line) error {
	for i := range lines {
		if err := cli.PrintLine(c.Out, &lines[i]); err != nil {
			return err
		}
	}
	return nil
}

func newExportCmd(d *cli.Deps) *cobra.Command {
	format := ""
	cmd := aboutRoom(d, &cobra.Command{
		Use:     "export ROOM",
		Short:   "Write a room as Markdown or JSON",
		Long:    "Write a room as Markdown, or with --format json as its facts, a line each.",
		Example: "  cmux rooms export design > design.md",
		Args:    cobra.ExactArgs(1),
	}, false, func(_ context.Context, c *call) error {
		text, err := c.rooms.Export(c.room, rooms.Format(format))
		if err == nil {
			_, err = io.WriteString(c.Out, text)
		}
		return err
	})
	cmd.Flags().StringVar(&format, "format", string(rooms.Markdown), "md or json")
	return cmd
}
