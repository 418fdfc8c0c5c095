package standing

import (
	"slices"
	"testing"

	"cmux/agents/kinds/rights"
	"cmux/agents/runs/run"
)

// What an agent must keep, may order and may read follows from what it was made as, and
// cmux may read without a question what it tells an agent to read.
func TestTerms(t *testing.T) {
	o := &Org{Run: &run.Run{Plan: run.Plan{Root: "/p"}}}
	shared := []string{"/p/MEMORY.md", "/p/.cmux/journal/"}
	for _, c := range []struct {
		member run.Member
		keeps  bool // else it leads, and its journal tells of compactions
		sits   bool
		asks   string
		rights rights.Holder
		files  []string // beside shared
	}{
		{run.Member{Role: Worker, Supervisor: "sup-auth", Context: "/p/c.md", RoleFile: "/p/r.md"}, true, true, "sup-auth", rights.Holder{Stays: true}, []string{"/p/c.md", "/p/r.md"}},
		{run.Member{Role: PermanentWorker, TeamLead: true, Context: "/p/c.md"}, true, true, "supervisor", rights.Holder{Stays: true, TeamLead: true}, []string{"/p/c.md"}},
		{run.Member{Role: "clone"}, true, true, "supervisor", rights.Holder{Stays: true}, nil},
		{run.Member{Role: Supervisor, Supervisor: "user"}, false, false, "user", rights.Holder{Stays: true, Leads: true}, nil},
		{run.Member{Role: ProjectSupervisor}, false, false, "supervisor", rights.Holder{Stays: true, Leads: true}, nil},
		{run.Member{Role: Sentry}, false, false, "supervisor", rights.Holder{Stays: true, Sentry: true}, nil},
	} {
		got := o.terms(&c.member)
		if !got.Stays || got.Group != "workers" || got.Unattended || got.Keeps != c.keeps || got.Journals == c.keeps || got.Sits != c.sits || got.Asks != c.asks || got.Rights != c.rights || !slices.Equal(got.Documents, append(slices.Clone(shared), c.files...)) {
			t.Errorf("%s: %+v", c.member.Role, got)
		}
	}
}
