package health

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

	"cmux/agents/control/overview"
	"cmux/agents/control/records"
	"cmux/agents/control/remains"
	"cmux/agents/org/standing"
	"cmux/agents/org/task"
	"cmux/agents/org/trees"
	"cmux/agents/org/upkeep"
	"cmux/agents/org/watchconfig"
	"cmux/agents/runs/run"
	"cmux/signals"
	"cmux/worktree"
)

// treeAge is how old a worktree must be before it can be nobody's: one is made before
// its agent is on record.
const treeAge = time.Hour

// archiveAge is how old an archive may grow before it is reported.
const archiveAge = 30 * 24 * time.Hour

// Upkeep is what the organization no longer needs.
type Upkeep struct {
	Items   []upkeep.Item `json:"items"`
	Allowed []string      `json:"allowed"` // kinds that cmux may remove by itself
}

// Upkept is what happened to something that was no longer needed.
type Upkept struct {
	upkeep.Item
	Done    string `json:"done,omitempty"`    // empty: it stays
	Restore string `json:"restore,omitempty"` // brings back what was saved of it
	Failed  string `json:"failed,omitempty"`
	Left    string `json:"left,omitempty"` // why it was left as it is
}

// PlanUpkeep looks for what the organization no longer needs. It changes nothing.
func (p *Health) PlanUpkeep(ctx context.Context) (*Upkeep, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	tasks, err := p.TaskList()
	if err != nil {
		return nil, err
	}
	watch := watchconfig.New(org.Settings.Watch)
	f := upkeep.Facts{Now: p.Now(), Idle: watch.StaleAfter, Age: archiveAge}
	report, err := p.Overview.Organization(ctx)
	if err != nil {
		return nil, err
	}
	for i := range report.Agents {
		f.Agents = append(f.Agents, idleness(org.Agents[report.Agents[i].Name], &report.Agents[i], tasks))
	}
	if err := p.upkeepGit(ctx, org, repo, tasks, &f); err != nil {
		return nil, err
	}
	windows, owned, err := org.Windows(ctx, p.OrgTmux(org))
	if err != nil {
		return nil, err
	}
	for _, w := range windows {
		id := w.Run
		if id == run.OrganizationID {
			id = ""
		}
		f.Windows = append(f.Windows, upkeep.Window{Pane: string(w.ID), Session: w.Session, Run: id, Node: w.Node, Owned: owned(w), Since: w.Changed})
	}
	if f.Archives, err = p.oldArchives(); err != nil {
		return nil, err
	}
	out := &Upkeep{Items: upkeep.Find(f), Allowed: append([]string{}, org.Settings.Maintenance...)}
	if out.Items == nil {
		out.Items = []upkeep.Item{}
	}
	return out, nil
}

// idleness is an agent with what it has to do.
func idleness(a *standing.Agent, r *overview.AgentReport, tasks *task.List) upkeep.Agent {
	u := upkeep.Agent{Name: r.Name, Stays: true, Busy: true}
	if a == nil {
		return u // it went this moment
	}
	u.Stays = a.Protected() || a.Member.Role == standing.Sentry || a.Member.CloneOf != ""
	u.Since = a.Born
	for _, t := range []time.Time{a.Since, a.ResetAt} {
		if t.After(u.Since) {
			u.Since = t
		}
	}
	if a.Last != nil && a.Last.At.After(u.Since) {
		u.Since = a.Last.At
	}
	u.Busy = r.State != string(standing.Idle) || r.Task != "" || len(r.Waiting) > 0
	for _, t := range tasks.All() {
		u.Busy = u.Busy || t.Agent == a.Name && t.State != task.Done && t.State != task.Cancelled
	}
	return u
}

// upkeepGit adds the worktrees and branches of the organization.
func (p *Health) upkeepGit(ctx context.Context, org *standing.Org, repo *worktree.Repo, tasks *task.List, f *upkeep.Facts) error {
	out, err := p.Git(ctx, p.Root, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return err
	}
	used := map[string]bool{}
	checkedOut := map[string]bool{}
	for _, a := range org.Agents {
		for _, b := range []string{a.Member.Branch, a.Member.CloneFrom, a.Branch} {
			used[b] = true
		}
	}
	session := org.Run.Plan.Session
	owner := session + "/" + run.OrganizationID + "/"
	for field := range strings.SplitSeq(out, "\x00") {
		if b, ok := strings.CutPrefix(field, "branch refs/heads/"); ok {
			checkedOut[b] = true
		}
		path, ok := strings.CutPrefix(field, "worktree ")
		if !ok || path == p.Root {
			continue
		}
		t, err := repo.Tree(ctx, path)
		if err != nil || t == nil || t.Torn {
			continue // in doubt it stays
		}
		if name, ours := strings.CutPrefix(t.Owner, owner); ours {
			_, broken := org.Broken[name]
			made, err := os.Lstat(filepath.Join(path, ".git"))
			young := err != nil || p.Now().Sub(made.ModTime()) < treeAge
			// Its agent may know it by another path, through a link.
			f.Trees = append(f.Trees, upkeep.Tree{Path: path, Owner: name, Owned: broken || young || org.Agents[name] != nil})
		}
	}
	made := map[string]bool{} // by cmux: a person's own may be called alike
	for _, t := range tasks.All() {
		b := t.WorkBranch()
		made[b] = true
		if !t.State.Over() || t.Delivers() && !t.Merged.In() {
			used[b] = true
		}
	}
	gone, err := signals.ReadDir(filepath.Join(run.Folder(p.Root), "archives"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, g := range gone {
		made[session+"/"+g.Name()] = g.IsDir()
	}
	branches, err := repo.Branches(ctx)
	if err != nil || org.Settings.Integration == "" {
		return err
	}
	in, err := p.Git(ctx, p.Root, "for-each-ref", "--format=%(refname:short) %(objectname)", "--merged", "refs/heads/"+org.Settings.Integration, "refs/heads/")
	if err != nil {
		return err
	}
	commits := map[string]string{}
	for line := range strings.Lines(in) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		commits[name] = commit
	}
	for _, b := range branches {
		if made[b] {
			f.Branches = append(f.Branches, upkeep.Branch{Name: b, Commit: commits[b], Owned: used[b], Out: checkedOut[b], In: commits[b] != ""})
		}
	}
	return nil
}

// oldArchives are what agents have left.
func (p *Health) oldArchives() (all []upkeep.Archive, err error) {
	dir := filepath.Join(run.Folder(p.Root), "archives")
	names, err := signals.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, n := range names {
		if !n.IsDir() {
			continue
		}
		parts, rerr := signals.ReadDir(filepath.Join(dir, n.Name()))
		err = errors.Join(err, rerr)
		for _, part := range parts {
			if info, ierr := part.Info(); ierr == nil && part.IsDir() {
				all = append(all, upkeep.Archive{Name: n.Name() + "/" + part.Name(), At: info.ModTime(), Size: remains.FolderSize(filepath.Join(dir, n.Name(), part.Name()))})
			}
		}
	}
	return all, err
}

// Maintain removes what a plan names of kinds that may says; what is in it is saved
// first. What is needed again by now stays.
func (p *Health) Maintain(ctx context.Context, plan *Upkeep, may func(upkeep.Kind) bool) ([]Upkept, error) {
	now, err := p.PlanUpkeep(ctx)
	if err != nil {
		return nil, err
	}
	out := []Upkept{}
	for _, i := range plan.Items {
		one := Upkept{Item: i}
		switch {
		case i.Kind == upkeep.Archives:
			one.Left = "cmux never removes archives"
		case !may(i.Kind):
			one.Left = "things of this kind were not to be removed"
		case !slices.ContainsFunc(now.Items, func(n upkeep.Item) bool { return n.Kind == i.Kind && n.Name == i.Name && n.At == i.At }):
			one.Left = "it is needed again"
		default:
			if err := p.remove(ctx, &one); err != nil {
				one.Failed = err.Error()
			}
		}
		out = append(out, one)
	}
	return out, ctx.Err()
}

func (p *Health) remove(ctx context.Context, u *Upkept) error {
	if u.Kind == upkeep.Workers {
		gone, err := p.Crew.Kill(ctx, u.Name, false)
		if err != nil {
			return err
		}
		u.Done, u.Restore = "removed; what it left is in "+p.Short(gone.Archive), gone.Restore
		return nil
	}
	if u.Kind == upkeep.Windows {
		return p.closeWindow(ctx, u)
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return err
	}
	if u.Kind == upkeep.Worktrees {
		u.Restore, err = trees.Git{Repo: repo}.Remove(ctx, u.Name, filepath.Base(u.Name), "cmux maintenance")
	} else {
		u.Restore, err = fmt.Sprintf("git branch %s %s", u.Name, u.At), repo.RemoveBranch(ctx, u.Name, u.At)
	}
	if err == nil {
		u.Done = "removed"
	}
	return err
}

// closeWindow closes a window whose agent or run is gone.
func (p *Health) closeWindow(ctx context.Context, u *Upkept) error {
	org, err := p.Org()
	if err != nil {
		return err
	}
	server := p.OrgTmux(org)
	windows, owned, err := org.Windows(ctx, server)
	if err != nil {
		return err
	}
	for _, w := range windows {
		if string(w.ID) == u.Name && !owned(w) {
			kept, err := org.CloseWindow(ctx, server, w, p.Now())
			if err != nil {
				return err
			}
			u.Done = "closed; its last screen is in " + p.Short(kept)
			return nil
		}
	}
	u.Left = "it is needed again"
	return nil
}

// MaintainAllowed removes what the configuration lets cmux remove by itself, which is
// nothing unless it says so.
func (p *Health) MaintainAllowed(ctx context.Context) ([]Upkept, error) {
	org, err := p.Org()
	if err != nil || len(org.Settings.Maintenance) == 0 {
		return nil, err
	}
	plan, err := p.PlanUpkeep(ctx)
	if err != nil {
		return nil, err
	}
	may := func(k upkeep.Kind) bool { return slices.Contains(plan.Allowed, string(k)) }
	if !slices.ContainsFunc(plan.Items, func(i upkeep.Item) bool { return may(i.Kind) }) {
		return nil, nil
	}
	done, err := p.Maintain(ctx, plan, may)
	for _, u := range done {
		if u.Done != "" {
			err = errors.Join(err, p.Records.Audit(ctx, records.Ordered{Order: "maintenance", About: u.Name, By: task.Cmux, How: "watch"}))
		}
	}
	return done, err
}
