package api

import (
	"context"

	"cmux/agents/control/records"
	"cmux/agents/records/incident"
)

type IncidentIn struct {
	ID string `path:"id" maxLength:"100" doc:"Id of an incident"`
}

// incidents adds the routes of incidents.
func (r *routes) incidents() {
	const group, path, one = "incidents", "/api/incidents", "/api/incidents/{id}"
	p := r.Project
	get(r, group, path, "List the open incidents, oldest first", func(_ context.Context, i *struct {
		Paging
		All   bool   `query:"all" doc:"Also those that were closed longer than a day ago"`
		About string `query:"about" doc:"Those about an agent, server or health"`
	}) (List[*incident.Incident], error) {
		all, err := p.Records().Incidents(records.IncidentQuery{All: i.All, About: i.About})
		if err != nil {
			return List[*incident.Incident]{}, err
		}
		return page(all.Incidents, i.Paging, func(i **incident.Incident) string { return (*i).ID })
	})
	get(r, group, one, "Show an incident", func(_ context.Context, i *IncidentIn) (*incident.Incident, error) { return p.Records().Incident(i.ID) })
	post(r, group, one+"/ack", "Acknowledge an incident", func(ctx context.Context, i *struct {
		IncidentIn
		Body struct {
			Note  string `json:"note,omitempty" maxLength:"1000"`
			Close bool   `json:"close,omitempty" doc:"Close it as well"`
		}
	}) (*incident.Incident, error) {
		return p.Records().AckIncident(ctx, i.ID, i.Body.Note, i.Body.Close)
	})
}
