package dag

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Schema returns the JSON Schema (draft 2020-12) of a configuration, for editors. Parse
// refuses everything that the schema refuses, and more.
func Schema() []byte {
	root := object(rootKeys())
	root["required"] = []string{"session"}
	root["anyOf"] = []any{dict{"required": []string{"agents"}}, dict{"required": []string{"include"}}}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "cmux agents"
	root["description"] = "A graph of agents: .cmux-agents.yml"
	root["patternProperties"] = dict{"^x-": dict{"description": "Not read: a place for anchors."}}
	var shared []key
	for _, k := range agentKeys() {
		if k.own == "" {
			shared = append(shared, k)
		}
	}
	root["$defs"] = dict{"agent": agentSchema(), "defaults": object(shared), "ofMatrix": dict{"type": "string", "pattern": `\$\{\{`}}
	b, err := json.MarshalIndent(root, "", "  ") // maps are written in order of their keys
	if err != nil {
		panic(err) // strings, numbers and maps of them can be written
	}
	return append(b, '\n')
}

type dict = map[string]any

func rootKeys() []key {
	var keys []key
	for _, f := range new(parser).rootFields() {
		keys = append(keys, f.key)
	}
	return keys
}

func agentKeys() []key {
	var keys []key
	for _, f := range agentFields(Kinds()) {
		keys = append(keys, f.key)
	}
	return keys
}

func object(keys []key) dict {
	properties := dict{}
	var required []string
	for _, k := range keys {
		properties[k.name] = k.schema()
		if k.required {
			required = append(required, k.name)
		}
	}
	s := dict{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s
}

func agentSchema() dict {
	s := object(agentKeys())
	properties := s["properties"].(dict)
	for _, k := range agentKeys() {
		if k.shape != shapeMatrix { // which lists its values itself
			properties[k.name] = dict{"anyOf": []any{properties[k.name], dict{"$ref": "#/$defs/ofMatrix"}}}
		}
	}
	written := dict{"not": dict{"type": "null"}}
	s["not"] = dict{"required": []string{"task", "task_file"}, "properties": dict{"task": written, "task_file": written}}
	return s
}

// schema returns the schema of the key's value. A key without a value counts as missing.
func (k key) schema() dict {
	s := k.valueSchema()
	if !k.required {
		s = dict{"anyOf": []any{s, dict{"type": "null"}}}
	}
	s["description"] = k.doc
	return s
}

const durationPattern = `^([+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0)$`

func (k key) valueSchema() dict {
	text := dict{"type": []string{"string", "number"}} // numbers are read as they are written
	if k.pattern != "" && (k.shape == shapeText || k.shape == shapeList) {
		text["pattern"] = k.pattern
		text["maxLength"] = maxName
	}
	list := func(item dict) dict {
		return dict{"anyOf": []any{item, dict{"type": "array", "items": item}}}
	}
	switch k.shape {
	case shapeText:
		return text
	case shapeCondition:
		return dict{"type": []string{"string", "number", "boolean"}}
	case shapeFlag:
		return dict{"type": "boolean"}
	case shapeCount:
		return dict{"type": "integer", "minimum": k.least}
	case shapeDuration:
		return dict{"anyOf": []any{
			dict{"type": "string", "pattern": durationPattern},
			dict{"const": 0},
		}}
	case shapeChoice:
		return dict{"enum": k.allowed}
	case shapeList, shapeNames:
		return list(text)
	case shapeChoices:
		return list(dict{"enum": k.allowed})
	case shapeTexts:
		return dict{"type": "object", "propertyNames": dict{"pattern": k.pattern},
			"additionalProperties": dict{"type": []string{"string", "number", "boolean", "null"}}}
	case shapeCounts:
		return dict{"type": "object", "propertyNames": dict{"pattern": k.pattern, "maxLength": maxName},
			"additionalProperties": dict{"type": "integer", "minimum": k.least}}
	case shapeMatrix:
		value := dict{"type": []string{"string", "number"}}
		return dict{"type": "object", "propertyNames": dict{"pattern": k.pattern}, "minProperties": 1,
			"properties":           dict{matrixExclude: dict{"type": []string{"array", "null"}, "items": dict{"type": "object", "additionalProperties": value, "minProperties": 1}}},
			"additionalProperties": list(value)}
	case shapeRetries:
		return dict{"anyOf": []any{dict{"type": "integer", "minimum": k.least}, object(k.sub)}}
	case shapeFence:
		return dict{"anyOf": []any{dict{"enum": fenceModes()}, object(k.sub)}}
	case shapeAgents:
		list := dict{"type": "array", "items": dict{"$ref": "#/$defs/agent"}}
		if k.required {
			list["minItems"] = 1
		}
		return list
	}
	if k.sub == nil { // defaults
		return dict{"$ref": "#/$defs/defaults"}
	}
	return object(k.sub)
}

// Reference returns docs/configuration.md: every key with its meaning, in Markdown.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	section := func(title string, keys []key) {
		fmt.Fprintf(&b, "\n## %s\n", title)
		for _, k := range keys {
			fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n", k.name, k.doc)
			k.facts(&b, "")
			for _, sub := range k.sub {
				fmt.Fprintf(&b, "- `%s.%s`: %s\n", k.name, sub.name, sub.doc)
				sub.facts(&b, "  ")
			}
			fmt.Fprintf(&b, "\n```yaml\n%s\n```\n", k.example)
		}
	}
	section("Keys of the file", rootKeys())
	section("Keys of an agent", agentKeys())
	section("Keys of your own file", userKeys())
	b.WriteString(referenceTail)
	return b.String()
}

// facts writes the key's type, default and values as a list.
func (k key) facts(b *strings.Builder, indent string) {
	shape := string(k.shape)
	if k.shape == shapeCount || k.shape == shapeCounts {
		shape += fmt.Sprintf(", at least %d", k.least)
	}
	fmt.Fprintf(b, "%s- Type: %s.\n", indent, shape)
	switch {
	case k.required:
		fmt.Fprintf(b, "%s- Required.\n", indent)
	case k.def != "":
		fmt.Fprintf(b, "%s- Default: %s.\n", indent, code(k))
	}
	if k.allowed != nil {
		fmt.Fprintf(b, "%s- Values: `%s`.\n", indent, strings.Join(k.allowed, "`, `"))
	}
	if k.own != "" {
		fmt.Fprintf(b, "%s- Not under `defaults`: %s.\n", indent, k.own)
	}
}

// code formats a default as code if it is a value, not a description.
func code(k key) string {
	if strings.Contains(k.def, " ") || k.def == "none" {
		return k.def
	}
	return "`" + k.def + "`"
}

const referenceHead = `# Configuration

<!-- Made from the parser's own table of keys: go test ./dag -run TestReference -update -->

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
- branches that git refuses, that two agents share, that differ only in case, or where one is a directory of the other (` + "`feature` and `feature/x`" + `);
- dependencies that do not exist, on the agent itself, or in a cycle, or on an agent under ` + "`finally`" + `;
- ` + "`approve`" + ` on a node that is not a gate (under ` + "`defaults`" + ` it applies only to gates);
- a build or review without a task, a merge without dependencies, a pool that is not defined;
- ` + "`${{ needs.NAME.outputs.KEY }}`" + ` in a command, for a node that is not in ` + "`depends_on`" + `, or for an output that the node does not declare;
- a matrix with an unknown key, without a value, with more than 256 nodes, or with two nodes of the same name;
- paths and globs that are absolute or leave the project.

cmux only warns about a key that has no effect for an agent's role, and about a dependency named twice.
`
