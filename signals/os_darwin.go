package signals

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// publishLock does nothing: here flock and fcntl locks exclude each other, even on one open
// file, so probe tests the flock itself.
func publishLock(*os.File) error { return nil }

func withdraw(*os.File) error { return nil }

// probe reports whether another open file holds the lock on f's file. It takes a shared
// lock for an instant; TryLock tries again when it meets that.
func probe(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, flock(f, unix.LOCK_UN)
}

// datasync makes what was written to f durable; Sync is F_FULLFSYNC here.
func datasync(f *os.File) error { return f.Sync() }

// openUnnamed is not supported here: markers are prepared under a hidden name.
func openUnnamed(string) (fd int, ok bool) { return -1, false }

func linkUnnamed(int, string) error { return unix.ENOTSUP }

// renameNew renames unless the new name exists. It is for file systems without hard links.
func renameNew(from, to string) error {
	return retryEINTR(func() error { return unix.RenamexNp(from, to, unix.RENAME_EXCL) })
}

// openBelow opens rel below root without following a link.
func openBelow(_, root, rel string, flag int, perm uint32) (int, error) {
	return walk(root, rel, flag, perm)
}
