// Package signals holds the files by which cmux's processes coordinate:
// locks, append-only logs, markers, and the folder they live in.
//
// Every process may be killed at any moment, and so may the machine. So a
// whole file is replaced by WriteFile and is either old or new; a Log grows by
// single writes and repairs a torn end; a Lock dies with its process; a
// marker is published by link, which lets the first one stand.
//
// Files are read and judged apart: a Scanner observes what lies in the
// signals folder, and Judge, which is pure, says what that means beside what
// the run's records know. A Watcher only says where to look; whoever uses it
// also scans now and then, as some file systems tell nothing.
package signals
