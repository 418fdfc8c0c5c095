// Package examples holds configurations that run as they stand, and the tests
// that keep them, README.md and the pages under docs/ true: every example is
// loaded, and every block of shell in the pages is run.
package examples
