package signals

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Suffix ends the file name of a marker; the node's name precedes it.
const Suffix = ".done"

// Kind is the type of a marker's content.
type Kind uint8

const (
	Bad   Kind = iota // not a marker
	Empty             // no bytes: a person's touch
	Code              // an exit code
)

// Content is the content of a marker. The zero value is Bad.
type Content struct {
	Kind Kind
	Code int // 0 to 255, when Kind is Code
}

// Exit returns the Content of a marker with this exit code.
func Exit(code int) Content { return Content{Kind: Code, Code: code} }

// Success reports whether the content means done.
func (c Content) Success() bool { return c.Kind == Empty || c == Exit(0) }

// String returns "bad", "empty" or the decimal code.
func (c Content) String() string {
	switch c.Kind {
	case Empty:
		return "empty"
	case Code:
		return strconv.Itoa(c.Code)
	}
	return "bad"
}

// MarshalText returns the Content in the form of String.
func (c Content) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c *Content) UnmarshalText(b []byte) error {
	switch string(b) {
	case "empty":
		*c = Content{Kind: Empty}
	case "bad":
		*c = Content{}
	default:
		if *c = ParseMarker(b); c.Kind != Code {
			return fmt.Errorf("marker content %q: want empty, bad or an exit code", b)
		}
	}
	return nil
}

// bytes returns the content as written to a file.
func (c Content) bytes() []byte {
	if c.Kind == Empty {
		return nil
	}
	return append(strconv.AppendInt(nil, int64(c.Code), 10), '\n')
}

// maxMarker is the longest file that can be a marker, in bytes.
const maxMarker = 64

// ParseMarker parses the content of a marker file. It ignores white space (space, tab,
// newline, carriage return, vertical tab, form feed) around the digits. Anything that a
// program printing an exit code would not print is Bad: a sign, a leading zero, a value
// above 255, anything between or beside the digits. White space alone is Bad too: `echo
// $CODE` writes it when the variable is not set. Only a file of no bytes is Empty.
func ParseMarker(content []byte) Content {
	if len(content) == 0 {
		return Content{Kind: Empty}
	}
	if len(content) > maxMarker {
		return Content{}
	}
	digits := bytes.Trim(content, " \t\n\r\v\f")
	if len(digits) == 0 || len(digits) > 3 || digits[0] == '0' && len(digits) > 1 {
		return Content{}
	}
	code := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			return Content{}
		}
		code = code*10 + int(d-'0')
	}
	if code > 255 {
		return Content{}
	}
	return Exit(code)
}

// Identity identifies one state of a file. It is compared for equality only: clocks jump,
// so an mtime does not show which state is newer.
type Identity struct {
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`  // bytes
	MTime int64  `json:"mtime"` // nanoseconds
}

func identity(st *unix.Stat_t) Identity {
	return Identity{Inode: st.Ino, Size: st.Size, MTime: st.Mtim.Nano()}
}

// Marker is a marker file, as written or as observed.
type Marker struct {
	Identity Identity `json:"identity"`
	Content  Content  `json:"content"`
}

// Pending is a marker that is written but has no name yet, so that its identity can be
// recorded before other processes can see it. It ends with Publish or Discard. If the
// process dies before, it leaves nothing (on Linux), or a hidden file that is ignored.
type Pending struct {
	path string
	id   Identity
	fd   int    // the unnamed file, or -1
	temp string // the hidden file, on systems without unnamed files
}

// Prepare writes the marker of the named node, with this exit code (0 to 255), into the
// signals folder dir. It does not sync: the attempt's record survives a power cut, and cmux
// restores the marker from it.
func Prepare(dir, name string, code int) (*Pending, error) {
	if code < 0 || code > 255 {
		return nil, fmt.Errorf("marker of %s: %d is not an exit code", name, code)
	}
	p, err := prepare(dir, name, Exit(code))
	if err != nil {
		return nil, fmt.Errorf("marker of %s: %w", name, explain(err))
	}
	return p, nil
}

func prepare(dir, name string, c Content) (*Pending, error) {
	path, err := markerPath(dir, name)
	if err != nil {
		return nil, err
	}
	if fd, ok := openUnnamed(dir); ok {
		p := &Pending{path: path, fd: fd}
		if p.id, err = fill(fd, c); err != nil {
			unix.Close(fd)
			return nil, err
		}
		return p, nil
	}
	return prepareNamed(path, c)
}

// prepareNamed prepares a marker under a hidden name, on systems without unnamed files.
func prepareNamed(path string, c Content) (*Pending, error) {
	p := &Pending{path: path, fd: -1, temp: filepath.Join(filepath.Dir(path), hidden(filepath.Base(path)))}
	err := at(p.temp, func(dir int, name string) error {
		fd, err := createFD(dir, name, 0o644)
		if err != nil {
			return err
		}
		if err = unix.Fchmod(fd, 0o644); err == nil {
			p.id, err = fill(fd, c)
		}
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			err = errors.Join(err, unix.Unlinkat(dir, name, 0))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// fill writes c into the new file fd and returns its identity.
func fill(fd int, c Content) (Identity, error) {
	var st unix.Stat_t
	for b := c.bytes(); len(b) > 0; {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return Identity{}, err
		}
		b = b[n:]
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return Identity{}, err
	}
	return identity(&st), nil
}

// Identity returns the identity that the marker will have when it is published.
func (p *Pending) Identity() Identity { return p.id }

// Publish gives the marker its name. If that name exists, the error is fs.ErrExist: the
// first marker wins. In both cases the Pending has ended.
func (p *Pending) Publish() error {
	var err error
	switch {
	case p.fd >= 0:
		err = linkUnnamed(p.fd, p.path)
	case p.temp != "":
		err = linkNew(p.temp, p.path)
	default:
		err = errors.New("already published or discarded")
	}
	p.Discard()
	if err != nil {
		return explain(&fs.PathError{Op: "publish marker", Path: p.path, Err: err})
	}
	return nil
}

// WriteNew creates the file at path with all of data, unless there is one: then the error
// is fs.ErrExist.
func WriteNew(path string, data []byte, perm fs.FileMode) error {
	temp := filepath.Join(filepath.Dir(path), hidden(filepath.Base(path))) // others may create it at the same time
	err := PutFile(temp, data, perm)
	if err == nil {
		err = linkNew(temp, path)
	}
	RemoveFile(temp)
	return explain(err)
}

// linkNew gives a file a second name, unless that exists. Where there are no hard links it
// is renamed.
func linkNew(from, to string) error {
	err := retryEINTR(func() error { return unix.Link(from, to) })
	if errors.Is(err, unix.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = renameNew(from, to)
	}
	return err
}

// Discard removes a marker that will not be published. After Publish it does nothing, so it
// may be deferred.
func (p *Pending) Discard() {
	if p.fd >= 0 {
		unix.Close(p.fd)
		p.fd = -1
	}
	if p.temp != "" {
		RemoveFile(p.temp)
		p.temp = ""
	}
}

// Replace replaces the file of a marker and returns its new identity. Only the runner calls
// it, under the run's lock and after it recorded why. A reader sees the old marker or the
// new one.
func Replace(dir, name string, c Content) (Identity, error) {
	path, err := markerPath(dir, name)
	if err == nil && c.Kind == Bad {
		err = errors.New("bad content cannot be written")
	}
	var p *Pending
	if err == nil {
		p, err = prepareNamed(path, c)
	}
	if err == nil {
		if err = Rename(p.temp, filepath.Base(path)); err != nil {
			p.Discard()
		}
	}
	if err != nil {
		return Identity{}, fmt.Errorf("replace marker of %s: %w", name, explain(err))
	}
	return p.id, nil
}

// Remove removes the marker of the named node, if there is one.
func Remove(dir, name string) error {
	path, err := markerPath(dir, name)
	if err == nil {
		err = RemoveFile(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove marker of %s: %w", name, explain(err))
	}
	return nil
}

// RemoveOnly removes the marker of the named node if it is the file of this identity.
// Another stays, also one that takes its place or is touched while this looks.
func RemoveOnly(dir, name string, id Identity) error {
	path, err := markerPath(dir, name)
	if err == nil {
		err = removeOnly(path, id)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove marker of %s: %w", name, explain(err))
	}
	return nil
}

func removeOnly(path string, id Identity) error {
	aside := filepath.Join(filepath.Dir(path), hidden(filepath.Base(path)))
	if err := Rename(path, filepath.Base(aside)); err != nil {
		return err
	}
	return at(aside, func(dir int, name string) error {
		var st unix.Stat_t
		err := retryEINTR(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		if err == nil && identity(&st) != id { // back to where it was, unless a newer one is there
			err = linkNew(aside, path)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = unix.Unlinkat(dir, name, 0)
		if errors.Is(err, fs.ErrNotExist) { // it was renamed
			return nil
		}
		if err != nil { // a folder, say
			err = errors.Join(err, renameNew(aside, path))
		}
		return err
	})
}

// markerPath returns the path of a node's marker. Names were checked when the configuration
// was read; markerPath only refuses names that lead out of the folder.
func markerPath(dir, name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/\x00") || strings.HasPrefix(name, ".") {
		return "", fmt.Errorf("%q is not a node's name", name)
	}
	return dir + "/" + name + Suffix, nil
}
