package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"cmux/signals"
	"cmux/worktree/git"
)

// ErrCramped says that a disk has no room left to begin anything on.
var ErrCramped = errors.New("no room to begin")

// NoSpace reports whether err says that a disk is full or a quota used up.
func NoSpace(err error) bool {
	if errors.Is(err, signals.ErrDiskFull) || errors.Is(err, ErrCramped) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	var git *git.Error // whose words are always English
	return errors.As(err, &git) && (strings.Contains(git.Stderr, "No space left on device") || strings.Contains(git.Stderr, "Disk quota exceeded"))
}

// NoFiles reports whether err says that this process, or the machine, has no file
// descriptor left. One comes back when something else ends.
func NoFiles(err error) bool {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return true
	}
	var git *git.Error
	return errors.As(err, &git) && (strings.Contains(git.Stderr, "Too many open files"))
}

const (
	// FewestFiles is how many files the process of a run must be able to open.
	FewestFiles = 32

	filesKept = 48 // that it needs, whatever works
	filesEach = 5  // that a node needs while it starts, works and is judged
)

// MostAtOnce is how many nodes the process of a run carries at once with a limit of
// file descriptors. The others wait for a slot.
func MostAtOnce(limit uint64) int {
	if limit <= filesKept+filesEach {
		return 1
	}
	return int(min((limit-filesKept)/filesEach, math.MaxInt32))
}

// CheckFiles refuses a process that may open too few files to carry a run.
func CheckFiles() error {
	if limit := FileLimit(); limit < FewestFiles {
		return fmt.Errorf("a run needs at least %d open files, and a process may open %d here (ulimit -n)", FewestFiles, limit)
	}
	return nil
}

// FileLimit is how many files this process may have open (ulimit -n).
func FileLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur)
}

// roomLeft is below what a disk counts as full.
const roomLeft = 64 << 10

// Cramped reports whether the disk that dir is on is full for this user. One
// that tells nothing about itself is not.
func Cramped(dir string) bool {
	free, known := Room(dir)
	return known && free < roomLeft
}

// Room is how many bytes this user can still write on the disk that dir is on, which
// is 0 where it can hold no further file. A disk may tell nothing about itself.
func Room(dir string) (free uint64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Blocks == 0 {
		return 0, false
	}
	if fs.Files > 0 && fs.Ffree == 0 {
		return 0, true
	}
	blocks := uint64(fs.Bavail)
	if os.Geteuid() == 0 {
		blocks = uint64(fs.Bfree) // what is kept back for root
	}
	return blocks * uint64(fs.Bsize), true
}
