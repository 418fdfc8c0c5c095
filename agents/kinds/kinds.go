// Package kinds is the set of agent kinds that cmux knows, and what each can do.
package kinds

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"cmux/agents/kinds/acp"
	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/claude"
	"cmux/agents/kinds/codex"
	"cmux/agents/kinds/command"
	"cmux/agents/kinds/kimi"
	"cmux/dag"
)

// known are the kinds, in the order of the docs.
var known = []func() agent.Kind{claude.Kind, codex.Kind, kimi.Kind, acp.Qwen, acp.OpenCode, acp.Gemini, acp.Kind, command.Kind}

// All are the kinds of a released binary.
func All() agent.Kinds {
	return agent.NewKinds(Listed()...)
}

// Listed are those kinds in the order of the docs.
func Listed() []agent.Kind {
	var all []agent.Kind
	for _, kind := range known {
		all = append(all, kind())
	}
	return all
}

// Installed are the names of the kinds whose program is in the PATH of env, in
// the order of the docs.
func Installed(env []string) []string {
	var all []string
	for _, k := range Listed() {
		if k.Can.Program == "" {
			continue
		}
		if _, err := agent.LookPath(k.Can.Program, env); err == nil {
			all = append(all, k.Name)
		}
	}
	return all
}

// Preflight looks, before anything of a run is made, for what would keep nodes
// of that kind from working. A kind that needs no program, or is not known, is
// always fit.
func Preflight(ctx context.Context, kind string, s agent.Setup) agent.Fitness {
	if k, ok := All()[kind]; ok && k.Preflight != nil {
		return k.Preflight(ctx, s)
	}
	return agent.Fitness{}
}

// ErrNoResume says that conversations of a kind cannot be opened again.
var ErrNoResume = errors.New("its conversations cannot be opened again")

// Reopen is the command that opens a conversation of that kind again for a
// person, to be run in the directory of the node: the kind's own terminal
// program in env, without the run's variables and without hooks of cmux's.
func Reopen(kind string, env []string, conversation string) (*exec.Cmd, error) {
	k, ok := All()[kind]
	if !ok || k.Reopen == nil {
		return nil, fmt.Errorf("%s: %w", kind, ErrNoResume)
	}
	argv, err := k.Reopen(env, conversation)
	if err != nil {
		return nil, err
	}
	path, err := agent.LookPath(argv[0], env)
	if err != nil {
		return nil, err
	}
	return &exec.Cmd{Path: path, Args: argv, Env: outside(env)}, nil
}

// ErrNoAsk says that a kind cannot be asked a single question.
var ErrNoAsk = errors.New("it cannot be asked a single question")

// Ask asks a program of a kind a single question, in env without the variables of a node.
func Ask(ctx context.Context, kind string, q agent.Question) (*agent.Answer, error) {
	k, ok := All()[kind]
	if !ok || k.Ask == nil {
		return nil, fmt.Errorf("%s: %w", kind, ErrNoAsk)
	}
	q.Env = outside(q.Env)
	return k.Ask(ctx, q)
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
	k, ok := All()[n.Agent]
	if !ok {
		return nil
	}
	c := k.Can
	var all []string
	if n.Budget.Tokens > 0 && c.Usage == "" {
		all = append(all, fmt.Sprintf("budget: %s does not tell what it uses", k.Name))
	}
	if n.AutoAccept && c.AutoAccept == "" {
		all = append(all, fmt.Sprintf("auto_accept: %s asks nothing", k.Name))
	}
	if n.Model != "" && c.Model == "" {
		all = append(all, fmt.Sprintf("model: %s has none", k.Name))
	}
	return all
}

// Markdown is the table of capabilities for the docs.
func Markdown() string {
	all := Listed()
	var b strings.Builder
	b.WriteString("| |")
	for _, k := range all {
		fmt.Fprintf(&b, " `%s` |", k.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(all)) + "\n")
	for _, row := range []struct {
		name string
		of   func(agent.Capability) string
	}{
		{"program", func(c agent.Capability) string {
			if c.Program == "" {
				return "see headless"
			}
			return "`" + c.Program + "`"
		}},
		{"in a pane", func(c agent.Capability) string { return c.Panes }},
		{"headless", func(c agent.Capability) string { return c.Headless }},
		{"calls judged before they happen", func(c agent.Capability) string { return c.Guard }},
		{"`role: review` kept from writing", func(c agent.Capability) string { return c.ReadOnly }},
		{"questions to a person", func(c agent.Capability) string { return c.Questions }},
		{"taken over in its pane", func(c agent.Capability) string { return c.TakeOver }},
		{"[urgent messages](messages.md#how-a-message-arrives) within a turn", func(c agent.Capability) string { return c.Urgent }},
		{"messages that interrupt its turn", func(c agent.Capability) string { return c.Interrupt }},
		{"what a turn said", func(c agent.Capability) string { return c.Replies }},
		{"[reports](working-with-agents.md#reporting)", func(c agent.Capability) string { return c.Reports }},
		{"limits waited for", func(c agent.Capability) string { return c.Limits }},
		{"same conversation after a loss", func(c agent.Capability) string { return c.Resume }},
		{"tokens counted, `budget` kept", func(c agent.Capability) string { return c.Usage }},
		{"share of the [context window](watch.md) in use known", func(c agent.Capability) string { return c.Context }},
		{"told to [compact](watch.md) while idle", func(c agent.Capability) string { return c.Compacts }},
		{"`model` chooses the model", func(c agent.Capability) string { return c.Model }},
		{"`auto_accept`", func(c agent.Capability) string { return c.AutoAccept }},
		{"[`permissions: auto`](permissions.md#standing-agents)", func(c agent.Capability) string {
			if c.Automatic == "" && c.AutoAccept != "" {
				return "as `ask`"
			}
			return c.Automatic
		}},
		{"tested", func(c agent.Capability) string { return c.Tested }},
	} {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, k := range all {
			text := row.of(k.Can)
			if text == "" {
				text = "no"
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		b.WriteString("\n")
	}
	return b.String()
}
