package rooms

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cmux/agents/control/project"
	"cmux/agents/control/rooms"
	"cmux/agents/room"
	"cmux/agents/room/book"
	"cmux/cmd/cmux/cli"
)

func newSayCmd(d *cli.Deps) *cobra.Command {
	var text rooms.Say
	wait, yes, timeout := false, false, time.Duration(0)
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "say ROOM TEXT",
		Short: "Say something in a room",
		Long: `Say something in a room, and print its number. With - the text is read from standard
input. @NAME wakes that member, @all everybody. A message with the same --key is said
once. --wait waits until the room has come to rest and prints what was said; the exit code
is then that of cmux rooms wait. Agents that were invited speak by this command too.
--attach gives a copy of a file to each member that the message is for: at most 10 files
of 10 MB each, and 100 MB in a room. Only a person attaches files.
With --json the shape is {"room", "message", "wakes", "note"}.`,
		Example: "  cmux rooms say design '@codex is that so?' --wait\n  git diff | cmux rooms say design - --to claude\n  cmux rooms say design 'What is wrong in it?' --attach error.log",
		Args:    cobra.ExactArgs(2),
	}, true, func(ctx context.Context, c *call) error {
		if text.Text = c.args[0]; text.Text == "-" {
			b, err := io.ReadAll(io.LimitReader(c.In, 2*book.MaxText))
			if err != nil {
				return err
			}
			text.Text = string(b)
		}
		cost, err := c.rooms.Cost(c.room, text.To, text.Text)
		if err != nil {
			return err
		}
		if err := c.confirmCost(ctx, cost, yes, "Send it?"); err != nil {
			return err
		}
		said, err := c.rooms.Say(ctx, c.room, text)
		return answer(c, said, err, func(*rooms.Said) error {
			if said.Note != "" {
				c.remark(said.Note)
			}
			if wait {
				return c.await(ctx, said.Message, said.Message, timeout)
			}
			return c.say("%s#%d", c.room, said.Message)
		})
	})
	f := cmd.Flags()
	f.StringVar(&text.To, "to", "", "`NAME` of the member that it is for alone")
	f.BoolVar(&text.Interrupt, "interrupt", false, "interrupt the turns of those whom it wakes")
	f.BoolVar(&text.Resume, "resume", false, "resume the room if it is paused")
	f.StringVar(&text.Key, "key", "", "your own id of the message, `KEY`")
	f.StringArrayVar(&text.Attach, "attach", nil, "attach this `FILE`; may be repeated")
	f.BoolVar(&text.NoStart, "no-start", false, "do not start the monitor")
	f.BoolVar(&wait, "wait", false, "wait until the room has come to rest, and print what was said")
	f.DurationVar(&timeout, "timeout", 0, "with --wait: give up after this long, `DURATION` (0: never)")
	f.BoolVar(&yes, "yes", false, "do not ask where it uses many tokens")
	cmd.MarkFlagsMutuallyExclusive("wait", "json")
	return cmd
}

// confirmCost asks the person about what uses many tokens.
func (c *call) confirmCost(ctx context.Context, cost room.Cost, yes bool, question string) error {
	config, err := c.rooms.Config()
	if err != nil || config.Confirm == 0 || cost.Least <= config.Confirm || !cli.IsTerminal(c.In) {
		return err
	}
	return c.Confirm(ctx, yes, costText(cost)+" "+question)
}

func newAnswerCmd(d *cli.Deps) *cobra.Command {
	return aboutRoom(d, &cobra.Command{
		Use:     "answer ROOM NAME TEXT",
		Short:   "Answer what a member, or its program, asks you",
		Example: "  cmux rooms answer design codex yes",
		Args:    cobra.ExactArgs(3),
	}, false, func(ctx context.Context, c *call) error {
		a, err := c.rooms.Answer(ctx, c.room, c.args[0], c.args[1])
		if err != nil {
			return err
		}
		return c.TellTaken(c.args[0], "answered", a.Taken)
	})
}

func newTailCmd(d *cli.Deps) *cobra.Command {
	most := 0
	cmd := aboutRoom(d, &cobra.Command{
		Use:   "tail ROOM",
		Short: "Talk in a room in this terminal",
		Long: `Show a room as it goes on, and say in it what you type: a line is a message. A line that
begins with / is an order: /pause, /resume, /stop [NAME], /cancel, /continue, /skip NAME,
/wake NAME, /to NAME TEXT, /cost, /show, /quit.`,
		Example: "  cmux rooms tail design",
		Args:    cobra.ExactArgs(1),
	}, false, func(ctx context.Context, c *call) error { return c.tail(ctx, most) })
	cmd.Flags().IntVarP(&most, "lines", "n", 20, "how many lines of what was said before to show, `N`")
	return cmd
}

func (c *call) tail(ctx context.Context, most int) error {
	lines, _, err := c.rooms.Lines(c.room)
	if err != nil {
		return err
	}
	if err := c.rooms.Up(ctx); err != nil {
		return err
	}
	c.tailed = "tail-" + rand.Text() + "-"
	show := printer{c.IO, c.room, false}
	before := lines
	if said := slices.DeleteFunc(slices.Clone(lines), func(l room.Line) bool { return l.Kind != room.KindSaid }); len(said) > most {
		from := said[len(said)-most].N
		before = lines[slices.IndexFunc(lines, func(l room.Line) bool { return l.N >= from }):]
	}
	show.lines(before)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		over <- c.rooms.Follow(ctx, c.room, lines[len(lines)-1].N, func(more []room.Line) error {
			for i := range more {
				if c.here(&more[i]) && c.Interactive() {
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
		in := bufio.NewScanner(c.In)
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
			<-over
			return nil
		case line, ok := <-typed:
			if !ok || strings.TrimSpace(line) == "/quit" {
				cancel()
				<-over
				return nil
			}
			if err := c.typed(ctx, line); err != nil {
				c.remark(err.Error())
			}
		}
	}
}

// here reports whether a line was typed in this terminal: it stands there.
func (c *call) here(l *room.Line) bool {
	return l.By == room.User && (strings.HasPrefix(l.Key, c.tailed) || strings.HasPrefix(l.ID, c.tailed))
}

// typed carries out a line that was typed.
func (c *call) typed(ctx context.Context, line string) error {
	text := rooms.Say{Text: strings.TrimSpace(line), Key: c.tailed + rand.Text()}
	if text.Text == "" {
		return nil
	}
	if order, is := strings.CutPrefix(line, "/"); is {
		words := strings.Fields(order)
		switch word := cli.First(words); word {
		case "show":
			v, err := c.rooms.Show(c.room)
			if err != nil {
				return err
			}
			return c.printRoom(v)
		case "cost":
			cost, err := c.rooms.Cost(c.room, "", strings.Join(words[1:], " "))
			if err != nil {
				return err
			}
			return c.say("%s", costText(cost))
		case "to":
			_, rest, _ := strings.Cut(order, " ")
			text.To, text.Text, _ = strings.Cut(strings.TrimSpace(rest), " ")
		default:
			return c.ordered(ctx, words)
		}
	}
	said, err := c.rooms.Say(ctx, c.room, text)
	if err == nil && said.Note != "" {
		c.remark(said.Note)
	}
	return err
}

// ordered gives an order that was typed, as at the command line but without the room.
func (c *call) ordered(ctx context.Context, words []string) error {
	all := orders()
	i := slices.IndexFunc(all, func(o order) bool { return o.word() == cli.First(words) })
	if i < 0 {
		return project.Usage("", "there is no order /%s; a line that begins with a blank and / is a message", cli.First(words))
	}
	do, err := all[i].given(words[1:])
	if err != nil {
		return err
	}
	idle, err := c.rooms.Idle(c.room, do)
	if err != nil {
		return err
	}
	if idle != "" {
		c.remark(idle)
	}
	do.ID = c.tailed + rand.Text()
	_, err = c.rooms.Order(ctx, c.room, do)
	return err
}
