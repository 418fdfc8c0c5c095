package api

import (
	"context"
	"net/http"

	"cmux/agents/control/personas"
)

// personas adds the routes of role files.
func (r *routes) personas() {
	const group, path, one = "personas", "/api/personas", "/api/personas/{name}"
	type PersonaIn struct {
		Name string `path:"name" maxLength:"100" doc:"Name of a role, whose file is .cmux/roles/NAME.md"`
	}
	all := func() *personas.Personas { return &personas.Personas{Rooms: r.Project.Rooms()} }
	get(r, group, path, "List the role files, by name, with the kind and model that each names and who uses it", func(_ context.Context, i *struct{ Paging }) (List[personas.Persona], error) {
		some, err := all().List()
		if err != nil {
			return List[personas.Persona]{}, err
		}
		return page(some, i.Paging, func(one *personas.Persona) string { return one.Name })
	})
	get(r, group, one, "Show a role file", func(_ context.Context, i *PersonaIn) (*personas.Persona, error) { return all().Get(i.Name) })
	add(r, http.MethodPut, group, one, "Write a role file", func(ctx context.Context, i *struct {
		PersonaIn
		Body personas.Saving
	}) (*personas.Persona, error) {
		return all().Save(ctx, i.Name, i.Body)
	})
	add(r, http.MethodDelete, group, one, "Remove a role file that no agent uses", func(ctx context.Context, i *struct {
		PersonaIn
		Sum string `query:"sum" maxLength:"100" doc:"Checksum of the file as it was seen"`
	}) (done, error) {
		err := all().Remove(ctx, i.Name, i.Sum)
		return done{err == nil}, err
	})
}
