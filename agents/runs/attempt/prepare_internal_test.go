package attempt

import (
	"slices"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/platform/endpoint"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// Who leads another project reads the keys of neither: not those of its own
// organization, and not those of the project.
func TestPolicyOfAnotherProject(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	a := assignment{
		node:  &dag.Node{Name: "site-lead", Role: dag.RoleBuild},
		stage: &agent.Stage{Dir: other},
		spec:  &run.Spec{Frame: &run.Frame{Root: root}, Member: &run.Member{Role: "project-supervisor", Dir: other}},
	}
	p := a.policy(workspace.Scopes{})
	if !p.Leads || p.Led == "" {
		t.Fatalf("it leads: %v, in %q", p.Leads, p.Led)
	}
	for _, dir := range []string{root, p.Led} {
		for _, secret := range append(endpoint.Secrets(dir), run.OrganizationDir(dir)) {
			if !slices.Contains(p.Private, secret) {
				t.Errorf("%s is not private: %q", secret, p.Private)
			}
		}
	}
}

// What cmux tells a standing agent to read it may read without a question, wherever
// its worktree is: its context, its role, the memory, and the files of messages.
func TestDocumentsOfStandingAgent(t *testing.T) {
	for _, c := range []struct {
		name   string
		member run.Member
		want   []string
	}{
		{"worker", run.Member{Context: "/p/.cmux/worker-contexts/api-context.md", RoleFile: "/p/.cmux/roles/backend.md"},
			[]string{"/p/MEMORY.md", "/p/.cmux/journal/", "/p/.cmux/worker-contexts/api-context.md", "/p/.cmux/roles/backend.md"}},
		{"no role", run.Member{Context: "/p/c.md"}, []string{"/p/MEMORY.md", "/p/.cmux/journal/", "/p/c.md"}},
		{"supervisor", run.Member{Role: "supervisor"}, []string{"/p/MEMORY.md", "/p/.cmux/journal/"}},
		{"neither", run.Member{}, []string{"/p/MEMORY.md", "/p/.cmux/journal/"}},
	} {
		if got := documents(&c.member, "/p"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}
