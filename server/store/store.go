package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"cmux/signals"
)

// Name is that of the database, in the folder .cmux.
const Name = "conversations.db"

const lockName = "conversations.lock"

// Store is the store of a project. It may be used by several goroutines.
type Store struct {
	root string // of the project
	path string // of the database
	note func(string)
	lock *signals.Lock

	ingest sync.Mutex // whoever writes
	in     *intake
	what   *survey // as of the last pass over all sources
	vouch  vouch

	mu    sync.RWMutex // held for reading by whoever queries
	write *sql.DB      // one connection
	read  *sql.DB
	inode uint64       // of the database that is open
	log   uint64       // inode of its log; 0: there is none yet
	size  atomic.Int64 // that it had; it never shrinks
	half  bool         // it is not durable yet: see build
	epoch string

	damaged atomic.Bool // a reader met damage
	head    atomic.Int64
	change  changes
}

// Open opens the store of the project at root and makes it where there is none.
// What it has to say beside errors, as that a damaged database was set aside, it
// tells note, which may be nil. It takes nothing in: see Ingest.
func Open(ctx context.Context, root string, note func(string)) (*Store, error) {
	dir := filepath.Join(root, signals.Folder)
	s := &Store{root: root, path: filepath.Join(dir, Name), note: note}
	if s.note == nil {
		s.note = func(string) {}
	}
	if err := signals.Init(root); err != nil {
		return nil, err
	}
	var err error
	if s.vouch, err = voucher(root); err != nil {
		return nil, err
	}
	lock, err := signals.TryLockFor(filepath.Join(dir, lockName), Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, signals.Explain(err))
	}
	s.lock = lock
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return s, nil
}

// Close closes the store. Nobody may use it any more.
func (s *Store) Close() error {
	s.ingest.Lock()
	defer s.ingest.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.close(), s.lock.Unlock())
}

// close closes the database. It is called with both locks held.
func (s *Store) close() error {
	if s.write == nil {
		return nil
	}
	err := errors.Join(s.read.Close(), s.write.Close())
	s.write, s.read, s.in, s.what = nil, nil, nil, nil
	return err
}

// open opens the database, and sets it aside when it is damaged. It is called
// with both locks held, or by the only user.
func (s *Store) open(ctx context.Context) error {
	err := s.try(ctx)
	if err != nil && foreign(err) {
		if err = s.setAside(err); err == nil {
			err = s.try(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path, explain(err))
	}
	s.damaged.Store(false)
	return nil
}

// files are those that a database is made of.
func (s *Store) files() []string { return []string{s.path, s.path + "-wal", s.path + "-shm"} }

func (s *Store) try(ctx context.Context) (err error) {
	for _, path := range s.files() {
		if err := signals.Expect(path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// SQLite gives the files beside it the mode of the database.
	f, err := signals.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	id, err := signals.Identify(f)
	if err = errors.Join(err, f.Chmod(0o600), f.Close()); err != nil {
		return err
	}
	s.inode = id.Inode
	s.size.Store(id.Size)
	if err := s.builtBefore(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.write, err = sql.Open("sqlite", dsn(s.path, "_txlock=immediate")); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", dsn(s.path, "_query_only=1")); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(4)
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	if s.in, err = load(ctx, s.write); err != nil {
		return err
	}
	log, _ := look(s.path + "-wal") // it stays for as long as the writer is there
	s.log = log.inode
	s.epoch = s.in.epoch
	s.head.Store(s.in.head)
	return nil
}

func dsn(path, more string) string {
	u := url.URL{Scheme: "file", Path: path}
	// Without waiting for the disk at each commit: a power cut takes the last
	// rows, and they are taken in again.
	return u.String() + "?mode=rw&_pragma=busy_timeout(2000)&_pragma=journal_mode(wal)&_pragma=synchronous(normal)&_pragma=journal_size_limit(67108864)&_pragma=temp_store(memory)&_pragma=cache_size(-65536)&" + more
}

//go:embed migrations/*.sql
var migrations embed.FS

// errNewer says that a newer cmux wrote the database.
var errNewer = errors.New("a newer cmux made it")

func migrate(ctx context.Context, db *sql.DB) error {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, sub, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	is, want, err := p.GetVersions(ctx)
	if err != nil {
		return err
	}
	if is > want {
		return errNewer
	}
	_, err = p.Up(ctx)
	return err
}

// damage reports whether an error means that the database is of no use.
func damage(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return errors.Is(err, errNewer) || errors.Is(err, errHalf)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return true
	}
	return e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ
}

// foreign reports whether an error of the writer means that the database is not
// what cmux made: its statements are always the same.
func foreign(err error) bool {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH:
			return true
		}
	}
	return damage(err)
}

// explain makes an error of SQLite one that says what to do.
func explain(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return fmt.Errorf("%w (%w)", signals.ErrDiskFull, err)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return fmt.Errorf("%w (%w)", signals.ErrReadOnly, err)
		}
	}
	return signals.Explain(err)
}

// maxAside is how many databases of no use are kept: the first of them, and the
// last.
const maxAside = 3

// setAside keeps a database that is of no use under another name.
func (s *Store) setAside(why error) error {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.damaged-%d", Name, n)
		if _, err := signals.Type(filepath.Join(filepath.Dir(s.path), aside)); err == nil && n < maxAside {
			continue
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := signals.Rename(s.path, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, path := range s.files()[1:] {
			if err := signals.RemoveFile(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		s.note(fmt.Sprintf("%s is damaged (%v): it was set aside as %s/%s and is rebuilt from the project's files; only events of runs that were removed are in the old file alone", Name, why, signals.Folder, aside))
		return nil
	}
}

// reopen opens another database in the place of one that is gone or damaged.
func (s *Store) reopen(ctx context.Context, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.close() // of what is of no use any more
	if why != nil {
		if err := s.setAside(why); err != nil {
			return fmt.Errorf("set %s aside: %w", s.path, explain(err))
		}
	}
	return s.open(ctx)
}

// intact reports whether the open database is still the file of its name, as seen from
// outside. SQLite would continue with its cached pages.
func (s *Store) intact() (there, whole bool) {
	is, ok := look(s.path)
	if !ok || is.inode != s.inode {
		return false, false
	}
	if was := s.size.Load(); is.size < was {
		return true, false
	} else if is.size > was {
		s.size.CompareAndSwap(was, is.size)
	}
	log, ok := look(s.path + "-wal")
	return true, s.log == 0 || ok && log.inode == s.log
}

// complete reports whether the open database is as long as it says. What its log
// holds may still be missing in it, as after a kill.
func (s *Store) complete() bool {
	if log, ok := look(s.path + "-wal"); ok && log.size > 0 {
		return true
	}
	f, err := signals.Open(s.path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [32]byte // the size of a page at 16, of the file in pages at 28
	if _, err := f.ReadAt(head[:], 0); err == io.EOF {
		return s.size.Load() == 0 // nothing was taken into it yet
	} else if err != nil {
		return false
	}
	size := int64(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 64 << 10
	}
	id, err := signals.Identify(f)
	return err == nil && id.Size >= size*int64(binary.BigEndian.Uint32(head[28:]))
}

// Head is the newest event.
func (s *Store) Head() Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Position{Epoch: s.epoch, Seq: s.head.Load()}
}

// Changed is a channel that is closed when there are events that were not there
// before it was asked for, or another epoch.
func (s *Store) Changed() <-chan struct{} { return s.change.wait() }

// changes tells whoever waits.
type changes struct {
	mu sync.Mutex
	c  chan struct{}
}

func (c *changes) wait() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		c.c = make(chan struct{})
	}
	return c.c
}

func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c != nil {
		close(c.c)
		c.c = nil
	}
}

func newEpoch() string { return rand.Text()[:13] }
