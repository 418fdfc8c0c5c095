package api

import (
	"context"
	"net/http"

	"cmux/agents/control/crew"
	"cmux/agents/org/standing"
)

type namedIn struct {
	Name string `path:"name" maxLength:"100"`
}

// gone are agents that were removed.
type gone struct {
	Removed []standing.Gone `json:"removed"`
}

// sessions are tmux sessions beside the organization's own, and projects those
// that it looks after besides.
func (r *routes) sessions() {
	const path, one = "/api/sessions", "/api/sessions/{name}"
	p := r.Project
	get(r, "sessions", path, "List the sessions beside the organization's own", func(_ context.Context, i *struct{ Paging }) (List[crew.OrgSession], error) {
		all, err := p.Crew().Sessions()
		if err != nil {
			return List[crew.OrgSession]{}, err
		}
		return page(all, i.Paging, func(s *crew.OrgSession) string { return s.Name })
	})
	post(r, "sessions", path, "Make a session with a supervisor of its own", func(ctx context.Context, i *struct{ Body crew.SpawnSession }) (*crew.SpawnedSession, error) {
		return p.Crew().SpawnSession(ctx, i.Body)
	})
	add(r, http.MethodDelete, "sessions", one, "Remove the agents of a session; what they leave is kept", func(ctx context.Context, i *struct {
		Name  string `path:"name" maxLength:"100"`
		Force bool   `query:"force" doc:"Also where one of them has work or is to stay"`
	}) (gone, error) {
		all, err := p.Crew().EndSession(ctx, i.Name, i.Force)
		return gone{all}, err
	})
}

func (r *routes) projects() {
	const path, one = "/api/projects", "/api/projects/{name}"
	p := r.Project
	get(r, "projects", path, "List the projects that the organization looks after besides", func(_ context.Context, i *struct{ Paging }) (List[crew.OtherProject], error) {
		all, err := p.Crew().Projects()
		if err != nil {
			return List[crew.OtherProject]{}, err
		}
		return page(all, i.Paging, func(o *crew.OtherProject) string { return o.Name })
	})
	post(r, "projects", path, "Have the organization look after a project", func(ctx context.Context, i *struct {
		Body struct {
			Dir  string `json:"dir" minLength:"1" doc:"Its folder, absolute or from the project's root"`
			Name string `json:"name,omitempty" doc:"Empty: that of the folder"`
		}
	}) (*crew.OtherProject, error) {
		return p.Crew().AddProject(ctx, i.Body.Dir, i.Body.Name)
	})
	post(r, "projects", one+"/activate", "Start the supervisor of a project", func(ctx context.Context, i *namedIn) (done, error) {
		err := p.Crew().ActivateProject(ctx, i.Name)
		return done{err == nil}, err
	})
	add(r, http.MethodDelete, "projects", one, "Stop looking after a project", func(ctx context.Context, i *namedIn) (*standing.Gone, error) {
		return p.Crew().RemoveProject(ctx, i.Name)
	})
}

// clones are workers that do a permanent one's work beside it.
func (r *routes) clones() {
	const one = "/api/agents/{name}"
	p := r.Project
	post(r, "agents", one+"/clone", "Make a clone of a permanent worker", func(ctx context.Context, i *AgentIn) (*standing.Made, error) {
		return p.Crew().Clone(ctx, i.Name)
	})
	post(r, "agents", one+"/merge-clone", "Merge what a clone did, and remove it", func(ctx context.Context, i *AgentIn) (*crew.MergedClone, error) {
		return p.Crew().MergeClone(ctx, i.Name)
	})
}
