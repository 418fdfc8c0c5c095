package runs

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"cmux/agents/runs/run"
)

// sessionCommands are the commands that mean a run, and take --session.
var sessionCommands = []string{
	"status", "top", "collisions", "wait", "logs", "attach", "diff", "answer", "approve", "override", "release", "verify",
	"retry", "stop", "resume", "update", "review", "merge", "shared", "cleanup", "changelog",
}

// MeansRun reports whether the command cmux agents NAME means a run.
func MeansRun(name string) bool { return slices.Contains(sessionCommands, name) }

var orders = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`cmux agents [a-z]+( --session)?`) })

// InSession is a text for people in which the commands that mean a run name the
// session, where without it another run could be meant.
func (p *Runs) InSession(text, session string) string {
	if owners, err := run.Owners(p.Root); err != nil || len(owners) < 2 {
		return text
	}
	return WithSession(text, session)
}

// WithSession is a text in which the commands that mean a run name the session.
func WithSession(text, session string) string {
	return orders().ReplaceAllStringFunc(text, func(command string) string {
		verb := strings.TrimPrefix(command, "cmux agents ")
		if !MeansRun(verb) {
			return command
		}
		return command + " --session " + session
	})
}
