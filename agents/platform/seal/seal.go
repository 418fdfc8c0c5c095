// Package seal proves that this person's cmux wrote a file.
//
// A person has one secret, made with their first run and readable by its owner alone. Every
// run gets a key that is derived from it. What cmux writes below .cmux to read again or to
// execute has a code made with that key. A file without the code, or with a code for
// another place, was written by somebody else: a repository that came with its own .cmux,
// or a program that a node started.
//
// The code does not protect against a program that reads the secret, which every program of
// the same user can do that no fence hides it from: see docs/permissions.md.
package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Key makes and checks codes. It is safe for concurrent use.
type Key struct {
	secret []byte    // nil: it is Blind
	macs   sync.Pool // of *mac
}

// mac is a reusable hash with its buffers.
type mac struct {
	hash.Hash
	sum [sha256.Size]byte
}

func newKey(secret []byte) *Key {
	k := &Key{secret: secret}
	k.macs.New = func() any { return &mac{Hash: hmac.New(sha256.New, secret)} }
	return k
}

// Blind returns a key for a process that the secret is hidden from, and that can write
// nothing which cmux believes: it opens whatever has a code, and seals nothing.
func Blind() *Key { return &Key{} }

// Derive returns the key for something with a key of its own.
func (k *Key) Derive(parts ...string) *Key {
	if k.secret == nil {
		return k
	}
	h := hmac.New(sha256.New, k.secret)
	for _, p := range parts {
		// The length distinguishes ("ab", "c") from ("a", "bc").
		io.WriteString(h, strconv.Itoa(len(p))+":"+p)
	}
	return newKey(h.Sum(nil))
}

const (
	codeSize = 16                        // bytes of the code that are kept
	codeLen  = (codeSize*8 + 5) / 6      // as text
	before   = `,"mac":"`                // in a sealed object, before the code
	after    = `"}`                      // after the code
	tail     = len(before) + codeLen + 2 // length of a seal, which replaces the closing brace
)

// ErrForeign means that this person's cmux did not write something, or wrote it for another
// place.
var ErrForeign = errors.New("not written by cmux of this user on this machine, or changed since")

// ErrBlind means that the secret is hidden from this process.
var ErrBlind = errors.New("your key is hidden here by a fence: nothing can be signed")

// Seal adds the code for a place to a JSON object, as its last member. The object must have
// another member. Trailing space is removed.
func (k *Key) Seal(place string, object []byte) ([]byte, error) {
	if k.secret == nil {
		return nil, ErrBlind
	}
	object = bytes.TrimRight(object, " \t\r\n")
	if len(object) < 4 || object[len(object)-1] != '}' {
		return nil, fmt.Errorf("seal: want a JSON object with at least one member, got %.40q", object)
	}
	body := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	out := make([]byte, 0, len(body)+tail)
	out = append(append(out, body...), before...)
	out = k.code(out, place, body)
	return append(out, after...), nil
}

// Open reports whether an object has the code for a place.
func (k *Key) Open(place string, object []byte) error {
	object = bytes.TrimRight(object, " \t\r\n")
	at := len(object) - tail
	if at < 1 || string(object[at:at+len(before)]) != before || string(object[len(object)-len(after):]) != after {
		return ErrForeign
	}
	if k.secret == nil {
		return nil
	}
	var room [codeLen]byte
	if !hmac.Equal(k.code(room[:0], place, object[:at]), object[at+len(before):len(object)-len(after)]) {
		return ErrForeign
	}
	return nil
}

// code appends the code of body at a place to out.
func (k *Key) code(out []byte, place string, body []byte) []byte {
	m := k.macs.Get().(*mac)
	defer k.macs.Put(m)
	m.Reset()
	io.WriteString(m, place)
	m.Write([]byte{0})
	m.Write(body)
	return base64.RawURLEncoding.AppendEncode(out, m.Sum(m.sum[:0])[:codeSize])
}

// keyFile is the name of the secret in the state folder.
const keyFile = "key"

// Folder returns the folder for data of a person that belongs to no project.
func Folder() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the XDG specification says to ignore relative paths
		return filepath.Join(dir, "cmux"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", fmt.Errorf("cmux keeps your key in $XDG_STATE_HOME/cmux or ~/.local/state/cmux, and neither HOME nor XDG_STATE_HOME is set: set XDG_STATE_HOME to a folder that you can write to")
	}
	return filepath.Join(home, ".local", "state", "cmux"), nil
}

// Path returns the path of the person's key.
func Path() (string, error) {
	dir, err := Folder()
	return filepath.Join(dir, keyFile), err
}

// Find returns the key of this process's user; Blind if a fence hides it. If there is none,
// the error is fs.ErrNotExist: a new key could not open existing files, and would hide that
// the old key is missing.
func Find() (*Key, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	k, err := read(path)
	if err != nil && hidden(path, err) {
		return Blind(), nil
	}
	return k, err
}

// hidden reports whether err, of reading the key at path, comes from a fence around this
// process, which an attempt started.
func hidden(path string, err error) bool {
	return os.Getenv(attemptVar) != "" && covered(path, err)
}

// attemptVar marks the processes of an attempt, as proc.AttemptVar does.
const attemptVar = "CMUX_ATTEMPT"

// Own is Find, but creates the key if it is missing: for the first file that is sealed.
func Own() (*Key, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	for {
		k, err := read(path)
		if err != nil && hidden(path, err) {
			return nil, ErrBlind
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return k, err
		}
		if err := create(path, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("your key, with which cmux signs what it writes, cannot be made: %w; set XDG_STATE_HOME to a folder that you can write to", err)
		}
	}
}

// secretSize is the size of a secret in bytes.
const secretSize = 32

func read(path string) (*Key, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("your key: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("your key %s is not a regular file", path)
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("your key %s belongs to user %d and you are %d: set HOME or XDG_STATE_HOME to a folder of yours", path, st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("your key %s may be read by others (mode %04o): chmod 600 %s", path, info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 4*secretSize))
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(secret) != secretSize {
		return nil, fmt.Errorf("your key %s is damaged: remove it, and cmux makes another; you can then not resume runs that were made with it", path)
	}
	return newKey(secret), nil
}

// create makes a secret atomically. Of several concurrent calls one wins; the others return
// fs.ErrExist. The file gets its name with os.Link, or with a lock on file systems without
// hard links.
func create(path string, link func(from, to string) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var secret [secretSize]byte
	rand.Read(secret[:])
	f, err := os.CreateTemp(dir, ".key.*.tmp") // 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(hex.EncodeToString(secret[:]) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		if err = link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
			// Do not create the file under its name and write afterwards: a kill in between
			// would leave it without a secret.
			if lerr := rename(f.Name(), path); lerr == nil {
				return nil
			} else if errors.Is(lerr, fs.ErrExist) {
				err = lerr
			} else {
				err = errors.Join(err, lerr)
			}
		}
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// rename gives a file a new name, or returns fs.ErrExist. A lock keeps other processes out
// and ends with its process. The lock file stays: a removed one could be locked twice.
func rename(from, to string) error {
	lock, err := os.OpenFile(to+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be locked: %w", lock.Name(), err)
	}
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}
