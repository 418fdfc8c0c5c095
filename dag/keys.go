package dag

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"cmux/dag/keys"
	"cmux/dag/scopes"
)

type dict = map[string]any

// newNode returns a node with default values.
func newNode() Node {
	return Node{
		Agent: "claude", Role: RoleBuild, When: AllSuccess, OnLost: Redo, OnLimit: Wake,
		VerifyTimeout: Duration(10 * time.Minute), VerifyAttempts: 3,
	}
}

const (
	nameHint       = "letters, digits, dots, dashes and underscores, beginning with a letter or digit"
	namePattern    = `^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	sessionPattern = `^[A-Za-z0-9_][A-Za-z0-9_-]*$`
	labelPattern   = `^[a-z0-9][a-z0-9-]*(/[a-z0-9]+)?$`
	maxLabel       = 63
	sendPattern    = `^[A-Za-z_][A-Za-z0-9_]*\*?$`
	envPattern     = `^[A-Za-z_][A-Za-z0-9_]*$`
)

// agentFields returns the keys of an agent, in the order of the documentation and of
// Format.
func agentFields(kinds []string) []keys.Field[Node] {
	return []keys.Field[Node]{
		keys.Text(keys.Key{Name: "name", Example: "name: auth", Required: true, Own: "names are unique", Pattern: namePattern, Most: keys.MaxName, Hint: nameHint,
			Doc: "The name of the agent: at most 100 letters, digits, dots, dashes and underscores. It begins with a letter or digit and is unique, ignoring case."},
			func(n *Node) *string { return &n.Name }, notReserved),
		keys.Text(keys.Key{Name: "branch", Def: "{session}/{name}", Example: "branch: feature/auth", Own: "two agents cannot share a branch",
			Doc: "The branch that the agent works on. If it exists, the agent continues it."},
			func(n *Node) *string { return &n.Branch }, safeBranch),
		keys.Choice(keys.Key{Name: "agent", Def: "claude", Example: "agent: command", Allowed: kinds,
			Doc: "The kind of agent. `command` runs the task with `sh -c`: of several lines the last one decides, unless the first is `set -e`. `acp` runs the program that the key `command` names."},
			func(n *Node) *string { return &n.Agent }),
		keys.List(keys.Key{Name: "command", Example: "command: [qwen, --acp]",
			Doc: "Only for `agent: acp`; a shell command is the `task` of `agent: command`. The program and its arguments, one list entry each. The program must speak the Agent Client Protocol on its standard input and output. cmux starts it without a shell. `agent: acp` requires this key; other kinds do not allow it."},
			func(n *Node) *[]string { return &n.Command }, keys.OneLine),
		keys.Choice(keys.Key{Name: "role", Def: "build", Example: "role: review",
			Allowed: []string{string(RoleBuild), string(RoleReview), string(RoleMerge), string(RoleGate)},
			Doc:     "`build` works in its own worktree, on its own branch. `review` reads the work of its dependencies, at the project root. `merge` merges the branches of its dependencies into its own. `gate` waits for a person."},
			func(n *Node) *Role { return &n.Role }),
		keys.Text(keys.Key{Name: "task", Example: `task: "implement JWT authentication"`, Own: "each agent has its own",
			Doc: "What the agent should do. A build or review needs this key or `task_file`."},
			func(n *Node) *string { return &n.Task }),
		keys.Text(keys.Key{Name: "task_file", Example: "task_file: tasks/auth.md", Own: "each agent has its own",
			Doc: "A file with the task, used instead of `task`. The path is relative to the file that names it. It must be a regular file of at most 1 MB, inside the project after links are resolved."},
			func(n *Node) *string { return &n.TaskFile }, keys.OneLine),
		keys.New(keys.Key{Name: "dir", Def: "the worktree's root", Example: "dir: packages/web",
			Doc: "The folder in which the agent and its `verify` commands run, relative to the root of the worktree, or of the project for a review without one. It must exist there after `setup`, and must not lead out. `scope` and `context` stay relative to the root; a pattern that begins with `./` is relative to this folder. `setup`, `copy`, `link`, `task_file` and `on_complete` do not change. `dir: .` is the root, where `defaults` name another folder."},
			keys.TypeText, func(n *Node) *string { return &n.Dir }, readDir, keys.Block),
		keys.List(keys.Key{Name: "scope", Example: `scope: [src/auth/, "src/**/*_test.go"]`,
			Doc: "What the agent may write: files, directories (including everything below them) and globs with `*`, `?`, `[...]`, `{a,b}` and `**`, relative to the project, or to `dir` if they begin with `./`. cmux takes a file or folder that exists by its name: with a folder `app/[id]`, the scope `app/[id]/**` covers that folder and not `app/i`. Without this key, the agent may write anywhere in its worktree. cmux checks the scope with git before the node is done."},
			func(n *Node) *[]string { return &n.Scope }, keys.ProjectPattern),
		keys.List(keys.Key{Name: "context", Example: "context: [src/types/]",
			Doc: "What the agent should read and may not write. Same syntax as `scope`."},
			func(n *Node) *[]string { return &n.Context }, keys.ProjectPattern),
		keys.Names(keys.Key{Name: "depends_on", Example: "depends_on: [schema]", Own: "an agent would depend on itself",
			Doc: "The agents that this one waits for. It starts from their work."},
			func(n *Node) *[]string { return &n.DependsOn }),
		keys.Choice(keys.Key{Name: "when", Def: "all_success", Example: "when: all_done",
			Allowed: []string{string(AllSuccess), string(AllDone), string(OneSuccess), string(Always)},
			Doc:     "When the node starts: `all_success`, when all dependencies are done; `all_done`, when all have ended, with any result; `one_success`, when the first one is done; `always` is another name for `all_done`. To run a node after all other agents, put it under `finally`."},
			func(n *Node) *Join { return &n.When }),
		keys.New(keys.Key{Name: "if", Example: "if: success()", Schema: dict{"type": []string{"string", "number", "boolean"}},
			Doc: "Whether the node starts. cmux checks this condition after `when`. If it is false, the node is `skipped`, which is not a failure. The condition is an [expr](https://expr-lang.org) expression about the nodes in `depends_on`, or, under `finally`, about any node. `needs.NAME.result` is `done`, `failed`, `cancelled`, `blocked` or `skipped`. `needs.NAME.outputs.KEY` is a value that a done node has published, else empty. `success()` is true if all are done or skipped. `failure()` is true if one failed, was cancelled or is blocked. If a dependency was skipped and none failed, a node with `when: all_success` is skipped too, and one with `when: all_done` starts."},
			"expression", func(n *Node) *string { return &n.If }, readCondition, keys.Block),
		keys.List(keys.Key{Name: "outputs", Example: "outputs: [version, url]", Pattern: OutputPattern, Most: maxOutputName, Hint: "letters, digits and underscores, not beginning with a digit", Own: "each agent has its own",
			Doc: "The values that the node publishes for its dependents, with `cmux output KEY=VALUE` or, in a command, also with a line `KEY=VALUE` in the file `$CMUX_OUTPUT`. The node is not done before it has published each of them. Dependents get them in `$CMUX_NEEDS_NAME_KEY` (the name in capitals, with `_` for other characters than letters and digits). Agents also get them in their prompts, and their tasks may contain `${{ needs.NAME.outputs.KEY }}`. A value is text of at most 4 KB; a node can publish 50. Values appear in prompts and records, so cmux refuses a value that contains a secret of the environment."},
			func(n *Node) *[]string { return &n.Outputs }),
		keys.Text(keys.Key{Name: "pool", Example: "pool: opus",
			Doc: "The pool that limits this agent, in addition to `max_parallel`."},
			func(n *Node) *string { return &n.Pool }, keys.OneLine),
		keys.List(keys.Key{Name: "verify", Example: `verify: ["go test ./..."]`,
			Doc: "Commands that must succeed in the worktree before the node is done. If one fails, the agent gets its output and continues."},
			func(n *Node) *[]string { return &n.Verify }),
		keys.Duration(keys.Key{Name: "verify_timeout", Def: "10m", Example: "verify_timeout: 2m", Least: 1,
			Doc: "How long each `verify` command may take."},
			func(n *Node) *Duration { return &n.VerifyTimeout }),
		keys.Count(keys.Key{Name: "verify_attempts", Def: "3", Example: "verify_attempts: 5", Least: 1,
			Doc: "How often the checks may fail before the node fails."},
			func(n *Node) *int { return &n.VerifyAttempts }),
		keys.Duration(keys.Key{Name: "timeout", Def: "none", Example: "timeout: 45m",
			Doc: "How long an attempt may run. Time that it is limited, queued or waiting for a person does not count. 0: no limit."},
			func(n *Node) *Duration { return &n.Timeout }),
		keys.Duration(keys.Key{Name: "idle_timeout", Def: "none", Example: "idle_timeout: 15m",
			Doc: "How long an attempt may be idle: no event, no output, no changed file. 0: no limit."},
			func(n *Node) *Duration { return &n.IdleTimeout }),
		keys.Duration(keys.Key{Name: "input_timeout", Def: "0", Example: "input_timeout: 1h",
			Doc: "How long an attempt waits for a person's answer. 0: no limit. Headless, it fails at once."},
			func(n *Node) *Duration { return &n.InputTimeout }),
		keys.Group(keys.Key{Name: "retries", Def: "0", Example: "retries: {max: 2, backoff: 30s}",
			Doc: "How often cmux retries a failed attempt: a number, or a number with a pause before each retry. Usage limits and lost attempts do not count."},
			func(n *Node) *Retries { return &n.Retries }, []keys.Field[Retries]{
				keys.Count(keys.Key{Name: "max", Def: "0", Example: "max: 2", Doc: "How often cmux retries a failed attempt."},
					func(r *Retries) *int { return &r.Max }),
				keys.Duration(keys.Key{Name: "backoff", Def: "0", Example: "backoff: 30s", Doc: "How long to wait before the next attempt."},
					func(r *Retries) *Duration { return &r.Backoff }),
			}, &keys.Short[Retries]{Type: "whole number, or keys and values", Schema: dict{"type": "integer", "minimum": 0},
				Read: func(r *keys.Reader, name string, n *yaml.Node) (Retries, bool) {
					i, ok := r.Count(name, n, 0, 0)
					return Retries{Max: int(i)}, ok
				}}),
		keys.Choice(keys.Key{Name: "on_lost", Def: "redo", Example: "on_lost: ask", Allowed: []string{string(Redo), string(Ask)},
			Doc: "What to do when an attempt's process disappears, because it was killed or the machine went down: `redo` starts it again, `ask` waits for a person."},
			func(n *Node) *OnLost { return &n.OnLost }),
		keys.Choice(keys.Key{Name: "on_limit", Def: "wake", Example: "on_limit: ask", Allowed: []string{string(Wake), string(AskToGoOn)},
			Doc: "What an agent does when it reaches the usage limit of its account: `wake` continues by itself when the limit ends; `ask` needs input first, and fails if headless. In both cases, agents that have not started wait for the end of the limit."},
			func(n *Node) *OnLimit { return &n.OnLimit }),
		keys.List(keys.Key{Name: "runs_on", Def: "at home", Example: "runs_on: [gpu]", Pattern: labelPattern, Most: maxLabel, Hint: "small letters, digits and dashes, or a pair such as linux/arm64",
			Doc: "The machine that carries the node out: one with all these labels, or any other one with `any`. You name machines yourself, with `cmux agents start --on` or in your own settings, and `--here` runs everything at home. A gate is always at home. docs/machines.md describes what travels."},
			func(n *Node) *[]string { return &n.RunsOn }),
		keys.Duration(keys.Key{Name: "lost_after", Def: "30m", Example: "lost_after: 2h", Least: int64(time.Minute),
			Doc: "How long the machine of a node with `runs_on` may be silent. Then it ends the node's program and keeps its work, and cmux starts the node again on a machine that fits, unless `on_lost: ask`."},
			func(n *Node) *Duration { return &n.LostAfter }),
		keys.Duration(keys.Key{Name: "save_every", Def: "10m", Example: "save_every: 2m", Least: int64(time.Second),
			Doc: "How often unfinished work of a node with `runs_on` travels home, where it changed."},
			func(n *Node) *Duration { return &n.SaveEvery }),
		keys.Flag(keys.Key{Name: "auto_accept", Def: "false", Example: "auto_accept: true",
			Doc: "Lets the agent act without asking for permission. docs/permissions.md says what it may do without asking in any case."},
			func(n *Node) *bool { return &n.AutoAccept }),
		FenceField(keys.Key{Name: "fence", Def: "as your own settings say, or `auto`; `off` for `kimi`, `qwen`, `opencode`, `gemini` and `acp`", Example: "fence: require",
			Doc: "Whether the kernel keeps the agent, its checks and all that they start from writing outside the node's worktree: `auto`, where the system can; `require`, or the run does not start; `off`, which does not count where your own settings want more. The node gets a git repository of its own that borrows the objects of yours, and its commits appear on its branch. It may also write temporary folders, the caches of common tools, the agent program's own state, and what `write` names. A review may write nothing of the project; a node whose `scope` is made of folders writes only there. docs/permissions.md says what the fence does not keep out."},
			func(n *Node) *Fence { return &n.Fence }),
		keys.Text(keys.Key{Name: "account", Def: "the kind and its configuration folder", Example: "account: work",
			Doc: "The account that a usage limit pauses. Agents with the same account and kind wait together."},
			func(n *Node) *string { return &n.Account }, keys.OneLine),
		keys.Text(keys.Key{Name: "model", Example: "model: opus", Doc: "The model, as the kind of agent names it."},
			func(n *Node) *string { return &n.Model }, keys.OneLine, keys.NoOption),
		keys.New(keys.Key{Name: "env", Example: "env: {KEY: value}",
			Schema: dict{"type": "object", "propertyNames": dict{"pattern": envPattern},
				"additionalProperties": dict{"type": []string{"string", "number", "boolean", "null"}}},
			Doc: "Environment variables for the agent, its checks and its commands. cmux adds them to those of `defaults`. In a value, `$NAME` and `${NAME}` are variables of the environment in which you call `cmux agents start`, `~/` at the beginning or after a colon is your home folder, and `$$` is a dollar. To add a folder to the PATH: `PATH: \"~/bin:$PATH\"`."},
			"keys and text values", func(n *Node) *map[string]string { return &n.Env }, readEnv, keys.WriteMap[string]),
		keys.Choices(keys.Key{Name: "on_complete", Example: "on_complete: [push, pr]", Allowed: []string{"push", "pr"},
			Doc: "What to do after the checks pass: `push` the branch, or also open a pull request (`pr`). The push goes where git pushes: to the branch's `pushRemote`, `remote.pushDefault`, the branch's `remote`, the only remote, or `origin`. If there is none of these, to the remote of the branch that the run starts from. `start` and `cmux doctor` check the remote and `gh`."},
			func(n *Node) *[]string { return &n.OnComplete }),
		budgetField("How many tokens the agent may use in this run, all attempts together. When it has used more, cmux stops it and saves its work, and it is `failed (budget)` without a retry. To continue, raise the budget and use `cmux agents retry`.",
			func(n *Node) *Budget { return &n.Budget }),
		{Key: keys.Key{Name: "matrix", Example: `matrix: {os: [linux, mac], go: ["1.24", "1.25"]}`, Own: "each agent has its own", Type: "keys, each with a list of text", Schema: matrixSchema(),
			Doc: "Makes one node for each combination of the values, at most 256. `exclude` leaves combinations out: `exclude: [{os: mac, go: \"1.24\"}]`. In every value of the agent and in its task file, cmux replaces `${{ matrix.KEY }}` with the node's value. A node is named `NAME-VALUE-VALUE`, or as in `name: test-${{ matrix.os }}`. `depends_on: [NAME]` means all nodes of the matrix. `depends_on: [\"build-${{ matrix.os }}\"]` means the node of another matrix with the same value."},
			Read: func(*keys.Reader, *Node, string, *yaml.Node) bool { return true }, Same: func(a, b *Node) bool { return true }},
		{Key: keys.Key{Name: "fail_fast", Def: "false", Example: "fail_fast: true", Own: "it belongs to a matrix", Type: keys.TypeFlag,
			Doc: "When a node of the `matrix` has failed for good, cmux cancels the others, as `cmux agents stop NAME` does: it ends running nodes, and does not start waiting ones."},
			Read: readFailFast, Same: func(a, b *Node) bool { return true }},
		keys.Flag(keys.Key{Name: "checkout", Def: "false", Example: "checkout: true",
			Doc: "Gives a review a worktree with the work that it reviews. `verify` does this too."},
			func(n *Node) *bool { return &n.Checkout }),
		keys.Choice(keys.Key{Name: "approve", Def: string(ApproveAny), Example: "approve: code", Allowed: []string{string(ApproveAny), string(ApproveCode)},
			Doc: "What opens a gate. Only `role: gate` allows this key. `any`: `cmux agents approve`, `override`, or a marker. `code`: only these commands, in your own terminal, where they show a code and ask you to type it; a marker can close the gate but not open it."},
			func(n *Node) *Approval { return &n.Approve }, ApproveAny),
	}
}

// agentsSchema returns the schema of a list of at least so many agents.
func agentsSchema(least int) dict {
	list := dict{"type": "array", "items": dict{"$ref": "#/$defs/agent"}}
	if least > 0 {
		list["minItems"] = least
	}
	return list
}

// matrixSchema returns the schema of the key matrix.
func matrixSchema() dict {
	value := dict{"type": []string{"string", "number"}}
	return dict{"type": "object", "propertyNames": dict{"pattern": axisPattern}, "minProperties": 1,
		"properties":           dict{matrixExclude: dict{"type": []string{"array", "null"}, "items": dict{"type": "object", "additionalProperties": value, "minProperties": 1}}},
		"additionalProperties": keys.ListOf(value)}
}

// FenceField returns a key that is a Fence, for nodes and for an organization.
func FenceField[T any](key keys.Key, ptr func(*T) *Fence) keys.Field[T] {
	return keys.Group(key, ptr, []keys.Field[Fence]{
		keys.Choice(keys.Key{Name: "mode", Def: "auto", Example: "mode: require", Allowed: FenceModes(), Doc: "As the value alone."},
			func(f *Fence) *FenceMode { return &f.Mode }),
		keys.Choice(keys.Key{Name: "ignored", Def: "allow", Example: "ignored: deny", Allowed: []string{string(IgnoredAllow), string(IgnoredDeny)},
			Doc: "Whether files that git ignores may be written outside of a node's `scope`, as build outputs: `allow` holds for those that are there when the agent starts, and for `node_modules`, `dist`, `build`, `target`, `out`, `coverage` and the caches of test tools at the top of the worktree."},
			func(f *Fence) *IgnoredFiles { return &f.Ignored }),
		keys.List(keys.Key{Name: "write", Example: "write: [~/.terraform.d, /opt/sdk]", Doc: "Further files and folders that may be written: absolute, or below your home folder with `~/`."},
			func(f *Fence) *[]string { return &f.Write }, PlaceOutside),
		keys.List(keys.Key{Name: "hide", Example: "hide: [~/.ssh, ~/.aws]", Doc: "Files and folders that are found empty, as in `write`: where the system lets a mount namespace be made, else `mode: require` refuses to start. What may be written in them stays. Prefer folders: a file that you replace meanwhile is seen by programs that already run."},
			func(f *Fence) *[]string { return &f.Hide }, PlaceOutside),
	}, &keys.Short[Fence]{Type: "one of the values, or keys and values", Schema: dict{"enum": FenceModes()},
		Read: func(r *keys.Reader, name string, n *yaml.Node) (Fence, bool) {
			s, ok := r.Text(name, n)
			return Fence{Mode: FenceMode(s)}, ok && keys.OneOf(FenceModes())(r, name, n, s)
		}})
}

// FenceModes returns the values of Fence.Mode.
func FenceModes() []string {
	return []string{string(FenceAuto), string(FenceRequire), string(FenceOff)}
}

// PlaceOutside checks a path that need not be in the project.
func PlaceOutside(p *keys.Reader, key string, at *yaml.Node, s string) bool {
	ok := keys.OneLine(p, key, at, s)
	if ok && !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") {
		p.Fault(at, "begin it with / or ~/", "%s %q is relative", key, keys.Shorten(s))
		return false
	}
	return ok
}

// readDir reads the key dir. The root is the same as no key.
func readDir(r *keys.Reader, key string, n *yaml.Node, _ string) (string, bool) {
	s, ok := r.Text(key, n)
	if !ok || !insideTree(r, key, n, s) {
		return "", false
	}
	if s = path.Clean(s); s == "." {
		s = ""
	}
	return s, true
}

// budgetField returns the key of a budget, for agents and for the file.
func budgetField[T any](doc string, ptr func(*T) *Budget) keys.Field[T] {
	return keys.Group(keys.Key{Name: "budget", Example: "budget: {tokens: 2000000}", Doc: doc},
		ptr, []keys.Field[Budget]{
			keys.Count(keys.Key{Name: "tokens", Def: "none", Example: "tokens: 2000000",
				Doc: "The number of tokens: input, output and cache writes, including sub-agents. Cache reads do not count. 0: no limit."},
				func(b *Budget) *int64 { return &b.Tokens }),
		}, nil)
}

// rootFields returns the keys of the file.
func (p *parser) rootFields() []keys.Field[Graph] {
	fields := []keys.Field[Graph]{
		keys.Text(keys.Key{Name: "session", Example: "session: shop", Required: true, Pattern: sessionPattern, Most: keys.MaxName, Hint: "letters, digits, dashes and underscores, not beginning with a dash",
			Doc: "The name of the run's tmux session. Names of branches and worktrees begin with it. Letters, digits, dashes and underscores."},
			func(g *Graph) *string { return &g.Session }),
		keys.Text(keys.Key{Name: "base", Def: "HEAD", Example: "base: main", Doc: "The commit that the work starts from."},
			func(g *Graph) *string { return &g.Base }, keys.OneLine, keys.NoOption),
		keys.Text(keys.Key{Name: "worktree_base", Def: "..", Example: "worktree_base: ../trees",
			Doc: "The directory of the worktrees, relative to the project. Each worktree is named `{session}-{name}`. If another project has such a worktree there, as a second clone beside the first one does, the names begin with `{session}-{folder of the project}`, and the table before the start shows it. If the directory is inside the project, cmux adds the worktrees to `.git/info/exclude`."},
			func(g *Graph) *string { return &g.WorktreeBase }, keys.OneLine),
		keys.Flag(keys.Key{Name: "main_pane", Def: "true", Example: "main_pane: false", Doc: "Whether there is a pane with a shell at the project root, for you."},
			func(g *Graph) *bool { return &g.MainPane }),
		keys.Count(keys.Key{Name: "max_parallel", Def: "8", Example: "max_parallel: 4", Least: 1, Doc: "How many agents run at the same time."},
			func(g *Graph) *int { return &g.MaxParallel }),
		keys.New(keys.Key{Name: "pools", Example: "pools: {opus: 2}", Least: 1,
			Schema: dict{"type": "object", "propertyNames": dict{"pattern": namePattern, "maxLength": keys.MaxName},
				"additionalProperties": dict{"type": "integer", "minimum": 1}},
			Doc: "Named limits: how many agents of each `pool` run at the same time."},
			"keys and whole numbers", func(g *Graph) *map[string]int { return &g.Pools }, readPools, keys.WriteMap[int]),
		budgetField("How many tokens all agents of the run may use together. When they have used more, cmux starts no more agents, stops the running ones and saves their work, and all of them are `failed (budget)`. Commands and gates continue.",
			func(g *Graph) *Budget { return &g.Budget }),
		{Key: keys.Key{Name: "defaults", Example: "defaults: {agent: command, timeout: 1h}", Type: keys.TypeGroup, Schema: dict{"$ref": "#/$defs/defaults"},
			Doc: "Default values for agents: any key of an agent except `name`, `branch`, `depends_on`, `task` and `task_file`. An agent's own value wins."},
			Read: func(_ *keys.Reader, _ *Graph, _ string, n *yaml.Node) bool { return p.readDefaults(n) }},
		keys.List(keys.Key{Name: "setup", Example: `setup: ["npm ci"]`, Doc: "Commands that cmux runs in each new worktree before its agent starts."},
			func(g *Graph) *[]string { return &g.Setup }),
		keys.List(keys.Key{Name: "copy", Example: "copy: [.env]", Doc: "Files and directories that cmux copies from the project into each new worktree."},
			func(g *Graph) *[]string { return &g.Copy }, keys.ProjectPattern),
		keys.List(keys.Key{Name: "link", Example: "link: [node_modules]", Doc: "Files and directories that each new worktree shares with the project through a symbolic link."},
			func(g *Graph) *[]string { return &g.Link }, keys.ProjectPattern),
		keys.List(keys.Key{Name: "send_env", Example: `send_env: [NPM_TOKEN, "CI_*"]`, Pattern: sendPattern, Hint: "the name of a variable, or its beginning with a * behind it",
			Doc: "Variables of your environment that travel to the machine of a node with `runs_on`. Nothing else of your environment does; what `env` names always travels."},
			func(g *Graph) *[]string { return &g.SendEnv }),
		keys.Group(keys.Key{Name: "notify", Example: "notify: {bell: true, desktop: true}",
			Doc: "How cmux tells you, once each, that a node needs input, that an account reached its limit, that two branches change the same files, and that the run has ended."},
			func(g *Graph) *Notify { return &g.Notify }, []keys.Field[Notify]{
				keys.Flag(keys.Key{Name: "bell", Def: "false", Example: "bell: true", Doc: "The terminal's bell, in tmux."}, func(n *Notify) *bool { return &n.Bell }),
				keys.Flag(keys.Key{Name: "desktop", Def: "false", Example: "desktop: true", Doc: "A desktop notification."}, func(n *Notify) *bool { return &n.Desktop }),
				keys.Text(keys.Key{Name: "webhook", Example: `webhook: "https://example.org/cmux"`, Doc: "An address to which cmux sends a JSON object with POST: `at`, `run`, `session`, `event` (`needs_input`, `limited`, `collision`, `run_ended`), `text`, and, if they apply, `node`, `other` (of a collision), `account`, `until`, `state`. The address of a Slack or Discord webhook gets a message in their format. If a webhook refuses a message, or does not answer within 10 s, `cmux agents status` and `cmux doctor` say so."},
					func(n *Notify) *string { return &n.Webhook }, keys.WebAddress),
				keys.Choice(keys.Key{Name: "format", Allowed: NotifyFormats(), Example: "format: slack", Doc: "What the webhook understands. Default: `slack` or `discord` if the address is one of theirs, else `json`. Mattermost and Rocket.Chat understand `slack`."},
					func(n *Notify) *string { return &n.Format }),
				keys.Text(keys.Key{Name: "command", Example: `command: 'mail -s "$CMUX_TEXT" me@example.org'`, Doc: "A command that cmux runs with `sh -c` in the project's root, with the JSON object on its standard input and `CMUX_EVENT`, `CMUX_TEXT`, `CMUX_NODE`, `CMUX_STATE` and `CMUX_SESSION` in its environment. cmux ends it after 10 s."},
					func(n *Notify) *string { return &n.Command }),
			}, nil),
		keys.Choice(keys.Key{Name: "review", Def: string(ReviewOptional), Example: "review: required", Allowed: []string{string(ReviewOptional), string(ReviewRequired)},
			Doc: "Which nodes `cmux agents merge` takes. `optional`: all done nodes, except those that a person dropped. `required`: only nodes that a person approved with `cmux agents review`, and whose dependencies are approved too."},
			func(g *Graph) *Reviewing { return &g.Review }, ReviewOptional),
		{Key: keys.Key{Name: "include", Example: "include: [ci/checks.yml]", Type: keys.TypeList,
			Doc: "Files with more agents for the run, relative to this file, inside the project. Such a file can have the keys `agents`, `defaults` (added to those here) and `include`, and no others. Its task files are relative to it. Its agents come before those of the file that includes it."},
			Read: func(_ *keys.Reader, g *Graph, _ string, n *yaml.Node) bool { return p.readInclude(g, n) }},
		{Key: keys.Key{Name: "agents", Example: `agents: [{name: auth, task: "..."}]`, Required: true, Type: "list of agents", Schema: agentsSchema(1),
			Doc: "The agents, each with the keys below. Only a file that includes others can leave this key out."},
			Read: func(_ *keys.Reader, g *Graph, _ string, n *yaml.Node) bool { return p.readAgents(g, n, false) }},
		{Key: keys.Key{Name: "finally", Example: `finally: [{name: tidy, agent: command, task: "make clean"}]`, Type: "list of agents", Schema: agentsSchema(0),
			Doc: "Agents that start when all agents under `agents` have ended, with any result: at most 100, each with the keys below. Their default for `when` is `always`. They start from the base and from the work of the agents in their `depends_on`. Agents under `agents` cannot depend on them. If one fails, the run has failed."},
			Read: func(_ *keys.Reader, g *Graph, _ string, n *yaml.Node) bool { return p.readAgents(g, n, true) }},
	}
	return fields
}

// noEffect returns the keys that a role ignores. The parser drops them, and warns if the
// agent itself sets one.
func noEffect(r Role) []string {
	switch r {
	case RoleReview:
		return []string{"branch", "on_complete"}
	case RoleGate:
		return []string{"branch", "dir", "scope", "verify", "on_complete", "checkout", "outputs"}
	}
	return []string{"checkout"}
}

func (p *parser) readDefaults(n *yaml.Node) bool {
	good := len(p.Faults)
	for _, e := range p.Entries(n, "defaults") {
		f := p.agentKey.Of(e.Name)
		switch {
		case f == nil:
			p.Fault(e.Key, p.Near(e.Name, p.agentKey.Names), "unknown key %q in defaults", e.Name)
		case f.Own != "":
			p.Fault(e.Key, f.Own, "%s cannot stand under defaults", e.Name)
		case !keys.IsNull(e.Val):
			f.Read(p.Reader, &p.defaults, e.Name, e.Val)
		}
	}
	return len(p.Faults) == good
}

// readAgents reads the list agents, or the list finally.
func (p *parser) readAgents(g *Graph, n *yaml.Node, finally bool) bool {
	v, good := keys.Behind(n), len(p.Faults)
	if v.Kind != yaml.SequenceNode {
		name := "agents"
		if finally {
			name = "finally"
		}
		p.Fault(n, `write "- name: NAME" for each`, "%s must be a list, not %s", name, keys.Describe(n))
		return false
	}
	if len(v.Content) == 0 && !finally {
		p.Fault(n, `write "- name: NAME" for each`, "agents lists no agent")
		return false
	}
	g.Nodes = slices.Grow(g.Nodes, len(v.Content))
	p.sources = slices.Grow(p.sources, len(v.Content))
	for _, item := range v.Content {
		for _, src := range p.expand(item, p.Entries(item, "an agent")) {
			src.finally = finally
			p.readAgent(g, src)
		}
	}
	return len(p.Faults) == good
}

// readAgent adds the node that src describes.
func (p *parser) readAgent(g *Graph, src source) {
	node := p.defaults
	node.Env = maps.Clone(node.Env)
	node.Line, node.File = src.at.Line, p.Included(src.at)
	if node.Finally = src.finally; src.finally {
		node.When = Always
	}
	if src.combination != nil {
		node.Matrix = &Matrix{Name: src.combination.group}
	}
	src.entries = slices.DeleteFunc(src.entries, func(e keys.Entry) bool {
		f := p.agentKey.Of(e.Name)
		if f == nil {
			p.Fault(e.Key, p.Near(e.Name, p.agentKey.Names), "unknown key %q", e.Name)
			return true
		}
		if !keys.IsNull(e.Val) {
			f.Read(p.Reader, &node, e.Name, e.Val)
		}
		return keys.IsNull(e.Val)
	})
	if node.TaskFile != "" && !path.IsAbs(node.TaskFile) && node.File != "" {
		node.TaskFile = path.Join(path.Dir(p.reading), node.TaskFile)
	}
	if src.combination != nil && !src.combination.ruled && node.Name != "" {
		node.Name = src.combination.name(node.Name)
	}
	base := newNode()
	for _, name := range noEffect(node.Role) {
		if src.has(name) {
			p.Warn(src.where(name), "remove it", "%s has no effect on a %s", name, node.Role)
		}
		p.agentKey.Of(name).Copy(&node, &base)
	}
	if node.Role != RoleGate {
		// A fault and not a warning: the person must not believe that the node asks for a
		// code.
		if src.has("approve") {
			p.Fault(src.where("approve"), "remove it, or put a gate before the agent", "approve is for a gate, and this is a %s", node.Role)
		}
		node.Approve = ""
	}
	p.checkCommand(&node, src)
	if src.combination == nil {
		p.noMatrix(src.where("dir"), node.Dir)
	}
	node.Scope, node.Context = scopes.At(node.Dir, node.Scope), scopes.At(node.Dir, node.Context)
	g.Nodes = append(g.Nodes, node)
	p.sources = append(p.sources, src)
}

// readFailFast reads the key fail_fast of a node that comes from a matrix.
func readFailFast(r *keys.Reader, node *Node, name string, n *yaml.Node) bool {
	v, ok := r.Flag(name, n)
	if ok && node.Matrix != nil {
		node.Matrix.FailFast = v
	}
	return ok
}

// checkCommand checks that the node has a command if its kind needs one, and none
// otherwise.
func (p *parser) checkCommand(node *Node, src source) {
	switch {
	case node.Agent == KindACP && node.UsesModel() && len(node.Command) == 0 && !src.unread("command"):
		p.Fault(src.at, "write the program and its arguments, as in command: [qwen, --acp]", "agent: acp needs a command")
	case node.Agent != KindACP && src.has("command"):
		p.Fault(src.where("command"), "say agent: acp, or remove it; what agent: command runs is its task", "command is for agent: acp, and this is %s", node.Agent)
	case node.Agent != KindACP:
		node.Command = nil
	}
}

func readEnv(p *keys.Reader, _ string, n *yaml.Node, before map[string]string) (map[string]string, bool) {
	out := maps.Clone(before)
	good := len(p.Faults)
	for _, e := range p.Entries(n, "env") {
		v := keys.Behind(e.Val)
		switch {
		case !envName().MatchString(e.Name):
			p.Fault(e.Key, "letters, digits and underscores, not beginning with a digit", "env: %q is not a variable's name", keys.Shorten(e.Name))
		case strings.HasPrefix(e.Name, "CMUX_"):
			p.Fault(e.Key, "choose another name", "env: %s is set by cmux itself", e.Name)
		case v.Kind != yaml.ScalarNode:
			p.Fault(e.Val, "", "env: %s must be text, not %s", e.Name, keys.Describe(e.Val))
		case p.Clean("env: "+e.Name, e.Val, v.Value):
			if _, err := Expand(v.Value, func(string) string { return "" }); err != nil && !strings.Contains(v.Value, "${{") { // of a matrix
				p.Fault(e.Val, "", "env: %s: %v", e.Name, err)
				continue
			}
			if out == nil {
				out = make(map[string]string)
			}
			if keys.IsNull(v) {
				out[e.Name] = ""
			} else {
				out[e.Name] = v.Value
			}
		}
	}
	return out, len(p.Faults) == good
}

func readPools(p *keys.Reader, _ string, n *yaml.Node, _ map[string]int) (map[string]int, bool) {
	var out map[string]int
	good := len(p.Faults)
	named := (&keys.Key{Pattern: namePattern, Most: keys.MaxName, Hint: nameHint}).Check()
	for _, e := range p.Entries(n, "pools") {
		if !named(p, "pool", e.Key, e.Name) {
			continue
		}
		if size, ok := p.Count("pool "+e.Name, e.Val, 1, 0); ok {
			if out == nil {
				out = make(map[string]int)
			}
			out[e.Name] = int(size)
		}
	}
	return out, len(p.Faults) == good
}
