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

// Sealer makes and checks the codes by which cmux knows its own lines.
type Sealer interface {
	Seal(place string, object []byte) ([]byte, error)
	Open(place string, object []byte) error
}

// Box is the mailbox of a project. It opens its files when it needs them, so it
// may be kept, copied and used by several goroutines.
type Box struct {
	Dir string // .cmux of the project

	// Key codes lines and knows coded ones. Nil: nothing can be told of a line.
	Key Sealer

	// Plain makes a line of JSON safe to be shown by cat, with the same value. May
	// be nil.
	Plain func([]byte) []byte

	// Lazy has what is appended outlive this process, but not a power cut.
	Lazy bool

	// Full is how large a file may become before the next line begins another;
	// 0: 32 MB.
	Full int64
}

const full = 32 << 20

// Path is the file that new messages are appended to.
func (b *Box) Path() string { return filepath.Join(b.Dir, Name) }

// place binds a code to the file that the line is of, and not to where in it:
// its id tells a copy.
func place(file string) string { return "line of " + file }

// Append writes messages. Those that are vouched for are coded, so that they
// count as their sender's.
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
		if _, err := Parse(line); err != nil { // what is written must be found again
			return fmt.Errorf("message %s to %s: %w", m.ID, m.To, err)
		}
		lines = append(lines, line)
	}
	return b.write(ctx, Name, lines)
}

// Record writes what became of messages.
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

// write appends lines, to a new file when the old one is full.
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
			// A line that was left torn ends in its own file.
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

// number is that of a file that was set aside; 0: the name is of none.
func number(file, name string) int {
	digits, ok := strings.CutPrefix(name, file+".")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || len(digits) < 6 || n < 1 || digits[0] == '+' {
		return 0
	}
	return n
}

// aside are the names of the files that were set aside, oldest first.
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

// Place is how far a file was read: that of the number set aside, or the one that
// grows. The zero value is the beginning.
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

// Bad is a line that is skipped, and kept where it is.
type Bad struct {
	File string `json:"file"`
	At   int64  `json:"at"` // offset in the file
	Why  string `json:"why"`
	Text string `json:"text"` // how it begins
}

func (b *Bad) String() string {
	return fmt.Sprintf("%s, offset %d: %s: %q", b.File, b.At, b.Why, b.Text)
}

// Reading is what Read found.
type Reading struct {
	Next  Place
	Bad   []Bad // the first hundred lines that were skipped
	Skips int   // how many were skipped in all

	// Again says that the place did not fit the files any more, and all was read
	// from the beginning.
	Again bool
}

const maxBad = 100

// source is an open file with the lines of a kind.
type source struct {
	f    *os.File
	name string
	id   uint64
}

// sources opens the files, oldest first. The one that grows is opened before the
// others are listed, so that no line is missed when it is set aside meanwhile.
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
		if len(one) > 0 && len(grows) > 0 && one[0].id == grows[0].id { // set aside meanwhile
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

// open opens one of the files; none when it is not there.
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

// fits reports whether the place is one in this file.
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

// read hands the whole lines behind a place to each, which says what is wrong
// with one that is to be skipped.
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

// seen completes a place with the hash of the line before it. Of a line longer
// than any message only the end counts.
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

// beginning is how a line begins, as text.
func beginning(line []byte) string {
	return strings.ToValidUTF8(string(line[:min(len(line), 80)]), "\ufffd")
}

// Line is a message as it stands in the mailbox.
type Line struct {
	Message
	Verified bool   // cmux of this person wrote it, so it is from who it says
	File     string // that it stands in
	At       int64  // its offset there
}

// Read hands the messages behind a place to f, in the order in which they were
// written. Those of which known says that their id was taken in before are left
// out; it may be nil. An error of f ends the reading, with Next at that message.
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

// Verified reports whether cmux of this person wrote a line of a file.
func (b *Box) Verified(file string, line []byte) bool {
	return b.Key != nil && b.Key.Open(place(file), line) == nil
}
