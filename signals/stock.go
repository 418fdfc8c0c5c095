package signals

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// stocked is how many files a Stock holds: two nodes may end together.
const stocked = 2

// Stock has files for markers made ahead of need, beside what its user does
// meanwhile: without names, and empty. On ext4 a new file takes longer than all
// else that a marker takes, as inodes that were freed a moment ago are passed
// over. A process that dies leaves none of them.
type Stock struct {
	dir   string
	files chan int
	over  chan struct{}
	done  sync.WaitGroup
}

// NewStock begins a stock for the signals folder dir. Close ends it.
func NewStock(dir string) *Stock {
	s := &Stock{dir: dir, files: make(chan int, stocked-1), over: make(chan struct{})}
	s.done.Go(func() {
		for {
			fd, ok := openUnnamed(dir)
			if !ok {
				return // each marker makes its own, and says what is wrong
			}
			select {
			case s.files <- fd:
			case <-s.over:
				unix.Close(fd)
				return
			}
		}
	})
	return s
}

// Prepare is the package's, with a file that is there already.
func (s *Stock) Prepare(name string, code int) (*Pending, error) {
	select {
	case fd := <-s.files:
		if p, err := s.with(fd, name, code); err == nil {
			return p, nil
		}
		unix.Close(fd)
	default:
	}
	return Prepare(s.dir, name, code)
}

func (s *Stock) with(fd int, name string, code int) (*Pending, error) {
	path, err := markerPath(s.dir, name)
	if err != nil {
		return nil, err
	}
	if code < 0 || code > 255 {
		return nil, fmt.Errorf("%d is no exit code", code)
	}
	// The folder may be another than when the file was made.
	dir, err := dirFD(s.dir)
	if err != nil {
		return nil, err
	}
	unix.Close(dir)
	p := &Pending{path: path, fd: fd}
	p.id, err = fill(fd, Exit(code))
	return p, err
}

// Close drops what is left.
func (s *Stock) Close() {
	close(s.over)
	s.done.Wait()
	for {
		select {
		case fd := <-s.files:
			unix.Close(fd)
		default:
			return
		}
	}
}
