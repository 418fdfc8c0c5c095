// Package signals holds the files by which cmux's processes coordinate: locks, append-only
// logs, markers, and the folder that holds them.
//
// Every process may be killed at any moment, and the machine may lose power. So WriteFile
// replaces a whole file, which is then either old or new. A Log grows by single writes and
// repairs a torn end. A Lock ends with its process. A marker is published with a link, so
// that the first one wins.
//
// Reading and judging are apart: a Scanner observes the files in the signals folder, and
// Judge, a pure function, compares them with the run's records. A Watcher only reports
// which files changed; its user must also scan from time to time, because some file systems
// report no events.
package signals
