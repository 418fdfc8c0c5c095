// Package locks keeps named locks on resources that only one may use at a time: a database,
// a port, a device, a file that everybody edits. They are in .cmux/locks.jsonl.
//
// A lock belongs to its holder as long as that lives: a life of an agent, a process, or a
// person, who holds it until they release it. The file does not record who lives; callers
// pass that in. A lock whose holder is gone is free, whatever the file says. Waiters get it
// in the order in which they came, and a wait that would end in a deadlock is refused. All
// decisions are pure functions of the file and of who lives.
package locks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"cmux/agents/records/ledger"
)

// Limits of a lock.
const (
	MaxNote  = 200
	MaxLocks = 200
)

// Holder holds a lock or waits for one.
type Holder struct {
	Who     string `json:"who"`               // user, or the address of an agent
	Of      string `json:"of,omitempty"`      // the agent's organization or run
	Life    int    `json:"life,omitempty"`    // of the agent
	Wrapper int    `json:"wrapper,omitempty"` // pid of the wrapper of that life
	PID     int    `json:"pid,omitempty"`     // process that holds the lock, which ends with it; 0: the agent holds it
	Start   uint64 `json:"start,omitempty"`   // start time of the process
	Boot    string `json:"boot,omitempty"`    // boot id of the machine
}

// Node returns the name of the agent in the organization or run.
func (h Holder) Node() string { return strings.TrimPrefix(h.Who, "node:") }

// same reports whether two holders are the same agent, or the person.
func (h Holder) same(o Holder) bool { return h.Who == o.Who && h.Of == o.Of && h.Life == o.Life }

// Waiter waits for a lock.
type Waiter struct {
	Holder        // the future holder
	By     Holder `json:"by"` // the process that waits
	Note   string `json:"note,omitempty"`
	Since  time.Time
}

// Lock is a lock that is held or waited for.
type Lock struct {
	Name    string
	Held    bool
	Holder  Holder
	Note    string
	Since   time.Time
	Waiters []Waiter // in the order in which they get it
}

// line is a line of the file.
type line struct {
	N      int       `json:"n"`  // its number in the file, from 1; 0: written before lines had numbers
	Op     string    `json:"op"` // take, wait, leave, release, break; base: the lines before it are gone
	Name   string    `json:"name,omitempty"`
	At     time.Time `json:"at"`
	Holder Holder    `json:"holder"`       // take, wait, leave: the holder or waiter; else the previous holder
	By     *Holder   `json:"by,omitempty"` // wait: the waiting process; break: who broke the lock
	Note   string    `json:"note,omitempty"`
	Why    string    `json:"why,omitempty"` // release, leave: the reason, if nobody asked for it
}

// List is the fold of the file.
type List struct {
	Bad   []ledger.Bad
	locks map[string]*Lock
	most  int // number of the last line
}

func (l *List) copy() *List {
	c := &List{Bad: slices.Clip(l.Bad), locks: make(map[string]*Lock, len(l.locks)), most: l.most}
	for name, k := range l.locks {
		one := *k
		one.Waiters = slices.Clone(k.Waiters)
		c.locks[name] = &one
	}
	return c
}

// Skip records a line that does not count.
func (l *List) Skip(b ledger.Bad, _ []byte) { l.Bad = append(l.Bad, b) }

// Take folds a line, or returns why it does not count.
func (l *List) Take(b []byte) error {
	var n line
	if err := json.Unmarshal(b, &n); err != nil || (n.Name == "") != (n.Op == opBase) {
		return errors.New("not a line about a lock")
	}
	if l.most > 0 && n.N <= l.most {
		return ledger.ErrCopy
	}
	if err := l.step(&n); err != nil {
		return err
	}
	l.most = n.N
	return nil
}

func (l *List) step(n *line) error {
	if n.Op == opBase {
		if l.most > 0 || len(l.locks) > 0 {
			return ledger.ErrCopy
		}
		return nil
	}
	k := l.locks[n.Name]
	if k == nil {
		k = &Lock{Name: n.Name}
	}
	leave := func() {
		k.Waiters = slices.DeleteFunc(k.Waiters, func(w Waiter) bool { return w.Holder == n.Holder })
	}
	switch n.Op {
	case "take":
		if k.Held {
			return fmt.Errorf("%w: the lock is held", ledger.ErrCopy)
		}
		leave()
		k.Held, k.Holder, k.Note, k.Since = true, n.Holder, n.Note, n.At
	case "wait":
		if n.By == nil {
			return errors.New("the line names no waiter")
		}
		k.Waiters = append(k.Waiters, Waiter{n.Holder, *n.By, n.Note, n.At})
	case "leave":
		leave()
	case "release", "break":
		if !k.Held || k.Holder != n.Holder {
			return fmt.Errorf("%w: the lock is not held by that holder", ledger.ErrCopy)
		}
		k.Held, k.Holder, k.Note, k.Since = false, Holder{}, "", time.Time{}
	default:
		return errors.New("unknown op")
	}
	if !k.Held && len(k.Waiters) == 0 {
		delete(l.locks, n.Name)
		return nil
	}
	if l.locks == nil {
		l.locks = make(map[string]*Lock)
	}
	l.locks[n.Name] = k
	return nil
}

const opBase = "base"

// short returns lines that fold to the same locks. Their numbers continue from the last
// line's, which the first of them has, so that the list refuses every earlier line.
func (l *List) short() (lines [][]byte, err error) {
	base := max(l.most, 1) // earlier lines without numbers must be refused too
	all := []line{{Op: opBase}}
	for _, name := range slices.Sorted(maps.Keys(l.locks)) {
		k := l.locks[name]
		if k.Held {
			all = append(all, line{Op: "take", Name: name, At: k.Since, Holder: k.Holder, Note: k.Note})
		}
		for _, w := range k.Waiters {
			all = append(all, line{Op: "wait", Name: name, At: w.Since, Holder: w.Holder, By: &w.By, Note: w.Note})
		}
	}
	for i := range all {
		all[i].N = base + i
		one, err := ledger.Encode(&all[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, one)
	}
	return lines, nil
}

// Live reports whether a holder lives. It is called while the file is locked.
type Live func(Holder) bool

// All returns the locks that are held or waited for, by name, without holders and waiters
// that are gone.
func (l *List) All(live Live) (all []Lock) {
	c := l.copy()
	for _, n := range c.sweep(live, time.Time{}) {
		_ = c.step(&n) // valid, as sweep made it from the list
	}
	for _, name := range slices.Sorted(maps.Keys(c.locks)) {
		all = append(all, *c.locks[name])
	}
	return all
}

// sweep returns the lines that remove holders and waiters that are gone.
func (l *List) sweep(live Live, now time.Time) (all []line) {
	for _, name := range slices.Sorted(maps.Keys(l.locks)) {
		k := l.locks[name]
		if k.Held && !live(k.Holder) {
			all = append(all, line{Op: "release", Name: name, At: now, Holder: k.Holder, Why: "the holder has ended"})
		}
		for _, w := range k.Waiters {
			if !live(w.By) || !live(w.Holder) {
				all = append(all, line{Op: "leave", Name: name, At: now, Holder: w.Holder, Why: "the waiter has ended"})
			}
		}
	}
	return all
}

// HeldError means that another holder has a lock, or is before the caller in line.
type HeldError struct {
	Lock Lock
	Own  bool // the caller itself holds the lock until it releases it
}

func (e *HeldError) Error() string {
	if e.Own {
		return fmt.Sprintf("you (%s) have held the lock %s since %s; your commands cannot get it before you release it", e.Lock.Holder.Who, e.Lock.Name, e.Lock.Since.Local().Format("15:04:05"))
	}
	text := fmt.Sprintf("%[2]s waits for the lock %[1]s and comes first", e.Lock.Name, first(e.Lock.Waiters))
	if e.Lock.Held {
		text = fmt.Sprintf("%s has held the lock %s since %s", e.Lock.Holder.Who, e.Lock.Name, e.Lock.Since.Local().Format("15:04:05"))
		if e.Lock.Note != "" {
			text += " (" + e.Lock.Note + ")"
		}
	}
	return text
}

func first(all []Waiter) string {
	if len(all) == 0 {
		return "nobody"
	}
	return all[0].Who
}

var (
	// ErrDeadlock means that the holder of the lock waits, directly or not, for the caller.
	ErrDeadlock = errors.New("neither would ever go on")
	// ErrNotHeld means that nobody holds the lock.
	ErrNotHeld = errors.New("nobody has the lock")
)

// Wish is a request for a lock.
type Wish struct {
	Name   string
	Holder Holder
	By     Holder // the process that asks
	Note   string
	Wait   bool // wait in line if somebody else has it
}

// want decides on a wish. got: the caller has the lock now. If it waits in line, there is
// no error; if it may not wait, the error is a *HeldError.
func (l *List) want(w Wish, live Live, now time.Time) (lines []line, got bool, err error) {
	if err := check(w.Name, w.Note); err != nil {
		return nil, false, err
	}
	lines = l.sweep(live, now)
	for i := range lines {
		_ = l.step(&lines[i]) // valid, as sweep made it from the list
	}
	k := l.locks[w.Name]
	switch {
	case k == nil && len(l.locks) >= MaxLocks:
		return nil, false, fmt.Errorf("there are %d locks already, the maximum", MaxLocks)
	case k != nil && k.Held && k.Holder == w.Holder:
		return lines, true, nil
	case k == nil || !k.Held && (len(k.Waiters) == 0 || k.Waiters[0].Holder == w.Holder):
		n := line{Op: "take", Name: w.Name, At: now, Holder: w.Holder, Note: w.Note}
		return append(lines, n), true, l.step(&n)
	case k.Held && k.Holder.PID == 0 && k.Holder.same(w.By):
		return nil, false, &HeldError{*k, true} // it would wait for itself
	case !w.Wait:
		return nil, false, &HeldError{Lock: *k}
	case slices.ContainsFunc(k.Waiters, func(o Waiter) bool { return o.Holder == w.Holder }):
		return lines, false, nil
	}
	if path := l.cycle(w.Holder, w.Name); path != nil {
		return nil, false, fmt.Errorf("%w: %s", ErrDeadlock, strings.Join(path, ", "))
	}
	n := line{Op: "wait", Name: w.Name, At: now, Holder: w.Holder, By: &w.By, Note: w.Note}
	return append(lines, n), false, l.step(&n)
}

// cycle returns the chain of holders if h, by waiting for a lock, would wait for itself:
// for the holder, and for everybody before it in line. A lock of a process ends with that
// process, so it closes no cycle.
func (l *List) cycle(h Holder, name string) []string {
	var path []string
	seen := map[Holder]bool{}
	var visit func(name string, waits Holder) bool
	visit = func(name string, waits Holder) bool {
		for _, on := range l.ahead(name, waits) {
			path = append(path, on.text)
			if on.same(h) {
				return true
			}
			if !seen[on.Holder] {
				seen[on.Holder] = true
				for other, o := range l.locks {
					if slices.ContainsFunc(o.Waiters, func(w Waiter) bool { return w.same(on.Holder) }) && visit(other, on.Holder) {
						return true
					}
				}
			}
			path = path[:len(path)-1]
		}
		return false
	}
	if !visit(name, h) {
		return nil
	}
	return path
}

// obstacle is a holder or waiter that somebody waits for, with the reason.
type obstacle struct {
	Holder
	text string
}

// ahead returns those that h waits for, or would wait for, in line for a lock.
func (l *List) ahead(name string, h Holder) (all []obstacle) {
	k := l.locks[name]
	if k == nil {
		return nil
	}
	if k.Held && k.Holder.PID == 0 && k.Holder != h {
		all = append(all, obstacle{k.Holder, fmt.Sprintf("%s has %s", k.Holder.Who, name)})
	}
	for _, w := range k.Waiters {
		if w.same(h) {
			break
		}
		if w.Holder.PID == 0 {
			all = append(all, obstacle{w.Holder, fmt.Sprintf("%s comes first for %s", w.Who, name)})
		}
	}
	return all
}

// Ahead returns the holders whose end h waits for in line for a lock: the lock's holder, or
// the first in line. turn: no living holder or waiter is ahead of h, or h is not in line,
// so h must ask for the lock again.
func (l *List) Ahead(name string, h Holder, live Live) (ends []Holder, turn bool) {
	k := l.locks[name]
	if k == nil || !slices.ContainsFunc(k.Waiters, func(w Waiter) bool { return w.Holder == h }) {
		return nil, true
	}
	if k.Held {
		return []Holder{k.Holder}, !live(k.Holder)
	}
	for _, w := range k.Waiters {
		if w.Holder == h {
			break
		}
		if live(w.By) && live(w.Holder) {
			return []Holder{w.By, w.Holder}, false
		}
	}
	return nil, true
}

// leave returns the lines that remove a waiter.
func (l *List) leave(name string, h Holder, now time.Time) []line {
	k := l.locks[name]
	if k == nil || !slices.ContainsFunc(k.Waiters, func(w Waiter) bool { return w.Holder == h }) {
		return nil
	}
	return []line{{Op: "leave", Name: name, At: now, Holder: h}}
}

// release returns the lines that end a lock, for its holder, or with force for anybody.
func (l *List) release(name string, by Holder, force bool, live Live, now time.Time) ([]line, error) {
	k := l.locks[name]
	if k == nil || !k.Held || !live(k.Holder) {
		return nil, fmt.Errorf("%w %q", ErrNotHeld, name)
	}
	n := line{Op: "release", Name: name, At: now, Holder: k.Holder}
	switch {
	case force:
		n.Op, n.By = "break", &by
	case !k.Holder.same(by):
		return nil, &HeldError{Lock: *k}
	case k.Holder.PID > 0:
		return nil, fmt.Errorf("process %d has the lock %s, which ends with that process", k.Holder.PID, name)
	}
	return []line{n}, nil
}

func namePattern() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,99}$`) }

func check(name, note string) error {
	switch {
	case !namePattern().MatchString(name):
		return fmt.Errorf("%.40q is not a lock name: use letters, digits and . _ : / -, at most 100", name)
	case len(note) > MaxNote || strings.ContainsAny(note, "\n\r"):
		return fmt.Errorf("a note is one line of at most %d bytes", MaxNote)
	}
	return nil
}
