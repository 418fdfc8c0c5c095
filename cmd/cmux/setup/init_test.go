package setup

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"cmux/agents/control/project"
	"cmux/agents/platform/say"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

// What is wrong with a field is known when it is left, from the parser itself.
func TestFields(t *testing.T) {
	a := answers{Agents: []agentAnswer{{Name: "build-it"}, {Name: "build"}}}
	for name, want := range map[string]string{"api": "", "API-2": "", "build": "already", "Build": "already", "a b": "not allowed", "": "", "env": "taken by a file of cmux", strings.Repeat("x", 200): "at most"} {
		if err := a.nameFault(name); name == "" && err == nil || name != "" && (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("name %q: %v, want %q", name, err, want)
		}
	}
	for task, want := range map[string]string{
		"Serve the product catalog: GET /items": "serve-the-product", "build it!": "build-it-2", "": "build-2", "日本語": "build-2",
	} {
		if got := a.proposed(task, "build"); got != want {
			t.Errorf("for %q it proposes %q, want %q", task, got, want)
		}
	}
	if err := faultOf(answers{Session: "a b", Agents: probes}); err == nil || !strings.Contains(err.Error(), "session") {
		t.Errorf("a session with a space: %v", err)
	}
	if err := faultOf(answers{Session: "s", Agents: []agentAnswer{{Name: "a", Task: "x", Branch: "a..b"}}}); err == nil {
		t.Error("a branch that git does not take is taken")
	}
	if faultOf(answers{Session: "s", Agents: []agentAnswer{{Name: "a", Task: "x", Scope: "/etc"}}}) == nil || taskFault("build", " ") == nil || taskFault("gate", "") != nil {
		t.Error("a scope outside, a build without a task or a gate with one")
	}
}

func TestParseAgent(t *testing.T) {
	for s, want := range map[string]agentAnswer{
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
		if got := sessionName(dir); got != want {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
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
		a := answers{Session: session, WorktreeBase: "..", MainPane: true, Verify: verify,
			Agents: []agentAnswer{{Name: name, Task: task, Branch: branch}}}
		g, _, err := dag.Parse("x.yml", []byte(compose(a, dag.SchemaPath)), dag.ParseOptions{})
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

func TestIssueName(t *testing.T) {
	for title, want := range map[string]string{
		"Fix the login":          "7-fix-the-login",
		"日本語":                    "issue-7",
		"../../etc: rm -rf $(x)": "7-etc-rm-rf-x",
		"A very long title that says everything twice": "7-a-very-long-title-that-says",
		strings.Repeat("x", 80):                        "7-" + strings.Repeat("x", maxSlug),
		"exactly thirty-two letters in it":             "7-exactly-thirty-two-letters-in-it",
	} {
		if got := (&issue{Number: 7, Title: title}).name(); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// FuzzIssue holds that an issue, whatever stands in it, becomes a node that can
// be read, whose task has all of it.
func FuzzIssue(f *testing.F) {
	f.Add(12, "Fix: the #login", "- a: b\n\n\t```yaml\n\tkey: [x\n```\n% & * ! | > ' \" ` @\n--- \n...\n", "bug")
	f.Add(1, " x", "    indented\r\nsecond\r\n", "a, b")
	f.Add(2, "\x1b[31mred", "\x00\u2028\u0085\ufeff no\u00a0break 👩\u200d💻", "")
	f.Add(3, "t", "   \n \n\n", "")
	f.Add(4, "?", "\n  first\n\tsecond\n", "")
	f.Fuzz(func(t *testing.T, number int, title, body, label string) {
		i := &issue{Number: max(1, number), Title: title, Body: body, URL: "https://example.com/i/1"}
		i.Labels = append(i.Labels, struct {
			Name string `json:"name"`
		}{label})
		one, two := i.agent(), (&issue{Number: i.Number ^ 1, Title: title, URL: "x"}).agent()
		if i.Number == 1 {
			two.Name = "other"
		}
		text := compose(answers{Session: "s", WorktreeBase: "..", MainPane: true, Kind: "claude", Agents: []agentAnswer{one, two}}, dag.SchemaPath)
		g, _, err := dag.Parse("x.yml", []byte(text), dag.ParseOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		n := &g.Nodes[0]
		if n.Name != one.Name || n.Task != one.Task || n.Agent != "claude" || n.Branch != "s/"+one.Name {
			t.Errorf("%+v became %+v", one, n)
		}
		if b := tidy(body); b != "" && !strings.Contains(n.Task, "\n\n"+b+"\n\n") {
			t.Errorf("the task lacks the body %q: %q", b, n.Task)
		}
		if !strings.Contains(n.Task, i.URL) || !strings.HasPrefix(n.Task, say.Line(title)) {
			t.Errorf("the task lacks the title or the address: %q", n.Task)
		}
	})
}
