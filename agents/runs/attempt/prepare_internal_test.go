package attempt

import (
	"slices"
	"testing"

	"cmux/agents/kinds/agent"
	"cmux/agents/kinds/rights"
	"cmux/agents/platform/endpoint"
	"cmux/agents/runs/attempt/workspace"
	"cmux/agents/runs/owner"
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
		spec:  &run.Spec{Frame: &run.Frame{Root: root}, Terms: owner.Terms{Stays: true, Rights: rights.Holder{Stays: true, Leads: true}}},
		place: run.Place{Dir: other},
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
