package api

import (
	"context"
	"mime"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/room"
	"cmux/server/login"
)

// attached is a file as a browser saves it: it never shows it as a page of this server.
type attached struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

// roomFiles adds the routes of attached files.
func (r *routes) roomFiles(group, path string) {
	p := r.Project
	post(r, group, path, "Upload a file, to be attached to a message within an hour", func(ctx context.Context, i *struct {
		RoomIn
		Name    string `query:"name" required:"true" minLength:"1" maxLength:"1000" doc:"Name of the file"`
		RawBody []byte `contentType:"application/octet-stream"`
	}) (*room.File, error) {
		return p.Rooms().Upload(ctx, i.Room, i.Name, i.RawBody)
	}, func(op *huma.Operation) {
		op.DefaultStatus, op.MaxBodyBytes, op.BodyReadTimeout, op.SkipValidateBody = http.StatusCreated, login.MaxUpload, time.Minute, true
	})
	op := huma.Operation{
		OperationID: operationID(http.MethodGet, path+"/{file}"), Method: http.MethodGet, Path: path + "/{file}", Summary: "Download an attached file", Tags: []string{group},
		Responses: map[string]*huma.Response{"200": {Description: "What is in the file", Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}}},
	}
	huma.Register(r.api, op, func(ctx context.Context, i *struct {
		RoomIn
		File string `path:"file" maxLength:"200" doc:"Its name in the room's folder, which the message has"`
	}) (*attached, error) {
		f, data, err := p.Rooms().File(i.Room, i.File)
		if err != nil {
			return nil, r.problem(ctx, &op, err)
		}
		return &attached{"application/octet-stream", mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}), data}, nil
	})
}
