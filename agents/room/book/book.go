// Package book keeps the files of rooms: .cmux/rooms/ROOM/room.jsonl, one fact a line, each
// with the code of the person's key, and long texts and attached files beside it.
//
// A writer takes the file's lock, reads what is new, decides on the newest room and appends
// with one write. So no decision rests on an old room, and of two writers the second builds
// on the first. What was told to be written is on the disk when Append returns. The file is
// never shortened.
package book

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cmux/agents/records/ledger"
	"cmux/agents/room"
	"cmux/agents/room/marks"
	"cmux/signals"
	"cmux/worktree/hint"
)

const (
	// Folder is where the rooms are, in .cmux.
	Folder = "rooms"
	// File is the name of a room's file, in the room's folder.
	File = "room.jsonl"
	// MaxText bounds a message, in bytes.
	MaxText = 256 << 10

	mostInLine = 16 << 10 // bytes of a text that stands in its line
	maxName    = 40
)

var (
	// ErrNone means that there is no such room.
	ErrNone = errors.New("no such room")
	// ErrClosed means that nothing is said in the room until a person reopens it.
	ErrClosed = errors.New("the room is closed")
	// ErrUnknown means that nobody in the room has that name.
	ErrUnknown = errors.New("no such member")
	// ErrText means that a text is no message.
	ErrText = errors.New("no message")
)

var name = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]*$`)

// CheckName says what is wrong with the name of a room, or of a member.
func CheckName(s string) error {
	if !name.MatchString(s) || len(s) > maxName {
		return fmt.Errorf("%q is no name: letters, digits, - and _, at most %d, and a letter or digit first", s, maxName)
	}
	return nil
}

// ParseTokens reads a number of tokens, such as 200k or 2M.
func ParseTokens(s string) (int64, error) {
	digits, unit := s, int64(1)
	switch {
	case strings.HasSuffix(s, "k"):
		digits, unit = s[:len(s)-1], 1000
	case strings.HasSuffix(s, "M"):
		digits, unit = s[:len(s)-1], 1_000_000
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > 1<<40 {
		return 0, fmt.Errorf("%q is no number of tokens: 5000, 200k and 2M are", s)
	}
	return n * unit, nil
}

// Rooms returns the names of a project's rooms, sorted.
func Rooms(root string) ([]string, error) {
	entries, err := signals.ReadDir(filepath.Join(root, signals.Folder, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() && CheckName(e.Name()) == nil {
			all = append(all, e.Name())
		}
	}
	return all, err
}

// Book is the file of a room. It is safe for concurrent use, and several processes may each
// have one.
type Book struct {
	Name string
	file *ledger.Book[*lines]
	dir  string
	now  func() time.Time
}

// Open opens the book of a room of the project at root; the file need not exist. write:
// create the person's key and the room's folder if they are missing.
func Open(root, name string, now func() time.Time, write bool) (*Book, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	dir := filepath.Join(root, signals.Folder, Folder, name)
	b := &Book{Name: name, dir: dir, now: now}
	f, err := ledger.Open(root, ledger.Format[*lines]{
		Name: Folder + "/" + name + "/" + strings.TrimSuffix(File, ".jsonl"), Place: "room", New: func() *lines { return &lines{dir: dir} }, Copy: (*lines).copy,
	}, write)
	if err == nil && write {
		err = signals.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	b.file = f
	return b, nil
}

// Path returns the path of the file.
func (b *Book) Path() string { return b.file.Path() }

// Verified reports whether this person's cmux wrote a line of the file.
func (b *Book) Verified(line []byte) bool { return b.file.Verified(line) }

// Lines returns the room's lines as the file is now, with their long texts, and those that
// do not count.
func (b *Book) Lines() ([]room.Line, []ledger.Bad, error) {
	l, err := b.file.List()
	if err != nil {
		return nil, nil, err
	}
	if len(l.all)+len(l.bad) == 0 {
		return nil, nil, fmt.Errorf("%w: %s", ErrNone, b.Name)
	}
	return l.all, l.bad, nil
}

// Append writes the lines that decide makes of the room's lines so far, all of them or none.
// It numbers them and gives them their time. It returns all lines, and how many are new.
func (b *Book) Append(ctx context.Context, decide func(so []room.Line) ([]room.Line, error)) (all []room.Line, added int, err error) {
	l, _, err := b.file.Change(ctx, func(l *lines) ([][]byte, error) {
		next, err := decide(l.all)
		if err != nil {
			return nil, err
		}
		var out [][]byte
		for i := range next {
			next[i].N, next[i].At = int64(len(l.all)+1), b.now().UTC().Truncate(time.Millisecond)
			line, err := b.encode(next[i])
			if err != nil {
				return nil, err
			}
			out, l.all = append(out, line), append(l.all, next[i])
		}
		added = len(next)
		return out, nil
	})
	if err != nil {
		return nil, 0, err
	}
	return l.all, added, nil
}

// ErrExists means that there is such a room.
var ErrExists = errors.New("there is a room of this name")

// Create begins the room. The members are lines of the kind joined.
func (b *Book) Create(ctx context.Context, settings room.Settings, members ...room.Line) error {
	_, _, err := b.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		if len(so) > 0 {
			return nil, fmt.Errorf("%w: cmux rooms open %s", ErrExists, b.Name)
		}
		all := []room.Line{{Kind: room.KindOpened, Settings: &settings}}
		var names []string
		for _, m := range members {
			if err := CheckName(m.Name); err != nil {
				return nil, err
			}
			if slices.Contains([]string{room.User, room.Cmux, marks.All}, m.Name) || slices.Contains(names, m.Name) {
				return nil, fmt.Errorf("a member cannot be called %q: that is somebody else", m.Name)
			}
			names = append(names, m.Name)
			m.Kind = room.KindJoined
			all = append(all, m)
		}
		return all, nil
	})
	return err
}

// encode writes a long text into a file of its own, first.
func (b *Book) encode(l room.Line) ([]byte, error) {
	if len(l.Text)+len(l.Aside) > mostInLine {
		text, err := json.Marshal(long{l.Text, l.Aside})
		if err != nil {
			return nil, err
		}
		if err := makeFolder(filepath.Join(b.dir, "long")); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		l.File, l.Sum, l.Text, l.Aside = fmt.Sprintf("long/%d.json", l.N), hex.EncodeToString(sum[:]), "", ""
		if err := signals.WriteFile(filepath.Join(b.dir, l.File), text, 0o600); err != nil {
			return nil, err
		}
	}
	return ledger.Encode(l)
}

// long is a text in a file of its own.
type long struct {
	Text  string `json:"text,omitempty"`
	Aside string `json:"aside,omitempty"`
}

// Message is something to say.
type Message struct {
	By, To, Text string
	Re           int64
	Key          string // the sender's own id: said again with it, it is the same message
	Files        []room.File
}

// Say says something. It returns the number of the message, and whom it wakes.
func (b *Book) Say(ctx context.Context, m Message) (n int64, wakes []string, err error) {
	switch {
	case strings.TrimSpace(m.Text) == "":
		return 0, nil, fmt.Errorf("%w: it is empty", ErrText)
	case len(m.Text) > MaxText:
		return 0, nil, fmt.Errorf("%w: it has %d KB, and may have %d: put it into a file, and attach that", ErrText, len(m.Text)>>10, MaxText>>10)
	}
	if len(m.Files) > MaxFiles {
		return 0, nil, fmt.Errorf("%w: %d files, and a message may have %d: say it in several messages", ErrFile, len(m.Files), MaxFiles)
	}
	_, _, err = b.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		s, err := b.open(so)
		if err != nil {
			return nil, err
		}
		if m.Key != "" {
			for i := range so {
				if l := &so[i]; l.Kind == room.KindSaid && l.By == m.By && l.Key == m.Key {
					n, wakes = l.N, l.Wakes
					return nil, nil
				}
			}
		}
		if m.To != "" && !slices.Contains(s.Names(), m.To) {
			return nil, fmt.Errorf("%w: nobody in the room %s is called %q: %s", ErrUnknown, b.Name, m.To, strings.Join(s.Names(), ", "))
		}
		if err := b.hold(m.Files); err != nil {
			return nil, err
		}
		n, wakes = s.N+1, s.Wakes(m.By, m.To, marks.Answer{Pieces: marks.Pieces(m.Text, s.Names())})
		return []room.Line{{Kind: room.KindSaid, By: m.By, To: m.To, Text: m.Text, Re: m.Re, Key: m.Key, Wakes: wakes, Files: m.Files}}, nil
	})
	return n, wakes, err
}

// Order gives an order of a person's, once for an id.
func (b *Book) Order(ctx context.Context, id string, do room.Do, count int, names ...string) error {
	_, _, err := b.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		s, err := b.open(so)
		if err != nil && (do != room.DoReopen || !errors.Is(err, ErrClosed)) {
			return nil, err
		}
		if id != "" && slices.ContainsFunc(so, func(l room.Line) bool { return l.Kind == room.KindOrder && l.ID == id }) {
			return nil, nil
		}
		for _, name := range names {
			if !slices.Contains(s.Names(), name) {
				return nil, fmt.Errorf("%w: nobody in the room %s is called %q: %s", ErrUnknown, b.Name, name, strings.Join(s.Names(), ", "))
			}
		}
		return []room.Line{{Kind: room.KindOrder, By: room.User, ID: id, Do: do, Count: count, Names: names}}, nil
	})
	return err
}

// Change writes a line of another kind that a person has decided on: who joined or left, and
// settings. decide makes it of the room as it is; nil: there is nothing to write.
func (b *Book) Change(ctx context.Context, decide func(room.State) (*room.Line, error)) error {
	_, _, err := b.Append(ctx, func(so []room.Line) ([]room.Line, error) {
		s, err := b.open(so)
		if err != nil {
			return nil, err
		}
		l, err := decide(s)
		if l == nil || err != nil {
			return nil, err
		}
		return []room.Line{*l}, nil
	})
	return err
}

// open is the room of the lines, in which something may be said.
func (b *Book) open(so []room.Line) (room.State, error) {
	if len(so) == 0 {
		return room.State{}, fmt.Errorf("%w: %s", ErrNone, b.Name)
	}
	s := room.Fold(b.Name, so)
	if s.Closed {
		return s, hint.New(ErrClosed, "cmux rooms reopen "+b.Name)
	}
	return s, nil
}

// lines are the valid lines of a file.
type lines struct {
	dir string
	all []room.Line
	bad []ledger.Bad
}

func (l *lines) copy() *lines {
	return &lines{l.dir, slices.Clip(l.all), slices.Clip(l.bad)}
}

// Take implements ledger.List.
func (l *lines) Take(b []byte) error {
	var line room.Line
	if err := json.Unmarshal(b, &line); err != nil {
		return err
	}
	switch next := int64(len(l.all) + 1); {
	case line.N < next:
		return ledger.ErrCopy
	case line.N > next:
		return fmt.Errorf("its number is %d, and %d would be next", line.N, next)
	}
	if line.File != "" {
		l.read(&line)
	}
	l.all = append(l.all, line)
	return nil
}

// read reads a long text. One that is not as it was written says so, in its place.
func (l *lines) read(line *room.Line) {
	var text long
	b, err := signals.ReadFile(filepath.Join(l.dir, filepath.FromSlash(line.File)), 4*MaxText)
	if err == nil {
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != line.Sum {
			err = errors.New("it was changed")
		} else {
			err = json.Unmarshal(b, &text)
		}
	}
	if err != nil {
		line.Lost = fmt.Sprintf("%s: %v", line.File, err)
		text = long{Text: "(the text of this message cannot be shown: " + line.Lost + ")"}
	}
	line.Text, line.Aside = text.Text, text.Aside
}

// Skip implements ledger.List.
func (l *lines) Skip(bad ledger.Bad, _ []byte) { l.bad = append(l.bad, bad) }

// Move moves a room with all that is in its folder.
func Move(root, name, to string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return os.Rename(filepath.Join(root, signals.Folder, Folder, name), to)
}
