package rights

import (
	"fmt"
	"slices"
	"strings"
)

// grant is an order that an agent gives without a question to a person, written
// out as literal words.
type grant struct {
	order   string
	options string // that it may have, beside --help
}

// An option that names a file, a folder or a program is in no grant: with it the
// order is asked about. So is an order that starts a run, whose configuration may
// hold any command.
var (
	// ofNodes are granted to every agent.
	ofNodes = []grant{{order: "output"}}

	// ofStanding are granted to every agent of the organization.
	ofStanding = []grant{
		{order: "help"}, {order: "version"},
		{"status", "--json"}, {"autonomy", "--for --summary --json"}, {"report", "--since --markdown --journal --json"},
		{"logs", "--tail -n --prompt"}, {"alert", "--level"},
		{"workers list", "--json"}, {"workers status", "--json"}, {"workers logs", "--tail -n --prompt"}, {order: "workers send"},
		{"tasks list", "--all --agent --json"}, {"tasks show", "--json"}, {"tasks log", "--json"},
		{"tasks add", "--priority --scope --verify --branch --project --after --parent --answer --json"},
		{"backlog list", "--json"}, {"backlog add", "--priority --scope --verify --branch --project --after --parent --answer --json"},
		{"mailbox send", "--urgent --interrupt --re --json"}, {"mailbox status", "--json"}, {"mailbox inbox", "--all --json"},
		{"mailbox list", "--to --from --waiting --last --json"}, {"mailbox read", "--json"}, {"mailbox tail", "--last -n --json"},
		{"mailbox done", ""}, {"mailbox blocked", ""},
		{"journal add", "--tag"}, {"journal show", "--json"}, {"journal search", "--since --most --json"}, {"journal note", ""},
		{"journal reflection", "--section --json"},
		{"locks list", "--json"}, {"locks take", "--wait --note"}, {"locks release", ""}, {"locks with", "--wait --note"},
		{"incidents list", "--all --about --json"}, {"incidents show", "--json"}, {"recover log", "--json"},
		{"projects list", "--json"}, {"sessions list", "--json"}, {"teams list", "--json"}, {"teams show", "--json"}, {"teams status", "--json"},
		{"schedule list", "--json"}, {"schedule show", "--json"}, {"snapshots list", "--json"},
		{"agents status", "--json"}, {"agents list", "--json"}, {"agents collisions", "--json"}, {"agents logs", "--tail -n --prompt"},
		{"rooms list", "--json"}, {"rooms show", "--json"}, {"rooms log", "--json"}, {"rooms parse", "--room --json"}, {"rooms say", "--to --key --json"},
		{"cards list", "--json"}, {"cards show", "--json"},
		{"cards add", "--body --verify --scope --todo --coordinator --planner --implementer --reviewer --json"},
	}

	// ofMembers are granted to the members of rooms besides; cmux carries them out for the
	// coordinator of the card.
	ofMembers = []grant{{"cards start", "--json"}, {"cards edit", "--coordinator --planner --implementer --reviewer --json"}}

	// ofLeads are granted to supervisors besides.
	ofLeads = []grant{
		{"workers spawn", "--worktree --branch --project --task --once --permanent --role-template --model --display-name --json"},
		{"workers assign", "--priority --verify --answer --json"}, {"workers clone", "--json"}, {"workers merge-clone", "--json"},
		{"workers reset", ""}, {"workers kill", ""},
		{"tasks assign", "--json"}, {"tasks cancel", "--json"}, {"tasks pause", "--json"}, {"tasks priority", "--json"}, {"tasks merge", "--dry-run --json"}, {"backlog take", "--json"},
		{"sessions spawn", "--model --json"}, {"sessions end", ""},
		{"teams setup", "--name --yes -y --json"}, {"teams down", ""},
		{"schedule add", "--at --in --every --cron --zone --to --task --priority --scope --json"}, {"schedule remove", ""},
	}

	// ofSentries are granted to a sentry besides.
	ofSentries = []grant{{"workers reset", ""}}

	// ofTeamLeads are granted to the lead of a team besides.
	ofTeamLeads = []grant{
		{"workers assign", "--priority --verify --answer --json"}, {"tasks assign", "--json"}, {"tasks cancel", "--json"}, {"tasks pause", "--json"},
	}
)

// shows are the granted orders that only show something, however often they are given.
func shows() []string {
	return []string{
		"help", "version", "status", "autonomy", "logs", "workers list", "workers status", "workers logs", "tasks list", "tasks show", "tasks log", "backlog list",
		"mailbox inbox", "mailbox list", "mailbox read", "journal show", "journal search", "locks list", "incidents list", "incidents show", "recover log",
		"projects list", "sessions list", "teams list", "teams show", "teams status", "schedule list", "schedule show", "snapshots list",
		"agents status", "agents list", "agents collisions", "agents logs", "rooms list", "rooms show", "rooms log", "cards list", "cards show",
	}
}

// Shows reports whether an order of these words shows something and does nothing else.
func Shows(words []string) bool {
	name, _ := Named(words)
	return asksHelp(words) || slices.Contains(shows(), name)
}

// Belongs reports whether an order of these words is one of an agent that reads or writes
// what belongs to cmux, and does not go through its wrapper anyway, as reports and messages
// do: a fence hides some of that, and keeps all of it from being written. Of `locks with`
// only the lock is written, which it sees to itself.
func Belongs(words []string) bool {
	name, group := Named(words)
	through := []string{"help", "version", "output", "locks with", "mailbox send", "mailbox status", "mailbox done", "mailbox blocked", "mailbox tail"}
	if group || asksHelp(words) || slices.Contains(through, name) {
		return false
	}
	_, granted := Granted()[name]
	return granted || slices.Contains(leaders(), name)
}

// Carries reports whether cmux carries an order out for an agent in a fence: one that it may
// give without a question, or a supervisor's. No other one leaves the fence.
func (h Holder) Carries(words []string) bool {
	if !Belongs(words) {
		return false
	}
	if command, ok := Grants(h, words); ok {
		return command == nil
	}
	name, _ := Named(words)
	return h.Leads && IsLeaders(name, func(option string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return w == "--"+option || strings.HasPrefix(w, "--"+option+"=") })
	})
}

// Holder says of an agent which orders it may give.
type Holder struct {
	Stays    bool // it is an agent of the organization
	Leads    bool // it is a supervisor
	Sentry   bool
	TeamLead bool // it leads a team
	InRoom   bool // it is a member of a room
}

// grants are those of an agent.
func (h Holder) grants() []grant {
	all := ofNodes
	if h.Stays {
		all = slices.Concat(all, ofStanding)
	}
	if h.InRoom {
		all = slices.Concat(all, ofMembers)
	}
	if h.Leads {
		all = slices.Concat(all, ofLeads)
	}
	if h.Sentry {
		all = slices.Concat(all, ofSentries)
	}
	if h.TeamLead {
		all = slices.Concat(all, ofTeamLeads)
	}
	return all
}

// Grants reports whether an agent gives the order of these words without a
// question to a person. The words are what follows cmux, as the shell hands them
// over. Of `locks with`, command is what it runs, which must be granted itself.
func Grants(h Holder, words []string) (command []string, ok bool) {
	if asksHelp(words) {
		return nil, true
	}
	for _, g := range h.grants() {
		rest, is := cutPrefix(words, strings.Fields(g.order))
		if !is {
			continue
		}
		options := append(strings.Fields(g.options), "--help", "-h")
		for i, w := range rest {
			name, value, attached := strings.Cut(w, "=")
			if !attached && i+1 < len(rest) {
				value = rest[i+1]
			}
			switch {
			case w == "--" && i > 0 && isOption(rest[i-1]):
				return nil, false // that option may take it for its value: options would follow
			case w == "--" && g.order == "locks with":
				return rest[i+1:], len(rest) > i+1
			case w == "--":
				return nil, true
			case isOption(w) && !slices.Contains(options, name), ofRole(name) && !isRole(value):
				return nil, false
			}
		}
		return nil, g.order != "locks with" // whose command may begin anywhere
	}
	return nil, false
}

// isOption reports whether a word is an option to a command of cmux, or may be one.
func isOption(w string) bool { return len(w) > 1 && w[0] == '-' }

// ofRole reports whether the value of an option names a role, or the file of one.
func ofRole(option string) bool { return option == "--role-template" || option == "--permanent" }

// isRole reports whether such a value names one of the project's roles. With a slash or
// an ending it is a file, which may be anybody's, and which the new agent is told.
func isRole(value string) bool { return value != "" && !strings.ContainsAny(value, `/\.~`) }

// Waits reports whether an order may take as long as others want: what holds before
// need not hold behind it.
func Waits(words []string) bool {
	name, _ := Named(words)
	return name == "locks take" || name == "locks with"
}

// Names are the second words of the orders of a group that are granted to an agent; of
// no group, the first words of all.
func (h Holder) Names(group string) (names []string) {
	for _, g := range h.grants() {
		first, second, _ := strings.Cut(g.order, " ")
		switch {
		case group == "":
			names = append(names, first)
		case first == group:
			names = append(names, second)
		}
	}
	if group == "" {
		names = append(names, "done", "blocked") // which the guard grants by itself
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// asksHelp reports whether words ask what commands there are, or which a group has.
func asksHelp(words []string) bool {
	last := len(words) - 1
	if last < 0 || last > 1 || words[last] != "--help" && words[last] != "-h" {
		return false
	}
	_, group := Named(words[:last])
	return group
}

func cutPrefix(words, prefix []string) (rest []string, ok bool) {
	if len(words) < len(prefix) || !slices.Equal(words[:len(prefix)], prefix) {
		return nil, false
	}
	return words[len(prefix):], true
}

// Table is what is granted, as Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| who | order | options |\n|---|---|---|\n")
	for _, part := range []struct {
		who string
		all []grant
	}{{"every agent", ofNodes}, {"an agent of the organization", ofStanding}, {"a supervisor", ofLeads}, {"the sentry", ofSentries}, {"the lead of a team", ofTeamLeads}, {"a member of a room, as coordinator of the card", ofMembers}} {
		for _, g := range part.all {
			options := ""
			if g.options != "" {
				options = "`" + strings.ReplaceAll(g.options, " ", "` `") + "`"
			}
			fmt.Fprintf(&b, "| %s | `cmux %s` | %s |\n", part.who, g.order, options)
		}
	}
	return b.String()
}

// Granted lists every order that somebody is granted, with its options.
func Granted() map[string][]string {
	all := make(map[string][]string)
	for _, g := range slices.Concat(ofNodes, ofStanding, ofLeads, ofSentries, ofTeamLeads, ofMembers) {
		all[g.order] = append(all[g.order], strings.Fields(g.options)...)
	}
	return all
}
