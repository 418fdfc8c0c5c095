package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"cmux/agents/control/orders"
	"cmux/agents/kinds"
	"cmux/agents/kinds/rights"
	"cmux/agents/org/standing"
	"cmux/agents/org/team"
	"cmux/agents/runs/run"
	"cmux/cmd/cmux/cli"
)

// What the roles of a new project tell agents to call, they may call, and cmux
// takes it as it is written.
func TestRolesNameCommandsThatWork(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".cmux"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := standing.WriteRoles(root); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, role := range standing.Roles() {
		b, err := os.ReadFile(standing.RolePath(root, role))
		if err != nil {
			t.Fatal(err)
		}
		found += namesCommandsThatWork(t, role, role, string(b))
	}
	if found < 20 {
		t.Errorf("the roles name %d commands", found)
	}
}

// What the watch writes names commands that its reader may give.
func TestWatchNamesCommandsThatWork(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "server", "watchdog", "testdata", "texts.txt"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for text := range strings.SplitSeq(string(b), "===== ") {
		role, _, _ := strings.Cut(text, ":")
		if role != "user" { // who may give all
			found += namesCommandsThatWork(t, text, role, text)
		}
	}
	if found < 15 {
		t.Errorf("the watch names %d commands", found)
	}
}

// members are the kinds of agents that stay, as their context is written for them.
func members() map[string]run.Member {
	worker := run.Member{ID: "ag_1", Name: "api", Role: standing.Worker, Supervisor: "supervisor", Dir: "/p/shop-api", Tree: "/p/shop-api", Branch: "cmux/api"}
	shared, perm, clone, first := worker, worker, worker, worker
	shared.Dir, shared.Tree, shared.Branch = "/p/shop", "", ""
	perm.Role, perm.Permanent, perm.RoleFile = standing.PermanentWorker, true, "/p/shop/.cmux/roles/backend.md"
	clone.Role, clone.CloneOf, clone.CloneFrom = standing.Clone, "web", "task/t1"
	first.TeamLead, first.Team = true, "squad"
	return map[string]run.Member{
		"worker": worker, "shared": shared, "permanent": perm, "clone": clone, "team lead": first,
		"supervisor": {ID: "ag_2", Name: "supervisor", Role: standing.Supervisor, Dir: "/p/shop"},
		"session":    {ID: "ag_3", Name: "sup-auth", Role: standing.ProjectSupervisor, Supervisor: "supervisor", Session: "shop-auth", Dir: "/p/shop"},
		"project":    {ID: "ag_4", Name: "sup-web", Role: standing.ProjectSupervisor, Supervisor: "supervisor", Project: "web", Dir: "/p/web"},
		"sentry":     {ID: "ag_5", Name: "sentry", Role: standing.Sentry, Dir: "/p/shop"},
	}
}

// An agent's context fits its role.
func TestContextsFitTheirRole(t *testing.T) {
	forbidden := map[string][]string{
		"supervisor": {"Commit ", "ommit your", "with a branch", "You are a clone", "gives you work", "worktree, cmux"},
		"session":    {"Commit ", "ommit your", "with a branch", "gives you work"},
		"project":    {"Commit ", "ommit your", "with a branch", "gives you work"},
		"sentry":     {"Commit ", "gives you work", "own git worktree", "You answer to"},
		"worker":     {"which you share", "You answer to", "You stay after", "You lead", "talks to you"},
		"shared":     {"own git worktree", "the task's branch", "You answer to"},
		"permanent":  {"which you share", "You answer to", "You lead"},
		"clone":      {"which you share", "You answer to"},
	}
	for name, m := range members() {
		text, err := standing.ContextText(&m, "/p/shop", "shop", "main")
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(text), "Your area is backend;"); has != (name == "permanent") {
			t.Errorf("the context of %s names an area: %v", name, has)
		}
		for _, w := range forbidden[name] {
			if strings.Contains(string(text), w) {
				t.Errorf("%s is told %q", name, w)
			}
		}
		role := m.Role
		if m.TeamLead {
			role = teamLead
		}
		namesCommandsThatWork(t, name, role, string(text))
	}
}

// teamLead is the role of a worker that leads a team.
const teamLead = "team lead"

// What the members of each team are told to call, they may call.
func TestTeamRolesNameCommandsThatWork(t *testing.T) {
	for _, x := range append(team.Templates(), team.Core()) {
		said := team.Said{Team: x.Name, Boss: "supervisor", Debate: x.Debate, Permanent: x.Name == "core"}
		for _, m := range x.Members {
			said.Mates = append(said.Mates, team.Mate{Name: x.Name + "-" + m.Role, Member: m})
		}
		for _, said.Me = range said.Mates {
			role := standing.Worker
			if said.Me.Lead {
				role = teamLead
			}
			text := team.Role(said)
			if namesCommandsThatWork(t, said.Me.Name, role, text) < 2 || !strings.Contains(text, "report with the tool `done`") {
				t.Errorf("%s is not told how to report:\n%s", said.Me.Name, text)
			}
		}
	}
}

// namesCommandsThatWork checks the commands that a text names: they are there, the
// role may give them, and none opens a dialog. It returns how many there are.
func namesCommandsThatWork(t *testing.T, name, role, text string) (found int) {
	t.Helper()
	leads := role == standing.Supervisor || role == standing.ProjectSupervisor
	holder := rights.Holder{Stays: true, Leads: leads, Sentry: role == standing.Sentry, TeamLead: role == teamLead}
	quoted := regexp.MustCompile("(?s)`(cmux [^`]*)`")
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		found++
		line := strings.Join(strings.Fields(m[1]), " ")
		words, err := shell.Fields(line, nil)
		if err != nil {
			t.Errorf("%s: %s: %v", name, line, err)
			continue
		}
		if words[1] == "help" {
			continue
		}
		cmd, rest, err := newRoot(&cli.Deps{Kinds: kinds.All()}).Find(words[1:])
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err == nil && len(rest) > 0 { // else it is only named
			err = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: %s: %v", name, line, err)
			continue
		}
		o, ok := cli.OrderOf(cmd, cmd.Flags().Args())
		mine := !orders.IsPersons(o) || leads && orders.IsLeaders(o) || role == standing.Sentry && orders.IsSentrys(o) || role == teamLead && rights.IsTeamLeads(o.Name)
		if !ok || !mine {
			t.Errorf("%s: %s: it is told an order that is not its to give", name, line)
		}
		if _, granted := rights.Grants(holder, words[1:]); !granted && o.Name != "done" && o.Name != "blocked" && o.Name != "agents start" {
			t.Errorf("%s: %s: it opens a dialog", name, line)
		}
	}
	return found
}
