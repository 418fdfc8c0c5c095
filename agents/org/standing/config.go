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

	"cmux/agents/org/team"
	"cmux/agents/org/upkeep"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/dag/keys"
)

// ConfigFile is the organization's configuration, in .cmux.
const ConfigFile = "config.yml"

// Values of Config.Permissions.
const (
	PermitAsked = "ask"    // the program asks, as it is set up
	PermitAuto  = "auto"   // it decides itself what is safe, in its own way
	PermitAll   = "bypass" // it asks nothing
)

// Values of Config.Overflow.
const (
	OverflowQueue = "queue" // the task waits
	OverflowSpawn = "spawn" // a worker like it is made for the task, and removed after it
)

// Config is the organization's configuration, as a person writes it.
type Config struct {
	Session      string
	Supervisor   ConfigAgent
	Worker       ConfigAgent // defaults for new workers; empty: as the supervisor
	Permissions  string      // empty: nobody has said yet
	Integration  string      // the branch that work comes together on; empty: that of the first start
	MaxStanding  int         // 0: no bound
	Budget       int64       // of all agents, in tokens a day; 0: no bound
	WorktreeBase string
	Notify       dag.Notify
	Teams        []team.Template // beside those that every project has
	Maintenance  []string        // kinds of things that cmux may remove by itself
	Voice        bool            // alerts are spoken
	Zones        run.Zones       // by how much is at stake
	Overflow     string          // what becomes of a task for a permanent worker that is busy; empty: it waits
	Verify       []string        // checks after each merge of a task's work
	Health       Health
	Port         int               // of the server; 0: the first that is free
	Watch        map[string]string // what a person set of package watchconfig, by key
}

// ConfigAgent says which program an agent is.
type ConfigAgent struct {
	Agent, Model string
	Budget       int64 // in tokens a day; 0: no bound
}

// Settings are what the configuration makes of the settings that are in force;
// where it says nothing of permissions and the integration branch, those stay.
// supervisor is its kind, which a worker has too unless something else is said.
func (c *Config) Settings(now Settings, supervisor string) Settings {
	worker := c.Worker
	if worker.Agent == "" {
		worker = ConfigAgent{Agent: supervisor, Model: c.Supervisor.Model, Budget: c.Worker.Budget}
	}
	return Settings{
		Permissions: orElse(c.Permissions, now.Permissions), Integration: orElse(c.Integration, now.Integration),
		MaxStanding: c.MaxStanding, WorktreeBase: c.WorktreeBase, Agent: worker.Agent, Model: worker.Model, Verify: c.Verify, Overflow: c.Overflow, Zones: c.Zones, Notify: c.Notify, Voice: c.Voice, Maintenance: c.Maintenance, Teams: c.Teams, Health: c.Health, Port: c.Port, Watch: c.Watch,
		Budgets: Budgets{c.Supervisor.Budget, worker.Budget, c.Budget},
	}
}

// configKey is a key of the configuration, with its documentation and the function
// that reads its value. sub describes the keys below it.
type configKey struct {
	name    string
	read    func(*configParser, *yaml.Node)
	doc     string
	def     string // in words; empty: none
	example string
	schema  map[string]any // of its value; nil: sub says it
	sub     []configKey
}

// groupKey is a key with keys below it.
func groupKey(name, doc, example string, sub []configKey) configKey {
	return configKey{name: name, doc: doc, example: example, sub: sub,
		read: func(p *configParser, n *yaml.Node) { p.mapping(n, name, sub) }}
}

// textKey is a key whose value matches pattern.
func textKey(to *string, name, pattern, hint, doc, def, example string) configKey {
	return configKey{name: name, doc: doc, def: def, example: example, schema: map[string]any{"type": "string", "pattern": pattern},
		read: func(p *configParser, n *yaml.Node) { *to = p.matching(n, name, pattern, hint) }}
}

// flagKey is a key whose value is true or false.
func flagKey(to *bool, group, name, doc, def string) configKey {
	return configKey{name: name, doc: doc, def: def, schema: map[string]any{"type": "boolean"}, read: func(p *configParser, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(to) != nil {
			p.fault(n, "write true or false", "%s%s: %q is neither", group, name, n.Value)
		}
	}}
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
	c, p := &Config{WorktreeBase: "..", Notify: dag.Notify{Bell: true}}, &configParser{file: file}
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
		textKey(&c.Session, "session", `^[A-Za-z0-9_-]+$`, "use letters, digits, _ and -",
			"The tmux session of the organization. It counts at the next `cmux start`.", "`cmux-FOLDER`", "session: shop"),
		groupKey("supervisor", "The program of the supervisor. It counts at the next `cmux start`; another program begins a new conversation.",
			"supervisor: {agent: claude, model: opus}", c.Supervisor.keys()),
		groupKey("worker", "Defaults for new workers.", "worker: {agent: codex}", c.Worker.keys()),
		{name: "permissions", doc: "How the agents may act: with `ask` the program asks you what it is not sure about, with `auto` it decides that itself ([in its own way](permissions.md#standing-agents)), with `bypass` it asks nothing. An agent that runs keeps what it began with until it is started again.",
			def: "what you answered at the first start", example: "permissions: ask", schema: map[string]any{"enum": []string{PermitAsked, PermitAuto, PermitAll}},
			read: func(p *configParser, n *yaml.Node) {
				c.Permissions = p.oneOf(n, "permissions", PermitAsked, PermitAuto, PermitAll)
			}},
		textKey(&c.Integration, "integration", `^[^-\s][^\s~^:?*\[\\]*$`, "write the name of a branch",
			"The branch that work comes together on.", "your branch at the first start", "integration: main"),
		{name: "max_standing", doc: "At most so many agents.", def: "no bound", example: "max_standing: 8",
			schema: map[string]any{"type": "integer", "minimum": 1}, read: func(p *configParser, n *yaml.Node) { c.MaxStanding = p.count(n, "max_standing") }},
		budgetKey(&c.Budget, "What all agents together may use in a day, which ends at midnight. When it is spent, nothing more is handed to them, what they work on is put back, and you are told; tomorrow they go on."),
		groupKey("notify", "How you are told that a message is for you, or that an agent needs you.", "notify: {desktop: true}", notifyKeys(&c.Notify, &c.Voice)),
		groupKey("zones", "Files by how much is at stake, as patterns like those of a scope, from the project's root.",
			"zones:\n  forbidden: [deploy/]\n  careful: [\"**/*.sql\"]\n  safe: [docs/]", zoneKeys(&c.Zones)),
		{name: "overflow", doc: "What becomes of a task that is assigned to a permanent worker that is busy: with `queue` it waits, with `spawn` a worker like it is made for the task, and removed after it.", def: "`queue`", example: "overflow: spawn",
			schema: map[string]any{"enum": []string{OverflowQueue, OverflowSpawn}}, read: func(p *configParser, n *yaml.Node) { c.Overflow = p.oneOf(n, "overflow", OverflowQueue, OverflowSpawn) }},
		teamsKey(&c.Teams),
		{name: "maintenance", doc: "What the server may remove by itself when the organization no longer needs it: `workers`, `windows`, `worktrees`, `branches`. What is not committed is saved first. `cmux maintenance --dry-run` shows all of it.", def: "nothing", example: "maintenance: [worktrees, branches]",
			schema: map[string]any{"type": "array", "items": map[string]any{"enum": upkeep.Removable()}}, read: func(p *configParser, n *yaml.Node) {
				c.Maintenance = p.texts(n, "maintenance")
				for _, kind := range c.Maintenance {
					if !slices.Contains(upkeep.Removable(), kind) {
						p.fault(n, "write a list of "+strings.Join(upkeep.Removable(), ", "), "maintenance: %q is none", kind)
					}
				}
			}},
		{name: "verify", doc: "Commands that must pass before a task is done that changes the project, and again before it is merged, in order. What fails goes back to the worker. Workers run them in their worktrees without a question, and the supervisor in your folder.", def: "none", example: "verify: [\"go test ./...\"]",
			schema: map[string]any{"type": []string{"array", "string"}, "items": map[string]any{"type": "string"}}, read: func(p *configParser, n *yaml.Node) { c.Verify = p.texts(n, "verify") }},
		groupKey("health", "How it is told that the project is healthy, and what cmux may do when it is not: [a project that is not healthy](health.md).",
			"health:\n  command: \"curl -fsS http://127.0.0.1:3000/health\"\n  tree: .\n  restart: \"systemctl --user restart shop\"\n  rebuild: \"make build && systemctl --user restart shop\"\n  rollback: true", healthKeys(&c.Health)),
		{name: "port", doc: "The port of the server, on the loopback address.", def: "the first free one from 8420", example: "port: 8500",
			schema: map[string]any{"type": "integer", "minimum": 1024, "maximum": 65535}, read: func(p *configParser, n *yaml.Node) {
				text := p.text(n, "port")
				v, err := strconv.Atoi(text)
				if text != "" && (err != nil || v < 1024 || v > 65535) {
					p.fault(n, "", "port must be a number from 1024 to 65535, not %s", text)
				}
				c.Port = v
			}},
		groupKey("watch", "What the watch may do, and after how long: see [the watch](watch.md).", "watch: {idle_after: 15m, sentry: false}", watchKeys(&c.Watch)),
		{name: "worktree_base", doc: "Where worktrees are: `{worktree_base}/SESSION-NAME`. If another project has such a worktree there, the name is `SESSION-FOLDER-NAME`, with the folder of the project.", def: "`..`", example: "worktree_base: ../work",
			schema: map[string]any{"type": "string"}, read: func(p *configParser, n *yaml.Node) { c.WorktreeBase = p.text(n, "worktree_base") }},
	}
}

func (a *ConfigAgent) keys() []configKey {
	return []configKey{
		textKey(&a.Agent, "agent", `^[a-z][a-z0-9-]*$`, "write the name of a kind, such as claude", "The kind of program.", "`claude`; a worker's: that of the supervisor", ""),
		budgetKey(&a.Budget, "What it may use in a day, as `budget` says; of workers each."),
		textKey(&a.Model, "model", `^[^-\s]\S*$`, "write the name of a model", "The model, as the program names it.", "the program's own", ""),
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
func (p *configParser) mapping(n *yaml.Node, what string, known []configKey) {
	if n.Kind != yaml.MappingNode {
		p.fault(n, "write it as key: value", "%s must hold keys and values", what)
		return
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	seen := make(map[string]int)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		at := slices.Index(names, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || at < 0:
			hint := ""
			if near := keys.Nearest(key.Value, names); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			p.fault(key, hint, "unknown key %q", key.Value)
		case seen[key.Value] > 0:
			p.fault(key, fmt.Sprintf("first on line %d", seen[key.Value]), "key %q appears twice", key.Value)
		case val.Kind == yaml.ScalarNode && val.ShortTag() == "!!null": // as if it were not there
		default:
			known[at].read(p, val)
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

func (p *configParser) count(n *yaml.Node, key string) int {
	text := p.text(n, key)
	v, err := strconv.Atoi(text)
	if text != "" && (err != nil || v < 1) {
		p.fault(n, "", "%s must be a whole number of 1 or more, not %s", key, text)
		return 0
	}
	return v
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
