package standing

import (
	"strings"

	"cmux/dag/keys"
)

// ConfigSchema returns the JSON Schema of the configuration, for editors.
func ConfigSchema() []byte {
	return keys.Document("cmux organization", "The organization of a project: .cmux/config.yml", keys.Describes(configFields()), nil)
}

// ConfigReference returns docs/organization-config.md: every key with its meaning.
func ConfigReference() string {
	var b strings.Builder
	b.WriteString(configHead)
	keys.Reference(&b, "##", keys.Describes(configFields()))
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

You can do the same in the dashboard, under [Settings](dashboard.md#the-organizations-configuration): edit the file, see what it changes, and apply it.

With ` + "`# yaml-language-server: $schema=config.schema.json`" + ` in its first line, editors complete and check the file.

- Write a duration with units: ` + "`90s`, `45m`, `1h30m`" + `.
- You can write a list of text with one entry as plain text.
- cmux ignores a key without a value.
- Anchors, aliases and merge keys (` + "`<<`" + `) work. cmux ignores top-level keys that begin with ` + "`x-`" + `; they can hold anchors.
`
