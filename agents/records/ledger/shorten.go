package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"cmux/signals"
)

// shorten replaces a long file by a shorter one without lines that no longer matter, and
// reports whether it did. It first keeps the old file beside it. The new one replaces the
// old atomically, so a power cut leaves one of them.
func (b *Book[L]) shorten(t *signals.Turn) (bool, error) {
	if b.Short == nil || b.next < max(b.Long, 2*b.tried) || len(b.bad) > 0 { // invalid lines may be those of a newer cmux
		return false, nil
	}
	lines, err := b.Short(b.Copy(b.list))
	if err != nil {
		return false, fmt.Errorf("%s cannot be shortened: %w", b.path, err)
	}
	var short []byte
	check := b.New()
	for _, line := range lines {
		if line, err = b.key.Seal(b.Place, line); err == nil {
			err = check.Take(line)
		}
		if err != nil {
			return false, fmt.Errorf("%s cannot be shortened: %w", b.path, err)
		}
		short = append(append(short, line...), '\n')
	}
	if int64(len(short)) > b.next/2 {
		b.tried = b.next
		return false, nil
	}
	whole, err := io.ReadAll(io.NewSectionReader(t.File(), 0, b.next))
	if err != nil {
		return false, err
	}
	if err := b.keep(whole); err != nil {
		return false, err
	}
	b.read, b.tried = false, 0
	return true, t.Replace(short, 0o600)
}

// keep copies the file beside it and renames the earlier copy. If a power cut or a full
// disk stopped a shortening before, the copy exists already and holds the beginning of this
// file; then keep does not rename it.
func (b *Book[L]) keep(whole []byte) error {
	if last, err := signals.ReadFile(b.path+".1", int64(len(whole))); err != nil || !bytes.HasPrefix(whole, last) {
		if err := signals.Rename(b.path+".1", filepath.Base(b.path)+".2"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return signals.WriteFile(b.path+".1", whole, 0o600)
}
