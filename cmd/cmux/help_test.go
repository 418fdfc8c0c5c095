package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"cmux/cmd/cmux/cli"
	"cmux/cmd/cmux/help"
	"cmux/worktree/hint"
)

func helps(t *testing.T, line string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot(&cli.Deps{IO: cli.IO{In: strings.NewReader(""), Out: &out, Err: &out}, Dir: t.TempDir()})
	root.SetArgs(strings.Fields(line))
	err := root.ExecuteContext(context.Background())
	return out.String(), err
}

// Every page is a topic that help lists and shows, and no topic hides a command.
func TestTopics(t *testing.T) {
	list, err := helps(t, "help")
	if err != nil || !strings.Contains(list, "Topics") || !strings.Contains(list, "  agents ") {
		t.Errorf("%v: %s", err, list)
	}
	root := newRoot(&cli.Deps{})
	all := help.Topics()
	if len(all) < 10 {
		t.Errorf("%d topics", len(all))
	}
	for _, topic := range all {
		if !strings.Contains(list, "\n  "+topic.Name+" ") {
			t.Errorf("help does not list %s", topic.Name)
		}
		text, err := helps(t, "help "+topic.Name)
		if err != nil || !strings.HasPrefix(text, topic.About+"\n") || strings.Contains(text, "<!--") || strings.Contains(text, "\n```") {
			t.Errorf("%s: %v: %.200s", topic.Name, err, text)
		}
		if c, rest, err := root.Find([]string{topic.Name}); err == nil && c.HasParent() && len(rest) == 0 {
			t.Errorf("topic %s hides the command", topic.Name)
		}
	}
}

func TestHelpOf(t *testing.T) {
	for line, want := range map[string][2]string{ // what is in it, what is not
		"help agents stop":                    {"cmux agents stop [NAME]", "Topics"},
		"help configuration verify":           {`verify: ["go test ./..."]`, "verify_timeout"},
		"help configuration Keys of the file": {"worktree_base", "Type: one of the values below.\n\nWho"},
		"help recovery":                       {"(cmux help ", "]("},
	} {
		text, err := helps(t, line)
		if err != nil || !strings.Contains(text, want[0]) || strings.Contains(text, want[1]) {
			t.Errorf("%s: %v: %.300s", line, err, text)
		}
	}
	for line, want := range map[string]string{
		"help configuraton":         "cmux help configuration",
		"help configuration verfy":  "cmux help configuration verify",
		"help configuration qqqqqq": "cmux help configuration",
		"help agents strt":          "cmux agents start",
		"help agnets":               "cmux help agents",
		"help nonsense":             "cmux help",
		"help nope":                 "cmux help",
		"help retry":                "cmux agents retry, or cmux mailbox retry",
	} {
		_, err := helps(t, line)
		if _, try := hint.Explain(err); try != want || exitCode(err) != 2 {
			t.Errorf("%s: %v: try %q, want %q", line, err, try, want)
		}
	}
}
