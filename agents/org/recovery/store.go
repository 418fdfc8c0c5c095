package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"cmux/agents/platform/seal"
	"cmux/agents/records/ledger"
	"cmux/signals"
)

// Names in the folder .cmux.
const (
	File     = "health.json"
	TreeName = "health" // cmux's own worktree
	lockName = "health.lock"
	place    = "health"
)

// ErrForeign says that the file was not written by this person's cmux.
var ErrForeign = errors.New("the file was not written by cmux with your key, so cmux does not use it; remove the file to start afresh")

// Store is the state of a project's health on disk.
type Store struct{ Root string }

func (s Store) path() string { return filepath.Join(s.Root, signals.Folder, File) }

// Load reads the state. Without a file it is a new one.
func (s Store) Load() (*State, error) {
	b, err := signals.ReadFile(s.path(), 8<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return new(State), nil
	}
	if err != nil {
		return nil, err
	}
	key, err := seal.Find()
	if err != nil {
		return nil, err
	}
	state := new(State)
	if key.Derive(place, s.Root).Open(place, b) != nil || json.Unmarshal(b, state) != nil {
		return nil, fmt.Errorf("%s: %w", s.path(), ErrForeign)
	}
	return state, nil
}

// Save replaces the file, durably.
func (s Store) Save(state *State) error {
	if err := signals.Init(s.Root); err != nil {
		return err
	}
	key, err := seal.Own()
	if err != nil {
		return err
	}
	b, err := ledger.Encode(state)
	if err != nil {
		return err
	}
	if b, err = key.Derive(place, s.Root).Seal(place, b); err != nil {
		return err
	}
	return signals.WriteFile(s.path(), append(b, '\n'), 0o600)
}

// Hold takes the state for who is to change it: one process at a time. It waits for
// the one before for as long as ctx lasts.
func (s Store) Hold(ctx context.Context) (release func() error, err error) {
	if err := signals.Init(s.Root); err != nil {
		return nil, err
	}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		lock, err := signals.TryLock(filepath.Join(s.Root, signals.Folder, lockName))
		var held *signals.HeldError
		if err == nil {
			return lock.Unlock, nil
		}
		if !errors.As(err, &held) {
			return nil, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the health of the project is being looked at: %w", err)
		}
	}
}
