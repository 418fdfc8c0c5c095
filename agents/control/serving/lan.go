package serving

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"cmux/agents/control/project"
	"cmux/agents/platform/endpoint"
	"cmux/worktree/hint"
)

// LAN is the server's listener on the local network, which is there for as long as
// it is renewed.
type LAN struct {
	endpoint.LAN
	client *endpoint.Client
}

// OpenLAN has the server listen on the local network, at an address; empty: the
// only private one of this machine.
func (p *Serving) OpenLAN(ctx context.Context, address string) (*LAN, error) {
	if _, err := p.Running(); err != nil && !endpoint.Lives(p.Root) {
		return nil, orOnDemand(err, " --lan")
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	address, err = chooseAddress(all, address)
	if err != nil {
		return nil, err
	}
	c, err := p.dialServer(ctx)
	if err != nil {
		return nil, err
	}
	l := &LAN{client: c}
	if err := c.Post(ctx, endpoint.LANPath, endpoint.LANAddress{Address: address}, &l.LAN); err != nil {
		c.Close()
		return nil, err
	}
	return l, nil
}

// Renew keeps it open, and learns how it stands.
func (l *LAN) Renew(ctx context.Context) error {
	return l.client.Get(ctx, endpoint.LANPath+"?lease="+url.QueryEscape(l.Lease), &l.LAN)
}

// Close closes it.
func (l *LAN) Close(ctx context.Context) error {
	defer l.client.Close()
	var out struct{ Done bool }
	return l.client.Post(ctx, endpoint.LANPath+"/close?lease="+url.QueryEscape(l.Lease), nil, &out)
}

// chooseAddress is the address of this machine that was asked for, or the only
// private one. Loopback is none that is chosen, but one that can be asked for.
func chooseAddress(all []net.Addr, asked string) (string, error) {
	var private, mine []string
	for _, a := range all {
		prefix, err := netip.ParsePrefix(a.String())
		if err != nil {
			continue
		}
		switch addr := prefix.Addr().Unmap(); {
		case addr.IsPrivate():
			private = append(private, addr.String())
		case addr.IsLoopback():
			mine = append(mine, addr.String())
		}
	}
	slices.Sort(private)
	private = slices.Compact(private)
	has := "it has none"
	if len(private) > 0 {
		has = "it has " + strings.Join(private, ", ")
	}
	switch {
	case asked != "":
		if !slices.Contains(private, asked) && !slices.Contains(mine, asked) {
			return "", project.Usage("", "%.100s is no private address of this machine: %s", asked, has)
		}
		return asked, nil
	case len(private) == 0:
		return "", fmt.Errorf("this machine has no private address: is it connected to a local network?")
	case len(private) > 1:
		return "", hint.New(fmt.Errorf("this machine has several private addresses: %s", strings.Join(private, ", ")), "cmux open --lan --address "+private[0])
	}
	return private[0], nil
}
