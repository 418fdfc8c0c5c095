package api

import (
	"context"

	"cmux/agents/endpoint"
)

type healthIn struct {
	Challenge string `query:"challenge" maxLength:"128" doc:"Anything; the answer then proves that the server knows the project's token"`
}

// webhooks are what other programs may send, and how they know the server.
func (r *routes) webhooks() {
	get(r, "webhooks", endpoint.HealthPath, "Say which server this is", func(_ context.Context, i *healthIn) (endpoint.Identity, error) {
		id := endpoint.Identity{API: endpoint.Healthy, Project: r.Place.Project, Instance: r.Place.Instance}
		if i.Challenge != "" {
			id.Proof = endpoint.Prove(r.Token, i.Challenge, r.Place.Port)
		}
		return id, nil
	}, open)
}
