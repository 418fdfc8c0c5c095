// Package rights says which commands of cmux are whose: anybody's, a leader's, or
// a person's. The guard asks it before an agent's shell runs one, and package
// control when one is carried out, so that both say the same.
//
// An order is named as at the command line, without cmux: "agents retry".
package rights

import (
	"slices"
	"strings"
)

// anybodys are the orders that an agent may give in its own project: they show,
// wait and report. Every other one is a person's.
func anybodys() []string {
	return []string{
		"agents init", "agents status", "agents collisions", "agents fence", "agents wait", "agents logs", "agents diff", "agents verify", "agents changelog", "agents schema", "agents graph", "agents list", "agents exec", "machines status", "machines kept", "machines guard",
		"status", "logs", "autonomy", "config", "config schema", "workers list", "workers status", "workers logs", "workers send", "projects list", "sessions list",
		"mailbox send", "mailbox done", "mailbox blocked", "mailbox status", "mailbox inbox", "mailbox read", "mailbox list", "mailbox tail",
		"tasks add", "tasks list", "tasks show", "tasks log", "incidents list", "incidents show", "recover log", "report", "backlog add", "backlog list",
		"journal add", "journal show", "journal search", "journal note", "journal reflection",
		"memory list", "memory search", "cards list", "cards show", "cards add", "rooms list", "rooms show", "rooms log", "rooms parse", "rooms say",
		"alert", "teams list", "teams show", "teams status", "schedule list", "schedule show", "locks take", "locks release", "locks with", "locks list", "snapshots list", "doctor", "version", "man", "done", "blocked", "output", "hook", "mcp", "serve",
	}
}

// leaders are the orders that a supervisor may give besides, where they are not
// forced.
func leaders() []string {
	return []string{
		"agents start", "workers spawn", "workers reset", "workers kill", "workers assign", "workers clone", "workers merge-clone", "sessions spawn", "sessions end", "tasks assign", "tasks cancel", "tasks pause", "tasks priority", "tasks merge", "backlog take", "teams setup", "teams setup-permanent", "teams down", "rooms start", "schedule add", "schedule remove", "schedule run",
	}
}

// persons are the others, which only a person gives, and those that an option makes
// a person's.
func persons() []string {
	return []string{ // one a line: changes that meet merge
		"agents answer",
		"agents approve",
		"agents attach",
		"agents cleanup",
		"agents merge",
		"agents open",
		"agents override",
		"agents release",
		"agents resume",
		"agents retry",
		"agents review",
		"agents run",
		"agents shared",
		"agents stop",
		"agents top",
		"agents update",
		"attach",
		"config apply",
		"incidents ack",
		"keep",
		"locks break",
		"machines drain",
		"machines list",
		"machines pipe",
		"machines serve",
		"machines stop",
		"mailbox retry",
		"maintenance",
		"open",
		"projects activate",
		"projects add",
		"projects remove",
		"recover now",
		"recover undo",
		"restart",
		"cards approve",
		"cards cancel",
		"cards delegate",
		"cards done",
		"cards edit",
		"cards move",
		"cards send-back",
		"cards start",
		"memory add",
		"memory edit",
		"memory forget",
		"memory learn",
		"memory pin",
		"memory promote",
		"memory show",
		"memory why",
		"rooms answer",
		"rooms cancel",
		"rooms check",
		"rooms close",
		"rooms continue",
		"rooms cost",
		"rooms decide",
		"rooms decisions",
		"rooms dismiss",
		"rooms export",
		"rooms go-on",
		"rooms invite",
		"rooms open",
		"rooms pause",
		"rooms plan",
		"rooms prompt",
		"rooms remove",
		"rooms reopen",
		"rooms resume",
		"rooms run",
		"rooms set",
		"rooms skip",
		"rooms stop",
		"rooms tail",
		"rooms undo",
		"rooms wait",
		"rooms wake",
		"snapshots restore",
		"start",
		"stop",
		"tasks done",
		"workers answer",
		"workers attach",
		"workers demote",
		"workers release",
		"workers take",
		"workers wake",
	}
}

// All are the orders that there are.
func All() []string {
	all := slices.Concat(anybodys(), leaders(), persons())
	slices.Sort(all)
	return slices.Compact(all)
}

// teamLeads are those of the leaders' that the lead of a team may give about its members.
func teamLeads() []string {
	return []string{"workers assign", "tasks assign", "tasks cancel", "tasks pause"}
}

// IsPersons reports whether an order decides what is a person's to decide. with
// reports whether an option was given.
func IsPersons(name string, with func(option string) bool) bool {
	switch name {
	case "agents start", "maintenance":
		return !with("dry-run")
	case "agents shared":
		return with("restore") || with("accept")
	}
	return !slices.Contains(anybodys(), name)
}

// IsLeaders reports whether an order is one that a supervisor may give besides what
// every agent may.
func IsLeaders(name string, with func(option string) bool) bool {
	return slices.Contains(leaders(), name) && !with("force")
}

// IsTeamLeads reports whether an order is one that the lead of a team may give
// besides what every agent may.
func IsTeamLeads(name string) bool { return slices.Contains(teamLeads(), name) }

// IsCoordinators reports whether an order is one that the coordinator of a card may give
// besides what every agent may: it starts the card, and says who does what.
func IsCoordinators(name string, with func(option string) bool) bool {
	return name == "cards start" || name == "cards edit" && !slices.ContainsFunc([]string{"title", "body", "verify", "scope"}, with)
}

// Named is the order that the words of a command line name, without options, and
// whether it only names a group of them.
func Named(words []string) (name string, group bool) {
	if len(words) == 0 {
		return "", true
	}
	for _, o := range All() {
		if first, _, two := strings.Cut(o, " "); two && first == words[0] {
			if len(words) == 1 {
				return words[0], !slices.Contains(anybodys(), words[0])
			}
			if name = words[0] + " " + words[1]; o == name {
				return name, false
			}
		}
	}
	if name == "" {
		name = words[0]
	}
	return name, false
}
