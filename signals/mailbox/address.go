package mailbox

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Kind is the meaning of an Address.
type Kind uint8

const (
	Agent Kind = iota // a standing agent, the supervisor among them
	Node              // a node of a run
	User              // the person
	All               // every standing agent but the sender
)

// Names with a meaning of their own, which no agent has.
const (
	Supervisor = "supervisor"
	user       = "user"
	all        = "all"
	node       = "node"
)

// reserved are the names that no agent may have; the first three are agents of cmux.
var reserved = []string{Supervisor, "monitor", "sentry", user, all, node}

// Reserved reports whether no agent or session may have this name.
func Reserved(name string) bool {
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) })
}

// Address is the sender or the recipient of a message.
type Address struct {
	Kind    Kind
	Session string // of an Agent; empty: the organization's own session
	Name    string // of an Agent or a Node
}

var nameShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$`) })

// ErrAddress is wrapped by the errors of ParseAddress.
var ErrAddress = fmt.Errorf("an address is supervisor, NAME, SESSION:NAME, node:NAME, user or all")

// ParseAddress parses an address: supervisor, NAME, SESSION:NAME, node:NAME, user or all.
func ParseAddress(s string) (Address, error) {
	wrong := func() (Address, error) { return Address{}, fmt.Errorf("%.100q is not an address: %w", s, ErrAddress) }
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

// In returns the address as an organization shows it whose own session is home: for agents
// of that session, without the session.
func (a Address) In(home string) Address {
	if a.Kind == Agent && a.Session == home {
		a.Session = ""
	}
	return a
}

// Prefix is the topic at the beginning of a subject. It has no effect: cancelling,
// resetting and approving are commands of their own.
type Prefix string

const (
	Task          Prefix = "TASK"           // new work
	Done          Prefix = "DONE"           // a task is done; only cmux sends it, after its checks
	StatusOf      Prefix = "STATUS"         // progress of a task
	Blocked       Prefix = "BLOCKED"        // an agent cannot continue a task
	Question      Prefix = "QUESTION"       // a question to answer
	ReviewRequest Prefix = "REVIEW-REQUEST" // code to review
	Error         Prefix = "ERROR"          // a failure in cmux
	Heartbeat     Prefix = "HEARTBEAT"      // a list of open items for an idle agent
	Sys           Prefix = "SYS"            // other messages of the organization
	TaskCancel    Prefix = "TASK-CANCEL"    // a person or the supervisor has cancelled a task
)

// prefixes are all known prefixes.
var prefixes = []Prefix{Task, Done, StatusOf, Blocked, Question, ReviewRequest, Error, Heartbeat, Sys, TaskCancel}

// Cut splits a subject into its prefix and the rest; p is empty if it has no known prefix.
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

// Prefixes returns the known prefixes.
func Prefixes() []Prefix { return slices.Clone(prefixes) }

// Subject returns text as a subject with this prefix.
func (p Prefix) Subject(text string) string {
	if p == "" {
		return text
	}
	return "[" + string(p) + "] " + text
}
