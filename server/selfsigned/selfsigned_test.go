package selfsigned

import (
	"crypto/x509"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lan.pem")
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	addr := netip.MustParseAddr("192.168.1.5")
	get := func() string {
		t.Helper()
		c, err := Certificate(path, addr, now)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(c.Leaf)
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: addr.String(), Roots: roots, CurrentTime: now}); err != nil {
			t.Error(err)
		}
		if err := c.Leaf.VerifyHostname("192.168.1.6"); err == nil {
			t.Error("it is for other addresses as well")
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", info.Mode(), err)
		}
		return Fingerprint(c)
	}
	first := get()
	if len(first) != 32*3-1 {
		t.Errorf("the fingerprint is %q", first)
	}
	now = now.Add(Life - renewal - time.Minute)
	if get() != first {
		t.Error("it was made twice")
	}
	now = now.Add(2 * time.Minute)
	renewed := get()
	if renewed == first {
		t.Error("it is not renewed before it ends")
	}
	addr = netip.MustParseAddr("10.0.0.1")
	moved := get()
	if moved == renewed {
		t.Error("another address has the same")
	}
	if err := os.WriteFile(path, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if get() == moved {
		t.Error("a file without a key gave one")
	}
}
