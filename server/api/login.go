package api

import (
	"context"

	"cmux/agents/endpoint"
	"cmux/server/login"
)

// login is how a browser is let in.
func (r *routes) login() {
	post(r, "login", endpoint.LinksPath, "Make a one-time link to the dashboard", func(context.Context, *in) (endpoint.Link, error) {
		return endpoint.Link{URL: "http://" + r.Keys.Host(r.Place.Port) + login.Path + "?code=" + r.Keys.NewLink(), Seconds: int(login.LinkLife.Seconds())}, nil
	})
	post(r, "login", endpoint.LogOutPath, "End every login, this one too", func(ctx context.Context, _ *in) (done, error) {
		err := r.LogOut(ctx)
		return done{err == nil}, err
	})
}
