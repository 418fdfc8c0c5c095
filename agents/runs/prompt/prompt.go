package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cmux/agents/runs/run"
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
	c.how()
	c.doneWhen()
	if c.reviews() {
		c.review()
	} else {
		c.place()
	}
	c.dependencies()
	c.earlier()
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

// reviews reports whether the agent is a node's that reads and judges.
func (c *composer) reviews() bool {
	return c.stands() == aNode && c.Spec.Def.Role == dag.RoleReview
}

// who says who the agent of a node is. An agent that stays knows who it is.
func (c *composer) who() {
	name := c.Spec.Def.Name
	switch {
	case c.Spec.Member != nil:
		return
	case c.Spec.Def.Role == dag.RoleReview:
		c.line("You are %s, a reviewer. You read, run what you need, and judge. You change nothing.\n", name)
	case c.Spec.Def.Role == dag.RoleMerge:
		c.line("You are %s. You finish a merge: the branches below are merged into yours already. Do the task on top of them.\n", name)
	default:
		c.line("You are %s, a coding agent. Other agents work on the same repository at the same time, each in a worktree of its own.\n", name)
	}
}

func (c *composer) task() {
	c.line("<task>")
	task := c.filled()
	c.b.WriteString(task)
	if !strings.HasSuffix(task, "\n") {
		c.b.WriteByte('\n')
	}
	c.line("</task>")
}

// how says how the agent takes the task.
func (c *composer) how() {
	switch c.stands() {
	case leading:
		c.line("\nYou lead this task: give the work to workers, check it and merge it. You change no files of the project yourself.")
	case reading:
		c.line("\nThis task asks for an answer. Read and run what you need. You change nothing.")
	default:
		if c.Spec.Member == nil && !c.reviews() {
			c.line("\nWork until the task is done. Nobody follows this conversation, so do not wait for confirmation.")
		}
	}
}

// doneWhen says what must hold when the agent reports. A review and an answer have
// no such list of their own, except checks and outputs.
func (c *composer) doneWhen() {
	def, p := c.Spec.Def, c.Spec.Place
	reads := c.reviews() || c.stands() == reading
	if reads && len(def.Verify) == 0 && len(def.Outputs) == 0 {
		return
	}
	c.section("Done when")
	switch {
	case c.reviews():
		c.line("- The review is complete.")
	case reads:
		c.line("- You have the answer.")
	case c.stands() == leading:
		c.line("- The work of this task is merged, or you have found that nothing must be done.")
	default:
		c.line("- The task is complete, and you have changed nothing beside it.")
	}
	if len(def.Verify) > 0 {
		c.checks()
	}
	committed := c.stands() == aNode && def.HasBranch() && p.Branch != ""
	if len(def.Verify) > 0 && (len(def.Outputs) > 0 || committed) {
		c.line("")
	}
	if len(def.Outputs) > 0 {
		with := "`cmux output KEY=VALUE`"
		if c.Tool != "" {
			with = fmt.Sprintf("tool `%s`, or %s", c.tool("output"), with)
		}
		c.line("- You have published %s: %s. No secrets.", strings.Join(def.Outputs, ", "), with)
	}
	if committed {
		c.line("- Your work is committed on %s.", p.Branch)
	}
}

func (c *composer) checks() {
	each := ""
	if c.Spec.Def.VerifyTimeout > 0 {
		each = fmt.Sprintf(", each for at most %s", time.Duration(c.Spec.Def.VerifyTimeout))
	}
	c.line("- These commands pass in your directory. Run them yourself first; cmux runs them again after your report%s:", each)
	c.line("")
	for _, v := range c.Spec.Def.Verify {
		c.line("      %s", strings.ReplaceAll(v, "\n", "\n      "))
	}
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
	case s == reading && p.Tree == "":
		c.line("- Directory: %s. Others work there too.", p.Dir)
	case s == reading:
		c.line("- Directory: %s, your worktree, with the state of the project that the question is about.", p.Dir)
		if p.Commit != "" {
			c.line("- It is at commit %s.", short(p.Commit))
		}
	case s == sharing:
		c.line("- Directory: %s, which you share: others see your changes at once. cmux makes no branch and no commit for you.", p.Dir)
		if p.Branch != "" {
			c.line("- Branch: %s is checked out there. Leave it checked out; your commits go to it.", p.Branch)
		}
		c.ports()
	default:
		c.line("- %s: %s, your own git worktree.", c.rootName(), p.Dir)
		c.part()
		c.branch()
		c.ports()
	}
	c.files()
}

// rootName is what the root of the worktree is called. A node that names a folder
// works below it.
func (c *composer) rootName() string {
	if c.Spec.Def.Dir != "" {
		return "Root"
	}
	return "Directory"
}

// part is the folder in the root in which the agent starts.
func (c *composer) part() {
	if c.Spec.Def.Dir != "" {
		c.line("- Directory: %s, a part of that root. You start there, and your checks run there.", c.Spec.WorkDir())
	}
}

func (c *composer) branch() {
	p := c.Spec.Place
	switch {
	case p.Branch == "":
	case p.Commit == "":
		c.line("- Branch: %s. Stay on this branch.", p.Branch)
	default:
		c.line("- Branch: %s, started at %s. `git diff %[2]s` shows your work. Stay on this branch and keep %[2]s in its history.", p.Branch, short(p.Commit))
	}
}

func (c *composer) ports() {
	if base := c.Spec.Place.PortBase; base != 0 {
		c.line("- Ports %d to %d are yours ($CMUX_PORT_BASE).", base, base+19)
	}
}

// review says what the reviewer reads, and where.
func (c *composer) review() {
	p := c.Spec.Place
	c.section("What to review")
	c.reviewed()
	switch {
	case p.Tree != "" && p.Commit != "":
		c.line("- %s: %s, a worktree of that commit. You may build and run it.", c.rootName(), p.Dir)
	case p.Tree != "":
		c.line("- %s: %s, a worktree of your own. You may build and run it.", c.rootName(), p.Dir)
	case c.nothingNew():
		c.line("- %s: %s, the project's root. A person works there.", c.rootName(), p.Dir)
	default:
		c.line("- %s: %s, the project's root. A person works there, and its files are not that commit: read it through git.", c.rootName(), p.Dir)
	}
	c.part()
	c.ports()
	if len(c.Spec.Def.Context) > 0 {
		c.line("- Read first%s: %s", c.fromRoot(), strings.Join(c.Spec.Def.Context, ", "))
	}
}

// nothingNew reports whether no dependency contributed a commit to a review.
func (c *composer) nothingNew() bool {
	return c.Spec.Place.Commit == "" || c.Spec.Place.Commit == c.Base
}

// reviewed is the range that a review reads.
func (c *composer) reviewed() {
	head := short(c.Spec.Place.Commit)
	if c.nothingNew() {
		c.line("- The project as it is. No dependency contributed a commit.")
		return
	}
	if c.Base == "" {
		c.line("- The commit %s. `git show %[1]s`, `git show %[1]s:PATH`.", head)
		return
	}
	of := ""
	if names := c.contributors(); len(names) > 0 {
		of = ": the merged work of " + strings.Join(names, ", ")
	}
	r := short(c.Base) + ".." + head
	c.line("- The commits %s%s. `git log --stat %[1]s`, `git diff %[1]s`, `git show %[3]s:PATH`.", r, of, head)
}

// contributors are the dependencies with commits, as far as they are listed.
func (c *composer) contributors() (names []string) {
	for i := range c.Spec.Dependencies[:min(len(c.Spec.Dependencies), maxListed)] {
		if d := &c.Spec.Dependencies[i]; d.Tip != "" {
			names = append(names, d.Name)
		}
	}
	return names
}

func (c *composer) files() {
	if c.stands() == leading {
		return
	}
	if len(c.Spec.Def.Scope) > 0 && c.stands() != reading {
		root := "the root of the worktree"
		if c.stands() == sharing {
			root = "your directory"
		}
		c.line("- You may change only (paths from %s; a directory includes all below it):", root)
		c.list(c.Spec.Def.Scope)
	}
	if len(c.Spec.Def.Context) > 0 {
		except := ""
		if len(c.Spec.Def.Scope) > 0 && c.stands() != reading {
			except = " (except what is listed above)"
		}
		c.line("- Read for context%s; do not change%s:", c.fromRoot(), except)
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

func (c *composer) list(items []string) {
	for _, s := range items {
		c.line("  - %s", s)
	}
}

func (c *composer) dependencies() {
	if len(c.Spec.Dependencies) == 0 {
		return
	}
	if c.reviews() {
		c.section("What the authors say")
		c.line("Check every claim; do not repeat it.")
	} else {
		c.section("Work you build on")
		if c.stands() == aNode && len(c.contributors()) > 0 {
			c.line("Your branch already holds the commits below. Build on them; do not redo the work.")
		}
		c.line("The quoted text was written by the agents that did the work.")
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
			c.line("It contributes nothing. Do not rely on it.")
			continue
		case d.Label.State == "" || d.Label.Same(dag.Label{State: dag.NodeDone}):
			c.line("### %s", d.Name)
		default:
			c.line("### %s: %s", d.Name, d.Label)
		}
		if d.Tip != "" {
			at := "Commit " + short(d.Tip)
			if d.Branch != "" {
				at = "Branch " + d.Branch + ", commit " + short(d.Tip)
			}
			if d.DiffStat != "" {
				at += ", " + d.DiffStat
			}
			c.line("%s", at)
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
			if len(d.Outputs) > 0 {
				c.line("Summary:")
			}
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
	c.section("Earlier attempts")
	if c.Spec.Def.HasBranch() {
		c.line("Your directory may hold what they left. Look at `git status` and `git log` first, continue from there, and do not repeat what failed.")
	} else {
		c.line("Do not repeat what failed.")
	}
	c.line("")
	if past.Omitted > 0 {
		c.line("- %d more before these", past.Omitted)
	}
	for i := range past.Attempts {
		c.line("- Attempt %d %s", past.Attempts[i].N, ended(&past.Attempts[i]))
	}
	last := past.Attempts[len(past.Attempts)-1].End
	if last == nil {
		return
	}
	for _, k := range last.Checks {
		c.line("\nThe end of the output of `%s`:", k.Command)
		c.output(c.others("the check "+k.Command, k.Output, maxSaid))
	}
}

// ended is the end of an attempt in a line.
func ended(a *run.Former) string {
	e := a.End
	if e == nil {
		return "was cut off (" + a.Vanished + ")."
	}
	s := "failed"
	switch {
	case e.Outcome.Success():
		s = "was done; the node runs again"
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

func (c *composer) rules() {
	c.section("Rules")
	switch c.stands() {
	case leading:
		c.line("- You write `.cmux/journal`, `.cmux/roles`, `.cmux/graphs`, `.cmux/worker-contexts`, `MEMORY.md`, `memory/` and `reflection.md`. Give every other change to a worker.")
		c.line(refused)
		return
	case sharing:
		c.line("- Write only in your directory%s. What others have changed there is not yours: do not undo it, and do not commit it.", inScope(c.Spec.Def))
		if c.Spec.Place.Branch != "" {
			c.line("- Commit your own files by name: git add FILE, git commit. cmux refuses `git stash`, `git clean`, `git rebase`, `git reset --hard`, pushing and checking out another branch. It refuses changes to `git config`, remotes and tags, and writes to `.cmux/` and `.git/`.")
		}
		c.line(refused)
		return
	}
	if c.Spec.Def.HasBranch() {
		c.line("- Commit in small steps. Write only in your %s%s.", c.writable(), inScope(c.Spec.Def))
		c.line("- All worktrees share the repository's settings, hooks, tags, stash, remotes and branches. cmux refuses `git stash`, `git worktree`, `git gc` and `git prune`, and changes to `git config`, tags, remotes and other branches. It refuses writes to `.cmux/`, to `.git/` and to the settings of your own program. To set work aside, commit it on your branch.")
	} else {
		c.line("- Do not write in the project: no files, commits or branches. Put notes into a temporary directory.")
	}
	c.line(refused)
}

// refused is the rule about calls that cmux does not let through.
const refused = "- If a call is refused, do what the refusal says. Do not look for a way around it."

// writable is what the agent may write in.
func (c *composer) writable() string {
	if c.Spec.Def.Dir != "" {
		return "worktree"
	}
	return "directory"
}

func inScope(n *dag.Node) string {
	if len(n.Scope) > 0 {
		return ", and only to the paths above"
	}
	return ""
}

// report says how the agent reports, and what its report must hold.
func (c *composer) report() {
	c.section("Report")
	call := "run `cmux done 'summary'`"
	if c.Tool != "" {
		call = fmt.Sprintf("call the tool `%s` with a summary", c.Tool)
	}
	stands := c.stands()
	switch {
	case c.reviews():
		c.line("%s when the review is complete, whatever it found. The summary is your only result. The next agents get at most its first %d KB, so put the verdict first:", upper(call), maxSaid>>10)
		c.line(verdict)
		c.b.WriteString("Report only what you have verified. \"Verdict: good, no findings\" is a good result. ")
	case stands == leading:
		c.line("When the work of this task is merged, or nothing must be done, %s. Say what was built, where it is, and what is open.", call)
	case stands == reading:
		c.line("When you have the answer, %s. The summary is your only result: the answer first, then how you know it (files and lines), then what you could not find out.", call)
	default:
		c.line("When everything under \"Done when\" holds, %s, as the last thing you do. %s: say what you did, what they must know (interfaces, names, settings), and what you left out. For example:", call, c.readers())
		c.line(summary)
	}
	c.line("%s", c.follows())
	if c.Tool != "" {
		call = fmt.Sprintf("Call `%s`", c.tool("blocked"))
	} else {
		call = "Run `cmux blocked 'reason'`"
	}
	c.line("\n%s only when you need a decision, access or a file that you do not have. Say exactly what you need. %s Hard work is no reason.", call, c.consequence())
	if c.Tool != "" {
		c.line("\nIf a tool is missing or fails, use the shell: `cmux done 'summary'`, `cmux blocked 'reason'`. A turn that ends without a report does not finish the task.")
	} else {
		c.line("\nA turn that ends without a report does not finish the task.")
	}
}

// Examples show the form of a summary.
const (
	summary = `
  Added JWT login in src/auth/jwt.go: auth.Verify(token) (Claims, error), HS256, one hour. AUTH_SECRET must be set. Refresh tokens are not done.
`
	verdict = `
  Verdict: changes needed. Tokens never expire.
  1. blocker src/auth/jwt.go:41: exp is written but not checked; a token from 2020 passes (ran go test -run TestOld). Check it in Verify.
  2. minor src/auth/jwt.go:12: the secret has a default. Fail when AUTH_SECRET is empty.
  Checked: all of src/auth, go test ./... Not checked: the web client.
`
)

// tool is the name of a tool of cmux's beside "done".
func (c *composer) tool(name string) string { return strings.TrimSuffix(c.Tool, "done") + name }

// readers are who reads the summary.
func (c *composer) readers() string {
	if c.Spec.Member != nil {
		return "Whoever assigned the task and the agents that build on it read the summary"
	}
	return "The agents that build on your work read the summary"
}

// follows says what happens after a report. A report by tool is answered at once, one
// by command after the turn.
func (c *composer) follows() string {
	s := "The call returns \"Accepted\", or what is not in order: fix that and call it again. After \"Accepted\", end your turn."
	if c.Tool == "" {
		s = "Then end your turn." + examined(c.Spec.Def, c.stands())
	}
	if k := c.stands(); (k == aNode || k == sharing) && !c.reviews() {
		s += " If nothing had to be changed, begin the summary with \"nothing was needed:\" and the reason."
	}
	return s
}

// consequence says what a report of blocked leads to.
func (c *composer) consequence() string {
	switch {
	case c.Spec.Member != nil:
		return "Whoever assigned the task is told, and it ends for you."
	case c.Spec.Terms.Unattended:
		return "Nobody can answer in this run, so it ends your attempt as failed."
	case c.Tool == "":
		return "A person reads the reason and answers you here."
	}
	return "A person answers in the result of the call."
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// examined says what cmux does after a report by command; "": nothing.
func examined(n *dag.Node, s standsFor) string {
	var what []string
	if len(n.Verify) > 0 {
		what = append(what, "runs the checks")
	}
	switch {
	case s == aNode && n.HasBranch():
		what = append(what, "examines your commits and the files you changed")
	case s == sharing && n.HasBranch() && len(n.Scope)+len(n.Context) > 0:
		what = append(what, "examines the files you changed")
	}
	if len(what) == 0 {
		return ""
	}
	return " cmux " + strings.Join(what, " and ") + ". It hands back what is not in order: fix that and report again."
}

// short is a commit as it is shown; a name that is no full hash stays whole.
func short(commit string) string {
	if len(commit) >= 40 {
		return commit[:12]
	}
	return commit
}
