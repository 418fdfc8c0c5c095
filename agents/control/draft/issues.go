package draft

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"unicode"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/say"
	"cmux/worktree/hint"
)

// Issue is an issue as gh shows it.
type Issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	State  string `json:"state"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
}

// fields are those of an Issue, as gh names them.
const fields = "number,title,body,url,labels,state"

// mostIssues bounds how many open issues are listed.
const mostIssues = 100

// GitHub reads the issues of the repository at Root with gh.
type GitHub struct {
	Root string
	Env  []string
}

// Open lists the open issues, the newest first.
func (g GitHub) Open(ctx context.Context) ([]Issue, error) {
	out, said, err := g.run(ctx, "issue", "list", "--state", "open", "--limit", fmt.Sprint(mostIssues), "--json", fields)
	var missing *hint.Error
	switch {
	case errors.As(err, &missing):
		return nil, err
	case err != nil:
		return nil, ghError("", said, err)
	}
	all := []Issue{}
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("the issues: gh gave no JSON: %w", err)
	}
	return all, nil
}

// run runs gh, and returns what it wrote to its outputs.
func (g GitHub) run(ctx context.Context, args ...string) (out []byte, said string, err error) {
	gh, err := agent.LookPath("gh", g.Env)
	if err != nil {
		return nil, "", hint.New(errors.New("issues are read with gh, the GitHub command line, which is not installed"), "install gh, then gh auth login")
	}
	cmd := exec.CommandContext(ctx, gh, args...)
	cmd.Dir, cmd.Env = g.Root, append(g.Env, "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.Bytes(), strings.TrimSpace(stderr.String()), err
}

// Read reads one issue, which has to be open. A hint.Error stands for what is wrong with all
// of them.
func (g GitHub) Read(ctx context.Context, number string) (*Issue, error) {
	out, said, err := g.run(ctx, "issue", "view", number, "--json", fields)
	var missing *hint.Error
	switch {
	case errors.As(err, &missing):
		return nil, err
	case err != nil:
		return nil, ghError(number, said, err)
	}
	i := new(Issue)
	if err := json.Unmarshal(out, i); err != nil {
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
	case number == "":
	case has("could not resolve to an issue"), has("http 404"), has("not found"):
		return fmt.Errorf("there is no issue #%s (gh: %s)", number, say.Line(said))
	}
	if number == "" {
		return hint("the issues could not be read", "gh issue list")
	}
	return hint("issue #"+number+" could not be read", "gh issue view "+number)
}

// Node is the node for the issue.
func (i *Issue) Node() Node {
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
	return Node{Name: i.name(), Task: strings.Join(append(parts, last), "\n\n") + "\n"}
}

// maxSlug bounds what a name holds of a title.
const maxSlug = 32

// name is the node's: the number, which makes it the only one, and what the
// title has of letters and digits.
func (i *Issue) name() string {
	slug := Slug(i.Title, 0)
	if slug == "" {
		return fmt.Sprintf("issue-%d", i.Number)
	}
	return fmt.Sprintf("%d-%s", i.Number, slug)
}

// Slug is what the first words of a text have of letters and digits, of all its
// words with 0.
func Slug(text string, words int) string {
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
