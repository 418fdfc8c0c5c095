// Package testall marks tests that are too dear for every run: they start many real
// programs, or repeat for more inputs what a test beside them shows for one. `make
// test` leaves them out, `make test-all` runs them.
package testall

import "testing"

// Only skips the test in `make test`, which is go test -short.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}
