package signals

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoDir means that the signals folder itself is missing. That does not count as the
// removal of each marker.
var ErrNoDir = errors.New("the signals folder is missing")

// Scanner observes the markers of a plan. It remembers what it saw: so it reads a file only
// after a change, and knows since when a marker is empty or missing. It is not safe for
// concurrent use.
type Scanner struct {
	dir   string
	files []string       // node -> file name
	index map[string]int // file name -> node
	seen  []sight
	left  []Marker // node -> marker as its writer left it, see Believe
	pass  int

	folder   Identity // identity of the folder with the markers
	expected bool     // folder is known
}

// sight is what the Scanner remembers of one node's marker.
type sight struct {
	Observed
	looked bool      // Observed is valid
	pass   int       // the last Scan that met the file
	read   time.Time // when the content was read
}

// trusted is how long a file must have kept its identity before the Scanner uses its
// content from memory: a second write within one tick of the file system's clock does not
// change the identity. The coarsest clock has 2 s (FAT).
const trusted = 3 * time.Second

// NewScanner returns a Scanner for the nodes with these names in the signals folder dir,
// which need not exist yet. Observations have the order of names.
func NewScanner(dir string, names []string) *Scanner {
	s := &Scanner{dir: dir, index: make(map[string]int, len(names)), seen: make([]sight, len(names)), left: make([]Marker, len(names))}
	for i, name := range names {
		s.files = append(s.files, name+Suffix)
		s.index[name+Suffix] = i
	}
	return s
}

// Scan observes the whole folder. It returns one observation per name, in order, and the
// names of files that belong to no node. now must come from time.Now, so that it has the
// monotonic clock. If the folder is missing, the error wraps ErrNoDir and every observation
// has DirGone; after another error there are no observations.
func (s *Scanner) Scan(now time.Time) (all []Observed, others []string, err error) {
	d, err := OpenDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.dirGone()
		for i := range s.seen {
			s.seen[i].see(Observed{}, now)
		}
		return s.all(), nil, fmt.Errorf("%s: %w", s.dir, ErrNoDir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("scan signals: %w", err)
	}
	defer d.Close()
	fd := int(d.Fd())
	if err := s.enter(fd); err != nil {
		return nil, nil, fmt.Errorf("scan signals: %w", err)
	}
	files, err := d.Readdirnames(-1)
	if err != nil {
		return nil, nil, fmt.Errorf("scan signals: %w", err)
	}
	s.pass++
	for _, file := range files {
		i, ok := s.index[file]
		if !ok {
			if file != ".git" {
				others = append(others, file)
			}
			continue
		}
		there, err := s.look(fd, file, i, now, true)
		if err != nil {
			return nil, nil, fmt.Errorf("scan signals: %w", err)
		}
		if there {
			s.seen[i].pass = s.pass
		}
	}
	for i := range s.seen {
		if s.seen[i].pass != s.pass {
			s.seen[i].see(Observed{}, now)
		}
	}
	return s.all(), others, nil
}

// Look observes the marker of node i only, for example after a notification.
func (s *Scanner) Look(i int, now time.Time) (Observed, error) {
	fd, err := dirFD(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		s.dirGone()
		s.seen[i].see(Observed{}, now)
		return s.seen[i].Observed, nil
	}
	if err != nil {
		return Observed{}, fmt.Errorf("look at signals: %w", err)
	}
	defer unix.Close(fd)
	if err := s.enter(fd); err != nil {
		return Observed{}, &fs.PathError{Op: "look at signals", Path: s.dir, Err: err}
	}
	there, err := s.look(fd, s.files[i], i, now, false)
	if err != nil {
		return Observed{}, fmt.Errorf("look at signals: %w", err)
	}
	if !there {
		s.seen[i].see(Observed{}, now)
	}
	return s.seen[i].Observed, nil
}

// Same reports, with one system call, whether the marker of node i is the file with this
// identity. That is enough after a notification: a Scan finds writes within one tick of the
// file system's clock.
func (s *Scanner) Same(i int, id Identity) bool {
	var st unix.Stat_t
	err := retryEINTR(func() error {
		return unix.Fstatat(unix.AT_FDCWD, s.dir+"/"+s.files[i], &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return err == nil && identity(&st) == id
}

// enter records the identity of the observed folder. If it has changed, the missing markers
// went with the old folder.
func (s *Scanner) enter(dirfd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(dirfd, &st); err != nil {
		return err
	}
	folder := Identity{Inode: st.Ino}
	// Inode numbers are reused at once; the file that Init creates in the folder also has a
	// time.
	if unix.Fstatat(dirfd, ".git/HEAD", &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		folder = identity(&st)
	}
	if s.expected && s.folder != folder {
		s.dirGone()
	}
	s.folder, s.expected = folder, true
	return nil
}

// Folder returns the identity of the signals folder as last seen, for Expect.
func (s *Scanner) Folder() Identity { return s.folder }

// Expect tells a new Scanner in which folder an earlier one saw the markers. If the folder
// is another one now, missing markers count as gone with their folder, not as removed.
func (s *Scanner) Expect(folder Identity) { s.folder, s.expected = folder, true }

// Again resets a Scanner to the state of a new one that Expects this folder, except that it
// keeps the contents of unchanged markers.
func (s *Scanner) Again(folder Identity) {
	for i := range s.seen {
		if !s.seen[i].Exists {
			s.seen[i] = sight{}
		}
	}
	s.Expect(folder)
}

// Believe tells a Scanner which marker the writer of node i left; the zero Marker: unknown.
// A Scan then need not read a file that has not changed since: it has that identity, and
// its ctime is later than its mtime, because it got its name after its content. A write
// would make both equal.
func (s *Scanner) Believe(i int, m Marker) { s.left[i] = m }

// untouched reports whether the file is the one that Believe named for node i.
func (s *Scanner) untouched(i int, st *unix.Stat_t) bool {
	m := &s.left[i]
	return m.Identity.Inode != 0 && m.Content.Kind != Bad && m.Identity == identity(st) && st.Ctim.Nano() > st.Mtim.Nano()
}

// Node returns the index of the node whose marker has this file name (without its folder),
// or -1.
func (s *Scanner) Node(file string) int {
	if i, ok := s.index[file]; ok {
		return i
	}
	return -1
}

func (s *Scanner) all() []Observed {
	all := make([]Observed, len(s.seen))
	for i := range s.seen {
		all[i] = s.seen[i].Observed
	}
	return all
}

// dirGone marks all markers as gone with their folder, each until it is seen again.
func (s *Scanner) dirGone() {
	for i := range s.seen {
		s.seen[i].looked, s.seen[i].Observed = true, Observed{DirGone: true}
	}
}

// see records an observation and since when it has been so.
func (v *sight) see(o Observed, now time.Time) {
	if !o.Exists {
		o.DirGone = v.looked && !v.Exists && v.DirGone
	}
	o.Since = now
	if v.looked && v.Exists == o.Exists && v.Identity == o.Identity && v.Content == o.Content && !v.Since.IsZero() {
		o.Since = v.Since
	}
	v.Observed, v.looked = o, true
}

// look observes one file of the folder dirfd and reports whether it exists. If the file
// cannot be opened because file descriptors or memory are used up, look returns that error
// and no observation.
func (s *Scanner) look(dirfd int, file string, i int, now time.Time, remember bool) (there bool, err error) {
	v := &s.seen[i]
	var st unix.Stat_t
	err = retryEINTR(func() error { return unix.Fstatat(dirfd, file, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err == unix.ENOENT {
		return false, nil
	}
	o := Observed{Exists: true}
	switch {
	case err != nil:
		o.Problem = "cannot be looked at: " + err.Error()
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		o.Identity, o.Changed = identity(&st), changed(&st)
		o.Problem = "is " + fileType(uint32(st.Mode)) + ", not a file"
	case remember && v.Exists && v.Identity == identity(&st) && v.read.Sub(v.Since) > trusted:
		return true, nil
	case remember && s.untouched(i, &st):
		o.Identity, o.Changed, o.Content = identity(&st), changed(&st), s.left[i].Content
	default:
		if o, err = readMarker(dirfd, file); err == unix.ENOENT {
			return false, nil
		}
		if err != nil {
			return false, &fs.PathError{Op: "open", Path: file, Err: err}
		}
		v.read = now
	}
	v.see(o, now)
	return true, nil
}

// readMarker reads a small file and returns its observation. It takes the identity before
// the content, so that a change in between shows in the next look. It returns an error only
// if the file is gone, or if the error says nothing about the file.
func readMarker(dirfd int, file string) (o Observed, err error) {
	o.Exists = true
	var fd int
	err = retryEINTR(func() (err error) {
		fd, err = unix.Openat(dirfd, file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	switch err {
	case nil:
	case unix.ENOENT, unix.EMFILE, unix.ENFILE, unix.ENOMEM:
		return o, err
	default:
		o.Problem = "cannot be read: " + err.Error()
		return o, nil
	}
	defer unix.Close(fd)
	var buf [maxMarker + 1]byte
	for range 3 { // a write may happen between the two calls
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err != nil {
			break
		}
		o.Identity, o.Changed = identity(&st), changed(&st)
		var n int
		if err = retryEINTR(func() (err error) { n, err = unix.Pread(fd, buf[:], 0); return err }); err != nil {
			break
		}
		o.Content, o.Problem = ParseMarker(buf[:n]), ""
		if o.Content.Kind == Bad {
			o.Problem = "holds " + strconv.QuoteToASCII(string(buf[:min(n, 32)])) + ", not an exit code"
		}
		if int64(n) == st.Size || n > maxMarker {
			return o, nil
		}
	}
	if err != nil {
		o.Content, o.Problem = Content{}, "cannot be read: "+err.Error()
	}
	return o, nil
}

func changed(st *unix.Stat_t) time.Time { return time.Unix(0, st.Ctim.Nano()) }

func fileType(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFSOCK:
		return "a socket"
	}
	return "a device"
}
