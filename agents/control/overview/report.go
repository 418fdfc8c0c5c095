package overview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/control/tasks"
	"cmux/agents/org/recovery"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/platform/say"
	"cmux/agents/records/incident"
	"cmux/agents/records/journal"
	"cmux/agents/runs/run"
)

// Away is what happened in the organization since a moment, for who was away.
type Away struct {
	Since     time.Time            `json:"since"`
	Until     time.Time            `json:"until"`
	Tasks     []ReportedTask       `json:"tasks"` // that ended, oldest first
	Incidents []*incident.Incident `json:"incidents"`
	Agents    []ReportedAgent      `json:"agents"`
	Tokens    int64                `json:"tokens"`  // that the agents used
	Waiting   []ReportedWait       `json:"waiting"` // what waits for the person
}

// ReportedTask is a task that ended.
type ReportedTask struct {
	ID      string    `json:"id"`
	Title   string    `json:"title"`
	Label   string    `json:"label"`
	Agent   string    `json:"agent"`
	Summary string    `json:"summary"`
	Commits int       `json:"commits"`
	Tip     string    `json:"tip"`
	Merged  string    `json:"merged"` // commit of the integration branch; empty: not merged
	Tokens  int64     `json:"tokens"`
	EndedAt time.Time `json:"ended_at"`

	done bool
}

// ReportedAgent is what an agent did.
type ReportedAgent struct {
	Name        string         `json:"name"`
	Permanent   bool           `json:"permanent"`
	State       string         `json:"state"`
	Detail      string         `json:"detail,omitempty"`
	Tasks       int            `json:"tasks"`             // attempts that ended
	Busy        float64        `json:"busy"`              // share of the time since it was made that it ran and had a task, 0 to 1
	Tokens      int64          `json:"tokens"`            // that it used in the time
	Context     *ContextReport `json:"context,omitempty"` // now; null: its program does not say
	Restarts    int            `json:"restarts"`          // after its program, or what carries it, was lost
	Resets      int            `json:"resets"`
	Compactions int            `json:"compactions"`
	Use         string         `json:"use,omitempty"` // of a permanent worker: how well it is used
	Try         string         `json:"try,omitempty"` // what would use it better
}

// ReportedWait is something that waits for the person.
type ReportedWait struct {
	What string `json:"what"`
	Try  string `json:"try"`
}

// Filled is how much of its context window the agent uses, as tables show it.
func (a *ReportedAgent) Filled() string {
	if a.Context == nil {
		return "-"
	}
	return fmt.Sprintf("%d%%", a.Context.Share)
}

// Done counts the tasks that were done.
func (r *Away) Done() (n int) {
	for i := range r.Tasks {
		if r.Tasks[i].done {
			n++
		}
	}
	return n
}

// ReportAway says what happened since a moment.
func (ov *Overview) ReportAway(ctx context.Context, since time.Time) (*Away, error) {
	org, err := ov.Organization(ctx)
	if err != nil {
		return nil, err
	}
	r := &Away{Since: since, Until: ov.Now(), Tasks: []ReportedTask{}, Incidents: []*incident.Incident{}, Agents: []ReportedAgent{}, Waiting: []ReportedWait{}}
	list, err := ov.TaskList()
	if err != nil {
		return nil, err
	}
	incidents, err := ov.Records.AllIncidents()
	if err != nil {
		return nil, err
	}
	for _, i := range incidents.All() {
		if !i.ChangedAt.Before(since) || i.State == incident.Open {
			r.Incidents = append(r.Incidents, i)
		}
	}
	r.tasks(list)
	r.agents(org, list)
	if err := r.lives(ov.Root); err != nil {
		return nil, err
	}
	needs, err := ov.Needs(ctx)
	if err != nil {
		return nil, err
	}
	r.needs(needs)
	if org.State == OrgNoMonitor {
		r.waits("the organization has no monitor", "cmux start")
	}
	return r, nil
}

func (r *Away) waits(what, try string) { r.Waiting = append(r.Waiting, ReportedWait{what, try}) }

// needs adds what waits for the person. What an agent waits for, agents adds.
func (r *Away) needs(l NeedList) {
	merges, mails := 0, l.Total-len(l.Items)
	for _, n := range l.Items {
		switch n.Kind {
		case NeedAgent:
		case NeedMerge:
			merges++
		case NeedMessage:
			mails++
		default:
			r.waits(n.line(), n.Try)
		}
	}
	if merges > 0 {
		r.waits(say.Count(merges, "finished task")+" not merged", "cmux tasks merge")
	}
	if mails > 0 {
		r.waits(say.Count(mails, "message")+" for you", "cmux mailbox inbox")
	}
}

// tasks adds those that ended in the time.
func (r *Away) tasks(list *task.List) {
	for _, t := range list.All() {
		if !t.State.Over() || t.ChangedAt.Before(r.Since) {
			continue
		}
		v := tasks.ViewOf(list, t, &standing.Org{})
		out := ReportedTask{ID: t.ID, Title: t.Title, Label: v.Label, Agent: t.Worker(), EndedAt: t.ChangedAt, done: t.State == task.Done}
		if v.Result != nil {
			out.Summary, out.Commits, out.Tip, out.Tokens = v.Result.Summary, v.Result.Commits, v.Result.Tip, v.Result.Tokens
		}
		if t.Merged.In() {
			out.Merged = t.Merged.Commit
		}
		r.Tasks = append(r.Tasks, out)
	}
	slices.SortStableFunc(r.Tasks, func(a, b ReportedTask) int { return a.EndedAt.Compare(b.EndedAt) })
}

// agents adds what each agent did, as the attempts at tasks have it.
func (r *Away) agents(org *OrgReport, list *task.List) {
	for i := range org.Agents {
		a := &org.Agents[i]
		out := ReportedAgent{Name: a.Name, Permanent: a.Permanent, State: a.State, Detail: a.Detail, Context: a.Context}
		for _, t := range list.All() {
			for _, at := range t.Attempts {
				if at.Agent == a.Name && at.Ended != nil && at.End != nil && !at.Ended.Before(r.Since) {
					out.Tasks++
					out.Tokens += at.End.Used.Counted()
				}
			}
		}
		r.Agents = append(r.Agents, out)
		if way := a.Way(); way != "" {
			r.waits(a.Name+": "+a.Explained(), way)
		}
	}
}

// lives adds what the records of each agent say, and from that how well permanent
// workers are used.
func (r *Away) lives(root string) error {
	org, err := standing.Open(root)
	if errors.Is(err, run.ErrNoOrganization) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range r.Agents {
		a := &r.Agents[i]
		use := used{since: r.Since}
		if _, err := org.Run.EachAgentRecord(a.Name, 0, func(rec *run.Record) {
			use.take(rec)
			switch {
			case rec.At.Before(r.Since):
			case rec.Type == run.Reset:
				a.Resets++
			case rec.Type == run.Compacted:
				a.Compactions++
			case rec.Lost():
				a.Restarts++
			}
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.Tokens, a.Busy = max(a.Tokens, use.tokens), use.share(r.Until)
		r.Tokens += a.Tokens
		if a.Permanent {
			a.Use, a.Try = a.used()
		}
	}
	return nil
}

// used sums up the tokens that an agent used since a moment, and the time that it had
// a task, from its records.
type used struct {
	since  time.Time
	tokens int64
	busy   time.Duration

	agent standing.State // as the records so far say
	at    time.Time      // of the newest record

	life   int
	before int64 // in that life
}

// passes counts the time up to a moment, in which the agent stayed as it is.
func (u *used) passes(to time.Time) {
	if u.agent.Work != nil && u.agent.Life.On() {
		u.busy += max(0, to.Sub(later(u.at, u.since)))
	}
	u.at = later(u.at, to)
}

// share is the part of the time from its making to a moment that the agent had a task
// and ran, 0 to 1.
func (u *used) share(until time.Time) float64 {
	u.passes(until)
	if span := until.Sub(later(u.agent.Born, u.since)); span > 0 {
		return min(1, float64(u.busy)/float64(span))
	}
	return 0
}

// take takes in the next record. Those of use count from the start of a life.
func (u *used) take(rec *run.Record) {
	u.passes(rec.At)
	u.agent.Apply(rec)
	if rec.Type != run.Used {
		return
	}
	if rec.Attempt != u.life {
		u.life, u.before = rec.Attempt, 0
	}
	now := rec.Used.Counted()
	if !rec.At.Before(u.since) {
		u.tokens += max(0, now-u.before)
	}
	u.before = max(u.before, now)
}

// Bounds of how a permanent worker is used: below the one an ordinary worker that is
// made for each task would do, above the other tasks wait for it.
const (
	littleUsed = 0.1
	muchUsed   = 0.8
)

// used says how well a permanent worker is used, and what would use it better.
func (a *ReportedAgent) used() (use, try string) {
	each := ""
	if a.Tasks > 0 {
		each = fmt.Sprintf(", %s tokens for each task", say.Short(a.Tokens/int64(a.Tasks)))
	}
	share := fmt.Sprintf("at work for %.0f%% of the time%s", 100*a.Busy, each)
	switch {
	case a.Tasks == 0 && a.Busy == 0:
		return "not used: it had no task", "cmux workers demote " + a.Name
	case a.Busy < littleUsed:
		return "little used: " + share, "cmux workers demote " + a.Name
	case a.Busy > muchUsed:
		return "fully used: " + share, "cmux workers clone " + a.Name
	}
	return "well used: " + share, ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Markdown is the report as the journal has it.
func (r *Away) Markdown() string {
	var b strings.Builder
	clock := func(at time.Time) string { return at.Local().Format("2006-01-02 15:04") }
	cell := func(s string) string { return strings.ReplaceAll(say.Line(s), "|", "\\|") }
	fmt.Fprintf(&b, "# Report\n\nFrom %s to %s: %s done, %s, %s tokens.\n", clock(r.Since), clock(r.Until), say.Count(r.Done(), "task"), say.Count(len(r.Incidents), "incident"), say.Short(r.Tokens))
	b.WriteString("\n## What waits for you\n\n")
	for _, w := range r.Waiting {
		fmt.Fprintf(&b, "- %s: `%s`\n", say.Line(w.What), say.Line(w.Try))
	}
	if len(r.Waiting) == 0 {
		b.WriteString("Nothing.\n")
	}
	if len(r.Tasks) > 0 {
		b.WriteString("\n## Tasks\n\n| task | state | agent | commits | tokens | what |\n|---|---|---|---|---|---|\n")
	}
	for _, t := range r.Tasks {
		fmt.Fprintf(&b, "| %s | %s | %s | %d %s | %s | %s |\n", t.ID, cell(t.Label), cell(t.Agent), t.Commits, recovery.Short(t.Tip), say.Short(t.Tokens), cell(t.Title))
	}
	if len(r.Incidents) > 0 {
		b.WriteString("\n## Incidents\n\n| incident | state | about | opened | what | how it ended |\n|---|---|---|---|---|---|\n")
	}
	for _, i := range r.Incidents {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", i.ID, i.Label(), cell(i.About), clock(i.OpenedAt), cell(i.Title), cell(i.Outcome))
	}
	if len(r.Agents) > 0 {
		b.WriteString("\n## Agents\n\n| agent | state | tasks | busy | tokens | context | restarts |\n|---|---|---|---|---|---|---|\n")
	}
	for _, a := range r.Agents {
		name := a.Name
		if a.Permanent {
			name += " (permanent)"
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %.0f%% | %s | %s | %d |\n", cell(name), cell(strings.TrimSuffix(a.State+": "+a.Detail, ": ")), a.Tasks, 100*a.Busy, say.Short(a.Tokens), a.Filled(), a.Restarts)
	}
	permanent := false
	for _, a := range r.Agents {
		if !a.Permanent {
			continue
		}
		if !permanent {
			permanent = true
			b.WriteString("\n## Permanent workers\n\n| worker | resets | compactions | use | what would use it better |\n|---|---|---|---|---|\n")
		}
		better := ""
		if a.Try != "" {
			better = "`" + a.Try + "`"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s |\n", cell(a.Name), a.Resets, a.Compactions, cell(a.Use), better)
	}
	return b.String()
}

// JournalReport writes a report into today's journal and returns where.
func (ov *Overview) JournalReport(r *Away) (string, error) {
	j := journal.Journal{Root: ov.Root, Now: ov.Now}
	return j.Write("report-"+ov.Now().Local().Format("150405")+".md", []byte(r.Markdown()))
}

// ReportSince is the moment that words name: a span before now, or a time.
func (ov *Overview) ReportSince(words string) (time.Time, error) {
	now := ov.Now()
	if d, err := time.ParseDuration(words); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02", "15:04"} {
		at, err := time.ParseInLocation(layout, words, time.Local)
		if err != nil {
			continue
		}
		if layout == "15:04" {
			local := now.Local()
			at = time.Date(local.Year(), local.Month(), local.Day(), at.Hour(), at.Minute(), 0, 0, time.Local)
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
		}
		if at.Before(now) {
			return at, nil
		}
	}
	return time.Time{}, project.Usage("cmux report --help", "--since: %q is no time: want a span such as 8h, or a time such as 22:00 or 2006-01-02 15:04", cmp.Or(words, "nothing"))
}
