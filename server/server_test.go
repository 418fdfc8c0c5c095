package server

import (
	"net"
	"strings"
	"testing"

	"cmux/agents/endpoint"
)

// The port of the last time is taken again, as browsers know it; one that was
// fixed, or no other.
func TestListen(t *testing.T) {
	l, port, err := listen(0, 0)
	if err != nil || port < endpoint.FirstPort {
		t.Fatalf("%d, %v", port, err)
	}
	defer l.Close()
	if _, _, err := listen(port, 0); err == nil || !strings.Contains(err.Error(), "taken by another program") {
		t.Errorf("a fixed port that is taken: %v", err)
	}
	other, second, err := listen(0, port)
	if err != nil || second == port {
		t.Fatalf("%d, %v", second, err)
	}
	other.Close()
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	last := free.Addr().(*net.TCPAddr).Port
	free.Close()
	again, third, err := listen(0, last)
	if err != nil || third != last {
		t.Fatalf("%d, %v; want %d", third, err, last)
	}
	again.Close()
	if host, _, _ := net.SplitHostPort(l.Addr().String()); host != "127.0.0.1" {
		t.Errorf("it listens on %s", l.Addr())
	}
}
