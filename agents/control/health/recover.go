// Package health keeps a project in order: it checks the integration branch, takes back
// what broke it, and clears what the organization no longer needs.
package health

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cmux/agents/control/crew"
	"cmux/agents/control/orders"
	"cmux/agents/control/overview"
	"cmux/agents/control/project"
	"cmux/agents/control/records"
	"cmux/agents/control/tasks"
	"cmux/agents/kinds/agent"
	"cmux/agents/org/recovery"
	"cmux/agents/org/standing"
	"cmux/agents/platform/proc"
	"cmux/agents/records/incident"
	"cmux/agents/records/journal"
	"cmux/agents/records/mail"
	"cmux/agents/runs/attempt"
	"cmux/agents/runs/run"
	"cmux/dag"
	"cmux/signals/mailbox"
	"cmux/worktree"
	"cmux/worktree/git"
	"cmux/worktree/hint"
)

// Health is the care for a project.
type Health struct {
	*project.Project
	Records  *records.Records
	Orders   *orders.Orders
	Crew     *crew.Crew
	Overview *overview.Overview
}

// Recovery says how the health of the project stands, and what was done about it.
type Recovery struct {
	Command   string            `json:"command"` // empty: nothing is looked at
	Tree      string            `json:"tree"`
	Rollback  bool              `json:"rollback"`
	Healthy   string            `json:"healthy"` // the last commit on which it passed
	HealthyAt *time.Time        `json:"healthy_at"`
	Fails     int               `json:"fails"` // in a row
	CheckedAt *time.Time        `json:"checked_at"`
	Run       *recovery.Run     `json:"recovery"` // the newest; null: there was none
	Plan      *recovery.Preview `json:"plan"`     // of a dry run
}

// errNoHealth says that nothing tells how healthy the project is.
func errNoHealth() error {
	return hint.New(errors.New("nothing says how the health of this project is told"), "health: in .cmux/config.yml (cmux help organization-config), then cmux config apply")
}

// healthName names what runs health commands, where an agent's name stands.
const healthName = "health"

// healthDriver is what carries a recovery out. note is told what happens; it may be
// nil.
func (p *Health) healthDriver(ctx context.Context, note func(string)) (*recovery.Driver, *standing.Org, error) {
	org, err := p.Org()
	if err != nil {
		return nil, nil, err
	}
	h := org.Settings.Health
	if h.Command == "" {
		return nil, org, errNoHealth()
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, nil, err
	}
	book, err := incident.OpenBook(p.Root, p.Now, true)
	if err != nil {
		return nil, nil, err
	}
	tree, own := p.Tree(), true
	if h.Tree != "" {
		if tree, own = h.Tree, false; !filepath.IsAbs(tree) {
			tree = filepath.Join(p.Root, tree)
		}
		if tree, err = filepath.EvalSymlinks(tree); err != nil {
			return nil, nil, hint.New(fmt.Errorf("health.tree: %w", err), "health.tree in .cmux/config.yml, then cmux config apply")
		}
	}
	env, err := org.Run.Env()
	if err != nil { // it is not started any more; the person's own serves
		env = p.Env
	}
	env = git.CleanEnv(env)
	d := &recovery.Driver{
		Config:   recovery.Config{Every: h.Period(), Restart: h.Restart != "", Rollback: h.Rollback, Own: own},
		Commands: recovery.Commands{Check: h.Command, Restart: h.Restart, Rebuild: h.Rebuild},
		Root:     p.Root, Tree: tree, Target: org.Settings.Integration, Repo: repo, Now: p.Now, Incidents: book, Note: note,
		Run: func(ctx context.Context, dir, command string) (recovery.Result, error) {
			patience := h.Patience()
			if command != h.Command {
				patience = tasks.MergeTimeout
			}
			return healthRun(ctx, org, env, dir, command, patience)
		},
		Restart: func(ctx context.Context, dir, command string) (recovery.Result, error) {
			return restart(ctx, env, dir, command)
		},
		Busy: func(context.Context) (string, error) { return worksIn(p, tree) },
		Journal: func(at time.Time, text string) (string, error) {
			j := journal.Journal{Root: p.Root, Now: func() time.Time { return at }}
			return j.Write("rollback-"+at.Local().Format("150405")+".md", []byte(text))
		},
		Tell: func(ctx context.Context, id, subject, body string) error {
			post, err := mail.Open(p.Root, p.Now)
			if err != nil {
				return err
			}
			_, err = post.Send(ctx, mailbox.Message{ID: id, From: "monitor", To: mailbox.Supervisor, Subject: mailbox.Error.Subject(subject), Body: body}, true)
			return err
		},
		Diff: func(ctx context.Context, commit string) (string, string, error) {
			return repo.Patch(ctx, commit, 8<<10)
		},
	}
	d.Author = func(commit string) string { who, _ := p.madeBy(ctx, repo, commit); return who }
	d.Ours = func(commit string) bool { who, _ := p.madeBy(ctx, repo, commit); return who != "" }
	return d, org, nil
}

// Tree is cmux's own worktree of the integration branch, in which the health is
// looked at.
func (p *Health) Tree() string { return filepath.Join(run.Folder(p.Root), recovery.TreeName) }

// HealthVar is the environment variable that marks the processes of health commands,
// none of which outlives its command. A cmux among them hands it to nobody: what it
// starts to stay, as an organization or a run, stays.
const HealthVar = "CMUX_HEALTH"

// healthRun runs a command in the organization's environment, bounded in time and
// output, and ends what it leaves running; first also what one left whose cmux was
// killed. The caller holds the state of the project's health, so there is no other.
func healthRun(ctx context.Context, org *standing.Org, env []string, dir, command string, patience time.Duration) (r recovery.Result, err error) {
	spawner, err := proc.NewSpawner()
	if err != nil {
		return r, err
	}
	defer spawner.Close()
	mark := proc.Mark(HealthVar + "=" + org.Run.Mark())
	if _, err := proc.End(ctx, time.Second, mark); err != nil {
		return r, err
	}
	env = append(slices.Clip(env), string(mark))
	node := &dag.Node{Name: healthName, Role: dag.RoleBuild, Verify: []string{command}, VerifyTimeout: dag.Duration(patience)}
	spec := &run.Spec{Node: node.Name, Frame: org.Run.Frame(), Def: node, Place: run.Place{Dir: dir}}
	job := attempt.Job{Spec: spec, Paths: org.Run.Paths, Env: env, Spawner: spawner}
	err = attempt.Verify(ctx, job, io.Discard, func(string) {}, func(c run.Check) error {
		r.OK, r.Output = c.Exit == 0 && !c.TimedOut, c.Output
		switch {
		case c.TimedOut:
			r.Output = strings.TrimSpace(fmt.Sprintf("%s\nit did not end within %s", r.Output, patience))
		case !r.OK:
			r.Output = strings.TrimSpace(fmt.Sprintf("%s\nexit status %d", r.Output, c.Exit))
		}
		return nil
	})
	return r, err
}

// restart runs a command of which what it starts in the background stays.
func restart(ctx context.Context, env []string, dir, command string) (r recovery.Result, err error) {
	ctx, cancel := context.WithTimeout(ctx, tasks.MergeTimeout)
	defer cancel()
	shell, err := agent.Shell(command, "")
	if err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, shell.Path, shell.Args[1:]...)
	out := &lastBytes{most: 4 << 10}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // what it started may hold the output open
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return recovery.Result{OK: true, Output: out.String()}, nil
	case errors.As(err, &exit) || ctx.Err() != nil:
		return recovery.Result{Output: strings.TrimSpace(out.String() + "\n" + err.Error())}, nil
	}
	return r, err
}

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	bytes.Buffer
	most int
}

func (l *lastBytes) Write(b []byte) (int, error) {
	l.Buffer.Write(b)
	if over := l.Len() - l.most; over > 0 {
		l.Next(over)
	}
	return len(b), nil
}

// worksIn says which agent works in a tree; empty: none.
func worksIn(p *Health, tree string) (string, error) {
	org, err := standing.Open(p.Root)
	if err != nil {
		return "", err
	}
	for _, name := range org.Names() {
		if a := org.Agents[name]; a.Work != nil && filepath.Clean(a.Member.Dir) == filepath.Clean(tree) {
			return name + " works in it, on " + a.Work.ID, nil
		}
	}
	return "", nil
}

// madeBy says which agent made a commit, and for which task; empty: none.
func (p *Health) madeBy(ctx context.Context, repo *worktree.Repo, commit string) (string, error) {
	l, err := p.TaskList()
	if err != nil {
		return "", err
	}
	for _, t := range slices.Backward(l.All()) {
		tip := t.Tip()
		if t.Merged != nil && t.Merged.Commit == commit || tip == commit {
			return said(t.Worker(), t.ID, t.Title), nil
		}
		if tip == "" {
			continue
		}
		if holds, err := repo.Holds(ctx, tip, commit); err != nil || !holds {
			continue
		}
		// A branch holds also what it began at: only what lies beyond that is the task's.
		if t.Merged.In() {
			if before, err := repo.Holds(ctx, t.Merged.Commit+"^", commit); err == nil && before {
				continue
			}
		}
		return said(t.Worker(), t.ID, t.Title), nil
	}
	return "", nil
}

func said(worker, id, title string) string {
	return fmt.Sprintf("%s, for task %s: %s", cmp.Or(worker, "an agent"), id, title)
}

// State says how the health of the project stands.
func (p *Health) State() (*Recovery, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	s, err := recovery.Store{Root: p.Root}.Load()
	if err != nil {
		return nil, hint.New(err, "look at it, then rm "+p.Short(filepath.Join(run.Folder(p.Root), recovery.File)))
	}
	h := org.Settings.Health
	return &Recovery{Command: h.Command, Tree: cmp.Or(h.Tree, p.Short(p.Tree())), Rollback: h.Rollback, Healthy: s.Healthy, HealthyAt: project.Moment(s.HealthyAt),
		Fails: s.Fails, CheckedAt: project.Moment(s.CheckedAt), Run: s.Run}, nil
}

// holdPatience bounds the wait for a look that is under way.
const holdPatience = 2 * time.Minute

// inHealth calls f with the state of the project's health held.
func (p *Health) inHealth(ctx context.Context, note func(string), f func(*recovery.Driver, *recovery.State) error) (*Recovery, error) {
	if p.InHealth { // it would wait for the end of its own command
		return nil, errors.New("a health command is no place to recover from: it runs because cmux does")
	}
	d, _, err := p.healthDriver(ctx, note)
	if err != nil {
		return nil, err
	}
	store := recovery.Store{Root: p.Root}
	waiting, cancel := context.WithTimeout(ctx, holdPatience)
	defer cancel()
	release, err := store.Hold(waiting)
	if err != nil {
		return nil, err
	}
	defer release()
	s, err := store.Load()
	if err != nil {
		return nil, err
	}
	if err := f(d, s); err != nil {
		return nil, err
	}
	return p.State()
}

// PreviewRecovery says what a recovery would do now. It runs the check, and changes
// nothing.
func (p *Health) PreviewRecovery(ctx context.Context) (out *Recovery, err error) {
	if err := p.Orders.Allow(ctx, orders.Order{Name: "recover --dry-run", Command: "cmux recover --dry-run", Words: []string{"recover", "--dry-run"}}); err != nil {
		return nil, err
	}
	var plan *recovery.Preview
	out, err = p.inHealth(ctx, nil, func(d *recovery.Driver, s *recovery.State) (err error) {
		plan, err = d.Preview(ctx, s)
		return err
	})
	if err == nil {
		out.Plan = plan
	}
	return out, err
}

// RecoverNow begins a recovery, or continues one, and carries it to its end.
// A project that is healthy is left as it is.
func (p *Health) RecoverNow(ctx context.Context, note func(string)) (*Recovery, error) {
	return p.inHealth(ctx, note, func(d *recovery.Driver, s *recovery.State) error { return d.Order(ctx, s) })
}

// UndoRecovery brings the tree back to where the newest rollback found it.
func (p *Health) UndoRecovery(ctx context.Context, note func(string)) (*Recovery, error) {
	return p.inHealth(ctx, note, func(d *recovery.Driver, s *recovery.State) error {
		if !s.Undo(p.Now().UTC()) {
			return hint.New(errors.New("there is no rollback to undo"), "cmux recover log")
		}
		if err := d.Finish(ctx, s); err != nil || s.Run.End == recovery.Undone {
			return err
		}
		return fmt.Errorf("it was not undone: %s", s.Run.Detail)
	})
}

// HealthLog are the incidents of the project's health, oldest first.
func (p *Health) HealthLog() ([]*incident.Incident, error) {
	all, err := p.Records.Incidents(records.IncidentQuery{All: true, About: "health"})
	if err != nil {
		return nil, err
	}
	return all.Incidents, nil
}

// LookAtHealth does what is due for the health of the project, and says when it is
// to be called again; zero: nothing says how it is told.
func (p *Health) LookAtHealth(ctx context.Context) (next time.Time, err error) {
	d, org, err := p.healthDriver(ctx, nil)
	if org != nil && (org.Settings.Health.Command == "" || org.Stopped) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	store := recovery.Store{Root: p.Root}
	release, err := store.Hold(ctx)
	if err != nil {
		return time.Time{}, err
	}
	defer release()
	s, err := store.Load()
	if err != nil {
		return time.Time{}, err
	}
	return d.Step(ctx, s)
}
