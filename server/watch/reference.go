package watch

import (
	"fmt"
	"strings"
	"time"

	"cmux/agents/org/watchconfig"
)

// Reference is docs/watch.md: the table of rules with what they go by.
func Reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("| rule | level | evidence | after | action | at most | switch |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rules() {
		sw := "always on"
		if r.Switch != "" {
			sw = "`" + r.Switch + "`"
		}
		threshold := r.Threshold
		if threshold == "" {
			threshold = "at once"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %d in %s; %s | %s |\n", r.Name, r.Level, r.Evidence, threshold, r.Action, r.Most, hoursOf(r.Per), r.Bound, sw)
	}
	b.WriteString(referenceMiddle)
	b.WriteString("| key of `watch:` | meaning | default |\n|---|---|---|\n")
	for _, k := range watchconfig.Fields() {
		def := "none"
		if k.Def != "" {
			def = "`" + k.Def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.Name, k.Doc, def)
	}
	b.WriteString(referenceTail)
	return b.String()
}

func hoursOf(d time.Duration) string {
	if d == day {
		return "a day"
	}
	return fmt.Sprintf("%d hours", int(d.Hours()))
}

const referenceHead = `# The watch

<!-- Made from the table of rules: go test ./server/watch -run TestReference -update -->

The watch looks after the agents of an organization while nobody looks: one that stops, one that freezes, one whose context fills. It is a part of the project's server. Each rule below names its evidence, its action, its bound and its switch in ` + "`.cmux/config.yml`" + `.

What holds for all rules:
- An action has evidence, and the watch takes it once for one cause. ` + "`.cmux/watch.jsonl`" + ` has a line before each action, and a line with its result.
- Evidence is what hooks, transcripts and records say; for an agent that is observed, its files and processes too. A screen that is redrawn is no evidence.
- Time counts while the watch looks. A clock that jumps and a machine that slept make nobody look idle or frozen.
- On an agent that you have taken over, typed in within ` + "`person_within`" + ` or left a draft in, the watch does nothing but tell.
- A limit, a question to you, an expired login, a spent budget and a deliberate stop are states: nothing is relaunched into them.
- An organization that has nothing to do costs no token. A supervisor that has something to do and acts on none of it costs three nudges and one injection, and then nothing before something new comes.

## Rules

The first rule that is due for an agent acts. The level is the step of recovery that it belongs to.

`

const referenceMiddle = `
Which kinds of agents say how much of their context window is in use, and which can be told to compact, stands in [the kinds](agents.md). The rules about compaction find nobody else. A program that compacts by itself, or because a person says so, does so as before: then too it is kept how the agent stands, and the compaction counts.

A compaction goes in steps, and each is on record before the next, so that whatever is killed, nothing is done twice: the order; how the agent stands, in a file among the artifacts of the journal (task, branch, what is not committed, the last screen, the id of the conversation); the command of its program, typed only while the agent is at rest and its prompt is empty; the confirmation of its program; and then one message to the agent that names the file. A supervisor is compacted between turns, and finds the file named in its journal too.

An order is carried out at most once, and not always: one whose step was cut off is given up. Where the confirmation does not come, somebody is told. A new order follows when it is due again, if the agent was active since and more of its context window is in use. An agent that was started again meanwhile is told where the file is, as its conversation may have been compacted.

The levels, from the least that helps to the most:

| level | what happens | by |
|---|---|---|
| 0 | an agent helps itself, or somebody is told who can | the agent, rules of level 0 |
| 1 | a nudge says what waits | ` + "`nudge`" + ` |
| 2 | one task of the backlog is handed over | ` + "`injection`" + ` |
| 3 | an agent in a turn is observed: progress in its transcript, files or processes ends it | ` + "`observation`" + ` |
| 4 | a relaunch with a briefing, then the sentry, then a new conversation, then you | ` + "`frozen`, `sentry`, `sentry over`, `new start`, `given up`" + ` |
| 5 | a project that does not work any more is rolled back | health and recovery, which are not part of the watch |

## Configuration

`

const referenceTail = `
A key that is not there has its default. Like the rest of ` + "`.cmux/config.yml`" + `, a change counts after ` + "`cmux config apply`" + `.

## What it writes

` + "`.cmux/watch.jsonl`" + ` has a line for each action before it is taken (` + "`intent`" + `) and one after it (` + "`done`, `failed` or `dropped`" + `), both with the action's id. A server that is killed between the two finds out, when it is back, whether the action took place, and never takes it twice. A file that has grown long is shortened to what the watch needs to go on; the file as it was is kept beside it with ` + "`.1`" + ` behind its name, and the one before with ` + "`.2`" + `.

A day of an organization in seconds, with the real Claude Code before a scripted model, goes through the most of this without a person, and its report is compared with what happened: ` + "`CMUX_DAY=1 go test ./cmd/cmux -run TestScripts/org-day-claude`" + `.
`
