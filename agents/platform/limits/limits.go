// Package limits shares among all runs of one person which of their accounts are at a usage
// limit.
//
// An account has a file in the person's state folder, which is replaced whole under the
// folder's lock. Each state has an id: a runner that has recorded the id knows the state,
// whatever the clocks say. A file is only a hint that saves a request to the service: a
// damaged, foreign or implausible file is ignored, and the service itself decides.
package limits

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"cmux/agents/platform/lease"
	"cmux/agents/platform/seal"
	"cmux/signals"
)

// MaxAhead is the longest plausible time until the end of a limit: no program reports more
// than a month.
const MaxAhead = 40 * 24 * time.Hour

// maxFile bounds the size of a file, maxSaid the text of a program in it.
const (
	maxFile = 64 << 10
	maxSaid = 500
)

// Source is the run that found out a state.
type Source struct {
	Project string `json:"project"` // its root
	Session string `json:"session"`
	Run     string `json:"run"`
	Node    string `json:"node,omitempty"`
}

// String returns the source for people.
func (s Source) String() string {
	text := filepath.Base(s.Project) + ", session " + s.Session
	if s.Node != "" {
		text += ", node " + s.Node
	}
	return text
}

// State is the known state of an account.
type State struct {
	ID      string    `json:"id"` // id of this state
	Account string    `json:"account"`
	Free    bool      `json:"free,omitempty"` // it works again
	Until   time.Time `json:"until,omitzero"` // end of the limit; past: one node must try the account
	By      Source    `json:"by"`
	Said    string    `json:"said,omitempty"` // message of the program that met the limit
	At      time.Time `json:"at"`             // when it was found out
}

// Folder returns the folder of the files.
func Folder() (string, error) {
	dir, err := seal.Folder()
	return filepath.Join(dir, "limits"), err
}

// Open returns Folder and creates it if it is missing.
func Open() (string, error) {
	dir, err := Folder()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return dir, err
}

// Path returns the file of an account. Its name has the readable part of the account's name
// and a checksum, because names may be long and contain any character.
func Path(dir, account string) string {
	sum := sha256.Sum256([]byte(account))
	readable := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, account)
	return filepath.Join(dir, readable[:min(len(readable), 40)]+"-"+hex.EncodeToString(sum[:8])+".json")
}

// Tell records s, unless the recorded state already says as much. force: a person decides,
// so s replaces a limit that lasts longer. Tell returns the state recorded afterwards; nil:
// none, and s adds nothing.
func Tell(dir string, s State, force bool, now time.Time) (*State, error) {
	guard, err := lease.Guard(dir)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	have, err := Read(dir, s.Account, now)
	if err != nil {
		have = nil // replace a damaged file
	}
	limited := have != nil && !have.Free && have.Until.After(now)
	switch {
	case force:
	case s.Free && (have == nil || have.Free):
		return have, nil
	case s.Free && have.At.After(s.At) && !have.At.After(now):
		return have, nil // the account met a limit since
	case !s.Free && !s.Until.After(now):
		return have, nil
	case !s.Free && s.Until.Sub(now) > MaxAhead:
		return have, nil
	case !s.Free && limited && !have.Until.Before(s.Until):
		return have, nil
	case have != nil && have.Free && have.At.After(s.At) && !have.At.After(now):
		return have, nil // it was found free since
	}
	s.ID = rand.Text()
	if len(s.Said) > maxSaid {
		s.Said = strings.ToValidUTF8(s.Said[:maxSaid], "")
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return &s, signals.WriteFile(Path(dir, s.Account), append(b, '\n'), 0o600)
}

// Read returns the state of an account; nil: unknown. The error says why its file is
// ignored.
func Read(dir, account string, now time.Time) (*State, error) {
	s, err := believe(Path(dir, account), now)
	if err == nil && s != nil && s.Account != account {
		return nil, fmt.Errorf("%s is ignored: the file is damaged", Path(dir, account))
	}
	return s, err
}

// All returns the states of all accounts that have a file, without ignored ones; the error
// names those.
func All(dir string, now time.Time) (all []*State, err error) {
	entries, rerr := os.ReadDir(dir)
	if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
		return nil, rerr
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if filepath.Ext(path) != ".json" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		s, berr := believe(path, now)
		if berr == nil && s != nil && Path(dir, s.Account) != path {
			berr = fmt.Errorf("%s is ignored: the file is damaged", path)
		}
		if err = errors.Join(err, berr); berr == nil && s != nil {
			all = append(all, s)
		}
	}
	return all, err
}

// believe returns the state in a file; nil: there is no file.
func believe(path string, now time.Time) (*State, error) {
	s, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s is ignored: %w", path, err)
	}
	switch {
	case s.ID == "" || s.Account == "" || !s.Free && s.Until.IsZero():
		return nil, fmt.Errorf("%s is ignored: the file is damaged", path)
	case s.Free:
		return s, nil
	}
	// The clock was set back since, or was wrong when the file was written.
	if ahead := s.At.Sub(now); ahead > time.Minute {
		s.Until = s.Until.Add(-ahead)
	}
	if s.Until.Sub(now) > MaxAhead {
		return nil, fmt.Errorf("%s is ignored: a limit until %s is not plausible", path, s.Until.Format(time.DateOnly))
	}
	return s, nil
}

func read(path string) (*State, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("the file is a link")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("the file belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, errors.New("other users may write to the file")
	case info.Size() > maxFile:
		return nil, errors.New("the file is too large")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	s := new(State)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("the file is damaged: %w", err)
	}
	return s, nil
}
