package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cmux/agents/records/incident"
	"cmux/worktree"
	"cmux/worktree/git"
)

// Result is how a command went.
type Result struct {
	OK     bool
	Output string // its end
}

// Commands are what a person wrote; empty: there is none.
type Commands struct{ Check, Restart, Rebuild string }

// Driver carries out what Next says. It has the state for itself while it does: see
// Store.Hold.
type Driver struct {
	Config
	Commands Commands
	Root     string // of the project
	Tree     string // where it is looked at
	Target   string // the integration branch
	Repo     *worktree.Repo
	Now      func() time.Time

	Run       func(ctx context.Context, dir, command string) (Result, error)           // ends what it leaves running
	Restart   func(ctx context.Context, dir, command string) (Result, error)           // leaves it
	Busy      func(ctx context.Context) (why string, err error)                        // of agents that work in the tree
	Ours      func(commit string) bool                                                 // a commit of an agent's, or cmux's
	Author    func(commit string) string                                               // who made it, and for which task; empty: not known
	Incidents *incident.Book                                                           //
	Journal   func(at time.Time, text string) (path string, err error)                 // writes, or replaces, what a recovery did
	Tell      func(ctx context.Context, id, subject, body string) error                // the supervisor; the same id again is no second message
	Diff      func(ctx context.Context, commit string) (stat, patch string, err error) // of a commit, bounded
	Note      func(text string)                                                        // to who looks on; may be nil
}

// by is who incidents are opened by.
const by = "cmux"

// Key is the cause of the incident that a recovery belongs to.
const Key = "health/project"

const flapKey = "health/project/flaps"

// Step takes the next action if it is due, and saves its result. It returns when
// the next action is due.
func (d *Driver) Step(ctx context.Context, s *State) (next time.Time, err error) {
	s.clock(d.Now().UTC().Truncate(time.Millisecond))
	a := s.Next(d.Config)
	if d.Now().Before(a.At) && !d.moved(ctx, s, a) {
		return a.At, nil
	}
	f := d.do(ctx, s, a)
	if ctx.Err() != nil {
		return time.Time{}, context.Cause(ctx) // broken off: it is done again
	}
	if f.At.IsZero() {
		f.At = d.Now()
	}
	f.At = f.At.UTC().Truncate(time.Millisecond)
	was := *s
	if s.Run != nil {
		r := *s.Run
		was.Run = &r
	}
	s.After(d.Config, a, f)
	if err := d.report(ctx, &was, s, a, f); err != nil {
		return time.Time{}, err
	}
	if err := (Store{d.Root}).Save(s); err != nil {
		return time.Time{}, err
	}
	if next = s.Next(d.Config).At; next.IsZero() { // at once
		next = d.Now()
		if f.Err != nil {
			next = next.Add(retryPause)
		}
	}
	return next, nil
}

// moved reports whether the integration branch has commits that no check has seen.
func (d *Driver) moved(ctx context.Context, s *State, a Action) bool {
	if a.Do != DoCheck || !s.Run.Over() || s.Tip == "" {
		return false
	}
	tip, err := d.Repo.Tip(ctx, d.Target)
	return err == nil && tip != s.Tip
}

func (d *Driver) note(format string, args ...any) {
	if d.Note != nil {
		d.Note(fmt.Sprintf(format, args...))
	}
}

func (d *Driver) do(ctx context.Context, s *State, a Action) (f Fact) {
	switch a.Do {
	case DoCheck:
		return d.check(ctx, s)
	case DoRestart:
		d.note("restart: %s", d.Commands.Restart)
		r, err := d.Restart(ctx, d.Tree, d.Commands.Restart)
		return Fact{OK: r.OK, Detail: r.Output, Err: err}
	case DoSurvey:
		return d.survey(ctx, s)
	case DoJournal:
		path, err := d.Journal(s.Run.Began, d.Page(s))
		return Fact{OK: true, Detail: path, Err: err}
	case DoTry:
		return d.try(ctx, s, a)
	case DoSwitch:
		d.note("back to %s", name(a))
		snap, refused, err := d.switchTo(ctx, s, a)
		return Fact{OK: true, Detail: saved(snap), Refused: refused, Err: err}
	case DoTell:
		return d.tell(ctx, s)
	}
	return Fact{Err: fmt.Errorf("%q is nothing that can be done", a.Do)}
}

func name(a Action) string {
	if a.Branch != "" {
		return a.Branch
	}
	return Short(a.Commit)
}

func saved(snap *worktree.Snapshot) string {
	if snap == nil {
		return ""
	}
	return "saved first: " + snap.RestoreCommand()
}

// check runs the health command on what is checked out. cmux's own tree is brought
// to where the integration branch is, unless it was rolled back.
func (d *Driver) check(ctx context.Context, s *State) (f Fact) {
	if f.Err = d.follow(ctx, s, &f); f.Err != nil {
		return f
	}
	w, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		f.Err = err
		return f
	}
	f.Head, f.Branch = w.Head, w.Branch
	before, mine := d.prints(w), d.dropped(s, w)
	r := Result{OK: true}
	if d.Own && d.Commands.Rebuild != "" && s.Built != w.Head {
		if r, err = d.Run(ctx, d.Tree, d.Commands.Rebuild); err == nil && r.OK {
			f.Built = w.Head
		}
	}
	if r.OK && err == nil {
		r, err = d.Run(ctx, d.Tree, d.Commands.Check)
	}
	f.OK, f.Detail, f.Err = r.OK, r.Output, err
	after, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		f.Err = errors.Join(f.Err, err)
		return f
	}
	f.Clean = len(w.Tracked) == len(mine) && w.Operation == "" && after.Head == w.Head
	f.Left = after.Left()
	if !d.Own {
		f.Made = learn(s.Made, before, d.prints(after), false)
	}
	f.Err = errors.Join(f.Err, d.disown(ctx, after, w.Untracked))
	return f
}

// disown says of the files that a command left in cmux's own tree that they are
// nobody's work, so that no snapshot is taken of them.
func (d *Driver) disown(ctx context.Context, w *worktree.Workplace, but []string) error {
	paths := slices.DeleteFunc(slices.Clone(w.Untracked), func(p string) bool { return slices.Contains(but, p) })
	if !d.Own || len(paths) == 0 {
		return nil
	}
	return d.Repo.Disown(ctx, d.Tree, paths)
}

// follow makes cmux's own tree where it is not there, and brings it along.
func (d *Driver) follow(ctx context.Context, s *State, f *Fact) (err error) {
	if f.Tip, err = d.Repo.Tip(ctx, d.Target); err != nil || !d.Own {
		if errors.Is(err, git.ErrBadRef) && !d.Own {
			return nil
		}
		return err
	}
	if _, err := os.Lstat(d.Tree); errors.Is(err, fs.ErrNotExist) {
		start := f.Tip
		if s.Run != nil && s.Run.End == RolledBack {
			start = s.Run.Best
		}
		_, err := d.Repo.Lend(ctx, worktree.LendSpec{Path: d.Tree, Start: start, Owner: "cmux/health", NoFresh: true})
		return err
	}
	if !s.Run.Over() || s.Run != nil && s.Run.End == RolledBack {
		return nil
	}
	w, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil || w.Head == f.Tip || d.foreign(s, w) != "" {
		return err
	}
	_, err = d.Repo.Switch(ctx, worktree.SwitchSpec{Path: d.Tree, Start: f.Tip, Reason: "health: new commits of " + d.Target})
	return err
}

// recently is for how long a change is one of somebody who is at work.
const recently = 10 * time.Minute

// foreign says who is at work in the tree; empty: nobody is.
func (d *Driver) foreign(s *State, w *worktree.Workplace) string {
	shown := func(paths []string) string {
		text := strings.Join(paths[:min(3, len(paths))], ", ")
		if len(paths) > 3 {
			text += fmt.Sprintf(" and %d more", len(paths)-3)
		}
		return text
	}
	paths := func(all []string, ours func(string) bool) []string {
		return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return ours(p) || strings.HasPrefix(p, ".cmux/") })
	}
	left := func(p string) bool {
		return slices.Contains(s.Left, p) || s.Run != nil && slices.Contains(s.Run.Left, p)
	}
	old, mine := left, left
	if !d.Own {
		mine = func(p string) bool { return s.makes(p, d.print(p), true) }
		old = func(p string) bool {
			info, err := os.Lstat(filepath.Join(d.Tree, p))
			return s.makes(p, d.print(p), false) || err == nil && d.Now().Sub(info.ModTime()) > recently
		}
	}
	switch {
	case w.Operation != "":
		return "a " + w.Operation + " is in progress there"
	case w.Locked != "" && !d.Own:
		return "another git works there (" + w.Locked + ")"
	}
	if p := paths(w.Tracked, mine); len(p) > 0 {
		return "it has uncommitted changes: " + shown(p)
	}
	if p := paths(w.Untracked, old); len(p) > 0 {
		return "it has new files that nobody committed: " + shown(p)
	}
	return ""
}

// survey looks whether something else may be checked out, and what.
func (d *Driver) survey(ctx context.Context, s *State) (f Fact) {
	w, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		f.Err = err
		return f
	}
	f.Head, f.Branch = w.Head, w.Branch
	if f.Refused, f.Err = d.refused(ctx, s, w); f.Refused != "" || f.Err != nil {
		return f
	}
	if s.Healthy == "" {
		return f
	}
	if there, err := d.Repo.Holds(ctx, w.Head, s.Healthy); err != nil || !there {
		if err == nil {
			f.Refused = fmt.Sprintf("the last healthy commit, %s, is not in the history of what is checked out", Short(s.Healthy))
		}
		f.Err = err
		return f
	}
	behind, err := d.Repo.Line(ctx, s.Healthy, w.Head, maxRange)
	if err != nil {
		f.Err = err
		return f
	}
	older, err := d.Repo.Line(ctx, "", s.Healthy, MaxOlder+1)
	if err != nil {
		f.Err = err
		return f
	}
	for _, c := range slices.Backward(behind) {
		f.Range = append(f.Range, c.ID)
		if recent := d.Now().Sub(time.Unix(c.Unix, 0)) < recently; recent && !d.Own && !d.Ours(c.ID) {
			f.Refused = fmt.Sprintf("%s committed %s (%s) there %s ago, and no agent's task has it", c.Author, Short(c.ID), c.Subject, d.Now().Sub(time.Unix(c.Unix, 0)).Round(time.Second))
		}
	}
	for _, c := range older {
		f.Older = append(f.Older, c.ID)
	}
	return f
}

// refused says why nothing may be checked out; empty: it may.
func (d *Driver) refused(ctx context.Context, s *State, w *worktree.Workplace) (string, error) {
	if len(w.Submodules) > 0 {
		return "it has submodules, which a rollback does not bring along: " + strings.Join(w.Submodules, ", "), nil
	}
	return d.atWork(ctx, s, w)
}

// reason is that of the snapshots that a recovery takes.
func (r *Run) reason() string { return "rollback " + r.ID }

// switchTo checks something else out, unless somebody came in between: then refused
// says who. What is checked out already, before a kill, is not checked out again.
func (d *Driver) switchTo(ctx context.Context, s *State, a Action) (snap *worktree.Snapshot, refused string, err error) {
	w, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		return nil, "", err
	}
	r := s.Run
	if w.Head == a.Commit && w.Branch == a.Branch && w.Operation == "" {
		return nil, "", nil
	}
	if expected := r.at(a); w.Operation == "" && !slices.Contains(expected, w.Head) {
		return nil, fmt.Sprintf("somebody else is at work in %s: %s is checked out there now, and not %s", d.Tree, Short(w.Head), Short(expected[len(expected)-1])), nil
	}
	if w.Locked != "" && !d.Own { // for a moment, most often: it is tried again
		return nil, "", fmt.Errorf("another git works in %s (%s)", d.Tree, w.Locked)
	}
	if refused, err = d.atWork(ctx, s, w); refused != "" || err != nil {
		return nil, refused, err
	}
	snap, err = d.Repo.Switch(ctx, worktree.SwitchSpec{Path: d.Tree, Branch: a.Branch, Start: a.Commit, Reason: r.reason(), Stay: !d.Own, Drop: d.dropped(s, w)})
	return snap, "", err
}

// atWork says who is at work in the tree, a person or an agent; empty: nobody is.
func (d *Driver) atWork(ctx context.Context, s *State, w *worktree.Workplace) (string, error) {
	if why := d.foreign(s, w); why != "" {
		return "somebody is at work in " + d.Tree + ": " + why, nil
	}
	return d.Busy(ctx)
}

// at are the commits that may be checked out before an action: the one that the last
// left, or the one that this one brings, where it was cut off.
func (r *Run) at(a Action) []string {
	now := r.Broken
	if n := len(r.Tries); n > 0 {
		now = r.Tries[n-1].Commit
	}
	switch {
	case r.Step == StepReturn:
		now = r.Ahead
	case r.Best != "" && (r.Step == StepNone || r.Step == StepForward || r.Step == StepUndo):
		now = r.Best
	}
	all := []string{a.Commit, now}
	if r.Here != "" {
		all = append(all, r.Here)
	}
	return all
}

// try checks a commit out, rebuilds and checks.
func (d *Driver) try(ctx context.Context, s *State, a Action) (f Fact) {
	d.note("try %s on %s", Short(a.Commit), name(a))
	snap, refused, err := d.switchTo(ctx, s, a)
	if err != nil || refused != "" {
		f.Err, f.Refused = err, refused
		return f
	}
	f.Head, f.Branch = a.Commit, a.Branch
	found, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		f.Err = err
		return f
	}
	before, began := d.prints(found), d.Now()
	r := Result{OK: true}
	if d.Commands.Rebuild != "" {
		r, err = d.Run(ctx, d.Tree, d.Commands.Rebuild)
	}
	if f.Built = ""; r.OK && err == nil {
		f.Built = a.Commit
		r, err = d.Run(ctx, d.Tree, d.Commands.Check)
	}
	f.OK, f.Detail, f.Err = r.OK, r.Output, err
	w, werr := d.Repo.Workplace(ctx, d.Tree)
	if f.Err = errors.Join(f.Err, werr); werr == nil {
		f.Head, f.Branch, f.Left = w.Head, w.Branch, w.Left()
		if !d.Own {
			f.Made = learn(s.Made, before, d.prints(w), true)
		}
		f.Err = errors.Join(f.Err, d.disown(ctx, w, nil))
	}
	word := "is not healthy"
	if f.OK {
		word = "is healthy"
	}
	d.note("%s %s (%s)", Short(a.Commit), word, d.Now().Sub(began).Round(10*time.Millisecond))
	if text := saved(snap); text != "" {
		f.Detail = strings.TrimSpace(text + "\n" + f.Detail)
	}
	return f
}

// tell tells the supervisor, and completes the page in the journal. The branches of
// what was tried and is not healthy are not needed any more.
func (d *Driver) tell(ctx context.Context, s *State) (f Fact) {
	r := s.Run
	f.OK = true
	for _, t := range r.Tries {
		if t.Branch != r.On && t.Branch != "" {
			if err := d.Repo.DropBranch(ctx, t.Branch, t.Commit); err != nil {
				d.note("%v", err) // somebody uses it: it stays
			}
		}
	}
	w, err := d.Repo.Workplace(ctx, d.Tree)
	if err != nil {
		f.Err = err
		return f
	}
	f.Left = w.Left()
	body, err := d.Culprit(ctx, r)
	if err != nil {
		f.Err = err
		return f
	}
	path, err := d.Journal(r.Began, d.Page(s)+"\n"+body)
	if err != nil {
		f.Err = err
		return f
	}
	subject := fmt.Sprintf("The project was not healthy and was rolled back to %s", Short(r.Best))
	f.Err = d.Tell(ctx, "rollback-"+r.ID, subject, body+"\n\nAll of it stands in "+path+", and in cmux incidents show "+r.Incident+".\n")
	return f
}

// Culprit says what broke the project, as far as it is known.
func (d *Driver) Culprit(ctx context.Context, r *Run) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s failed on %s. In %s the branch %s is checked out now, at %s, where it passes; %s is as it was.\n", d.Commands.Check, Short(r.Broken), d.Tree, r.On, Short(r.Best), orElse(r.Branch, d.Target))
	if r.Blamed == "" {
		b.WriteString("\nNo commit is to blame: the check fails now on a commit that it passed on before, so look at what the project needs besides its files.\n")
		return b.String(), nil
	}
	stat, patch, err := d.Diff(ctx, r.Blamed)
	if err != nil {
		return "", err
	}
	who := d.Author(r.Blamed)
	if who == "" {
		who = "no agent's task has it"
	}
	fmt.Fprintf(&b, "\nThe first commit on which it fails: %s\nMade by: %s\n\n%s\n\n%s\n\nIt said at the end:\n\n%s\n\nHave it mended on the branch that it came from, or reverted.\n",
		r.Blamed, who, strings.TrimSpace(stat), strings.TrimSpace(patch), strings.TrimSpace(incident.Cut(r.Output, 2000)))
	return b.String(), nil
}

func orElse(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// Page is what the journal has of a recovery.
func (d *Driver) Page(s *State) string {
	r := s.Run
	var b strings.Builder
	clock := func(at time.Time) string { return at.Local().Format("15:04:05") }
	fmt.Fprintf(&b, "# Rollback %s\n\n- begun at %s by %s\n- looked at: `%s` in %s\n- checked out: %s (%s)\n", r.ID, clock(r.Began), r.By, d.Commands.Check, d.Tree, Short(r.Broken), orElse(r.Branch, "detached"))
	if s.Healthy != "" {
		fmt.Fprintf(&b, "- healthy last: %s, at %s\n", Short(s.Healthy), s.HealthyAt.Local().Format("2006-01-02 15:04:05"))
	}
	fmt.Fprintf(&b, "- commits since: %d\n\n## What failed\n\n```\n%s\n```\n", len(r.Range), strings.ReplaceAll(strings.TrimSpace(incident.Cut(r.Output, 4000)), "```", "'''"))
	if len(r.Tries) > 0 {
		b.WriteString("\n## What was tried\n\n")
	}
	for _, t := range r.Tries {
		word := "not healthy"
		if t.OK {
			word = "healthy"
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", clock(t.At), Short(t.Commit), word)
	}
	return b.String()
}
