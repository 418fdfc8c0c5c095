package dag

import (
	"fmt"
	"strings"

	"cmux/dag/keys"
)

// Schema returns the JSON Schema of a configuration, for editors.
func Schema() []byte {
	var shared []keys.Key
	for _, k := range agentKeys() {
		if k.Own == "" {
			shared = append(shared, k)
		}
	}
	return keys.Document("cmux agents", "A graph of agents: .cmux-agents.yml", RootKeys(), dict{
		"required": []string{"session"},
		"anyOf":    []any{dict{"required": []string{"agents"}}, dict{"required": []string{"include"}}},
		"$defs":    dict{"agent": agentSchema(), "defaults": keys.Object(shared), "ofMatrix": dict{"type": "string", "pattern": `\$\{\{`}},
	})
}

// RootKeys returns the keys of the file.
func RootKeys() []keys.Key { return keys.Describes(new(parser).rootFields()) }

func agentKeys() []keys.Key { return keys.Describes(agentFields(Kinds())) }

func agentSchema() dict {
	s := keys.Object(agentKeys())
	properties := s["properties"].(dict)
	for name, p := range properties {
		if name != "matrix" { // which lists its values itself
			properties[name] = dict{"anyOf": []any{p, dict{"$ref": "#/$defs/ofMatrix"}}}
		}
	}
	written := dict{"not": dict{"type": "null"}}
	s["not"] = dict{"required": []string{"task", "task_file"}, "properties": dict{"task": written, "task_file": written}}
	return s
}

// Reference returns docs/configuration.md: every key with its meaning, in Markdown. own
// are the keys of a person's own file.
func Reference(own []keys.Key) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	section := func(title string, all []keys.Key) {
		fmt.Fprintf(&b, "\n## %s\n", title)
		keys.Reference(&b, "###", all)
	}
	section("Keys of the file", RootKeys())
	section("Keys of an agent", agentKeys())
	section("Keys of your own file", own)
	b.WriteString(referenceTail)
	return b.String()
}

const referenceHead = `# Configuration

<!-- Made from the parser's own table of keys: go test ./agents/platform/settings -run TestReference -update -->

` + "`.cmux-agents.yml`" + ` at the root of the project describes a run. ` + "`cmux agents init`" + ` writes one. ` + "`cmux agents start --dry-run`" + ` checks it and shows what would happen. ` + "`.cmux-agents.example.yml`" + ` shows every key. cmux checks the whole file before it creates anything, and prints every error as ` + "`file:line:column: message`" + `.

- Write a duration with units: ` + "`90s`, `45m`, `1h30m`" + `. ` + "`0`" + ` needs no unit.
- You can write a list of text with one entry as plain text.
- cmux ignores a key without a value.
- Anchors, aliases and merge keys (` + "`<<`" + `) work. cmux ignores top-level keys that begin with ` + "`x-`" + `; they can hold anchors.
- A value of an agent replaces the whole value in ` + "`defaults`" + `. Only ` + "`env`" + ` is merged, name by name.
- What holds for all your runs, of all projects, stands in a file of your own, ` + "`~/.config/cmux/config.yml`" + ` (or ` + "`$XDG_CONFIG_HOME/cmux/config.yml`" + `). It has [keys of its own](#keys-of-your-own-file); ` + "`cmux agents schema --user`" + ` prints its schema. Runners read it again within two seconds of a change.
- For completion and checks in an editor, begin the file with ` + "`# yaml-language-server: $schema=" + SchemaPath + "`" + `; ` + "`cmux agents schema`" + ` prints the schema.
`

const referenceTail = `
## What is refused

cmux refuses a configuration with:

- unknown or repeated keys, values of a wrong type, a second document, more than 10 MB, or aliases that expand to more than 2,000,000 values;
- names that are repeated (ignoring case), longer than 100 characters, or the name of a file of cmux;
- branches that git refuses, that two agents share, that differ only in case, or where one is a directory of another, also of one that the repository has (` + "`feature` and `feature/x`" + `);
- dependencies that do not exist, on the agent itself, or in a cycle, or on an agent under ` + "`finally`" + `;
- ` + "`approve`" + ` on a node that is not a gate (under ` + "`defaults`" + ` it applies only to gates);
- a build or review without a task, a merge without dependencies, a pool that is not defined;
- ` + "`${{ needs.NAME.outputs.KEY }}`" + ` in a command, for a node that is not in ` + "`depends_on`" + `, or for an output that the node does not declare;
- a matrix with an unknown key, without a value, with more than 256 nodes, or with two nodes of the same name;
- paths and globs that are absolute or leave the project.

cmux only warns about a key that has no effect for an agent's role, and about a dependency named twice.
`
