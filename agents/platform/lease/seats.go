package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cmux/agents/platform/seal"
)

// Seats are the numbers of agents that may work at the same time, in all runs of a person
// together. A run that finds no free seat waits in line, so that a run with many short
// agents cannot keep others out: the first run in line gets the next free seat.
type Seats struct {
	dir    string
	by     Holder
	ticket *os.File // the run's position in the line; nil: it does not wait
	place  int
}

const (
	// waitingFolder holds a file for each waiting run, named by its position in the line;
	// the run holds a lock on it.
	waitingFolder = "waiting"
	// patience is how long a run keeps its position without a sign of life: a stopped run
	// must not block the others.
	patience = 10 * time.Second
)

// OpenSeats returns the seats, for use by one run.
func OpenSeats(by Holder) (*Seats, error) {
	dir, err := SeatFolder()
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, waitingFolder), 0o700)
	}
	return &Seats{dir: dir, by: by}, err
}

// SeatFolder returns the folder of the seats.
func SeatFolder() (string, error) {
	dir, err := seal.Folder()
	return filepath.Join(dir, "agents"), err
}

// Dir returns the folder that changes when a seat becomes free.
func (s *Seats) Dir() string { return s.dir }

// Take takes a seat for a node. most is the number of seats; below 1: no limit. If no seat
// is free for the node, the run waits in line, and Take returns the holders. A node that
// already has a seat keeps it, whatever the limit.
func (s *Seats) Take(most int, node string, held bool) (*Lease, []Holder, error) {
	guard, err := Guard(s.dir)
	if err != nil {
		return nil, nil, err
	}
	defer guard.Close()
	taken, err := heldIn(s.dir)
	if err != nil {
		return nil, nil, err
	}
	if most > 0 && !held {
		before, err := s.before()
		if err != nil {
			return nil, nil, err
		}
		if len(taken)+before >= most {
			return nil, holders(taken), s.line()
		}
	}
	n := 0
	for ; ; n++ {
		if _, is := taken[n]; !is {
			break
		}
	}
	by := s.by
	by.Node = node
	l, err := take(s.dir, n, by)
	if err == nil && !held {
		s.leave() // the run's next request goes to the end of the line
	}
	return l, nil, err
}

// holders returns the holders, by number.
func holders(taken map[int]Holder) (all []Holder) {
	numbers := make([]int, 0, len(taken))
	for n := range taken {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		all = append(all, taken[n])
	}
	return all
}

// line puts the run at the end of the line if it is not in it. The caller has the folder's
// lock.
func (s *Seats) line() error {
	if s.ticket != nil {
		return nil
	}
	last := 0
	if err := s.each(func(place int, _ *os.File, _ bool) { last = max(last, place) }); err != nil {
		return err
	}
	s.place = last + 1
	f, err := os.OpenFile(path(filepath.Join(s.dir, waitingFolder), s.place), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = write(f, s.by)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.ticket = f
	return nil
}

// before returns how many live runs are before this one.
func (s *Seats) before() (n int, err error) {
	now := time.Now()
	err = s.each(func(place int, f *os.File, held bool) {
		if place == s.place && s.ticket != nil || s.ticket != nil && place > s.place {
			return
		}
		info, err := f.Stat()
		if err == nil && held && now.Sub(info.ModTime()).Abs() < patience {
			n++
		}
	})
	return n, err
}

// each calls f for all positions in the line, and removes those that no process holds.
func (s *Seats) each(look func(place int, f *os.File, held bool)) error {
	dir := filepath.Join(s.dir, waitingFolder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		place, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		f, err := os.OpenFile(path(dir, place), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // not a position
		}
		err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			look(place, f, true)
		} else {
			look(place, f, false)
			os.Remove(path(dir, place))
		}
		f.Close()
	}
	return nil
}

// Waits renews the run's position, if it has one.
func (s *Seats) Waits() {
	if s.ticket != nil {
		now := time.Now()
		os.Chtimes(s.ticket.Name(), now, now)
	}
}

// Leave gives up the run's position: none of its nodes waits any more.
func (s *Seats) Leave() {
	if s.ticket != nil {
		s.leave()
		stir(s.dir)
	}
}

func (s *Seats) leave() {
	if s.ticket != nil {
		os.Remove(s.ticket.Name())
		s.ticket.Close()
		s.ticket, s.place = nil, 0
	}
}

// stir wakes the waiting runs.
func stir(dir string) {
	now := time.Now()
	os.Chtimes(filepath.Join(dir, "lock"), now, now)
}

// Sit takes a seat for a node as Take does, or returns why there is none. held: the node
// already works, and its wrapper may have kept its seat.
func (s *Seats) Sit(most int, node string, held bool) (l *Lease, why string, err error) {
	if held {
		if l, err = JoinSeat(s.by, node); l != nil || err != nil {
			return l, "", err
		}
	}
	l, taken, err := s.Take(most, node, held)
	if l != nil || err != nil {
		return l, "", err
	}
	if why = Crowded(most, taken); why == "" {
		why = "max_agents: other runs come first"
	}
	return nil, why, nil
}

// JoinSeat holds the seat that a run has taken for a node, until this process ends or calls
// ReturnSeat; nil: the node has none.
func JoinSeat(by Holder, node string) (*Lease, error) {
	dir, err := SeatFolder()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	guard, err := Guard(dir)
	if err != nil {
		return nil, err
	}
	defer guard.Close()
	taken, err := heldIn(dir)
	if err != nil {
		return nil, err
	}
	for n, h := range taken {
		if h.same(by) && h.Node == node {
			return take(dir, n, by)
		}
	}
	return nil, nil
}

// ReturnSeat releases this process's hold on a seat and wakes waiting runs; nil is allowed.
func ReturnSeat(l *Lease) error {
	if l == nil {
		return nil
	}
	dir := filepath.Dir(l.f.Name())
	err := l.Release()
	stir(dir)
	return err
}

// Crowded names the holders if all seats are in use; empty: a seat is free.
func Crowded(most int, taken []Holder) string {
	if most < 1 || len(taken) < most {
		return ""
	}
	text := fmt.Sprintf("max_agents: %d of %d in use: ", len(taken), most)
	for i, h := range taken {
		if i == 4 {
			return text + fmt.Sprintf(" and %d more", len(taken)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += h.String()
	}
	return text
}

// String returns the holder for people.
func (h Holder) String() string {
	text := filepath.Base(h.Project) + "/" + h.Session
	if h.Node != "" {
		text += "/" + h.Node
	}
	return text
}

// Seated returns the holders of seats, by number.
func Seated() ([]Holder, error) {
	dir, err := SeatFolder()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	taken, err := Held(dir)
	return holders(taken), err
}
