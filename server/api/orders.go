package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// knownOrder is a route that changes something, as a palette of commands offers it.
type knownOrder struct {
	ID      string     `json:"id" doc:"As in the document"`
	Method  string     `json:"method" enum:"POST,PUT,PATCH,DELETE"`
	Path    string     `json:"path"`
	Group   string     `json:"group"`
	Summary string     `json:"summary"`
	Takes   []argument `json:"takes" doc:"What it takes, what must be given first"`
}

// argument is something that an order takes.
type argument struct {
	Name     string   `json:"name"`
	In       string   `json:"in" enum:"path,query,body"`
	Type     string   `json:"type" enum:"string,integer,number,boolean,array,object"`
	Required bool     `json:"required"`
	Values   []string `json:"values" doc:"The values that it can have; empty: any of its type"`
	About    string   `json:"about"`
}

// orders are the routes of a document that change something.
func orders(doc *huma.OpenAPI) (all []knownOrder) {
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete} {
			if op == nil || strings.HasPrefix(path, "/api/webhooks/") {
				continue // who sends a webhook is no person
			}
			o := knownOrder{ID: op.OperationID, Method: method, Path: path, Group: op.Tags[0], Summary: op.Summary}
			for _, p := range op.Parameters {
				o.Takes = append(o.Takes, takes(doc, p.Name, p.In, p.Required, p.Schema, p.Description))
			}
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					o.Takes = append(o.Takes, fieldsOf(doc, media.Schema)...)
				}
			}
			slices.SortStableFunc(o.Takes, func(a, b argument) int {
				switch {
				case a.Required == b.Required:
					return 0
				case a.Required:
					return -1
				}
				return 1
			})
			all = append(all, o)
		}
	}
	return all
}

// fieldsOf are the fields of a body.
func fieldsOf(doc *huma.OpenAPI, s *huma.Schema) (all []argument) {
	s = resolved(doc, s)
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		field := s.Properties[name]
		all = append(all, takes(doc, name, "body", slices.Contains(s.Required, name), field, field.Description))
	}
	return all
}

func takes(doc *huma.OpenAPI, name, in string, required bool, s *huma.Schema, about string) argument {
	s = resolved(doc, s)
	a := argument{Name: name, In: in, Type: s.Type, Required: required, About: about}
	for _, v := range s.Enum {
		if text, ok := v.(string); ok && text != "" {
			a.Values = append(a.Values, text)
		}
	}
	return a
}

// resolved is a schema where the document has only its name, or where it may also be
// null.
func resolved(doc *huma.OpenAPI, s *huma.Schema) *huma.Schema {
	for s.Ref != "" || len(s.AnyOf) > 0 {
		if s.Ref != "" {
			s = doc.Components.Schemas.SchemaFromRef(s.Ref)
		} else {
			s = s.AnyOf[0]
		}
	}
	return s
}
