package run

import (
	"fmt"
	"testing"
)

// Requests that were made within one millisecond stand in the order in which
// they were made.
func TestPendingKeepsTheOrder(t *testing.T) {
	r := newRun(t)
	const n = 50
	for i := range n {
		if _, err := r.Ask(Request{Op: OpAnswer, Node: "a", Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := r.Pending()
	if err != nil || len(all) != n {
		t.Fatalf("%d requests, %v", len(all), err)
	}
	for i, q := range all {
		if q.Text != fmt.Sprint(i) {
			t.Errorf("in place %d stands request %s, made at %v", i, q.Text, q.At)
		}
	}
}
