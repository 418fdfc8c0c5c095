package main

import (
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cmux/agents/org/standing"
	"cmux/agents/runs/mcp"
	"cmux/agents/runs/prompt"
	"cmux/agents/runs/run"
	"cmux/dag"
)

// A prompted is a kind of agent that is given a prompt.
type prompted struct {
	spec   func() *run.Spec
	member string   // its role in the organization; "": a node's agent
	not    []string // what must not be said to it
	must   []string
}

const promptedAt, promptedBase = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// specOf is the spec of an attempt of a role, in a worktree or not.
func specOf(role dag.Role, tree string) func() *run.Spec {
	return func() *run.Spec {
		s := &run.Spec{Node: "n", Attempt: 2, Def: &dag.Node{Name: "n", Agent: "claude", Role: role, Task: "Do it.", Verify: []string{"make test"},
			VerifyTimeout: dag.Duration(time.Minute), Outputs: []string{"PORT"}, Context: []string{"docs/"}},
			Place:        run.Place{Dir: "/p/shop", Tree: tree, Commit: promptedAt, PortBase: 20060},
			Dependencies: []run.Dependency{{Name: "d", Label: dag.Label{State: dag.NodeDone}, Branch: "shop/d", Tip: promptedBase, Summary: "Made it."}},
			Past:         prompt.Past([]run.Attempt{{N: 1, End: &run.End{Outcome: dag.Failed, Exit: 1}}}, 2)}
		if s.Def.HasBranch() {
			s.Def.Scope = []string{"src/"}
			if tree != "" {
				s.Place.Branch = "shop/n"
			}
		}
		return s
	}
}

// ofMember is the spec of a task of an agent that stays.
func ofMember(spec func() *run.Spec, role string) func() *run.Spec {
	return func() *run.Spec {
		s := spec()
		s.Member, s.Dependencies, s.Past, s.Def.Outputs = &run.Member{Name: "n", Role: role}, nil, nil, nil
		return s
	}
}

func prompteds() map[string]prompted {
	reads := []string{"Commit in small steps", "is committed on", "You may change only", "your branch", "Build on them", "nothing was needed", "coding agent"}
	builds := []string{"You change nothing", "Verdict", "supervisor", "What to review", "Do not write in the project"}
	stays := []string{"You are n", "The agents that build on your work read", "Nobody follows this conversation"}
	return map[string]prompted{
		"build":           {spec: specOf(dag.RoleBuild, "/p/shop-n"), not: builds, must: []string{"a coding agent", "committed on shop/n", "only to the paths above"}},
		"merge":           {spec: specOf(dag.RoleMerge, "/p/shop-n"), not: builds, must: []string{"You finish a merge", "committed on shop/n"}},
		"review":          {spec: specOf(dag.RoleReview, ""), not: append(reads, "You may build and run it"), must: []string{"a reviewer", "read it through git", "Verdict:"}},
		"review checkout": {spec: specOf(dag.RoleReview, "/p/shop-n"), not: append(reads, "A person works there"), must: []string{"a reviewer", "You may build and run it"}},
		"worker": {spec: ofMember(specOf(dag.RoleBuild, "/p/shop-n"), standing.Worker), member: standing.Worker,
			not: append(builds, stays...), must: []string{"committed on shop/n"}},
		"shared": {spec: ofMember(specOf(dag.RoleBuild, ""), standing.Worker), member: standing.Worker,
			not: append(append(builds, stays...), "your own git worktree", "is committed on", "All worktrees share"), must: []string{"which you share"}},
		"answer": {spec: ofMember(specOf(dag.RoleReview, "/p/shop-n"), standing.Worker), member: standing.Worker,
			not: append(append(reads, stays...), "Verdict"), must: []string{"asks for an answer"}},
		"supervisor": {spec: ofMember(specOf(dag.RoleBuild, ""), standing.Supervisor), member: standing.Supervisor,
			not: append(stays, "You change nothing", "your own git worktree", "is committed on", "You may change only", "what you left out", "Commit "), must: []string{"You lead this task"}},
		"session": {spec: ofMember(specOf(dag.RoleBuild, ""), standing.ProjectSupervisor), member: standing.ProjectSupervisor,
			not: append(stays, "You change nothing", "is committed on"), must: []string{"You lead this task"}},
	}
}

// The prompt of each role names commands that it may give, tools that it has, and
// promises what happens.
func TestPromptsFitTheirRole(t *testing.T) {
	for name, p := range prompteds() {
		for _, tool := range []string{"", "mcp__cmux__done"} {
			for _, unattended := range []bool{false, true} {
				s := p.spec()
				s.Headless, s.Terms.Unattended = unattended, unattended
				text := prompt.Compose(prompt.Input{Spec: s, Base: promptedBase, Tool: tool})
				called := name + ", tool " + tool
				if unattended {
					called += ", headless"
				}
				if namesCommandsThatWork(t, called, p.member, text) == 0 {
					t.Errorf("%s: names no command", called)
				}
				says(t, called, text, p.must, p.not)
				namesToolsThatAreThere(t, called, text, s, tool != "")
				wellFormed(t, called, text)
			}
		}
	}
}

func says(t *testing.T, name, text string, must, not []string) {
	t.Helper()
	for _, w := range must {
		if !strings.Contains(text, w) {
			t.Errorf("%s: does not say %q", name, w)
		}
	}
	for _, w := range not {
		if strings.Contains(text, w) {
			t.Errorf("%s: says %q", name, w)
		}
	}
}

// promises are what a prompt says of "blocked", by what the tool says of it.
var promises = map[string][]string{
	"It ends the task for you":         {"it ends for you"},
	"It ends your attempt as failed":   {"it ends your attempt as failed"},
	"A person's answer is the result:": {"A person answers in the result of the call", "answers you here"},
}

// namesToolsThatAreThere checks that the agent has the tools that its prompt names,
// and that both promise the same.
func namesToolsThatAreThere(t *testing.T, name, text string, s *run.Spec, tools bool) {
	t.Helper()
	env := map[string]string{}
	if s.Terms.Unattended {
		env["CMUX_UNATTENDED"] = "true"
	}
	if s.Member != nil {
		env["CMUX_AGENT"] = "true"
	}
	there := offered(t, env)
	named := regexp.MustCompile(`mcp__cmux__(\w+)`).FindAllStringSubmatch(text, -1)
	if tools != (len(named) > 0) {
		t.Errorf("%s: names %d tools", name, len(named))
	}
	for _, m := range named {
		if there[m[1]] == "" {
			t.Errorf("%s: names the tool %s; there are %q", name, m[1], slices.Sorted(maps.Keys(there)))
		}
	}
	for tool, words := range promises {
		promised := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
		if promised != strings.Contains(there["blocked"], tool) {
			t.Errorf("%s: promises %q of blocked: %v; the tool says %q", name, words, promised, there["blocked"])
		}
	}
}

// offered are the tools of an attempt with an environment, with what they say.
func offered(t *testing.T, env map[string]string) map[string]string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- mcp.Serve(ctx, func(name string) string { return env[name] }, in, out, "test") }()
	c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &sdk.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	tools := map[string]string{}
	for _, tool := range l.Tools {
		tools[tool.Name] = tool.Description
	}
	return tools
}

// wellFormed checks the order of the parts: the task first, the report last, no part
// empty, and nothing referred to that is not there.
func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	headings := regexp.MustCompile(`(?m)^## .*$`).FindAllString(text, -1)
	order := []string{"## Done when", "## What to review", "## Where you work", "## Work you build on", "## What the authors say", "## Earlier attempts", "## Rules", "## Report"}
	last := -1
	for _, h := range headings {
		i := slices.Index(order, h)
		if i <= last {
			t.Errorf("%s: the part %q is unknown or out of order: %q", name, h, headings)
		}
		last = i
	}
	if last != len(order)-1 || strings.Index(text, "<task>") > strings.Index(text, "\n## ") {
		t.Errorf("%s: the task is not first, or the report not last: %q", name, headings)
	}
	if empty := regexp.MustCompile(`(?m)^## .*\n+(## |\z)`).FindString(text); empty != "" {
		t.Errorf("%s: the part %q is empty", name, empty)
	}
	if strings.Contains(text, `under "Done when"`) && !strings.Contains(text, "## Done when") {
		t.Errorf("%s: refers to a part that is not there", name)
	}
}
