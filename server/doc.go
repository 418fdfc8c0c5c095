// Package server is a project's server: an API and the dashboard, on a loopback port, and
// on the local network while a person keeps that open (network).
//
// No other process depends on it. It reads everything from the project's files and writes
// commands into them, as the command line does; if it is killed at any time, the next
// server continues. Package control decides what a request may do and what it does.
package server
