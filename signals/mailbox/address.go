package mailbox

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind says what an Address means.
type Kind uint8

const (
	Agent Kind = iota // a standing agent, the supervisor among them
	Node              // a node of a run
	User              // the person
	All               // every standing agent but the sender
)

// Names that mean something of their own and that no agent has.
const (
	Supervisor = "supervisor"
	user       = "user"
	all        = "all"
	node       = "node"
)

// reserved are the names that no agent may be given; of these the first three
// are agents of cmux's own.
var reserved = []string{Supervisor, "monitor", "sentry", user, all, node}

// Reserved reports whether a name is not to be given to an agent or a session.
func Reserved(name string) bool {
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) })
}

// Address is who a message is from, or for.
type Address struct {
	Kind    Kind
	Session string // of an Agent; empty: the organization's own
	Name    string // of an Agent or a Node
}

var nameShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$`) })

// ErrAddress is wrapped by what ParseAddress says of a text that is none.
var ErrAddress = fmt.Errorf("an address is supervisor, NAME, SESSION:NAME, node:NAME, user or all")

// ParseAddress reads an address: supervisor, NAME, SESSION:NAME, node:NAME, user
// or all.
func ParseAddress(s string) (Address, error) {
	wrong := func() (Address, error) { return Address{}, fmt.Errorf("%.100q is no address: %w", s, ErrAddress) }
	switch s {
	case user:
		return Address{Kind: User}, nil
	case all:
		return Address{Kind: All}, nil
	}
	session, name, split := strings.Cut(s, ":")
	if !split {
		session, name = "", s
	}
	switch {
	case !nameShape().MatchString(name), split && !nameShape().MatchString(session):
		return wrong()
	case session == node:
		return Address{Kind: Node, Name: name}, nil
	case name == user, name == all, name == node, split && Reserved(session):
		return wrong()
	}
	return Address{Session: session, Name: name}, nil
}

func (a Address) String() string {
	switch {
	case a.Kind == User:
		return user
	case a.Kind == All:
		return all
	case a.Kind == Node:
		return node + ":" + a.Name
	case a.Session != "":
		return a.Session + ":" + a.Name
	}
	return a.Name
}

// In is the address as it reads in an organization whose own session has this
// name: an agent of that session has no session before its name.
func (a Address) In(home string) Address {
	if a.Kind == Agent && a.Session == home {
		a.Session = ""
	}
	return a
}

// Prefix is what a subject says that a message is about. It orders nothing:
// cancelling, resetting and approving are orders with an owner.
type Prefix string

const (
	Task          Prefix = "TASK"           // new work
	Done          Prefix = "DONE"           // a task has ended well; cmux alone says so, after the verdict
	StatusOf      Prefix = "STATUS"         // how far it is
	Blocked       Prefix = "BLOCKED"        // a task cannot go on
	Question      Prefix = "QUESTION"       // something is to be made clear
	ReviewRequest Prefix = "REVIEW-REQUEST" // code is ready to be looked at
	Error         Prefix = "ERROR"          // something of cmux's own broke
	Heartbeat     Prefix = "HEARTBEAT"      // an idle agent is told what there is to do
	Sys           Prefix = "SYS"            // anything else of the organization's
	TaskCancel    Prefix = "TASK-CANCEL"    // a person or the supervisor has cancelled a task
)

// prefixes are all of them.
var prefixes = []Prefix{Task, Done, StatusOf, Blocked, Question, ReviewRequest, Error, Heartbeat, Sys, TaskCancel}

// Cut takes the prefix off a subject; empty: it has none that is known.
func Cut(subject string) (p Prefix, rest string) {
	if !strings.HasPrefix(subject, "[") {
		return "", subject
	}
	word, rest, ok := strings.Cut(subject[1:], "]")
	if p = Prefix(strings.ToUpper(word)); !ok || !slices.Contains(prefixes, p) {
		return "", subject
	}
	return p, strings.TrimSpace(rest)
}

// Prefixes are those that mean something.
func Prefixes() []Prefix { return slices.Clone(prefixes) }

// Subject is a subject with this prefix.
func (p Prefix) Subject(text string) string {
	if p == "" {
		return text
	}
	return "[" + string(p) + "] " + text
}
