package attempt

import (
	"slices"
	"testing"

	"cmux/agents/agent"
	"cmux/agents/endpoint"
	"cmux/agents/run"
	"cmux/dag"
)

// Who leads another project reads the keys of neither: not those of its own
// organisation, and not those of the project.
func TestPolicyOfAnotherProject(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	a := &attempt{
		job:   &Job{},
		node:  &dag.Node{Name: "site-lead", Role: dag.RoleBuild},
		stage: &agent.Stage{Dir: other},
		spec:  &run.Spec{Frame: &run.Frame{Root: root}, Member: &run.Member{Role: "project-supervisor", Dir: other}},
	}
	p := a.policy()
	if !p.Leads || p.Led == "" {
		t.Fatalf("it leads: %v, in %q", p.Leads, p.Led)
	}
	for _, dir := range []string{root, p.Led} {
		for _, secret := range append(endpoint.Secrets(dir), run.OrganisationDir(dir)) {
			if !slices.Contains(p.Private, secret) {
				t.Errorf("%s is not private: %q", secret, p.Private)
			}
		}
	}
}
