// Package kinds is the set of agent kinds that cmux knows, and what each can do.
package kinds

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"cmux/agents/attempt"
	"cmux/agents/claude"
	"cmux/agents/codex"
	"cmux/agents/kimi"
	"cmux/dag"
)

// Capability is what a kind can do, as the docs show it. A text says how; an
// empty one that it cannot.
type Capability struct {
	Kind       string
	Program    string // that must be in the PATH; empty: none
	Panes      string
	Headless   string
	Guard      string // tool calls judged before they happen
	ReadOnly   string // how a review is kept from writing
	Questions  string // the agent asks a person
	Reports    string // how it reports
	Limits     string // a usage or rate limit is told from a failure
	Resume     string // the conversation goes on after a loss
	Usage      string // tokens are counted, budgets kept
	Model      string // the model can be chosen
	AutoAccept string // what auto_accept means
	Tested     string
}

// known are the kinds with what they can do, in the order of the docs.
var known = []struct {
	kind func() attempt.Kind
	can  Capability
	// preflight looks for what would keep the program from working; nil: it
	// has none.
	preflight func(context.Context, attempt.Setup) attempt.Fitness
	// reopen is the program's command line that shows a person a conversation
	// again, or why there is none; nil: its conversations cannot be resumed.
	reopen func(env []string, conversation string) ([]string, error)
}{
	{kind: claude.Kind, preflight: claude.Preflight, reopen: claude.Reopen, can: Capability{
		Program:    "claude",
		Panes:      "its own terminal program",
		Headless:   "stream-json",
		Guard:      "every tool call, by its hooks",
		ReadOnly:   "write tools are refused, and shell commands that are seen to write",
		Questions:  "in the pane, or with `answer`",
		Reports:    "by tool or command",
		Limits:     "yes",
		Resume:     "yes",
		Usage:      "yes",
		Model:      "yes",
		AutoAccept: "`--dangerously-skip-permissions`",
		Tested:     "with the real program",
	}},
	{kind: codex.Kind, preflight: codex.Preflight, reopen: codex.Reopen, can: Capability{
		Program:    "codex",
		Panes:      "lines of text; a line typed is a prompt",
		Headless:   "`codex app-server`",
		Guard:      "every command and patch, by a hook; without hooks (older versions) what it asks leave for",
		ReadOnly:   "its read-only sandbox, and as with `claude`",
		Questions:  "in the pane, or with `answer`",
		Reports:    "by tool or command",
		Limits:     "yes",
		Resume:     "yes",
		Usage:      "yes",
		Model:      "yes",
		AutoAccept: "no sandbox (a review keeps it), nothing is asked",
		Tested:     "with the real program",
	}},
	{kind: kimi.Kind, preflight: kimi.Preflight, reopen: kimi.Reopen, can: Capability{
		Program:    "kimi",
		Panes:      "lines of text; a line typed is a prompt",
		Headless:   "`kimi --wire`",
		Guard:      "every tool call, by its hooks; without hooks (older versions) what it asks leave for",
		ReadOnly:   "write tools are refused, and shell commands that are seen to write",
		Questions:  "in the pane, or with `answer`",
		Reports:    "by command",
		Limits:     "yes",
		Resume:     "yes",
		Usage:      "yes",
		Model:      "yes",
		AutoAccept: "what the guard lets pass is allowed without asking",
		Tested:     "with a stand-in that speaks its documented protocol; not run against the real program",
	}},
	{kind: attempt.Command, can: Capability{
		Panes:    "a terminal of its own",
		Reports:  "by its exit code",
		Headless: "yes",
		Tested:   "with the real program",
	}},
}

// All are the kinds of a released binary.
func All() attempt.Kinds {
	var all []attempt.Kind
	for _, k := range known {
		all = append(all, k.kind())
	}
	return attempt.NewKinds(all...)
}

// Capabilities are what the kinds can do, in the order of the docs.
func Capabilities() []Capability {
	var all []Capability
	for _, k := range known {
		c := k.can
		c.Kind = k.kind().Name
		all = append(all, c)
	}
	return all
}

// Of are the capabilities of the kind of that name.
func Of(kind string) (Capability, bool) {
	for _, c := range Capabilities() {
		if c.Kind == kind {
			return c, true
		}
	}
	return Capability{}, false
}

// Installed are the kinds whose program is in the PATH of env, in the order of
// the docs.
func Installed(env []string) []string {
	var all []string
	for _, c := range Capabilities() {
		if c.Program == "" {
			continue
		}
		if _, err := attempt.LookPath(c.Program, env); err == nil {
			all = append(all, c.Kind)
		}
	}
	return all
}

// Preflight looks, before anything of a run is made, for what would keep nodes
// of that kind from working. A kind that needs no program, or is not known, is
// always fit.
func Preflight(ctx context.Context, kind string, s attempt.Setup) attempt.Fitness {
	for _, k := range known {
		if k.kind().Name == kind && k.preflight != nil {
			return k.preflight(ctx, s)
		}
	}
	return attempt.Fitness{}
}

// ErrNoResume says that conversations of a kind cannot be opened again.
var ErrNoResume = errors.New("its conversations cannot be opened again")

// Reopen is the command that opens a conversation of that kind again for a
// person, to be run in the directory of the node: the kind's own terminal
// program in env, without the run's variables and without hooks of cmux's.
func Reopen(kind string, env []string, conversation string) (*exec.Cmd, error) {
	for _, k := range known {
		if k.kind().Name != kind || k.reopen == nil {
			continue
		}
		argv, err := k.reopen(env, conversation)
		if err != nil {
			return nil, err
		}
		path, err := attempt.LookPath(argv[0], env)
		if err != nil {
			return nil, err
		}
		return &exec.Cmd{Path: path, Args: argv, Env: outside(env)}, nil
	}
	return nil, fmt.Errorf("%s: %w", kind, ErrNoResume)
}

// outside is env without the variables of a node of cmux's, and of a Claude
// Code, that the caller may itself be in.
func outside(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasPrefix(name, "CMUX_") || claude.IsOfOuter(name)
	})
}

// Missing says what the node asks for that its kind cannot do; nothing for
// kinds that are not known.
func Missing(n *dag.Node) []string {
	c, ok := Of(n.Agent)
	if !ok {
		return nil
	}
	var all []string
	if n.Budget.Tokens > 0 && c.Usage == "" {
		all = append(all, fmt.Sprintf("budget: %s does not tell what it uses", c.Kind))
	}
	if n.AutoAccept && c.AutoAccept == "" {
		all = append(all, fmt.Sprintf("auto_accept: %s asks nothing", c.Kind))
	}
	if n.Model != "" && c.Model == "" {
		all = append(all, fmt.Sprintf("model: %s has none", c.Kind))
	}
	return all
}

// Markdown is the table of capabilities for the docs.
func Markdown() string {
	all := Capabilities()
	var b strings.Builder
	b.WriteString("| |")
	for _, c := range all {
		fmt.Fprintf(&b, " `%s` |", c.Kind)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, row := range []struct {
		name string
		of   func(Capability) string
	}{
		{"program", func(c Capability) string {
			if c.Program == "" {
				return "`sh`"
			}
			return "`" + c.Program + "`"
		}},
		{"in a pane", func(c Capability) string { return c.Panes }},
		{"headless", func(c Capability) string { return c.Headless }},
		{"calls judged before they happen", func(c Capability) string { return c.Guard }},
		{"`role: review` kept from writing", func(c Capability) string { return c.ReadOnly }},
		{"questions to a person", func(c Capability) string { return c.Questions }},
		{"[reports](working-with-agents.md#reporting)", func(c Capability) string { return c.Reports }},
		{"limits waited for", func(c Capability) string { return c.Limits }},
		{"same conversation after a loss", func(c Capability) string { return c.Resume }},
		{"tokens counted, `budget` kept", func(c Capability) string { return c.Usage }},
		{"`model` chooses the model", func(c Capability) string { return c.Model }},
		{"`auto_accept`", func(c Capability) string { return c.AutoAccept }},
		{"tested", func(c Capability) string { return c.Tested }},
	} {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, c := range all {
			text := row.of(c)
			if text == "" {
				text = "no"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String()
}
