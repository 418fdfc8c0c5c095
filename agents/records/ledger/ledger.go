// Package ledger keeps an authoritative file in .cmux: one change a line, each with the
// code of the person's key.
//
// The caller gives the lines their meaning: a List folds them, one after the other. A Book
// reads what is new in its file, and appends changes that were decided on the newest list,
// under the file's lock. So of two writers, the second builds on the first. A line without
// a code, or a copy that the list refuses, does not count and is reported. Before the next
// change, the Book saves a copy of such a file and keeps only the valid lines. It also
// keeps a line with a valid code that the list refuses for another reason: a newer cmux may
// have written it. A last line without its end, after a kill, is ignored.
//
// A Book shortens a long file before a change if its format can: to the few lines that fold
// to the same list. The old file is kept as .1, and the one before as .2; older ones are
// not kept.
package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cmux/agents/platform/harmless"
	"cmux/agents/platform/seal"
	"cmux/signals"
)

// ErrForeign means that no line of the file counts: it was written with another key, or by
// somebody else.
var ErrForeign = errors.New("no line of it was written by cmux with your key, so nothing in it counts and nothing is added: put the key back that it was written with, or move the file away")

// ErrCopy is the error of a list for a line that it already has.
var ErrCopy = errors.New("copy of an older change")

// Bad is a line that does not count.
type Bad struct {
	File string `json:"-"` // name of the file
	At   int64  `json:"at"`
	Why  string `json:"why"`
	Text string `json:"text"` // its beginning

	ours bool // it has the code and stays in the file
}

func (b *Bad) String() string {
	return fmt.Sprintf("%s, offset %d: %s: %q", b.File, b.At, b.Why, b.Text)
}

// List is the result of a file's lines.
type List interface {
	Take(line []byte) error    // fold a valid line, or return why it does not count
	Skip(bad Bad, line []byte) // record a line that does not count
}

// Format is how a file is read and written.
type Format[L List] struct {
	Name  string // of the file in the folder .cmux, without .jsonl
	Place string // context of its lines' codes
	New   func() L
	Copy  func(L) L // an independent copy of a list
	// Short returns lines that fold to the same list, and to one that refuses a copy of any
	// earlier line as this list does; nil: the file is never shortened.
	Short func(L) ([][]byte, error)
}

// long is the size at which a file is shortened.
const long = 256 << 10

// Book is such a file of a project. It is safe for concurrent use, and several processes
// may each have one.
type Book[L List] struct {
	Format[L]
	path string
	key  *seal.Key

	mu   sync.Mutex
	read bool // list is valid
	list L
	bad  []Bad
	good bool   // at least one line counts
	file uint64 // inode of the file that was read
	next int64  // offset up to which it was read
	last []byte // the line before next

	Long  int64 // size at which the file is shortened; set before the first Change
	tried int64 // its size when shortening did not help

	opened func() // for tests: called after the file was opened and before it is read
}

// Open opens the book of the project at root; the file need not exist. write: create the
// person's key if there is none.
func Open[L List](root string, f Format[L], write bool) (*Book[L], error) {
	find := seal.Find
	if write {
		find = seal.Own
	}
	key, err := find()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if write {
		if err := signals.Init(root); err != nil {
			return nil, err
		}
	}
	b := &Book[L]{Format: f, Long: long, path: filepath.Join(root, signals.Folder, f.Name+".jsonl")}
	if key != nil {
		b.key = key.Derive(f.Name, root)
	}
	return b, nil
}

// Path returns the path of the file.
func (b *Book[L]) Path() string { return b.path }

// List returns the list as the file is now.
func (b *Book[L]) List() (none L, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for try := 1; ; try++ {
		f, err := signals.Open(b.path)
		if errors.Is(err, fs.ErrNotExist) {
			b.read = false
			return b.New(), nil
		}
		if err != nil {
			return none, fmt.Errorf("%s: %w", b.Name, err)
		}
		if b.opened != nil {
			b.opened()
		}
		err = errors.Join(b.catchUp(f), f.Close())
		if errors.Is(err, signals.ErrLogGone) && try < 10 {
			continue // another process replaced the file
		}
		if err != nil {
			return none, err
		}
		return b.Copy(b.list), nil
	}
}

// catchUp folds what is new in the open file, or the whole file if it is another one than
// before.
func (b *Book[L]) catchUp(f *os.File) error {
	id, err := signals.Identify(f)
	if err != nil {
		return err
	}
	if !b.read || b.file != id.Inode || id.Size < b.next || !b.goesOn(f) {
		b.list, b.bad, b.good, b.file, b.next, b.last = b.New(), nil, false, id.Inode, 0, nil
	}
	tail, err := signals.ReadOpen(f, b.next, func(line []byte, next int64) error {
		if err := b.take(line); err != nil {
			bad := Bad{filepath.Base(b.path), next - int64(len(line)) - 1, err.Error(), strings.ToValidUTF8(string(line[:min(len(line), 80)]), "\ufffd"), false}
			if b.Verified(line) {
				bad.ours, b.good = !errors.Is(err, ErrCopy), true
			}
			b.bad = append(b.bad, bad)
			b.list.Skip(bad, line)
		} else {
			b.good = true
		}
		b.last = append(b.last[:0], line...)
		return nil
	})
	b.read = err == nil && (b.good || len(b.bad) == 0)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	b.next = tail.Next
	if !b.read {
		return fmt.Errorf("%s: %w", b.path, ErrForeign)
	}
	return nil
}

// goesOn reports whether the line before the offset is still the one that was read.
func (b *Book[L]) goesOn(f io.ReaderAt) bool {
	if b.next == 0 {
		return true
	}
	line := make([]byte, len(b.last)+1)
	_, err := f.ReadAt(line, b.next-int64(len(line)))
	return err == nil && bytes.Equal(line[:len(line)-1], b.last)
}

// Verified reports whether this person's cmux wrote a line of the file.
func (b *Book[L]) Verified(line []byte) bool {
	return b.key != nil && b.key.Open(b.Place, line) == nil
}

func (b *Book[L]) take(line []byte) error {
	switch {
	case !json.Valid(line):
		return errors.New("not JSON")
	case !b.Verified(line):
		return errors.New("not written by this person's cmux")
	}
	return b.list.Take(line)
}

// Change writes the lines that f makes of the current list, durably, all of them or none. f
// gets a copy of the list and changes it. Change returns that list, and the name of the
// saved file if the old one held lines that do not count; empty: it held none.
func (b *Book[L]) Change(ctx context.Context, f func(L) (lines [][]byte, err error)) (list L, aside string, err error) {
	var none L
	b.mu.Lock()
	defer b.mu.Unlock()
	for again := true; again; { // after the file was replaced
		again = false
		err = signals.InTurn(ctx, b.path, true, nil, func(t *signals.Turn) error {
			if err := b.catchUp(t.File()); err != nil {
				return err
			}
			if err := b.complete(t); err != nil {
				return err
			}
			if slices.ContainsFunc(b.bad, func(bad Bad) bool { return !bad.ours }) {
				again = true
				aside, err = b.repair(t)
				return err
			}
			if again, err = b.shorten(t); again || err != nil {
				return err
			}
			list = b.Copy(b.list)
			lines, err := f(list)
			if err != nil || len(lines) == 0 {
				return err
			}
			for i := range lines {
				if lines[i], err = b.key.Seal(b.Place, lines[i]); err != nil {
					return err
				}
			}
			return t.Append(lines...)
		})
		if err != nil {
			return none, aside, err
		}
	}
	return list, aside, nil
}

// complete ends a last line that only lacks its newline. The line will count, so the next
// decision must include it.
func (b *Book[L]) complete(t *signals.Turn) error {
	rest, err := io.ReadAll(io.NewSectionReader(t.File(), b.next, 1<<30))
	if err != nil || len(rest) == 0 || !b.Verified(rest) {
		return err
	}
	if err := t.Append(); err != nil {
		return err
	}
	return b.catchUp(t.File())
}

// Mark returns a name for v: always the same for equal values, and not predictable without
// the key.
func (b *Book[L]) Mark(v any) (string, error) {
	line, err := Encode(v)
	if err == nil {
		line, err = b.key.Seal(b.Place, line)
	}
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:12]), err
}

// Encode returns a change as a line.
func Encode(change any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(change); err != nil {
		return nil, err
	}
	return harmless.JSON(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}

// repair saves the file aside and keeps the lines that count.
func (b *Book[L]) repair(t *signals.Turn) (aside string, err error) {
	info, err := t.File().Stat()
	if err != nil {
		return "", err
	}
	whole := make([]byte, info.Size())
	if _, err := t.File().ReadAt(whole, 0); err != nil && err != io.EOF {
		return "", err
	}
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.damaged-%d", filepath.Base(b.path), n)
		if _, err := signals.Type(filepath.Join(filepath.Dir(b.path), aside)); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
	}
	if err := signals.WriteFile(filepath.Join(filepath.Dir(b.path), aside), whole, 0o600); err != nil {
		return "", err
	}
	var kept []byte
	bad := b.bad
	at := int64(0)
	for line := range bytes.Lines(whole) {
		if len(bad) > 0 && bad[0].At == at {
			if bad[0].ours {
				kept = append(kept, line...)
			}
			bad = bad[1:]
		} else if bytes.HasSuffix(line, []byte("\n")) { // a torn line
			kept = append(kept, line...)
		}
		at += int64(len(line))
	}
	b.read = false
	if err := t.Replace(kept, 0o600); err != nil {
		return "", err
	}
	return aside, nil
}

// PastBad is the highest number of an id, so far most, when a line that does not count may hold
// higher ones, which are not to be given again. id finds them; a damaged one does not use up
// the numbers.
func PastBad(most int, id *regexp.Regexp, line []byte) int {
	for _, m := range id.FindAllSubmatch(line, 4) {
		n, _ := strconv.Atoi(string(m[1]))
		most = max(most, min(n, most+1000))
	}
	return most
}
