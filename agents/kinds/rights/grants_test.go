package rights

import (
	"slices"
	"testing"
)

// What only shows is granted to somebody, and is nobody's order to steer by.
func TestShows(t *testing.T) {
	granted := Granted()
	for _, name := range shows() {
		if _, ok := granted[name]; !ok || slices.Contains(leaders(), name) || slices.Contains(persons(), name) {
			t.Errorf("cmux %s is granted %t", name, ok)
		}
	}
	for _, name := range []string{"done", "output", "report", "tasks add", "tasks cancel", "mailbox send", "mailbox tail", "locks take", "locks with", "journal add", "alert"} {
		if slices.Contains(shows(), name) {
			t.Errorf("cmux %s only shows", name)
		}
	}
}
