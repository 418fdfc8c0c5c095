package standing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"cmux/agents/run"
	"cmux/dag"
)

// ConfigFile is the organisation's configuration, in .cmux.
const ConfigFile = "config.yml"

// Values of Config.Permissions.
const (
	PermitAsked = "ask"    // the program asks, as it is set up
	PermitAll   = "bypass" // it asks nothing
)

// Config is the organisation's configuration, as a person writes it.
type Config struct {
	Session      string
	Supervisor   ConfigAgent
	Worker       ConfigAgent // of which nothing else is said; empty: as the supervisor
	Permissions  string      // empty: nobody has said yet
	Integration  string      // the branch that work comes together on; empty: that of the first start
	MaxStanding  int         // 0: no bound
	WorktreeBase string
	Zones        run.Zones // by how much is at stake
	Verify       []string  // checks after each merge of a task's work
	Port         int       // of the server; 0: the first that is free
}

// ConfigAgent says which program an agent is.
type ConfigAgent struct{ Agent, Model string }

// configKey is a key of the configuration and what is done with its value.
type configKey struct {
	name string
	read func(*configParser, *yaml.Node)
}

type configParser struct {
	file   string
	faults dag.Faults
}

func (p *configParser) fault(at *yaml.Node, hint, format string, args ...any) {
	p.faults = append(p.faults, dag.Fault{File: p.file, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// ParseConfig reads a configuration. The error is dag.Faults with all that is
// wrong. No text at all is a configuration that says nothing.
func ParseConfig(file string, src []byte) (*Config, error) {
	c, p := &Config{WorktreeBase: ".."}, &configParser{file: file}
	root := p.document(src)
	if root != nil {
		p.mapping(root, "the file", c.keys())
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return c, nil
}

// keys are the keys of the file.
func (c *Config) keys() []configKey {
	return []configKey{
		{"session", func(p *configParser, n *yaml.Node) {
			c.Session = p.matching(n, "session", `^[A-Za-z0-9_-]+$`, "use letters, digits, _ and -")
		}},
		{"supervisor", func(p *configParser, n *yaml.Node) { p.mapping(n, "supervisor", c.Supervisor.keys()) }},
		{"worker", func(p *configParser, n *yaml.Node) { p.mapping(n, "worker", c.Worker.keys()) }},
		{"permissions", func(p *configParser, n *yaml.Node) {
			c.Permissions = p.oneOf(n, "permissions", PermitAsked, PermitAll)
		}},
		{"integration", func(p *configParser, n *yaml.Node) {
			c.Integration = p.matching(n, "integration", `^[^-\s][^\s~^:?*\[\\]*$`, "write the name of a branch")
		}},
		{"max_standing", func(p *configParser, n *yaml.Node) {
			text := p.text(n, "max_standing")
			v, err := strconv.Atoi(text)
			if text != "" && (err != nil || v < 1) {
				p.fault(n, "", "max_standing must be a whole number of 1 or more, not %s", text)
			}
			c.MaxStanding = v
		}},
		{"zones", func(p *configParser, n *yaml.Node) { p.mapping(n, "zones", zoneKeys(&c.Zones)) }},
		{"verify", func(p *configParser, n *yaml.Node) { c.Verify = p.texts(n, "verify") }},
		{"port", func(p *configParser, n *yaml.Node) {
			text := p.text(n, "port")
			v, err := strconv.Atoi(text)
			if text != "" && (err != nil || v < 1024 || v > 65535) {
				p.fault(n, "", "port must be a number from 1024 to 65535, not %s", text)
			}
			c.Port = v
		}},
		{"worktree_base", func(p *configParser, n *yaml.Node) { c.WorktreeBase = p.text(n, "worktree_base") }},
	}
}

func (a *ConfigAgent) keys() []configKey {
	return []configKey{
		{"agent", func(p *configParser, n *yaml.Node) {
			a.Agent = p.matching(n, "agent", `^[a-z][a-z0-9-]*$`, "write the name of a kind, such as claude")
		}},
		{"model", func(p *configParser, n *yaml.Node) {
			a.Model = p.matching(n, "model", `^[^-\s]\S*$`, "write the name of a model")
		}},
	}
}

// document is the root of the one document of src; nil where it says nothing or
// cannot be read.
func (p *configParser) document(src []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		p.syntax(err)
		return nil
	}
	if dec.Decode(&more) == nil {
		p.fault(&more, "keep one", "the file holds more than one document")
		return nil
	}
	if n := doc.Content[0]; n.ShortTag() != "!!null" {
		return n
	}
	return nil
}

// syntax records what the library says, where it says that it is.
func (p *configParser) syntax(err error) {
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := regexp.MustCompile(`^line (\d+): (.*)$`).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	p.faults = append(p.faults, dag.Fault{File: p.file, Line: line, Column: 1, Message: text})
}

// mapping reads keys and values.
func (p *configParser) mapping(n *yaml.Node, what string, keys []configKey) {
	if n.Kind != yaml.MappingNode {
		p.fault(n, "write it as key: value", "%s must hold keys and values", what)
		return
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		at := slices.Index(names, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || at < 0:
			hint := ""
			if near := dag.Nearest(key.Value, names); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			p.fault(key, hint, "unknown key %q", key.Value)
		case seen[key.Value] > 0:
			p.fault(key, fmt.Sprintf("first on line %d", seen[key.Value]), "key %q appears twice", key.Value)
		case val.Kind == yaml.ScalarNode && val.ShortTag() == "!!null": // as if it were not there
		default:
			keys[at].read(p, val)
		}
		seen[key.Value] = key.Line
	}
}

func (p *configParser) text(n *yaml.Node, key string) string {
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!bool" || n.Value == "" {
		p.fault(n, "", "%s must be text", key)
		return ""
	}
	return n.Value
}

// texts reads a list of texts, or one.
func (p *configParser) texts(n *yaml.Node, key string) (all []string) {
	if n.Kind != yaml.SequenceNode {
		if one := p.text(n, key); one != "" {
			all = append(all, one)
		}
		return all
	}
	for _, c := range n.Content {
		if one := p.text(c, key); one != "" {
			all = append(all, one)
		}
	}
	return all
}

func (p *configParser) matching(n *yaml.Node, key, pattern, hint string) string {
	s := p.text(n, key)
	if s != "" && !regexp.MustCompile(pattern).MatchString(s) {
		p.fault(n, hint, "%s: %q is none", key, s)
	}
	return s
}

func (p *configParser) oneOf(n *yaml.Node, key string, allowed ...string) string {
	s := p.text(n, key)
	if s != "" && !slices.Contains(allowed, s) {
		p.fault(n, "write "+strings.Join(allowed, " or "), "%s: %q is none", key, s)
	}
	return s
}
