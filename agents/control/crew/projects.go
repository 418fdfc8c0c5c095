package crew

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/org/standing"
	"cmux/agents/runs/run"
	"cmux/worktree"
	"cmux/worktree/hint"
)

// OtherProject is another project that the organization looks after.
type OtherProject struct {
	standing.Project
	Supervisor string `json:"supervisor"`
	State      string `json:"state"` // of its supervisor; empty: it has none
}

// AddProject has the organization look after the project in a folder. Its name is
// that of the folder unless one is given. Nothing is started.
func (p *Crew) AddProject(ctx context.Context, dir, name string) (*OtherProject, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	asked := p.Abs(dir)
	if dir, err = filepath.EvalSymlinks(asked); errors.Is(err, fs.ErrNotExist) {
		return nil, project.Usage("", "there is no folder %s", asked)
	} else if err != nil {
		return nil, project.Usage("", "the folder %s cannot be opened: %w", asked, err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, project.Usage("", "%s is not a folder", dir)
	}
	root := dir
	if repo, err := worktree.Open(ctx, dir); err == nil {
		root = repo.Root
	}
	if root == p.Root {
		return nil, project.Usage("", "%s is this project itself", dir)
	}
	if err := ownOrganization(root); err != nil {
		return nil, err
	}
	if name == "" {
		name = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(filepath.Base(dir), "-"), "-")
	}
	if err := standing.CheckName(standing.LeadName(name), standing.ProjectSupervisor); err != nil {
		return nil, project.Tag(err, project.ErrUsage)
	}
	for _, o := range org.Projects() {
		if strings.EqualFold(o.Name, name) || o.Dir == dir {
			return nil, project.Usage("cmux projects list", "the project %s is there already, in %s", o.Name, o.Dir)
		}
	}
	if err := org.CheckNew(standing.LeadName(name), standing.ProjectSupervisor); err != nil {
		return nil, project.Tag(err, project.ErrUsage)
	}
	o := standing.Project{Name: name, Dir: dir}
	return &OtherProject{Project: o, Supervisor: o.Lead()}, org.SetProject(ctx, o)
}

// ownOrganization refuses a project that has an organization of its own: two would
// lead the same work.
func ownOrganization(root string) error {
	_, err := run.OpenOrganization(root)
	if errors.Is(err, run.ErrNoOrganization) {
		return nil
	}
	return hint.New(fmt.Errorf("%s has an organization of its own", root), "cmux start in that folder")
}

// Projects are the projects that the organization looks after.
func (p *Crew) Projects() ([]OtherProject, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	all := []OtherProject{}
	for _, o := range org.Projects() {
		one := OtherProject{Project: o, Supervisor: o.Lead()}
		if a := org.Agents[o.Lead()]; a != nil {
			word, _ := a.Stands(p.Now(), org.Stopped)
			one.State = string(word)
		}
		all = append(all, one)
	}
	return all, nil
}

// otherProject finds a project by its name.
func otherProject(org *standing.Org, name string) (standing.Project, error) {
	o, ok := org.Project(name)
	if !ok {
		return o, project.Usage("cmux projects list", "there is no project %q", name)
	}
	return o, nil
}

// ActivateProject has the supervisor of a project started, now and by each start of
// the organization.
func (p *Crew) ActivateProject(ctx context.Context, name string) error {
	org, err := p.Org()
	if err != nil {
		return err
	}
	o, err := otherProject(org, name)
	if err != nil {
		return err
	}
	if err := ownOrganization(o.Dir); err != nil {
		return err
	}
	if org.Agents[o.Lead()] == nil && org.Run.RunnerLives() {
		if err := p.AskKeeper(ctx, standing.OpSpawn, o.Lead(), standing.Ask{Spawn: p.lead(&o)}, nil); err != nil {
			return err
		}
	}
	if o.Active {
		return nil
	}
	o.Active = true
	return org.SetProject(ctx, o)
}

// lead is the supervisor of a project as it is to be made.
func (p *Crew) lead(o *standing.Project) *standing.Spawn {
	return &standing.Spawn{Name: o.Lead(), Role: standing.ProjectSupervisor, Project: o.Name, Dir: o.Dir, RoleFile: standing.RolePath(p.Root, standing.Supervisor)}
}

// RemoveProject has the organization look after a project no longer. Its supervisor
// is removed, and what it leaves is kept; nothing in the folder changes.
func (p *Crew) RemoveProject(ctx context.Context, name string) (*Gone, error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	o, err := otherProject(org, name)
	if err != nil {
		return nil, err
	}
	var gone *Gone
	if org.Agents[o.Lead()] != nil {
		if gone, err = p.Kill(ctx, o.Lead(), true); err != nil {
			return nil, err
		}
	}
	return gone, org.SetProject(ctx, standing.Project{Name: name})
}

// LeadProjects makes the supervisors of active projects that have none yet.
func (p *Crew) LeadProjects(ctx context.Context, org *standing.Org) error {
	for _, o := range org.Projects() {
		if !o.Active || org.Agents[o.Lead()] != nil {
			continue
		}
		err := ownOrganization(o.Dir)
		if info, serr := os.Stat(o.Dir); err == nil && (serr != nil || !info.IsDir()) {
			err = fmt.Errorf("its folder %s is gone", o.Dir)
		}
		if err != nil {
			p.Note(fmt.Sprintf("the project %s is left out: %v", o.Name, err))
			continue
		}
		m, err := org.Member(p.lead(&o), p.Kinds, p.Now())
		if err == nil {
			err = org.WriteContext(&m)
		}
		if err == nil {
			err = org.Join(ctx, m, "")
		}
		if err != nil {
			return err
		}
	}
	return org.Look()
}

// ProjectNames are the names of the projects that the organization looks after.
func (p *Crew) ProjectNames() (names []string, err error) {
	org, err := p.Org()
	if err != nil {
		return nil, err
	}
	for _, o := range org.Projects() {
		names = append(names, o.Name)
	}
	return names, nil
}

// projectDir is the folder in which a worker works that belongs to another project,
// because it was said so or because the supervisor of that project makes it, and
// that project; empty: it works in this one.
func (p *Crew) projectDir(org *standing.Org, by, name string) (dir, project string) {
	if a := org.Agents[by]; name == "" && a != nil {
		name = a.Member.Project
	}
	o, _ := org.Project(name)
	return o.Dir, name
}
