package setup

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/control/draft"
	"cmux/agents/control/project"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

// What is wrong with a field is known when it is left, from the parser itself.
func TestFields(t *testing.T) {
	a := draft.Draft{Agents: []draft.Node{{Name: "build-it"}, {Name: "build"}}}
	for name, want := range map[string]string{"api": "", "API-2": "", "build": "already", "Build": "already", "a b": "not allowed", "": "", "env": "taken by a file of cmux", strings.Repeat("x", 200): "at most"} {
		if err := nameFault(&a, name); name == "" && err == nil || name != "" && (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("name %q: %v, want %q", name, err, want)
		}
	}
	for task, want := range map[string]string{
		"Serve the product catalog: GET /items": "serve-the-product", "build it!": "build-it-2", "": "build-2", "日本語": "build-2",
	} {
		if got := proposed(&a, task, "build"); got != want {
			t.Errorf("for %q it proposes %q, want %q", task, got, want)
		}
	}
	if err := faultOf(draft.Draft{Session: "a b", Agents: probes}); err == nil || !strings.Contains(err.Error(), "session") {
		t.Errorf("a session with a space: %v", err)
	}
	if err := faultOf(draft.Draft{Session: "s", Agents: []draft.Node{{Name: "a", Task: "x", Branch: "a..b"}}}); err == nil {
		t.Error("a branch that git does not take is taken")
	}
	if faultOf(draft.Draft{Session: "s", Agents: []draft.Node{{Name: "a", Task: "x", Scope: "/etc"}}}) == nil || taskFault("build", " ") == nil || taskFault("gate", "") != nil {
		t.Error("a scope outside, a build without a task or a gate with one")
	}
}

func TestParseAgent(t *testing.T) {
	for s, want := range map[string]draft.Node{
		"api":                                  {Name: "api"},
		"api:after=a,b:role=review":            {Name: "api", After: "a,b", Role: "review"},
		"api:branch=f/x:kind=command:task=a:b": {Name: "api", Branch: "f/x", Kind: "command", Task: "a:b"},
		"ok:role=gate:approve=code":            {Name: "ok", Role: "gate", Approve: "code"},
		"api:task=x=1:role=gate":               {Name: "api", Task: "x=1:role=gate"},
	} {
		got, err := parseAgent(s)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", ":task=x", "api:", "api:role", "api:color=red"} {
		if _, err := parseAgent(s); !errors.Is(err, project.ErrUsage) {
			t.Errorf("%q: %v, want an error of usage", s, err)
		}
	}
}

func TestSessionName(t *testing.T) {
	for dir, want := range map[string]string{"/a/shop": "shop", "/a/my shop.git": "my-shop-git", "/a/日本": "agents", "/": "agents"} {
		if got := draft.SessionName(dir, []string{"main"}); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
	if got := draft.SessionName("/a/main", []string{"main", "main-2"}); got != "main-3" {
		t.Errorf("%q beside the branches main and main-2", got)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// FuzzCompose holds that whatever is answered is what the configuration says,
// or that the configuration is refused.
func FuzzCompose(f *testing.F) {
	f.Add("shop", "api", "make build", "feature/x", "go test ./...")
	f.Add("shop", "a", "echo \"a: b\"\n# no comment\n- x", "", "")
	f.Add("yes", "null", "true", "1e3", "~")
	f.Add("s", "a", "t", "\xe9", "\xe9")
	f.Add("s", "a", "\u2028\x85\ufeff`$(id)` 😀", "b", "'")
	f.Fuzz(func(t *testing.T, session, name, task, branch, verify string) {
		a := draft.Draft{Session: session, WorktreeBase: "..", MainPane: true, Verify: verify,
			Agents: []draft.Node{{Name: name, Task: task, Branch: branch}}}
		g, _, err := dag.Parse("x.yml", []byte(a.Compose(dag.SchemaPath)), dag.ParseOptions{})
		if err != nil {
			return
		}
		n := &g.Nodes[0]
		if g.Session != session || n.Name != name || n.Task != strings.ToValidUTF8(task, "\ufffd") || branch != "" && n.Branch != strings.ToValidUTF8(branch, "\ufffd") {
			t.Errorf("%+v became session %q, node %+v", a, g.Session, n)
		}
		if verify != "" && !reflect.DeepEqual(n.Verify, []string{strings.ToValidUTF8(verify, "\ufffd")}) {
			t.Errorf("verify %q became %q", verify, n.Verify)
		}
	})
}
