package dag

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Sketch is a node that a person adds to a configuration. Empty fields are left out, so
// that the configuration's defaults apply.
type Sketch struct {
	Name      string   `yaml:"name" json:"name"`
	Agent     string   `yaml:"agent,omitempty" json:"agent,omitempty"`
	Model     string   `yaml:"model,omitempty" json:"model,omitempty"`
	Role      string   `yaml:"role,omitempty" json:"role,omitempty"`
	Task      string   `yaml:"task,omitempty" json:"task,omitempty"`
	DependsOn []string `yaml:"depends_on,omitempty" json:"depends_on,omitempty"`
	When      string   `yaml:"when,omitempty" json:"when,omitempty"`
	Scope     []string `yaml:"scope,omitempty" json:"scope,omitempty"`
	Verify    []string `yaml:"verify,omitempty" json:"verify,omitempty"`
}

// errShape means that AddNode finds no place for another node in the configuration.
var errShape = errors.New("the configuration is written in a way that leaves no place for another node: add it by hand, below agents:")

// AddNode adds a node at the end of agents: in a configuration and keeps every other
// character. It does not validate the result; Parse does.
func AddNode(src []byte, s Sketch) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, fmt.Errorf("the configuration cannot be read: %w", err)
	}
	if s.Task = strings.TrimSpace(s.Task); strings.Contains(s.Task, "\n") {
		s.Task += "\n"
	}
	s.Verify = slices.Clone(s.Verify)
	for i, v := range s.Verify {
		s.Verify[i] = strings.TrimSpace(v)
	}
	var item bytes.Buffer
	enc := yaml.NewEncoder(&item)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode([]Sketch{s}), enc.Close()); err != nil {
		return nil, err
	}
	newline := "\n"
	if bytes.Contains(src, []byte("\r\n")) {
		newline = "\r\n"
	}
	lines := strings.SplitAfter(string(src), "\n")
	at, indent, head, err := place(&doc, lines)
	if err != nil {
		return nil, err
	}
	text := head
	for l := range strings.SplitSeq(strings.TrimRight(item.String(), "\n"), "\n") {
		if l != "" {
			l = indent + l
		}
		text += l + newline
	}
	before := strings.Join(lines[:at], "")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += newline
	}
	out := []byte(before + text + strings.Join(lines[at:], ""))
	if !appended(src, out, s) {
		return nil, errShape
	}
	return out, nil
}

// place returns the line before which a new node goes, the prefix of the node's lines, and
// text that must precede it.
func place(doc *yaml.Node, lines []string) (at int, indent, head string, err error) {
	at = len(lines)
	if len(doc.Content) == 0 {
		return at, "  ", "agents:\n", nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode || root.Style&yaml.FlowStyle != 0 {
		return 0, "", "", errShape
	}
	var agents *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if agents != nil {
			at = root.Content[i].Line - 1
			break
		}
		if root.Content[i].Value == "agents" {
			agents = root.Content[i+1]
		}
	}
	if agents == nil {
		return at, "  ", "agents:\n", nil
	}
	if agents.Kind != yaml.SequenceNode || agents.Style&yaml.FlowStyle != 0 || len(agents.Content) == 0 {
		return 0, "", "", errShape
	}
	last := agents.Content[len(agents.Content)-1]
	if last.Line < 1 || last.Line > len(lines) {
		return 0, "", "", errShape
	}
	before, _, found := strings.Cut(lines[last.Line-1], "-")
	if !found || strings.TrimSpace(before) != "" {
		return 0, "", "", errShape
	}
	// Comments and empty lines above the next key stay with that key.
	for at > last.Line && outside(lines[at-1]) {
		at--
	}
	return at, before, "", nil
}

// outside reports whether a line at the end of a list belongs to what follows the list.
func outside(line string) bool { return strings.TrimSpace(line) == "" || line[0] == '#' }

// appended reports whether after equals before plus one item below agents.
func appended(before, after []byte, s Sketch) bool {
	var x, y map[string]any
	if yaml.Unmarshal(before, &x) != nil || yaml.Unmarshal(after, &y) != nil {
		return false
	}
	old, _ := x["agents"].([]any)
	now, _ := y["agents"].([]any)
	if len(now) != len(old)+1 {
		return false
	}
	var want, got Sketch
	b, err := yaml.Marshal(now[len(old)])
	if err != nil || yaml.Unmarshal(b, &got) != nil {
		return false
	}
	if b, err = yaml.Marshal(s); err != nil || yaml.Unmarshal(b, &want) != nil {
		return false
	}
	if x == nil {
		x = make(map[string]any)
	}
	x["agents"], y["agents"] = slices.Clip(old), now[:len(old):len(old)]
	return reflect.DeepEqual(got, want) && (len(old) == 0 || reflect.DeepEqual(x["agents"], y["agents"])) && same(x, y)
}

// same compares everything except agents.
func same(x, y map[string]any) bool {
	delete(x, "agents")
	delete(y, "agents")
	return reflect.DeepEqual(x, y)
}
