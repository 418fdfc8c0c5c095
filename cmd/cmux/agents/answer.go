package agents

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cmux/agents/control/commands"
	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/cmd/cmux/cli"
)

type answerOptions struct {
	*cli.IO
	Project cli.ProjectFunc
	commands.Answer
	launch  launchFunc
	NoStart bool
	Ask     bool // show the question first, and ask for the text
}

func newAnswerCmd(d *cli.Deps, runF func(context.Context, *answerOptions) error) *cobra.Command {
	o := &answerOptions{IO: &d.IO, Project: d.Project, launch: launcher(d)}
	cmd := &cobra.Command{
		Use:   "answer NAME [TEXT]",
		Short: "Answer an agent that needs input",
		Long: `Answer an agent that needs input. To choose an option, give its number. If the
agent asks whether it may do something, answer yes, or no and the reason. To
answer several questions, give one line for each. Without TEXT, show the
question, and on a terminal ask for the answer. An agent that asks nothing reads
TEXT when its turn ends. The command prints the result: answered,
allowed or refused with the question, told, or not read yet and what it waits for.
Words other than yes and no refuse what the agent asks for, and the agent reads
them. An answer that may be a yes or a no, such as "ok but", is not sent.`,
		Example:           "  cmux agents answer api 'Use the second schema.'",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: d.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Node, o.Text, o.Ask = args[0], strings.Join(args[1:], " "), len(args) == 1
			return cli.Either(runF, runAnswer)(cmd.Context(), o)
		},
	}
	noStart(cmd, &o.NoStart)
	return cmd
}

func runAnswer(ctx context.Context, o *answerOptions) error {
	p, err := o.Project(ctx)
	if err != nil {
		return err
	}
	if o.Ask {
		q, err := p.Commands().Question(ctx, o.Node)
		if err != nil {
			return err
		}
		if o.Text, err = o.put(ctx, q); err != nil {
			return err
		}
	}
	p.Start = !o.NoStart
	res, err := p.Commands().Answer(ctx, o.Answer)
	if err != nil {
		return err
	}
	if err := o.TellTaken(o.Node, res.Word(), res.Taken); err != nil {
		return err
	}
	return o.launch.goOn(ctx, res.Taken)
}

// put shows a person what an agent asks and returns what they answer.
func (o *answerOptions) put(ctx context.Context, q *commands.Question) (string, error) {
	if _, err := fmt.Fprintf(o.Out, "%s asks, since %s:\n\n%s\n\n", q.Node, say.Span(q.Age), say.Lines(q.Text)); err != nil {
		return "", err
	}
	if !cli.IsTerminal(o.In) {
		return "", project.Usage("cmux agents answer "+q.Node+" TEXT", "there is no terminal to ask on")
	}
	var lines []string
	for k := range q.Parts {
		prompt := "Answer (empty: none): "
		if len(q.Parts) > 1 {
			prompt = fmt.Sprintf("Answer to %d of %d (empty: none): ", k+1, len(q.Parts))
		}
		line, _, err := o.AskLine(ctx, prompt)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) == "" {
			fmt.Fprintln(o.Err, "Nothing was answered.")
			return "", cli.Silent(cli.ErrDeclined)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}
