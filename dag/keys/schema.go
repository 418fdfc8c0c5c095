package keys

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

type dict = map[string]any

// Document returns the JSON Schema (draft 2020-12) of a file with these keys, for editors.
// The reader refuses everything that the schema refuses, and more. more is merged in.
func Document(title, description string, all []Key, more map[string]any) []byte {
	root := Object(all)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	root["description"] = description
	root["patternProperties"] = dict{"^x-": dict{"description": "Not read: a place for anchors."}}
	for k, v := range more {
		root[k] = v
	}
	b, err := json.MarshalIndent(root, "", "  ") // maps are written in order of their keys
	if err != nil {
		panic(err) // strings, numbers and maps of them can be written
	}
	return append(b, '\n')
}

// Object returns the schema of a mapping with these keys.
func Object(all []Key) map[string]any {
	properties := dict{}
	var required []string
	for _, k := range all {
		properties[k.Name] = k.schema()
		if k.Required {
			required = append(required, k.Name)
		}
	}
	s := dict{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	return s
}

// schema returns the schema of the key's value. A key without a value counts as missing.
func (k Key) schema() dict {
	s := k.Schema
	if s == nil {
		s = k.ofType()
	}
	if !k.Required {
		s = dict{"anyOf": []any{s, dict{"type": "null"}}}
	}
	s["description"] = k.Doc
	return s
}

const durationPattern = `^([+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0)$`

// ListOf returns the schema of a list of items, or of one.
func ListOf(item map[string]any) map[string]any {
	return dict{"anyOf": []any{item, dict{"type": "array", "items": item}}}
}

func (k Key) ofType() dict {
	text := dict{"type": []string{"string", "number"}} // numbers are read as they are written
	if k.Pattern != "" {
		text["pattern"] = k.Pattern
	}
	if k.Most > 0 {
		text["maxLength"] = k.Most
	}
	switch k.Type {
	case TypeText:
		return text
	case TypeFlag:
		return dict{"type": "boolean"}
	case TypeCount:
		s := dict{"type": "integer", "minimum": k.Least}
		if k.Most > 0 {
			s["maximum"] = k.Most
		}
		return s
	case TypeDuration:
		return dict{"anyOf": []any{
			dict{"type": "string", "pattern": durationPattern},
			dict{"const": 0},
		}}
	case TypeChoice:
		return dict{"enum": k.Allowed}
	case TypeList, TypeNames:
		return ListOf(text)
	case TypeChoices:
		return ListOf(dict{"enum": k.Allowed})
	case TypeItems:
		return dict{"type": "array", "items": Object(k.Sub)}
	case TypeGroup:
		return Object(k.Sub)
	}
	panic(fmt.Sprintf("the key %s has no schema", k.Name))
}

// Reference writes the keys in Markdown, with headings that begin with hashes.
func Reference(b *strings.Builder, hashes string, all []Key) {
	for _, k := range all {
		fmt.Fprintf(b, "\n%s `%s`\n\n%s\n\n", hashes, k.Name, k.Doc)
		k.facts(b, "")
		k.below(b, k.Name)
		fmt.Fprintf(b, "\n```yaml\n%s\n```\n", k.Example)
	}
}

// below writes the keys below a key.
func (k Key) below(b *strings.Builder, path string) {
	for _, sub := range k.Sub {
		below := path + "." + sub.Name
		fmt.Fprintf(b, "- `%s`: %s\n", below, sub.Doc)
		sub.facts(b, "  ")
		sub.below(b, below)
	}
}

// facts writes the key's type, default and values as a list.
func (k Key) facts(b *strings.Builder, indent string) {
	typ := string(k.Type)
	switch {
	case k.Type == TypeCount && k.Most > 0:
		typ += fmt.Sprintf(" from %d to %d", k.Least, k.Most)
	case k.Type == TypeCount || k.Schema != nil && k.Least > 0:
		typ += fmt.Sprintf(", at least %d", k.Least)
	case k.Type == TypeDuration && k.Least > 1:
		typ += ", at least " + DurationText(time.Duration(k.Least))
	}
	if k.Type == TypeDuration && k.Most > 0 {
		typ += ", at most " + DurationText(time.Duration(k.Most))
	}
	fmt.Fprintf(b, "%s- Type: %s.\n", indent, typ)
	switch {
	case k.Required:
		fmt.Fprintf(b, "%s- Required.\n", indent)
	case strings.Contains(k.Def, " ") || k.Def == "none":
		fmt.Fprintf(b, "%s- Default: %s.\n", indent, k.Def)
	case k.Def != "":
		fmt.Fprintf(b, "%s- Default: `%s`.\n", indent, k.Def)
	}
	if k.Allowed != nil {
		fmt.Fprintf(b, "%s- Values: `%s`.\n", indent, strings.Join(k.Allowed, "`, `"))
	}
	if k.Own != "" {
		fmt.Fprintf(b, "%s- Not under `defaults`: %s.\n", indent, k.Own)
	}
}
