package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"cmux/agents/control"
	"cmux/agents/kinds"
	"cmux/agents/standing"
)

// What the roles of a new project tell agents to call, they may call, and cmux
// takes it as it is written.
func TestRolesNameCommandsThatWork(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".cmux"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := standing.WriteRoles(root); err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("(?s)`(cmux [^`]*)`")
	found := 0
	for _, role := range standing.Roles() {
		b, err := os.ReadFile(standing.RolePath(root, role))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range quoted.FindAllStringSubmatch(string(b), -1) {
			found++
			line := strings.Join(strings.Fields(m[1]), " ")
			words, err := shell.Fields(line, nil)
			if err != nil {
				t.Errorf("%s: %s: %v", role, line, err)
				continue
			}
			cmd, rest, err := newRoot(&Deps{Kinds: kinds.All()}).Find(words[1:])
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil && len(rest) > 0 { // else it is only named
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %s: %v", role, line, err)
				continue
			}
			o, ok := orderOf(cmd, cmd.Flags().Args())
			mine := !control.IsPersons(o) || role == standing.Supervisor && control.IsLeaders(o) || role == standing.Sentry && control.IsSentrys(o)
			if !ok || !mine {
				t.Errorf("%s: %s: it is told an order that is not its to give", role, line)
			}
		}
	}
	if found < 20 {
		t.Errorf("the roles name %d commands", found)
	}
}
