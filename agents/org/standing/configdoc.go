package standing

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ConfigSchema is the JSON Schema (draft 2020-12) of the configuration, for
// editors. What it refuses ParseConfig refuses as well.
func ConfigSchema() []byte {
	root := schemaOf(new(Config).keys())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "cmux organization"
	root["description"] = "The organization of a project: .cmux/config.yml"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // strings, numbers and maps of them can be written
	}
	return append(b, '\n')
}

func schemaOf(keys []configKey) map[string]any {
	properties := make(map[string]any)
	for _, k := range keys {
		s := map[string]any{}
		if k.schema == nil {
			s = schemaOf(k.sub)
		}
		for name, v := range k.schema {
			s[name] = v
		}
		s["description"] = k.doc
		properties[k.name] = s
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// ConfigReference is docs/organization-config.md: every key with its meaning.
func ConfigReference() string {
	var b strings.Builder
	b.WriteString(configHead)
	for _, k := range new(Config).keys() {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s\n", k.name, k.doc)
		if k.def != "" {
			fmt.Fprintf(&b, "\nDefault: %s.\n", k.def)
		}
		if k.sub != nil {
			b.WriteString("\n")
		}
		for _, sub := range k.sub {
			fmt.Fprintf(&b, "- `%s.%s`: %s", k.name, sub.name, sub.doc)
			if sub.def != "" {
				fmt.Fprintf(&b, " Default: %s.", sub.def)
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\n```yaml\n%s\n```\n", k.example)
	}
	return b.String()
}

const configHead = `# Configuration of the organization

<!-- Made from the parser's own table of keys: go test ./agents/org/standing -run TestConfigReference -update -->

` + "`.cmux/config.yml`" + ` holds what a person decides for the standing agents of a project. All keys are optional. A fault is told with its line and column, and nothing is started.

The first ` + "`cmux start`" + ` takes the file as it is. After that it counts only once you say so, because an agent that writes into your project could have written it:

<!-- norun: it needs an organization -->
` + "```sh" + `
cmux config          # what is in force, and what the file says instead
cmux config apply    # shows the difference, asks, and takes it into use
cmux config schema > .cmux/config.schema.json
` + "```" + `

With ` + "`# yaml-language-server: $schema=config.schema.json`" + ` in its first line, editors complete and check the file.
`
