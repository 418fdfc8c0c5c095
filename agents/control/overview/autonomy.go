package overview

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/org/watchconfig"
	"cmux/agents/platform/say"
	"cmux/agents/records/journal"
	"cmux/signals/mailbox"
	"cmux/worktree/git"
	"cmux/worktree/separate"
)

// Kinds of what an Autonomy names.
const (
	AutonomyTask        = "task"
	AutonomyRun         = "run"
	AutonomyUncommitted = "uncommitted"
	AutonomyStale       = "stale"
	AutonomyBacklog     = "backlog"
	AutonomyMail        = "mail"
	AutonomyWorker      = "worker"
)

// Autonomy is what waits, for one who leads and looks for something to do.
type Autonomy struct {
	For        string         `json:"for"`
	Items      []AutonomyItem `json:"items"`      // what it can act on first, and what is the most urgent first
	Reflection string         `json:"reflection"` // file of what the organization thinks about today
}

// AutonomyItem is one thing that waits.
type AutonomyItem struct {
	Kind string `json:"kind"`
	ID   string `json:"id"` // of the task, the run, the message; the name of the worker
	Text string `json:"text"`
	Try  string `json:"try,omitempty"`
	Acts bool   `json:"acts"` // who leads can act on it; else it is to know of it
	Key  string `json:"key"`  // changes with what the item says
}

// Acts are those of the items that can be acted on.
func (a *Autonomy) Acts() (all []AutonomyItem) {
	for _, i := range a.Items {
		if i.Acts {
			all = append(all, i)
		}
	}
	return all
}

// Autonomy says what waits for an agent that leads; without a name, for the one
// that calls, or the supervisor.
func (ov *Overview) Autonomy(ctx context.Context, name string) (*Autonomy, error) {
	org, err := ov.Org()
	if err != nil {
		return nil, err
	}
	if name == "" {
		if name, err = ov.Orderer(); err != nil {
			return nil, err
		}
		if a := org.Agents[name]; a == nil || !a.Leads() {
			name = standing.Supervisor
		}
	}
	lead, err := org.Find(name)
	if err != nil {
		return nil, project.Usage("cmux workers list", "%w", project.Tag(err, project.ErrMissing))
	}
	if !lead.Leads() {
		return nil, project.Usage("cmux autonomy", "%s leads nobody", lead.Name)
	}
	list, err := ov.TaskList()
	if err != nil {
		return nil, err
	}
	w := waiting{org: org, lead: lead, list: list, now: ov.Now(), config: watchconfig.New(org.Settings.Watch)}
	w.tasks()
	if err := ov.waitingRuns(ctx, &w); err != nil {
		return nil, err
	}
	if err := w.uncommitted(ctx); err != nil {
		return nil, err
	}
	w.workers()
	w.backlog()
	if err := ov.waitingMail(&w); err != nil {
		return nil, err
	}
	slices.SortStableFunc(w.items, func(a, b AutonomyItem) int {
		switch {
		case a.Acts == b.Acts:
			return 0
		case a.Acts:
			return -1
		}
		return 1
	})
	j := &journal.Journal{Root: ov.Root, Now: ov.Now}
	return &Autonomy{For: lead.Name, Items: append([]AutonomyItem{}, w.items...), Reflection: ov.Short(j.ReflectionFile(j.Today()))}, nil
}

// waiting gathers what waits for one who leads.
type waiting struct {
	org    *standing.Org
	lead   *standing.Agent
	list   *task.List
	now    time.Time
	config watchconfig.Config
	items  []AutonomyItem
}

func (w *waiting) add(acts bool, kind, id, try, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	h := fnv.New64a()
	h.Write([]byte(text))
	w.items = append(w.items, AutonomyItem{Kind: kind, ID: id, Text: text, Try: try, Acts: acts, Key: fmt.Sprintf("%s-%s-%x", kind, id, h.Sum64())})
}

// mine reports whether an agent reports to the one who leads.
func (w *waiting) mine(name string) bool {
	a := w.org.Agents[name]
	return a != nil && a.Name != w.lead.Name && cmp.Or(a.Member.Supervisor, standing.Supervisor) == w.lead.Name
}

// own reports whether a task is the lead's to see to: that of one who reports to
// it, or of nobody in its project.
func (w *waiting) own(t *task.Task) bool {
	if a := w.org.Agents[t.Agent]; a != nil {
		return w.mine(t.Agent)
	}
	if w.lead.Member.Role == standing.ProjectSupervisor {
		return t.Project != "" && t.Project == w.lead.Member.Project
	}
	for _, a := range w.org.Agents {
		if a.Member.Role == standing.ProjectSupervisor && t.Project != "" && a.Member.Project == t.Project {
			return false
		}
	}
	return true
}

// lately is how long a task that failed is named.
const lately = 24 * time.Hour

func (w *waiting) tasks() {
	for _, t := range w.list.Queue(w.own) {
		switch {
		case t.State == task.Blocked:
			w.add(true, AutonomyTask, t.ID, "cmux tasks show "+t.ID, "%s is blocked: %s (%s)", t.ID, t.Title, cmp.Or(t.Reason, "no reason given"))
		case t.State == task.Failed && w.now.Sub(t.ChangedAt) < lately:
			w.add(true, AutonomyTask, t.ID, "cmux tasks show "+t.ID, "%s failed: %s (%s)", t.ID, t.Title, t.Label())
		case t.State == task.Open && !t.Backlog:
			w.add(true, AutonomyTask, t.ID, "cmux tasks assign "+t.ID+" NAME", "%s is assigned to nobody: %s", t.ID, t.Title)
		case t.State == task.Paused && t.ChangedBy != task.Cmux:
			w.add(true, AutonomyTask, t.ID, "cmux tasks assign "+t.ID+" "+cmp.Or(t.Agent, "NAME"), "%s is paused: %s", t.ID, t.Title)
		}
	}
	for _, t := range w.list.Unmerged() {
		if w.own(t) && (t.Merged == nil || !t.Merged.With()) {
			w.add(true, AutonomyTask, t.ID, "cmux tasks merge", "%s is done and not merged: %s", t.ID, t.Title)
		}
	}
}

func (w *waiting) workers() {
	for _, name := range w.org.Names() {
		a := w.org.Agents[name]
		if !w.mine(name) {
			continue
		}
		word, detail := a.Stands(w.now, w.org.Stopped)
		begin, _ := w.list.Next(name)
		switch {
		case word == standing.NeedsInput:
			w.add(false, AutonomyWorker, name, "cmux workers status "+name, "%s needs input: %s", name, detail)
		case word == standing.Idle && a.Waits != "":
			w.add(true, AutonomyWorker, name, "cmux workers status "+name, "%s cannot begin with its next task: %s", name, a.Waits)
		case word == standing.Idle && !a.Protected() && a.Work == nil && begin == nil && w.now.Sub(a.Since) >= w.config.StaleAfter:
			w.add(true, AutonomyStale, name, "cmux workers kill "+name, "%s has had nothing to do for a long time", name)
		}
	}
}

// shownBacklog is how many tasks of the backlog are named.
const shownBacklog = 3

// backlog names what could be begun, while nobody is at work.
func (w *waiting) backlog() {
	for name, a := range w.org.Agents {
		if w.mine(name) && a.Work != nil {
			return
		}
	}
	for i, t := range w.list.Queue(func(t *task.Task) bool { return t.Backlog && t.State == task.Open && w.own(t) }) {
		if i == shownBacklog {
			return
		}
		w.add(true, AutonomyBacklog, t.ID, "cmux backlog take "+t.ID+", then cmux tasks assign "+t.ID+" NAME", "%s is in the backlog: %s", t.ID, t.Title)
	}
}

// uncommitted names agents at rest that left something uncommitted behind.
func (w *waiting) uncommitted(ctx context.Context) error {
	var names []string
	for _, name := range w.org.Names() {
		a := w.org.Agents[name]
		if word, _ := a.Stands(w.now, w.org.Stopped); w.mine(name) && a.Member.Tree != "" && a.Work == nil && word == standing.Idle {
			names = append(names, name)
		}
	}
	changed := make([][]string, len(names))
	var wait sync.WaitGroup
	room := make(chan struct{}, 2) // of git at once
	for i, name := range names {
		wait.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			g, err := git.GlanceAt(separate.AtRest(ctx, w.org.Root(), w.org.Agents[name].Member.Tree), w.org.Agents[name].Member.Tree)
			if err == nil { // else it has no worktree now
				changed[i] = append(g.Staged, g.Changed...)
			}
		})
	}
	wait.Wait()
	for i, name := range names {
		if n := len(changed[i]); n > 0 {
			w.add(true, AutonomyUncommitted, name, "cmux workers status "+name, "%s left %s uncommitted: %s", name, say.Count(n, "file"), strings.Join(changed[i][:min(n, 5)], ", "))
		}
	}
	return ctx.Err()
}

// waitingRuns names runs that wait for somebody.
func (ov *Overview) waitingRuns(ctx context.Context, w *waiting) error {
	if w.lead.Name != standing.Supervisor {
		return nil
	}
	report := new(OrgReport)
	if err := ov.briefly(ctx, report); err != nil {
		return err
	}
	for _, r := range report.Runs {
		if r.State != "running" {
			w.add(true, AutonomyRun, r.ID, "cmux agents status --session "+r.Session, "the run %s in %s is %s: %d of %d nodes are done", r.ID, r.Session, r.State, r.Done, r.Nodes)
		}
	}
	return nil
}

// waitingMail names what the lead was sent and has not read: it gets that by
// itself.
func (ov *Overview) waitingMail(w *waiting) error {
	return ov.WithLedger(func(l *mailbox.Ledger, _ []mailbox.Bad) error {
		for _, m := range l.Waiting() {
			if m.For.Kind == mailbox.Agent && m.For.Session == "" && m.For.Name == w.lead.Name && m.From != monitorAddress {
				w.add(false, AutonomyMail, m.ID, "cmux mailbox read "+m.ID, "a message from %s waits: %s", m.From, m.Subject)
			}
		}
		return nil
	})
}

// monitorAddress is who writes what nobody but cmux has to say.
const monitorAddress = "monitor"
