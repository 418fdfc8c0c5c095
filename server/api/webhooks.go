package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/control/letters"
	"cmux/agents/platform/endpoint"
	"cmux/server/login"
)

type healthIn struct {
	Challenge string `query:"challenge" maxLength:"128" doc:"Anything; the answer then proves that the server knows the project's token"`
}

type SourceIn struct {
	Source string `path:"source" pattern:"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,49}$" doc:"Who sends webhooks, such as ci"`
}

// webhookIn is a webhook as the Standard Webhooks say.
type webhookIn struct {
	SourceIn
	ID        string `header:"webhook-id" required:"true" minLength:"1" maxLength:"200" doc:"The same when it is sent again"`
	Timestamp string `header:"webhook-timestamp" required:"true" maxLength:"20" doc:"When it was signed, in seconds since 1970"`
	Signature string `header:"webhook-signature" required:"true" maxLength:"2000" doc:"v1, and the HMAC-SHA256 of ID.TIMESTAMP.BODY in base64; several are separated by spaces"`
	RawBody   []byte `contentType:"application/json"`
}

// webhookSecret is the secret for a source of webhooks.
type webhookSecret struct {
	URL    string `json:"url"`
	Secret string `json:"secret" doc:"As the Standard Webhooks have it: whsec_ and base64"`
}

// webhooks adds the routes for other programs.
func (r *routes) webhooks() {
	const group, path = "webhooks", "/api/webhooks"
	get(r, group, endpoint.HealthPath, "Identify the server", func(_ context.Context, i *healthIn) (endpoint.Identity, error) {
		id := endpoint.Identity{API: endpoint.Healthy, Project: r.Place.Project, Instance: r.Place.Instance}
		if i.Challenge != "" {
			id.Proof = endpoint.Prove(r.Token, i.Challenge, r.Place.Port)
		}
		return id, nil
	}, open)
	get(r, group, path+"/{source}/secret", "Show the secret with which a source signs its webhooks", func(_ context.Context, i *SourceIn) (webhookSecret, error) {
		return webhookSecret{r.Place.URL() + path + "/" + i.Source, r.Keys.WebhookSecret(i.Source)}, nil
	})
	post(r, group, path+"/{source}", "Receive a signed webhook and send it to the supervisor as a message", func(ctx context.Context, i *webhookIn) (letters.Sent, error) {
		err := r.Keys.CheckWebhook(i.Source, i.ID, i.Timestamp, i.Signature, i.RawBody)
		if errors.Is(err, login.ErrOld) || errors.Is(err, login.ErrSignature) {
			return letters.Sent{}, huma.NewError(http.StatusUnauthorized, err.Error())
		}
		return r.Project.Letters().TakeWebhook(ctx, letters.Webhook{Source: i.Source, ID: i.ID, Event: eventOf(i.RawBody), Body: strings.ToValidUTF8(string(i.RawBody), "\ufffd")})
	}, open, func(op *huma.Operation) { op.SkipValidateBody = true }) // any body is text for the supervisor
}

// maxEvent bounds the event name of a webhook in a subject.
const maxEvent = 100

// eventOf returns the event that a webhook names, as one line; empty: none.
func eventOf(body []byte) string {
	var said struct{ Type, Event, Action string }
	_ = json.Unmarshal(body, &said)
	for _, s := range []string{said.Type, said.Event, said.Action} {
		s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
		if s != "" {
			return strings.ToValidUTF8(s[:min(len(s), maxEvent)], "")
		}
	}
	return ""
}
