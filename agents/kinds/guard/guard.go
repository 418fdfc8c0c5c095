package guard

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"cmux/agents/kinds/guard/grant"
	"cmux/agents/kinds/guard/places"
	"cmux/agents/kinds/question"
	"cmux/dag"
)

// Verdict is what becomes of a tool call.
type Verdict uint8

const (
	Allow Verdict = iota
	Deny          // Reason is for the agent
	Ask           // allowed; a person is asked, and Reason is the question
	Grant         // allowed, and so surely harmless that nobody need be asked
)

func (v Verdict) String() string { return [...]string{"allow", "deny", "ask", "grant"}[v] }

// NobodyToAsk refuses a call that needs a person's leave where there is none.
const NobodyToAsk = "refused: nobody can allow this during this run. Find a way that needs no permission. If there is none, report `blocked` and say what you need"

// Decision is the answer to a Call.
type Decision struct {
	Verdict Verdict
	Reason  string
	Tell    string // what the agent is to know of a call that is allowed; empty: nothing
}

// Call is a tool call that is about to happen.
type Call struct {
	Tool  string
	Input json.RawMessage
	Dir   string // of the agent, absolute; empty: where the node works
	Sub   bool   // a sub-agent makes it

	// Unplaced says that it may be done in another folder than Dir: nobody said.
	Unplaced bool
}

// guard judges the calls of one node.
type guard struct {
	*places.Places
	give *grant.Giver
}

func newGuard(p places.Policy) *guard {
	at := places.Of(p)
	return &guard{Places: at, give: grant.Of(at)}
}

// Decide judges a call. Tools that are not known are allowed.
func Decide(p places.Policy, c Call) Decision {
	g := newGuard(p)
	if !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(g.Begin, c.Dir)
	}
	in := parseInput(c.Input)
	d := g.judge(c, in)
	if d.Verdict != Allow {
		return d
	}
	if kindOf(c.Tool) == writes {
		d.Tell = g.Care(c.Dir, in.paths())
	}
	if d.Tell == "" && g.grants(c, in) {
		d.Verdict = Grant
	}
	return d
}

// judge says what is refused, and what is asked of a person.
func (g *guard) judge(c Call, in input) Decision {
	switch kindOf(c.Tool) {
	case writes:
		return g.writeTool(c, in)
	case reads:
		return refusal(g.readTool(c, in))
	case shells:
		return refusal(g.shellTool(c, in))
	case asks:
		return g.ask(in)
	case plans:
		return g.plan(c.Tool, in)
	case delegates:
		if in.text("isolation") == "worktree" {
			return Decision{Verdict: Deny, Reason: "a worktree of its own for a sub-agent is refused: cmux manages the worktrees of this repository. Start it without isolation, in your directory."}
		}
	case reporting:
		if c.Sub {
			return Decision{Verdict: Deny, Reason: c.Tool + refusedToSub}
		}
	case moves:
		return Decision{Verdict: Deny, Reason: fmt.Sprintf("%s is refused: cmux manages the worktrees of this repository. Stay in %s.", c.Tool, g.Home)}
	}
	return Decision{}
}

func refusal(reason string) Decision {
	if reason == "" {
		return Decision{}
	}
	return Decision{Verdict: Deny, Reason: reason}
}

type toolKind uint8

const (
	other toolKind = iota
	writes
	reads
	shells
	asks
	plans
	delegates
	moves
	reporting
)

// tools are those of Claude Code, Codex and Kimi, by lower-case name, and the
// file tools of the common MCP server.
var tools = map[string]toolKind{
	"write": writes, "edit": writes, "multiedit": writes, "notebookedit": writes,
	"apply_patch": writes, "filechange": writes, "file_change": writes, "patch": writes,
	"writefile": writes, "strreplacefile": writes,
	"write_file": writes, "edit_file": writes, "create_directory": writes, "move_file": writes, "delete_file": writes,

	"read": reads, "grep": reads, "glob": reads, "ls": reads, "notebookread": reads, "readfile": reads,
	"read_file": reads, "read_text_file": reads, "read_media_file": reads, "list_dir": reads, "grep_files": reads,
	"list_directory": reads, "directory_tree": reads, "search_files": reads, "view_image": reads,

	"bash": shells, "shell": shells, "shell_command": shells, "local_shell": shells, "exec_command": shells,
	"commandexecution": shells, "command_execution": shells, "powershell": shells, "monitor": shells,

	"askuserquestion": asks, "request_user_input": asks,
	"enterplanmode": plans, "exitplanmode": plans,
	"task": delegates, "agent": delegates,
	"enterworktree": moves, "exitworktree": moves,
}

// IsShell reports whether a tool runs commands.
func IsShell(tool string) bool { return kindOf(tool) == shells }

func kindOf(tool string) toolKind {
	name := strings.ToLower(tool)
	if strings.HasPrefix(name, "mcp__cmux__") {
		return reporting
	}
	if strings.HasPrefix(name, "mcp__") {
		name = name[strings.LastIndex(name, "__")+2:]
		if k := tools[name]; k != writes && k != reads {
			return other
		}
	}
	return tools[name]
}

// input is a tool's input: an object, or a plain text.
type input struct {
	fields map[string]json.RawMessage
	whole  string
}

func parseInput(raw json.RawMessage) input {
	var in input
	if json.Unmarshal(raw, &in.fields) != nil {
		in.fields = nil
		_ = json.Unmarshal(raw, &in.whole) // what is neither says nothing
	}
	return in
}

// text is the first of the fields that is a text.
func (in input) text(names ...string) string {
	for _, n := range names {
		var s string
		if json.Unmarshal(in.fields[n], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// paths are the files that a write tool is about to write.
func (in input) paths() []string {
	var found []string
	for _, n := range []string{"file_path", "notebook_path", "path", "source", "destination"} {
		if s := in.text(n); s != "" {
			found = append(found, s)
		}
	}
	for _, s := range []string{in.whole, in.text("input"), in.text("patch")} {
		found = append(found, patched(s)...)
	}
	// Codex: a list of changes with a path each, or an object by path.
	var list []struct {
		Path string `json:"path"`
		Kind struct {
			Move string `json:"move_path"`
		} `json:"kind"`
	}
	var byPath map[string]json.RawMessage
	if json.Unmarshal(in.fields["changes"], &list) == nil {
		for _, c := range list {
			found = append(found, c.Path)
			if c.Kind.Move != "" {
				found = append(found, c.Kind.Move)
			}
		}
	} else if json.Unmarshal(in.fields["changes"], &byPath) == nil {
		for p := range byPath {
			found = append(found, p)
		}
		slices.Sort(found)
	}
	return found
}

// patched are the files that a patch in Codex's format names.
func patched(patch string) []string {
	var found []string
	for line := range strings.Lines(patch) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if p, ok := strings.CutPrefix(strings.TrimSpace(line), head); ok {
				found = append(found, strings.TrimSpace(p))
			}
		}
	}
	return found
}

func (g *guard) writeTool(c Call, in input) Decision {
	if g.Role == dag.RoleReview {
		return Decision{Verdict: Deny, Reason: c.Tool + " is refused: you change nothing in this task. Describe the change in your summary"}
	}
	for _, p := range in.paths() {
		if reason := g.MayWrite(c.Dir, p); reason != "" {
			return refusal(reason)
		}
	}
	return Decision{}
}

// questions are those that a tool for questions puts to a person, with what is
// said of each option.
func (in input) questions() question.Question {
	var asked []struct {
		Question string `json:"question"`
		Options  []struct {
			Label string `json:"label"`
			About string `json:"description"`
		} `json:"options"`
	}
	_ = json.Unmarshal(in.fields["questions"], &asked) // another shape has no known text
	if len(asked) == 0 {
		return question.New(in.text("question", "text"))
	}
	var all question.Question
	for _, q := range asked {
		part := question.Part{Text: q.Question}
		for _, o := range q.Options {
			shown := o.Label
			if o.About != "" && o.About != o.Label {
				shown += ": " + o.About
			}
			part.Options = append(part.Options, shown)
		}
		all.Parts = append(all.Parts, part)
	}
	return all
}

// Question is what a person is asked by an Ask about call, of which Reason is
// the text.
func (d Decision) Question(call Call) question.Question {
	if in := parseInput(call.Input); in.questions().String() == d.Reason {
		return in.questions()
	}
	if strings.EqualFold(call.Tool, "ExitPlanMode") {
		return question.Agree(d.Reason)
	}
	return question.New(d.Reason)
}

func (g *guard) ask(in input) Decision {
	if g.Headless {
		return Decision{Verdict: Deny, Reason: "nobody can answer in this run. Decide from the task and the code, and name the decision in your summary. If you cannot, report `blocked` and say what you need"}
	}
	q := in.questions().String()
	if q == "" {
		q = "the agent asks a question"
	}
	return Decision{Verdict: Ask, Reason: q}
}

// plan answers plan mode. In a pane a person may have turned it on, and the
// plan is theirs to approve.
func (g *guard) plan(tool string, in input) Decision {
	if g.Headless || strings.EqualFold(tool, "EnterPlanMode") {
		return Decision{Verdict: Deny, Reason: tool + " is refused: nobody waits to approve a plan. Make the plan for yourself and carry it out. If it needs a decision that is not yours, report `blocked` and say which"}
	}
	return Decision{Verdict: Ask, Reason: strings.TrimSpace("approve the plan?\n" + in.text("plan"))}
}

// grants reports whether cmux vouches for a call that is not refused. What is
// not surely harmless is not granted: its kind asks, as it does without cmux.
func (g *guard) grants(c Call, in input) bool {
	switch kindOf(c.Tool) {
	case writes:
		return g.grantsWrite(c, in)
	case shells:
		return g.grantsShell(c, in)
	case reads:
		return g.grantsRead(c, in)
	}
	return false
}

// grantsWrite grants a file tool of the kinds themselves; what an MCP server
// does beside writing is its own. Codex may ask for leave to write all of a
// folder from now on.
func (g *guard) grantsWrite(c Call, in input) bool {
	paths := in.paths()
	if _, folder := in.fields["grantRoot"]; g.Role == dag.RoleReview || folder || strings.HasPrefix(strings.ToLower(c.Tool), "mcp__") || len(paths) == 0 {
		return false
	}
	for _, p := range paths {
		if !g.give.File(c.Dir, p) {
			return false
		}
	}
	return true
}

// grantsRead grants a look at the work in agents' worktrees.
func (g *guard) grantsRead(c Call, in input) bool {
	t := strings.ToLower(c.Tool)
	return (t == "read" || t == "grep") && !c.Unplaced && g.give.Shows(c.Dir, in.readPaths())
}

func (g *guard) grantsShell(c Call, in input) bool {
	if t := strings.ToLower(c.Tool); t != "bash" && t != "shell" {
		return false
	}
	for name, value := range in.fields {
		if v := string(value); !slices.Contains(harmlessFields, name) && v != "false" && v != "null" {
			return false
		}
	}
	var text string
	if json.Unmarshal(in.fields["command"], &text) != nil {
		return false
	}
	dir, err := g.Resolved(c.Dir)
	return err == nil && g.give.Text(dir, !c.Unplaced, text)
}

// harmlessFields of a shell tool's input do not change what a command may do.
var harmlessFields = []string{"command", "description", "timeout", "run_in_background"}
