package login

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// What another program of the server's machine, or another one of the network, has
// of a paired browser's cookie lets it in nowhere.
func TestPairedSessionsAreOfOneAddress(t *testing.T) {
	p := NewPairing(time.Now)
	r := httptest.NewRequest("POST", "https://192.168.1.5:8420/pair", nil)
	r.RemoteAddr = "192.168.1.7:5000"
	code, _, _ := p.Code()
	cookie := p.trade(r, code)
	if cookie == nil || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Fatalf("%v", cookie)
	}
	for from, want := range map[string]bool{"192.168.1.7:6000": true, "192.168.1.5:6000": false, "192.168.1.70:6000": false, "127.0.0.1:1": false} {
		r := httptest.NewRequest("GET", "https://192.168.1.5:8420/", nil)
		r.RemoteAddr = from
		r.AddCookie(cookie)
		if p.hasSession(r) != want {
			t.Errorf("from %s it counts: %t", from, !want)
		}
	}
	for range 100 {
		if c := newCode(); len(c) != 8 || strings.Trim(c, letters) != "" {
			t.Errorf("the code is %q", c)
		}
	}
}
