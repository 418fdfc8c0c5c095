package org

import (
	"strings"
	"testing"
	"time"

	"cmux/agents/control/crew"
	"cmux/agents/control/logs"
	"cmux/agents/control/overview"
	"cmux/agents/testkit/agenttest/golden"
	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/cli/clitest"
)

func TestRenderOrg(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	since := noon.Add(-3 * time.Minute)
	agent := func(name, role, state, detail string) overview.AgentReport {
		return overview.AgentReport{Name: name, ID: "ag_00000000", Role: role, Kind: "claude", State: state, Detail: detail, Since: &since, Dir: "/w/shop-" + name}
	}
	api := agent("api", "worker", "working", "")
	api.Branch, api.Task, api.TaskSince, api.Supervisor = "cmux-shop/api", "t-12", &since, "supervisor"
	web := agent("web", "worker", "idle", "")
	web.Waiting, web.Hinders = []string{"m1", "m2"}, "its input line holds a draft"
	r := &overview.OrgReport{State: overview.OrgRunning, Session: "cmux-shop", Integration: "main", Runs: []overview.RunBrief{{ID: "r1", Session: "shop", State: "running", Done: 2, Nodes: 5, NeedYou: []string{"reader", "writer"}}, {ID: "r2", Session: "docs", State: "no runner", Nodes: 1, NeedYou: []string{"look"}}},
		Agents: []overview.AgentReport{agent("supervisor", "supervisor", "idle", ""), api, web, agent("perm-x", "permanent-worker", "needs input", "which\ncolour?"), agent("dan", "worker", "working", "waits for 1 background command")}}
	needs := []overview.Need{{Kind: overview.NeedAgent, Name: "perm-x"}, {Kind: overview.NeedFailure, Name: "b", Label: "failed (exit 3)", Try: "cmux agents retry b"}, {Kind: overview.NeedReview, Name: "a", Label: "to review", Try: "cmux agents review a"}}
	text := (&orgStatus{r, needs, 4, nil}).render(noon, cli.Look{})
	r.State = overview.OrgNoMonitor
	text += "\n---\n" + renderOrg(r, noon, cli.Look{Width: 50})
	text += "\n---\n" + renderOrg(&overview.OrgReport{State: overview.OrgNone}, noon, cli.Look{})
	text += "\n---\n" + renderAgent(&api, noon) + "\n---\n" + renderAgent(&web, noon)
	golden.Equal(t, "org.golden", text)
}

// The table says when an agent that met the limit of its account goes on.
func TestRenderLimited(t *testing.T) {
	until := time.Date(2026, 3, 1, 14, 30, 0, 0, time.Local)
	utc := until.UTC()
	a := overview.AgentReport{Name: "api", Role: "worker", Kind: "claude", State: "limited", Until: &utc}
	if got := renderAgents([]overview.AgentReport{a}, until, cli.Look{}); !strings.Contains(got, "limited until 14:30") {
		t.Error(got)
	}
}

func TestOrgOptions(t *testing.T) {
	clitest.Flags(t, newSpawnCmd, func(o *spawnOptions) crew.Spawn { return o.Spawn }, map[string]crew.Spawn{
		"api":                              {Name: "api"},
		"api task --role-template backend": {Name: "api", Task: "task", Role: "backend"},
		"perm-x --permanent infra --dir d --agent codex --model m --project p --display-name X": {Name: "perm-x", Permanent: "infra", Dir: "d", Kind: "codex", Model: "m", Project: "p", Display: "X"},
		"api --worktree --branch b": {Name: "api", Branch: "b"},
	})
	clitest.Flags(t, newKillCmd, func(o *killOptions) bool { return o.Force }, map[string]bool{"api": false, "api --force": true})
	clitest.Flags(t, newOrgStartCmd, func(o *orgStartOptions) [3]bool { return [3]bool{o.Detach, o.Yes, o.StartOrg.Env} }, map[string][3]bool{
		"": {}, "-d -y": {true, true, false}, "--env": {false, false, true}})
	clitest.Flags(t, newOrgStopCmd, func(o *orgStopOptions) bool { return o.Runs }, map[string]bool{"": false, "--runs": true})
	clitest.Flags(t, newOrgAttachCmd, func(o *orgAttachOptions) string { return o.Name }, map[string]string{"": "", "api": "api"})
	clitest.Flags(t, newOrgLogsCmd, func(o *orgLogsOptions) logs.Log { return o.Log }, map[string]logs.Log{"api -f -n 3": {Node: "api", Follow: true, Tail: 3}})
	clitest.Flags(t, newWorkerAnswerCmd, func(o *workerAnswerOptions) string { return o.Text }, map[string]string{"api the second": "the second"})
	clitest.Flags(t, newOrgStatusCmd, func(o *orgStatusOptions) bool { return o.Watch }, map[string]bool{"--watch": true})
	for _, line := range []string{"", "api task more", "api --dir d --worktree"} {
		if o, err := clitest.Parsed(newSpawnCmd, line); err == nil || o != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
}
