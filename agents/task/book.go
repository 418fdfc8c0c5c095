package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"cmux/agents/harmless"
	"cmux/agents/seal"
	"cmux/signals"
)

// Name is that of the file, in the folder .cmux.
const Name = "tasks.jsonl"

const place = "task"

// ErrForeign says that nothing in the file counts: it was written with another
// key, or by somebody else.
var ErrForeign = errors.New("no line of it was written by cmux with your key, so nothing in it counts and nothing is added: put the key back that it was written with, or move the file away")

// Book is the tasks of a project. It may be used by several goroutines, and
// several processes may each have one.
type Book struct {
	path string
	key  *seal.Key
	now  func() time.Time

	mu   sync.Mutex
	list *List
	file uint64 // inode that list was read from
	next int64  // offset that it was read up to
	last []byte // the line before it
}

// OpenBook is the book of the project at root. It needs no file; write says that the
// person's key is made where they have none.
func OpenBook(root string, now func() time.Time, write bool) (*Book, error) {
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
	b := &Book{path: filepath.Join(root, signals.Folder, Name), now: now}
	if key != nil {
		b.key = key.Derive("tasks", root)
	}
	return b, nil
}

// Path is the file.
func (b *Book) Path() string { return b.path }

// List is what there is to do.
func (b *Book) List() (*List, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := signals.Open(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		b.list = nil
		return new(List), nil
	}
	if err != nil {
		return nil, fmt.Errorf("tasks: %w", err)
	}
	defer f.Close()
	if err := b.read(f); err != nil {
		return nil, err
	}
	return b.list.copy(), nil
}

// copy is a list that goes on by itself.
func (l *List) copy() *List {
	c := *l
	c.tasks = make(map[string]*Task, len(l.tasks))
	for id, t := range l.tasks {
		c.tasks[id] = t
	}
	c.order, c.log, c.Bad, c.Gaps = l.order[:len(l.order):len(l.order)], l.log[:len(l.log):len(l.log)], l.Bad[:len(l.Bad):len(l.Bad)], l.Gaps[:len(l.Gaps):len(l.Gaps)]
	return &c
}

// read takes in what is new in the open file, or all of it when it is another
// than it was.
func (b *Book) read(f *os.File) error {
	id, err := signals.Identify(f)
	if err != nil {
		return err
	}
	if b.list == nil || b.file != id.Inode || id.Size < b.next || !b.goesOn(f) {
		b.list, b.file, b.next, b.last = new(List), id.Inode, 0, nil
	}
	counts := false
	tail, err := signals.ReadOpen(f, b.next, func(line []byte, next int64) error {
		if why := b.take(line); why != "" {
			b.list.Bad = append(b.list.Bad, Bad{next - int64(len(line)) - 1, why, strings.ToValidUTF8(string(line[:min(len(line), 80)]), "\ufffd")})
			for _, m := range idIn.FindAllSubmatch(line, 4) {
				n, _ := strconv.Atoi(string(m[1]))
				b.list.most = max(b.list.most, min(n, b.list.most+1000))
			}
		} else {
			counts = true
		}
		b.last = append(b.last[:0], line...)
		return nil
	})
	if err != nil {
		b.list = nil
		return fmt.Errorf("tasks: %w", err)
	}
	b.next = tail.Next
	if !counts && len(b.list.log) == 0 && len(b.list.Bad) > 0 {
		b.list = nil
		return fmt.Errorf("%s: %w", b.path, ErrForeign)
	}
	return nil
}

// idIn finds the id in what is left of a line, so that it is not given again.
var idIn = regexp.MustCompile(`"task":"t([0-9]{1,9})"`)

// goesOn reports whether the line before the offset is the one that was read.
func (b *Book) goesOn(f io.ReaderAt) bool {
	if b.next == 0 {
		return true
	}
	line := make([]byte, len(b.last)+1)
	_, err := f.ReadAt(line, b.next-int64(len(line)))
	return err == nil && bytes.Equal(line[:len(line)-1], b.last)
}

// Verified reports whether cmux of this person wrote a line of the file.
func (b *Book) Verified(line []byte) bool { return b.key != nil && b.key.Open(place, line) == nil }

// take takes in a line, or says why it does not count.
func (b *Book) take(line []byte) (why string) {
	if !json.Valid(line) {
		return "it is not JSON"
	}
	if !b.Verified(line) {
		return "cmux of this person did not write it"
	}
	c, err := parse(line)
	if err != nil {
		return err.Error()
	}
	if !b.list.fold(*c) {
		return "it is a copy of an older change"
	}
	return ""
}

// Change writes what f makes of the tasks as they are now, all of it or nothing,
// durably. The changes are made to the list in their order, so that each may
// build on the one before; their time is filled in. It returns the list after
// them, and the name of the file that was saved aside when it held lines that do
// not count; empty: it held none.
func (b *Book) Change(ctx context.Context, f func(*List) ([]Change, error)) (list *List, aside string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for repaired := true; repaired; {
		repaired = false
		err = signals.InTurn(ctx, b.path, true, nil, func(t *signals.Turn) error {
			if err := b.read(t.File()); err != nil {
				return err
			}
			if len(b.list.Bad) > 0 {
				repaired = true
				aside, err = b.repair(t)
				return err
			}
			list = b.list.copy()
			changes, err := f(list)
			if err != nil {
				return err
			}
			lines, err := b.lines(list, changes)
			if err != nil {
				return err
			}
			return t.Append(lines...)
		})
		if err != nil {
			return nil, aside, err
		}
	}
	return list, aside, nil
}

// lines makes the changes to a list and returns them as they are written.
func (b *Book) lines(list *List, changes []Change) (lines [][]byte, err error) {
	for _, c := range changes {
		c.At = b.now().UTC().Truncate(time.Millisecond)
		if err := list.Step(c); err != nil {
			return nil, err
		}
		line, err := encode(&c)
		if err != nil {
			return nil, err
		}
		if _, err := parse(line); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Task, err)
		}
		if line, err = b.key.Seal(place, line); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func encode(c *Change) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil {
		return nil, err
	}
	return harmless.JSON(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}

// repair saves the file aside and keeps the lines in it that count.
func (b *Book) repair(t *signals.Turn) (aside string, err error) {
	info, err := t.File().Stat()
	if err != nil {
		return "", err
	}
	whole := make([]byte, info.Size())
	if _, err := t.File().ReadAt(whole, 0); err != nil && err != io.EOF {
		return "", err
	}
	for n := 1; ; n++ {
		aside = fmt.Sprintf("%s.damaged-%d", Name, n)
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
	bad := b.list.Bad
	at := int64(0)
	for line := range bytes.Lines(whole) {
		if len(bad) > 0 && bad[0].At == at {
			bad = bad[1:]
		} else if bytes.HasSuffix(line, []byte("\n")) { // else it was left torn
			kept = append(kept, line...)
		}
		at += int64(len(line))
	}
	b.list = nil
	if err := t.Replace(kept, 0o600); err != nil {
		return "", err
	}
	return aside, nil
}
