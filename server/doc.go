// Package server is the process that a project's person looks through: an API,
// a page, and later the dashboard, on a port of this machine alone;
// on the local network too while a person keeps it open there (network).
//
// Nothing depends on it. What it shows it reads from the project's files, what
// it is told to do it leaves in them, as a command does; killed at any moment, the
// next one goes on. What may be asked and ordered, and what comes of it, package
// control decides.
package server
