package ledger

import (
	"bytes"
	"context"
	"encoding/json"
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

// Rewrite replaces lines of the file, durably, all of them or none, under the file's lock. f
// makes a line of an older one; nil: that one stays. The lines must fold as before, apart from
// what f takes out of them: no copy of the old file is kept. The caller has called Change before,
// so all lines count.
func (b *Book[L]) Rewrite(ctx context.Context, f func(line []byte) ([]byte, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return signals.InTurn(ctx, b.path, true, nil, func(t *signals.Turn) error {
		if err := b.catchUp(t.File()); err != nil {
			return err
		}
		whole, err := io.ReadAll(io.NewSectionReader(t.File(), 0, b.next))
		if err != nil {
			return err
		}
		var now []byte
		changed := false
		for line := range bytes.Lines(whole) {
			next, err := b.again(bytes.TrimSuffix(line, []byte("\n")), f)
			if err != nil {
				return err
			}
			if next == nil {
				next = line
			} else {
				next, changed = append(next, '\n'), true
			}
			now = append(now, next...)
		}
		if !changed {
			return nil
		}
		b.read = false
		return t.Replace(now, 0o600)
	})
}

// again is a line that f makes of an older one, sealed; nil: that one stays.
func (b *Book[L]) again(line []byte, f func([]byte) ([]byte, error)) ([]byte, error) {
	if !json.Valid(line) || !b.Verified(line) {
		return nil, nil
	}
	next, err := f(line)
	if err != nil || next == nil {
		return nil, err
	}
	return b.key.Seal(b.Place, next)
}
