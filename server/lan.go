package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/charmbracelet/log"

	"cmux/agents/platform/endpoint"
	"cmux/server/login"
	"cmux/server/selfsigned"
)

// leaseLife is how long the local network's listener stays open without a renewal.
const leaseLife = 15 * time.Second

// network is the listener of the local network: closed until it is opened, at most one at a
// time, and closed with its lease.
type network struct {
	root  string
	port  int // is tried first
	now   func() time.Time
	log   *log.Logger
	lease time.Duration

	server func(gate http.Handler, open *conns) *http.Server
	inside http.Handler

	tasks sync.WaitGroup
	mu    sync.Mutex
	ended bool
	cur   *opening // nil: it is closed
}

// opening is the open listener.
type opening struct {
	id, url, fingerprint string
	pairing              *login.Pairing
	open                 *conns
	lease                *time.Timer
	end                  context.CancelFunc
	done                 chan struct{}
}

func newNetwork(root string, port int, now func() time.Time, logger *log.Logger) *network {
	return &network{root: root, port: port, now: now, log: logger, lease: leaseLife}
}

// serve sets what is served, before the first request.
func (n *network) serve(server func(http.Handler, *conns) *http.Server, inside http.Handler) {
	n.server, n.inside = server, inside
}

// Open listens at an address of this machine: a private one, or a loopback one.
func (n *network) Open(address string) (endpoint.LAN, error) {
	addr, err := netip.ParseAddr(address)
	if err != nil || !addr.IsPrivate() && !addr.IsLoopback() || addr.Zone() != "" {
		return endpoint.LAN{}, fmt.Errorf("%q is not a private address", address)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.ended:
		return endpoint.LAN{}, errors.New("the server is ending")
	case n.cur != nil:
		return endpoint.LAN{}, fmt.Errorf("the dashboard is already open on the local network, at %s, by another command", n.cur.url)
	}
	cert, err := selfsigned.Certificate(endpoint.CertificatePath(n.root), addr, n.now())
	if err != nil {
		return endpoint.LAN{}, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(n.port)))
	if err != nil {
		if l, err = net.Listen("tcp", net.JoinHostPort(address, "0")); err != nil {
			return endpoint.LAN{}, fmt.Errorf("the server cannot listen at %s: %w", address, err)
		}
	}
	host := l.Addr().String()
	ctx, end := context.WithCancel(context.Background())
	o := &opening{
		id: endpoint.NewSecret()[:16], url: "https://" + host + login.PairPath, fingerprint: selfsigned.Fingerprint(cert),
		pairing: login.NewPairing(n.now), open: newConns(l), lease: time.NewTimer(n.lease), end: end, done: make(chan struct{}),
	}
	srv := n.server(login.NewPairedGate(o.pairing, host, o.open.knowing(n.inside)), o.open)
	tlsListener := tls.NewListener(o.open, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	n.cur = o
	n.tasks.Go(func() {
		defer close(o.done)
		defer end()
		served := make(chan error, 1)
		go func() { served <- srv.Serve(tlsListener) }()
		why := "it was closed"
		select {
		case err := <-served:
			why = err.Error()
			served <- err
		case <-o.lease.C:
			why = "who opened it has gone"
		case <-ctx.Done():
		}
		o.lease.Stop()
		o.pairing.Forget()
		srv.Close()
		o.open.endAll() // those of websockets too
		<-served
		n.mu.Lock()
		defer n.mu.Unlock()
		n.cur = nil
		n.log.Info("the local network is not listened to any more", "why", why)
	})
	n.log.Info("the server listens on the local network", "at", host)
	return o.state(), nil
}

func (o *opening) state() endpoint.LAN {
	code, until, count := o.pairing.Code()
	return endpoint.LAN{Lease: o.id, URL: o.url, Fingerprint: o.fingerprint, Code: code, Until: until, Paired: count}
}

func (n *network) isOpen() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cur != nil
}

// named returns the opening with a lease; nil: it is closed. The mutex is held.
func (n *network) named(lease string) *opening {
	if n.cur == nil || n.cur.id != lease {
		return nil
	}
	return n.cur
}

// Renew extends a lease and returns the status.
func (n *network) Renew(lease string) (endpoint.LAN, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.named(lease)
	if o == nil {
		return endpoint.LAN{}, false
	}
	o.lease.Reset(n.lease)
	if o.pairing.Prune() { // the connections of expired browsers end; the others reconnect
		o.open.end(context.Background(), login.ByPairing)
	}
	return o.state(), true
}

// Close closes the opening of a lease, and reports whether it was open.
func (n *network) Close(lease string) bool {
	n.mu.Lock()
	o := n.named(lease)
	n.mu.Unlock()
	if o == nil {
		return false
	}
	o.end()
	<-o.done
	return true
}

// logOut ends the logins of paired browsers and their connections, except the one of ctx.
func (n *network) logOut(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cur != nil {
		n.cur.pairing.Forget()
		n.cur.open.end(ctx, login.ByPairing)
	}
}

// end closes it permanently, with the server.
func (n *network) end() {
	n.mu.Lock()
	n.ended = true
	if n.cur != nil {
		n.cur.end()
	}
	n.mu.Unlock()
	n.tasks.Wait()
}
