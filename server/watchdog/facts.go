package watchdog

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/control"
	"cmux/agents/control/overview"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/org/watchconfig"
	"cmux/agents/platform/proc"
	"cmux/agents/platform/tmux"
	"cmux/agents/records/event"
	"cmux/agents/records/incident"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/host"
	"cmux/agents/runs/run"
	"cmux/agents/runs/runner"
	"cmux/server/watch"
	"cmux/signals"
	"cmux/signals/mailbox"
	"cmux/worktree/git"
)

// Project is the World of a project's organization.
type Project struct {
	*control.Project
	log       *log.Logger
	tasks     *task.Book
	post      *mail.Post
	mails     mailbox.Ledger // up to read
	read      mailbox.Places
	incidents *incident.Book
	changed   chan struct{}

	org    *standing.Org // nil: there was none yet
	agents map[string]*glimpse
}

var _ World = (*Project)(nil)

// glimpse is what is remembered of an agent between two looks.
type glimpse struct {
	todo    []watch.Item
	backlog *watch.Item
	asked   time.Time // when what waits for it was asked for
	of      string    // what that was made of

	typed  time.Time // a person did, as last found
	person time.Time // when one was found in its pane

	life   int
	offset int64 // in its events
	call   string
	calls  int
}

// todoFor is how long what waits for a supervisor is taken to be the same where
// neither tasks nor agents change: files in worktrees do, and tell nobody.
const todoFor = 2 * time.Minute

// personFor is how long a person who was found in a pane is taken to be there.
const personFor = time.Minute

// NewProject is the World of a project.
func NewProject(p *control.Project, logger *log.Logger) (*Project, error) {
	w := &Project{Project: p, log: logger, changed: make(chan struct{}, 1), agents: make(map[string]*glimpse)}
	var err error
	if w.tasks, err = task.OpenBook(p.Root, p.Now, true); err != nil {
		return nil, err
	}
	if w.incidents, err = incident.OpenBook(p.Root, p.Now, true); err != nil {
		return nil, err
	}
	if w.post, err = mail.Open(p.Root, p.Now); err != nil {
		return nil, err
	}
	return w, nil
}

// Follow tells Changed of what is written to tasks and the organization's records
// until ctx ends.
func (w *Project) Follow(ctx context.Context) {
	watcher := signals.Watch(ctx, w.tasks.Path(), filepath.Join(run.OrganizationDir(w.Root), "records.jsonl"))
	defer watcher.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-watcher.C:
		}
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
}

// Changed implements World.
func (w *Project) Changed() <-chan struct{} { return w.changed }

// look takes in what is new of the organization.
func (w *Project) look() (err error) {
	if w.org == nil {
		w.org, err = standing.Open(w.Root)
		return err
	}
	return w.org.Look()
}

// Facts implements World.
func (w *Project) Facts(ctx context.Context, observed func(string) bool) (watch.Facts, error) {
	if err := w.look(); err != nil {
		return watch.Facts{}, err
	}
	list, err := w.tasks.List()
	if err != nil {
		return watch.Facts{}, err
	}
	f := watch.Facts{Config: watchconfig.New(w.org.Settings.Watch), Stopped: w.org.Stopped}
	for _, name := range w.org.Names() {
		a := w.org.Agents[name]
		if a.InRoom() {
			continue // its room has timeouts of its own
		}
		g := w.agents[name]
		if g == nil {
			g = new(glimpse)
			w.agents[name] = g
		}
		fact := w.fact(a, g, list)
		fact.Context = a.Context.Share(int64(f.Config.Window))
		if fact.Stand == watch.Busy {
			g.follow(w.org.Run.Events(name), a.Life.N)
			fact.Calls, fact.Call = g.calls, g.call
			if observed(name) {
				fact.Moved = w.moved(ctx, a)
			}
		}
		if fact.Leads && fact.Stand == watch.Idle {
			if fact.Looked = w.waits(ctx, a, g, list, &f.Config); fact.Looked {
				fact.Todo, fact.Backlog = g.todo, g.backlog
			}
		}
		f.Agents = append(f.Agents, fact)
	}
	for name := range w.agents {
		if w.org.Agents[name] == nil {
			delete(w.agents, name)
		}
	}
	return f, nil
}

// fact is what the records and files of an agent say.
func (w *Project) fact(a *standing.Agent, g *glimpse, list *task.List) watch.Agent {
	m := &a.Member
	f := watch.Agent{
		Name: a.Name, Supervisor: m.Supervisor, Leads: a.Leads(),
		Permanent: m.Role == standing.PermanentWorker, Sentry: m.Role == standing.Sentry,
		Stand: w.stand(a), Life: a.Life.N, Sign: a.Since, Tasks: a.Tasks, Began: a.Conversed(), Typed: g.typed,
		Person: w.Now().Sub(g.person) < personFor, Compacts: w.Kinds[m.Kind].Can.Compacts != "", Compactions: a.Compactions,
		Used: a.Used.Counted(),
	}
	for _, path := range []string{w.org.Run.Events(a.Name), w.org.Run.AgentRecords(a.Name)} {
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(f.Sign) {
			f.Sign = info.ModTime()
		}
	}
	if a.Work != nil {
		f.Task = a.Work.ID
	} else {
		begin, _ := list.Next(a.Name)
		f.Next = begin != nil
	}
	if m.RoleFile != "" && f.Permanent {
		if _, err := signals.Type(m.RoleFile); os.IsNotExist(err) {
			f.RoleMissing = w.Short(m.RoleFile)
		}
	}
	return f
}

// stand is how an agent stands by its records.
func (w *Project) stand(a *standing.Agent) watch.Stand {
	word, _ := a.Stands(w.Now(), w.org.Stopped)
	return standOf(&a.State, word)
}

func standOf(a *standing.State, word standing.Word) watch.Stand {
	switch {
	// A program that was started again and never gives a sign is to be found frozen.
	case word == standing.Starting && !a.Life.Began.IsZero() && strings.HasPrefix(a.Detail, run.Revival):
		if a.Work != nil || a.Midway {
			return watch.Busy
		}
		return watch.Idle
	case a.Life.On() && a.Left, !a.Life.On() && a.Held == "" && a.Crashing() && word == standing.NeedsInput:
		return watch.Crashed
	}
	switch word {
	case standing.Idle:
		return watch.Idle
	case standing.Working, standing.Checking:
		return watch.Busy
	case standing.NeedsInput:
		return watch.Waits
	case standing.TakenOver:
		return watch.Taken
	case standing.Limited:
		return watch.Limited
	case standing.Stopped, standing.Going:
		return watch.Stopped
	}
	return watch.Down
}

// waits finds out what waits for a supervisor, where something has changed, and
// reports whether that is known.
func (w *Project) waits(ctx context.Context, a *standing.Agent, g *glimpse, list *task.List, c *watchconfig.Config) bool {
	now := w.Now()
	if quiet := now.Sub(a.Since); quiet >= 0 && quiet < min(c.NudgeEvery, c.IdleAfter)/2 && len(g.todo) == 0 {
		return false // it has only just come to rest
	}
	var of strings.Builder
	for _, name := range w.org.Names() {
		o := w.org.Agents[name]
		fmt.Fprint(&of, name, o.Life.N, o.Since.UnixNano(), o.Activity, o.Waits)
	}
	for _, t := range list.All() {
		fmt.Fprint(&of, t.ID, t.Version)
	}
	if age := now.Sub(g.asked); of.String() == g.of && 0 <= age && age < todoFor {
		return true
	}
	all, err := w.Overview().Autonomy(ctx, a.Name)
	if err != nil {
		w.log.Warn("what waits for a supervisor cannot be found out", "agent", a.Name, "err", err)
		return false
	}
	g.asked, g.of, g.todo, g.backlog = now, of.String(), nil, nil
	for _, i := range all.Acts() {
		item := watch.Item{Key: i.Key, Text: i.Text, Try: i.Try}
		if t := list.Get(i.ID); t != nil {
			item.ID, item.Title = t.ID, t.Title
		}
		g.todo = append(g.todo, item)
		if i.Kind == overview.AutonomyBacklog && g.backlog == nil {
			g.backlog = &item
		}
	}
	return true
}

// follow reads what an agent did since the last look, for calls that repeat.
func (g *glimpse) follow(path string, life int) {
	const most = 256 << 10 // of what there was before the first look
	if g.life != life {
		g.life, g.calls, g.call = life, 0, ""
		if info, err := os.Lstat(path); err == nil && g.offset == 0 && info.Size() > most {
			g.offset = info.Size()
		}
	}
	next, err := event.Replay(path, g.offset, func(e event.Event, _ int64) error {
		switch e.Kind {
		case event.ToolUse:
			h := fnv.New64a()
			h.Write(e.Input)
			call := fmt.Sprintf("%s %s [%x]", e.Tool, event.Cut(event.About(e.Input), 100), h.Sum64())
			if g.call != call {
				g.call, g.calls = call, 0
			}
			g.calls++
		case event.Prompt, event.End:
			g.call, g.calls = "", 0
		}
		return nil
	})
	if err == nil {
		g.offset = next
	}
}

// startup is how long after its wrapper a process of an agent is taken to be its
// program, which uses a processor while it only redraws its screen; in the
// kernel's ticks.
const startup = 300

// moved is what changes when an agent's files and the processes that it started
// get on.
func (w *Project) moved(ctx context.Context, a *standing.Agent) string {
	h := fnv.New64a()
	if g, err := git.GlanceAt(ctx, a.Member.Dir); err == nil {
		fmt.Fprint(h, g.Branch, g.Commit, g.Staged)
		for _, line := range g.Changed {
			fmt.Fprint(h, line)
			if _, name, ok := strings.Cut(line, " "); ok {
				if info, err := os.Lstat(filepath.Join(a.Member.Dir, strings.TrimSpace(name))); err == nil {
					fmt.Fprint(h, info.ModTime().UnixNano(), info.Size())
				}
			}
		}
	}
	all, err := proc.Descendants(proc.Attempt(w.org.Run.Mark(), a.Name, a.Life.N))
	if err == nil {
		var started []proc.Process
		for _, p := range all {
			if p.Start > a.Life.Start+startup {
				started = append(started, p)
				fmt.Fprint(h, p.PID, p.Start)
			}
		}
		fmt.Fprint(h, proc.CPU(started))
	}
	return strconv.FormatUint(h.Sum64(), 16)
}

// askPatience bounds what an agent or tmux is asked.
const askPatience = 2 * time.Second

// Person implements World: a draft, a dialog or copy mode in the agent's pane, or
// a terminal on it in which somebody typed.
func (w *Project) Person(ctx context.Context, f *watch.Agent) {
	a, g := w.org.Agents[f.Name], w.agents[f.Name]
	if a == nil || g == nil || !a.Life.On() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	var wait sync.WaitGroup
	reads := false
	wait.Go(func() {
		at, back := w.typed(ctx, a.Life.Pane)
		if reads = back; at.After(g.typed) {
			g.typed = at
		}
	})
	if link, err := host.Dial(ctx, w.org.Run, host.Ref{Node: a.Name, N: a.Life.N}); err == nil {
		if r, err := link.Say(ctx, attempt.Message{Op: attempt.OpStand, Key: attempt.KeyDraft}); err == nil && r.Standing != nil {
			if s := r.Standing; s.Draft || s.Taken || s.Hinders != "" {
				g.person = w.Now()
			}
		}
		link.Close()
	}
	wait.Wait()
	if reads {
		g.person = w.Now()
	}
	f.Typed, f.Person = g.typed, w.Now().Sub(g.person) < personFor
}

// typed is when somebody typed last in a terminal that shows a pane, and whether
// they read back in it.
func (w *Project) typed(ctx context.Context, pane string) (last time.Time, reads bool) {
	server := runner.TmuxServer(w.Root, w.org.Run.Plan.Socket)
	out, err := server.Exec(ctx, "list-clients", "-F", "#{client_control_mode} #{client_activity} #{pane_id} #{pane_in_mode}")
	if err != nil || pane == "" {
		return last, false
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] == "1" || tmux.PaneID(f[2]) != tmux.PaneID(pane) {
			continue
		}
		reads = reads || f[3] != "0"
		seconds, _ := strconv.ParseInt(f[1], 10, 64)
		if at := time.Unix(seconds, 0); at.After(last) {
			last = at
		}
	}
	return last, reads
}
