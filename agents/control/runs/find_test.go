package runs

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"schema", "api", "web", "api-tests"}
	for s, want := range map[string]string{"shema": "schema", "API": "api", "wbe": "web", "api-t": "api-tests", "sch": "schema", "deploy": "", "": ""} {
		if got := Nearest(s, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", s, got, want)
		}
	}
}
