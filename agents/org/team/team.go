// Package team says what teams there are and what their members are told.
//
// A Template names the members of a team and who leads; a Profile is what a scan of a
// project's files and history found; Role makes of the two the text of a member's role
// file, which a person may edit. All of it is pure.
package team

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Template is a kind of team.
type Template struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Members []Member `json:"members"`
	Debate  bool     `json:"debate,omitempty"` // all but the lead write proposals, and the lead decides
}

// Member is a place in a team.
type Member struct {
	Role  string `json:"role"`
	About string `json:"about,omitempty"` // what is special about it; empty: what its role says
	Lead  bool   `json:"lead,omitempty"`
	Agent string `json:"agent,omitempty"` // kind of its program; empty: that of workers
	Model string `json:"model,omitempty"`
}

// Templates are those that every project has.
func Templates() []Template {
	return []Template{
		{Name: "solo", About: "one worker, for a focused task", Members: []Member{{Role: "worker"}}},
		{Name: "squad", About: "a lead and four specialists, for a feature through all layers", Members: []Member{{Role: "lead", Lead: true}, {Role: "frontend"}, {Role: "backend"}, {Role: "tester"}, {Role: "docs"}}},
		{Name: "feature", About: "a technical lead, backend and frontend, for an ordinary feature", Members: []Member{{Role: "tech-lead", Lead: true}, {Role: "backend"}, {Role: "frontend"}}},
		{Name: "platform", About: "a platform lead, infrastructure and operations", Members: []Member{{Role: "platform-lead", Lead: true}, {Role: "infra"}, {Role: "devops"}}},
		{Name: "tiger", About: "three peers without a lead, for an urgent repair", Members: []Member{{Role: "finder"}, {Role: "fixer"}, {Role: "tester"}}},
		{Name: "debate", About: "a defender and a critic write proposals side by side, and a judge decides", Debate: true, Members: []Member{{Role: "judge", Lead: true}, {Role: "defender"}, {Role: "critic"}}},
	}
}

// Core are the permanent workers that a project begins with.
func Core() Template {
	return Template{Name: "core", About: "frontend, backend and infrastructure, as permanent workers to begin with", Members: []Member{{Role: "frontend"}, {Role: "backend"}, {Role: "infra"}}}
}

// Lead is the member that leads; nil: they are peers.
func (t *Template) Lead() *Member {
	if i := slices.IndexFunc(t.Members, func(m Member) bool { return m.Lead }); i >= 0 {
		return &t.Members[i]
	}
	return nil
}

// MaxMembers bounds a team.
const MaxMembers = 12

// NamePattern is what the name of a team and of a role look like.
const NamePattern = `^[a-z0-9][a-z0-9-]{0,39}$`

// Check says why a template is none.
func (t *Template) Check() error {
	name := regexp.MustCompile(NamePattern)
	seen, leads := map[string]bool{}, 0
	for _, m := range t.Members {
		switch {
		case !name.MatchString(m.Role):
			return fmt.Errorf("%.40q is no role: use small letters, digits and -", m.Role)
		case seen[m.Role]:
			return fmt.Errorf("two members have the role %s", m.Role)
		case m.Lead:
			leads++
		}
		seen[m.Role] = true
	}
	switch {
	case !name.MatchString(t.Name):
		return fmt.Errorf("%.40q is no name for a team: use small letters, digits and -", t.Name)
	case len(t.Members) == 0 || len(t.Members) > MaxMembers:
		return fmt.Errorf("the team %s has %d members: want 1 to %d", t.Name, len(t.Members), MaxMembers)
	case leads > 1:
		return fmt.Errorf("the team %s has %d leads: one leads, or nobody", t.Name, leads)
	case t.Debate && (leads != 1 || len(t.Members) < 3):
		return fmt.Errorf("the debate %s needs a lead, who decides, and two others", t.Name)
	}
	return nil
}

// Called is a name for a team that works on something.
func Called(task string) string {
	words := regexp.MustCompile(`[a-z0-9]+`).FindAllString(strings.ToLower(task), -1)
	words = slices.DeleteFunc(words, func(w string) bool {
		return slices.Contains([]string{"the", "a", "an", "to", "and", "of", "for", "in", "on"}, w)
	})
	name := ""
	for _, w := range words[:min(3, len(words))] {
		if len(name)+len(w) < 24 {
			name = strings.TrimPrefix(name+"-"+w, "-")
		}
	}
	if name == "" {
		return "team"
	}
	return name
}

// Mate is a member of a team that has a name.
type Mate struct {
	Name string
	Member
}

// Said is what is made a role file of.
type Said struct {
	Team      string
	Me        Mate
	Mates     []Mate // all of the team, the lead too
	Boss      string // whom it reports to
	Permanent bool
	Debate    bool
	Profile   Profile
}

// roles holds the instructions for the members of each role.
var roles = map[string][]string{
	"lead":          leads,
	"tech-lead":     append([]string{"You decide how the parts fit: interfaces first, in writing, before anybody builds on them."}, leads...),
	"platform-lead": append([]string{"What you change runs for everybody: small steps, each with a way back."}, leads...),
	"worker":        {"Read the task, then the code around it, before you change anything.", "Stay within the task; what else you find, report."},
	"frontend":      {"You know the user interface: its components, its state, its styles.", "Look at what you made, wide and narrow, empty and full, by keyboard too.", "What the server has to change for it, report; do not change it."},
	"backend":       {"You know the server: its routes, its data, its errors.", "Data that exists stays readable: migrations go forward and are tested.", "A change of an interface is told to those who use it before it is made."},
	"infra":         {"You know what starts, watches and deploys the rest.", "A script that fails half-way must be safe to run again.", "Try what you change where nobody is hurt first, and say how to undo it."},
	"devops":        {"You know builds, releases and machines.", "What is done twice by hand becomes a script; secrets stay out of the repository.", "Say what a change costs in time and money."},
	"tester":        {"You find what does not work, and prove it by a test that fails.", "Test what a person does, the edges, and what happens when parts fail.", "A test waits for facts, never for time."},
	"docs":          {"You write what a person needs to use the work: short, true, tried out.", "Run each command that you write down."},
	"finder":        {"Find the cause: reproduce it, narrow it down, show the evidence.", "Tell the others what you know as soon as you know it."},
	"fixer":         {"Make the smallest change that repairs it, with a way back.", "Say what you left for later."},
	"defender":      {"Propose what you would do, and defend it: what it gains, what it costs, what it needs.", "Meet the strongest objection, not the weakest."},
	"critic":        {"Propose another way, and say what is wrong with the first that comes to mind.", "Every objection names its consequence and how likely it is."},
	"judge":         {"Read all proposals before you form an opinion.", "Decide one way, and say why, what would change your mind, and what must be done first."},
}

var leads = []string{
	"You lead: take the task apart, give each member a part that can be checked, and bring the parts together.",
	"Add a task with `cmux tasks add`, and give it to a member with `cmux tasks assign ID NAME`. Two members that change the same files get in each other's way.",
	"Members report to you by message. When a part waits for you, answer it before anything else.",
}

// reports says how a member reports. Its task says more.
const reports = `
## Reports

Commit what you changed, then report with the tool ` + "`done` (fallback: `cmux done 'summary'`)" + `.
If you cannot finish, report ` + "`blocked` and say what you need (fallback: `cmux blocked 'reason'`)" + `.
`

// Role is the text of a member's role file.
func Role(s Said) string {
	var b strings.Builder
	kind := "a member"
	if s.Me.Lead {
		kind = "the lead"
	}
	fmt.Fprintf(&b, "# %s\n\nYou are %s, %s of the team %s. You report to %s.\n", title(s.Me.Role), s.Me.Name, kind, s.Team, s.Boss)
	if s.Me.About != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Me.About)
	}
	b.WriteString("\n## Your work\n\n")
	lines := roles[s.Me.Role]
	if lines == nil {
		lines = roles["worker"]
		if s.Me.Lead {
			lines = leads
		}
	}
	if s.Permanent {
		lines = append(slices.Clip(lines), "You stay after each task. Your conversation restarts now and then, so write down what you learn: `cmux journal add 'title' 'text'`.")
	}
	for _, l := range lines {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	if len(s.Mates) > 1 {
		b.WriteString("\n## Your team\n\n")
		for _, m := range s.Mates {
			switch {
			case m.Name == s.Me.Name:
			case m.Lead:
				fmt.Fprintf(&b, "- %s: %s, who leads\n", m.Name, m.Role)
			default:
				fmt.Fprintf(&b, "- %s: %s\n", m.Name, m.Role)
			}
		}
		b.WriteString("\nWrite to one of them with `cmux mailbox send NAME \"subject\" \"text\"`.\n")
	}
	if s.Debate {
		fmt.Fprintf(&b, "\nProposals are files: `proposals/%s/ROLE.md`, each on the branch of its own task.\n", s.Team)
	}
	b.WriteString(s.Profile.text())
	b.WriteString(reports)
	return b.String()
}

func title(role string) string {
	words := strings.ReplaceAll(role, "-", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}
