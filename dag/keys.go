package dag

import (
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// shape is how the value of a key is written.
type shape string

const (
	shapeText      shape = "text"
	shapeFlag      shape = "true or false"
	shapeCount     shape = "whole number"
	shapeDuration  shape = "duration"
	shapeChoice    shape = "one of the values below"
	shapeList      shape = "list of text, or one text"
	shapeNames     shape = "list of names, or names with commas between them"
	shapeChoices   shape = "list of the values below, or one of them"
	shapeTexts     shape = "keys and text values"
	shapeCounts    shape = "keys and whole numbers"
	shapeGroup     shape = "keys and values"
	shapeRetries   shape = "whole number, or keys and values"
	shapeFence     shape = "one of the values, or keys and values"
	shapeAgents    shape = "list of agents"
	shapeCondition shape = "expression"
	shapeMatrix    shape = "keys, each with a list of text"
)

// key is the full description of a key of the configuration. The parser, Format, the JSON
// Schema and the reference all use it.
type key struct {
	name     string
	doc      string // one or two sentences
	def      string // the default, for people; empty: none
	example  string // an example, in YAML
	pattern  string // regular expression that a text must match
	allowed  []string
	least    int64  // of a count
	required bool   // by the parser and the schema
	included bool   // allowed in an included file
	own      string // why defaults cannot hold it; empty: it can

	shape shape
	sub   []key // of a group
}

// field ties a key to the value of a T that it sets.
type field[T any] struct {
	key
	read   func(p *parser, t *T, n *yaml.Node)
	same   func(a, b *T) bool
	set    func(dst, src *T)
	render func(t *T, indent string) string
}

// newField makes a field from the value's location, a reader and a writer. A read that
// returns false has recorded a fault.
func newField[T, V any](k key, s shape, ptr func(*T) *V, read func(*parser, *yaml.Node, V) (V, bool), render func(V, string) string) field[T] {
	k.shape = s
	return field[T]{
		key: k,
		read: func(p *parser, t *T, n *yaml.Node) {
			if v, ok := read(p, n, *ptr(t)); ok {
				*ptr(t) = v
			}
		},
		same:   func(a, b *T) bool { return reflect.DeepEqual(*ptr(a), *ptr(b)) },
		set:    func(dst, src *T) { *ptr(dst) = *ptr(src) },
		render: func(t *T, indent string) string { return render(*ptr(t), indent) },
	}
}

type textCheck func(p *parser, key string, at *yaml.Node, s string) bool

func textField[T any](k key, ptr func(*T) *string, checks ...textCheck) field[T] {
	return newField(k, shapeText, ptr, func(p *parser, n *yaml.Node, _ string) (string, bool) {
		s, ok := p.text(k.name, n)
		for _, check := range checks {
			ok = ok && check(p, k.name, n, s)
		}
		return s, ok
	}, Text)
}

func flagField[T any](k key, ptr func(*T) *bool) field[T] {
	return newField(k, shapeFlag, ptr, func(p *parser, n *yaml.Node, _ bool) (bool, bool) {
		return p.flag(k.name, n)
	}, renderAny[bool])
}

func countField[T any, N int | int64](k key, ptr func(*T) *N) field[T] {
	return newField(k, shapeCount, ptr, func(p *parser, n *yaml.Node, _ N) (N, bool) {
		i, ok := p.count(k.name, n, k.least)
		return N(i), ok
	}, renderAny[N])
}

func durationField[T any](k key, ptr func(*T) *Duration) field[T] {
	return newField(k, shapeDuration, ptr, func(p *parser, n *yaml.Node, _ Duration) (Duration, bool) {
		return p.duration(k.name, n, k.least > 0)
	}, func(d Duration, _ string) string { return d.short() })
}

func choiceField[T any, S ~string](k key, ptr func(*T) *S) field[T] {
	return newField(k, shapeChoice, ptr, func(p *parser, n *yaml.Node, _ S) (S, bool) {
		s, ok := p.text(k.name, n)
		return S(s), ok && oneOf(k.allowed)(p, k.name, n, s)
	}, func(s S, indent string) string { return Text(string(s), indent) })
}

func listField[T any](k key, ptr func(*T) *[]string, check textCheck) field[T] {
	return newField(k, shapeList, ptr, func(p *parser, n *yaml.Node, _ []string) ([]string, bool) {
		return p.texts(k.name, n, false, check)
	}, renderList)
}

func namesField[T any](k key, ptr func(*T) *[]string) field[T] {
	f := newField(k, shapeNames, ptr, func(p *parser, n *yaml.Node, _ []string) ([]string, bool) {
		if v := behind(n); v.Kind == yaml.ScalarNode && v.Value == "" {
			return nil, true // depends_on: "" is how a form leaves it empty
		}
		return p.texts(k.name, n, true, nil)
	}, renderList)
	return f
}

func choicesField[T any](k key, ptr func(*T) *[]string) field[T] {
	f := listField(k, ptr, oneOf(k.allowed))
	f.shape = shapeChoices
	return f
}

func groupField[T, V any](k key, s shape, ptr func(*T) *V, fields []field[V], short func(*parser, *yaml.Node) (V, bool)) field[T] {
	for _, f := range fields {
		k.sub = append(k.sub, f.key)
	}
	index := indexFields(fields)
	return newField(k, s, ptr, func(p *parser, n *yaml.Node, _ V) (V, bool) {
		if behind(n).Kind == yaml.ScalarNode && short != nil {
			return short(p, n)
		}
		var v V
		before := len(p.faults)
		for _, e := range p.entries(n, k.name) {
			if f, ok := index.byName[e.name]; !ok {
				p.fault(e.key, p.suggest.near(e.name, index.names), "unknown key %q in %s", e.name, k.name)
			} else if !isNull(e.val) {
				f.read(p, &v, e.val)
			}
		}
		return v, len(p.faults) == before
	}, func(v V, indent string) string {
		var zero V
		var parts []string
		for _, f := range fields {
			if !f.same(&v, &zero) {
				parts = append(parts, f.name+": "+f.render(&v, indent))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	})
}

// fieldIndex finds fields by name.
type fieldIndex[T any] struct {
	fields []field[T]
	byName map[string]*field[T]
	names  []string
}

func indexFields[T any](fields []field[T]) *fieldIndex[T] {
	x := &fieldIndex[T]{fields: fields, byName: make(map[string]*field[T], len(fields))}
	for i := range fields {
		x.byName[fields[i].name] = &fields[i]
		x.names = append(x.names, fields[i].name)
	}
	return x
}

// newNode returns a node with default values.
func newNode() Node {
	return Node{
		Agent: "claude", Role: RoleBuild, When: AllSuccess, OnLost: Redo, OnLimit: Wake,
		Fence: Fence{Mode: FenceAuto}, VerifyTimeout: Duration(10 * time.Minute), VerifyAttempts: 3,
	}
}

const (
	namePattern    = `^[a-zA-Z0-9][a-zA-Z0-9._-]*$`
	sessionPattern = `^[A-Za-z0-9_][A-Za-z0-9_-]*$`
	envPattern     = `^[A-Za-z_][A-Za-z0-9_]*$`
)

// agentFields returns the keys of an agent, in the order of the documentation and of
// Format.
func agentFields(kinds []string) []field[Node] {
	return []field[Node]{
		textField(key{name: "name", example: "name: auth", required: true, own: "names are unique", pattern: namePattern,
			doc: "The name of the agent: at most 100 letters, digits, dots, dashes and underscores. It begins with a letter or digit and is unique, ignoring case."},
			func(n *Node) *string { return &n.Name }, safeName),
		textField(key{name: "branch", def: "{session}/{name}", example: "branch: feature/auth", own: "two agents cannot share a branch",
			doc: "The branch that the agent works on. If it exists, the agent continues it."},
			func(n *Node) *string { return &n.Branch }, safeBranch),
		choiceField(key{name: "agent", def: "claude", example: "agent: command", allowed: kinds,
			doc: "The kind of agent. `command` runs the task with `sh -c`; `acp` runs the program that the key `command` names."},
			func(n *Node) *string { return &n.Agent }),
		listField(key{name: "command", example: "command: [qwen, --acp]",
			doc: "The program of `agent: acp` and its arguments, one list entry each. The program must speak the Agent Client Protocol on its standard input and output. cmux starts it without a shell. `agent: acp` requires this key; other kinds do not allow it."},
			func(n *Node) *[]string { return &n.Command }, oneLine),
		choiceField(key{name: "role", def: "build", example: "role: review",
			allowed: []string{string(RoleBuild), string(RoleReview), string(RoleMerge), string(RoleGate)},
			doc:     "`build` works in its own worktree, on its own branch. `review` reads the work of its dependencies, at the project root. `merge` merges the branches of its dependencies into its own. `gate` waits for a person."},
			func(n *Node) *Role { return &n.Role }),
		textField(key{name: "task", example: `task: "implement JWT authentication"`, own: "each agent has its own",
			doc: "What the agent should do. A build or review needs this key or `task_file`."},
			func(n *Node) *string { return &n.Task }),
		textField(key{name: "task_file", example: "task_file: tasks/auth.md", own: "each agent has its own",
			doc: "A file with the task, used instead of `task`. The path is relative to the file that names it. It must be a regular file of at most 1 MB, inside the project after links are resolved."},
			func(n *Node) *string { return &n.TaskFile }, oneLine),
		newField(key{name: "dir", def: "the worktree's root", example: "dir: packages/web",
			doc: "The folder in which the agent and its `verify` commands run, relative to the root of the worktree, or of the project for a review without one. It must exist there after `setup`, and must not lead out. `scope` and `context` stay relative to the root; a pattern that begins with `./` is relative to this folder. `setup`, `copy`, `link`, `task_file` and `on_complete` do not change. `dir: .` is the root, where `defaults` name another folder."},
			shapeText, func(n *Node) *string { return &n.Dir }, readDir, Text),
		listField(key{name: "scope", example: `scope: [src/auth/, "src/**/*_test.go"]`,
			doc: "What the agent may write: files, directories (including everything below them) and globs with `*`, `?`, `[...]`, `{a,b}` and `**`, relative to the project, or to `dir` if they begin with `./`. cmux takes a file or folder that exists by its name: with a folder `app/[id]`, the scope `app/[id]/**` covers that folder and not `app/i`. Without this key, the agent may write anywhere in its worktree. cmux checks the scope with git before the node is done."},
			func(n *Node) *[]string { return &n.Scope }, projectPattern),
		listField(key{name: "context", example: "context: [src/types/]",
			doc: "What the agent should read and may not write. Same syntax as `scope`."},
			func(n *Node) *[]string { return &n.Context }, projectPattern),
		namesField(key{name: "depends_on", example: "depends_on: [schema]", own: "an agent would depend on itself",
			doc: "The agents that this one waits for. It starts from their work."},
			func(n *Node) *[]string { return &n.DependsOn }),
		choiceField(key{name: "when", def: "all_success", example: "when: all_done",
			allowed: []string{string(AllSuccess), string(AllDone), string(OneSuccess), string(Always)},
			doc:     "When the node starts: `all_success`, when all dependencies are done; `all_done`, when all have ended, with any result; `one_success`, when the first one is done; `always` is another name for `all_done`. To run a node after all other agents, put it under `finally`."},
			func(n *Node) *Join { return &n.When }),
		newField(key{name: "if", example: "if: success()",
			doc: "Whether the node starts. cmux checks this condition after `when`. If it is false, the node is `skipped`, which is not a failure. The condition is an [expr](https://expr-lang.org) expression about the nodes in `depends_on`, or, under `finally`, about any node. `needs.NAME.result` is `done`, `failed`, `cancelled`, `blocked` or `skipped`. `needs.NAME.outputs.KEY` is a value that a done node has published, else empty. `success()` is true if all are done or skipped. `failure()` is true if one failed, was cancelled or is blocked. If a dependency was skipped and none failed, a node with `when: all_success` is skipped too, and one with `when: all_done` starts."},
			shapeCondition, func(n *Node) *string { return &n.If }, readCondition, Text),
		listField(key{name: "outputs", example: "outputs: [version, url]", pattern: OutputPattern, own: "each agent has its own",
			doc: "The values that the node publishes for its dependents, with `cmux output KEY=VALUE` or, in a command, also with a line `KEY=VALUE` in the file `$CMUX_OUTPUT`. The node is not done before it has published each of them. Dependents get them in `$CMUX_NEEDS_NAME_KEY` (the name in capitals, with `_` for other characters than letters and digits). Agents also get them in their prompts, and their tasks may contain `${{ needs.NAME.outputs.KEY }}`. A value is text of at most 4 KB; a node can publish 50. Values appear in prompts and records, so cmux refuses a value that contains a secret of the environment."},
			func(n *Node) *[]string { return &n.Outputs }, outputNames),
		textField(key{name: "pool", example: "pool: opus",
			doc: "The pool that limits this agent, in addition to `max_parallel`."},
			func(n *Node) *string { return &n.Pool }, oneLine),
		listField(key{name: "verify", example: `verify: ["go test ./..."]`,
			doc: "Commands that must succeed in the worktree before the node is done. If one fails, the agent gets its output and continues."},
			func(n *Node) *[]string { return &n.Verify }, nil),
		durationField(key{name: "verify_timeout", def: "10m", example: "verify_timeout: 2m", least: 1,
			doc: "How long each `verify` command may take."},
			func(n *Node) *Duration { return &n.VerifyTimeout }),
		countField(key{name: "verify_attempts", def: "3", example: "verify_attempts: 5", least: 1,
			doc: "How often the checks may fail before the node fails."},
			func(n *Node) *int { return &n.VerifyAttempts }),
		durationField(key{name: "timeout", def: "none", example: "timeout: 45m",
			doc: "How long an attempt may run. Time that it is limited, queued or waiting for a person does not count. 0: no limit."},
			func(n *Node) *Duration { return &n.Timeout }),
		durationField(key{name: "idle_timeout", def: "none", example: "idle_timeout: 15m",
			doc: "How long an attempt may be idle: no event, no output, no changed file. 0: no limit."},
			func(n *Node) *Duration { return &n.IdleTimeout }),
		durationField(key{name: "input_timeout", def: "0", example: "input_timeout: 1h",
			doc: "How long an attempt waits for a person's answer. 0: no limit. Headless, it fails at once."},
			func(n *Node) *Duration { return &n.InputTimeout }),
		groupField(key{name: "retries", def: "0", example: "retries: {max: 2, backoff: 30s}",
			doc: "How often cmux retries a failed attempt: a number, or a number with a pause before each retry. Usage limits and lost attempts do not count."},
			shapeRetries, func(n *Node) *Retries { return &n.Retries }, []field[Retries]{
				countField(key{name: "max", def: "0", example: "max: 2", doc: "How often cmux retries a failed attempt."},
					func(r *Retries) *int { return &r.Max }),
				durationField(key{name: "backoff", def: "0", example: "backoff: 30s", doc: "How long to wait before the next attempt."},
					func(r *Retries) *Duration { return &r.Backoff }),
			}, func(p *parser, n *yaml.Node) (Retries, bool) {
				i, ok := p.count("retries", n, 0)
				return Retries{Max: int(i)}, ok
			}),
		choiceField(key{name: "on_lost", def: "redo", example: "on_lost: ask", allowed: []string{string(Redo), string(Ask)},
			doc: "What to do when an attempt's process disappears, because it was killed or the machine went down: `redo` starts it again, `ask` waits for a person."},
			func(n *Node) *OnLost { return &n.OnLost }),
		choiceField(key{name: "on_limit", def: "wake", example: "on_limit: ask", allowed: []string{string(Wake), string(AskToGoOn)},
			doc: "What an agent does when it reaches the usage limit of its account: `wake` continues by itself when the limit ends; `ask` needs input first, and fails if headless. In both cases, agents that have not started wait for the end of the limit."},
			func(n *Node) *OnLimit { return &n.OnLimit }),
		flagField(key{name: "auto_accept", def: "false", example: "auto_accept: true",
			doc: "Lets the agent act without asking for permission. docs/permissions.md says what it may do without asking in any case."},
			func(n *Node) *bool { return &n.AutoAccept }),
		groupField(key{name: "fence", def: "auto", example: "fence: require",
			doc: "Whether the kernel keeps the agent, its checks and all that they start from writing outside the node's worktree: `auto`, where the system can; `require`, or the run does not start; `off`. Beside the worktree may be written: what a commit needs in the repository, temporary folders, the caches of common tools, the agent program's own state, and what `write` names. A review may write nothing of the project. docs/permissions.md says what the fence does not keep out."},
			shapeFence, func(n *Node) *Fence { return &n.Fence }, []field[Fence]{
				choiceField(key{name: "mode", def: "auto", example: "mode: require", allowed: fenceModes(), doc: "As the value alone."},
					func(f *Fence) *FenceMode { return &f.Mode }),
				listField(key{name: "write", example: "write: [~/.terraform.d, /opt/sdk]", doc: "Further files and folders that may be written: absolute, or below your home folder with `~/`."},
					func(f *Fence) *[]string { return &f.Write }, placeOutside),
			}, readFence),
		textField(key{name: "account", def: "the kind and its configuration folder", example: "account: work",
			doc: "The account that a usage limit pauses. Agents with the same account and kind wait together."},
			func(n *Node) *string { return &n.Account }, oneLine),
		textField(key{name: "model", example: "model: opus", doc: "The model, as the kind of agent names it."},
			func(n *Node) *string { return &n.Model }, oneLine, noOption),
		newField(key{name: "env", example: "env: {KEY: value}", pattern: envPattern,
			doc: "Environment variables for the agent, its checks and its commands. cmux adds them to those of `defaults`. In a value, `$NAME` and `${NAME}` are variables of the environment in which you call `cmux agents start`, `~/` at the beginning or after a colon is your home folder, and `$$` is a dollar. To add a folder to the PATH: `PATH: \"~/bin:$PATH\"`."},
			shapeTexts, func(n *Node) *map[string]string { return &n.Env }, readEnv, renderMap[string]),
		choicesField(key{name: "on_complete", example: "on_complete: [push, pr]", allowed: []string{"push", "pr"},
			doc: "What to do after the checks pass: `push` the branch, or also open a pull request (`pr`). The push goes where git pushes: to the branch's `pushRemote`, `remote.pushDefault`, the branch's `remote`, the only remote, or `origin`. If there is none of these, to the remote of the branch that the run starts from. `start` and `cmux doctor` check the remote and `gh`."},
			func(n *Node) *[]string { return &n.OnComplete }),
		budgetField("How many tokens the agent may use in this run, all attempts together. When it has used more, cmux stops it and saves its work, and it is `failed (budget)` without a retry. To continue, raise the budget and use `cmux agents retry`.",
			func(n *Node) *Budget { return &n.Budget }),
		{key: key{name: "matrix", example: `matrix: {os: [linux, mac], go: ["1.24", "1.25"]}`, own: "each agent has its own", shape: shapeMatrix, pattern: axisPattern,
			doc: "Makes one node for each combination of the values, at most 256. `exclude` leaves combinations out: `exclude: [{os: mac, go: \"1.24\"}]`. In every value of the agent and in its task file, cmux replaces `${{ matrix.KEY }}` with the node's value. A node is named `NAME-VALUE-VALUE`, or as in `name: test-${{ matrix.os }}`. `depends_on: [NAME]` means all nodes of the matrix. `depends_on: [\"build-${{ matrix.os }}\"]` means the node of another matrix with the same value."},
			read: func(*parser, *Node, *yaml.Node) {}, same: func(a, b *Node) bool { return true }, set: func(dst, src *Node) {}},
		{key: key{name: "fail_fast", def: "false", example: "fail_fast: true", own: "it belongs to a matrix", shape: shapeFlag,
			doc: "When a node of the `matrix` has failed for good, cmux cancels the others, as `cmux agents stop NAME` does: it ends running nodes, and does not start waiting ones."},
			read: readFailFast, same: func(a, b *Node) bool { return true }, set: func(dst, src *Node) {}},
		flagField(key{name: "checkout", def: "false", example: "checkout: true",
			doc: "Gives a review a worktree with the work that it reviews. `verify` does this too."},
			func(n *Node) *bool { return &n.Checkout }),
		newField(key{name: "approve", def: string(ApproveAny), example: "approve: code", allowed: []string{string(ApproveAny), string(ApproveCode)},
			doc: "What opens a gate. Only `role: gate` allows this key. `any`: `cmux agents approve`, `override`, or a marker. `code`: only these commands, in your own terminal, where they show a code and ask you to type it; a marker can close the gate but not open it."},
			shapeChoice, func(n *Node) *Approval { return &n.Approve }, readApproval,
			func(a Approval, indent string) string { return Text(string(a), indent) }),
	}
}

// fenceModes are the values of Fence.Mode.
func fenceModes() []string {
	return []string{string(FenceAuto), string(FenceRequire), string(FenceOff)}
}

// readFence reads the key fence where it is only a mode.
func readFence(p *parser, n *yaml.Node) (Fence, bool) {
	s, ok := p.text("fence", n)
	return Fence{Mode: FenceMode(s)}, ok && oneOf(fenceModes())(p, "fence", n, s)
}

// placeOutside checks a path that need not be in the project.
func placeOutside(p *parser, key string, at *yaml.Node, s string) bool {
	ok := oneLine(p, key, at, s)
	if ok && !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") {
		p.fault(at, "begin it with / or ~/", "%s %q is relative", key, shorten(s))
		return false
	}
	return ok
}

// readApproval reads the key approve. any is the same as no key.
func readApproval(p *parser, n *yaml.Node, _ Approval) (Approval, bool) {
	s, ok := p.text("approve", n)
	if !ok || !oneOf([]string{string(ApproveAny), string(ApproveCode)})(p, "approve", n, s) {
		return "", false
	}
	if Approval(s) == ApproveAny {
		return "", true
	}
	return Approval(s), true
}

// readDir reads the key dir. The root is the same as no key.
func readDir(p *parser, n *yaml.Node, _ string) (string, bool) {
	s, ok := p.text("dir", n)
	if !ok || !insideTree(p, "dir", n, s) {
		return "", false
	}
	if s = path.Clean(s); s == "." {
		s = ""
	}
	return s, true
}

// fromDir returns the patterns with those that begin with ./ made relative to the root.
// Wildcard characters in dir are literal.
func fromDir(dir string, patterns []string) []string {
	if dir == "" || len(patterns) == 0 {
		return patterns
	}
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = p
		if rest, ok := strings.CutPrefix(p, "./"); ok || p == "." {
			out[i] = escapes().Replace(dir) + "/"
			if ok {
				out[i] += rest
			}
		}
	}
	return out
}

// readReview reads the key review. optional is the same as no key.
func readReview(p *parser, n *yaml.Node, _ Reviewing) (Reviewing, bool) {
	s, ok := p.text("review", n)
	if !ok || !oneOf([]string{string(ReviewOptional), string(ReviewRequired)})(p, "review", n, s) {
		return "", false
	}
	if Reviewing(s) == ReviewOptional {
		return "", true
	}
	return Reviewing(s), true
}

// budgetField returns the key of a budget, for agents and for the file.
func budgetField[T any](doc string, ptr func(*T) *Budget) field[T] {
	return groupField(key{name: "budget", example: "budget: {tokens: 2000000}", doc: doc},
		shapeGroup, ptr, []field[Budget]{
			countField(key{name: "tokens", def: "none", example: "tokens: 2000000",
				doc: "The number of tokens: input, output and cache writes, including sub-agents. Cache reads do not count. 0: no limit."},
				func(b *Budget) *int64 { return &b.Tokens }),
		}, nil)
}

// rootFields returns the keys of the file.
func (p *parser) rootFields() []field[Graph] {
	fields := []field[Graph]{
		textField(key{name: "session", example: "session: shop", required: true, pattern: sessionPattern,
			doc: "The name of the run's tmux session. Names of branches and worktrees begin with it. Letters, digits, dashes and underscores."},
			func(g *Graph) *string { return &g.Session }, safeSession),
		textField(key{name: "base", def: "HEAD", example: "base: main", doc: "The commit that the work starts from."},
			func(g *Graph) *string { return &g.Base }, oneLine, noOption),
		textField(key{name: "worktree_base", def: "..", example: "worktree_base: ../trees",
			doc: "The directory of the worktrees, relative to the project. Each worktree is named `{session}-{name}`. If another project has such a worktree there, as a second clone beside the first one does, the names begin with `{session}-{folder of the project}`, and the table before the start shows it. If the directory is inside the project, cmux adds the worktrees to `.git/info/exclude`."},
			func(g *Graph) *string { return &g.WorktreeBase }, oneLine),
		flagField(key{name: "main_pane", def: "true", example: "main_pane: false", doc: "Whether there is a pane with a shell at the project root, for you."},
			func(g *Graph) *bool { return &g.MainPane }),
		countField(key{name: "max_parallel", def: "8", example: "max_parallel: 4", least: 1, doc: "How many agents run at the same time."},
			func(g *Graph) *int { return &g.MaxParallel }),
		newField(key{name: "pools", example: "pools: {opus: 2}", pattern: namePattern, least: 1,
			doc: "Named limits: how many agents of each `pool` run at the same time."},
			shapeCounts, func(g *Graph) *map[string]int { return &g.Pools }, readPools, renderMap[int]),
		budgetField("How many tokens all agents of the run may use together. When they have used more, cmux starts no more agents, stops the running ones and saves their work, and all of them are `failed (budget)`. Commands and gates continue.",
			func(g *Graph) *Budget { return &g.Budget }),
		{key: key{name: "defaults", included: true, example: "defaults: {agent: command, timeout: 1h}", shape: shapeGroup,
			doc: "Default values for agents: any key of an agent except `name`, `branch`, `depends_on`, `task` and `task_file`. An agent's own value wins."},
			read: (*parser).readDefaults},
		listField(key{name: "setup", example: `setup: ["npm ci"]`, doc: "Commands that cmux runs in each new worktree before its agent starts."},
			func(g *Graph) *[]string { return &g.Setup }, nil),
		listField(key{name: "copy", example: "copy: [.env]", doc: "Files and directories that cmux copies from the project into each new worktree."},
			func(g *Graph) *[]string { return &g.Copy }, projectPattern),
		listField(key{name: "link", example: "link: [node_modules]", doc: "Files and directories that each new worktree shares with the project through a symbolic link."},
			func(g *Graph) *[]string { return &g.Link }, projectPattern),
		groupField(key{name: "notify", example: "notify: {bell: true, desktop: true}",
			doc: "How cmux tells you, once each, that a node needs input, that an account reached its limit, that two branches change the same files, and that the run has ended."},
			shapeGroup, func(g *Graph) *Notify { return &g.Notify }, []field[Notify]{
				flagField(key{name: "bell", def: "false", example: "bell: true", doc: "The terminal's bell, in tmux."}, func(n *Notify) *bool { return &n.Bell }),
				flagField(key{name: "desktop", def: "false", example: "desktop: true", doc: "A desktop notification."}, func(n *Notify) *bool { return &n.Desktop }),
				textField(key{name: "webhook", example: `webhook: "https://example.org/cmux"`, doc: "An address to which cmux sends a JSON object with POST: `at`, `run`, `session`, `event` (`needs_input`, `limited`, `collision`, `run_ended`), `text`, and, if they apply, `node`, `other` (of a collision), `account`, `until`, `state`. The address of a Slack or Discord webhook gets a message in their format. If a webhook refuses a message, or does not answer within 10 s, `cmux agents status` and `cmux doctor` say so."},
					func(n *Notify) *string { return &n.Webhook }, webAddress),
				choiceField(key{name: "format", allowed: NotifyFormats(), example: "format: slack", doc: "What the webhook understands. Default: `slack` or `discord` if the address is one of theirs, else `json`. Mattermost and Rocket.Chat understand `slack`."},
					func(n *Notify) *string { return &n.Format }),
				textField(key{name: "command", example: `command: 'mail -s "$CMUX_TEXT" me@example.org'`, doc: "A command that cmux runs with `sh -c` in the project's root, with the JSON object on its standard input and `CMUX_EVENT`, `CMUX_TEXT`, `CMUX_NODE`, `CMUX_STATE` and `CMUX_SESSION` in its environment. cmux ends it after 10 s."},
					func(n *Notify) *string { return &n.Command }),
			}, nil),
		newField(key{name: "review", def: string(ReviewOptional), example: "review: required", allowed: []string{string(ReviewOptional), string(ReviewRequired)},
			doc: "Which nodes `cmux agents merge` takes. `optional`: all done nodes, except those that a person dropped. `required`: only nodes that a person approved with `cmux agents review`, and whose dependencies are approved too."},
			shapeChoice, func(g *Graph) *Reviewing { return &g.Review }, readReview,
			func(v Reviewing, indent string) string { return Text(string(v), indent) }),
		{key: key{name: "include", included: true, example: "include: [ci/checks.yml]", shape: shapeList,
			doc: "Files with more agents for the run, relative to this file, inside the project. Such a file can have the keys `agents`, `defaults` (added to those here) and `include`, and no others. Its task files are relative to it. Its agents come before those of the file that includes it."},
			read: (*parser).readInclude},
		{key: key{name: "agents", included: true, example: `agents: [{name: auth, task: "..."}]`, required: true, shape: shapeAgents,
			doc: "The agents, each with the keys below. Only a file that includes others can leave this key out."},
			read: func(p *parser, g *Graph, n *yaml.Node) { p.readAgents(g, n, false) }},
		{key: key{name: "finally", included: true, example: `finally: [{name: tidy, agent: command, task: "make clean"}]`, shape: shapeAgents,
			doc: "Agents that start when all agents under `agents` have ended, with any result: at most 100, each with the keys below. Their default for `when` is `always`. They start from the base and from the work of the agents in their `depends_on`. Agents under `agents` cannot depend on them. If one fails, the run has failed."},
			read: func(p *parser, g *Graph, n *yaml.Node) { p.readAgents(g, n, true) }},
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

func (p *parser) readDefaults(_ *Graph, n *yaml.Node) {
	for _, e := range p.entries(n, "defaults") {
		f, ok := p.agentKey.byName[e.name]
		switch {
		case !ok:
			p.fault(e.key, p.suggest.near(e.name, p.agentKey.names), "unknown key %q in defaults", e.name)
		case f.own != "":
			p.fault(e.key, f.own, "%s cannot stand under defaults", e.name)
		case !isNull(e.val):
			f.read(p, &p.defaults, e.val)
		}
	}
}

// readAgents reads the list agents, or the list finally.
func (p *parser) readAgents(g *Graph, n *yaml.Node, finally bool) {
	v := behind(n)
	if v.Kind != yaml.SequenceNode {
		name := "agents"
		if finally {
			name = "finally"
		}
		p.fault(n, `write "- name: NAME" for each`, "%s must be a list, not %s", name, describe(n))
		return
	}
	if len(v.Content) == 0 && !finally {
		p.fault(n, `write "- name: NAME" for each`, "agents lists no agent")
		return
	}
	g.Nodes = slices.Grow(g.Nodes, len(v.Content))
	p.sources = slices.Grow(p.sources, len(v.Content))
	for _, item := range v.Content {
		for _, src := range p.expand(item, p.entries(item, "an agent")) {
			src.finally = finally
			p.readAgent(g, src)
		}
	}
}

// readAgent adds the node that src describes.
func (p *parser) readAgent(g *Graph, src source) {
	node := p.defaults
	node.Env = maps.Clone(node.Env)
	node.Line, node.File = src.at.Line, p.fileOf[src.at]
	if node.Finally = src.finally; src.finally {
		node.When = Always
	}
	if src.combination != nil {
		node.Matrix = &Matrix{Name: src.combination.group}
	}
	src.entries = slices.DeleteFunc(src.entries, func(e entry) bool {
		f, ok := p.agentKey.byName[e.name]
		if !ok {
			p.fault(e.key, p.suggest.near(e.name, p.agentKey.names), "unknown key %q", e.name)
			return true
		}
		if !isNull(e.val) {
			f.read(p, &node, e.val)
		}
		return isNull(e.val)
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
			p.warn(src.where(name), "remove it", "%s has no effect on a %s", name, node.Role)
		}
		p.agentKey.byName[name].set(&node, &base)
	}
	if node.Role != RoleGate {
		// A fault and not a warning: the person must not believe that the node asks for a
		// code.
		if src.has("approve") {
			p.fault(src.where("approve"), "remove it, or put a gate before the agent", "approve is for a gate, and this is a %s", node.Role)
		}
		node.Approve = ""
	}
	p.checkCommand(&node, src)
	if src.combination == nil {
		p.noMatrix(src.where("dir"), node.Dir)
	}
	node.Scope, node.Context = fromDir(node.Dir, node.Scope), fromDir(node.Dir, node.Context)
	g.Nodes = append(g.Nodes, node)
	p.sources = append(p.sources, src)
}

// readFailFast reads the key fail_fast of a node that comes from a matrix.
func readFailFast(p *parser, node *Node, n *yaml.Node) {
	if v, ok := p.flag("fail_fast", n); ok && node.Matrix != nil {
		node.Matrix.FailFast = v
	}
}

// checkCommand checks that the node has a command if its kind needs one, and none
// otherwise.
func (p *parser) checkCommand(node *Node, src source) {
	switch {
	case node.Agent == KindACP && node.UsesModel() && len(node.Command) == 0 && !src.unread("command"):
		p.fault(src.at, "write the program and its arguments, as in command: [qwen, --acp]", "agent: acp needs a command")
	case node.Agent != KindACP && src.has("command"):
		p.fault(src.where("command"), "say agent: acp, or remove it; what agent: command runs is its task", "command is for agent: acp, and this is %s", node.Agent)
	case node.Agent != KindACP:
		node.Command = nil
	}
}

func readEnv(p *parser, n *yaml.Node, before map[string]string) (map[string]string, bool) {
	out := maps.Clone(before)
	good := len(p.faults)
	for _, e := range p.entries(n, "env") {
		v := behind(e.val)
		switch {
		case !envName().MatchString(e.name):
			p.fault(e.key, "letters, digits and underscores, not beginning with a digit", "env: %q is not a variable's name", shorten(e.name))
		case strings.HasPrefix(e.name, "CMUX_"):
			p.fault(e.key, "choose another name", "env: %s is set by cmux itself", e.name)
		case v.Kind != yaml.ScalarNode:
			p.fault(e.val, "", "env: %s must be text, not %s", e.name, describe(e.val))
		case p.clean("env: "+e.name, e.val, v.Value):
			if _, err := Expand(v.Value, func(string) string { return "" }); err != nil && !strings.Contains(v.Value, "${{") { // of a matrix
				p.fault(e.val, "", "env: %s: %v", e.name, err)
				continue
			}
			if out == nil {
				out = make(map[string]string)
			}
			if isNull(v) {
				out[e.name] = ""
			} else {
				out[e.name] = v.Value
			}
		}
	}
	return out, len(p.faults) == good
}

func readPools(p *parser, n *yaml.Node, _ map[string]int) (map[string]int, bool) {
	var out map[string]int
	good := len(p.faults)
	for _, e := range p.entries(n, "pools") {
		if !safeName(p, "pool", e.key, e.name) {
			continue
		}
		if size, ok := p.count("pool "+e.name, e.val, 1); ok {
			if out == nil {
				out = make(map[string]int)
			}
			out[e.name] = int(size)
		}
	}
	return out, len(p.faults) == good
}
