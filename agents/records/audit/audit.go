// Package audit keeps .cmux/audit.log, with one line of JSON for each tool call of the
// organization's agents, and for each command with its caller and the way it came.
//
// One writer at a time appends, under the lock on the project's folder. A file that has
// reached its maximum size is set aside by number and kept. If the disk is full, lines are
// lost and counted, and the next line has the count: a full log never blocks an agent or a
// person.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"cmux/agents/platform/harmless"
	"cmux/signals"
)

// Name is the file below .cmux.
const Name = "audit.log"

// Bounds of the file and of a line.
const (
	MaxFile   = 10 << 20 // bytes, at which it is set aside
	MaxResult = 500      // characters
	MaxInput  = 500
	patience  = 2 * time.Second // for other writers
)

// Line is one tool call or one command.
type Line struct {
	At      time.Time `json:"timestamp"`
	Session string    `json:"session,omitempty"`
	Task    string    `json:"task,omitempty"`

	// A tool call.
	Agent  string `json:"agent_name,omitempty"`
	Tool   string `json:"tool_name,omitempty"`
	Input  string `json:"input_summary,omitempty"`
	Result string `json:"result,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	Denied string `json:"denied,omitempty"` // why cmux refused it

	// A command.
	Order   string `json:"order,omitempty"`
	About   string `json:"about,omitempty"` // the agent, task or run that it is about
	By      string `json:"by,omitempty"`    // user, an agent's name, or node:NAME
	How     string `json:"how,omitempty"`   // how it came: command, api
	Refused string `json:"refused,omitempty"`

	Missing int `json:"missing,omitempty"` // lines before this one that could not be written
}

// Log appends to the audit log of the project at Root. It is safe for concurrent use.
type Log struct {
	Root string
	Now  func() time.Time

	mu      sync.Mutex
	missing int
}

// Append writes a line.
func (l *Log) Append(ctx context.Context, line Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line.At = l.Now().UTC().Truncate(time.Millisecond)
	line.Missing = l.missing
	line.Input, line.Result, line.Denied = Cut(line.Input, MaxInput), Cut(line.Result, MaxResult), Cut(line.Denied, MaxResult)
	line.About, line.Refused = Cut(line.About, MaxInput), Cut(line.Refused, MaxResult)
	b, err := json.Marshal(line)
	if err == nil {
		err = l.write(ctx, harmless.JSON(b))
	}
	if err != nil {
		l.missing++
		return fmt.Errorf("audit log: %w", err)
	}
	l.missing = 0
	return nil
}

func (l *Log) write(ctx context.Context, line []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dir := filepath.Join(l.Root, signals.Folder)
	release, err := signals.Hold(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	path := filepath.Join(dir, Name)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() >= MaxFile {
		if err := aside(dir, path); err != nil {
			return err
		}
	}
	log, err := signals.OpenLog(path)
	if err != nil {
		return err
	}
	defer log.Close()
	return log.Append(ctx, false, line)
}

// aside sets the file aside under the next number.
func aside(dir, path string) error {
	files, err := Files(dir)
	if err != nil {
		return err
	}
	next := 1
	for _, f := range files {
		next = max(next, number(f)+1)
	}
	return signals.Rename(path, fmt.Sprintf("%s.%d", filepath.Base(path), next))
}

// Files returns the names of the log's files in a folder, oldest first.
func Files(dir string) (names []string, err error) {
	entries, err := signals.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name() == Name || number(e.Name()) > 0 {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		x, y := number(a), number(b)
		if x == 0 || y == 0 { // the current file is the newest
			return y - x
		}
		return x - y
	})
	return names, nil
}

// number returns the number of a file that was set aside; 0: the name is not one.
func number(name string) int {
	digits, ok := strings.CutPrefix(name, Name+".")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// Cut returns the beginning of a text, of at most so many characters.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	r := []rune(text)
	return string(r[:most-1]) + "…"
}
