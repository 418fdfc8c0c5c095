// Package selfsigned keeps the certificate by which a project's server speaks TLS
// on the local network.
//
// It is self-signed, so a person compares its fingerprint. It is made for one address and
// stored in a file that only its owner can read. It is made again before it expires, for
// another address, or if the file cannot be used.
package selfsigned

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"time"

	"cmux/signals"
)

const (
	// Life is the validity of a certificate. Phones accept at most 398 days.
	Life = 365 * 24 * time.Hour
	// renewal is how long before its expiry a certificate is replaced.
	renewal = 30 * 24 * time.Hour
	maxFile = 16 << 10
)

// Certificate returns the certificate in the file at path, for an address.
func Certificate(path string, addr netip.Addr, now time.Time) (tls.Certificate, error) {
	b, err := signals.ReadFile(path, maxFile)
	if err == nil {
		if c, err := tls.X509KeyPair(b, b); err == nil && good(c.Leaf, addr, now) {
			return c, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, err
	}
	if b, err = create(addr, now); err != nil {
		return tls.Certificate{}, err
	}
	if err := signals.WriteFile(path, b, 0o600); err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(b, b)
}

// good reports whether a certificate is for an address and valid for a while.
func good(c *x509.Certificate, addr netip.Addr, now time.Time) bool {
	return len(c.IPAddresses) == 1 && c.IPAddresses[0].Equal(addr.AsSlice()) && !now.Before(c.NotBefore) && now.Add(renewal).Before(c.NotAfter)
}

// create makes a key and its certificate, as PEM.
func create(addr netip.Addr, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "cmux on " + addr.String()}, IPAddresses: []net.IP{addr.AsSlice()},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(Life), // a phone's clock may be behind
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// Fingerprint is the SHA-256 of a certificate, as browsers show it.
func Fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}
