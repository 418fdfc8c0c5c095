package standing

import (
	"gopkg.in/yaml.v3"

	"cmux/agents/org/team"
)

// teamsKey is the key teams, a list of templates.
func teamsKey(to *[]team.Template) configKey {
	return configKey{
		name: "teams", doc: "Teams of your own, beside those that `cmux teams list` shows: `name`, `about`, `members`, and `debate` where all but the lead write proposals and the lead decides. A member has a `role`, and may have `about`, `lead`, `agent` and `model`.",
		def: "none", example: "teams:\n  - name: payments\n    about: two who know the bank\n    members:\n      - {role: lead, lead: true}\n      - {role: backend, about: You own the ledger.}",
		schema: listSchema(teamKeys(new(team.Template))),
		read: func(p *configParser, n *yaml.Node) {
			*to = list(p, n, "teams", teamKeys, func(n *yaml.Node, t *team.Template) {
				if err := t.Check(); err != nil {
					p.fault(n, "", "teams: %v", err)
				}
			})
		},
	}
}

func teamKeys(t *team.Template) []configKey {
	word := func(to *string, name, doc string) configKey {
		return configKey{name: name, doc: doc, schema: map[string]any{"type": "string"}, read: func(p *configParser, n *yaml.Node) { *to = p.text(n, name) }}
	}
	flag := func(to *bool, name, doc string) configKey {
		return configKey{name: name, doc: doc, schema: map[string]any{"type": "boolean"}, read: func(p *configParser, n *yaml.Node) {
			if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(to) != nil {
				p.fault(n, "write true or false", "%s: %q is neither", name, n.Value)
			}
		}}
	}
	members := func(m *team.Member) []configKey {
		return []configKey{
			textKey(&m.Role, "role", team.NamePattern, "use small letters, digits and -", "What it is; its name ends in it.", "", ""),
			word(&m.About, "about", "What its role file says of it first."),
			flag(&m.Lead, "lead", "It leads, and the others report to it."),
			word(&m.Agent, "agent", "The kind of its program."), word(&m.Model, "model", "Its model."),
		}
	}
	return []configKey{
		textKey(&t.Name, "name", team.NamePattern, "use small letters, digits and -", "How it is called.", "", ""),
		word(&t.About, "about", "What it is for."),
		flag(&t.Debate, "debate", "All but the lead write proposals, and the lead decides."),
		{name: "members", doc: "Who is in it.", schema: listSchema(members(new(team.Member))), read: func(p *configParser, n *yaml.Node) {
			t.Members = list(p, n, "members", members, func(*yaml.Node, *team.Member) {})
		}},
	}
}

// list reads a list of values with keys.
func list[T any](p *configParser, n *yaml.Node, name string, keys func(*T) []configKey, check func(*yaml.Node, *T)) (all []T) {
	if n.Kind != yaml.SequenceNode {
		p.fault(n, "write it as - key: value", "%s must be a list", name)
		return nil
	}
	for _, item := range n.Content {
		var one T
		before := len(p.faults)
		if p.mapping(item, "an item of "+name, keys(&one)); len(p.faults) == before {
			check(item, &one)
		}
		all = append(all, one)
	}
	return all
}

func listSchema(keys []configKey) map[string]any {
	return map[string]any{"type": "array", "items": schemaOf(keys)}
}
