package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control"
	"cmux/agents/control/memory"
	"cmux/agents/records/note"
)

type NoteIn struct {
	ID string `path:"id" maxLength:"20" doc:"Id of a note, such as n1"`
}

// newNote is a note that the person writes.
type newNote struct {
	Text  string     `json:"text" minLength:"1" maxLength:"2000" doc:"At most 300 characters"`
	Kind  note.Kind  `json:"kind"`
	About note.About `json:"about,omitzero"`
}

// changedNote is what of a note changes.
type changedNote struct {
	memory.Change
	Pinned *bool `json:"pinned,omitempty" doc:"Members of every room get it"`
}

// learning says from what is learned.
type learning struct {
	memory.Options
	Room string `json:"room" minLength:"1" maxLength:"100"`
}

// memory adds the routes of notes.
func (r *routes) memory() {
	const group, path = "memory", "/api/memory/notes"
	const one = path + "/{id}"
	p := func() *memory.Memory { return control.Memory(r.Project) }
	notes := func(all *memory.Notes, err error, paging Paging) (List[note.Note], error) {
		if err != nil {
			return List[note.Note]{}, err
		}
		values := make([]note.Note, len(all.Notes))
		for i, n := range all.Notes {
			values[i] = *n
		}
		return page(values, paging, func(n *note.Note) string { return n.ID })
	}
	get(r, group, path, "List the notes of rooms: the pinned ones, then the newest", func(_ context.Context, i *struct{ Paging }) (List[note.Note], error) {
		all, err := p().List()
		return notes(all, err, i.Paging)
	})
	post(r, group, path, "Write a note", func(ctx context.Context, i *struct{ Body newNote }) (*note.Note, error) {
		return p().Add(ctx, note.Fields{Text: i.Body.Text, Kind: i.Body.Kind, About: i.Body.About})
	}, func(op *huma.Operation) { op.DefaultStatus = http.StatusCreated })
	get(r, group, one, "Show a note: where it comes from, and which turns got it", func(_ context.Context, i *NoteIn) (*memory.Why, error) {
		return p().Why(i.ID)
	})
	add(r, http.MethodPatch, group, one, "Change a note, or pin it", func(ctx context.Context, i *struct {
		NoteIn
		Body changedNote
	}) (*note.Note, error) {
		n, err := p().Edit(ctx, i.ID, i.Body.Change)
		if err != nil || i.Body.Pinned == nil {
			return n, err
		}
		return p().Pin(ctx, i.ID, *i.Body.Pinned)
	})
	add(r, http.MethodDelete, group, one, "Forget a note for ever", func(ctx context.Context, i *struct {
		NoteIn
		Erase bool `query:"erase" doc:"Take its text out of the file, too"`
	}) (*note.Note, error) {
		return p().Forget(ctx, i.ID, i.Erase)
	})
	post(r, group, one+"/promote", "Move a note into MEMORY.md", func(ctx context.Context, i *NoteIn) (*note.Note, error) {
		return p().Promote(ctx, i.ID)
	})
	get(r, group, "/api/memory/search", "Find notes by their words, the best first", func(_ context.Context, i *struct {
		Paging
		Words string `query:"q" required:"true" minLength:"1" maxLength:"500"`
	}) (List[note.Note], error) {
		all, err := p().Search(i.Words)
		return notes(all, err, i.Paging)
	})
	get(r, group, "/api/memory/learn", "List the rooms that nobody has learned from, with the tokens that this uses", func(_ context.Context, i *struct {
		Room string `query:"room" maxLength:"100" doc:"Only this room"`
	}) (List[memory.Due], error) {
		all, err := p().Due(i.Room)
		return List[memory.Due]{Items: all}, err
	})
	post(r, group, "/api/memory/learn", "Make notes of what a room said", func(ctx context.Context, i *struct{ Body learning }) (*memory.Learned, error) {
		return p().Learn(ctx, i.Body.Room, i.Body.Options)
	})
}
