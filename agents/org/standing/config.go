package standing

import (
	"gopkg.in/yaml.v3"

	"cmux/agents/org/memoryconfig"
	"cmux/agents/org/roomconfig"
	"cmux/agents/org/team"
	"cmux/agents/org/upkeep"
	"cmux/agents/org/watchconfig"
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
	Fence        dag.Fence       // around the agents
	Overflow     string          // what becomes of a task for a permanent worker that is busy; empty: it waits
	Verify       []string        // checks after each merge of a task's work
	Health       Health
	Port         int               // of the server; 0: the first that is free
	Watch        map[string]string // what a person set of package watchconfig, by key
	Rooms        map[string]string // likewise of package roomconfig
	Memory       map[string]string // likewise of package memoryconfig
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
		MaxStanding: c.MaxStanding, WorktreeBase: c.WorktreeBase, Agent: worker.Agent, Model: worker.Model, Verify: c.Verify, Overflow: c.Overflow, Zones: c.Zones, Fence: c.Fence, Notify: c.Notify, Voice: c.Voice, Maintenance: c.Maintenance, Teams: c.Teams, Health: c.Health, Port: c.Port, Watch: c.Watch, Rooms: c.Rooms, Memory: c.Memory,
		Budgets: Budgets{c.Supervisor.Budget, worker.Budget, c.Budget},
	}
}

// ParseConfig reads a configuration. The error is of type dag.Faults and holds all faults.
// An empty file sets nothing.
func ParseConfig(file string, src []byte) (*Config, error) {
	c, r := &Config{WorktreeBase: "..", Notify: dag.Notify{Bell: true}}, keys.NewReader(file)
	r.Shape = "write it as key: value"
	if err := keys.NewTable(configFields()).Parse(r, c, src, nil); err != nil {
		return nil, err
	}
	return c, nil
}

// configFields are the keys of the file.
func configFields() []keys.Field[Config] {
	return []keys.Field[Config]{
		keys.Text(keys.Key{Name: "session", Pattern: `^[A-Za-z0-9_-]+$`, Hint: "use letters, digits, _ and -", Def: "cmux-FOLDER", Example: "session: shop",
			Doc: "The tmux session of the organization. It counts at the next `cmux start`."},
			func(c *Config) *string { return &c.Session }),
		keys.Section(keys.Key{Name: "supervisor", Example: "supervisor: {agent: claude, model: opus}",
			Doc: "The program of the supervisor. It counts at the next `cmux start`; another program begins a new conversation."},
			agentFields(func(c *Config) *ConfigAgent { return &c.Supervisor })),
		keys.Section(keys.Key{Name: "worker", Example: "worker: {agent: codex}", Doc: "Defaults for new workers."},
			agentFields(func(c *Config) *ConfigAgent { return &c.Worker })),
		keys.Choice(keys.Key{Name: "permissions", Allowed: []string{PermitAsked, PermitAuto, PermitAll}, Def: "what you answered at the first start", Example: "permissions: ask",
			Doc: "How the agents may act: with `ask` the program asks you what it is not sure about, with `auto` it decides that itself ([in its own way](permissions.md#standing-agents)), with `bypass` it asks nothing. An agent that runs keeps what it began with until it is started again."},
			func(c *Config) *string { return &c.Permissions }),
		keys.Text(keys.Key{Name: "integration", Pattern: `^[^-\s][^\s~^:?*\[\\]*$`, Hint: "write the name of a branch", Def: "your branch at the first start", Example: "integration: main",
			Doc: "The branch that work comes together on."},
			func(c *Config) *string { return &c.Integration }),
		keys.Count(keys.Key{Name: "max_standing", Least: 1, Def: "no bound", Example: "max_standing: 8", Doc: "At most so many agents."},
			func(c *Config) *int { return &c.MaxStanding }),
		budgetField("What all agents together may use in a day, which ends at midnight. When it is spent, nothing more is handed to them, what they work on is put back, and you are told; tomorrow they go on.",
			func(c *Config) *int64 { return &c.Budget }),
		keys.Section(keys.Key{Name: "notify", Example: "notify: {desktop: true}", Doc: "How you are told that a message is for you, or that an agent needs you."}, notifyFields()),
		keys.Section(keys.Key{Name: "zones", Example: "zones:\n  forbidden: [deploy/]\n  careful: [\"**/*.sql\"]\n  safe: [docs/]",
			Doc: "Files by how much is at stake, as patterns like those of a scope, from the project's root."}, zoneFields()),
		dag.FenceField(keys.Key{Name: "fence", Def: "as your own settings say, or `auto`; `off` for `kimi`, `qwen`, `opencode`, `gemini` and `acp`", Example: "fence: require",
			Doc: "Whether the kernel keeps the agents, their checks and all that they start from writing outside their worktrees: `auto`, where the system can; `require`, or an agent does not start; `off`, which does not count where your own settings want more. A worker has a git repository of its own while it works on a task, and its commits appear on the branch. A supervisor may write its notes, and nothing else of the project. A worker that shares a folder has no fence: with `require` it does not start. It counts when an agent starts. See [a fence by the kernel](permissions.md#standing-agents-in-the-fence)."},
			func(c *Config) *dag.Fence { return &c.Fence }),
		keys.Choice(keys.Key{Name: "overflow", Allowed: []string{OverflowQueue, OverflowSpawn}, Def: OverflowQueue, Example: "overflow: spawn",
			Doc: "What becomes of a task that is assigned to a permanent worker that is busy: with `queue` it waits, with `spawn` a worker like it is made for the task, and removed after it."},
			func(c *Config) *string { return &c.Overflow }),
		teamsField(),
		keys.Choices(keys.Key{Name: "maintenance", Allowed: upkeep.Removable(), Def: "none", Example: "maintenance: [worktrees, branches]",
			Doc: "What the server may remove by itself when the organization no longer needs it. What is not committed is saved first. `cmux maintenance --dry-run` shows all of it."},
			func(c *Config) *[]string { return &c.Maintenance }),
		keys.List(keys.Key{Name: "verify", Def: "none", Example: "verify: [\"go test ./...\"]",
			Doc: "Commands that must pass before a task is done that changes the project, and again before it is merged, in order. What fails goes back to the worker. Workers run them in their worktrees without a question, and the supervisor in your folder."},
			func(c *Config) *[]string { return &c.Verify }),
		keys.Section(keys.Key{Name: "health", Example: "health:\n  command: \"curl -fsS http://127.0.0.1:3000/health\"\n  tree: .\n  restart: \"systemctl --user restart shop\"\n  rebuild: \"make build && systemctl --user restart shop\"\n  rollback: true",
			Doc: "How it is told that the project is healthy, and what cmux may do when it is not: [a project that is not healthy](health.md)."}, healthFields()),
		keys.Count(keys.Key{Name: "port", Least: 1024, Most: 65535, Def: "the first free one from 8420", Example: "port: 8500", Doc: "The port of the server, on the loopback address."},
			func(c *Config) *int { return &c.Port }),
		keys.Section(keys.Key{Name: "watch", Example: "watch: {idle_after: 15m, sentry: false}", Doc: "What the watch may do, and after how long: see [the watch](watch.md)."}, watchconfig.Keys(func(c *Config) *map[string]string { return &c.Watch })),
		keys.Section(keys.Key{Name: "rooms", Example: "rooms:\n  policy: once\n  tokens: {round: 200k, day: 2M}\n  timeouts: {idle: 20m, on_parse: stop}",
			Doc: "What a new [room](rooms.md) begins with, and bounds for all of them. Options of `cmux rooms start` and `cmux rooms set` override it for their room. A room keeps the settings that it began with."},
			roomconfig.Keys(func(c *Config) *map[string]string { return &c.Rooms })),
		keys.Section(keys.Key{Name: "memory", Example: "memory: {learn: auto, model: sonnet}", Doc: "What rooms learn, and who is told: see [memory](memory.md)."},
			memoryconfig.Keys(func(c *Config) *map[string]string { return &c.Memory })),
		keys.Text(keys.Key{Name: "worktree_base", Def: "..", Example: "worktree_base: ../work",
			Doc: "Where worktrees are: `{worktree_base}/SESSION-NAME`. If another project has such a worktree there, the name is `SESSION-FOLDER-NAME`, with the folder of the project."},
			func(c *Config) *string { return &c.WorktreeBase }, keys.OneLine),
	}
}

func agentFields(of func(*Config) *ConfigAgent) []keys.Field[Config] {
	return []keys.Field[Config]{
		keys.Text(keys.Key{Name: "agent", Pattern: `^[a-z][a-z0-9-]*$`, Hint: "write the name of a kind, such as claude", Def: "`claude`; a worker's: that of the supervisor", Doc: "The kind of program."},
			func(c *Config) *string { return &of(c).Agent }),
		budgetField("What it may use in a day, as `budget` says; of workers each.", func(c *Config) *int64 { return &of(c).Budget }),
		keys.Text(keys.Key{Name: "model", Pattern: `^[^-\s]\S*$`, Hint: "write the name of a model", Def: "the program's own", Doc: "The model, as the program names it."},
			func(c *Config) *string { return &of(c).Model }),
	}
}

// zoneFields are the keys below zones.
func zoneFields() []keys.Field[Config] {
	return []keys.Field[Config]{
		keys.List(keys.Key{Name: "forbidden", Doc: "No agent edits these with its tools; a shell is not watched."}, func(c *Config) *[]string { return &c.Zones.Forbidden }, keys.ProjectPattern),
		keys.List(keys.Key{Name: "careful", Doc: "An agent that edits these is told to take care."}, func(c *Config) *[]string { return &c.Zones.Careful }, keys.ProjectPattern),
		keys.List(keys.Key{Name: "safe", Doc: "An agent may edit these without being asked."}, func(c *Config) *[]string { return &c.Zones.Safe }, keys.ProjectPattern),
	}
}

// teamsField is the key teams, a list of templates.
func teamsField() keys.Field[Config] {
	name := keys.Key{Name: "name", Required: true, Pattern: team.NamePattern, Hint: "use small letters, digits and -", Doc: "How it is called."}
	role := name
	role.Name, role.Doc = "role", "What it is; its name ends in it."
	members := []keys.Field[team.Member]{
		keys.Text(role, func(m *team.Member) *string { return &m.Role }),
		keys.Text(keys.Key{Name: "about", Doc: "What its role file says of it first."}, func(m *team.Member) *string { return &m.About }, keys.NotEmpty),
		keys.Flag(keys.Key{Name: "lead", Doc: "It leads, and the others report to it."}, func(m *team.Member) *bool { return &m.Lead }),
		keys.Text(keys.Key{Name: "agent", Doc: "The kind of its program."}, func(m *team.Member) *string { return &m.Agent }, keys.NotEmpty),
		keys.Text(keys.Key{Name: "model", Doc: "Its model."}, func(m *team.Member) *string { return &m.Model }, keys.NotEmpty),
	}
	return keys.Items(keys.Key{Name: "teams", Def: "none", Example: "teams:\n  - name: payments\n    about: two who know the bank\n    members:\n      - {role: lead, lead: true}\n      - {role: backend, about: You own the ledger.}",
		Doc: "Teams of your own, beside those that `cmux teams list` shows."},
		func(c *Config) *[]team.Template { return &c.Teams }, []keys.Field[team.Template]{
			keys.Text(name, func(t *team.Template) *string { return &t.Name }),
			keys.Text(keys.Key{Name: "about", Doc: "What it is for."}, func(t *team.Template) *string { return &t.About }, keys.NotEmpty),
			keys.Flag(keys.Key{Name: "debate", Doc: "All but the lead write proposals, and the lead decides."}, func(t *team.Template) *bool { return &t.Debate }),
			keys.Items(keys.Key{Name: "members", Required: true, Doc: "Who is in it."}, func(t *team.Template) *[]team.Member { return &t.Members }, members, nil),
		}, func(r *keys.Reader, at *yaml.Node, t *team.Template) bool {
			err := t.Check()
			if err != nil {
				r.Fault(at, "", "teams: %v", err)
			}
			return err == nil
		})
}
