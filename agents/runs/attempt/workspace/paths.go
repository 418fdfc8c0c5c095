package workspace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cmux/agents/runs/prompt"
	"cmux/dag"
	"cmux/worktree"
)

// Scopes are a node's patterns as judge and guard take them: what exists when the
// attempt begins is meant by its name.
type Scopes struct{ Write, Read []string }

// ScopesOf are the node's in a tree.
func ScopesOf(n *dag.Node, tree string) Scopes {
	exists := worktree.Exists(tree)
	return Scopes{dag.Literal(n.Scope, exists), dag.Literal(n.Context, exists)}
}

// MayChange reports whether the node may write a path. One that context names is
// read-only unless scope names it too.
func (s Scopes) MayChange(path string) bool {
	if len(s.Write) > 0 {
		return dag.InScope(s.Write, path)
	}
	return !dag.InScope(s.Read, path)
}

// Shown lists the first few paths and the number of the others.
func Shown(paths []string) string {
	const most = 20
	names := make([]string, 0, most)
	for _, p := range paths[:min(len(paths), most)] {
		names = append(names, name(p))
	}
	for i, n := range names {
		names[i] = prompt.Cut(n, 200)
	}
	if len(paths) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(paths)-most)
}

// name is a path as it is shown: quoted when a terminal would obey it, or a
// reader mistake where it ends.
func name(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) ||
		strings.ContainsAny(path, "\"',") || strings.TrimSpace(path) != path {
		return strconv.Quote(path)
	}
	return path
}
