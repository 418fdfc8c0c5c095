// Package draft writes a configuration of agents for a person who has none: from answers,
// and from the open issues of the project.
package draft

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cmux/agents/kinds"
	"cmux/dag"
	"cmux/dag/keys"
)

// Draft is what a configuration is written from.
type Draft struct {
	Session      string
	WorktreeBase string
	Dir          string // folder of the project in which the agents work; empty: its root
	MainPane     bool
	Verify       string // a command that every agent's work must pass; may be empty
	Kind         string // of agents that name none; empty: command
	Found        []string
	Ports        []string // what the project's files say of ports, as remarks
	Checks       []string // commands that check the project, to choose Verify from
	Agents       []Node
}

// Node is a node of a Draft. Scope and After are comma-separated.
type Node struct {
	Name    string `json:"name" minLength:"1" maxLength:"100"`
	Kind    string `json:"kind,omitempty" maxLength:"40" doc:"Kind of agent; empty: that of the draft"`
	Role    string `json:"role,omitempty" enum:"build,review,merge,gate" doc:"Empty: build"`
	Approve string `json:"-"`
	Branch  string `json:"-"`
	Task    string `json:"task,omitempty" maxLength:"100000"`
	Scope   string `json:"-"`
	After   string `json:"after,omitempty" maxLength:"10000" doc:"Names of the nodes that it depends on, comma-separated"`
}

// KindOf is the kind of agent that works at the node, "" at a gate.
func (a *Draft) KindOf(n *Node) string {
	switch {
	case dag.Role(n.Role) == dag.RoleGate:
		return ""
	case n.Kind != "":
		return n.Kind
	case a.Kind != "":
		return a.Kind
	}
	return dag.KindCommand
}

// KindNames are the kinds as a person chooses among them.
func KindNames() []string {
	var names []string
	for _, c := range kinds.Listed() {
		names = append(names, c.Name)
	}
	return names
}

// Compose writes the configuration that a stands for. schema is the path of
// the JSON Schema as seen from it.
func (a *Draft) Compose(schema string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", schema)
	b.WriteString("# Every key: cmux help configuration\n")
	b.WriteString(a.remarks())
	for _, p := range a.Ports {
		fmt.Fprintf(&b, "# %s\n", p)
	}
	fmt.Fprintf(&b, "session: %s\n", keys.Scalar(a.Session))
	if a.WorktreeBase != "" && a.WorktreeBase != ".." {
		fmt.Fprintf(&b, "worktree_base: %s\n", keys.Scalar(a.WorktreeBase))
	}
	if !a.MainPane {
		b.WriteString("main_pane: false\n")
	}
	if a.Dir != "" {
		fmt.Fprintf(&b, "defaults:\n  dir: %s\n", keys.Scalar(a.Dir))
	}
	b.WriteString("agents:\n")
	for _, n := range a.Agents {
		fmt.Fprintf(&b, "  - name: %s\n", keys.Scalar(n.Name))
		role := dag.Role(n.Role)
		if role == "" {
			role = dag.RoleBuild
		}
		field := func(key, value string) {
			if value != "" {
				fmt.Fprintf(&b, "    %s: %s\n", key, keys.Scalar(value))
			}
		}
		field("agent", a.KindOf(&n))
		if role != dag.RoleBuild {
			field("role", string(role))
		}
		field("approve", n.Approve)
		field("branch", n.Branch)
		list := func(key, names string) {
			if all := List(names); len(all) > 0 {
				for i := range all {
					all[i] = keys.Scalar(all[i])
				}
				fmt.Fprintf(&b, "    %s: [%s]\n", key, strings.Join(all, ", "))
			}
		}
		if n.Task != "" {
			fmt.Fprintf(&b, "    task: %s\n", keys.Block(n.Task, "      "))
		}
		list("scope", n.Scope)
		list("depends_on", n.After)
		if a.Verify != "" && (role == dag.RoleBuild || role == dag.RoleMerge) {
			fmt.Fprintf(&b, "    verify: [%s]\n", keys.Scalar(a.Verify))
		}
	}
	return b.String()
}

// remarks are the comments on what stands in the way of the agents, or could
// be taken out of it.
func (a *Draft) remarks() string {
	found := "none"
	if len(a.Found) > 0 {
		found = strings.Join(a.Found, ", ")
	}
	text := "# Agent programs found here: " + found + "; kinds: " + strings.Join(KindNames(), ", ") + "\n"
	for i := range a.Agents {
		if k := a.KindOf(&a.Agents[i]); k != "" && k != dag.KindCommand {
			return text + "# Agents write, commit and run their checks unasked; for the rest they ask. To spare\n" +
				"# them that: defaults: {auto_accept: true}, which cmux help permissions explains\n"
		}
	}
	return text
}

// List splits a comma-separated list.
func List(s string) []string {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// SessionName makes a session name of the project's folder. It is none of the branches:
// beside a branch shop, git makes no shop/api.
func SessionName(root string, branches []string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(filepath.Base(root), "-")
	if name = strings.Trim(name, "-"); name == "" {
		name = "agents"
	}
	free := name
	for n := 2; slices.Contains(branches, free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}
