// Package limits tells all runs of one person which of their accounts are at a
// usage limit.
//
// An account has a file in the person's state folder, which is replaced whole
// under the folder's lock. Each of its states has an id of its own: a runner
// that has recorded the id knows the state, whatever the clocks say. What a
// file says is a hint that saves a request: one that is damaged, of somebody
// else or absurd counts for nothing, and the account itself says the rest.
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

// MaxAhead bounds how far ahead the end of a limit may be to be believed: no
// program states more than a month.
const MaxAhead = 40 * 24 * time.Hour

// maxFile bounds a file that is read, maxSaid what is kept of a program's words.
const (
	maxFile = 64 << 10
	maxSaid = 500
)

// Source is who found something out about an account.
type Source struct {
	Project string `json:"project"` // its root
	Session string `json:"session"`
	Run     string `json:"run"`
	Node    string `json:"node,omitempty"`
}

// String names the source for people.
func (s Source) String() string {
	text := filepath.Base(s.Project) + ", session " + s.Session
	if s.Node != "" {
		text += ", node " + s.Node
	}
	return text
}

// State is what is known of an account.
type State struct {
	ID      string    `json:"id"` // of this state
	Account string    `json:"account"`
	Free    bool      `json:"free,omitempty"` // it works again
	Until   time.Time `json:"until,omitzero"` // it is at a limit until then; past: one node is to find out
	By      Source    `json:"by"`
	Said    string    `json:"said,omitempty"` // by the program that met the limit
	At      time.Time `json:"at"`             // when that was found out
}

// Folder is where the files are.
func Folder() (string, error) {
	dir, err := seal.Folder()
	return filepath.Join(dir, "limits"), err
}

// Open is Folder, which is made where it is not there.
func Open() (string, error) {
	dir, err := Folder()
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return dir, err
}

// Path is the file of an account. Its name begins with what can be read of the
// account's, and ends with a sum, as names may be long and hold anything.
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

// Tell makes s known, unless what is known already says as much. Force has it
// replace a limit that lasts longer: a person says so. It returns what is known
// then; nil: nothing, and s would add nothing.
func Tell(dir string, s State, force bool, now time.Time) (*State, error) {
	guard, err := lease.Guard(dir)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	have, err := Read(dir, s.Account, now)
	if err != nil {
		have = nil // what is damaged is replaced
	}
	limited := have != nil && !have.Free && have.Until.After(now)
	switch {
	case force:
	case s.Free && (have == nil || have.Free):
		return have, nil
	case s.Free && have.At.After(s.At) && !have.At.After(now):
		return have, nil // it was met since
	case !s.Free && !s.Until.After(now):
		return have, nil
	case !s.Free && s.Until.Sub(now) > MaxAhead:
		return have, nil
	case !s.Free && limited && !have.Until.Before(s.Until):
		return have, nil
	case have != nil && have.Free && have.At.After(s.At) && !have.At.After(now):
		return have, nil // that was found out since
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

// Read is what is known of an account; nil: nothing. The error says why its file
// does not count.
func Read(dir, account string, now time.Time) (*State, error) {
	s, err := believe(Path(dir, account), now)
	if err == nil && s != nil && s.Account != account {
		return nil, fmt.Errorf("%s does not count: it is damaged", Path(dir, account))
	}
	return s, err
}

// All is what is known of all accounts that have a file. What does not count is
// left out, and the error tells of it.
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
			berr = fmt.Errorf("%s does not count: it is damaged", path)
		}
		if err = errors.Join(err, berr); berr == nil && s != nil {
			all = append(all, s)
		}
	}
	return all, err
}

// believe is what a file says; nil: there is none.
func believe(path string, now time.Time) (*State, error) {
	s, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s does not count: %w", path, err)
	}
	switch {
	case s.ID == "" || s.Account == "" || !s.Free && s.Until.IsZero():
		return nil, fmt.Errorf("%s does not count: it is damaged", path)
	case s.Free:
		return s, nil
	}
	// The clock was set back since, or never was right where it was written.
	if ahead := s.At.Sub(now); ahead > time.Minute {
		s.Until = s.Until.Add(-ahead)
	}
	if s.Until.Sub(now) > MaxAhead {
		return nil, fmt.Errorf("%s does not count: a limit until %s is not to be believed", path, s.Until.Format(time.DateOnly))
	}
	return s, nil
}

func read(path string) (*State, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, errors.New("it is a link")
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
		return nil, errors.New("it is no regular file")
	case ok && int(st.Uid) != os.Geteuid():
		return nil, fmt.Errorf("it belongs to user %d", st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return nil, errors.New("others may write to it")
	case info.Size() > maxFile:
		return nil, errors.New("it is too large")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, err
	}
	s := new(State)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return s, nil
}
