package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cmux/signals"
)

// Names of the files, in the folder .cmux.
const (
	Name       = "mailbox"
	Deliveries = "mailbox.deliveries"
)

// Sealer makes and checks the codes that mark lines written by cmux.
type Sealer interface {
	Seal(place string, object []byte) ([]byte, error)
	Open(place string, object []byte) error
}

// Box is the mailbox of a project. It opens its files on demand; it may be kept, copied and
// used by several goroutines.
type Box struct {
	Dir string // .cmux of the project

	// Key makes and checks the codes of lines. Nil: no line can be verified.
	Key Sealer

	// Plain escapes a line of JSON so that cat can show it safely, without changing its
	// value. May be nil.
	Plain func([]byte) []byte

	// Lazy: appended lines survive the end of this process, but not a power cut.
	Lazy bool

	// Full is the size in bytes at which the file is set aside and the next line begins a
	// new one; 0: 32 MB.
	Full int64
}

const full = 32 << 20

// Path returns the file to which new messages are appended.
func (b *Box) Path() string { return filepath.Join(b.Dir, Name) }

// place returns the context of a line's code: the name of its file, not its offset. The id
// of the line reveals a copy.
func place(file string) string { return "line of " + file }

// Append writes messages. vouched: the sender is known, so the lines get a code and count
// as verified.
func (b *Box) Append(ctx context.Context, vouched bool, all ...Message) error {
	lines := make([][]byte, 0, len(all))
	for i := range all {
		m := &all[i]
		if m.Status == "" {
			m.Status = Submitted
		}
		if err := m.Check(); err != nil {
			return fmt.Errorf("message %s to %s: %w", m.ID, m.To, err)
		}
		line, err := b.line(Name, m, vouched)
		if err != nil {
			return err
		}
		if _, err := Parse(line); err != nil { // it must be readable again
			return fmt.Errorf("message %s to %s: %w", m.ID, m.To, err)
		}
		lines = append(lines, line)
	}
	return b.write(ctx, Name, lines)
}

// Record writes the results of deliveries.
func (b *Box) Record(ctx context.Context, all ...Delivery) error {
	lines := make([][]byte, 0, len(all))
	for i := range all {
		if err := all[i].check(); err != nil {
			return fmt.Errorf("delivery of %s to %s: %w", all[i].ID, all[i].To, err)
		}
		line, err := b.line(Deliveries, &all[i], true)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	return b.write(ctx, Deliveries, lines)
}

func (b *Box) line(file string, v any, vouched bool) ([]byte, error) {
	line, err := encode(v)
	if err != nil {
		return nil, err
	}
	if b.Plain != nil {
		line = b.Plain(line)
	}
	if vouched && b.Key != nil {
		return b.Key.Seal(place(file), line)
	}
	return line, nil
}

// write appends lines, and first sets a full file aside.
func (b *Box) write(ctx context.Context, file string, lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	most := b.Full
	if most == 0 {
		most = full
	}
	again := true
	for again {
		again = false
		err := signals.InTurn(ctx, filepath.Join(b.Dir, file), !b.Lazy, nil, func(t *signals.Turn) error {
			info, err := t.File().Stat()
			if err != nil {
				return err
			}
			if info.Size() < most {
				return t.Append(lines...)
			}
			again = true
			old, err := b.aside(file)
			if err != nil {
				return err
			}
			next := 1
			if len(old) > 0 {
				next = number(file, old[len(old)-1]) + 1
			}
			// A torn line ends in the file that holds it.
			if err := t.Append(); err != nil {
				return err
			}
			return t.SetAside(fmt.Sprintf("%s.%06d", file, next))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// number returns the number of a file that was set aside; 0: the name is not one.
func number(file, name string) int {
	digits, ok := strings.CutPrefix(name, file+".")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || len(digits) < 6 || n < 1 || digits[0] == '+' {
		return 0
	}
	return n
}

// aside returns the names of the files that were set aside, oldest first.
func (b *Box) aside(file string) (names []string, err error) {
	entries, err := signals.ReadDir(b.Dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if number(file, e.Name()) > 0 {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(x, y string) int { return number(file, x) - number(file, y) })
	return names, nil
}

// Place is a position in the files of a mailbox: the number of a file that was set aside,
// or the current file, and an offset. The zero value is the beginning.
type Place struct {
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"`
	Last   int64  `json:"last"` // length of the line before Offset, with its newline
	Hash   string `json:"hash"` // of that line
}

func hash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}

// Bad is a line that is skipped but stays in the file.
type Bad struct {
	File string `json:"file"`
	At   int64  `json:"at"` // offset in the file
	Why  string `json:"why"`
	Text string `json:"text"` // its beginning
}

func (b *Bad) String() string {
	return fmt.Sprintf("%s, offset %d: %s: %q", b.File, b.At, b.Why, b.Text)
}

// Reading is the result of Read.
type Reading struct {
	Next  Place
	Bad   []Bad // the first hundred lines that were skipped
	Skips int   // how many lines were skipped in all

	// Again means that the Place no longer matched the files, and all was read from the
	// beginning.
	Again bool
}

const maxBad = 100

// source is an open file with the lines of a kind.
type source struct {
	f    *os.File
	name string
	id   uint64
}

// sources opens the files, oldest first. It opens the current file before it lists the
// others, so that no line is missed if that file is set aside in between.
func (b *Box) sources(file string) (all []source, err error) {
	defer func() {
		if err != nil {
			closeAll(all)
		}
	}()
	grows, err := b.open(file)
	if err != nil {
		return nil, err
	}
	all = append(all, grows...)
	old, err := b.aside(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	for _, name := range old {
		one, err := b.open(name)
		if err != nil {
			return all, err
		}
		if len(one) > 0 && len(grows) > 0 && one[0].id == grows[0].id { // set aside in between
			one[0].f.Close()
			one, grows = []source{{grows[0].f, name, grows[0].id}}, nil
			all = all[1:]
		}
		all = append(all, one...)
	}
	if len(grows) > 0 {
		all = append(all[1:], all[0])
	}
	return all, nil
}

// open opens one of the files; a missing file gives an empty result.
func (b *Box) open(name string) ([]source, error) {
	f, err := signals.Open(filepath.Join(b.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	id, err := signals.Identify(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return []source{{f, name, id.Inode}}, nil
}

func closeAll(all []source) {
	for _, s := range all {
		s.f.Close()
	}
}

// fits reports whether the place matches this file.
func (s source) fits(p Place) bool {
	if s.id != p.Inode || p.Offset < p.Last || p.Last < 0 || p.Last > maxLine+1 {
		return false
	}
	if p.Last == 0 {
		return p.Offset == 0
	}
	line := make([]byte, p.Last)
	n, _ := s.f.ReadAt(line, p.Offset-p.Last)
	return int64(n) == p.Last && hash(line) == p.Hash
}

// read passes the whole lines after a place to each, which returns why a line must be
// skipped, or "".
func (b *Box) read(file string, from Place, each func(name string, at int64, line []byte) (why string, err error)) (r Reading, err error) {
	r.Next = from
	all, err := b.sources(file)
	if err != nil {
		return r, fmt.Errorf("read %s: %w", file, err)
	}
	defer closeAll(all)
	begin := slices.IndexFunc(all, func(s source) bool { return s.fits(from) })
	if begin < 0 {
		r.Again = from != (Place{})
		begin, from = 0, Place{}
	}
	for i := begin; i < len(all); i++ {
		s := all[i]
		at := int64(0)
		if i == begin {
			at = from.Offset
		}
		last := Place{Inode: s.id}
		if i == begin && from != (Place{}) {
			last = from
		}
		_, err := signals.ReadOpen(s.f, at, func(line []byte, next int64) error {
			why, err := each(s.name, next-int64(len(line))-1, line)
			if err != nil {
				return err
			}
			if why != "" {
				r.skip(Bad{s.name, next - int64(len(line)) - 1, why, beginning(line)})
			}
			last.Offset, last.Last = next, int64(len(line))+1
			return nil
		})
		if err == nil || last.Offset > at {
			r.Next = s.seen(last)
		}
		if err != nil {
			return r, fmt.Errorf("read %s: %w", s.name, err)
		}
	}
	return r, nil
}

// seen adds the hash of the line before it to a place. Of a line longer than any message it
// hashes only the end.
func (s source) seen(p Place) Place {
	p.Last = min(p.Last, maxLine+1)
	if p.Last == 0 {
		return p
	}
	line := make([]byte, p.Last)
	if n, _ := s.f.ReadAt(line, p.Offset-p.Last); int64(n) == p.Last {
		p.Hash = hash(line)
	}
	return p
}

func (r *Reading) skip(b Bad) {
	if r.Skips++; len(r.Bad) < maxBad {
		r.Bad = append(r.Bad, b)
	}
}

// beginning returns the beginning of a line, as text.
func beginning(line []byte) string {
	return strings.ToValidUTF8(string(line[:min(len(line), 80)]), "\ufffd")
}

// Line is a message in the mailbox.
type Line struct {
	Message
	Verified bool   // this person's cmux wrote it, so the sender is as it says
	File     string // the file that holds it
	At       int64  // its offset in that file
}

// Read passes the messages after a place to f, in the order of writing. It leaves out
// messages whose id is known; known may be nil. An error of f ends the read, with Next at
// that message.
func (b *Box) Read(from Place, known func(id string) bool, f func(Line) error) (Reading, error) {
	return b.read(Name, from, func(name string, at int64, line []byte) (string, error) {
		m, err := Parse(line)
		if err != nil {
			return err.Error(), nil
		}
		if known != nil && known(m.ID) {
			return "", nil
		}
		return "", f(Line{Message: *m, Verified: b.Verified(Name, line), File: name, At: at})
	})
}

// Verified reports whether this person's cmux wrote a line of a file.
func (b *Box) Verified(file string, line []byte) bool {
	return b.Key != nil && b.Key.Open(place(file), line) == nil
}
