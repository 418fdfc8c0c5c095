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

// This file opens every file under a project's folder, for all packages. The folder may
// come from someone else and contain a link where cmux writes, a pipe where it reads, or a
// device that never ends. The rules:
//
//   - No link is followed in the folder or below it, and the folder itself must not be
//     a link. Links above it belong to the person and are followed.
//   - Only regular files are opened, without waiting for a pipe's other end.
//   - A caller that reads a whole file gives its maximum size.
//
// With openat2, this costs one system call more than a plain open: fstat on the opened
// file. For a path outside any project's folder, the rules apply to its last element only.

// FileError is why cmux does not use a file or a folder of a project.
type FileError struct {
	Path string // of the file in the way
	What string // what is wrong, such as "is a symbolic link"
}

func (e *FileError) Error() string {
	return fmt.Sprintf("%s %s, and cmux uses none in %s: inspect and remove it", e.Path, e.What, Folder)
}

// SizeError means that a file is larger than its reader accepts.
type SizeError struct {
	Path string
	Most int64 // bytes
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s is larger than %d bytes, so cmux did not write it: inspect and remove it", e.Path, e.Most)
}

// MaxFile is the maximum size in bytes of files that cmux writes and reads whole.
const MaxFile = 256 << 20

// below splits path before the last project folder in it; without one, before its last
// element.
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

// openFD opens path by the rules above, but does not check the type of the file.
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

// walk opens rel below root, one element at a time.
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

// blame replaces the error of an open by one that names the link or other file in the way,
// if there is one.
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

// regularFD is openFD for a regular file.
func regularFD(path string, flag int, perm fs.FileMode) (int, error) {
	// A pipe must not block the open; on a regular file the flag has no effect.
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
		// F_SETFL accepts only flags of the file's state, not those for opening.
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

// OpenFile is os.OpenFile for a regular file of a project.
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

// ReadFile reads a file of a project of at most so many bytes; for a larger file, the error
// is a *SizeError.
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
		case int64(len(b)) > most: // it grew in between
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

// PutFile creates the file at path, or replaces the one there, without waiting for the
// disk. It never writes into an existing file, which may be a hard link to another file.
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

// bare returns an error of a file without the file's name, for callers that name it.
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

// at calls f with the folder of path and the last element.
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

// Mkdir makes a folder; if path exists, the error wraps fs.ErrExist.
func Mkdir(path string, perm fs.FileMode) error {
	return at(path, func(dir int, name string) error { return unix.Mkdirat(dir, name, uint32(perm)) })
}

// MkdirAll makes a folder and its missing parents.
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
	if fd, err = dirFD(path); err != nil { // made in between, or not a folder
		return err
	}
	return unix.Close(fd)
}

// RemoveFile removes a file, a link or anything else but a folder.
func RemoveFile(path string) error {
	return at(path, func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
}

// RemoveDir removes an empty folder.
func RemoveDir(path string) error { return rmdir(path) }

// MakePipe makes a named pipe and opens both its ends; if path exists, the error wraps
// fs.ErrExist.
func MakePipe(path string, perm fs.FileMode) (*os.File, error) {
	// Not every system can make a pipe relative to an open folder. The check below finds a
	// link that has replaced the folder in between.
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

// Rename renames a file within its folder and replaces a file of the new name.
func Rename(path, name string) error {
	return at(path, func(dir int, old string) error { return unix.Renameat(dir, old, dir, name) })
}

// ReadDir lists a folder, sorted by name.
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

// Type returns the type of the file at path: a regular file, a folder, a socket, ... Only a
// link among its parents is an error.
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

// Expect returns a *FileError if the file at path is of another type than want (0: a
// regular file). A missing file is no error.
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

// hidden returns a temporary name for a file that will be renamed to name.
func hidden(name string) string { return "." + name + "." + rand.Text()[:10] + ".tmp" }

func eintr(call func() (int, error)) (fd int, err error) {
	for {
		if fd, err = call(); err != unix.EINTR {
			return fd, err
		}
	}
}
