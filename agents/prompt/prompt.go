package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cmux/agents/run"
	"cmux/dag"
)

// Input is what the prompt of one attempt is composed from.
type Input struct {
	Spec  *run.Spec // of the attempt, of a node of an agent kind: a command or a gate has no prompt
	Base  string    // commit that the run started from
	Tool  string    // what the agent calls the tool "done" of cmux's; empty: it has none
	Whole string    // file in which what is too long for the prompt stands whole
}

// Compose is the prompt of an attempt. What others said is bounded in it,
// however much they said and however many they are.
func Compose(in Input) string {
	text, _ := ComposeWhole(in)
	return text
}

// ComposeWhole is Compose with what it cuts: whole is for the file in.Whole, and
// empty when nothing is cut.
func ComposeWhole(in Input) (text, whole string) {
	c := &composer{Input: in, left: maxOthers}
	c.who()
	c.task()
	c.place()
	c.files()
	c.dependencies()
	c.earlier()
	c.checks()
	c.rules()
	c.report()
	return c.b.String(), c.whole.String()
}

type composer struct {
	Input
	b     strings.Builder
	whole strings.Builder
	left  int // bytes that others' words may still take
}

func (c *composer) line(format string, args ...any) {
	fmt.Fprintf(&c.b, format, args...)
	c.b.WriteByte('\n')
}

func (c *composer) section(title string) { c.line("\n## %s\n", title) }

var duty = map[dag.Role]string{
	dag.RoleBuild:  "You build: change the files the task calls for and commit them.",
	dag.RoleReview: "You review: read, run what you need to judge, and report what you find. Change nothing: no file, no branch, no commit.",
	dag.RoleMerge:  "You finish a merge: the branches below are already merged into yours; do what the task asks on top of them.",
}

// standsFor is who the agent is as far as its text depends on it.
type standsFor uint8

const (
	aNode   standsFor = iota // a node's agent, or one that stays with a worktree of its own
	sharing                  // it stays, and works in a folder that it shares
	leading                  // it stays, and leads
	reading                  // it stays, and its task only asks for an answer
)

func (c *composer) stands() standsFor {
	m := c.Spec.Member
	switch {
	case m == nil:
		return aNode
	case leads(m):
		return leading
	case c.Spec.Def.Role == dag.RoleReview:
		return reading
	case c.Spec.Place.Tree == "":
		return sharing
	}
	return aNode
}

func (c *composer) who() {
	switch c.stands() {
	case leading:
		c.line("You are %q, a supervisor. You lead this task: give the work to workers, check it, merge it, and report what came of it. You change no files of the project yourself.", c.Spec.Def.Name)
		return
	case reading:
		c.line("You are %q. This task asks for an answer: read and run what you need, and report what you found. You change nothing.", c.Spec.Def.Name)
		return
	case sharing:
		c.line("You are %q. You work in a folder in which others work too. Do the task, and change nothing beside it.", c.Spec.Def.Name)
		return
	}
	c.line("You are the agent %q, one of several that work on the same repository at the same time. %s", c.Spec.Def.Name, duty[c.Spec.Def.Role])
	c.line("Work on your own. Carry the task to its end; do not stop to ask whether you should go on.")
}

func (c *composer) task() {
	c.section("Task")
	c.line("<task>")
	task := c.filled()
	c.b.WriteString(task)
	if !strings.HasSuffix(task, "\n") {
		c.b.WriteByte('\n')
	}
	c.line("</task>")
}

// filled is the task with what it says of dependencies. What a dependency has
// not published, or publishes only once it is done, is empty.
func (c *composer) filled() string {
	return dag.FillTask(c.Spec.Def.Task, func(n dag.Need) (string, bool) {
		for i := range c.Spec.Dependencies {
			if d := &c.Spec.Dependencies[i]; d.Name == n.Node && n.Output == "" {
				return d.Label.Result(), true
			} else if d.Name == n.Node {
				return d.Outputs[n.Output], true
			}
		}
		return "", false // a text that an earlier cmux took as it is
	})
}

func (c *composer) place() {
	p := c.Spec.Place
	c.section("Where you work")
	switch s := c.stands(); {
	case s == leading:
		c.line("- Directory: %s, which you share with the person.", p.Dir)
		return
	case s == reading && p.Tree == "":
		c.line("- Directory: %s. Others work there too.", p.Dir)
		return
	case s == reading:
		c.line("- Directory: %s, your worktree, with the state of the project that the question is about.", p.Dir)
		if p.Commit != "" {
			c.line("- It is at commit %s.", short(p.Commit))
		}
		return
	case s == sharing:
		c.line("- Directory: %s, which you share: others see your changes at once. cmux makes no branch and no commit for you.", p.Dir)
		if p.Branch != "" {
			c.line("- Branch: %s is checked out there. Leave it checked out; your commits go to it.", p.Branch)
		}
		if p.PortBase != 0 {
			c.line("- Ports: %d to %d are yours ($CMUX_PORT_BASE).", p.PortBase, p.PortBase+19)
		}
		return
	case p.Tree == "":
		c.line("- %s: %s, the project's root. A person works there too.", c.rootName(), p.Dir)
	case c.Spec.Def.HasBranch():
		c.line("- %s: %s, a git worktree of your own.", c.rootName(), p.Dir)
	default:
		c.line("- %s: %s, a git worktree of your own with what you review checked out.", c.rootName(), p.Dir)
	}
	if c.Spec.Def.Dir != "" {
		c.line("- Directory: %s. You start there, and your checks run there. It is a part of the root above, which holds the rest of the project.", c.Spec.WorkDir())
	}
	if p.Branch != "" {
		c.line("- Branch: %s. Keep it checked out.", p.Branch)
	}
	if c.Spec.Def.HasBranch() && p.Commit != "" {
		c.line("- You started from commit %s: `git diff %[1]s` shows your work.", short(p.Commit))
	}
	if p.PortBase != 0 {
		c.line("- Ports: %d to %d are yours ($CMUX_PORT_BASE).", p.PortBase, p.PortBase+19)
	}
	if c.Spec.Def.Role == dag.RoleReview {
		c.reviewed()
	}
}

// rootName is what the root of the worktree is called. A node that names a folder
// works below it.
func (c *composer) rootName() string {
	if c.Spec.Def.Dir != "" {
		return "Root"
	}
	return "Directory"
}

// reviewed is the range that a review reads.
func (c *composer) reviewed() {
	base, head := c.Base, c.Spec.Place.Commit
	if head == "" || head == base {
		c.line("- To review: the project as it stands. No dependency contributed a commit.")
		return
	}
	if base == "" {
		c.line("- To review: commit %s.", short(head))
		return
	}
	r := short(base) + ".." + short(head)
	c.line("- To review: the commits %s, which hold the work of your dependencies, merged.", r)
	c.line("- See them with `git log %s`, `git diff %s` and `git show %s:PATH`.", r, r, short(head))
	if c.Spec.Place.Tree == "" {
		c.line("- The files in the directory are not that commit: read it through git.")
	}
}

func (c *composer) files() {
	if c.Spec.Def.Role == dag.RoleReview {
		if len(c.Spec.Def.Context) > 0 {
			c.section("Files")
			c.line("Read these first%s:", c.fromRoot())
			c.list(c.Spec.Def.Context)
		}
		return
	}
	if len(c.Spec.Def.Scope) == 0 && len(c.Spec.Def.Context) == 0 {
		return
	}
	c.section("Files")
	if len(c.Spec.Def.Scope) > 0 {
		root := "the root of your worktree"
		if c.stands() == sharing {
			root = "your directory"
		}
		c.line("You may change these, and no others (paths from %s; a directory stands for all below it):", root)
		c.list(c.Spec.Def.Scope)
		if len(c.Spec.Def.Context) > 0 {
			c.line("")
		}
	}
	if len(c.Spec.Def.Context) > 0 {
		c.line("Read these for context%s; do not change them%s", c.fromRoot(), exceptScope(c.Spec.Def))
		c.list(c.Spec.Def.Context)
	}
}

// fromRoot says where paths begin, for an agent that starts below.
func (c *composer) fromRoot() string {
	if c.Spec.Def.Dir != "" {
		return " (paths from the root)"
	}
	return ""
}

// exceptScope ends the sentence about context: scope wins over context.
func exceptScope(n *dag.Node) string {
	if len(n.Scope) > 0 {
		return " unless they are listed above:"
	}
	return ":"
}

func (c *composer) list(items []string) {
	for _, s := range items {
		c.line("- %s", s)
	}
}

func (c *composer) dependencies() {
	if len(c.Spec.Dependencies) == 0 {
		return
	}
	c.section("What came before")
	switch {
	case c.Spec.Def.Role == dag.RoleReview:
		c.line("These agents worked before you. Their summaries are their own words: check them.")
	case c.Spec.Def.Role == dag.RoleMerge:
		c.line("These agents worked before you. What they committed is merged into your branch.")
	default:
		c.line("These agents worked before you. Your branch holds what they committed: build on it, do not redo it.")
	}
	most := min(maxSaid, maxOthers/min(len(c.Spec.Dependencies), maxListed)) // for each
	for k, d := range c.Spec.Dependencies {
		if k == maxListed {
			c.line("\nThere are %d more, for which there is no room here%s.", len(c.Spec.Dependencies)-k, c.where())
			for _, d := range c.Spec.Dependencies[k:] {
				c.keep(d.Name+" ("+d.Label.String()+", "+d.Branch+" "+short(d.Tip)+")", d.Summary)
			}
			break
		}
		c.line("")
		switch {
		case d.Label.State == dag.NodeSkipped:
			c.line("### %s: %s", d.Name, d.Label)
			c.line("It was not needed and did not run.")
			continue
		case !contributes(&d):
			c.line("### %s: %s", d.Name, d.Label)
			c.line("It contributes nothing. Its work is not in what you see; do not rely on it.")
			continue
		case d.Label.State == "" || d.Label.Same(dag.Label{State: dag.NodeDone}):
			c.line("### %s", d.Name)
		default:
			c.line("### %s: %s", d.Name, d.Label)
		}
		if d.Tip != "" {
			at := "commit " + short(d.Tip)
			if d.Branch != "" {
				at = "branch " + d.Branch + ", " + at
			}
			if d.DiffStat != "" {
				at += ", " + d.DiffStat
			}
			c.line("Work: %s", at)
		}
		if len(d.Outputs) > 0 {
			var out strings.Builder
			for _, key := range slices.Sorted(maps.Keys(d.Outputs)) {
				out.WriteString(key + "=" + d.Outputs[key] + "\n")
			}
			c.line("Outputs:")
			c.quote(c.others(d.Name+": outputs", strings.TrimSuffix(out.String(), "\n"), most))
		}
		if s := strings.TrimSpace(d.Summary); s != "" {
			s = c.others(d.Name+": summary", s, most)
			c.line("Summary:")
			c.quote(s)
		}
	}
}

// contributes reports whether the dependency ended well: a failed or blocked
// one has neither a commit nor a summary in a Spec, and a label that says so.
func contributes(d *run.Dependency) bool {
	return d.Tip != "" || d.Summary != "" || d.Label.State == "" || d.Label.State == dag.NodeDone
}

func (c *composer) quote(text string) { c.b.WriteString(quoted(text)) }

func (c *composer) earlier() {
	past := c.Spec.Past
	if past == nil || len(past.Attempts) == 0 {
		return
	}
	c.section("Earlier attempts at this task")
	c.line("What they left may be in your directory: look at `git status` and `git log` before you begin, go on from there, and do not repeat what failed.")
	c.line("")
	if past.Omitted > 0 {
		c.line("- %d more before these", past.Omitted)
	}
	for i := range past.Attempts {
		c.line("- Attempt %d %s", past.Attempts[i].N, how(&past.Attempts[i]))
	}
	last := past.Attempts[len(past.Attempts)-1].End
	if last == nil {
		return
	}
	for _, k := range last.Checks {
		c.line("\nThe end of the output of `%s` then:", k.Command)
		c.output(c.others("the check "+k.Command, k.Output, maxSaid))
	}
}

// how is the end of an attempt in a line.
func how(a *run.Former) string {
	e := a.End
	if e == nil {
		return "was cut off (" + a.Vanished + ")."
	}
	s := "failed"
	switch {
	case e.Outcome.Success():
		s = "was done, and is to be done again"
	case e.Outcome == dag.Cancelled:
		s = "was cancelled by a person"
	case e.Reason != dag.ReasonExit:
		s += " (" + string(e.Reason) + ")"
	default:
		s += fmt.Sprintf(" (exit %d)", e.Exit)
	}
	if e.Detail != "" {
		s += ": " + oneLine(e.Detail)
	}
	s += "."
	if e.Summary != "" {
		s += " It had reported: " + oneLine(e.Summary) + "."
	}
	if e.Snapshot != "" {
		s += " Its uncommitted work was saved as " + e.Snapshot + "."
	}
	return s
}

func oneLine(s string) string {
	return strings.TrimRight(strings.Join(strings.Fields(s), " "), ".")
}

// output sets a check's output off, in a fence longer than any inside it.
func (c *composer) output(text string) { c.b.WriteString(fenced(text)) }

func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + "\n" + text + fence + "\n"
}

func (c *composer) checks() {
	if len(c.Spec.Def.Verify) == 0 {
		return
	}
	c.section("Checks")
	when := "when you report"
	if c.Spec.Def.VerifyTimeout > 0 {
		when += fmt.Sprintf(", each for at most %s", time.Duration(c.Spec.Def.VerifyTimeout))
	}
	c.line("These commands must pass. Run them yourself before you report; they are run again %s:", when)
	c.line("")
	for _, v := range c.Spec.Def.Verify {
		c.line("    %s", strings.ReplaceAll(v, "\n", "\n    "))
	}
}

func (c *composer) rules() {
	c.section("Rules")
	switch c.stands() {
	case leading:
		c.line("- You write `.cmux/journal`, `.cmux/roles`, `.cmux/graphs`, `.cmux/worker-contexts`, `MEMORY.md`, `memory/` and `reflection.md`. Give every other change to a worker.")
		c.line("- When a call is refused, do as the refusal says. Do not look for a way around it.")
		return
	case sharing:
		c.line("- Write only in your directory%s. What others have changed there is not yours: do not undo it, and do not commit it.", inScope(c.Spec.Def))
		if c.Spec.Place.Branch != "" {
			c.line("- Commit your own files by name: git add FILE, git commit. Refused: `git stash`, `git clean`, `git rebase`, `git reset --hard`, checking out another branch, pushing, writing `git config`, remotes and tags, and writing under `.cmux/` or `.git/`.")
		}
		c.line("- When a call is refused, do as the refusal says. Do not look for a way around it.")
		return
	}
	if c.Spec.Def.HasBranch() {
		c.line("- Commit your work to your branch in meaningful commits.")
		c.line("- Write only inside your %s%s.", c.writable(), inScope(c.Spec.Def))
		c.line("- Keep your hands off what others use. Refused: `git stash`, `git worktree`, `git gc`, `git prune`; writing `git config`, remotes and tags; deleting, moving, checking out or forcing branches that are not yours; writing under `.cmux/` or `.git/`, or the settings of your own program. Set work aside in a commit of your own instead.")
	} else {
		c.line("- Write nothing in the project. Refused: tools that write files; commands that change files, commits or branches; writing under `.cmux/` or `.git/`. What you need to write for yourself goes into a temporary directory outside it.")
	}
	c.line("- When a call is refused, do as the refusal says. Do not look for a way around it.")
}

// writable is what the agent may write in.
func (c *composer) writable() string {
	if c.Spec.Def.Dir != "" {
		return "worktree"
	}
	return "directory"
}

func inScope(n *dag.Node) string {
	if len(n.Scope) > 0 {
		return " and inside your files"
	}
	return ""
}

func (c *composer) report() {
	c.section("How to report")
	c.line("Report as the last thing you do, and then end your turn. A turn that ends without a report does not finish the task: you are sent back to it.")
	c.line("")
	switch s := c.stands(); {
	case s == leading:
		c.line("- %s: when the work of this task is merged, or you have found that nothing is to be done. Say what was built, where it is, and what is open.", c.way("done", "summary"))
	case s == reading:
		c.line("- %s: when you have the answer. The summary is your only result: the answer first, then how you know it (files and lines), then what you could not find out.", c.way("done", "summary"))
	case c.Spec.Def.Role == dag.RoleReview:
		c.line("- %s: when the review is complete, whatever it found. The summary is your only result: state the verdict, then each finding with file, line and what to change.", c.way("done", "summary"))
	default:
		c.line("- %s: when the task is complete%s. Say in the summary what you did and what those who build on it must know. If nothing had to be changed, the summary is \"nothing was needed: why\".", c.way("done", "summary"), proven(c.Spec.Def, c.stands()))
	}
	if names := c.Spec.Def.Outputs; len(names) > 0 {
		with := "`cmux output 'KEY=VALUE'`"
		if c.Tool != "" {
			with = fmt.Sprintf("the tool `%s` with `key` and `value`, or the command %s", strings.TrimSuffix(c.Tool, "done")+"output", with)
		}
		c.line("- Before that, publish the values that those who build on your work need: %s. Each with %s. No secrets.", strings.Join(names, ", "), with)
	}
	blocked := "a person reads the reason and answers you here."
	if c.Spec.Member != nil {
		blocked = "whoever gave you the task is told, and it is over for you until they give it to you again."
	} else if c.Spec.Unattended() {
		blocked = "nobody can answer during this run, so it ends your attempt as failed."
	}
	c.line("- %s: only when you cannot go on without a decision, access or a file that you do not have. State what you need; %s Do not use it for work that is merely hard.", c.way("blocked", "reason"), blocked)
	c.line("")
	if c.Tool != "" {
		c.line("Tool and command count the same. Prefer the tool: its answer tells you whether your work is accepted. If the tool is not there or fails, use the command.")
	}
	c.line("Quote the text for the shell; with backquotes, `$` or quotation marks in it use single quotes.%s", examined(c.Spec.Def, c.stands()))
}

// way is how the agent makes a report: by tool first where it has one.
func (c *composer) way(report, text string) string {
	command := fmt.Sprintf("`cmux %s \"%s\"`", report, text)
	if c.Tool == "" {
		return command
	}
	return fmt.Sprintf("the tool `%s` with `%s`, or the command %s", strings.TrimSuffix(c.Tool, "done")+report, text, command)
}

// proven is what else must hold before `cmux done`.
func proven(n *dag.Node, stands standsFor) string {
	s := ""
	if len(n.Verify) > 0 {
		s += ", the checks pass"
	}
	if n.Role == dag.RoleBuild && stands == aNode {
		s += " and your work is committed"
	}
	return s
}

// examined says what follows a report.
func examined(n *dag.Node, s standsFor) string {
	var what []string
	if len(n.Verify) > 0 {
		what = append(what, "the checks")
	}
	if s != leading && n.HasBranch() && len(n.Scope)+len(n.Context) > 0 {
		what = append(what, "the files you changed")
	}
	if s == aNode && n.HasBranch() {
		what = append(what, "your commits")
	}
	if len(what) == 0 {
		return ""
	}
	list := what[len(what)-1]
	if len(what) > 1 {
		list = strings.Join(what[:len(what)-1], ", ") + " and " + list
	}
	return " Then " + list + " are examined. What is not in order is handed back to you: fix it and report again."
}

// short is a commit as it is shown; a name that is no full hash stays whole.
func short(commit string) string {
	if len(commit) >= 40 {
		return commit[:12]
	}
	return commit
}
