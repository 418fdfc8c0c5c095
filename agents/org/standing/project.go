package standing

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"cmux/agents/runs/run"
)

// Project is another project that the organization looks after: a supervisor in
// its folder leads the work there.
type Project struct {
	Name   string `json:"name"`
	Dir    string `json:"dir"` // absolute; empty: it is no longer looked after
	Active bool   `json:"active"`
}

// keyProject is the key of the Noted records with projects; the newest of a name
// counts.
const keyProject = "project"

// leadPrefix begins the names of supervisors beside the supervisor.
const leadPrefix = "sup-"

// LeadName is the name of the supervisor of a project or of a session.
func LeadName(of string) string { return leadPrefix + of }

// Lead is the name of the supervisor of the project.
func (p *Project) Lead() string { return LeadName(p.Name) }

// Projects are the projects that are looked after, by name.
func (o *Org) Projects() []Project {
	return slices.SortedFunc(maps.Values(o.projects), func(a, b Project) int { return cmp.Compare(a.Name, b.Name) })
}

// Project is the project of a name; ok is false when there is none.
func (o *Org) Project(name string) (p Project, ok bool) {
	p, ok = o.projects[name]
	return p, ok
}

// SetProject records a project as it is to be.
func (o *Org) SetProject(ctx context.Context, p Project) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := o.Record(ctx, run.Record{Type: run.Noted, Key: keyProject, Value: string(b)}); err != nil {
		return err
	}
	return o.lookAtOwn()
}

func (o *Org) projectNoted(value string) {
	var p Project
	if json.Unmarshal([]byte(value), &p) != nil {
		return
	}
	if o.projects == nil {
		o.projects = make(map[string]Project)
	}
	if o.projects[p.Name] = p; p.Dir == "" {
		delete(o.projects, p.Name)
	}
}
