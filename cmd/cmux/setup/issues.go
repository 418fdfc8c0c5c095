package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"unicode"

	"cmux/agents/control"
	"cmux/agents/control/project"
	"cmux/agents/kinds/agent"
	"cmux/agents/platform/say"
	"cmux/dag"
	"cmux/worktree/hint"
)

// issue is an issue as gh shows it.
type issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	State  string `json:"state"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

// fromIssues makes an agent of each issue in list. It tries all issues and
// returns their errors together.
func (o *initOptions) fromIssues(ctx context.Context, p *control.Project) ([]agentAnswer, error) {
	if o.Kind == "" {
		o.Kind = "claude"
		fmt.Fprintln(o.Err, "No agent program was found: the agents are written for claude, which has to be installed (cmux doctor).")
	}
	if o.Kind == dag.KindCommand {
		return nil, project.Usage("--kind claude", "an issue's text is no shell command")
	}
	var numbers []string
	seen := map[string]bool{}
	for _, s := range commaList(o.issues) {
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
	gh, err := agent.LookPath("gh", o.Env)
	if err != nil {
		return nil, hint.New(errors.New("issues are read with gh, the GitHub command line, which is not installed"), "install gh, then gh auth login")
	}
	var (
		all  []agentAnswer
		errs []error
	)
	for _, n := range numbers {
		i, err := readIssue(ctx, p, gh, n)
		var general *hint.Error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &general): // the others would meet it too
			return nil, err
		case err != nil:
			errs = append(errs, err)
		default:
			all = append(all, i.agent())
		}
	}
	if len(errs) > 0 {
		return nil, hint.New(errors.Join(errs...), "leave them out of --from-issues; nothing was written")
	}
	return all, nil
}

// readIssue reads one issue. A Hint stands for what is wrong with all of them.
func readIssue(ctx context.Context, p *control.Project, gh, number string) (*issue, error) {
	cmd := exec.CommandContext(ctx, gh, "issue", "view", number, "--json", "number,title,body,url,labels,state")
	cmd.Dir, cmd.Env = p.Root, append(p.CleanEnv(), "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, ghError(number, strings.TrimSpace(stderr.String()), err)
	}
	i := new(issue)
	if err := json.Unmarshal(stdout.Bytes(), i); err != nil {
		return nil, fmt.Errorf("issue #%s: gh gave no JSON: %w", number, err)
	}
	switch {
	case strings.Contains(i.URL, "/pull/"):
		return nil, fmt.Errorf("#%s is a pull request, no issue", number)
	case !strings.EqualFold(i.State, "open"):
		return nil, fmt.Errorf("issue #%s is closed: %s", number, say.Line(i.Title))
	case i.Number < 1 || strings.TrimSpace(i.Title) == "":
		return nil, fmt.Errorf("issue #%s: gh gave neither number nor title", number)
	}
	return i, nil
}

// ghError is what gh said, and the way out.
func ghError(number, said string, err error) error {
	if said == "" {
		said = err.Error()
	}
	has := func(part string) bool { return strings.Contains(strings.ToLower(said), part) }
	hint := func(what, try string) error {
		return hint.New(fmt.Errorf("%s (gh: %s)", what, say.Line(said)), try)
	}
	var exit *exec.ExitError
	switch {
	case has("no git remotes") || has("git remotes configured for this repository"):
		return hint("the repository has no remote that gh knows, so its issues cannot be read", "git remote add origin URL, or gh repo set-default")
	case errors.As(err, &exit) && exit.ExitCode() == 4, has("gh auth login"), has("bad credentials"), has("http 401"):
		return hint("gh is not logged in", "gh auth login")
	case has("could not resolve to an issue"), has("http 404"), has("not found"):
		return fmt.Errorf("there is no issue #%s (gh: %s)", number, say.Line(said))
	}
	return hint("issue #"+number+" could not be read", "gh issue view "+number)
}

// agent is the node for the issue.
func (i *issue) agent() agentAnswer {
	parts := []string{i.Title}
	if body := tidy(i.Body); body != "" {
		parts = append(parts, body)
	}
	last := fmt.Sprintf("Issue #%d: %s", i.Number, i.URL)
	if len(i.Labels) > 0 {
		names := make([]string, len(i.Labels))
		for k, l := range i.Labels {
			names[k] = l.Name
		}
		last += "\nLabels: " + strings.Join(names, ", ")
	}
	parts[0], last = say.Line(parts[0]), tidy(last)
	return agentAnswer{Name: i.name(), Task: strings.Join(append(parts, last), "\n\n") + "\n"}
}

// maxSlug bounds what a name holds of a title.
const maxSlug = 32

// name is the node's: the number, which makes it the only one, and what the
// title has of letters and digits.
func (i *issue) name() string {
	slug := slug(i.Title, 0)
	if slug == "" {
		return fmt.Sprintf("issue-%d", i.Number)
	}
	return fmt.Sprintf("%d-%s", i.Number, slug)
}

// slug is what the first words of a text have of letters and digits, of all its
// words with 0.
func slug(text string, words int) string {
	parts := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if words > 0 && len(parts) > words {
		parts = parts[:words]
	}
	slug := strings.Join(parts, "-")
	if len(slug) <= maxSlug {
		return slug
	}
	slug = slug[:maxSlug+1]
	if k := strings.LastIndexByte(slug, '-'); k > 0 {
		return slug[:k]
	}
	return slug[:maxSlug]
}

// tidy is text from elsewhere as it may stand in a task: its lines end in line
// feeds, and it has no control characters.
func tidy(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	s = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	return strings.TrimRight(strings.TrimLeft(s, "\n"), "\n\t ")
}
