package setup

import (
	"testing"

	"cmux/agents/control/draft"
	"cmux/cmd/cmux/cli/clitest"
)

func TestInitOptions(t *testing.T) {
	plain := draft.Draft{WorktreeBase: "..", MainPane: true}
	clitest.Flags(t, NewInitCmd, func(o *initOptions) initOptions {
		c := *o
		c.IO, c.Project = nil, nil
		return c
	}, map[string]initOptions{
		"":                                       {Draft: plain},
		"--agent a --agent b:task=x --force":     {Draft: plain, agents: []string{"a", "b:task=x"}, force: true},
		"--from-issues 1,2 --config f --verify=": {Draft: plain, issues: "1,2", config: "f", verifyGiven: true},
	})
}

func TestDoctorOptions(t *testing.T) {
	clitest.Flags(t, NewDoctorCmd, func(o *doctorOptions) bool { return o.JSON }, map[string]bool{"": false, "--json": true})
}
