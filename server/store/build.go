package store

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"cmux/agents/platform/proc"
	"cmux/signals"
)

// A database that is made from nothing is not synced until it is complete: on a
// slow disk that takes most of the time. A kill does it no harm, a power cut may,
// so that meanwhile a file beside it names the boot that this goes for.

// buildingName is that of the file.
const buildingName = "conversations.building"

// worthBuilding is how much there is to take in for that, in bytes.
const worthBuilding = 4 << 20

// errHalf says that the machine went down while the database was made.
var errHalf = errors.New("the machine went down while it was made")

func (s *Store) building() string { return filepath.Join(filepath.Dir(s.path), buildingName) }

// builtBefore says errHalf of a database that a power cut left half made.
func (s *Store) builtBefore() error {
	boot, err := signals.ReadFile(s.building(), 1<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.half = false
		return nil
	case err != nil:
		return err
	}
	s.half = true
	if strings.TrimSpace(string(boot)) == proc.BootID() {
		return nil
	}
	if err := signals.RemoveFile(s.building()); err != nil {
		return err
	}
	return errHalf
}

// build begins to fill an empty database from the files of readers.
func (s *Store) build(ctx context.Context, q queue) error {
	size := int64(0)
	for _, r := range q {
		size += r.size - r.offset
	}
	if s.in.head > 0 || size < worthBuilding {
		return nil
	}
	if err := signals.WriteFile(s.building(), []byte(proc.BootID()+"\n"), 0o600); err != nil {
		return err
	}
	s.half = true
	_, err := s.write.ExecContext(ctx, "pragma synchronous = off")
	return err
}

// built makes a database durable that was not synced.
func (s *Store) built(ctx context.Context) error {
	if !s.half {
		return nil
	}
	if _, err := s.write.ExecContext(ctx, "pragma synchronous = normal"); err != nil {
		return err
	}
	var busy, pages, done int
	err := s.write.QueryRowContext(ctx, "pragma wal_checkpoint(truncate)").Scan(&busy, &pages, &done)
	if err != nil || busy != 0 { // somebody reads: the next time
		return err
	}
	if err := signals.RemoveFile(s.building()); err != nil {
		return err
	}
	s.half = false
	return nil
}
