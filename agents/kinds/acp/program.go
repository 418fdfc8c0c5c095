package acp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"cmux/agents/kinds/agent"
)

// Name of the kind whose nodes say themselves what to run.
const Name = "acp"

// program is one that speaks the protocol, and what is its own.
type program struct {
	kind    string
	title   string
	command []string // nil: each node has its own
	install string
	env     []string // in which it asks leave before commands and edits
	asks    asks
	late    bool // it may tell a conversation again after it has answered the request
	home    func(func(string) string) string
	reopen  func(conversation string) []string
}

// asks says where a program tells all of the input of a call that it asks leave
// for, and so where a command is to run. Where it does not, only what is the same
// in every folder is granted.
type asks uint8

const (
	nowhere     asks = iota // or it is not known
	withRequest             // in the request itself
	beside                  // in an update, which may come after the request
	inWords                 // in a text of the request, as far as the folder goes
)

// Kind is any program that speaks the protocol.
func Kind() agent.Kind {
	return program{
		kind: Name, title: "the program", late: true,
		reopen: func(string) []string { return nil },
	}.as(agent.Capability{
		Headless: "its `command`",
		Limits:   "when the program tells of them", Usage: "when the program tells of it",
		Tested: "as `qwen`",
	})
}

// Qwen is Qwen Code.
func Qwen() agent.Kind {
	return program{
		kind: "qwen", title: "Qwen Code", command: []string{"qwen", "--acp"}, install: "npm install -g @qwen-code/qwen-code",
		home:   agent.HomeIn("QWEN_HOME", ".qwen"),
		asks:   withRequest,
		reopen: func(id string) []string { return []string{"qwen", "--resume", id} },
	}.as(agent.Capability{
		Program: "qwen", Limits: "yes", Usage: "yes", Tested: "with the real program",
	})
}

// OpenCode is OpenCode. It tells what the last answer of a turn used alone, and
// waits limits out by itself without a word.
func OpenCode() agent.Kind {
	return program{
		kind: "opencode", title: "OpenCode", command: []string{"opencode", "acp"}, install: "npm install -g opencode-ai",
		env:    []string{`OPENCODE_PERMISSION={"bash":"ask","edit":"ask"}`, "OPENCODE_DISABLE_AUTOUPDATE=1"},
		home:   agent.HomeIn("OPENCODE_CONFIG_DIR", filepath.Join(".config", "opencode")),
		asks:   beside,
		reopen: func(id string) []string { return []string{"opencode", "--session", id} },
	}.as(agent.Capability{
		Program: "opencode", Tested: "with the real program",
	})
}

// Gemini is Gemini CLI. It tells what a turn used when that has ended by itself,
// which the one that reports seldom does. A conversation that is loaded within
// the minute in which it began is gone: loading it begins another in its file.
func Gemini() agent.Kind {
	return program{
		kind: "gemini", title: "Gemini CLI", command: []string{"gemini", "--acp"}, install: "npm install -g @google/gemini-cli",
		home:   agent.HomeIn("GEMINI_CLI_HOME", ".gemini"),
		asks:   inWords,
		late:   true,
		reopen: func(id string) []string { return []string{"gemini", "--resume", id} },
	}.as(agent.Capability{
		Program: "gemini", Limits: "yes", Resume: "yes, after its first minute", Tested: "with the real program",
	})
}

// as is the kind of the program. What every program of the protocol can do need
// not be said of it.
func (p program) as(c agent.Capability) agent.Kind {
	c.Panes = agent.Console
	c.Guard = "what it asks permission for: commands and edits"
	c.ReadOnly = "write tools, and shell commands that evidently write, are refused when it asks permission"
	c.Questions = "permission for a call: in the pane, or with `answer`"
	c.TakeOver = "by a line typed, `^C`"
	c.Interrupt = "yes"
	c.Replies = "when a turn ends"
	c.Reports = "by command"
	if c.Resume == "" {
		c.Resume = "yes"
	}
	c.Model = "yes"
	c.AutoAccept = "what the guard lets pass is allowed without asking"
	if c.Headless == "" {
		c.Headless = fmt.Sprintf("`%s %s`", p.command[0], p.command[1])
	}
	return agent.Kind{
		Name: p.kind, Judge: true, Can: c, Home: p.home,
		New:       func(s *agent.Stage) (agent.Agent, error) { return newAgent(p, s) },
		Preflight: func(_ context.Context, s agent.Setup) agent.Fitness { return p.preflight(s) },
		Reopen: func(_ []string, conversation string) ([]string, error) {
			if argv := p.reopen(conversation); argv != nil {
				return argv, nil
			}
			return nil, errors.New("cmux does not know how the program of `agent: acp` shows a conversation again")
		},
	}
}

// preflight looks whether the program is there. Nothing is started: what it is
// set up with shows when the first node begins.
func (p program) preflight(s agent.Setup) (f agent.Fitness) {
	programs := s.Programs
	if p.command != nil {
		programs = p.command[:1]
	}
	for _, name := range programs {
		if _, err := agent.LookPath(name, s.Env); err == nil {
			f.Fact(name + " is installed")
			continue
		}
		install := p.install
		if install == "" {
			install = "install it, or name another with command:"
		}
		f.Fatal(fmt.Sprintf("%s is not installed: no %s in PATH", p.title, name), install)
	}
	return f
}
