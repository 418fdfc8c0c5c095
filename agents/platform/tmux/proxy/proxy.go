// Package proxy relays a tmux control client to its server.
//
// A server before tmux 3.7 crashes, with everything that runs in it, if it notifies control
// clients while one of them has sent its flags but not yet the end of its identification,
// or if that client then leaves (tmux/tmux#4980, #5004). The client sends the two in
// several writes, and the server does other things in between. The proxy sends them in one
// write. It is for every version: a server can be older than the installed tmux.
//
// A client cannot change its connection, so the proxy stays. While its process is stopped,
// as by SIGSTOP, kill-server closes all panes but the server waits for the client.
package proxy

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Proxy relays one client to a server.
type Proxy struct {
	// Socket is the path that the client connects to. The client must not start a server,
	// which would listen there.
	Socket string

	listen *net.UnixListener
	server *net.UnixConn
}

// Open connects to the server at a socket and listens for the client in the first usable
// one of some folders. Whoever connects there first commands the server, so the folders
// must be ones that only programs trusted with the server can reach. Open returns nil if no
// server listens or no folder is usable. The client then connects to the server itself.
func Open(server string, folders ...string) *Proxy {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil // parseHeader expects little-endian messages
	}
	p := &Proxy{}
	var err error
	if p.server, err = dial(server); err != nil {
		return nil
	}
	for _, folder := range folders {
		if !private(folder) {
			continue
		}
		p.Socket = filepath.Join(folder, "cmux-"+rand.Text()[:8])
		// The path can be too long: systems allow about 100 bytes.
		if p.listen, err = net.ListenUnix("unix", &net.UnixAddr{Name: p.Socket, Net: "unix"}); err == nil {
			return p
		}
	}
	p.server.Close()
	return nil
}

// private reports whether only this user can use what is in a folder. It makes the folder
// if it is missing, as tmux does.
func private(folder string) bool {
	_ = os.Mkdir(folder, 0o700)
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// dial connects to a server. Like tmux itself it waits while the server's queue of
// connections is full, but not forever.
func dial(socket string) (*net.UnixConn, error) {
	const tries = 100
	for i := 1; ; i++ {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
		if i == tries || !errors.Is(err, unix.EAGAIN) {
			return c, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Close ends the proxy and with it the client's connection. It may be called again.
func (p *Proxy) Close() {
	p.listen.Close() // removes the socket
	p.server.Close()
}

// Relay accepts one client and relays it until one side ends the connection or stop is
// closed, which says that the client has ended.
func (p *Proxy) Relay(stop <-chan struct{}) {
	over := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-stop:
		case <-over:
		}
		p.Close()
	})
	if client, err := p.listen.AcceptUnix(); err == nil {
		p.listen.Close()
		wait.Go(func() {
			relay(client, p.server, new(identification))
			p.server.Close()
		})
		relay(p.server, client, nil)
		client.Close()
	}
	close(over)
	wait.Wait()
}

// relay copies messages and file descriptors until either side ends the connection.
func relay(from, to *net.UnixConn, id *identification) {
	defer id.close()
	buf := make([]byte, maxMessage)
	rights := make([]byte, unix.CmsgSpace(16*4)) // tmux sends one descriptor at a time
	for {
		n, rn, _, _, err := from.ReadMsgUnix(buf, rights)
		if err != nil || n == 0 {
			return
		}
		for _, w := range id.take(buf[:n], descriptors(rights[:rn])) {
			if err == nil {
				err = w.send(to)
			}
			w.close()
		}
		if err != nil {
			return
		}
	}
}

// send sends w as one message of the socket, which the other side can read as a whole.
func (w write) send(to *net.UnixConn) error {
	sent := 0
	if len(w.fds) > 0 {
		var err error
		if sent, _, err = to.WriteMsgUnix(w.data, unix.UnixRights(w.fds...), nil); err != nil {
			return err
		}
	}
	if sent == len(w.data) {
		return nil
	}
	_, err := to.Write(w.data[sent:])
	return err
}

// close closes this process's copies of the file descriptors.
func (w write) close() {
	for _, fd := range w.fds {
		unix.Close(fd)
	}
}

// close closes the file descriptors that were not sent.
func (id *identification) close() {
	if id != nil {
		write{fds: id.fds}.close()
		id.last.close()
	}
}

// descriptors returns the file descriptors in control messages. Package net has set their
// close-on-exec flag.
func descriptors(rights []byte) (fds []int) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for i := range messages {
		if got, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, got...)
		}
	}
	return fds
}
