package draft

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cmux/agents/platform/say"
	"cmux/agents/testkit/agenttest/fuzzing"
	"cmux/dag"
)

func TestIssueName(t *testing.T) {
	for title, want := range map[string]string{
		"Fix the login":          "7-fix-the-login",
		"日本語":                    "issue-7",
		"../../etc: rm -rf $(x)": "7-etc-rm-rf-x",
		"A very long title that says everything twice": "7-a-very-long-title-that-says",
		strings.Repeat("x", 80):                        "7-" + strings.Repeat("x", maxSlug),
		"exactly thirty-two letters in it":             "7-exactly-thirty-two-letters-in-it",
	} {
		if got := (&Issue{Number: 7, Title: title}).name(); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

// The open issues are what gh lists; what gh refuses is said with a way out.
func TestOpenIssues(t *testing.T) {
	dir := t.TempDir()
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	gh := func(script string) {
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gh(`test "$1 $2 $3 $4" = "issue list --state open" || exit 9
cat <<'END'
[{"number": 12, "title": "Fix the\nlogin", "body": "It fails.\r\nAlways.", "url": "https://x/12", "state": "OPEN", "labels": [{"name": "bug"}]}]
END`)
	all, err := GitHub{Root: dir, Env: env}.Open(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if n := all[0].Node(); n.Name != "12-fix-the-login" || n.Task != "Fix the login\n\nIt fails.\nAlways.\n\nIssue #12: https://x/12\nLabels: bug\n" {
		t.Errorf("the node is %+v", n)
	}
	for script, want := range map[string]string{
		"echo '[]'":    "",
		"echo nothing": "no JSON",
		"echo 'no git remotes found' >&2; exit 1": "no remote",
		"exit 4":                             "not logged in",
		"echo 'it is not found' >&2; exit 1": "the issues could not be read",
	} {
		gh(script)
		if _, err := (GitHub{Root: dir, Env: env}).Open(t.Context()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	if _, err := (GitHub{Root: dir, Env: []string{"PATH=" + t.TempDir()}}).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("without gh: %v", err)
	}
}

func TestFuzzing(t *testing.T) { fuzzing.Run(t) }

// FuzzIssue holds that an issue, whatever stands in it, becomes a node that can
// be read, whose task has all of it.
func FuzzIssue(f *testing.F) {
	f.Add(12, "Fix: the #login", "- a: b\n\n\t```yaml\n\tkey: [x\n```\n% & * ! | > ' \" ` @\n--- \n...\n", "bug")
	f.Add(1, " x", "    indented\r\nsecond\r\n", "a, b")
	f.Add(2, "\x1b[31mred", "\x00\u2028\u0085\ufeff no\u00a0break 👩\u200d💻", "")
	f.Add(3, "t", "   \n \n\n", "")
	f.Add(4, "?", "\n  first\n\tsecond\n", "")
	f.Fuzz(func(t *testing.T, number int, title, body, label string) {
		i := &Issue{Number: max(1, number), Title: title, Body: body, URL: "https://example.com/i/1"}
		i.Labels = append(i.Labels, struct {
			Name string `json:"name"`
		}{label})
		one, two := i.Node(), (&Issue{Number: i.Number ^ 1, Title: title, URL: "x"}).Node()
		if i.Number == 1 {
			two.Name = "other"
		}
		text := (&Draft{Session: "s", WorktreeBase: "..", MainPane: true, Kind: "claude", Agents: []Node{one, two}}).Compose(dag.SchemaPath)
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
