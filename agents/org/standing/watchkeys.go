package standing

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"cmux/agents/org/watchconfig"
)

// watchKeys are the keys below watch. What a person set is kept as text, by key:
// the rest has its default, whatever that is in the version that reads it.
func watchKeys(set *map[string]string) (keys []configKey) {
	for _, k := range watchconfig.Keys() {
		key := configKey{name: k.Name, doc: k.Doc, schema: watchSchema(k)}
		if k.Default != "" {
			key.def = "`" + k.Default + "`"
		}
		key.read = func(p *configParser, n *yaml.Node) {
			if n.Kind != yaml.ScalarNode {
				p.fault(n, "", "watch.%s must be one value", k.Name)
				return
			}
			if err := k.Check(n.Value); err != nil {
				p.fault(n, "", "watch.%s: %v", k.Name, err)
				return
			}
			if *set == nil {
				*set = make(map[string]string)
			}
			(*set)[k.Name] = n.Value
		}
		keys = append(keys, key)
	}
	return keys
}

func watchSchema(k watchconfig.Key) map[string]any {
	switch k.Type {
	case watchconfig.Switch:
		return map[string]any{"type": "boolean"}
	case watchconfig.Count:
		return map[string]any{"type": "integer", "minimum": 1}
	case watchconfig.Span:
		return map[string]any{"type": "string", "pattern": watchconfig.SpanPattern}
	case watchconfig.DayHours:
		return map[string]any{"type": "string", "pattern": watchconfig.HoursPattern}
	}
	panic(fmt.Sprintf("the key %s has no type", k.Name))
}
