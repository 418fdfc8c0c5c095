package signals

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ErrLogMoved means that another file now has the name of an open log: the log was set
// aside or replaced by a repaired one.
var ErrLogMoved = errors.New("log file was moved")

// Turn is a log while its holder is the only writer.
type Turn struct {
	log     *Log
	written bool
}

// InTurn calls f while no other process writes to the log at path. It creates a missing
// file. With durable, what f appends is durable when InTurn returns without an error. It is
// for logs that must be read before a write, and for files that are set aside when they
// have grown: f always gets the file that has the name now.
func InTurn(ctx context.Context, path string, durable bool, seal func(at int64, line []byte) ([]byte, error), f func(*Turn) error) error {
	for {
		err := inTurn(ctx, path, durable, seal, f)
		if !errors.Is(err, ErrLogMoved) && !errors.Is(err, ErrLogGone) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func inTurn(ctx context.Context, path string, durable bool, seal func(at int64, line []byte) ([]byte, error), f func(*Turn) error) (err error) {
	l, err := OpenLog(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	l.Seal = seal
	t := &Turn{log: l}
	err = l.locked(ctx, func() error {
		if !sameFile(l.f, path) {
			return ErrLogMoved
		}
		return f(t)
	})
	if err == nil && durable && t.written {
		if err = l.sync(l.written.Load()); err != nil {
			err = fmt.Errorf("append to %s: %w", path, explain(err))
		}
	}
	return err
}

// Append appends lines as Log.Append does.
func (t *Turn) Append(lines ...[]byte) error {
	if err := valid(t.log.name, lines); err != nil {
		return err
	}
	if err := t.log.writeLocked(lines); err != nil {
		return fmt.Errorf("append to %s: %w", t.log.name, explain(err))
	}
	t.log.written.Add(1)
	t.written = true
	return nil
}

// File is the open file, for reading.
func (t *Turn) File() *os.File { return t.log.f }

// SetAside renames the file within its folder. The next writer creates a new one.
func (t *Turn) SetAside(name string) error {
	if err := Rename(t.log.name, name); err != nil {
		return explain(err)
	}
	return nil
}

// Replace replaces the file, as WriteFile does.
func (t *Turn) Replace(data []byte, perm fs.FileMode) error { return WriteFile(t.log.name, data, perm) }

// Identify returns the identity of an open file.
func Identify(f *os.File) (Identity, error) {
	var st unix.Stat_t
	if err := retryEINTR(func() error { return unix.Fstat(int(f.Fd()), &st) }); err != nil {
		return Identity{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return identity(&st), nil
}

// ReadOpen is ReadLines for an open file, which may have lost its name.
func ReadOpen(f *os.File, from int64, each func(line []byte, next int64) error) (Tail, error) {
	return readLines(f, f.Name(), from, each)
}
