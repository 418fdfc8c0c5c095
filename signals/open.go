package signals

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Every file under a project's folder is opened by what stands here, in
// whatever package: the folder may come from someone else, with a link where
// cmux writes, a pipe where it reads, or a device that never ends. The rules:
//
//   - No link is followed in the folder or below it, to wherever it leads, and
//     neither is the folder itself when it is one. Above it links are the
//     person's own.
//   - Only regular files are opened, without waiting for a pipe's other end.
//   - Whoever reads a file whole says how large it may be.
//
// Where the system allows it (openat2) this costs one system call more than
// opening blindly: the look at what was opened. A path outside any project's
// folder has only its last element held to the rules.

// FileError says why a file or a folder of a project is not used.
type FileError struct {
	Path string // of what is in the way
	What string // what it is, as "is a symbolic link"
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s %s, and cmux uses none in %s: look at it and remove it", e.Path, e.What, Folder)
}

// SizeError says that a file is larger than its reader takes.
type SizeError struct {
	Path string
	Most int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes, and not what cmux wrote: look at it and remove it", e.Path, e.Most)
}

// MaxFile is how large the files are that cmux itself writes and reads whole,
// at the most.
const MaxFile = 256 << 20

// below splits path before the last folder of a project in it. Without one,
// before its last element.
func below(path string) (root, rel string) {
	path = filepath.Clean(path)
	const inside = "/" + Folder
	switch i := strings.LastIndex(path, inside+"/"); {
	case i >= 0:
		return path[:i+1], path[i+1:]
	case strings.HasSuffix(path, inside):
		return path[:len(path)-len(Folder)], Folder
	case path == Folder || strings.HasPrefix(path, Folder+"/"):
		return ".", path
	}
	dir, file := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return dir, file
}

// openFD opens path by the rules above, but for the kind of file.
func openFD(path string, flag int, perm uint32) (int, error) {
	root, rel := below(path)
	if rel == "" { // the root of the file system
		return eintr(func() (int, error) { return unix.Open(path, flag|unix.O_CLOEXEC, perm) })
	}
	fd, err := openBelow(path, root, rel, flag, perm)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: path, Err: blame(root, rel, err)}
	}
	return fd, nil
}

// walk opens rel below root, one element after the other.
func walk(root, rel string, flag int, perm uint32) (int, error) {
	dir, err := eintr(func() (int, error) {
		return unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return -1, err
	}
	for {
		elem, rest, more := strings.Cut(rel, "/")
		how, mode := flag, perm
		if more {
			how, mode = unix.O_RDONLY|unix.O_DIRECTORY, 0
		}
		fd, err := eintr(func() (int, error) {
			return unix.Openat(dir, elem, how|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		})
		unix.Close(dir)
		if err != nil || !more {
			return fd, err
		}
		dir, rel = fd, rest
	}
}

// blame makes the error of an open name what is in its way, where it is a
// link or no file at all.
func blame(root, rel string, err error) error {
	switch err {
	case unix.ELOOP, unix.ENOTDIR, unix.EISDIR, unix.ENXIO, unix.EMLINK:
	default:
		return err
	}
	path := strings.TrimSuffix(root, "/")
	for elem := range strings.SplitSeq(rel, "/") {
		path += "/" + elem
		info, lerr := os.Lstat(path)
		if lerr != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return &FileError{Path: path, What: "is " + modeType(info.Mode())}
		}
	}
	return err
}

func modeType(m fs.FileMode) string {
	switch m.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	}
	return "a device"
}

// regularFD is openFD of a regular file.
func regularFD(path string, flag int, perm fs.FileMode) (int, error) {
	// A pipe must not hold up who opens it; a file has no use for the flag.
	fd, err := openFD(path, flag|unix.O_NONBLOCK, uint32(perm))
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = &FileError{Path: path, What: "is " + fileType(uint32(st.Mode))}
	}
	if err == nil {
		// Only flags of the file's state are taken here, none of opening.
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flag&unix.O_APPEND)
	}
	if err != nil {
		unix.Close(fd)
		return -1, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, nil
}

// Open opens a regular file of a project for reading.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile of a regular file of a project.
func OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := regularFD(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenDir opens a folder of a project.
func OpenDir(path string) (*os.File, error) {
	fd, err := dirFD(path)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func dirFD(path string) (int, error) { return openFD(path, unix.O_RDONLY|unix.O_DIRECTORY, 0) }

// ReadFile reads a file of a project that may hold at most so many bytes; a
// larger one is a *SizeError.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, &SizeError{path, most}
	}
	b := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > most: // it grows meanwhile
			return nil, &SizeError{path, most}
		case err == io.EOF:
			return b, nil
		case err != nil:
			return nil, err
		case len(b) == cap(b):
			b = append(b, 0)[:len(b)]
		}
	}
}

// PutFile makes the file at path, in the place of one that is there, without
// waiting for the disk. It never writes into a file that it did not make: one
// of the same name may be another name of somebody's file.
func PutFile(path string, data []byte, perm fs.FileMode) error {
	return at(path, func(dir int, name string) error {
		fd, err := createFD(dir, name, perm)
		if err == unix.EEXIST {
			if err = unix.Unlinkat(dir, name, 0); err == nil || err == unix.ENOENT {
				fd, err = createFD(dir, name, perm)
			}
		}
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), path)
		_, err = f.Write(data)
		return errors.Join(bare(err), bare(f.Close()))
	})
}

// bare is an error of a file without its name, for who names it.
func bare(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func createFD(dir int, name string, perm fs.FileMode) (int, error) {
	return eintr(func() (int, error) {
		return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, uint32(perm))
	})
}

// at calls f with the folder of path and the name in it.
func at(path string, f func(dir int, name string) error) error {
	dir, err := dirFD(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := f(dir, filepath.Base(path)); err != nil {
		var known *fs.PathError
		if errors.As(err, &known) {
			return err
		}
		return &fs.PathError{Op: "change", Path: path, Err: err}
	}
	return nil
}

// Mkdir makes a folder; one that is there is an error that wraps fs.ErrExist.
func Mkdir(path string, perm fs.FileMode) error {
	return at(path, func(dir int, name string) error { return unix.Mkdirat(dir, name, uint32(perm)) })
}

// MkdirAll makes a folder and those that it stands in, as far as they are not
// there.
func MkdirAll(path string, perm fs.FileMode) error {
	fd, err := dirFD(path)
	if err == nil {
		return unix.Close(fd)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if up := filepath.Dir(path); up != path {
		if err := MkdirAll(up, perm); err != nil {
			return err
		}
	}
	if err := Mkdir(path, perm); !errors.Is(err, fs.ErrExist) {
		return err
	}
	if fd, err = dirFD(path); err != nil { // made meanwhile, or no folder
		return err
	}
	return unix.Close(fd)
}

// RemoveFile removes a file, or a link or whatever else has its name but a
// folder.
func RemoveFile(path string) error {
	return at(path, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
}

// RemoveDir removes an empty folder.
func RemoveDir(path string) error { return rmdir(path) }

// MakePipe makes a named pipe and opens both its ends; what has its name already is
// an error that wraps fs.ErrExist.
func MakePipe(path string, perm fs.FileMode) (*os.File, error) {
	// Not every system makes a pipe in an open folder: a link that takes the folder's
	// place just now is found out below.
	dir, err := dirFD(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	unix.Close(dir)
	if err := retryEINTR(func() error { return unix.Mkfifo(path, uint32(perm)) }); err != nil {
		return nil, &fs.PathError{Op: "make a pipe", Path: path, Err: err}
	}
	fd, err := openFD(path, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFIFO {
		err = &FileError{Path: path, What: "is " + fileType(uint32(st.Mode))}
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Rename gives a file another name in its own folder, in the place of what has
// that name.
func Rename(path, name string) error {
	return at(path, func(dir int, old string) error { return unix.Renameat(dir, old, dir, name) })
}

// ReadDir lists a folder, by name.
func ReadDir(path string) ([]fs.DirEntry, error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// Type says what stands at path: a regular file, a folder, a socket, ... Only
// a link on the way to it is an error.
func Type(path string) (fs.FileMode, error) {
	var st unix.Stat_t
	err := at(path, func(dir int, name string) error {
		return retryEINTR(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	})
	if err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0, nil
	case unix.S_IFDIR:
		return fs.ModeDir, nil
	case unix.S_IFLNK:
		return fs.ModeSymlink, nil
	case unix.S_IFIFO:
		return fs.ModeNamedPipe, nil
	case unix.S_IFSOCK:
		return fs.ModeSocket, nil
	}
	return fs.ModeDevice, nil
}

// Expect reports as a *FileError what stands at path and is of another type
// than this one (0: a regular file). Nothing at all is as expected.
func Expect(path string, want fs.FileMode) error {
	is, err := Type(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && is == want {
		return nil
	}
	if err != nil {
		return err
	}
	return &FileError{Path: path, What: "is " + modeType(is)}
}

// hidden is a name for what becomes the file name and has not yet.
func hidden(name string) string { return "." + name + "." + rand.Text()[:10] + ".tmp" }

func eintr(call func() (int, error)) (fd int, err error) {
	for {
		if fd, err = call(); err != unix.EINTR {
			return fd, err
		}
	}
}
