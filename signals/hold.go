package signals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Hold waits until no other process holds the folder at path, then holds it until release
// is called or this process ends. It protects files that are read and replaced, without
// adding a lock file to the folder.
func Hold(ctx context.Context, path string) (release func(), err error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("hold: %w", explain(err))
	}
	wait := 20 * time.Microsecond
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		err := flock(d, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() {
				flock(d, unix.LOCK_UN)
				d.Close()
			}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			d.Close()
			return nil, fmt.Errorf("hold %s: %w", path, err)
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
			d.Close()
			return nil, context.Cause(ctx)
		}
		wait = min(2*wait, 5*time.Millisecond)
		timer.Reset(wait)
	}
}
