package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// knownOrder is a route that changes something, for a command palette.
type knownOrder struct {
	ID      string     `json:"id" doc:"Operation id in the OpenAPI document"`
	Method  string     `json:"method" enum:"POST,PUT,PATCH,DELETE"`
	Path    string     `json:"path"`
	Group   string     `json:"group"`
	Summary string     `json:"summary"`
	Ends    string     `json:"ends" doc:"What the command ends or removes, and what is kept; the person must confirm it. Empty: nothing"`
	Takes   []argument `json:"takes" doc:"Arguments, required ones first"`
}

// argument is an argument of a command.
type argument struct {
	Name     string   `json:"name"`
	In       string   `json:"in" enum:"path,query,body"`
	Type     string   `json:"type" enum:"string,integer,number,boolean,array,object"`
	Required bool     `json:"required"`
	Values   []string `json:"values" doc:"The values that it can have; empty: any of its type"`
	Of       string   `json:"of" enum:"string,integer,number,boolean,array,object," doc:"Type of an array's elements; empty: it is no array"`
	Fields   []string `json:"fields" doc:"Fields of an object, or of an array's objects; those that may be missing end in ?"`
	About    string   `json:"about"`
}

// ends says, for each command that ends or removes something, what that is and what is
// kept.
var ends = map[string]string{
	"DELETE /api/agents/{name}":                 "The agent is ended. Its conversation, its branch and a snapshot of what is not committed are kept.",
	"POST /api/agents/demote":                   "Every permanent worker becomes an ordinary one: it keeps its task, and is no longer kept for the next one.",
	"POST /api/agents/{name}/demote":            "The worker becomes an ordinary one: it keeps its task, and is no longer kept for the next one.",
	"POST /api/agents/{name}/merge-clone":       "What the clone committed is brought into the branch of the agent that it is a clone of, and the clone is removed.",
	"POST /api/agents/{name}/reset":             "The agent's conversation ends and is kept. A new one begins with the unfinished task.",
	"POST /api/config/apply":                    "What is in force is replaced by what the file says.",
	"PUT /api/config/file":                      "The file is replaced by the text. What is in force stays until it is applied.",
	"PUT /api/graph":                            "The file is replaced by the text. Git has only those versions of it that were committed.",
	"POST /api/locks/{name}/break":              "Whoever holds the lock loses it and is not told. Two may then use what it guards.",
	"POST /api/login/logout-all":                "Every browser is logged out, this one too, and needs a new link from cmux open.",
	"POST /api/maintenance":                     "The things are removed. What is in them is saved first: snapshots and archives say how to restore it.",
	"POST /api/organization/stop":               "Every standing agent is ended. Their conversations and unfinished tasks are kept for the next start.",
	"DELETE /api/projects/{name}":               "The project's supervisor here is ended, and what it leaves is kept. The folder is not touched.",
	"POST /api/recover/now":                     "cmux restarts what health.restart names. If the project is still not healthy, the health tree goes back to the last healthy commit, on a branch of its own. Nothing is lost.",
	"POST /api/recover/undo":                    "The health tree goes back to where the rollback found it. The rollback's branch is kept.",
	"DELETE /api/personas/{name}":               "The role file is removed. No agent uses it.",
	"DELETE /api/rooms/{room}":                  "The room is closed and its members' programs end. What was said is kept in the archives.",
	"DELETE /api/memory/notes/{id}":             "No member gets the note any more, and nothing learns it again. The messages that it came from stay in their room.",
	"DELETE /api/rooms/{room}/members/{name}":   "The member's turn is interrupted and its program ends. What it said stays in the room.",
	"POST /api/runs/{id}/nodes/{node}/override": "The node counts as done whatever its checks say, and what waits for it starts.",
	"POST /api/runs/{id}/nodes/{node}/review":   "Work that is dropped is left out of the merge, and so is what was built on it. Work that is sent back is done again. The branch is kept.",
	"POST /api/runs/{id}/nodes/{node}/stop":     "The node's agent is ended and its work is kept. What waits for it is blocked.",
	"POST /api/runs/{id}/stop":                  "The run's agents are ended, and their work is kept. The run can be resumed.",
	"POST /api/runs/{id}/update":                "The agents of nodes that the edited configuration no longer has are ended; their branches and worktrees are kept. What else it changes counts from a node's next attempt.",
	"DELETE /api/schedule/{id}":                 "The entry no longer fires. Its earlier results are kept.",
	"DELETE /api/sessions/{name}":               "The session's agents are ended. What they leave is kept.",
	"POST /api/cards/{id}/cancel":               "The agent of the card's work is told to stop. What was done is kept.",
	"POST /api/cards/{id}/done":                 "The card counts as done whatever its checks and its reviewer say, and is shown as done (override).",
	"POST /api/tasks/{id}/cancel":               "The task's agent is told to stop. What was done is kept.",
	"POST /api/tasks/{id}/done":                 "The task counts as done whatever its own result is, and is shown as done (override).",
	"POST /api/tasks/{id}/pause":                "Nobody works on the task until it is assigned again. What was done is kept.",
	"DELETE /api/teams/{name}":                  "What the team has not finished is cancelled, and its members are removed. What they leave is kept.",
}

// orders are the routes of a document that change something.
func orders(doc *huma.OpenAPI) (all []knownOrder) {
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete} {
			if op == nil || strings.HasPrefix(path, "/api/webhooks/") {
				continue // who sends a webhook is no person
			}
			o := knownOrder{ID: op.OperationID, Method: method, Path: path, Group: op.Tags[0], Summary: op.Summary, Ends: ends[method+" "+path]}
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
	for _, name := range names(s) {
		field := s.Properties[name]
		all = append(all, takes(doc, name, "body", slices.Contains(s.Required, name), field, field.Description))
	}
	return all
}

// names are those of a schema's fields, in order.
func names(s *huma.Schema) (all []string) {
	for name := range s.Properties {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func takes(doc *huma.OpenAPI, name, in string, required bool, s *huma.Schema, about string) argument {
	s = resolved(doc, s)
	a := argument{Name: name, In: in, Type: s.Type, Required: required, About: about}
	if s.Type == huma.TypeArray {
		s = resolved(doc, s.Items)
		a.Of = s.Type
	}
	for _, f := range names(s) {
		if !slices.Contains(s.Required, f) {
			f += "?"
		}
		a.Fields = append(a.Fields, f)
	}
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
