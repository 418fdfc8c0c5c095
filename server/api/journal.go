package api

import (
	"context"
	"net/http"
	"slices"

	"cmux/agents/control"
	"cmux/agents/control/files"
	"cmux/agents/control/records"
	"cmux/agents/records/journal"
	"cmux/server/store"
)

type dayIn struct {
	Day string `path:"day" maxLength:"20" doc:"YYYY-MM-DD"`
}

// entry is an entry to be added to the journal.
type entry struct {
	Title string   `json:"title" minLength:"1" maxLength:"200"`
	Text  string   `json:"text,omitempty"`
	Tags  []string `json:"tags,omitempty" maxItems:"50"`
}

// dayOf names a page of the journal.
type dayOf struct {
	Day string `json:"day"`
}

// journal is what people and agents write down.
func (r *routes) journal() {
	const group, path = "journal", "/api/journal"
	p := r.Project
	get(r, group, path, "List the days of the journal, newest first", func(_ context.Context, i *struct{ Paging }) (List[string], error) {
		days, err := p.Records().JournalDays()
		if err != nil {
			return List[string]{}, err
		}
		slices.Reverse(days)
		return page(days, i.Paging, func(d *string) string { return *d })
	})
	get(r, group, path+"/days/{day}", "Show a day of the journal", func(_ context.Context, i *dayIn) (*journal.Page, error) {
		return p.Records().JournalDay(i.Day)
	})
	post(r, group, path+"/entry", "Add an entry, as you", func(ctx context.Context, i *struct{ Body entry }) (dayOf, error) {
		day, err := p.Records().AddEntry(ctx, journal.Entry{Title: i.Body.Title, Text: i.Body.Text, Tags: i.Body.Tags})
		return dayOf{day}, err
	})
	get(r, group, path+"/search", "Look for words in the journal and MEMORY.md", func(ctx context.Context, i *struct {
		Words string `query:"q" required:"true" minLength:"1" maxLength:"500"`
		Since string `query:"since" doc:"YYYY-MM-DD"`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}) (*journal.Found, error) {
		q := journal.Query{Words: i.Words, Since: i.Since, Most: i.Limit}
		q.Without, _ = store.Without(ctx, p.Root, q.Words) // else all files are read
		return p.Records().SearchJournal(ctx, q)
	})
	get(r, group, path+"/reflection", "Show the newest reflection and hand-off notes", func(context.Context, *in) (records.Reflection, error) {
		return p.Records().Reflection()
	})
	post(r, group, path+"/reflection", "Leave a note in today's reflection", func(ctx context.Context, i *struct {
		Body struct {
			Section string `json:"section" doc:"investigate, mistakes, ideas, research or hand-off"`
			Text    string `json:"text" minLength:"1"`
		}
	}) (dayOf, error) {
		day, err := p.Records().Reflect(ctx, i.Body.Section, i.Body.Text)
		return dayOf{day}, err
	})
}

// files are the project's own, to be looked at.
func (r *routes) files() {
	const group, path = "filesystem", "/api/filesystem"
	get(r, group, path, "List a folder of the project", func(_ context.Context, i *struct {
		Paging
		Path string `query:"path" maxLength:"4096" doc:"From the project's root; empty: that"`
	}) (List[files.FileEntry], error) {
		all, err := r.Project.Files().List(i.Path)
		if err != nil {
			return List[files.FileEntry]{}, err
		}
		return page(all, i.Paging, func(e *files.FileEntry) string { return e.Name })
	})
	get(r, group, path+"/file", "Show a file of the project, its first MB", func(_ context.Context, i *struct {
		Path string `query:"path" required:"true" minLength:"1" maxLength:"4096" doc:"From the project's root"`
	}) (*files.FileText, error) {
		return r.Project.Files().ShowFile(i.Path)
	})
}

// prefs are what a person likes to see.
func (r *routes) prefs() {
	const group, path = "prefs", "/api/prefs"
	get(r, group, path, "Show your preferences", func(context.Context, *in) (control.Prefs, error) { return r.Project.Prefs() })
	add(r, http.MethodPatch, group, path, "Change preferences; null removes one", func(_ context.Context, i *struct{ Body control.Prefs }) (control.Prefs, error) {
		return r.Project.SetPrefs(i.Body)
	})
}
