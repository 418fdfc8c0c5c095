package dag

import (
	"bytes"
	"fmt"

	"cmux/dag/keys"
)

// SchemaPath is the path of the JSON Schema, relative to the configuration, that Format
// writes into its line for editors.
const SchemaPath = ".cmux/schema.json"

// Format writes a configuration that parses to a graph equal to g, except for line numbers
// and matrices: it writes each node of a matrix by itself. It leaves out defaults, and
// writes a task read from a file as its task_file.
func Format(g *Graph) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", SchemaPath)
	plain := &Graph{WorktreeBase: "..", MainPane: true, MaxParallel: 8}
	for _, f := range new(parser).rootFields() {
		if f.Write != nil && !f.Same(g, plain) {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Write(g, "  "))
		}
	}
	fields := agentFields(nil)
	for _, finally := range []bool{false, true} {
		title := "agents:\n"
		if finally {
			title = "finally:\n"
		}
		for i := range g.Nodes {
			if g.Nodes[i].Finally == finally {
				b.WriteString(title)
				title = ""
				formatNode(&b, g, fields, g.Nodes[i])
			}
		}
	}
	return b.Bytes()
}

func formatNode(b *bytes.Buffer, g *Graph, fields []keys.Field[Node], n Node) {
	base := newNode()
	base.Account = n.Agent
	if n.Finally {
		base.When = Always
	}
	if n.HasBranch() {
		base.Branch = g.Session + "/" + n.Name
	}
	if n.TaskFile != "" {
		n.Task = ""
	}
	lead := "  - "
	for _, f := range fields {
		if !f.Same(&n, &base) {
			fmt.Fprintf(b, "%s%s: %s\n", lead, f.Name, f.Write(&n, "      "))
			lead = "    "
		}
	}
}
