package agent

import (
	"context"
	"path/filepath"

	"cmux/agents/platform/proc"
)

// Kind is a kind of agent.
type Kind struct {
	Name string
	New  func(*Stage) (Agent, error)
	// Judge says that the exit code proves nothing and that the agent reports.
	Judge bool
	// Home is the configuration folder of the program in an environment, which
	// holds its account; nil: it has none.
	Home func(getenv func(string) string) string
	// Tool is what the agent calls the tool "done" by which it reports; empty:
	// it has the commands alone.
	Tool string
	// Can is what it can do.
	Can Capability
	// Preflight looks for what would keep the program from working; nil: it needs
	// none.
	Preflight func(context.Context, Setup) Fitness
	// Reopen is the program's command line that shows a person a conversation
	// again, or why there is none; nil: its conversations cannot be resumed.
	Reopen func(env []string, conversation string) ([]string, error)
	// LastTurn reads the program's file of a conversation and returns what the agent was
	// given in the last turn there, what that turn said last, and whether it is over.
	// Without a turn it is over. nil: the kind has no such file.
	LastTurn func(env []string, conversation string) (given []string, said string, over bool)
	// Ask asks the program a single question. The answer has the form of its schema, or the
	// error is ErrForm; if the program is not installed, it is exec.ErrNotFound. nil: the kind
	// cannot.
	Ask func(context.Context, Question) (*Answer, error)
}

// Capability is what a kind can do, as the docs show it. A text says how; an
// empty one that it cannot.
type Capability struct {
	Program    string // that must be in the PATH; empty: none
	Panes      string
	Headless   string
	Guard      string // tool calls judged before they happen
	ReadOnly   string // how a review is kept from writing
	Questions  string // the agent asks a person
	TakeOver   string // a person takes its conversation over in its pane
	Urgent     string // a message reaches it within its turn
	Interrupt  string // a message breaks its turn off
	Reports    string // how it reports
	Replies    string // what a turn said is told when it ends
	Limits     string // a usage or rate limit is told from a failure
	Resume     string // the conversation goes on after a loss
	Usage      string // tokens are counted, budgets kept
	Context    string // how much of its context window is in use is known
	Compacts   string // it can be told to compact its conversation
	Model      string // the model can be chosen
	AutoAccept string // what auto_accept means
	Automatic  string // what permissions: auto means for one that stays
	Tested     string
}

// CompactsInPane is Capability.Compacts of a kind whose program is typed a command.
const CompactsInPane = "by `/compact`, in a pane"

// Console is Capability.Panes of a kind whose program speaks over a pipe wherever
// it runs: in a pane cmux itself shows what it says.
const Console = "lines of text; a line that you type is a prompt"

// Account names what a limit of a program of the kind pauses: the kind with the
// name that a person gave, else with the configuration folder, which is left out
// where it is the one of env's HOME. The variables of own stand above env's.
func (k Kind) Account(given string, own map[string]string, env []string) string {
	if given != "" && given != k.Name {
		return k.Name + " " + given
	}
	if k.Home == nil {
		return k.Name
	}
	usual := k.Home(func(name string) string {
		if name == "HOME" {
			return proc.Getenv(env, name)
		}
		return ""
	})
	is := k.Home(func(name string) string {
		if v, ok := own[name]; ok {
			return v
		}
		return proc.Getenv(env, name)
	})
	if is == usual {
		return k.Name
	}
	return k.Name + " " + is
}

// HomeIn is a Kind.Home: the folder that a variable names, else one in HOME.
func HomeIn(variable, folder string) func(func(string) string) string {
	return func(getenv func(string) string) string {
		if dir := getenv(variable); dir != "" {
			return filepath.Clean(dir)
		}
		return filepath.Join(getenv("HOME"), folder)
	}
}

// Kinds are the known kinds by name.
type Kinds map[string]Kind

// NewKinds makes a set of the given kinds.
func NewKinds(kinds ...Kind) Kinds {
	ks := make(Kinds, len(kinds))
	for _, k := range kinds {
		ks[k.Name] = k
	}
	return ks
}
