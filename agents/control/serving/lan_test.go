package serving

import (
	"cmux/worktree/hint"
	"errors"
	"net"
	"strings"
	"testing"
)

func TestChooseAddress(t *testing.T) {
	for _, c := range []struct{ all, asked, want, wrong string }{
		{"127.0.0.1/8 192.168.1.5/24 203.0.113.4/24", "", "192.168.1.5", ""},
		{"127.0.0.1/8 fd00::5/64 fe80::1/64", "", "fd00::5", ""},
		{"192.168.1.5/24 10.0.0.2/8", "", "", "several private addresses: 10.0.0.2, 192.168.1.5"},
		{"192.168.1.5/24 10.0.0.2/8", "192.168.1.5", "192.168.1.5", ""},
		{"127.0.0.1/8 192.168.1.5/24", "127.0.0.1", "127.0.0.1", ""},
		{"127.0.0.1/8 203.0.113.4/24", "", "", "no private address"},
		{"203.0.113.4/24 10.0.0.2/8", "203.0.113.4", "", "no private address of this machine: it has 10.0.0.2"},
		{"10.0.0.2/8", "0.0.0.0", "", "no private address of this machine"},
		{"10.0.0.2/8", "10.0.0.3", "", "no private address of this machine"},
	} {
		var all []net.Addr
		for text := range strings.FieldsSeq(c.all) {
			ip, n, err := net.ParseCIDR(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		got, err := chooseAddress(all, c.asked)
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s, asked for %q: %q %v", c.all, c.asked, got, err)
		}
		// The way out of several addresses names one of them, which is then taken.
		var hint *hint.Error
		if errors.As(err, &hint) {
			_, named, _ := strings.Cut(hint.Try, "--address ")
			if got, err := chooseAddress(all, named); err != nil || got != named {
				t.Errorf("%s leads to %q %v", hint.Try, got, err)
			}
		}
	}
}
