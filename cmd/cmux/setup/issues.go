package setup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cmux/agents/control"
	"cmux/agents/control/draft"
	"cmux/agents/control/project"
	"cmux/dag"
	"cmux/worktree/hint"
)

// fromIssues makes an agent of each issue in list. It tries all issues and
// returns their errors together.
func (o *initOptions) fromIssues(ctx context.Context, p *control.Project) ([]draft.Node, error) {
	if o.Kind == "" {
		o.Kind = "claude"
		fmt.Fprintln(o.Err, "No agent program was found: the agents are written for claude, which has to be installed (cmux doctor).")
	}
	if o.Kind == dag.KindCommand {
		return nil, project.Usage("--kind claude", "an issue's text is no shell command")
	}
	var numbers []string
	seen := map[string]bool{}
	for _, s := range draft.List(o.issues) {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, "#"), 10, 32)
		if err != nil || n == 0 {
			return nil, project.Usage("cmux agents init --from-issues 12,15", "--from-issues: %q is not the number of an issue", s)
		}
		if number := strconv.FormatUint(n, 10); !seen[number] {
			seen[number] = true
			numbers = append(numbers, number)
		}
	}
	if len(numbers) == 0 {
		return nil, project.Usage("cmux agents init --from-issues 12,15", "--from-issues names no issue")
	}
	github := draft.GitHub{Root: p.Root, Env: p.CleanEnv()}
	var (
		all  []draft.Node
		errs []error
	)
	for _, n := range numbers {
		i, err := github.Read(ctx, n)
		var general *hint.Error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &general): // the others would meet it too
			return nil, err
		case err != nil:
			errs = append(errs, err)
		default:
			all = append(all, i.Node())
		}
	}
	if len(errs) > 0 {
		return nil, hint.New(errors.Join(errs...), "leave them out of --from-issues; nothing was written")
	}
	return all, nil
}
