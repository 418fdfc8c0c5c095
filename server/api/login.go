package api

import (
	"context"
	"errors"

	"cmux/agents/control/project"

	"github.com/danielgtaylor/huma/v2"

	"cmux/agents/platform/endpoint"
	"cmux/server/login"
)

// login adds the routes that let browsers in.
func (r *routes) login() {
	post(r, "login", endpoint.LinksPath, "Make a one-time link to the dashboard", func(context.Context, *in) (endpoint.Link, error) {
		path := login.Path + "?code=" + r.Keys.NewLink()
		l := endpoint.Link{URL: "http://" + r.Keys.Host(r.Place.Port) + path, Seconds: int(login.LinkLife.Seconds())}
		if r.Trusted != nil {
			for _, origin := range r.Trusted() {
				l.Others = append(l.Others, origin+path)
			}
		}
		return l, nil
	})
	post(r, "login", endpoint.LogOutPath, "End every login, this one too", func(ctx context.Context, _ *in) (done, error) {
		err := r.LogOut(ctx)
		return done{err == nil}, err
	})
	if r.LAN == nil {
		return
	}
	hidden := func(op *huma.Operation) { op.Hidden = true } // only for cmux open
	post(r, "login", endpoint.LANPath, "Listen on the local network", func(ctx context.Context, i *struct{ Body endpoint.LANAddress }) (endpoint.LAN, error) {
		if err := byToken(ctx); err != nil {
			return endpoint.LAN{}, err
		}
		return r.LAN.Open(i.Body.Address)
	}, hidden)
	// Renewing a lease is a GET: a command every few seconds would fill the audit log.
	get(r, "login", endpoint.LANPath, "Keep listening on the local network", func(ctx context.Context, i *leased) (endpoint.LAN, error) {
		if err := byToken(ctx); err != nil {
			return endpoint.LAN{}, err
		}
		lan, ok := r.LAN.Renew(i.Lease)
		if !ok {
			return lan, project.Tag(errors.New("the server no longer listens on the local network"), project.ErrMissing)
		}
		return lan, nil
	}, hidden)
	post(r, "login", endpoint.LANPath+"/close", "Stop listening on the local network", func(ctx context.Context, i *leased) (done, error) {
		if err := byToken(ctx); err != nil {
			return done{}, err
		}
		return done{r.LAN.Close(i.Lease)}, nil
	}, hidden)
}

// leased names an opening of the local network's listener.
type leased struct {
	Lease string `query:"lease" required:"true"`
}

// LAN is the listener of the local network.
type LAN interface {
	Open(address string) (endpoint.LAN, error)
	Renew(lease string) (lan endpoint.LAN, ok bool)
	Close(lease string) bool
}

// byToken refuses browsers: only a holder of the token opens the listener.
func byToken(ctx context.Context) error {
	if login.How(ctx) != login.ByToken {
		return errors.New("a browser cannot do this: call cmux open --lan")
	}
	return nil
}
