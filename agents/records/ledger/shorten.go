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

// shorten puts a shorter file in the place of one that is long and says much that does
// not count any more. It reports whether it did. The file as it was is kept beside it
// first, and the new one takes its name at once, so a cut leaves either.
func (b *Book[L]) shorten(t *signals.Turn) (bool, error) {
	if b.Short == nil || b.next < max(b.Long, 2*b.tried) || len(b.bad) > 0 { // a newer cmux knows what these lines say
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

// keep puts the file as it was beside it, and what was there one further. Where a cut or
// a full disk left the file long after that, its copy is there already, and holds the
// beginning of what is kept now.
func (b *Book[L]) keep(whole []byte) error {
	if last, err := signals.ReadFile(b.path+".1", int64(len(whole))); err != nil || !bytes.HasPrefix(whole, last) {
		if err := signals.Rename(b.path+".1", filepath.Base(b.path)+".2"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return signals.WriteFile(b.path+".1", whole, 0o600)
}
