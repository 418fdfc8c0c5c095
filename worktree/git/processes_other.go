//go:build !linux

package git

import "errors"

// ProcessesIn knows nothing here: without /proc it would take lsof, seconds
// for each removal. Who removes a tree holds its node's lock.
func ProcessesIn(string) ([]string, error) { return nil, nil }

// lockHolders cannot tell here: the lock stays, and a person is asked.
func lockHolders(string, []string) ([]string, error) {
	return nil, errors.ErrUnsupported
}
