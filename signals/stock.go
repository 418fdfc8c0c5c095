package signals

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// stocked is how many files a Stock holds: two nodes may end at the same time.
const stocked = 2

// Stock prepares files for markers in advance, in the background: without names, and empty.
// On ext4, creating the file is the slowest part of a marker, because the kernel skips
// inodes that were freed a moment ago. If the process dies, no file is left.
type Stock struct {
	dir   string
	files chan int
	over  chan struct{}
	done  sync.WaitGroup
}

// NewStock returns a stock for the signals folder dir. Close ends it.
func NewStock(dir string) *Stock {
	s := &Stock{dir: dir, files: make(chan int, stocked-1), over: make(chan struct{})}
	s.done.Go(func() {
		for {
			fd, ok := openUnnamed(dir)
			if !ok {
				return // each Prepare makes its own file and returns the error
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

// Prepare is the function Prepare, with a file from the stock if there is one.
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
		return nil, fmt.Errorf("%d is not an exit code", code)
	}
	// The folder may have been replaced since the file was made.
	dir, err := dirFD(s.dir)
	if err != nil {
		return nil, err
	}
	unix.Close(dir)
	p := &Pending{path: path, fd: fd}
	p.id, err = fill(fd, Exit(code))
	return p, err
}

// Close removes the unused files.
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
