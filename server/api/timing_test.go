package api_test

import (
	"net/http/httptest"
	"regexp"
	"testing"
)

// A page asks by it how often it may ask.
func TestAnswersSayWhatTheyCost(t *testing.T) {
	w := newWorld(t)
	for path, code := range map[string]int{"/api/needs": 200, "/api/needs?cursor=none": 400, "/api/agents/nobody": 409} {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8420"+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		w.gate.ServeHTTP(rec, r)
		if got := rec.Result().Header.Values("Server-Timing"); rec.Code != code || len(got) != 1 || !regexp.MustCompile(`^app;dur=\d+\.\d$`).MatchString(got[0]) {
			t.Errorf("%s: code %d, Server-Timing %q", path, rec.Code, got)
		}
	}
}
